"""The Delassus operator given as a matrix: what FCLIB local files hold."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numba import njit

from delassus.linalg.operators.delassus import Delassus
from delassus.linalg.operators.islands import islands_of_matrix


class MatrixDelassus(Delassus):
    """v = D λ, D stored in compressed rows, sorted, without duplicates.  D: (m, m) [1/kg], need not be symmetric."""

    kind = "matrix"
    has_blocks_at_hand = True

    def __init__(self, D: sp.csr_array):
        self.D = D
        self.row_count = D.shape[0]

    def product(self, reactions: np.ndarray) -> np.ndarray:
        return csr_times(self.D, reactions)

    def matrix(self) -> sp.csr_array:
        return self.D

    @cached_property
    def full(self) -> np.ndarray:
        D = self.D
        out = np.zeros(D.shape)
        _scatter(D.indptr, D.indices, D.data, out)
        return out

    def diagonal_blocks(self, block_start: np.ndarray) -> np.ndarray:
        sizes = np.diff(block_start)
        out = np.zeros(int((sizes * sizes).sum()))
        _diagonal_blocks(self.D.indptr, self.D.indices, self.D.data, block_start, out)
        return out

    @property
    def stored_entries(self) -> int:
        return self.D.nnz

    def entry_bound(self, block_start: np.ndarray) -> int:
        del block_start
        return self.D.nnz

    def islands(self, block_start: np.ndarray) -> np.ndarray:
        return islands_of_matrix(self.D, block_start)

    def part(
        self, blocks: np.ndarray, rows: np.ndarray, block_start: np.ndarray
    ) -> tuple["MatrixDelassus", np.ndarray]:
        del blocks, block_start
        D = sp.csr_array(self.D[rows][:, rows])
        D.sort_indices()
        return MatrixDelassus(D), np.zeros(0, np.int64)

    def scaled(self, row: np.ndarray, unit: float) -> "MatrixDelassus":
        diagonal = sp.diags_array(row)
        return MatrixDelassus(sp.csr_array(diagonal @ self.D @ diagonal) / unit)

    def softened(self, by: float | np.ndarray) -> "MatrixDelassus":
        D = sp.csr_array(self.D + sp.diags_array(np.broadcast_to(by, self.row_count)))
        D.sort_indices()
        return MatrixDelassus(D)

    def __repr__(self) -> str:
        return f"MatrixDelassus({self.row_count} rows, {self.D.nnz} entries)"


def csr_times(A: sp.csr_array, x: np.ndarray) -> np.ndarray:
    """A x for compressed rows; scipy's own product spends more on checks than on a small matrix."""
    out = np.empty(A.shape[0])
    _csr_times(A.indptr, A.indices, A.data, x, out)
    return out


@njit(cache=True)
def _csr_times(indptr, indices, data, x, out):
    for i in range(len(out)):
        out[i] = csr_row_times(indptr, indices, data, i, x)


@njit(cache=True)
def csr_row_times(indptr, indices, data, i, x):
    """Row i of a matrix in compressed rows times x."""
    value = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        value += data[p] * x[indices[p]]
    return value


@njit(cache=True)
def _scatter(indptr, indices, data, out):
    for i in range(len(out)):
        for p in range(indptr[i], indptr[i + 1]):
            out[i, indices[p]] += data[p]


@njit(cache=True)
def _diagonal_blocks(indptr, indices, data, block_start, out):
    offset = 0
    for k in range(len(block_start) - 1):
        first, last = block_start[k], block_start[k + 1]
        size = last - first
        for i in range(first, last):
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if first <= j < last:
                    out[offset + (i - first) * size + j - first] += data[p]
        offset += size * size
