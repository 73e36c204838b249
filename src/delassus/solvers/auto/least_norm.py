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

from delassus.cones.coulomb import project_coulomb
from delassus.law import Law
from delassus.problem import Problem

_MOST_ROWS = 1000  # beyond, factors of full matrices take longer than the solve they follow
_STEPS, _HALVINGS, _ARMIJO = 40, 30, 1e-4
_EXACT = 1e-13  # ‖A x − w‖ relative to Σ|A||x|, at which Newton's method has nothing left to gain …
_ENOUGH = 1e-10  # … and what is good enough, since the judge looks at the outcome
_SHIFT = 1e-12  # of the diagonal: bodies that nothing pushes, and directions that sets at their apex leave without
_DAMPING = 1e-2  # the same, in units of the relative residual, which leaves convergence quadratic
_REST, _STILL = 2.0, 1e-10  # times the error of the velocities, or this: what a contact may creep that sticks
_FREE, _ZERO, _NORMAL, _RAY, _CONE, _KEPT = range(6)  # what a block's set is


def least_reactions(problem: Problem, reactions: np.ndarray, velocities: np.ndarray, error: float) -> np.ndarray | None:
    """λ' (m,) [N s], the least with the motion of λ; None where λ is the only one, or none was found.

    reactions, velocities: a solution, (m,) each; error: of its velocities, relative to those of their island. Joints
    without contacts and limits need no help: their pseudo-inverse gives the least already."""
    rigid, cone = problem.delassus.rigid, problem.cone
    if rigid is None or not cone.bilateral_rows < problem.row_count <= _MOST_ROWS:
        return None
    kinds, direction = np.empty(cone.block_count, np.int64), np.zeros((cone.block_count, 3))
    bodies, start, rows, _, compliance = rigid.plain
    _classify(
        start, cone.bilateral.size, cone.unilateral, problem.mu, compliance, problem.law is Law.CCP, reactions,
        velocities, max(_REST * error, _STILL) * problem.velocity_scale, kinds, direction,
    )  # fmt: skip
    if not _keep_unique(bodies, kinds, len(rigid.mass)):
        return None
    out = np.empty_like(reactions)
    found = _least(
        bodies, start, rows, rigid.mass, problem.diagonal_blocks, problem.mu,
        kinds, direction, reactions, out,
    )  # fmt: skip
    return out if found else None


@njit(cache=True)
def _classify(start, joints, limits, mu, compliance, is_convex, reactions, velocities, rest, kinds, direction):
    """The set of each block, and the unit vector along the ray of those that slide."""
    for k in range(len(kinds)):
        i = start[k]
        is_soft = False
        for a in range(i, start[k + 1]):
            is_soft = is_soft or (len(compliance) > 0 and compliance[a] > 0.0)
        if is_soft:
            kinds[k] = _KEPT
        elif k < joints:
            kinds[k] = _FREE
        elif k < joints + limits:
            kinds[k] = _ZERO if velocities[i] > rest[k] else _NORMAL
        else:
            friction = mu[k - joints - limits]
            v1, v2 = velocities[i + 1], velocities[i + 2]
            slip = math.sqrt(v1 * v1 + v2 * v2)
            gap = velocities[i] - (friction * slip if is_convex else 0.0)
            if gap > rest[k]:
                kinds[k] = _ZERO
            elif friction == 0.0:
                kinds[k] = _NORMAL
            elif slip > rest[k]:
                # along its own reaction, which is as exact as the solution; unloaded ones along their slip
                r0, r1, r2 = reactions[i], reactions[i + 1], reactions[i + 2]
                length = math.sqrt(r0 * r0 + r1 * r1 + r2 * r2)
                if not r0 > 0.0:
                    r0, r1, r2 = 1.0, -friction * v1 / slip, -friction * v2 / slip
                    length = math.sqrt(1.0 + friction * friction)
                kinds[k] = _RAY
                direction[k, 0], direction[k, 1], direction[k, 2] = r0 / length, r1 / length, r2 / length
            else:
                kinds[k] = _CONE


