"""Solving with a dense positive semi-definite matrix that may have redundant rows."""

import numpy as np
from numba import njit
from scipy.linalg import lapack

from delassus.linalg.pivoted import least_norm_factors, pivoted_cholesky, smallest_solution

_COMPILED = 80  # rows up to which compiled loops beat LAPACK behind Python
_PIVOT = 1e-9  # ratio of smallest to largest pivot below which rows count as redundant
_CUTOFF = 1e-9  # singular values below this fraction of the largest are taken as zero then


class DenseInverse:
    """D⁻¹, or the pseudo-inverse where rows are redundant.

    The pseudo-inverse gives the smallest solution and ignores what redundant rows ask beyond the others. Shifting the
    diagonal instead divides that contradiction, which is of the order of the joints' errors, by the shift: on Bennett's
    linkage reactions grew a hundredfold in 0.2 s.

    D: (n, n), positive semi-definite, symmetric up to a small part."""

    def __init__(self, D: np.ndarray):
        self.size = n = len(D)
        self.compiled = 0 < n <= _COMPILED and _is_symmetric(D)
        self.inverse: np.ndarray | None = None
        if self.compiled:
            self.factor, self.order = D.copy(), np.empty(n, np.int64)
            self.rank = pivoted_cholesky(self.factor, self.order, _PIVOT)
            self.work = np.empty((2 * n + 1, n))
            if self.rank < n:
                least_norm_factors(self.factor, self.order, self.rank, self.work)
        elif n:
            self.lu, self.pivots, _ = lapack.dgetrf(D)
            diagonal = np.abs(self.lu.diagonal())
            if diagonal.min() <= _PIVOT * diagonal.max():
                self.inverse = _pseudo_inverse(D)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """D⁻¹ right or D⁺ right; right: (n,) or (n, k)."""
        if not self.size:
            return np.zeros_like(right)
        if self.compiled:
            columns = right.reshape(self.size, -1)
            out = np.empty(columns.shape)
            smallest_solution(self.factor, self.order, self.rank, columns, self.work, out)
            return out.reshape(right.shape)
        if self.inverse is not None:
            return self.inverse @ right
        return lapack.dgetrs(self.lu, self.pivots, right)[0]


def _pseudo_inverse(D: np.ndarray) -> np.ndarray:
    """D⁺, by eigenvalues where D is symmetric to rounding and by singular values where it is not."""
    if not _is_symmetric(D):
        return np.linalg.pinv(D, rcond=_CUTOFF)
    values, vectors, _ = lapack.dsyevd(D)
    keep = values > _CUTOFF * values[-1]
    return (vectors[:, keep] / values[keep]) @ vectors[:, keep].T


@njit(cache=True)
def _is_symmetric(D):
    """To rounding, relative to the largest entry."""
    largest, skew = 0.0, 0.0
    for i in range(len(D)):
        for j in range(i + 1):
            largest = max(largest, abs(D[i, j]))
            skew = max(skew, abs(D[i, j] - D[j, i]))
    return skew <= 1e-13 * largest
