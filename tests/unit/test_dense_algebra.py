"""Dense solves with redundant rows: the compiled Cholesky and the pseudo-inverse against NumPy."""

import numpy as np
import pytest

from delassus.linalg.factor.dense_inverse import DenseInverse, pivoted_cholesky, pivoted_solve

ROUNDING = 1e-9


@pytest.mark.parametrize(("n", "rank"), [(1, 1), (5, 5), (20, 20), (20, 17), (40, 12), (6, 1)])
def test_pivoted_cholesky_solves_consistent_systems(n, rank):
    rng = np.random.default_rng(n + 100 * rank)
    for _ in range(20):
        J = rng.normal(size=(n, rank))
        D, b = J @ J.T, J @ rng.normal(size=rank)
        A, order, x = D.copy(), np.empty(n, np.int64), np.full(n, np.nan)
        found = pivoted_cholesky(A, order, np.empty(len(A)), 1e-11)
        pivoted_solve(A, order, found, b, np.empty(n), x)
        assert found == rank
        assert sorted(order) == list(range(n))
        assert np.allclose(D @ x, b, atol=ROUNDING * np.abs(b).max() * np.linalg.cond(J) ** 2)


def test_pivoted_cholesky_of_nothing_and_of_zero():
    order, x = np.empty(3, np.int64), np.full(3, np.nan)
    A = np.zeros((3, 3))
    assert pivoted_cholesky(A, order, np.empty(len(A)), 1e-11) == 0
    pivoted_solve(A, order, 0, np.ones(3), np.empty(3), x)
    assert not x.any()


@pytest.mark.parametrize(("n", "rank"), [(4, 4), (30, 30), (30, 21), (9, 2), (150, 150), (150, 120)])
@pytest.mark.parametrize("skew", [0.0, 1e-3])
def test_dense_inverse_is_the_smallest_solution(n, rank, skew):
    rng = np.random.default_rng(n + rank)
    J = rng.normal(size=(n, rank))
    K = rng.normal(size=(rank, rank))
    D = J @ (np.eye(rank) + skew * (K - K.T)) @ J.T
    b = D @ rng.normal(size=n)
    s = 1.0 / np.sqrt(D.diagonal())  # smallest in units of unit diagonals
    want = s * np.linalg.lstsq(s[:, None] * D * s, s * b, rcond=1e-9)[0]
    assert np.allclose(DenseInverse(D).solve(b), want, atol=1e-7 * np.abs(want).max())
    both = DenseInverse(D).solve(np.stack([b, 2 * b], axis=1))
    assert np.allclose(both[:, 1], 2 * both[:, 0])


def test_dense_inverse_of_nothing():
    assert DenseInverse(np.zeros((0, 0))).solve(np.zeros(0)).shape == (0,)