@njit(cache=True)
def _keep_unique(bodies, kinds, count):
    """Blocks on which a body hangs alone have no choice: kept. Likewise what is then left of the next body, until only
    cycles of blocks remain; how many blocks those have."""
    blocks_of, left = np.zeros(count, np.int64), 0
    for k in range(len(kinds)):
        if kinds[k] not in (_ZERO, _KEPT):
            left += 1
            for side in range(2):
                if bodies[k, side] >= 0:
                    blocks_of[bodies[k, side]] += 1
    changed = True
    while changed and left:
        changed = False
        for k in range(len(kinds)):
            a, b = bodies[k, 0], bodies[k, 1]
            if kinds[k] in (_ZERO, _KEPT) or not ((a >= 0 and blocks_of[a] == 1) or (b >= 0 and blocks_of[b] == 1)):
                continue
            kinds[k] = _KEPT
            left -= 1
            changed = True
            for side in range(2):
                if bodies[k, side] >= 0:
                    blocks_of[bodies[k, side]] -= 1
    return left


@njit(cache=True, error_model="numpy")
def _least(bodies, start, rows, mass, blocks, mu, kinds, direction, reactions, out):
    """Newton's method on the dual; was it solved?"""
    m = len(reactions)
    A, root = np.empty((m, 12)), np.empty(m)
    _scale(bodies, start, rows, mass, blocks, A, root)
    bodies, count = _pushed(bodies, kinds, len(mass))
    n = 6 * count
    x, z, kept, P = np.empty(m), np.empty(m), np.empty(m), np.empty((m, 3))
    w, y, push, trial, size = np.zeros(n), np.zeros(n), np.empty(n), np.empty(n), np.zeros(n)
    for i in range(m):
        kept[i] = reactions[i] * root[i]
    # into its set, from which a solution may be off by its tolerance
    _project(start, mu, kinds, direction, kept, kept, x, P, False)
    _add_pushes(bodies, start, A, x, w, size)
    enough = _largest(size)
    if enough == 0.0:
        return False
    z[:] = 0.0
    H = np.empty((n, n))
    value = 0.0  # of the dual function at y = 0
    _project(start, mu, kinds, direction, z, kept, x, P, True)
    push[:] = w
    worst = _largest(push)
    for step in range(_STEPS):
        if worst <= _EXACT * enough:
            break
        _form(bodies, start, A, kinds, P, max(_SHIFT, _DAMPING * worst / enough) if step else _SHIFT, H)
        move = np.linalg.solve(H, push)
        slope = 0.0
        for j in range(n):
            slope += push[j] * move[j]
        length, found = 1.0, False
        for _ in range(_HALVINGS):
            for j in range(n):
                trial[j] = y[j] + length * move[j]
            _pull(bodies, start, A, trial, z)
            _project(start, mu, kinds, direction, z, kept, x, P, False)
            push[:] = w
            _subtract_pushes(bodies, start, A, x, push)
            new, left = _dual(kinds, start, x, z, w, trial), _largest(push)
            # near the end the function's own rounding hides its descent: there its gradient decides
            found = new <= value - _ARMIJO * length * slope or left <= 0.5 * worst
            if found:
                break
            length *= 0.5
        if not found:
            return False
        is_done = worst <= _ENOUGH * enough and left > 0.5 * worst  # rounding is what is left
        value, worst = new, left
        for j in range(n):
            y[j] = trial[j]
        if is_done:
            break
    for i in range(m):
        out[i] = x[i] / root[i]
    return worst <= _ENOUGH * enough


@njit(cache=True, error_model="numpy")
def _largest(x):
    out = 0.0
    for i in range(len(x)):
        out = max(out, abs(x[i]))
    return out


