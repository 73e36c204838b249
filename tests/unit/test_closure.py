"""Closing of joints: far from closed, and where a mechanism is stretched out."""

import numpy as np
import pytest

from delassus.builder import ModelBuilder
from delassus.dynamics.closing_order import Closing, closing_of
from delassus.dynamics.closure import POSES_ALONE, close_joints, joint_error
from delassus.dynamics.coupled_closure import close_model, least_change, linearised, over_all
from delassus.dynamics.limit_closure import shift_into_limits
from delassus.integrators import moved
from delassus.spatial import quaternion_to_matrix
from delassus.world.loops import dense_rows

TOL = 1e-9  # what a step asks for [m, rad]


def chain(count, *, mass=1.0):
    """Links of 1 m on ball joints, hung from the origin along x."""
    builder = ModelBuilder()
    base = None
    for k in range(count):
        link = builder.body(position=(k + 0.5, 0, 0), mass=mass**k, inertia=mass**k * np.array([0.01, 0.1, 0.1]))
        builder.joint("spherical", base, link, position=(k, 0, 0))
        base = link
    return builder, base


def rates(model, q, u):
    """Joint rates (m,) at poses q and velocities u."""
    joints = model.joints
    _, rows = joints.constraints(joints.frames(q[:, :3], quaternion_to_matrix(q[:, 3:])))
    out = np.zeros(len(rows))
    for r, pair in enumerate(joints.row_bodies):
        out[r] = sum(rows[r, 6 * s : 6 * s + 6] @ u[b] for s, b in enumerate(pair) if b >= 0)
    return out


@pytest.mark.parametrize("count", [3, 45])
def test_joints_close_from_far_away_and_velocities_obey_them_there(count):
    """0.2 m and rad off: four steps with one factorisation left an error of 1e-3 m of it."""
    model, state = chain(count)[0].build()
    rng = np.random.default_rng(count)
    off = moved(state.q, rng.uniform(-0.2, 0.2, (count, 6)), 1.0)
    assert joint_error(model, off) > 0.1
    q, u = close_joints(model, off, rng.standard_normal((count, 6)), tol=TOL)
    assert joint_error(model, q) <= TOL
    assert np.abs(rates(model, q, u)).max() < 1e-9
    alone, nothing = close_joints(model, off, POSES_ALONE, tol=TOL)
    assert alone.tobytes() == q.tobytes()
    assert nothing.shape == (0, 6)


def test_what_is_closed_stays_as_it_is():
    """Velocities that obey their joints to rounding are not touched: passes over them would only move rounding about,
    and did so eight times in every step."""
    model, state = chain(3)[0].build()
    rng = np.random.default_rng(0)
    off = moved(state.q, rng.uniform(-0.2, 0.2, (3, 6)), 1.0)
    q, u = close_joints(model, off, rng.standard_normal((3, 6)), tol=TOL)
    again = close_joints(model, q, u, tol=TOL)
    assert [a.tobytes() for a in again] == [q.tobytes(), u.tobytes()]


