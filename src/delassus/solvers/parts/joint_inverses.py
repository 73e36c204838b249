"""Exact solves of one joint at a time: pseudo-inverses of the joints' diagonal blocks, which forgive redundant rows."""

import numpy as np

from delassus.problem import Problem

_RANK = 1e-12  # singular values below this part of the largest are redundant rows


def joint_inverses(problem: Problem) -> np.ndarray:
    """D_kk⁺ of the joints one after the other, each row by row, (Σ d_k²,) [kg]."""
    sizes = problem.cone.bilateral
    out = np.empty(int((sizes * sizes).sum()))
    if not len(sizes):
        return out
    ends = np.cumsum(sizes * sizes)
    for size in np.unique(sizes):
        at = (ends - sizes * sizes)[sizes == size][:, None] + np.arange(size * size)
        blocks = problem.diagonal_blocks[at].reshape(-1, size, size)
        out[at] = np.linalg.pinv(blocks, rcond=_RANK).reshape(-1, size * size)
    return out
