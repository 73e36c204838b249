"""Sparse pairs (H, J) as rigid bodies, where they are such, and back: 6×6 mass blocks, two bodies per block of rows."""

import numpy as np
import scipy.sparse as sp

from delassus.kernel import njit


def rigid_blocks(
    H: sp.csr_array, J: sp.csr_array, block_start: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """(mass, bodies, rows) as `RigidDelassus` takes them, or None when H is not 6×6 block diagonal, a mass block is
    missing, or a block of rows touches more than two bodies.  H: (n, n), J: (m, n), block_start: (block_count + 1,)."""
    n = H.shape[0]
    if n == 0 or n % 6:
        return None
    mass = np.zeros((n // 6, 6, 6))
    if not _split_masses(H.indptr, H.indices, H.data, mass):
        return None
    bodies = np.full((len(block_start) - 1, 2), -1, dtype=np.int64)
    rows = np.zeros((J.shape[0], 12))
    if not _split_rows(J.indptr, J.indices, J.data, block_start, bodies, rows):
        return None
    return mass, bodies, rows


def blocks_as_sparse(blocks: np.ndarray) -> sp.csr_array:
    """The block diagonal matrix (6 n, 6 n) of blocks (n, 6, 6)."""
    count = len(blocks)
    if count == 0:
        return sp.csr_array((0, 0))
    return sp.csr_array(sp.bsr_array((blocks, np.arange(count), np.arange(count + 1)), shape=(6 * count, 6 * count)))


def rows_as_sparse(rows: np.ndarray, bodies: np.ndarray, block_start: np.ndarray, width: int) -> sp.csr_array:
    """J (m, width) of rows (m, 12) and the two bodies of each block (block_count, 2), −1 for the world."""
    row_bodies = np.repeat(bodies, np.diff(block_start), axis=0)
    row, side = np.nonzero(row_bodies >= 0)
    columns = 6 * row_bodies[row, side][:, None] + np.arange(6)
    values = rows.reshape(-1, 2, 6)[row, side]
    matrix = sp.coo_array((values.ravel(), (np.repeat(row, 6), columns.ravel())), shape=(len(rows), width))
    out = sp.csr_array(matrix)
    out.sum_duplicates()
    out.eliminate_zeros()
    return out


@njit(cache=True)
def _split_masses(indptr, indices, data, mass):
    """Fill the mass of each body; False where H couples two of them."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] // 6 == i // 6:
                mass[i // 6, i % 6, indices[p] % 6] += data[p]
            elif data[p] != 0.0:
                return False
    return True


@njit(cache=True)
def _split_rows(indptr, indices, data, block_start, bodies, rows):
    """Fill bodies and rows; False when some block touches a third body."""
    for k in range(len(block_start) - 1):
        for i in range(block_start[k], block_start[k + 1]):
            for p in range(indptr[i], indptr[i + 1]):
                if data[p] == 0.0:
                    continue
                body = indices[p] // 6
                if bodies[k, 0] == -1 or bodies[k, 0] == body:
                    side = 0
                elif bodies[k, 1] == -1 or bodies[k, 1] == body:
                    side = 1
                else:
                    return False
                bodies[k, side] = body
                rows[i, 6 * side + indices[p] - 6 * body] += data[p]
    return True
