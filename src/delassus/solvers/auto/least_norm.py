"""Of many reactions that give the same motion, the least: min Σ_k d_k‖λ_k‖², d_k the mean diagonal of D_kk.

Same motion means the same Jᵀ λ = w. Contacts that open stay zero, those that slide stay on their ray, those that stick
stay in their cone; joints are free. With x_k = √d_k λ_k and A = Jᵀ diag(1/√d) it is the point of a closed convex set X
nearest to zero on A x = w. Its dual has no constraints and as many unknowns as bodies have velocities:

    min ½‖P_X(Aᵀ y)‖² − wᵀ y,    x = P_X(Aᵀ y),

convex and smooth, solved by Newton's method with Armijo's rule. The first step, from y = 0, is the least norm without
any cone, which is all that a table on four legs needs. The answer depends on the set alone: not on the order of the
contacts, nor on the solver or the guess that led there, and symmetric problems get symmetric reactions.
"""

import math

import numpy as np
from numba import njit

from delassus.law import Law
from delassus.linalg.dense_product import max_abs
from delassus.linalg.factor.lapack import solve_general
from delassus.linalg.operators.rigid import multiply_rows, push_row
from delassus.problem import Problem
from delassus.solvers.auto.least_sets import CONE, KEPT, RAY, ZERO, classify, keep_unique, project, renumbered

_MOST_ROWS = 1000  # beyond, factors of full matrices take longer than the solve they follow
_STEPS, _HALVINGS = 40, 30  # of Newton's method, and of one of its steps, at most
_ARMIJO = 1e-4  # least decrease of the dual function, as a share of what the slope promises
_ROUNDING = 1e-13  # largest |A x − w| over the largest Σ|A||x| at which nothing is left to gain
_ACCEPTED = 1e-10  # the same at which the answer is taken: the judge looks at it afterwards
_SHIFT = 1e-12  # relative, of the diagonal: for bodies that nothing pushes and for sets at their apex
_DAMPING = 1e-2  # the same over the relative residual: large far away, and convergence stays quadratic
_CREEP, _CREEP_MIN = 2.0, 1e-10  # relative velocity up to which a contact sticks: times the solution's error, at least


def least_reactions(problem: Problem, reactions: np.ndarray, velocities: np.ndarray, error: float) -> np.ndarray | None:
    """λ' (m,) [N s], the least with the motion of λ; None where λ is the only one, or none was found.

    reactions, velocities: a solution, (m,) each; error: of its velocities, relative to those of their island. Joints
    without contacts and limits need no help: their pseudo-inverse gives the least already."""
    rigid, cone = problem.delassus.rigid, problem.cone
    if rigid is None or not cone.bilateral_rows < problem.row_count <= _MOST_ROWS:
        return None
    kinds, direction = np.empty(cone.block_count, np.int64), np.zeros((cone.block_count, 3))
    bodies, start, rows, _, compliance = rigid.plain
    classify(
        start, cone.bilateral.size, cone.unilateral, problem.mu, compliance, problem.law is Law.CCP, reactions,
        velocities, max(_CREEP * error, _CREEP_MIN) * problem.velocity_scale, kinds, direction,
    )  # fmt: skip
    if not keep_unique(bodies, kinds, len(rigid.mass)):
        return None
    out = np.empty_like(reactions)
    found = _least(
        bodies, start, rows, rigid.mass, problem.diagonal_blocks, problem.mu,
        kinds, direction, reactions, out,
    )  # fmt: skip
    return out if found else None


