"""Products with three rows at once against NumPy's."""

import numpy as np

from delassus.kernel import njit
from delassus.kernel.six_wide import add_square, push_three, three_rows_times


@njit(cache=True)
def _times(rows, i, a, b, u):
    return three_rows_times(rows, i, a, b, u)


@njit(cache=True)
def _push(rows, i, a, b, x, out):
    push_three(rows, i, a, b, x[0], x[1], x[2], out)


@njit(cache=True)
def _add(rows, i, left, right, blocks, k, values, at):
    add_square(rows, i, left, right, blocks, k, values, at)


def test_products_with_three_rows_are_those_of_matrices():
    rng = np.random.default_rng(0)
    rows, u, out = rng.normal(size=(9, 12)), rng.normal(size=30), rng.normal(size=30)
    i, a, b, x = 3, 24, 6, rng.normal(size=3)
    J = np.zeros((3, 30))
    J[:, a : a + 6], J[:, b : b + 6] = rows[i : i + 3, :6], rows[i : i + 3, 6:]
    assert np.allclose(_times(rows, i, a, b, u), J @ u, rtol=1e-14)
    pushed = out + J.T @ x
    _push(rows, i, a, b, x, out)
    assert np.allclose(out, pushed, rtol=1e-14)


def test_squares_are_added_where_they_belong():
    """Of both bodies, and between them in either order; nothing else changes."""
    rng = np.random.default_rng(1)
    rows, blocks, i, k, at = rng.normal(size=(9, 12)), rng.normal(size=(4, 3, 3)), 6, 2, 1
    for left, right in ((0, 0), (6, 6), (0, 6), (6, 0)):
        values = rng.normal(size=(3, 6, 6))
        expected = values.copy()
        expected[at] += rows[i : i + 3, left : left + 6].T @ blocks[k] @ rows[i : i + 3, right : right + 6]
        _add(rows, i, left, right, blocks, k, values, at)
        assert np.allclose(values, expected, rtol=1e-14)
