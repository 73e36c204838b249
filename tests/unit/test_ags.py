"""Accelerated Gauß–Seidel beyond the contract: colours, bits, restarts, and the same motion as without momentum."""

import numpy as np
import pytest

from delassus.cones import ProductCone
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_rigid
from delassus.solvers import SOLVERS, solve
from delassus.solvers.gradient.coloured import Blocks, Coloured
from delassus.solvers.parts.parallel.passes import Data

LAWS = (Law.CCP, Law.NCP)


def mixed(law, **kind):
    """All kinds of rows, contacts with and without friction, more blocks than one piece holds."""
    given = {"bodies": 250, "contacts": 700, "joints": 20, "limits": 20, "frictionless_part": 0.2} | kind
    return random_rigid(np.random.default_rng(4), **given, law=law)


def as_matrix(problem):
    return Problem.dual(problem.delassus.matrix(), problem.free_velocity, cone=problem.cone, law=problem.law)


def tower(law, height=30):
    """Unit spheres in a slightly crooked column: sweeps carry the load down one sphere at a time."""
    rng = np.random.default_rng(0)
    mass = np.tile(np.diag([1.0, 1, 1, 0.4, 0.4, 0.4]), (height, 1, 1))
    bodies = np.stack([np.arange(-1, height - 1), np.arange(height)], axis=1)
    rows = np.zeros((height, 3, 12))
    for k in range(height):
        n = np.array([*rng.normal(scale=0.05, size=2), 1.0])
        frame = np.stack([n / np.linalg.norm(n), *np.linalg.svd(n[None])[2][1:]])
        arm = 0.5 * frame[0]
        if k:
            rows[k, :, :6] = np.hstack([-frame, -np.cross(arm, frame)])
        rows[k, :, 6:] = np.hstack([frame, np.cross(-arm, frame)])
    u_f = np.tile([0, 0, -0.01, 0, 0, 0], height)
    return Problem.rigid(
        mass, bodies, rows.reshape(-1, 12), cone=ProductCone(mu=np.full(height, 0.5)), u_f=u_f, law=law
    )


def started(problem, **settings):
    line = SOLVERS["ags"]
    return line.start(problem, line.settings.changed(**settings), np.zeros(problem.row_count))


def objective(problem, x):
    return 0.5 * x @ (problem.constraint_velocity(x) + problem.free_velocity)


@pytest.mark.parametrize(
    ("law", "storage"), [(Law.CCP, "rigid"), (Law.NCP, "rigid"), (Law.NCP, "matrix"), (Law.CCP, "gyroscopic")]
)
def test_bits_do_not_depend_on_threads_or_batches(law, storage):
    problem = mixed(law)
    if storage == "matrix":
        problem = as_matrix(problem)
    elif storage == "gyroscopic":
        d = problem.delassus
        turn = 0.003 * np.cross(np.eye(3), [1.0, 2.0, -1.0])
        mass = d.mass.copy()
        mass[:, 3:, 3:] += turn
        problem = Problem.rigid(mass, d.bodies, d.rows, cone=problem.cone, u_f=problem.u_f, b=problem.bias, law=law)
    ends = []
    for threads, batches in ((1, [66]), (2, [66]), (3, [66]), (1, [1] * 6 + [60])):  # the image is formed anew after 64
        method = started(problem, threads=threads)
        for count in batches:
            method.advance(count)
        ends.append(method.reactions.tobytes())
    assert len(set(ends)) == 1


@pytest.mark.parametrize("storage", ["rigid", "matrix"])
def test_blocks_of_one_colour_do_not_couple(storage):
    """Nor do a contact and a joint of one group, since groups have one kind; every block is swept once."""
    problem = mixed(Law.NCP)
    coloured = Coloured(as_matrix(problem) if storage == "matrix" else problem, 1)
    blocks = Blocks(*coloured.blocks)
    assert np.array_equal(np.sort(coloured.rows), np.arange(problem.row_count))
    coupled = abs(problem.delassus.matrix()[coloured.rows][:, coloured.rows]) > 0
    contacts = blocks.joints + blocks.limits
    serial = 0
    for g in range(len(blocks.group) - 1):
        first, last = blocks.piece[blocks.group[g]], blocks.piece[blocks.group[g + 1]]
        assert len({np.searchsorted([blocks.joints, contacts], k, side="right") for k in (first, last - 1)}) == 1
        serial += blocks.serial[g]
        if blocks.serial[g]:
            continue
        low, high = blocks.start[first], blocks.start[last]
        block_of = np.repeat(np.arange(last - first), np.diff(blocks.start[first : last + 1]))
        i, j = coupled[low:high, low:high].nonzero()
        assert np.array_equal(block_of[i], block_of[j])
    assert serial == (2 if storage == "matrix" else 0)  # joints and limits of a matrix have no colour


