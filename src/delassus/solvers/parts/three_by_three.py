"""The inverse of a 3×3 block, for every layout that blocks are kept in."""

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def adjugate(block):
    """(adjugate, determinant), whose quotient is the inverse.  block, adjugate: nine numbers, row by row."""
    a, b, c = block[0], block[1], block[2]
    d, e, f = block[3], block[4], block[5]
    g, h, i = block[6], block[7], block[8]
    x, y, z = e * i - f * h, f * g - d * i, d * h - e * g
    second = c * h - b * i, a * i - c * g, b * g - a * h
    third = b * f - c * e, c * d - a * f, a * e - b * d
    return (x, second[0], third[0], y, second[1], third[1], z, second[2], third[2]), a * x + b * y + c * z
