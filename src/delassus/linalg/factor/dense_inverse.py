"""Solving with a dense positive semi-definite matrix that may have redundant rows."""

import numpy as np
from numba import njit
from scipy.linalg import lapack

from delassus.linalg.factor.pivoted import null_rows, pivoted_cholesky, solve_columns

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
            self.rank = pivoted_cholesky(self.factor, self.order, PIVOT)
            self.null = np.empty((n - self.rank, n))
            null_rows(self.factor, self.rank, self.null)
        elif n and is_symmetric(D, n):
            self._factor_symmetric(D)
        elif n:
            self.lu, self.pivots, _ = lapack.dgetrf(D)
            diagonal = np.abs(self.lu.diagonal())
            if diagonal.min() <= PIVOT * diagonal.max():
                self.inverse = np.linalg.pinv(D, rcond=_CUTOFF)

    def _factor_symmetric(self, D: np.ndarray) -> None:
        """Rank-revealing Cholesky by LAPACK: D = L Lᵀ with n × rank L, and the factor of LᵀL where rows are redundant.
        Eigenvalues, which say the same, cost ten times as much."""
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


@njit(cache=True)
def is_symmetric(D, n):
    """Are the first n rows and columns, to rounding, relative to the largest entry?"""
    largest, skew = 0.0, 0.0
    for i in range(n):
        for j in range(i + 1):
            largest = max(largest, abs(D[i, j]))
            skew = max(skew, abs(D[i, j] - D[j, i]))
    return skew <= 1e-13 * largest
