"""Cholesky factors of symmetric matrices whose entries lie in an envelope around the diagonal, in compiled code.

What couples few neighbours in a good order fills no more than its envelope. Arrays are full, (n, n). In
doubles the upper factor is made, whose row k ends at end[k], (n,), which never decreases; behind it there must be zeros
up to where row k + 3 ends. In numbers of two doubles, (n, n, 2), it is the lower one, whose row i starts at first[i].
"""

import math

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.linalg.pairs import div, get, mul, put, root, sub


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def factor(A, end):
    """A ← U, A = UᵀU, within the envelope, inverses on the diagonal; False where a pivot is not positive. Four rows are
    taken at a time, so that a number loaded is used four times."""
    n = len(end)
    first = 0
    for i in range(n):
        while end[first] <= i:
            first += 1
        last = end[i]
        k = first
        while k + 4 <= i:
            a, b, c, d = A[k, i], A[k + 1, i], A[k + 2, i], A[k + 3, i]
            if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                stop = end[k + 3]
                for j in range(i, stop):
                    A[i, j] -= a * A[k, j] + b * A[k + 1, j] + c * A[k + 2, j] + d * A[k + 3, j]
            k += 4
        while k < i:
            a = A[k, i]
            for j in range(i, end[k]):
                A[i, j] -= a * A[k, j]
            k += 1
        pivot = A[i, i]
        if not pivot > 0.0:
            return False
        root = 1.0 / math.sqrt(pivot)
        A[i, i] = root
        for j in range(i + 1, last):
            A[i, j] *= root
    return True


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def solve_factored(U, end, b):
    """b ← (UᵀU)⁻¹ b."""
    n = len(end)
    for k in range(n):
        f = b[k] * U[k, k]
        b[k] = f
        for j in range(k + 1, end[k]):
            b[j] -= U[k, j] * f
    for k in range(n - 1, -1, -1):
        p, q, r, s = 0.0, 0.0, 0.0, 0.0
        j = k + 1
        while j + 4 <= end[k]:
            p += U[k, j] * b[j]
            q += U[k, j + 1] * b[j + 1]
            r += U[k, j + 2] * b[j + 2]
            s += U[k, j + 3] * b[j + 3]
            j += 4
        while j < end[k]:
            p += U[k, j] * b[j]
            j += 1
        b[k] = (b[k] - ((p + q) + (r + s))) * U[k, k]


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
