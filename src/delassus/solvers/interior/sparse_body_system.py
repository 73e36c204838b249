"""(I + S J H⁻¹ Jᵀ) dx = right through the velocities, for a general sparse H: (H + Jᵀ S J) du = Jᵀ right."""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from delassus.kernel import njit
from delassus.linalg.factor.symmetric import factorisation, pattern_of
from delassus.linalg.iterative.conjugate_gradients import conjugate_gradients
from delassus.linalg.operators.matrix import csr_times, entries_at, entry_at
from delassus.solvers.interior.weights import WeightArrays, Weights
from delassus.solvers.parts.jordan import apply_blocks

_ROUNDING, _MOST = 1e-14, 4  # as in `body_system`


class DenseRows(NamedTuple):
    """Each block's rows as a full matrix over the columns it touches."""

    start: np.ndarray
    """(blocks + 1,) first row of each block."""
    column_start: np.ndarray
    """(blocks + 1,) where its columns start in `columns`."""
    columns: np.ndarray
    """Columns of each block, ascending."""
    dense_start: np.ndarray
    """(blocks + 1,) where its matrix starts in `dense`."""
    dense: np.ndarray
    """All matrices, one after the other, row by row."""
    place_start: np.ndarray
    """(blocks + 1,) where its places start in `place`."""
    place: np.ndarray
    """Where entry (a, b) of each JᵀSJ goes in the values of the whole matrix; −1 below the diagonal."""


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
        column_start, columns = blocks.indptr.astype(np.int64), blocks.indices.astype(np.int64)
        width = np.diff(column_start)
        dense_start = np.concatenate([[0], np.cumsum(size * width)])
        place_start = np.concatenate([[0], np.cumsum(width * width)])
        dense, place = np.zeros(dense_start[-1]), np.empty(place_start[-1], np.int64)
        self.rows = tuple(DenseRows(start, column_start, columns, dense_start, dense, place_start, place))
        _cut(J.indptr, J.indices, J.data, self.rows)
        _locate(self.pattern.indptr, self.pattern.indices, self.rows)
        self.base = self.pattern.values()
        row = np.repeat(np.arange(H.shape[0]), np.diff(H.indptr))
        upper = H.indices >= row
        place_of_H = entries_at(self.pattern.indptr, self.pattern.indices, row[upper], H.indices[upper])
        np.add.at(self.base, place_of_H, H.data[upper])
        self.values = np.empty_like(self.base)
        self.factors = factorisation(self.pattern, backend=backend, threads=threads)
        self.krylov, self.is_single = 0, False
        self.u = np.empty(H.shape[0])

    def factor(self, weights: Weights, single: bool) -> bool:
        """Assemble and factor H + Jᵀ S J, in double precision always."""
        del single
        self.weights = weights
        self.values[:] = self.base
        _assemble(self.rows, tuple(weights.arrays), self.values)
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
def _cut(indptr, indices, data, rows):
    """Fill the blocks' matrices from J in compressed rows."""
    J = DenseRows(*rows)
    start, dense_start, dense = J.start, J.dense_start, J.dense
    for k in range(len(start) - 1):
        columns = J.columns[J.column_start[k] : J.column_start[k + 1]]
        width = len(columns)
        for i in range(start[k], start[k + 1]):
            at = dense_start[k] + (i - start[k]) * width
            for p in range(indptr[i], indptr[i + 1]):
                dense[at + np.searchsorted(columns, indices[p])] += data[p]


@njit(cache=True)
def _locate(indptr, indices, rows):
    """Fill the blocks' places in the upper triangle."""
    J = DenseRows(*rows)
    for k in range(len(J.start) - 1):
        columns = J.columns[J.column_start[k] : J.column_start[k + 1]]
        width = len(columns)
        for a in range(width):
            row = columns[a]
            for b in range(width):
                at = J.place_start[k] + a * width + b
                J.place[at] = -1 if columns[b] < row else entry_at(indptr, indices, row, columns[b])


@njit(cache=True, error_model="numpy")
def _assemble(rows, weights, values):
    """values += Jᵀ S J."""
    all_rows, weights = DenseRows(*rows), WeightArrays(*weights)
    start, column_start = all_rows.start, all_rows.column_start
    dense_start, dense = all_rows.dense_start, all_rows.dense
    place_start, place = all_rows.place_start, all_rows.place
    diagonal, blocks = weights.diagonal, weights.blocks
    first = len(diagonal)
    for k in range(len(start) - 1):
        low, size = start[k], start[k + 1] - start[k]
        width = column_start[k + 1] - column_start[k]
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
