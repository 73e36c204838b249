"""Solving with a dense positive semi-definite matrix that may have redundant rows."""

import numpy as np
from scipy.linalg import lapack

_PIVOT = 1e-9  # ratio of smallest to largest pivot below which rows count as redundant
_CUTOFF = 1e-9  # singular values below this fraction of the largest are taken as zero then


class DenseInverse:
    """D⁻¹ by LU, or the pseudo-inverse where rows are redundant.

    The pseudo-inverse gives the smallest solution and ignores what redundant rows ask beyond the others. Shifting the
    diagonal instead divides that contradiction, which is of the order of the joints' errors, by the shift: on Bennett's
    linkage reactions grew a hundredfold in 0.2 s.

    D: (n, n), symmetric up to a small part."""

    def __init__(self, D: np.ndarray):
        self.size = len(D)
        self.inverse: np.ndarray | None = None
        if not self.size:
            return
        self.lu, self.pivots, _ = lapack.dgetrf(D)
        diagonal = np.abs(self.lu.diagonal())
        if diagonal.min() <= _PIVOT * diagonal.max():
            self.inverse = _pseudo_inverse(D)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """D⁻¹ right or D⁺ right; right: (n,) or (n, k)."""
        if not self.size:
            return np.zeros_like(right)
        if self.inverse is not None:
            return self.inverse @ right
        return lapack.dgetrs(self.lu, self.pivots, right)[0]


def _pseudo_inverse(D: np.ndarray) -> np.ndarray:
    """D⁺, by eigenvalues where D is symmetric to rounding and by singular values where it is not."""
    if np.abs(D - D.T).max() > 1e-13 * np.abs(D).max():
        return np.linalg.pinv(D, rcond=_CUTOFF)
    values, vectors, _ = lapack.dsyevd(D)
    keep = values > _CUTOFF * values[-1]
    return (vectors[:, keep] / values[keep]) @ vectors[:, keep].T
