"""D in 3×3 blocks: three ways to cut it give the same matrix, and its units can be taken back."""

import numpy as np
import pytest
import scipy.sparse as sp

from delassus.cones import ProductCone
from delassus.kernel.four_wide import PADDING
from delassus.problem import Problem
from delassus.problem.random import random_rigid
from delassus.solvers.parts.threes import (
    cut_matrix,
    cut_rigid,
    fill_dense,
    place_rows,
    scale_threes,
    triples_of,
    velocity,
)

SIZES = [
    {"bodies": 5, "contacts": 8},
    {"bodies": 6, "contacts": 5, "joints": 4, "limits": 3},
    {"bodies": 12, "contacts": 20, "joints": 6, "limits": 2, "compliance": 1e-3},
    {"bodies": 4, "contacts": 7, "limits": 2, "mass_ratio": 1e5},
    {"bodies": 3, "contacts": 0, "joints": 3},
]


def dense(D, place, n):
    """(pointer, column, value, diagonal) of a full matrix."""
    pointer, column, row_of = np.empty(n + 1, np.int64), np.empty(n * (n - 1), np.int64), np.empty(3 * n, np.int64)
    value, diagonal = np.full(9 * n * (n - 1) + PADDING, np.nan), np.full(9 * n, np.nan)
    count = fill_dense(D, place, n, row_of, pointer, column, value, diagonal)
    return pointer, column[:count], value[: 9 * count + PADDING], diagonal


def cut(problem):
    """(place, [(pointer, column, value, diagonal) by matrix, full matrix, bodies])."""
    cone, D = problem.cone, problem.delassus
    n = triples_of(cone.block_start)
    place, friction = np.empty(problem.row_count, np.int64), np.empty(n)
    assert place_rows(cone.block_start, cone.bilateral.size, cone.unilateral, problem.mu, place, friction) == n
    M = D.matrix()
    parts = [
        cut_matrix(M.indptr, M.indices, M.data, place, n),
        dense(D.dense(), place, n),
        cut_rigid(D.rigid.plain, len(D.mass), place, n),
    ]
    return place, parts


@pytest.mark.parametrize("size", range(len(SIZES)))
def test_each_cut_gives_the_velocities_of_the_problem(size):
    problem = random_rigid(np.random.default_rng(size), **SIZES[size])
    place, parts = cut(problem)
    reactions = np.random.default_rng(7).standard_normal(problem.row_count)
    expected = problem.constraint_velocity(reactions)
    for blocks in parts:
        rows = 3 * (len(blocks[0]) - 1)
        r, v, out = np.zeros(rows), np.zeros(rows), np.empty(rows)
        r[place], v[place] = reactions, problem.free_velocity
        velocity(*blocks, v, r, out)
        assert np.allclose(out[place], expected, rtol=1e-12, atol=1e-12 * abs(expected).max())
        empty = np.setdiff1d(np.arange(rows), place)
        assert not out[empty].any()


@pytest.mark.parametrize("size", range(len(SIZES)))
def test_scaled_blocks_give_the_same_velocities_in_their_units(size):
    problem = random_rigid(np.random.default_rng(size), **SIZES[size])
    place, parts = cut(problem)
    blocks = parts[0]
    rows = 3 * (len(blocks[0]) - 1)
    r, v, out = np.random.default_rng(8).standard_normal(rows), np.zeros(rows), np.empty(rows)
    unit_r, unit_v = np.empty(rows), np.empty(rows)
    v[place] = problem.free_velocity
    scale_threes(*blocks, v, unit_r, unit_v)
    velocity(*blocks, v, r, out)
    expected = problem.constraint_velocity((unit_r * r)[place])
    assert np.allclose((unit_v * out)[place], expected, rtol=1e-11, atol=1e-11 * abs(expected).max())
    diagonal = blocks[3].reshape(-1, 9)[:, ::4]
    assert diagonal[diagonal > 0.0].mean() == pytest.approx(1.0)
    assert np.sqrt(np.mean(v[place] ** 2)) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(4))
def test_matrices_of_any_pattern_are_cut(seed):
    """Whole blocks are copied, others searched for: rows with holes or out of order, triples that are no contacts."""
    rng = np.random.default_rng(seed)
    cone = ProductCone((5, 3), 2, np.full(6, 0.5))
    m = cone.row_count
    full = rng.standard_normal((m, m))
    for i in range(10, m, 3):  # contacts couple in whole blocks or not at all …
        for j in range(10, m, 3):
            full[i : i + 3, j : j + 3] *= rng.random() < 0.5
    holes = rng.integers(0, m, (2, 5 * seed))
    full[holes[0], holes[1]] = 0.0  # … but for some holes
    D = sp.csr_array(full)
    if seed == 3:
        order = np.concatenate([a + rng.permutation(b - a) for a, b in zip(D.indptr, D.indptr[1:])])
        D = sp.csr_array((D.data[order], D.indices[order], D.indptr), shape=D.shape)
    n = triples_of(cone.block_start)
    place, friction = np.empty(m, np.int64), np.empty(n)
    place_rows(cone.block_start, 2, 2, cone.mu, place, friction)
    blocks = cut_matrix(D.indptr, D.indices, D.data, place, n)
    r, out = np.zeros(3 * n), np.empty(3 * n)
    r[place] = rng.standard_normal(m)
    velocity(*blocks, np.zeros(3 * n), r, out)
    assert np.allclose(out[place], full @ r[place], rtol=1e-12, atol=1e-12)
    assert blocks[0][-1] == len(blocks[1])


def test_joints_of_the_world_with_itself_have_room_for_their_blocks():
    """Nothing moves there, but a joint of six rows is two triples, each with a block for the other."""
    cone = ProductCone((6, 6), 0, [0.5])
    rows = np.zeros((cone.row_count, 12))
    rows[12:, :3] = np.eye(3)
    problem = Problem.rigid(np.eye(6)[None], [[-1, -1], [-1, -1], [0, -1]], rows, cone=cone, u_f=-np.ones(6))
    place, parts = cut(problem)
    pointer, column, value, _ = parts[2]
    assert np.array_equal(np.diff(pointer), [1, 1, 1, 1, 0])
    assert np.array_equal(column, [3, 0, 9, 6])
    assert not value.any()