def test_a_chain_stretched_beyond_its_length_pulls_its_ends_together():
    """The light link in the middle is all the way out and its ends are 1 mm too far apart: its rows are nearly
    singular for the link alone, and the heavy ends must move. Left open, such a whip tore a mechanism apart within
    ten steps."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    left = builder.body("left", position=(0, 0, 0), mass=8.0, inertia=(0.1, 0.1, 0.1))
    light = builder.body("light", position=(0.5, 0, 0), mass=0.01, inertia=(1e-6, 1e-5, 1e-5))
    right = builder.body("right", position=(1.0, 0, 0), mass=80.0, inertia=(1.0, 1.0, 1.0))
    builder.joint("distance", left, light, position=(0.1, 0, 0), follower_position=(0.4, 0, 0))
    builder.joint("universal", light, right, position=(0.6, 0, 0))
    model, state = builder.build()
    off = state.q.copy()
    off[1, :3] += (0.001, 0.002, 0.0)
    off[2, 0] += 0.001
    q, _ = close_joints(model, off, state.u, tol=TOL)
    assert joint_error(model, q) <= TOL


def test_what_cannot_close_is_left_at_the_least_error():
    """A rod of 1 m between points 1.5 m apart: 0.5 m remain, nothing flies off."""
    builder = ModelBuilder()
    rod = builder.body("rod", position=(0.5, 0, 0), mass=1.0, inertia=(0.01, 0.1, 0.1))
    builder.joint("spherical", None, rod, position=(0, 0, 0))
    builder.joint("spherical", None, rod, position=(1.5, 0, 0), follower_position=(1.0, 0, 0))
    model, state = builder.build(check=False)
    q, _ = close_joints(model, state.q, state.u, tol=TOL)
    assert joint_error(model, q) <= 0.5
    assert np.abs(q[:, :3]).max() < 2.0


@pytest.mark.parametrize(("count", "coupled"), [(3, False), (30, False), (3, True)])
def test_rotors_are_part_of_the_masses(count, coupled):
    """Velocities change by impulses of joints and couplings alone, (M + Rᵀ a R)(u⁺ − u) = Jᵀ λ: rotors take part."""
    rng = np.random.default_rng(count)
    builder, base = ModelBuilder(), None
    for k in range(count):
        link = builder.body(position=(k + 0.5, 0, 0), mass=1.0, inertia=(0.01, 0.1, 0.1))
        axis = rng.standard_normal(3)
        builder.joint("revolute", base, link, position=(k, 0, 0), axis=axis, name=f"j{k}", armature=0.3 * (k % 3))
        base = link
    if coupled:
        builder.coupling({"j1": [0.0, 1.0], "j2": [0.0, -2.0]})
    model, state = builder.build()
    u = rng.standard_normal((count, 6))
    if coupled:
        q, after = close_model(model, state.q, u, tol=TOL, joints=model.joints, near=state.coordinates(model))
    else:
        q, after = close_joints(model, state.q, u, tol=TOL)
    J = dense_rows(model, q, np.arange(count))
    own, R = J[: model.joints.row_count], J[model.joints.row_count :]
    if coupled:
        own = np.concatenate([own, R[1:2] - 2.0 * R[2:3]])
    assert np.abs(own @ after.ravel()).max() < 1e-9
    mass = model.mass_blocks(quaternion_to_matrix(q[:, 3:]))[0]
    change = after - u
    momentum = np.einsum("bij,bj->bi", mass, change).ravel()
    momentum += (model.joints.armature * (R @ change.ravel())) @ R
    left = momentum - own.T @ np.linalg.lstsq(own.T, momentum, rcond=None)[0]
    assert np.abs(left).max() < 1e-9 * np.abs(momentum).max()


def four_bars(count, rng=None):
    """Planar linkages in one place, each over-constrained three times; with `rng`, of different masses."""
    builder, corners = ModelBuilder(), np.array([(0, 0, 0), (0.1, 0, 0.1), (0.5, 0, 0.3), (0.4, 0, 0)])
    for _ in range(count):
        rods: list = [None]
        for middle in 0.5 * (corners[1:] + corners[:-1]):
            mass = 1.0 if rng is None else rng.uniform(0.1, 9.0)
            rods.append(builder.body(position=middle, mass=mass, inertia=(0.01, 0.01, 0.01)))
        for k, pair in enumerate([*zip(rods, rods[1:]), (None, rods[3])]):
            builder.joint("revolute", *pair, position=corners[k], axis=(0, 1, 0))
    return builder.build()


def test_mechanisms_side_by_side_are_closed_as_each_alone():
    """Same bits: neither their number nor their neighbours make a difference. From 31 on, none was closed."""
    rng = np.random.default_rng(3)
    one, state = four_bars(1)
    off, u = moved(state.q, 1e-4 * rng.uniform(-1, 1, (3, 6)), 1.0), rng.standard_normal((3, 6))
    alone = close_joints(one, off, u, tol=1e-12)
    assert joint_error(one, alone[0]) < 1e-12
    together = close_joints(four_bars(40)[0], np.tile(off, (40, 1)), np.tile(u, (40, 1)), tol=1e-12)
    assert [np.tile(each, (40, 1)).tobytes() for each in alone] == [each.tobytes() for each in together]


def test_a_chain_of_a_thousand_links_closes():
    model, state = chain(1000)[0].build()
    off = moved(state.q, 1e-5 * np.random.default_rng(0).uniform(-1, 1, (1000, 6)), 1.0)
    q, _ = close_joints(model, off, POSES_ALONE, tol=1e-12)
    assert joint_error(model, q) < 2e-12  # rounding a kilometre away


def test_trees_fill_nothing():
    """Each joint of a chain couples with one that comes later; the order is chosen so that no more do."""
    model, _ = chain(50)[0].build()
    assert len(Closing(*closing_of(model.joints)).below) == 49


def test_redundant_rows_take_no_part():
    """Over-constrained linkages of uneven masses close, and velocities change by impulses of joints alone."""
    rng = np.random.default_rng(5)
    model, state = four_bars(3, rng)
    q, _ = close_joints(model, moved(state.q, 1e-5 * rng.uniform(-1, 1, (9, 6)), 1.0), POSES_ALONE, tol=TOL)
    assert joint_error(model, q) < TOL
    u = rng.standard_normal((9, 6))
    q, after = close_joints(model, state.q, u, tol=TOL)
    assert np.abs(rates(model, q, after)).max() < 1e-12
    J = dense_rows(model, q, np.arange(9))[: model.joints.row_count]
    momentum = np.einsum("bij,bj->bi", model.mass_blocks(quaternion_to_matrix(q[:, 3:]))[0], after - u).ravel()
    left = momentum - J.T @ np.linalg.lstsq(J.T, momentum, rcond=None)[0]
    assert np.abs(left).max() < 1e-9 * np.abs(momentum).max()


def test_overshot_limits_are_met_by_the_least_change():
    """As the dense formula says, with armature and with limits that are kept as they are."""
    builder, base = ModelBuilder(), None
    for k in range(6):
        link = builder.body(position=(k + 0.5, 0, 0), mass=1.0 + k, inertia=(0.01, 0.1, 0.1))
        limits = (-1.0, 1.0) if k != 2 else None
        builder.joint("revolute", base, link, position=(k, 0, 0), axis=(0, 1, 1), limits=limits, armature=0.2 * (k % 2))
        base = link
    model, state = builder.build()
    lack = np.array([0.0, 0.1, 0.0, -0.2, 0.0, 0.05])
    found = shift_into_limits(model, model.joints, state.q, lack)
    residual, J, W, soft = linearised(model, state.q, model.joints, np.zeros(6))
    frames = model.joints.frames(state.q, quaternion_to_matrix(state.q[:, 3:]))
    rows = over_all(model.joints.coordinates(frames)[1], model.joints.coordinate_bodies, 6)
    out = np.flatnonzero(lack)
    expected = least_change(
        np.concatenate([J, rows[out]]), W, np.append(soft, np.zeros(len(out))), np.append(-residual, lack[out])
    )
    assert np.abs(found.ravel() - expected).max() < 1e-9 * np.abs(expected).max()