@njit(cache=True)
def _pushed(bodies, kinds, count):
    """(bodies numbered over those on cycles of blocks, their number): the others need no unknowns."""
    number, found = np.full(count, -1), 0
    out = np.full_like(bodies, -1)
    for k in range(len(kinds)):
        for side in range(2):
            body = bodies[k, side]
            if body >= 0 and kinds[k] not in (_ZERO, _KEPT):
                if number[body] < 0:
                    number[body] = found
                    found += 1
                out[k, side] = number[body]
    return out, found


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
def _pull(bodies, start, A, y, z):
    """z = Aᵀ y."""
    for k in range(len(bodies)):
        for i in range(start[k], start[k + 1]):
            value = 0.0
            for side in range(2):
                if bodies[k, side] >= 0:
                    for j in range(6):
                        value += A[i, 6 * side + j] * y[6 * bodies[k, side] + j]
            z[i] = value


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
def _subtract_pushes(bodies, start, A, x, w):
    """w −= A x."""
    for k in range(len(bodies)):
        for i in range(start[k], start[k + 1]):
            for side in range(2):
                if bodies[k, side] >= 0:
                    for j in range(6):
                        w[6 * bodies[k, side] + j] -= A[i, 6 * side + j] * x[i]


@njit(cache=True, error_model="numpy")
def _project(start, mu, kinds, direction, z, kept, x, P, at_apex):
    """x = P_X(z) and rows of its derivative by blocks, (m, 3), for contacts; joints and limits use the first column.
    at_apex: the derivative as if every set were the space it spans."""
    for k in range(len(kinds)):
        i, kind = start[k], kinds[k]
        for a in range(i, start[k + 1]):
            x[a] = kept[a] if kind == _KEPT else 0.0
            P[a, 0] = P[a, 1] = P[a, 2] = 0.0
        if kind == _FREE:
            for a in range(i, start[k + 1]):
                x[a], P[a, 0] = z[a], 1.0
        elif kind == _NORMAL:
            x[i] = max(z[i], 0.0)
            P[i, 0] = 1.0 if z[i] > 0.0 or at_apex else 0.0
        elif kind == _RAY:
            g0, g1, g2 = direction[k, 0], direction[k, 1], direction[k, 2]
            along = g0 * z[i] + g1 * z[i + 1] + g2 * z[i + 2]
            if along > 0.0 or at_apex:
                along = max(along, 0.0)
                x[i], x[i + 1], x[i + 2] = along * g0, along * g1, along * g2
                P[i, 0], P[i, 1], P[i, 2] = g0 * g0, g0 * g1, g0 * g2
                P[i + 1, 0], P[i + 1, 1], P[i + 1, 2] = g0 * g1, g1 * g1, g1 * g2
                P[i + 2, 0], P[i + 2, 1], P[i + 2, 2] = g0 * g2, g1 * g2, g2 * g2
        elif kind == _CONE:
            _project_cone(mu[k - (len(kinds) - len(mu))], i, z, x, P, at_apex)


@njit(cache=True, error_model="numpy")
def _project_cone(mu, i, z, x, P, at_apex):
    """One sticking contact."""
    n, t1, t2 = z[i], z[i + 1], z[i + 2]
    x[i], x[i + 1], x[i + 2] = project_coulomb(n, t1, t2, mu)
    t = math.sqrt(t1 * t1 + t2 * t2)
    if t <= mu * n or at_apex:
        P[i, 0] = P[i + 1, 1] = P[i + 2, 2] = 1.0
    elif mu * t > -n:
        c, e1, e2 = 1.0 / (1.0 + mu * mu), t1 / t, t2 / t
        turn = mu * x[i] / t
        P[i, 0], P[i, 1], P[i, 2] = c, c * mu * e1, c * mu * e2
        P[i + 1, 0], P[i + 2, 0] = c * mu * e1, c * mu * e2
        P[i + 1, 1] = c * mu * mu * e1 * e1 + turn * e2 * e2
        P[i + 2, 2] = c * mu * mu * e2 * e2 + turn * e1 * e1
        P[i + 1, 2] = P[i + 2, 1] = (c * mu * mu - turn) * e1 * e2


@njit(cache=True, error_model="numpy")
def _dual(kinds, start, x, z, w, y):
    """½‖P_X(z)‖² − wᵀ y, less what kept blocks, whose sets are points, add linearly."""
    value = 0.0
    for k in range(len(kinds)):
        for i in range(start[k], start[k + 1]):
            value += x[i] * z[i] if kinds[k] == _KEPT else 0.5 * x[i] * x[i]
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
        if kinds[k] in (_ZERO, _KEPT):
            continue
        i, size = start[k], start[k + 1] - start[k]
        is_block = kinds[k] in (_RAY, _CONE)
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
