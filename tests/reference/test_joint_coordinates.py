"""Joint coordinates: the forest, its kinematics and masses, steps and closing, against the package's own in those of
bodies."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from random_mechanisms import assemble, random_mechanism

from delassus import ModelBuilder
from delassus.dynamics.closure import close_joints
from delassus.dynamics.reduced.closing import close_reduced
from delassus.dynamics.reduced.dense import asked_of
from delassus.dynamics.reduced.inertia import (
    factor,
    form_composites,
    form_masses,
    form_momenta,
    reduce_row,
    solve_plain,
    solve_transposed,
)
from delassus.dynamics.reduced.kinematics import form_twists, move_coordinates, place, posture_for, take_coordinates
from delassus.dynamics.reduced.mechanism import Mechanism, mechanism_of
from delassus.dynamics.reduced.solve import solve_reduced
from delassus.dynamics.softness import softness_of
from delassus.integrators import moved
from delassus.joints import JOINTS
from delassus.model.tree import FREE, TURNING, spanning_forest
from delassus.residuals import RESIDUAL_COUNT, evaluate
from delassus.simulation import StepSettings, step
from delassus.solvers.parts.at_once import MOST_JUDGEMENTS
from delassus.spatial import rotations_of

ROUNDING = 1e-11
"""Of poses within a metre or two, through chains of up to eight joints."""
KINDS = sorted(set(JOINTS) & set(TURNING))


def chain_of(kind, length=4):
    """Links that hang on each other by joints of this kind, anyhow placed, on a floating body."""
    rng = np.random.default_rng(7)
    builder = ModelBuilder()
    bodies = [builder.body("root", mass=2.0, inertia=(0.1, 0.2, 0.25), position=rng.normal(size=3))]
    for k in range(length):
        frame = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        frame *= np.linalg.det(frame)
        at = rng.normal(size=3)
        far = at + 0.3 * frame[:, 0] if kind == "rolling" else at
        name, quaternion = f"link{k}", rng.normal(size=4)
        bodies.append(
            builder.body(
                name,
                mass=rng.uniform(0.1, 3),
                inertia=rng.uniform(1, 2, 3),
                position=at + rng.normal(size=3),
                orientation=quaternion / np.linalg.norm(quaternion),
            )
        )
        builder.joint(
            kind, bodies[-2], bodies[-1], position=at, frame=frame, follower_position=far, follower_frame=frame
        )
    return builder.build()


def placed(model, tree, q):
    """The posture of poses."""
    posture = posture_for(model.body_count, len(tree.before), tree.n_q)
    take_coordinates(tree, q, rotations_of(q), posture.coordinates)
    place(tree, posture)
    return posture


def twists(tree, posture, v):
    u, scratch = np.full((len(tree.base), 6), np.nan), np.zeros((len(tree.base), 6))
    form_twists(tree, posture, v, scratch, u)
    return u


def somewhere(model, state, tree, rng, far=0.7):
    """The posture after random velocities for a while."""
    posture = placed(model, tree, state.q)
    move_coordinates(tree, rng.normal(size=len(tree.before)), far, posture.coordinates)
    place(tree, posture)
    return posture


def distance(q, other):
    """Between poses, whatever the signs of quaternions."""
    sign = np.sign((q[:, 3:] * other[:, 3:]).sum(axis=1, keepdims=True))
    return max(abs(q[:, :3] - other[:, :3]).max(), abs(q[:, 3:] - sign * other[:, 3:]).max())


@pytest.mark.parametrize("kind", KINDS)
def test_poses_come_back_from_coordinates(kind):
    model, state = chain_of(kind)
    tree = spanning_forest(model.joints, model.body_count)
    assert tree.holds.all()
    assert distance(placed(model, tree, state.q).poses, state.q) < ROUNDING
    posture = somewhere(model, state, tree, np.random.default_rng(1))
    assert distance(placed(model, tree, posture.poses).poses, posture.poses) < ROUNDING
    assert distance(posture.poses, state.q) > 0.1 or kind == "fixed"


@pytest.mark.parametrize("kind", KINDS)
def test_joints_are_closed_wherever_coordinates_lead_and_velocities_obey_them(kind):
    model, state = chain_of(kind)
    tree, rng = spanning_forest(model.joints, model.body_count), np.random.default_rng(2)
    posture = somewhere(model, state, tree, rng)
    residual, rows = model.joints.constraints(model.joints.frames(posture.poses, posture.rotation))
    assert abs(residual).max() < ROUNDING
    u = twists(tree, posture, rng.normal(size=len(tree.before)))
    rates = [
        sum(row[6 * s : 6 * s + 6] @ u[b] for s, b in enumerate(pair) if b >= 0)
        for row, pair in zip(rows, model.joints.row_bodies)
    ]
    assert np.abs(rates).max() < ROUNDING


@pytest.mark.parametrize("kind", KINDS)
def test_twists_are_the_derivative_of_poses(kind):
    model, state = chain_of(kind)
    tree, rng = spanning_forest(model.joints, model.body_count), np.random.default_rng(3)
    posture, v, h = somewhere(model, state, tree, rng), rng.normal(size=len(tree.before)), 1e-4
    u, ends = twists(tree, posture, v), []
    for time in (h, -h):
        there = placed(model, tree, posture.poses)
        move_coordinates(tree, v, time, there.coordinates)
        place(tree, there)
        ends.append(distance(there.poses, moved(posture.poses, u, time)))
    assert max(ends) < 100 * h * h  # accelerations of a chain of five at about 1 rad/s


@pytest.mark.parametrize("seed", range(12))
def test_masses_and_their_factor_are_those_of_the_bodies(seed):
    model, state, _ = assemble(random_mechanism(seed))
    tree, rng = spanning_forest(model.joints, model.body_count), np.random.default_rng(seed)
    posture, n_v = somewhere(model, state, tree, rng), len(tree.before)
    composite, H, n = np.zeros((model.body_count, 10)), np.zeros((n_v, n_v)), model.body_count
    form_composites(tree, model.mass, model.inertia, posture.rotation, posture.poses, composite)
    form_masses(tree, posture.S, composite, H)
    S = np.array([twists(tree, posture, e).ravel() for e in np.eye(n_v)]).T.reshape(6 * n, n_v)
    M = scipy.linalg.block_diag(*model.mass_blocks(posture.rotation)[0])
    full, lower = S.T @ M @ S, np.tril(H)
    size = abs(full).max(initial=1e-300)
    assert abs(lower + np.tril(H, -1).T - full).max(initial=0.0) < ROUNDING * size
    L = H.copy()
    assert factor(tree.before, L)
    L = np.tril(L)
    assert abs(L.T @ L - full).max(initial=0.0) < ROUNDING * size
    x = rng.normal(size=n_v)
    y, z = x.copy(), x.copy()
    solve_transposed(tree.before, L, y)
    solve_plain(tree.before, L, z)
    np.testing.assert_allclose(L.T @ y, x, atol=1e-9)
    np.testing.assert_allclose(L @ z, x, atol=1e-9)
    u, out = rng.normal(size=(n, 6)), np.full(n_v, np.nan)
    form_momenta(tree, (model.mass, model.inertia), posture.rotation, posture, u, np.zeros((n, 6)), out)
    np.testing.assert_allclose(out, S.T @ M @ u.ravel(), atol=ROUNDING * size)
    row, pair = rng.normal(size=12), np.array([n - 1, -1])
    reduced = np.zeros(n_v)
    reduce_row(tree, posture, pair, row, reduced)
    np.testing.assert_allclose(reduced, S[6 * n - 6 :].T @ row[:6], atol=ROUNDING * 100)


def test_loops_leave_rows_and_rings_have_a_floating_root():
    builder = ModelBuilder()
    a, b, c = (builder.body(name, mass=1.0, inertia=(1, 1, 1), position=(k, 0, 0)) for k, name in enumerate("abc"))
    for base, follower in ((a, b), (b, c), (c, a)):
        builder.joint("spherical", base, follower, position=(0, 1, 0))
    model, _ = builder.build(check=False)
    tree = spanning_forest(model.joints, 3)
    assert tree.holds.sum() == 2
    assert (tree.turning == FREE).sum() == 1
    places = {body: k for k, body in enumerate(tree.order)}
    assert all(places[tree.base[x]] < places[x] for x in range(3) if tree.base[x] >= 0)


def test_soft_joints_are_left_out():
    model, _ = chain_of("revolute")
    tree = spanning_forest(model.joints, model.body_count, np.array([True, False, True, True]))
    assert tree.holds.tolist() == [True, False, True, True]
    assert (tree.turning == FREE).sum() == 2


NONE = np.zeros(0)
STRICT = StepSettings(integrator="euler", tol=1e-11, tol_velocity=1e-10)


def mechanism(model):
    return mechanism_of(model, softness_of(model, None))


def closed(found: Mechanism, q, u, tol=1e-12):
    """Poses and velocities that obey the joints; None where loops do not close."""
    q, u = q.copy(), u.copy()
    ok = close_reduced(found.tree, found.masses, found.loops.row_data, tol, q, u, found.room)
    return (q, u) if ok else None


def solved(found: Mechanism, model, report):
    """Reactions and velocities of bodies of a step's problem, by joint coordinates."""
    problem, m, n = report.problem, report.problem.row_count, model.body_count
    out = np.zeros(m), np.full(RESIDUAL_COUNT + m + 6 * n + 3 * MOST_JUDGEMENTS, np.nan)
    closed(found, report.at, np.zeros((0, 6)))
    free, masses = (problem.u_f, problem.before, problem.free_velocity), (*found.masses[:2], rotations_of(report.at))
    rigid, asked = problem.delassus.rigid.plain, tuple(asked_of((1e-11, 1e-10), 150))
    assert solve_reduced(found.tree, masses, rigid, free, problem.judged_by, asked, out, found.room) == 1
    return out[0], out[1][RESIDUAL_COUNT + m : RESIDUAL_COUNT + m + 6 * n]


