"""How large each block's reaction would be if it were alone: what the first point is measured by.

In blocks with a weak direction reactions are many times the ordinary size of one. From a point far below them the
central path runs along the boundary of the cone, and steps become shorter and shorter; from above it is short.
"""

import numpy as np
from numba import njit

from delassus.problem import Problem
from delassus.solvers.interior.standard import Standard
from delassus.solvers.parts.jordan import fill_unit, invert
from delassus.solvers.parts.one_contact.convex import solve_convex

_ABOVE = 2.0  # x is at least this times the reaction of a block alone


def pair_above(standard: Standard, least: float) -> tuple[np.ndarray, np.ndarray, float]:
    """(x, y, τ) with x∘y = τ e and x a multiple of e, at least `least`, that lies above every block's own reaction; y
    about as large as the velocities of x (004 eq. 34). Zeros on bilateral rows; some row must have a cone."""
    free, limits = standard.free, standard.limits
    x, y = np.zeros(standard.row_count), np.zeros(standard.row_count)
    fill_unit(limits, x[free:])
    x *= np.maximum(least, _ABOVE * own_reactions(standard))
    standard.correct(x)
    tau = float(np.abs(x * standard.velocity(x))[free:].sum()) / standard.cone.degree or 1.0
    invert(limits, x[free:], y[free:])
    y *= tau
    return x, y, tau


def own_reactions(standard: Standard) -> np.ndarray:
    """(m',) the first entry of each block's own reaction, in scaled units; zero on bilateral rows."""
    problem: Problem = standard.problem
    normal = np.zeros(problem.row_count)
    _own(problem.cone.block_start, problem.cone.bilateral.size, problem.cone.unilateral, problem.mu,
         problem.diagonal_blocks, problem.free_velocity, normal)  # fmt: skip
    first = standard.from_reactions(normal)
    return np.repeat(first[standard.start[:-1]], np.diff(standard.start))


@njit(cache=True, error_model="numpy")
def _own(start, joints, limits, mu, blocks, v, out):
    at = 0
    for k in range(len(start) - 1):
        size, i = start[k + 1] - start[k], start[k]
        if k >= joints + limits:
            out[i] = solve_convex(blocks, at, v[i], v[i + 1], v[i + 2], mu[k - joints - limits], 0.0, 0.0)[0]
        elif k >= joints and blocks[at] > 0.0:
            out[i] = max(0.0, -v[i]) / blocks[at]
        at += size * size
