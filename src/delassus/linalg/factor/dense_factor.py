"""Small symmetric systems as full matrices."""

import math

import numpy as np
from scipy.linalg import lapack

from delassus.kernel import njit
from delassus.linalg.factor.symmetric import Pattern


class DenseFactor:
    """Cholesky in compiled loops: at the sizes this is for, threads of BLAS cost more than they save, on a busy machine
    hundreds of times more. Bunch–Kaufman by LAPACK for indefinite matrices."""

    def __init__(self, pattern: Pattern, definite: bool):
        n = pattern.size
        row, column, source = pattern.full()
        lower = row >= column
        self.definite = definite
        self.at = row[lower] * n + column[lower]
        self.source = source[lower]
        self.full = np.zeros((n, n))
        self.L = np.zeros((n, n))
        self.pivots: np.ndarray | None = None

    def factor(self, values: np.ndarray) -> bool:
        self.full.reshape(-1)[self.at] = values.reshape(-1)[self.source]
        if self.definite:
            return bool(_cholesky(self.full, self.L))
        self.L, self.pivots, info = lapack.dsytrf(self.full, lower=1)
        return info == 0

    def solve(self, right: np.ndarray, out: np.ndarray) -> None:
        if self.definite:
            _solve(self.L, right, out)
        else:
            out[:] = lapack.dsytrs(self.L, self.pivots, right, lower=1)[0]

    def solve_many(self, right: np.ndarray) -> np.ndarray:
        out = np.empty(right.shape)
        for one, solution in zip(right, out):
            self.solve(one, solution)
        return out

    def release(self) -> None:
        """Nothing: the matrix is small."""


class FullFactor:
    """Factors of a matrix held in full, (n, n): of few unknowns they take a fraction of what SciPy needs to look at a
    sparse one.  factors: Cholesky's L, or L and U in one place; is_symmetric: which of the two?"""

    def __init__(self, factors: np.ndarray, is_symmetric: bool):
        self.factors, self.is_symmetric = factors, is_symmetric

    @classmethod
    def symmetric(cls, A: np.ndarray) -> "FullFactor | None":
        """Of A, (n, n), whose lower triangle is read; None where it is not positive definite."""
        L = np.empty(A.shape)
        return cls(L, True) if _cholesky(A, L) else None

    @classmethod
    def general(cls, A: np.ndarray) -> "FullFactor | None":
        """Of A, (n, n), overwritten, whose symmetric part is positive definite, so that no row needs to change its
        place; None where a pivot is zero."""
        return cls(A, False) if _eliminate(A) else None

    def solve(self, right: np.ndarray) -> np.ndarray:
        """A⁻¹ right, (n,) or (n, k)."""
        rows = np.ascontiguousarray(np.atleast_2d(right.T))
        out = np.empty(rows.shape)
        _solve_each(self.factors, self.is_symmetric, rows, out)
        return out[0] if right.ndim == 1 else out.T


@njit(cache=True, error_model="numpy")
def _solve_each(factors, is_symmetric, right, out):
    for c in range(len(right)):
        if is_symmetric:
            _solve(factors, right[c], out[c])
        else:
            _solve_eliminated(factors, right[c], out[c])


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _eliminate(A):
    """A ← L and U, with A = L U, ones on the diagonal of L; False where a pivot is zero or none."""
    for i in range(len(A)):
        for k in range(i):
            if A[i, k] != 0.0:
                f = A[i, k] / A[k, k]
                A[i, k] = f
                for j in range(k + 1, len(A)):
                    A[i, j] -= f * A[k, j]
        if not abs(A[i, i]) > 0.0:
            return False
    return True


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _solve_eliminated(LU, right, out):
    n = len(right)
    for i in range(n):
        total = right[i]
        for k in range(i):
            total -= LU[i, k] * out[k]
        out[i] = total
    for i in range(n - 1, -1, -1):
        total = out[i]
        for k in range(i + 1, n):
            total -= LU[i, k] * out[k]
        out[i] = total / LU[i, i]


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _cholesky(A, L):
    """L Lᵀ = A, lower triangles; False where A is not positive definite."""
    n = len(A)
    for i in range(n):
        for j in range(i):
            total = A[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = total * L[j, j]
        total = A[i, i]
        for k in range(i):
            total -= L[i, k] * L[i, k]
        if not total > 0.0:
            return False
        L[i, i] = 1.0 / math.sqrt(total)  # kept inverted
    return True


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _solve(L, right, out):
    n = len(right)
    for i in range(n):
        total = right[i]
        for k in range(i):
            total -= L[i, k] * out[k]
        out[i] = total * L[i, i]
    for i in range(n - 1, -1, -1):
        out[i] *= L[i, i]
        for k in range(i):
            out[k] -= L[i, k] * out[i]