def step_of(seed):
    """(model, mechanism, report of an Euler step) of a random mechanism whose state obeys its joints to rounding; None
    where it touches nothing and has no joints."""
    model, state, inputs = assemble(random_mechanism(seed))
    if not model.joints.count:
        return None
    found = mechanism(model)
    q, u = closed(found, state.q, state.u)
    state = replace(state, q=q, u=u)
    _, report = step(model, state, inputs(state.t), STRICT)
    return model, found, report


def compare_step(seed):
    """How far apart velocities are, relative to the largest, and whether the judge takes the reactions as well."""
    made = step_of(seed)
    if made is None or made[2].solution.status.value != "converged" or not made[2].problem.row_count:
        return 0.0, True
    model, found, report = made
    reactions, u = solved(found, model, report)
    other = report.solution.body_velocities
    residuals = evaluate(report.problem, reactions)
    fine = residuals.natural_map_relative < 1e-9 and residuals.worst_velocity_relative < 1e-8
    return abs(u - other).max() / max(abs(other).max(), 1.0), fine


@pytest.mark.parametrize("seed", [0, 1, 3, 5, 33, 122, 184, 194, 246])
def test_a_step_in_joint_coordinates_is_the_step_of_the_bodies(seed):
    """Trees, loops, redundant and idle ones, floating bases, limits, drives, springs, dry friction, contacts."""
    far, fine = compare_step(seed)
    assert far < 1e-9
    assert fine


