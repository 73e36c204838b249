"""(I + S D) dx = right where D is at hand in full, as between the contacts of flexible bodies: every contact of a body
feels every other one, and a full factorisation over some hundred contacts costs less than a sparse one over its nodes.
"""

import numpy as np

from delassus.kernel import njit
from delassus.linalg.dense_product import dense_times
from delassus.linalg.factor.cholesky import Cholesky
from delassus.solvers.interior.dual_system import BetweenContacts
from delassus.solvers.interior.weights import Weights


class FullSystem(BetweenContacts):
    """D: (m', m') symmetric."""

    def __init__(self, D: np.ndarray, threads: int):
        super().__init__("dense", threads)
        self.D, self.A = D, np.empty_like(D)
        self.cholesky = Cholesky(len(D), threads)

    @property
    def is_single(self) -> bool:
        return False

    def times(self, x: np.ndarray) -> np.ndarray:
        out = np.empty_like(x)
        dense_times(self.D, x, out)
        return out

    def factor(self, weights: Weights, single: bool) -> bool:
        """Form and factor I + Fᵀ D F, in double precision always: the products around it cost more than it."""
        del single
        self.weights = weights
        _between(self.D, np.sqrt(weights.diagonal), weights.roots, self.A)
        return self.cholesky.factor(self.A)

    def _precondition(self, right: np.ndarray, out: np.ndarray) -> None:
        out[:] = self.cholesky.solve(right)


@njit(cache=True, error_model="numpy")
def _between(D, scalars, roots, out):
    """Lower triangle of I + Fᵀ D F, by rows.  scalars: (…,) roots of the first rows' weights; roots: (…, 3, 3) F."""
    first, m = len(scalars), len(D)
    work = np.empty((3, m))
    i = 0
    while i < m:
        size = 1 if i < first else 3
        for a in range(size):
            for j in range(i + size):
                value = 0.0
                if size == 1:
                    value = scalars[i] * D[i, j]
                else:
                    for c in range(3):
                        value += roots[(i - first) // 3, c, a] * D[i + c, j]
                work[a, j] = value
        for a in range(size):
            row = work[a]
            for j in range(min(first, i + size)):
                out[i + a, j] = row[j] * scalars[j]
            for k in range((i + size - first) // 3):
                j, F = first + 3 * k, roots[k]
                for b in range(3):
                    out[i + a, j + b] = row[j] * F[0, b] + row[j + 1] * F[1, b] + row[j + 2] * F[2, b]
            out[i + a, i + a] += 1.0
        i += size
