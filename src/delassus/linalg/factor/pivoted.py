"""Rank-revealing Cholesky for small matrices inside compiled code, where a call of LAPACK costs more than the work."""

import math

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def dot_rows(A, i, B, j, count):
    """Σ A[i, k] B[j, k] over the first `count` columns."""
    value = 0.0
    for k in range(count):
        value += A[i, k] * B[j, k]
    return value


@njit(cache=True, error_model="numpy")
def pivoted_cholesky(A, order, tol):
    """P A Pᵀ = L Lᵀ in place; returns the rank.

    A: (n, n) symmetric positive semi-definite, of which the lower triangle is read and overwritten: L is A[i, j] for
    j ≤ i, j < rank, and its row i belongs to row order[i] of the given matrix; order: (n,) int, written; tol: pivots
    below this fraction of the largest end the elimination: the rows left are redundant. Row by row, since sums over
    two rows read memory in order."""
    n = len(A)
    left = np.empty(n)  # diagonal of the Schur complement
    for i in range(n):
        order[i] = i
        left[i] = A[i, i]
    largest = 0.0
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if left[i] > left[best]:
                best = i
        pivot = left[best]
        if k == 0:
            largest = pivot
        if pivot <= tol * largest or not pivot > 0.0:
            return k
        if best != k:
            order[k], order[best] = order[best], order[k]
            left[best] = left[k]
            _exchange(A, k, best)
        root = math.sqrt(pivot)
        A[k, k] = root
        for i in range(k + 1, n):
            value = (A[i, k] - dot_rows(A, i, A, k, k)) / root
            A[i, k] = value
            left[i] -= value * value
    return n


@njit(cache=True)
def _exchange(A, k, b):
    """Rows and columns k < b of a symmetric matrix exchanged, in its lower triangle; the factor's columns before k too.
    The diagonal entry of b is left as it is: it is written before it is read again."""
    for j in range(k):
        A[k, j], A[b, j] = A[b, j], A[k, j]
    for j in range(k + 1, b):
        A[j, k], A[b, j] = A[b, j], A[j, k]
    for i in range(b + 1, len(A)):
        A[i, k], A[i, b] = A[i, b], A[i, k]


@njit(cache=True, error_model="numpy")
def pivoted_solve(A, order, rank, b, x):
    """x with A x = b on the independent rows and zero on the redundant ones.  A, order, rank of `pivoted_cholesky`."""
    y = np.empty(rank)
    for i in range(rank):
        value = b[order[i]]
        for j in range(i):
            value -= A[i, j] * y[j]
        y[i] = value / A[i, i]
    for i in range(rank - 1, -1, -1):
        y[i] /= A[i, i]
        for j in range(i):
            y[j] -= A[i, j] * y[i]
    for i in range(len(b)):
        x[order[i]] = y[i] if i < rank else 0.0


@njit(cache=True, error_model="numpy")
def null_rows(A, rank, N):
    """N: (n − rank, n), written: an orthonormal basis of the vectors that the matrix maps to zero, entries in the order
    of the factor's rows.  A, rank of `pivoted_cholesky`."""
    n = len(A)
    for k in range(n - rank):
        for j in range(rank):
            N[k, j] = -A[rank + k, j]
        for j in range(rank, n):
            N[k, j] = 1.0 if j == rank + k else 0.0
        for i in range(rank - 1, -1, -1):  # −L₁⁻ᵀ L₂ᵀ for the factor [L₁; L₂]
            N[k, i] /= A[i, i]
            for j in range(i):
                N[k, j] -= A[i, j] * N[k, i]
    for k in range(n - rank):
        for _ in range(2):  # once is not enough where they are nearly parallel
            for before in range(k):
                share = dot_rows(N, before, N, k, n)
                for j in range(n):
                    N[k, j] -= share * N[before, j]
        size = math.sqrt(dot_rows(N, k, N, k, n))
        for j in range(n):
            N[k, j] /= size


@njit(cache=True, error_model="numpy")
def solve_columns(A, rank, N, y):
    """y ← the smallest solution of P A Pᵀ y = y on the independent rows, for every column of y: (n, k), entries in the
    order of the factor's rows.  A, rank of `pivoted_cholesky`, N of `null_rows`."""
    n, columns = y.shape
    for i in range(rank):
        for k in range(i):
            f = A[i, k]
            for c in range(columns):
                y[i, c] -= f * y[k, c]
        for c in range(columns):
            y[i, c] /= A[i, i]
    for i in range(rank - 1, -1, -1):
        for c in range(columns):
            y[i, c] /= A[i, i]
        for k in range(i):
            f = A[i, k]
            for c in range(columns):
                y[k, c] -= f * y[i, c]
    for i in range(rank, n):
        for c in range(columns):
            y[i, c] = 0.0
    for k in range(n - rank):
        for c in range(columns):
            share = 0.0
            for i in range(n):
                share += N[k, i] * y[i, c]
            for i in range(n):
                y[i, c] -= share * N[k, i]