@pytest.mark.slow
def test_three_hundred_steps_in_joint_coordinates_are_those_of_the_bodies():
    found = {seed: compare_step(seed) for seed in range(300)}
    assert {seed: pair for seed, pair in found.items() if pair[0] > 1e-9 or not pair[1]} == {}


@pytest.mark.parametrize("seed", [0, 1, 3, 12, 33])
def test_closing_obeys_the_joints_and_changes_velocities_least(seed):
    model, state, _ = assemble(random_mechanism(seed))
    found, rng = mechanism(model), np.random.default_rng(seed)
    q, u = closed(found, moved(state.q, rng.normal(size=(model.body_count, 6)), 1e-4), rng.normal(size=state.u.shape))
    residual, _ = model.joints.constraints(model.joints.frames(q, rotations_of(q)))
    assert abs(residual).max() < 1e-11
    _, again = close_joints(model, q, u, tol=1e-9)
    assert abs(again - u).max() < 1e-9 * abs(u).max()
    free = rng.normal(size=state.u.shape)
    own, other = closed(found, q, free)[1], close_joints(model, q, free, tol=1e-9)[1]
    assert abs(own - other).max() < 1e-8 * abs(other).max()


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "planar"])
def test_closing_follows_bodies_that_were_pushed_and_minds_armature(kind):
    """As `close_joints` does, to second order."""
    model, state = chain_of(kind)
    joints = model.joints
    model = replace(model, joints=replace(joints, armature=np.full(joints.coordinate_count, 0.7)))
    far = {}
    for size in (1e-3, 1e-4):
        rng = np.random.default_rng(4)
        q = moved(state.q, rng.normal(size=(model.body_count, 6)), size)
        u = rng.normal(size=state.u.shape)
        own, other = closed(mechanism(model), q, u), close_joints(model, q, u, tol=1e-12)
        assert distance(own[0], other[0]) < 0.1 * distance(q, other[0])
        far[size] = distance(own[0], other[0]), abs(own[1] - other[1]).max()
        at_own = close_joints(model, own[0], u, tol=1e-9)[1]
        assert abs(own[1] - at_own).max() < 1e-9
    assert far[1e-4][0] < 0.05 * far[1e-3][0]


def test_what_joint_coordinates_do_not_hold_is_said():
    model, _ = chain_of("spherical")
    assert mechanism(model).reason is None
    geared = replace(model, joints=replace(model.joints, armature=np.full(model.joints.coordinate_count, 0.1)))
    assert "armature" in mechanism(geared).reason
    assert "no joint" in mechanism(ModelBuilder().build()[0]).reason
