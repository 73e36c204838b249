"""(I + S J H⁻¹ Jᵀ) dx = right through the velocities, for a general sparse H: (H + Jᵀ S J) du = Jᵀ right."""

import math

import numpy as np
import scipy.sparse as sp

from delassus.kernel import njit
from delassus.linalg.factor.symmetric import factorisation, pattern_of
from delassus.linalg.iterative.conjugate_gradients import conjugate_gradients
from delassus.linalg.operators.matrix import csr_times
from delassus.solvers.interior.weights import Weights
from delassus.solvers.parts.jordan import apply_blocks

_ROUNDING, _MOST = 1e-14, 4  # as in `body_system`


class SparseBodySystem:
    """H: (n, n) symmetric positive definite, J: (m', n) scaled rows; start: (blocks + 1,) first row of each block."""

    needs_roots = False

    def __init__(self, H: sp.csr_array, J: sp.csr_array, start: np.ndarray, backend: str, threads: int):
        self.H, self.J, self.J_transposed = H, J, sp.csr_array(J.T)
        touched = sp.csr_array((np.ones(J.nnz), J.indices, J.indptr), shape=J.shape)
        size = np.diff(start)
        block_of = np.repeat(np.arange(len(size)), size)
        merge = sp.csr_array(
            (np.ones(len(block_of)), (block_of, np.arange(len(block_of)))), shape=(len(size), len(block_of))
        )
        blocks = sp.csr_array(merge @ touched)  # columns each block touches
        blocks.sort_indices()
        held = sp.csr_array((np.ones(H.nnz), H.indices, H.indptr), shape=H.shape)
        whole = sp.csr_array(held + held.T + blocks.T @ blocks)
        whole.sort_indices()
        self.pattern, _ = pattern_of(whole)
        self.block_columns, self.block_start = blocks.indices.astype(np.int64), blocks.indptr.astype(np.int64)
        self.start = start
        width = np.diff(self.block_start)
        self.dense_start = np.concatenate([[0], np.cumsum(size * width)])
        self.place_start = np.concatenate([[0], np.cumsum(width * width)])
        self.dense = np.zeros(self.dense_start[-1])
        self.place = np.empty(self.place_start[-1], np.int64)
        _cut(J.indptr, J.indices, J.data, start, self.block_start, self.block_columns, self.dense_start, self.dense)
        _locate(self.pattern.indptr, self.pattern.indices, self.block_start, self.block_columns, self.place_start,
                self.place)  # fmt: skip
        self.base = self.pattern.values()
        _spread(self.pattern.indptr, self.pattern.indices, H.indptr, H.indices, H.data, self.base)
        self.values = np.empty_like(self.base)
        self.factors = factorisation(self.pattern, backend=backend, threads=threads)
        self.krylov, self.is_single = 0, False
        self.u = np.empty(H.shape[0])

    def factor(self, weights: Weights, single: bool) -> bool:
        """Assemble and factor H + Jᵀ S J, in double precision always."""
        del single
        self.weights = weights
        self.values[:] = self.base
        _assemble(self.start, self.block_start, self.dense_start, self.dense, self.place_start, self.place,
                  weights.diagonal, weights.blocks, self.values)  # fmt: skip
        return self.factors.factor(self.values)

    def solve(self, right: np.ndarray, dx: np.ndarray, image: np.ndarray, goal: float) -> bool:
        """dx and image = J H⁻¹ Jᵀ dx.  goal: momentum residual that is small enough."""
        push = csr_times(self.J_transposed, right)
        self.krylov, residual = conjugate_gradients(
            self._apply, self.factors.solve, push, self.u, _ROUNDING, goal, _MOST
        )
        image[:] = csr_times(self.J, self.u)
        apply_blocks(self.weights.diagonal, self.weights.blocks, image, dx)
        np.subtract(right, dx, out=dx)
        return math.isfinite(residual)

    def _apply(self, u: np.ndarray, out: np.ndarray) -> None:
        out[:] = csr_times(self.H, u) + csr_times(self.J_transposed, self.weights.times(csr_times(self.J, u)))


@njit(cache=True)
def _cut(indptr, indices, data, start, block_start, block_columns, dense_start, dense):
    """Each block's rows as a full matrix over the columns it touches."""
    for k in range(len(start) - 1):
        columns = block_columns[block_start[k] : block_start[k + 1]]
        width = len(columns)
        for i in range(start[k], start[k + 1]):
            at = dense_start[k] + (i - start[k]) * width
            for p in range(indptr[i], indptr[i + 1]):
                dense[at + np.searchsorted(columns, indices[p])] += data[p]


@njit(cache=True)
def _locate(indptr, indices, block_start, block_columns, place_start, place):
    """Where entry (a, b) of a block's own matrix lies in the upper triangle; −1 below the diagonal."""
    for k in range(len(block_start) - 1):
        columns = block_columns[block_start[k] : block_start[k + 1]]
        width = len(columns)
        for a in range(width):
            row = columns[a]
            low = indptr[row]
            for b in range(width):
                at = place_start[k] + a * width + b
                if columns[b] < row:
                    place[at] = -1
                else:
                    place[at] = low + np.searchsorted(indices[low : indptr[row + 1]], columns[b])


@njit(cache=True)
def _spread(indptr, indices, from_indptr, from_indices, from_data, values):
    """values += upper triangle of a sparse matrix whose pattern is contained."""
    for i in range(len(indptr) - 1):
        for p in range(from_indptr[i], from_indptr[i + 1]):
            j = from_indices[p]
            if j >= i:
                low = indptr[i]
                values[low + np.searchsorted(indices[low : indptr[i + 1]], j)] += from_data[p]


@njit(cache=True, error_model="numpy")
def _assemble(start, block_start, dense_start, dense, place_start, place, diagonal, blocks, values):
    """values += Jᵀ S J."""
    first = len(diagonal)
    for k in range(len(start) - 1):
        low, size = start[k], start[k + 1] - start[k]
        width = block_start[k + 1] - block_start[k]
        J = dense[dense_start[k] : dense_start[k + 1]].reshape(size, width)
        for a in range(width):
            for b in range(width):
                at = place[place_start[k] + a * width + b]
                if at < 0:
                    continue
                total = 0.0
                if low < first:
                    for i in range(size):
                        total += J[i, a] * diagonal[low + i] * J[i, b]
                else:
                    S = blocks[(low - first) // 3]
                    for i in range(3):
                        total += J[i, a] * (S[i, 0] * J[0, b] + S[i, 1] * J[1, b] + S[i, 2] * J[2, b])
                values[at] += total
