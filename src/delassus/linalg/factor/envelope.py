"""Cholesky factors of symmetric matrices whose entries lie in an envelope around the diagonal, in compiled code.

What couples few neighbours in a good order fills no more than its envelope. Arrays are full, (n, n). The factor is the
upper one, whose row k ends at end[k], (n,), which never decreases; behind it there must be zeros up to where row k + 3
ends. `envelope_pairs` does it for numbers of two doubles.
"""

import math

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT


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
