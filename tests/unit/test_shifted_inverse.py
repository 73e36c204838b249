"""(D + diag σ)⁻¹ in every storage against a dense solve, and what it is made of."""

import numpy as np
import pytest
import scipy.sparse as sp

from delassus.linalg.dense_product import dense_times
from delassus.linalg.factor.sparse_lu import SparseLU, lu_solve
from delassus.linalg.operators.matrix import MatrixDelassus
from delassus.linalg.operators.rigid import RigidDelassus
from delassus.linalg.operators.shifted_inverse import (
    BODIES,
    FEW_BODIES,
    ROWS,
    SMALL,
    ShiftedDense,
    shifted_inverse,
    solve_shifted,
)
from delassus.linalg.operators.sparse import SparseDelassus
from delassus.problem.random import random_rigid

TOLERANCE = 1e-9  # Woodbury's formula loses as many digits as D exceeds σ


def skewed(rng, bodies, contacts, compliance=0.0) -> RigidDelassus:
    """Random rigid bodies whose masses have a skew part, as gyroscopic terms make it."""
    delassus = random_rigid(rng, bodies=bodies, contacts=contacts, compliance=compliance).delassus
    skew = 0.02 * rng.normal(size=(bodies, 6, 6))
    mass = delassus.mass + skew - skew.transpose(0, 2, 1)
    return RigidDelassus(mass, delassus.bodies, delassus.rows, delassus.block_start, delassus.compliance)


def storages(rng):
    """(what it is, kind, Delassus operator) of every storage."""
    few, many = skewed(rng, 6, 30, 1e-2), skewed(rng, 60, 30)
    enough = skewed(rng, 30, 90)
    yield "few bodies, compliant", FEW_BODIES, few
    yield "bodies", BODIES, enough
    yield "many bodies", ROWS, many
    yield "matrix", ROWS, MatrixDelassus(few.matrix())
    yield "flexible", BODIES, SparseDelassus(many.mass_matrix(), many.jacobian(), np.full(90, 0.1))


@pytest.mark.parametrize("seed", range(3))
def test_sparse_storages_solve_the_scaled_shifted_system(seed):
    rng = np.random.default_rng(seed)
    for what, kind, delassus in storages(rng):
        m = delassus.row_count
        scale = rng.uniform(0.5, 2.0, m)
        inverse = shifted_inverse(delassus, scale)
        assert inverse.kind == kind, what
        D = scale[:, None] * delassus.dense() * scale
        assert np.abs(D - D.T).max() > 1e-6
        for size in (0.1, 3.0):  # the second factorisation reuses the first one's order
            shift = size * rng.uniform(1.0, 2.0, m)
            inverse.factor(shift)
            r, x = rng.normal(size=m), np.full(m, np.nan)
            solve_shifted(inverse.kind, *inverse.plain, r, x, np.full(inverse.work_size, np.nan))
            expected = np.linalg.solve(D + np.diag(shift), r)
            assert np.abs(x - expected).max() <= TOLERANCE * np.abs(expected).max(), (what, size)


@pytest.mark.parametrize("rows", [1, 2, 7, SMALL, SMALL + 1])
def test_dense_storage_solves_the_shifted_system(rows):
    rng = np.random.default_rng(rows)
    A = rng.normal(size=(rows, rows))
    D = A @ A.T + 0.1 * (A - A.T)
    inverse = ShiftedDense(D)
    shift = rng.uniform(0.5, 1.0, rows)
    inverse.factor(shift)
    r, x = rng.normal(size=rows), np.full(rows, np.nan)
    dense_times(inverse.inverse, r, x)
    assert np.allclose(x, np.linalg.solve(D + np.diag(shift), r), rtol=1e-9, atol=1e-12)


def test_factors_follow_the_matrix():
    """Another matrix of the same pattern, and a permutation that is not its own inverse."""
    rng = np.random.default_rng(1)
    pattern = sp.random_array((50, 50), density=0.05, rng=rng)
    pattern = sp.csc_array(pattern + pattern.T)
    lu = SparseLU()
    for _ in range(3):
        A = pattern.copy()
        A.data = rng.normal(size=len(A.data))
        A = sp.csc_array(A + 20.0 * sp.eye_array(50))
        lu.factor(A)
        b = rng.normal(size=50)
        x = b.copy()
        lu_solve(lu.plain, x, x, np.full(50, np.nan))
        assert np.allclose(A @ x, b, atol=1e-12)
