"""Sweeps of Gauß–Seidel: blocks of D and rigid bodies give the same iterates, and they are those of the textbook."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_dual, random_rigid
from delassus.solvers import SOLVERS
from delassus.solvers.parts.colouring import colour_blocks
from delassus.solvers.parts.joint_inverses import joint_inverses
from delassus.solvers.parts.one_contact.slip import solve_slip
from delassus.solvers.splitting import storage as storages
from delassus.solvers.splitting.method import SplittingMethod
from delassus.solvers.splitting.sweeps import LOCAL

ROUNDING = 1e-13  # relative to the largest reaction, after one sweep
SIZES = [
    {"bodies": 6, "contacts": 9},
    {"bodies": 9, "contacts": 7, "joints": 8, "limits": 4},
    {"bodies": 9, "contacts": 7, "joints": 4, "limits": 1, "compliance": 1e-3},
    {"bodies": 5, "contacts": 0, "joints": 4, "limits": 3},
]


def at_work(problem, matrix_free, **changes):
    """nbgs with the storage of choice, from a start that is not zero."""
    start = 0.1 * np.random.default_rng(3).standard_normal(problem.row_count)
    method = SplittingMethod(problem, SOLVERS["nbgs"].settings.changed(omega_after=0, **changes), start)
    method.parts = storages.storage(problem, method.local == LOCAL["slip"], matrix_free)
    method.plain = tuple(tuple(part) for part in method.parts)
    return method


def close(a, b, factor=1.0):
    return np.abs(a - b).max() <= factor * ROUNDING * np.abs(b).max()


@pytest.mark.parametrize("local", LOCAL)
@pytest.mark.parametrize("size", range(len(SIZES)))
def test_storages_give_the_same_sweep(local, size):
    problem = random_rigid(np.random.default_rng(size), **SIZES[size])
    for changes in ({"omega": 1.0}, {"omega": 1.3}, {"desaxce": True}):
        blocks, bodies = (at_work(problem, free, local=local, **changes) for free in (False, True))
        assert not blocks.parts[0].matrix_free
        assert bodies.parts[0].matrix_free
        blocks.advance(1), bodies.advance(1)
        assert close(blocks.reactions, bodies.reactions)
        dual = Problem.dual(problem.delassus.matrix(), problem.free_velocity, cone=problem.cone)
        matrix = at_work(dual, False, local=local, **changes)
        matrix.advance(1)
        assert close(matrix.reactions, bodies.reactions)


@pytest.mark.parametrize("law", [Law.NCP, Law.CCP])
@pytest.mark.parametrize("size", range(len(SIZES)))
def test_batches_give_the_same_sweeps_and_the_same_limit(law, size):
    """Rounding grows at most with the sweeps, also where padded copies and velocities are made anew for each batch."""
    problem = random_rigid(np.random.default_rng(size), law=law, **SIZES[size])
    results = []
    for free in (False, True):
        for batches in ([12], [1] * 12):
            method = at_work(problem, free, omega=1.0)
            for count in batches:
                method.advance(count)
            results.append(method.reactions)
    assert all(close(result, results[0], 100.0) for result in results[1:])


@pytest.mark.parametrize("matrix_free", [False, True])
@pytest.mark.parametrize("size", range(len(SIZES)))
def test_one_sweep_is_the_textbook_one(size, matrix_free):
    """Block after block with D in full: joints by pseudo-inverse, limits by projection, contacts by slip rate."""
    problem = random_rigid(np.random.default_rng(10 + size), **SIZES[size])
    cone, D, v_f = problem.cone, problem.delassus.dense(), problem.free_velocity
    method = at_work(problem, matrix_free, omega=1.0)
    r = method.reactions.copy()
    before = cone.bilateral.size + cone.unilateral
    for k, (i, j) in enumerate(zip(cone.block_start, cone.block_start[1:])):
        own = D[i:j, i:j]
        q = D[i:j] @ r + v_f[i:j] - own @ r[i:j]
        if k < cone.bilateral.size:
            r[i:j] -= np.linalg.pinv(own, rcond=1e-12) @ (q + own @ r[i:j])
        elif k < before:
            r[i] = max(0.0, -q[0] / own[0, 0])
        else:
            r[i:j] = solve_slip(np.ascontiguousarray(own).ravel(), 0, *q, problem.mu[k - before], 0.0)[:3]
    method.advance(1)
    assert close(method.reactions, r, 10.0)


@pytest.mark.parametrize("matrix_free", [False, True])
def test_reposed_methods_sweep_the_new_problem(matrix_free):
    first = random_rigid(np.random.default_rng(1), **SIZES[1])
    u_f = np.random.default_rng(2).standard_normal(len(first.u_f))
    rigid = first.delassus
    second = Problem.rigid(rigid.mass, rigid.bodies, rigid.rows, cone=first.cone, u_f=u_f, b=first.bias)
    moved, fresh = at_work(first, matrix_free), at_work(second, matrix_free)
    assert moved.repose(second)
    moved.advance(5), fresh.advance(5)
    assert moved.reactions.tobytes() == fresh.reactions.tobytes()


def test_the_world_may_be_either_body():
    problem = random_rigid(np.random.default_rng(1), **SIZES[1])
    rigid = problem.delassus
    assert (rigid.bodies[:, 0] < 0).any()
    rows = np.concatenate([rigid.rows[:, 6:], rigid.rows[:, :6]], axis=1)
    swapped = Problem.rigid(rigid.mass, rigid.bodies[:, ::-1], rows, cone=problem.cone, u_f=problem.u_f, b=problem.bias)
    one, other = at_work(problem, True), at_work(swapped, True)
    one.advance(3), other.advance(3)
    assert close(other.reactions, one.reactions, 10.0)


def test_pairs_bound_the_blocks_of_D():
    for size in SIZES[:1] + [{"bodies": 20, "contacts": 60}, {"bodies": 200, "contacts": 90}]:
        problem = random_rigid(np.random.default_rng(4), **size)
        rigid = problem.delassus.rigid
        pairs = storages._pairs(rigid.bodies, np.zeros(len(rigid.mass), np.int64))
        assert len(at_work(problem, False).parts[1].column) <= pairs


@pytest.mark.parametrize(
    ("size", "matrix_free"),
    [
        ({"bodies": 3, "contacts": 5}, True),  # few
        ({"bodies": 200, "contacts": 90}, False),
        ({"bodies": 20, "contacts": 90}, True),  # many on each body
        ({"bodies": 200, "contacts": 50, "joints": 40}, True),
    ],
)
def test_body_space_is_for_few_contacts_for_shared_bodies_and_for_joints(size, matrix_free):
    problem = random_rigid(np.random.default_rng(4), **size)
    method = SplittingMethod(problem, SOLVERS["nbgs"].settings, np.zeros(problem.row_count))
    assert method.parts[0].matrix_free == matrix_free


@pytest.mark.parametrize("kind", ["rigid", "matrix"])
def test_blocks_of_one_colour_do_not_couple(kind):
    problem = random_rigid(np.random.default_rng(6), bodies=12, contacts=20, joints=3, limits=2)
    if kind == "matrix":
        problem = Problem.dual(problem.delassus.matrix(), problem.free_velocity, cone=problem.cone)
    order, start = colour_blocks(problem)
    assert sorted(order) == list(range(problem.cone.block_count))
    D, rows = problem.delassus.dense(), problem.cone.block_start
    for first, last in zip(start[:-2], start[1:-1]):
        for p in range(first, last):
            for q in range(first, p):
                a, b = order[p], order[q]
                assert not D[rows[a] : rows[a + 1], rows[b] : rows[b + 1]].any()
    before = problem.cone.bilateral.size + problem.cone.unilateral
    chunks = zip(start, start[1:])
    assert all(np.all(np.diff((order[a:b] >= before).astype(int)) >= 0) for a, b in chunks), "contacts come last"


@pytest.mark.parametrize("rank", range(5))
def test_joints_are_solved_by_their_pseudo_inverses(rank):
    """Of full rank by elimination, rows out of order included, otherwise by singular values."""
    rng = np.random.default_rng(rank)
    blocks = []
    for size in (1, 5, 3, 5):
        root = rng.standard_normal((size, min(size, 5 - rank)))
        blocks.append(root @ root.T)
    blocks.append(np.array([[0.0, 2.0], [1.0, 0.0]]))
    flat = np.concatenate([block.ravel() for block in blocks])
    cone = SimpleNamespace(bilateral=np.array([len(block) for block in blocks]))
    expected = np.concatenate([np.linalg.pinv(block, rcond=1e-12).ravel() for block in blocks])
    found = joint_inverses(SimpleNamespace(cone=cone, diagonal_blocks=flat))
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


PORTABLE = """
import numpy as np
from delassus.problem.random import random_dual, random_rigid
from delassus.solvers import solve
from delassus.solvers.splitting.method import Splitting, SplittingMethod

