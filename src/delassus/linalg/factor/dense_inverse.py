"""Solving with a dense positive semi-definite matrix that may have redundant rows: rank-revealing Cholesky, for small
matrices inside compiled code, where a call of LAPACK costs more than the work."""

import math

import numpy as np
from scipy.linalg import lapack

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.linalg.blas_threads import threads_for

_COMPILED = 80  # rows up to which compiled loops beat LAPACK behind Python
PIVOT = 1e-9  # ratio of smallest to largest pivot below which rows count as redundant
_CUTOFF = 1e-9  # singular values below this fraction of the largest are taken as zero then


class DenseInverse:
    """D⁻¹, or the pseudo-inverse where rows are redundant.

    Rows are scaled to unit diagonals first: the light rods of one machine made diagonals of 1e7 beside those of 1e-2,
    and sound rows looked redundant. The pseudo-inverse gives the smallest solution in these units and ignores what
    redundant rows ask beyond the others. Shifting the diagonal instead divides that contradiction, which is of the
    order of the joints' errors, by the shift: on Bennett's linkage reactions grew a hundredfold in 0.2 s.

    D: (n, n), positive semi-definite, symmetric up to a small part."""

    def __init__(self, D: np.ndarray):
        self.size = n = len(D)
        self.scale, D = _equilibrated(D)
        self.compiled = 0 < n <= _COMPILED and is_symmetric(D, n)
        self.inverse: np.ndarray | None = None
        self.L: np.ndarray | None = None
        self.small: np.ndarray | None = None
        if self.compiled:
            self.factor, self.order = D, np.empty(n, np.int64)
            self.rank = pivoted_cholesky(self.factor, self.order, np.empty(n), PIVOT)
            self.null = np.empty((n - self.rank, n))
            null_rows(self.factor, self.rank, self.null)
        elif n and is_symmetric(D, n):
            self._factor_symmetric(D)
        elif n:
            with threads_for(self.size):
                self.lu, self.pivots, _ = lapack.dgetrf(D)
            diagonal = np.abs(self.lu.diagonal())
            if diagonal.min() <= PIVOT * diagonal.max():
                self.inverse = np.linalg.pinv(D, rcond=_CUTOFF)

    def _factor_symmetric(self, D: np.ndarray) -> None:
        """Rank-revealing Cholesky by LAPACK: D = L Lᵀ with n × rank L, and the factor of LᵀL where rows are redundant.
        Eigenvalues, which say the same, cost ten times as much."""
        with threads_for(self.size):
            packed, order, rank, _ = lapack.dpstrf(D, tol=PIVOT, lower=1)
        L = np.empty((self.size, rank))
        L[order - 1] = np.tril(packed)[:, :rank]
        self.L = L
        if rank < self.size:
            self.small = lapack.dpotrf(L.T @ L, lower=1)[0]
        else:
            self.full, self.places = packed, order - 1

    def solve(self, right: np.ndarray) -> np.ndarray:
        """D⁻¹ right or D⁺ right; right: (n,) or (n, k)."""
        if not self.size:
            return np.zeros_like(right)
        scale = self.scale if right.ndim == 1 else self.scale[:, None]
        return scale * self._solve_scaled(scale * right)

    def _solve_scaled(self, right: np.ndarray) -> np.ndarray:
        if self.compiled:
            columns = right.reshape(self.size, -1)[self.order]
            solve_columns(self.factor, self.rank, self.null, columns)
            out = np.empty_like(columns)
            out[self.order] = columns
            return out.reshape(right.shape)
        if self.inverse is not None:
            return self.inverse @ right
        if self.L is not None:
            return self._solve_symmetric(right)
        return lapack.dgetrs(self.lu, self.pivots, right)[0]

    def _solve_symmetric(self, right: np.ndarray) -> np.ndarray:
        """By L Lᵀ in its own order, or x = L (LᵀL)⁻² Lᵀ right, the smallest solution."""
        if self.small is None:
            out = np.empty_like(right, dtype=float)
            out[self.places] = lapack.dpotrs(self.full, right[self.places], lower=1)[0]
            return out
        assert self.L is not None
        y = lapack.dpotrs(self.small, self.L.T @ right, lower=1)[0]
        return self.L @ lapack.dpotrs(self.small, y, lower=1)[0]


