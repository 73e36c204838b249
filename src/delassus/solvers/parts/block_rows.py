"""The Delassus matrix cut into the block rows that Gauß–Seidel sweeps read, without the diagonal blocks."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import njit


class BlockRows(NamedTuple):
    """Off-diagonal part of D.

    Contact against contact as 3×3 blocks: contact k has blocks pointer[k] … pointer[k+1], each with the first row of
    its column's contact (`column`) and nine values, row by row. Whatever involves a bilateral or unilateral row is
    in compressed rows (rest_*), empty for files with contacts only.
    """

    pointer: np.ndarray  # (n_c + 1,) int64
    column: np.ndarray  # (blocks,) int64, a row of the problem
    value: np.ndarray  # (blocks, 9) [1/kg]
    rest_pointer: np.ndarray  # (m + 1,) int64
    rest_column: np.ndarray  # (entries,) int64
    rest_value: np.ndarray  # (entries,) [1/kg]


_NONE = np.zeros(0, dtype=np.int64)
NO_ROWS = BlockRows(_NONE, _NONE, np.zeros((0, 9)), _NONE, _NONE, np.zeros(0))
"""What a sweep in body space is given in place of block rows."""


def block_rows(D: sp.csr_array, block_start: np.ndarray, contact_start: int) -> BlockRows:
    """Cut D (m, m) for the partition block_start whose contacts begin at row contact_start."""
    m = D.shape[0]
    contacts = (m - contact_start) // 3
    pointer = np.zeros(contacts + 1, dtype=np.int64)
    seen = np.full(contacts, -1, dtype=np.int64)
    _count_blocks(D.indptr, D.indices, contact_start, seen, pointer)
    column = np.empty(pointer[-1], dtype=np.int64)
    value = np.zeros((pointer[-1], 9))
    seen[:] = -1
    _fill_blocks(D.indptr, D.indices, D.data, contact_start, seen, pointer, column, value)
    rest_pointer = np.zeros(m + 1, dtype=np.int64)
    if contact_start == 0:
        return BlockRows(pointer, column, value, rest_pointer, np.zeros(0, np.int64), np.zeros(0))
    block_of = np.repeat(np.arange(len(block_start) - 1), np.diff(block_start))
    row = np.repeat(np.arange(m), np.diff(D.indptr))
    keep = ((row < contact_start) | (D.indices < contact_start)) & (block_of[row] != block_of[D.indices])
    np.cumsum(np.bincount(row[keep], minlength=m), out=rest_pointer[1:])
    return BlockRows(pointer, column, value, rest_pointer, D.indices[keep].astype(np.int64), D.data[keep])


@njit(cache=True)
def _count_blocks(indptr, indices, first, seen, pointer):
    for k in range(len(seen)):
        count = 0
        for i in range(first + 3 * k, first + 3 * k + 3):
            for p in range(indptr[i], indptr[i + 1]):
                if indices[p] < first:
                    continue
                other = (indices[p] - first) // 3
                if other != k and seen[other] != k:
                    seen[other] = k
                    count += 1
        pointer[k + 1] = pointer[k] + count


@njit(cache=True)
def _fill_blocks(indptr, indices, data, first, seen, pointer, column, value):
    """Second pass; `seen[other]` is the block's position while row k is being filled (−1 before any row)."""
    for k in range(len(seen)):
        end = pointer[k]
        for i in range(3):
            row = first + 3 * k + i
            for p in range(indptr[row], indptr[row + 1]):
                if indices[p] < first:
                    continue
                other = (indices[p] - first) // 3
                if other == k:
                    continue
                at = seen[other]
                if at < pointer[k]:
                    at = end
                    seen[other] = at
                    column[at] = first + 3 * other
                    end += 1
                value[at, 3 * i + (indices[p] - first) % 3] += data[p]