def test_members_of_a_team_do_not_share_the_world():
    """Blocks of one colour write to bodies of their own only; a floor would make all threads wait for one place."""
    problem = mixed(Law.NCP)
    coloured = Coloured(problem, 2)
    data, blocks = Data(*coloured.data), Blocks(*coloured.blocks)
    assert (problem.delassus.bodies < 0).any()
    assert data.pair.max() < len(problem.delassus.mass)
    unit = np.concatenate([np.arange(data.singles), np.repeat(np.arange(data.singles, len(data.pair)), 3)])
    for g in range(len(blocks.group) - 1):
        first, last = blocks.piece[blocks.group[g]], blocks.piece[blocks.group[g + 1]]
        pairs = data.pair[unit[blocks.start[first:last]]]
        own = [set(pair) for pair in pairs.tolist()]
        assert sum(map(len, own)) == len(set().union(*own))


@pytest.mark.parametrize("law", LAWS)
def test_the_same_motion_as_without_momentum(law):
    problem = mixed(law)
    ours, plain = solve(problem, "ags", tol=1e-10, max_iter=20_000), solve(problem, "nbgs", tol=1e-10, max_iter=20_000)
    assert ours.converged
    assert plain.converged
    assert np.allclose(ours.body_velocities, plain.body_velocities, atol=1e-7)
    assert ours.iterations < plain.iterations


@pytest.mark.parametrize("law", LAWS)
def test_momentum_carries_load_through_a_tower(law):
    """Iterations grow like the height instead of its square."""
    problem = tower(law)
    plain = SOLVERS["ags"].settings.changed(momentum=False)
    ours, without = (solve(problem, s, tol=1e-8, max_iter=50_000) for s in ("ags", plain))
    assert ours.converged
    assert without.converged
    assert 4 * ours.iterations < without.iterations


def test_sweeps_that_alternate_lose_their_momentum():
    """Coulomb's law: the slowest part of this sweep changes sign each time, which momentum would keep alive. With the
    first and the third test of `ags` alone it took 5639 sweeps."""
    problem = mixed(Law.NCP)
    plain = SOLVERS["ags"].settings.changed(momentum=False)
    ours, without = (solve(problem, s, tol=1e-10, max_iter=20_000) for s in ("ags", plain))
    assert ours.converged
    assert ours.iterations < without.iterations


def test_sweeps_descend_without_momentum_and_after_each_restart():
    """Under the convex law a plain sweep never raises the objective, so a restart is followed by a step downwards."""
    problem = mixed(Law.CCP, bodies=60, contacts=200, joints=0)
    plain, ours = started(problem, momentum=False), started(problem)
    slack = 1e-12 * abs(objective(problem, solve(problem, "ags", tol=1e-8).reactions))
    values = [0.0]
    for _ in range(100):
        plain.advance(1)
        values.append(objective(problem, plain.reactions))
    assert np.all(np.diff(values) <= slack)
    last, dropped, seen = 0.0, False, 0
    for _ in range(300):
        before = ours.restarts
        ours.advance(1)
        value = objective(problem, ours.reactions)
        if dropped:
            assert value <= last + slack
            seen += 1
        last, dropped = value, ours.restarts > before
    assert seen > 3


@pytest.mark.parametrize("law", LAWS)
def test_storages_give_the_same_iterates(law):
    """Contacts only: joints of a matrix have no colour, and are swept in another order."""
    problem = mixed(law, joints=0, limits=0, compliance=0.02)
    ends = []
    for each in (problem, as_matrix(problem)):
        method = started(each)
        method.advance(12)
        ends.append(method.reactions)
    assert np.abs(ends[0] - ends[1]).max() <= 1e-9 * np.abs(ends[0]).max()


def test_image_does_not_drift():
    """After many sweeps the velocities kept on the way still belong to the reactions."""
    problem = mixed(Law.CCP, bodies=30, contacts=60, joints=2, limits=2)
    method = started(problem)
    method.advance(1000)
    size = np.abs(method.images[1]).max()
    kept = method.images[1].copy()
    fresh = started(problem)
    fresh.points[:] = method.points[int(method.state[3])]
    fresh.advance(1)  # forms the image first
    assert np.abs(fresh.images[2] - kept).max() <= 1e-13 * size


@pytest.mark.parametrize(("gain", "yields"), [(0.999, True), (0.9, False)])
def test_it_yields_where_its_rate_promises_far_more_sweeps_than_were_done(gain, yields):
    """`gain`: factor of a sweep on the excess, which begins with 1e4: 9 200 sweeps, or 87."""
    problem = random_rigid(np.random.default_rng(0), bodies=6, contacts=12, law=Law.CCP)
    line = SOLVERS["ags"]
    for settings in (line.settings, line.settings.changed(yields=True)):
        method, ends = line.start(problem, settings, np.zeros(problem.row_count)), []
        for done in range(8, 81, 8):
            method.advance(8)
            method.judged(1e4 * gain**done)
            ends.append(method.finished)
        assert not any(ends)  # too few to tell
        for done in (96, 112):
            method.advance(16)
            method.judged(1e4 * gain**done)
        assert method.finished == (yields and settings.yields)