@njit(cache=True, error_model="numpy")
def _least(bodies, start, rows, mass, blocks, mu, kinds, direction, reactions, out):
    """Newton's method on the dual; was it solved?"""
    m = len(reactions)
    A, root = np.empty((m, 12)), np.empty(m)
    _scale(bodies, start, rows, mass, blocks, A, root)
    bodies, count = renumbered(bodies, kinds, len(mass))
    n = 6 * count
    x, z, kept, P = np.empty(m), np.empty(m), np.empty(m), np.empty((m, 3))
    w, y, push, trial, size = np.zeros(n), np.zeros(n), np.empty(n), np.empty(n), np.zeros(n)
    for i in range(m):
        kept[i] = reactions[i] * root[i]
    # into its set, from which a solution may be off by its tolerance
    project(start, mu, kinds, direction, kept, kept, x, P, 0.0)
    _add_pushes(bodies, start, A, x, w, size)
    size_max = max_abs(size)
    if size_max == 0.0:
        return False
    z[:] = 0.0
    H, work, pivots, move = np.empty((n, n)), np.empty((n, n)), np.empty(n, np.int32), np.empty(n)
    value = 0.0  # of the dual function at y = 0
    project(start, mu, kinds, direction, z, kept, x, P, 1.0)
    for j in range(n):
        push[j] = w[j]
    worst = max_abs(push)
    for step in range(_STEPS):
        if worst <= _ROUNDING * size_max:
            break
        _form(bodies, start, A, kinds, P, max(_SHIFT, _DAMPING * worst / size_max) if step else _SHIFT, H)
        for j in range(n):
            move[j] = push[j]
        if not solve_general(H, move, work, pivots):
            return False
        slope = 0.0
        for j in range(n):
            slope += push[j] * move[j]
        length, found = 1.0, False
        for _ in range(_HALVINGS):
            for j in range(n):
                trial[j] = y[j] + length * move[j]
            multiply_rows(bodies, start, A, trial, z)  # Aᵀ y
            project(start, mu, kinds, direction, z, kept, x, P, 0.0)
            for j in range(n):
                push[j] = w[j]
            _subtract_pushes(bodies, start, A, x, push)
            new, left = _dual(kinds, start, x, z, w, trial), max_abs(push)
            # near the end the function's own rounding hides its descent: there its gradient decides
            found = new <= value - _ARMIJO * length * slope or left <= 0.5 * worst
            if found:
                break
            length *= 0.5
        if not found:
            return False
        is_done = worst <= _ACCEPTED * size_max and left > 0.5 * worst  # rounding is what is left
        value, worst = new, left
        for j in range(n):
            y[j] = trial[j]
        if is_done:
            break
    for i in range(m):
        out[i] = x[i] / root[i]
    return worst <= _ACCEPTED * size_max


@njit(cache=True, error_model="numpy")
def _scale(bodies, start, rows, mass, blocks, A, root):
    """Rows of A, (m, 12), with velocities in units of 1/√mass, and √d per row."""
    at = 0
    for k in range(len(bodies)):
        first, size = start[k], start[k + 1] - start[k]
        mean = 0.0
        for a in range(size):
            mean += blocks[at + a * (size + 1)] / size
        at += size * size
        d = math.sqrt(mean) if mean > 0.0 else 1.0
        for i in range(first, first + size):
            root[i] = d
            for side in range(2):
                body = bodies[k, side]
                for j in range(6):
                    value = rows[i, 6 * side + j] / (d * math.sqrt(mass[body, j, j])) if body >= 0 else 0.0
                    A[i, 6 * side + j] = value


@njit(cache=True, error_model="numpy")
def _add_pushes(bodies, start, A, x, w, size):
    """w += A x; size += |A||x|."""
    for k in range(len(bodies)):
        for i in range(start[k], start[k + 1]):
            for side in range(2):
                if bodies[k, side] >= 0:
                    for j in range(6):
                        part = A[i, 6 * side + j] * x[i]
                        w[6 * bodies[k, side] + j] += part
                        size[6 * bodies[k, side] + j] += abs(part)


@njit(cache=True, error_model="numpy")
def _dual(kinds, start, x, z, w, y):
    """½‖P_X(z)‖² − wᵀ y, less what kept blocks, whose sets are points, add linearly."""
    value = 0.0
    for k in range(len(kinds)):
        for i in range(start[k], start[k + 1]):
            value += x[i] * z[i] if kinds[k] == KEPT else 0.5 * x[i] * x[i]
    for j in range(len(w)):
        value -= w[j] * y[j]
    return value


@njit(cache=True, error_model="numpy")
def _form(bodies, start, A, kinds, P, shift, H):
    """H = A P' Aᵀ, its diagonal raised by the factor 1 + shift."""
    n = len(H)
    H[:] = 0.0
    part = np.empty((6, 12))
    for k in range(len(bodies)):
        if kinds[k] in (ZERO, KEPT):
            continue
        i, size = start[k], start[k + 1] - start[k]
        is_block = kinds[k] in (RAY, CONE)
        for a in range(size):
            for j in range(12):
                if is_block:
                    part[a, j] = P[i + a, 0] * A[i, j] + P[i + a, 1] * A[i + 1, j] + P[i + a, 2] * A[i + 2, j]
                else:
                    part[a, j] = P[i + a, 0] * A[i + a, j]
        for side in range(2):
            for other in range(2):
                p, q = bodies[k, side], bodies[k, other]
                if p < 0 or q < 0:
                    continue
                for b in range(6):
                    for c in range(6):
                        value = 0.0
                        for a in range(size):
                            value += A[i + a, 6 * side + b] * part[a, 6 * other + c]
                        H[6 * p + b, 6 * q + c] += value
    for j in range(n):
        H[j, j] = H[j, j] * (1.0 + shift) if H[j, j] > 0.0 else 1.0


@njit(cache=True, error_model="numpy")
def _subtract_pushes(bodies, start, A, x, w):
    """w −= A x."""
    for k in range(len(bodies)):
        for i in range(start[k], start[k + 1]):
            push_row(bodies[k, 0], bodies[k, 1], A, i, -x[i], w)
