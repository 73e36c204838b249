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


@njit(cache=True, error_model="numpy")
def least_norm_factors(A, order, rank, work):
    """What `smallest_solution` needs where rows are redundant, into work: (2 n + 1, n): the n × rank factor L in the
    rows' own order and the Cholesky factor of LᵀL.  A, order, rank of `pivoted_cholesky`."""
    n = len(A)
    L, G = work[:n], work[n : 2 * n]
    for i in range(n):
        p = order[i]
        for j in range(rank):
            L[p, j] = A[p, order[j]] if j <= i else 0.0  # the permuted factor is lower triangular
    for i in range(rank):  # Cholesky of LᵀL
        for j in range(i + 1):
            value = 0.0
            for m in range(n):
                value += L[m, i] * L[m, j]
            for m in range(j):
                value -= G[i, m] * G[j, m]
            G[i, j] = math.sqrt(value) if i == j else value / G[j, j]


@njit(cache=True, error_model="numpy")
def smallest_solution(A, order, rank, b, work, x):
    """x of least norm with A x = b as far as the rows agree: x = L (LᵀL)⁻² Lᵀ b with the n × rank factor L.

    A, order, rank of `pivoted_cholesky`; work: of `least_norm_factors`; b, x: (n, k)."""
    n, k = b.shape
    if rank == n:
        for c in range(k):
            pivoted_solve(A, order, n, b[:, c], x[:, c])
        return
    L, G, y = work[:n], work[n : 2 * n], work[2 * n]
    for c in range(k):
        for i in range(rank):
            y[i] = 0.0
            for m in range(n):
                y[i] += L[m, i] * b[m, c]
        for _ in range(2):
            for i in range(rank):
                for j in range(i):
                    y[i] -= G[i, j] * y[j]
                y[i] /= G[i, i]
            for i in range(rank - 1, -1, -1):
                for j in range(i + 1, rank):
                    y[i] -= G[j, i] * y[j]
                y[i] /= G[i, i]
        for m in range(n):
            x[m, c] = 0.0
            for i in range(rank):
                x[m, c] += L[m, i] * y[i]
