"""LAPACK inside compiled code."""

import numpy as np
import pytest

from delassus.linalg.factor.lapack import solve_general


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_solves_as_numpy_does(n):
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    x = b.copy()
    assert solve_general(A, x, np.empty((n, n)), np.empty(n, np.int32))
    np.testing.assert_allclose(A @ x, b, rtol=0, atol=1e-12 * np.linalg.cond(A) * abs(b).max())


def test_a_singular_matrix_is_told():
    A = np.ones((3, 3))
    assert not solve_general(A, np.ones(3), np.empty((3, 3)), np.empty(3, np.int32))