rng = np.random.default_rng(9)
problems = [random_rigid(rng, bodies=9, contacts=7, joints=8, limits=4), random_dual(rng, contacts=12),
            random_rigid(rng, bodies=60, contacts=40)]
chains = (random_rigid(rng, bodies=3, contacts=0, joints=2) for _ in range(99))
problems.append(next(chain for chain in chains if chain.cone.bilateral[-1] == 5))  # nothing lies behind its last row
for problem in problems:
    method = SplittingMethod(problem, Splitting(solver="nbgs"), np.zeros(problem.row_count))
    method.advance(1)
    for x in method.reactions:
        print(float(x).hex())
for problem in problems[: {problems}]:
    for name in {names}:
        print(solve(problem, name, tol=1e-6, max_iter={most}).status)
"""


def printed(most, problems, names, **environment):
    """Reactions after one sweep over four problems, and statuses of solves of the first ones, from another process."""
    script = PORTABLE.format(most=most, problems=problems, names=names)
    run = [sys.executable, "-c", script]
    lines = subprocess.run(run, capture_output=True, text=True, check=True, env=os.environ | environment).stdout.split()
    numbers = [line for line in lines if "0x" in line]
    return np.array([float.fromhex(x) for x in numbers]), lines[len(numbers) :]


@pytest.mark.slow
def test_processors_without_fused_products_sweep_the_same(tmp_path):
    """Code made for a processor of which nothing is known: no vectors of four, no fused multiply–add."""
    names = ["nbgs", "nbgs+anderson", "auto"]
    here = printed(2000, 3, names)
    there = printed(2000, 3, names, NUMBA_CPU_NAME="generic", DELASSUS_CACHE=str(tmp_path))
    assert close(there[0], here[0])
    assert here[1] == there[1]
    assert len(here[1]) == 9


def test_sweeps_run_without_the_compiler():
    """NUMBA_DISABLE_JIT=1 serves debugging."""
    here, there = printed(200, 1, ["nbgs"]), printed(200, 1, ["nbgs"], NUMBA_DISABLE_JIT="1")
    assert close(there[0], here[0])
    assert here[1] == there[1]
    assert len(here[1]) == 1


def test_full_matrices_are_swept_like_their_bodies():
    """A dual problem all of whose contacts couple."""
    problem = random_dual(np.random.default_rng(5), contacts=15)
    method = at_work(problem, False, omega=1.0)
    assert len(method.parts[1].column) == 15 * 14
    r, D = method.reactions.copy(), problem.delassus.dense()
    for k in range(15):
        i = slice(3 * k, 3 * k + 3)
        q = D[i] @ r + problem.free_velocity[i] - D[i, i] @ r[i]
        r[i] = solve_slip(np.ascontiguousarray(D[i, i]).ravel(), 0, *q, problem.mu[k], 0.0)[:3]
    method.advance(1)
    assert close(method.reactions, r, 10.0)
