"""Islands: groups of blocks (joints, limits, contacts) that no reaction couples; the world couples nothing.

Blocks and what they act on are joined into trees, whose roots are the islands. Compiled, since every step of a
simulation asks for them (`Problem.velocity_scale`); a matrix that couples everything is recognised by its first row.
"""

import numpy as np
import scipy.sparse as sp

from delassus.kernel import njit


def islands_of_bodies(bodies: np.ndarray, body_count: int) -> np.ndarray:
    """Island number of each block, (block_count,), numbered in order of first appearance.  bodies: (block_count, 2)."""
    out = np.empty(len(bodies), dtype=np.int64)
    fill_islands_of_bodies(bodies, body_count, out)
    return out


def islands_of_velocities(H: sp.csr_array, J: sp.csr_array, block_start: np.ndarray) -> np.ndarray:
    """The same where J and H are sparse: velocities are joined by the entries of H."""
    out = np.empty(len(block_start) - 1, dtype=np.int64)
    _fill_islands_of_velocities(block_start, J.indptr, J.indices, J.data, H.indptr, H.indices, H.data, out)
    return out


def islands_of_matrix(D: sp.csr_array, block_start: np.ndarray) -> np.ndarray:
    """The same where only D is known: blocks are joined by its entries."""
    out = np.empty(len(block_start) - 1, dtype=np.int64)
    _fill_islands_of_matrix(block_start, D.indptr, D.indices, D.data, out)
    return out


def islands_of_full(D: np.ndarray, block_start: np.ndarray) -> np.ndarray:
    """The same where D is held in full, (m, m)."""
    out = np.empty(len(block_start) - 1, dtype=np.int64)
    _fill_islands_of_full(block_start, D, out)
    return out


@njit(cache=True)
def fill_islands_of_bodies(bodies, body_count, out):
    """bodies: (block_count, 2), −1 for the world; out: (block_count,), written; returns the number of islands."""
    count = len(bodies)
    parent = _apart(count + body_count)
    for k in range(count):
        for side in range(2):
            if bodies[k, side] >= 0:
                _join(parent, k, count + bodies[k, side])
    return _number(parent, out)


@njit(cache=True)
def _fill_islands_of_velocities(block_start, J_start, J_column, J, H_start, H_column, H, out):
    count, velocities = len(out), len(H_start) - 1
    parent = _apart(count + velocities)
    left = velocities
    for i in range(velocities):
        for at in range(H_start[i], H_start[i + 1]):
            if H[at] != 0.0 and _join(parent, count + i, count + H_column[at]):
                left -= 1
        if left == 1:
            break
    for k in range(count):
        for at in range(J_start[block_start[k]], J_start[block_start[k + 1]]):
            if J[at] != 0.0:
                _join(parent, k, count + J_column[at])
    return _number(parent, out)


@njit(cache=True)
def _fill_islands_of_matrix(block_start, D_start, D_column, D, out):
    count = len(out)
    block_of = np.empty(block_start[count], dtype=np.int64)
    for k in range(count):
        block_of[block_start[k] : block_start[k + 1]] = k
    parent = _apart(count)
    left = count
    for k in range(count):
        if left == 1:
            break
        for at in range(D_start[block_start[k]], D_start[block_start[k + 1]]):
            if D[at] != 0.0 and _join(parent, k, block_of[D_column[at]]):
                left -= 1
    return _number(parent, out)


@njit(cache=True)
def _fill_islands_of_full(block_start, D, out):
    count = len(out)
    parent = _apart(count)
    left = count
    for k in range(count):
        for other in range(count):
            if left == 1:
                return _number(parent, out)
            if other != k and _is_coupled(D, block_start, k, other) and _join(parent, k, other):
                left -= 1
    return _number(parent, out)


@njit(cache=True)
def _is_coupled(D, block_start, k, other):
    for i in range(block_start[k], block_start[k + 1]):
        for j in range(block_start[other], block_start[other + 1]):
            if D[i, j] != 0.0:
                return True
    return False


@njit(cache=True)
def _apart(count):
    parent = np.empty(count, dtype=np.int64)
    for i in range(count):
        parent[i] = i
    return parent


@njit(cache=True)
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]  # path halving
        i = parent[i]
    return i


@njit(cache=True)
def _join(parent, i, j):
    """Were they apart? The smaller number becomes the root, so that blocks, which come first, are roots."""
    i, j = _root(parent, i), _root(parent, j)
    parent[max(i, j)] = min(i, j)
    return i != j


@njit(cache=True)
def _number(parent, out):
    """Roots are the first of their island: number them as they come."""
    count = 0
    for k in range(len(out)):
        root = _root(parent, k)
        if root == k:
            out[k] = count
            count += 1
        else:
            out[k] = out[root]
    return count
