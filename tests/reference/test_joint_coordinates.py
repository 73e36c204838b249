"""Joint coordinates: the forest, its kinematics and masses, against the package's own rows and masses."""

import numpy as np
import pytest
import scipy.linalg
from random_mechanisms import assemble, random_mechanism

from delassus import ModelBuilder
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
from delassus.integrators import moved
from delassus.joints import JOINTS
from delassus.model.tree import FREE, TURNING, in_forest, spanning_forest
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
    assert in_forest(tree, model.joints.count).all()
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
    assert in_forest(tree, 3).sum() == 2
    assert (tree.turning == FREE).sum() == 1
    places = {body: k for k, body in enumerate(tree.order)}
    assert all(places[tree.base[x]] < places[x] for x in range(3) if tree.base[x] >= 0)


def test_soft_joints_are_left_out():
    model, _ = chain_of("revolute")
    tree = spanning_forest(model.joints, model.body_count, np.array([True, False, True, True]))
    assert in_forest(tree, 4).tolist() == [True, False, True, True]
    assert (tree.turning == FREE).sum() == 2
