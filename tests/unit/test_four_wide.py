"""Products with vectors of four doubles against NumPy's, at every remainder of the vector's length."""

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from delassus.kernel.four_wide import dot


@njit
def product(a, b):
    return dot(a, b)


@njit
def product_of_column(A, b):
    return dot(A[:, 0], b)


@pytest.mark.parametrize("size", [*range(20), 31, 32, 33, 1000])
def test_dot(size):
    a, b = np.random.default_rng(size).standard_normal((2, size))
    assert product(a, b) == pytest.approx(a @ b, rel=1e-13, abs=1e-14 * size)
    longer = np.concatenate([a, [np.nan] * 3])  # what lies behind is not read into the sum
    assert product(longer[:size], b) == product(a, b)


def test_dot_refuses_what_does_not_lie_in_a_row():
    with pytest.raises(TypingError):
        product_of_column(np.ones((3, 3)), np.ones(3))
