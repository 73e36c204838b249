"""The Delassus operator given as a matrix: what FCLIB local files hold."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numba import njit


class MatrixDelassus:
    """v = D λ, D stored in compressed rows, sorted, without duplicates.  D: (m, m) [1/kg], need not be symmetric."""

    kind = "matrix"

    def __init__(self, D: sp.csr_array):
        self.D = D

    @property
    def row_count(self) -> int:
        return self.D.shape[0]

    def product(self, reactions: np.ndarray) -> np.ndarray:
        """D λ, (m,)."""
        return csr_times(self.D, reactions)

    def matrix(self) -> sp.csr_array:
        """D itself."""
        return self.D

    def dense(self) -> np.ndarray:
        """D as a full matrix, (m, m)."""
        return self.D.toarray()

    def diagonal_blocks(self, block_start: np.ndarray) -> np.ndarray:
        """The diagonal blocks D_kk one after the other, each row by row: (Σ d_k²,)."""
        return diagonal_blocks_of(self.D, block_start)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """diag D, (m,)."""
        return self.D.diagonal()

    def __repr__(self) -> str:
        return f"MatrixDelassus({self.row_count} rows, {self.D.nnz} entries)"


def csr_times(A: sp.csr_array, x: np.ndarray) -> np.ndarray:
    """A x for compressed rows; scipy's own product spends more on checks than on a small matrix."""
    out = np.empty(A.shape[0])
    _csr_times(A.indptr, A.indices, A.data, x, out)
    return out


def diagonal_blocks_of(D: sp.csr_array, block_start: np.ndarray) -> np.ndarray:
    """Flat diagonal blocks of a compressed-row matrix for the partition block_start."""
    sizes = np.diff(block_start)
    out = np.zeros(int((sizes * sizes).sum()))
    _diagonal_blocks(D.indptr, D.indices, D.data, block_start, out)
    return out


@njit(cache=True)
def _csr_times(indptr, indices, data, x, out):
    for i in range(len(out)):
        value = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            value += data[p] * x[indices[p]]
        out[i] = value


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
