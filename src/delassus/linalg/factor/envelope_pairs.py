"""Cholesky factors within an envelope, as in `envelope`, of numbers of two doubles each.

Arrays are full, (n, n, 2). The factor is the lower one, whose row i starts at first[i], (n,). A file of its own, since
few problems need two doubles and the others do not load them.
"""

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.linalg.pairs import div, get, mul, put, root, sub


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def factor_pairs(A, first):
    """A ← L, A = L Lᵀ; False where a pivot is not positive."""
    for i in range(len(first)):
        for j in range(first[i], i + 1):
            value = get(A[i], j)
            for k in range(max(first[i], first[j]), j):
                value = sub(value, mul(get(A[i], k), get(A[j], k)))
            if i != j:
                put(A[i], j, div(value, get(A[j], j)))
            elif value[0] > 0.0:
                put(A[i], i, root(value))
            else:
                return False
    return True


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def solve_factored_pairs(A, first, x):
    """x ← A⁻¹ x with the factor in place.  x: (n, 2)."""
    for i in range(len(first)):
        value = get(x, i)
        for k in range(first[i], i):
            value = sub(value, mul(get(A[i], k), get(x, k)))
        put(x, i, div(value, get(A[i], i)))
    for i in range(len(first) - 1, -1, -1):
        value = div(get(x, i), get(A[i], i))
        put(x, i, value)
        for k in range(first[i], i):
            put(x, k, sub(get(x, k), mul(get(A[i], k), value)))
