"""Rank-revealing Cholesky for small matrices inside compiled code, where a call of LAPACK costs more than the work."""

import math

from numba import njit


@njit(cache=True, error_model="numpy")
def pivoted_cholesky(A, order, tol):
    """P A Pᵀ = L Lᵀ in place (lower triangle, rows in the given order); returns the rank.

    A: (n, n) symmetric positive semi-definite, overwritten: L is A[order[i], j] for j ≤ i, j < rank; order: (n,) int,
    written; tol: pivots below this fraction of the largest end the elimination: the rows left are redundant."""
    n = len(A)
    for i in range(n):
        order[i] = i
    largest = 0.0
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if A[order[i], order[i]] > A[order[best], order[best]]:
                best = i
        order[k], order[best] = order[best], order[k]
        p = order[k]
        pivot = A[p, p]
        if k == 0:
            largest = pivot
        if pivot <= tol * largest or not pivot > 0.0:
            return k
        root = math.sqrt(pivot)
        # Schur complement of the rows left, kept in full so that later pivots need no bookkeeping
        for i in range(k + 1, n):
            q = order[i]
            f = A[q, p] / pivot
            for j in range(k + 1, i + 1):
                r = order[j]
                A[q, r] -= f * A[p, r]
                A[r, q] = A[q, r]
        # column k of L, stored where the eliminated row and column were
        for i in range(k + 1, n):
            A[order[i], p] /= root
        A[p, p] = root
    return n


@njit(cache=True, error_model="numpy")
def pivoted_solve(A, order, rank, b, x):
    """x with A x = b on the independent rows and zero on the redundant ones.  A, order, rank of `pivoted_cholesky`."""
    n = len(b)
    for i in range(n):
        x[i] = 0.0
    for i in range(rank):
        p = order[i]
        value = b[p]
        for j in range(i):
            value -= A[p, order[j]] * x[order[j]]
        x[p] = value / A[p, p]
    for i in range(rank - 1, -1, -1):
        p = order[i]
        value = x[p]
        for j in range(i + 1, rank):
            value -= A[order[j], p] * x[order[j]]
        x[p] = value / A[p, p]
