"""The Delassus operator given as a matrix: what FCLIB local files hold."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.linalg.dense_product import exact_times_plus
from delassus.linalg.operators.delassus import FEW_ROWS, Delassus
from delassus.linalg.operators.islands import islands_of_full, islands_of_matrix


class MatrixDelassus(Delassus):
    """v = D λ.  D: (m, m) [1/kg], need not be symmetric: of few rows in full, which is then what everything is read
    from, otherwise in compressed rows, sorted, without duplicates."""

    kind = "matrix"
    has_blocks_at_hand = True

    def __init__(self, D: sp.csr_array | np.ndarray):
        self.row_count = D.shape[0]
        if isinstance(D, np.ndarray):
            self.full = D
        else:
            self.D = D

    @cached_property
    def D(self) -> sp.csr_array:
        """D in compressed rows."""
        return sp.csr_array(self.full)

    @cached_property
    def full(self) -> np.ndarray:
        D = self.D
        out = np.zeros(D.shape)
        scatter(D.indptr, D.indices, D.data, out)
        return out

    def product(self, reactions: np.ndarray) -> np.ndarray:
        if self.row_count <= FEW_ROWS:
            return self.velocity(reactions, np.zeros(self.row_count))
        return csr_times(self.D, reactions)

    def velocity(self, reactions: np.ndarray, free: np.ndarray) -> np.ndarray:
        if self.row_count > FEW_ROWS:
            return super().velocity(reactions, free)
        v = np.empty(self.row_count)
        exact_times_plus(self.full, reactions, free, v)
        return v

    def matrix(self) -> sp.csr_array:
        return self.D

    @cached_property
    def diagonal(self) -> np.ndarray:
        return self.full.diagonal().copy() if self.row_count <= FEW_ROWS else self.D.diagonal()

    def diagonal_blocks(self, block_start: np.ndarray) -> np.ndarray:
        sizes = np.diff(block_start)
        out = np.zeros(int((sizes * sizes).sum()))
        if self.row_count <= FEW_ROWS:
            fill_blocks_of_full(self.full, block_start, out)
            return out
        _diagonal_blocks(self.D.indptr, self.D.indices, self.D.data, block_start, out)
        return out

    @property
    def stored_entries(self) -> int:
        return int(np.count_nonzero(self.full)) if self.row_count <= FEW_ROWS else self.D.nnz

    def entry_bound(self, block_start: np.ndarray) -> int:
        del block_start
        return self.stored_entries

    def islands(self, block_start: np.ndarray) -> np.ndarray:
        if self.row_count <= FEW_ROWS:
            return islands_of_full(self.full, block_start)
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
        return f"MatrixDelassus({self.row_count} rows, {self.stored_entries} entries)"


def csr_times(A: sp.csr_array, x: np.ndarray) -> np.ndarray:
    """A x for compressed rows; scipy's own product spends more on checks than on a small matrix."""
    out = np.empty(A.shape[0])
    _csr_times(A.indptr, A.indices, A.data, x, out)
    return out


@njit(cache=True, **NO_REFCOUNT)
def _csr_times(indptr, indices, data, x, out):
    """Each row summed in order. Three at a time where they are equally long, as those of a contact are, since one sum
    after the other waits for itself; places without a sign, since of others each would be tested for it, which takes as
    long as the product."""
    i = 0
    while i < len(out):
        size = indptr[i + 1] - indptr[i]
        if i + 3 > len(out) or indptr[i + 2] - indptr[i + 1] != size or indptr[i + 3] - indptr[i + 2] != size:
            out[i] = csr_row_times(indptr, indices, data, i, x)
            i += 1
            continue
        a = b = c = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            p, q, s = np.uint64(at), np.uint64(at + size), np.uint64(at + 2 * size)
            a += data[p] * x[np.uint64(indices[p])]
            b += data[q] * x[np.uint64(indices[q])]
            c += data[s] * x[np.uint64(indices[s])]
        out[i], out[i + 1], out[i + 2] = a, b, c
        i += 3


@njit(cache=True, **NO_REFCOUNT)
def csr_row_times(indptr, indices, data, i, x):
    """Row i of a matrix in compressed rows times x."""
    value = 0.0
    for p in range(indptr[i], indptr[i + 1]):
        value += data[p] * x[indices[p]]
    return value


@njit(cache=True)
def entry_at(indptr, indices, row, column):
    """Where the entry (row, column) lies among those of a matrix in compressed rows with ascending columns."""
    low = indptr[row]
    return low + np.searchsorted(indices[low : indptr[row + 1]], column)


@njit(cache=True)
def entries_at(indptr, indices, row, column):
    """`entry_at` of many.  row, column: (k,)."""
    out = np.empty(len(row), np.int64)
    for k in range(len(row)):
        out[k] = entry_at(indptr, indices, row[k], column[k])
    return out


@njit(cache=True)
def scatter(indptr, indices, data, out):
    """out += a matrix in compressed rows, (m, m); is every column there?"""
    for i in range(len(out)):
        for p in range(indptr[i], indptr[i + 1]):
            if not 0 <= indices[p] < len(out):
                return False
            out[i, indices[p]] += data[p]
    return True


@njit(cache=True, **NO_REFCOUNT)
def fill_blocks_of_full(D, block_start, out):
    """out: the diagonal blocks of D, held in full, one after the other; how many entries they have."""
    at = 0
    for k in range(len(block_start) - 1):
        for i in range(block_start[k], block_start[k + 1]):
            for j in range(block_start[k], block_start[k + 1]):
                out[at] = D[i, j]
                at += 1
    return at


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
