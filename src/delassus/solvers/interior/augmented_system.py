"""(I + S D) dx = right by the augmented matrix of velocities and reactions (Mangoni, thesis, §4.8, eq. 4.49), in scaled
variables:

    [ H     JᵀF ] [du]   [Jᵀ right]
    [ FᵀJ   −I  ] [ y] = [   0    ],    dx = right − F y,    S = F Fᵀ

which is the published [H −Jᵀ; J W²] with rows and columns of reactions multiplied by F = W⁻¹ and made symmetric.
"""

import math

import numpy as np
import scipy.sparse as sp

from delassus.kernel import njit
from delassus.linalg.factor.symmetric import factorisation, pattern_of
from delassus.linalg.iterative.conjugate_gradients import dot
from delassus.linalg.operators.matrix import csr_times, entries_at
from delassus.solvers.interior.weights import Weights
from delassus.solvers.parts.jordan import apply_blocks

_REFINEMENTS = 3
_ROUNDING = 1e-14


class AugmentedSystem:
    """H: (n, n) symmetric positive definite, J: (m', n) in scaled rows; scalars: rows before the contacts."""

    needs_roots = True

    def __init__(self, H: sp.csr_array, J: sp.csr_array, scalars: int, cones: int, backend: str, threads: int):
        self.H, self.scalars = H, scalars
        self.n, m = H.shape[0], J.shape[0]
        # a contact's three rows get one pattern, since F mixes them
        unit = np.concatenate([np.arange(scalars), scalars + np.repeat(np.arange(cones), 3)])
        merge = sp.csr_array((np.ones(m), (unit, np.arange(m))), shape=(scalars + cones, m))
        ones = sp.csr_array((np.ones(J.nnz), J.indices, J.indptr), shape=J.shape)
        shared = sp.csr_array(merge.T @ (merge @ ones))
        shared.sort_indices()
        self.J = sp.csr_array((np.zeros(shared.nnz), shared.indices, shared.indptr), shape=J.shape)
        row_J = np.repeat(np.arange(m), np.diff(J.indptr))
        np.add.at(self.J.data, entries_at(self.J.indptr, self.J.indices, row_J, J.indices), J.data)
        self.J_transposed = sp.csr_array(self.J.T)
        stand_in = sp.csr_array((np.ones(shared.nnz), shared.indices, shared.indptr), shape=J.shape)
        held = sp.csr_array((np.ones(H.nnz), H.indices, H.indptr), shape=H.shape)
        whole = sp.csr_array(sp.block_array([[held + held.T, stand_in.T], [stand_in, sp.eye_array(m)]]))
        whole.sort_indices()
        self.pattern, _ = pattern_of(whole)
        self.values = self.pattern.values()
        rows = np.repeat(np.arange(m), np.diff(shared.indptr))
        pattern = self.pattern.indptr, self.pattern.indices
        self.off = entries_at(*pattern, shared.indices, self.n + rows)
        diagonal = np.arange(self.n, self.n + m)
        self.values[entries_at(*pattern, diagonal, diagonal)] = -1.0
        row_H = np.repeat(np.arange(self.n), np.diff(H.indptr))
        upper = H.indices >= row_H
        self.values[entries_at(*pattern, row_H[upper], H.indices[upper])] = H.data[upper]
        self.factors = factorisation(self.pattern, backend=backend, definite=False, threads=threads)
        self.scaled = np.empty(shared.nnz)
        self.krylov, self.is_single = 0, False

    def factor(self, weights: Weights, single: bool) -> bool:
        """Fill in Fᵀ J and factor, in double precision always."""
        del single
        self.weights = weights
        _mix(self.J.indptr, self.J.data, weights.diagonal, weights.roots, self.scaled)
        self.values[self.off] = self.scaled
        return self.factors.factor(self.values)

    def solve(self, right: np.ndarray, dx: np.ndarray, image: np.ndarray, goal: float) -> bool:
        """dx and image = J H⁻¹ Jᵀ dx; refined on (H + Jᵀ S J) du = Jᵀ right to the goal."""
        push = csr_times(self.J_transposed, right)
        whole, answer = np.zeros(len(self.pattern.indptr) - 1), np.empty(len(self.pattern.indptr) - 1)
        du, missing = np.zeros(self.n), push
        goal = max(goal, _ROUNDING * math.sqrt(dot(push, push)))
        for k in range(_REFINEMENTS):
            whole[: self.n] = missing
            self.factors.solve(whole, answer)
            du += answer[: self.n]
            image[:] = csr_times(self.J, du)
            missing = push - csr_times(self.H, du) - csr_times(self.J_transposed, self.weights.times(image))
            self.krylov = k + 1
            if dot(missing, missing) <= goal * goal:
                break
        apply_blocks(self.weights.diagonal, self.weights.blocks, image, dx)
        np.subtract(right, dx, out=dx)
        return bool(np.isfinite(du).all())


@njit(cache=True, error_model="numpy")
def _mix(indptr, data, diagonal, roots, out):
    """out = Fᵀ J on J's pattern, which the three rows of a contact share."""
    first = len(diagonal)
    for i in range(first):
        for p in range(indptr[i], indptr[i + 1]):
            out[p] = math.sqrt(diagonal[i]) * data[p]
    for k in range(len(roots)):
        i = first + 3 * k
        a, b, c = indptr[i], indptr[i + 1], indptr[i + 2]
        for p in range(b - a):
            for j in range(3):
                at = indptr[i + j] + p
                out[at] = roots[k, 0, j] * data[a + p] + roots[k, 1, j] * data[b + p] + roots[k, 2, j] * data[c + p]
