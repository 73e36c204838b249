"""Exact solves of one joint at a time: inverses of their diagonal blocks, pseudo-inverses where rows are redundant."""

import numpy as np

from delassus.kernel import njit
from delassus.problem import Problem

_RANK = 1e-12  # singular values below this part of the largest are redundant rows
_SAFE = 1e-8  # smallest pivot over the largest entry from which on elimination does; compiled, a tenth of the time


def joint_inverses(problem: Problem) -> np.ndarray:
    """D_kk⁺ of the joints one after the other, each row by row, (Σ d_k²,) [kg]."""
    sizes = problem.cone.bilateral
    out = np.empty(int((sizes * sizes).sum()))
    starts = np.cumsum(sizes * sizes) - sizes * sizes
    left = np.empty(len(sizes), np.bool_)
    _invert(problem.diagonal_blocks, starts, sizes, np.empty(out.size), out, left)
    for size in np.unique(sizes[left]) if left.any() else ():
        at = starts[left & (sizes == size)][:, None] + np.arange(size * size)
        blocks = problem.diagonal_blocks[at].reshape(-1, size, size)
        out[at] = np.linalg.pinv(blocks, rcond=_RANK).reshape(-1, size * size)
    return out


@njit(cache=True, error_model="numpy")
def _invert(blocks, starts, sizes, A, out, left):
    """Inverses of blocks by Gauß–Jordan elimination with row pivots; left: which of them were left alone, since a pivot
    was too small.  A: scratch as long as out."""
    for k in range(len(sizes)):
        n, o = sizes[k], starts[k]
        largest = 0.0
        for t in range(n * n):
            A[o + t], out[o + t] = blocks[o + t], 0.0
            largest = max(largest, abs(A[o + t]))
        for i in range(n):
            out[o + i * (n + 1)] = 1.0
        left[k] = False
        for c in range(n):
            best = c
            for i in range(c + 1, n):
                if abs(A[o + i * n + c]) > abs(A[o + best * n + c]):
                    best = i
            if not abs(A[o + best * n + c]) > _SAFE * largest:
                left[k] = True
                break
            factor = 1.0 / A[o + best * n + c]
            for j in range(n):
                a, b = o + c * n + j, o + best * n + j
                A[a], A[b] = A[b] * factor, A[a] if best != c else A[b] * factor
                out[a], out[b] = out[b] * factor, out[a] if best != c else out[b] * factor
            for i in range(n):
                share = A[o + i * n + c]
                if i != c and share != 0.0:
                    for j in range(n):
                        A[o + i * n + j] -= share * A[o + c * n + j]
                        out[o + i * n + j] -= share * out[o + c * n + j]
