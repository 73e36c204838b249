"""Numbers of two doubles, (hi, lo) with |lo| ≤ ulp(hi)/2: thirty-one digits ("double-double").

Sums and products are those of Dekker (1971) and Knuth: the rounding error of an operation on doubles is itself a double
and is carried along. In arrays a number is the last axis, of length two. What compiles these functions must not reorder
sums: no `fastmath`.
"""

import math

import numpy as np

from delassus.kernel import njit
from delassus.kernel.instructions import product_error


def pair_array(values: np.ndarray) -> np.ndarray:
    """Doubles (…,) as pairs (…, 2)."""
    out = np.zeros((*values.shape, 2))
    out[..., 0] = values
    return out


@njit(cache=True, error_model="numpy")
def joined(high, low):
    """The pair high + low, for |high| ≥ |low|."""
    total = high + low
    return total, low - (total - high)


@njit(cache=True, error_model="numpy")
def sum_of(a, b):
    """The pair a + b of two doubles."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@njit(cache=True, error_model="numpy")
def add(a, b):
    """a + b of pairs."""
    high, error = sum_of(a[0], b[0])
    low, rest = sum_of(a[1], b[1])
    high, error = joined(high, error + low)
    return joined(high, error + rest)


@njit(cache=True, error_model="numpy")
def sub(a, b):
    """a − b of pairs."""
    return add(a, (-b[0], -b[1]))


@njit(cache=True, error_model="numpy")
def mul(a, b):
    """a b of pairs."""
    product = a[0] * b[0]
    return joined(product, product_error(a[0], b[0], product) + (a[0] * b[1] + a[1] * b[0]))


@njit(cache=True, error_model="numpy")
def times(a, f):
    """Pair a times double f."""
    product = a[0] * f
    return joined(product, product_error(a[0], f, product) + a[1] * f)


@njit(cache=True, error_model="numpy")
def div(a, b):
    """a / b of pairs, by long division."""
    first = a[0] / b[0]
    rest = sub(a, times(b, first))
    second = rest[0] / b[0]
    rest = sub(rest, times(b, second))
    return add(joined(first, second), (rest[0] / b[0], 0.0))


@njit(cache=True, error_model="numpy")
def root(a):
    """√a of a pair, zero for what is not positive."""
    if not a[0] > 0.0:
        return 0.0, 0.0
    near = math.sqrt(a[0])
    square = near * near
    rest = sub(a, (square, product_error(near, near, square)))
    return joined(near, 0.5 * rest[0] / near)


@njit(cache=True, error_model="numpy")
def get(x, i):
    """Entry i of an array of pairs."""
    return x[i, 0], x[i, 1]


@njit(cache=True, error_model="numpy")
def put(x, i, a):
    """x[i] = a."""
    x[i, 0], x[i, 1] = a


@njit(cache=True, error_model="numpy")
def add_multiple(f, x, y):
    """y += f x for a double f.  x, y: (n, 2)."""
    for i in range(len(x)):
        put(y, i, add(get(y, i), times(get(x, i), f)))


@njit(cache=True, error_model="numpy")
def dot(x, y):
    """x · y as a double.  x, y: (n, 2)."""
    total = (0.0, 0.0)
    for i in range(len(x)):
        total = add(total, mul(get(x, i), get(y, i)))
    return total[0]


@njit(cache=True, error_model="numpy")
def scale(factors, x, out):
    """out = factors ∘ x, entry by entry.  All (n, 2)."""
    for i in range(len(x)):
        put(out, i, mul(get(factors, i), get(x, i)))
