"""Colours for parallel Gauß–Seidel: blocks of one colour do not couple, so they may be updated at the same time."""

import numpy as np

from delassus.kernel import njit
from delassus.problem import Problem

_MOST = (
    63  # colours kept in one machine word per body; blocks that fit none (a hub with many contacts) come last, in turn
)


def colour_blocks(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """(order, colour_start) as `sweep_by_colour` takes them: blocks sorted by colour, then those without one."""
    colour = colours(problem)
    count = int(colour.max(initial=-1)) + 1
    order = np.argsort(np.where(colour < 0, count, colour), kind="stable")
    sizes = np.bincount(np.where(colour < 0, count, colour), minlength=count + 1)
    return order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def colours(problem: Problem) -> np.ndarray:
    """Colour of each block, (block_count,), −1 for those without one."""
    colour = np.full(problem.cone.block_count, -1, dtype=np.int64)
    if problem.delassus.has_bodies:
        rigid = problem.delassus.rigid
        _by_bodies(rigid.bodies, np.zeros(len(rigid.mass), dtype=np.uint64), colour)
    else:
        # joints and limits of dual problems are few and may couple to anything: they stay without a colour
        first = problem.cone.block_count - problem.contact_count
        D = problem.delassus.matrix()
        _by_matrix(D.indptr, D.indices, problem.cone.contact_start, colour[first:])
    return colour


@njit(cache=True)
def _by_bodies(bodies, used, colour):
    """Greedy: the lowest colour that neither body has seen.  used: (n_b,) bit set of colours per body, written."""
    one = np.uint64(1)
    for k in range(len(bodies)):
        taken = np.uint64(0)
        for side in range(2):
            if bodies[k, side] >= 0:
                taken |= used[bodies[k, side]]
        for c in range(_MOST):
            bit = one << np.uint64(c)
            if not taken & bit:
                colour[k] = c
                for side in range(2):
                    if bodies[k, side] >= 0:
                        used[bodies[k, side]] |= bit
                break


@njit(cache=True)
def _by_matrix(indptr, indices, contact_start, colour):
    """Greedy: the lowest colour that no contact has which D, in compressed rows, couples."""
    one = np.uint64(1)
    for k in range(len(colour)):
        taken = np.uint64(0)
        for p in range(indptr[contact_start + 3 * k], indptr[contact_start + 3 * k + 3]):
            other = (indices[p] - contact_start) // 3 if indices[p] >= contact_start else k
            if colour[other] >= 0:
                taken |= one << np.uint64(colour[other])
        for c in range(_MOST):
            if not taken & (one << np.uint64(c)):
                colour[k] = c
                break