def _equilibrated(D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(s, S D S) with s = diag(D)^-½, one where that is not positive."""
    scale, scaled = np.empty(len(D)), np.empty_like(D)
    _equilibrate(D, scale, scaled)
    return scale, scaled


@njit(cache=True)
def _equilibrate(D, scale, scaled):
    for i in range(len(D)):
        scale[i] = 1.0 / np.sqrt(D[i, i]) if D[i, i] > 0.0 else 1.0
    for i in range(len(D)):
        for j in range(len(D)):
            scaled[i, j] = scale[i] * D[i, j] * scale[j]


@njit(cache=True, **NO_REFCOUNT)
def is_symmetric(D, n):
    """Are the first n rows and columns, to rounding, relative to the largest entry?"""
    largest, skew = 0.0, 0.0
    for i in range(n):
        size, off = abs(D[i, i]), 0.0  # of a row: one maximum of all would wait for itself at every entry
        for j in range(i):
            size, off = max(size, abs(D[i, j])), max(off, abs(D[i, j] - D[j, i]))
        largest, skew = max(largest, size), max(skew, off)
    return skew <= 1e-13 * largest


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"}, **NO_REFCOUNT)
def dot_rows(A, i, B, j, first, last):
    """Σ A[i, k] B[j, k] over the columns from `first` to before `last`."""
    value = 0.0
    for k in range(first, last):
        value += A[i, k] * B[j, k]
    return value


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def pivoted_cholesky(A, order, left, tol):
    """P A Pᵀ = L Lᵀ in place; returns the rank.

    A: (n, n) symmetric positive semi-definite, of which the lower triangle is read and overwritten: L is A[i, j] for
    j < i, j < rank, the diagonal holds the reciprocals 1 / L[i, i], and row i of L belongs to row order[i] of the given
    matrix; order: (n,) int, written; left: (n,), written: the diagonal of the Schur complement; tol: pivots below this
    fraction of the largest end the elimination: the rows left are redundant. Row by row, since sums over two rows read
    memory in order."""
    n = len(A)
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
        own = 1.0 / math.sqrt(pivot)
        A[k, k] = own
        for i in range(k + 1, n):
            value = (A[i, k] - dot_rows(A, i, A, k, 0, k)) * own
            A[i, k] = value
            left[i] -= value * value
    return n


@njit(cache=True, **NO_REFCOUNT)
def _exchange(A, k, b):
    """Rows and columns k < b of a symmetric matrix exchanged, in its lower triangle; the factor's columns before k too.
    The diagonal entry of b is left as it is: it is written before it is read again."""
    for j in range(k):
        A[k, j], A[b, j] = A[b, j], A[k, j]
    for j in range(k + 1, b):
        A[j, k], A[b, j] = A[b, j], A[j, k]
    for i in range(b + 1, len(A)):
        A[i, k], A[i, b] = A[i, b], A[i, k]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def pivoted_solve(A, order, rank, b, y, x):
    """x with A x = b on the independent rows and zero on the redundant ones.  A, order, rank of `pivoted_cholesky`;
    y: (n,), written; x may be b."""
    for i in range(rank):
        y[i] = b[order[i]]
    _substitute(A, rank, y)
    for i in range(len(b)):
        x[order[i]] = y[i] if i < rank else 0.0


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"}, **NO_REFCOUNT)
def _substitute(A, rank, y):
    """y ← L⁻ᵀ L⁻¹ y, its first `rank` entries, in the order of the factor's rows."""
    for i in range(rank):
        value = 0.0
        for j in range(i):
            value += A[i, j] * y[j]
        y[i] = (y[i] - value) * A[i, i]
    for i in range(rank - 1, -1, -1):
        f = y[i] = y[i] * A[i, i]
        for j in range(i):
            y[j] -= A[i, j] * f


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
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
            f = N[k, i] = N[k, i] * A[i, i]
            for j in range(i):
                N[k, j] -= A[i, j] * f
    for k in range(n - rank):
        for _ in range(2):  # once is not enough where they are nearly parallel
            for before in range(k):
                share = dot_rows(N, before, N, k, 0, n)
                for j in range(n):
                    N[k, j] -= share * N[before, j]
        size = math.sqrt(dot_rows(N, k, N, k, 0, n))
        for j in range(n):
            N[k, j] /= size


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def solve_columns(A, rank, N, y):
    """y ← the smallest solution of P A Pᵀ y = y on the independent rows, for every column of y: (n, k), entries in the
    order of the factor's rows.  A, rank of `pivoted_cholesky`, N of `null_rows`."""
    n, columns = y.shape
    if columns == 1:  # loops over columns would be loops over one number
        _substitute(A, rank, y.reshape(-1))
    else:
        _substitute_columns(A, rank, y)
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


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _substitute_columns(A, rank, y):
    """`_substitute` for every column of y: (n, k), side by side, since rows of y are then read in order."""
    columns = y.shape[1]
    for i in range(rank):
        for k in range(i):
            f = A[i, k]
            for c in range(columns):
                y[i, c] -= f * y[k, c]
        for c in range(columns):
            y[i, c] *= A[i, i]
    for i in range(rank - 1, -1, -1):
        for c in range(columns):
            y[i, c] *= A[i, i]
        for k in range(i):
            f = A[i, k]
            for c in range(columns):
                y[k, c] -= f * y[i, c]
