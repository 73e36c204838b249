"""Where the interior point starts: near a guess, above all reactions, or with reactions that carry everything."""

import numpy as np

from delassus.cones.product import project_product
from delassus.kernel import njit
from delassus.problem import Problem
from delassus.problem.data import ProblemData
from delassus.solvers.interior.standard import Standard
from delassus.solvers.parts.jordan import fill_unit, invert
from delassus.solvers.parts.one_contact.convex import solve_convex

_MOST_MULTIPLE = 10.0  # times a guess: more is said by rounding
_ABOVE = 2.0  # x is at least this times the reaction of a block alone


def best_multiple(problem: Problem, guess: np.ndarray) -> np.ndarray:
    """The point α P_K(guess) of least energy ½ λᵀDλ + λᵀv_f: never worse than starting from zero, which a guess that
    has nothing to do with the problem becomes."""
    cone, out = problem.cone, np.empty_like(guess)
    project_product(guess, problem.mu, cone.bilateral_rows, cone.unilateral, out)
    curvature = float(out @ problem.delassus.product(out))
    slope = float(out @ problem.free_velocity)
    if not (slope < 0.0 and curvature > 0.0):
        return np.zeros_like(out)
    return min(-slope / curvature, _MOST_MULTIPLE) * out


def carrying_pair(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """(λ [N s], v [m/s]), (m,) each: on every limit and contact normal what stops all masses at once, and the largest
    free velocity."""
    rigid, cone = problem.delassus.rigid, problem.cone
    normals = np.zeros(problem.row_count)
    normals[cone.bilateral_rows : cone.contact_start] = 1.0
    normals[cone.contact_start :: 3] = 1.0
    speed = float(problem.velocity_scale.max()) or 1.0
    mass = float(np.trace(rigid.mass[:, :3, :3], axis1=1, axis2=2).sum()) / 3.0
    return mass * speed * normals, speed * normals


def pair_above(standard: Standard, least: float) -> tuple[np.ndarray, np.ndarray, float]:
    """(x, y, τ) with x∘y = τ e and x a multiple of e, at least `least`, that lies above every block's own reaction; y
    about as large as the velocities of x (Kleinert et al. 2014, eq. 34). Zeros on bilateral rows; some row must have a
    cone.

    In blocks with a weak direction reactions are many times the ordinary size of one. From a point far below them the
    central path runs along the boundary of the cone, and steps become shorter and shorter; from above it is short."""
    x = np.zeros(standard.row_count)
    fill_unit(standard.limits, x[standard.free :])
    x *= np.maximum(least, _ABOVE * own_reactions(standard))
    return pair_at(standard, x)


def pair_at(standard: Standard, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """(x, y, τ) with x∘y = τ e; y about as large as the velocities of x (Kleinert et al. 2014, eq. 34)."""
    free, limits, y = standard.free, standard.limits, np.zeros(standard.row_count)
    standard.correct(x)
    tau = float(np.abs(x * standard.velocity(x))[free:].sum()) / standard.cone.degree or 1.0
    invert(limits, x[free:], y[free:])
    y *= tau
    return x, y, tau


def own_reactions(standard: Standard) -> np.ndarray:
    """(m',) the first entry of each block's own reaction, in scaled units; zero on bilateral rows."""
    problem: Problem = standard.problem
    normal = np.zeros(problem.row_count)
    _own(problem.data, problem.free_velocity, normal)
    first = standard.from_reactions(normal)
    return np.repeat(first[standard.start[:-1]], np.diff(standard.start))


@njit(cache=True, error_model="numpy")
def _own(data, v, out):
    """out (m,): the normal reaction of each limit and contact alone [N s].  v: (m,) free velocities."""
    data = ProblemData(*data)
    start, blocks, first = data.block_start, data.diagonal_blocks, data.joint_count + data.limit_count
    at = 0
    for k in range(len(start) - 1):
        size, i = start[k + 1] - start[k], start[k]
        if k >= first:
            out[i] = solve_convex(blocks, at, v[i], v[i + 1], v[i + 2], data.mu[k - first], 0.0, 0.0)[0]
        elif k >= data.joint_count and blocks[at] > 0.0:
            out[i] = max(0.0, -v[i]) / blocks[at]
        at += size * size
