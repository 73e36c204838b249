"""(I + S D) dx = right between contacts: with S = F Fᵀ, y = (I + Fᵀ D F)⁻¹ Fᵀ D right and dx = right − F y.

For problems that hold nothing but D. I + Fᵀ D F is never worse than the identity from below, so a D without full rank
(hyperstatic contacts) needs no regularisation. Rows go in blocks of three; where limits or joints stand beside contacts
each of them fills a block with two rows of the identity.
"""

import numpy as np
import scipy.sparse as sp

from delassus.kernel import njit
from delassus.linalg.factor.symmetric import Pattern
from delassus.linalg.operators.matrix import csr_times
from delassus.solvers.interior.mixed_factors import MixedSystem
from delassus.solvers.interior.weights import Weights


class BetweenContacts(MixedSystem):
    """What systems that hold D share; how they multiply with it and factor I + Fᵀ D F is their own."""

    needs_roots = True
    rounding, most_double, poor = 1e-14, 4, 10
    weights: Weights

    def times(self, x: np.ndarray) -> np.ndarray:
        """D x, (m',)."""
        raise NotImplementedError

    def _precondition(self, right: np.ndarray, out: np.ndarray) -> None:
        """out = (I + Fᵀ D F)⁻¹ right, (m',)."""
        raise NotImplementedError

    def solve(self, right: np.ndarray, dx: np.ndarray, image: np.ndarray, goal: float) -> bool:
        """dx and image = D dx.  goal: residual in y that is small enough."""
        y = np.empty_like(right)
        pull = self.weights.root_transposed_times(self.times(right))
        works = self.solve_to(goal, self._apply, self._precondition, pull, y)
        np.subtract(right, self.weights.root_times(y), out=dx)
        image[:] = self.times(dx)
        return works

    def _apply(self, y: np.ndarray, out: np.ndarray) -> None:
        out[:] = y
        out += self.weights.root_transposed_times(self.times(self.weights.root_times(y)))


class DualSystem(BetweenContacts):
    """D: (m', m') symmetric; scalars: bilateral and orthant rows, before the contacts."""

    def __init__(self, D: sp.csr_array, scalars: int, cones: int, backend: str, threads: int):
        super().__init__(backend, threads)
        self.D = D
        self.scalars = scalars
        side = 3 if cones else 1
        count = scalars + cones
        self.unit_of = np.concatenate([np.arange(scalars), scalars + np.repeat(np.arange(cones), 3)])
        self.place_of = np.concatenate([np.zeros(scalars, np.int64), np.tile(np.arange(3), cones)])
        row = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
        a, b = self.unit_of[row], self.unit_of[D.indices]
        upper = a <= b
        keys = np.concatenate([np.arange(count) * (count + 1), a[upper] * count + b[upper]])
        unique, place = np.unique(keys, return_inverse=True)
        block_row, column = np.divmod(unique, max(1, count))
        indptr = np.zeros(count + 1, np.int32)
        np.cumsum(np.bincount(block_row, minlength=count), out=indptr[1:])
        self.use_pattern(Pattern(indptr, column.astype(np.int32), side))
        self.base = np.zeros((len(unique), side, side))
        at = place[count:]
        self.base[at, self.place_of[row[upper]], self.place_of[D.indices[upper]]] = D.data[upper]
        self.values = np.empty_like(self.base)
        self.roots = np.zeros((count, side, side))
        self.position = self.unit_of * side + self.place_of
        self.padded = np.zeros(count * side)
        self.padded_out = np.zeros(count * side)

    def times(self, x: np.ndarray) -> np.ndarray:
        return csr_times(self.D, x)

    def factor(self, weights: Weights, single: bool) -> bool:
        """Form and factor I + Fᵀ D F."""
        self.weights = weights
        self.roots[: self.scalars, 0, 0] = np.sqrt(weights.diagonal)
        if len(weights.roots):
            self.roots[self.scalars :] = weights.roots
        _between(self.pattern.indptr, self.pattern.indices, self.base, self.roots, self.values)
        return self.factor_values(self.values, single)

    def _precondition(self, right: np.ndarray, out: np.ndarray) -> None:
        self.padded[self.position] = right
        self.factors.active.solve(self.padded, self.padded_out)
        out[:] = self.padded_out[self.position]


@njit(cache=True, error_model="numpy")
def _between(indptr, indices, base, roots, values):
    """values = upper blocks of I + Fᵀ D F."""
    side = base.shape[1]
    T = np.empty((3, 3))
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            for a in range(side):
                for b in range(side):
                    total = 0.0
                    for c in range(side):
                        total += roots[i, c, a] * base[p, c, b]
                    T[a, b] = total
            for a in range(side):
                for b in range(side):
                    total = 1.0 if i == j and a == b else 0.0
                    for c in range(side):
                        total += T[a, c] * roots[j, c, b]
                    values[p, a, b] = total
