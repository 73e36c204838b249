"""Products with small dense matrices, and the largest entry of a vector."""

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"}, **NO_REFCOUNT)
def times_plus(W, r, v, out):
    """out = W r + v."""
    for i in range(len(v)):
        value = 0.0
        for j in range(len(v)):
            value += W[i, j] * r[j]
        out[i] = value + v[i]


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def exact_times_plus(W, r, v, out):
    """out = W r + v, each row summed in order: the bits of a product by compressed rows. Four rows at a time, since one
    sum after the other waits for itself."""
    m, count = len(v), len(r)
    for i in range(0, m - 3, 4):
        a = b = c = d = 0.0
        for j in range(count):
            a += W[i, j] * r[j]
            b += W[i + 1, j] * r[j]
            c += W[i + 2, j] * r[j]
            d += W[i + 3, j] * r[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = a + v[i], b + v[i + 1], c + v[i + 2], d + v[i + 3]
    for i in range(m - m % 4, m):
        a = 0.0
        for j in range(count):
            a += W[i, j] * r[j]
        out[i] = a + v[i]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def max_abs(x):
    """max |x|, zero for nothing, NaN where an entry is."""
    out = 0.0
    for i in range(len(x)):
        size = abs(x[i])
        if size > out or size != size:
            out = size
    return out


@njit(cache=True, error_model="numpy")
def dense_times(transposed, r, x):
    """x = A r for Aᵀ stored by rows: over columns of A, four at a time; sums along a row could not be vectorised."""
    m = len(r)
    for i in range(len(x)):
        x[i] = 0.0
    for j in range(0, m - 3, 4):
        a, b, c, d = r[j], r[j + 1], r[j + 2], r[j + 3]
        for i in range(len(x)):
            x[i] += (transposed[j, i] * a + transposed[j + 1, i] * b) + (
                transposed[j + 2, i] * c + transposed[j + 3, i] * d
            )
    for j in range(m - m % 4, m):
        a = r[j]
        for i in range(len(x)):
            x[i] += transposed[j, i] * a
