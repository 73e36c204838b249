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

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT, folded
from delassus.linalg.dense_product import max_abs
from delassus.linalg.factor.envelope import factor, solve_factored
from delassus.linalg.operators.rigid import body_count, multiply_rows, push_row
from delassus.solvers.newton.least_sets import CONE, KEPT, RAY, ZERO, classify, keep_unique, project, renumber

_STEPS, _HALVINGS = 40, 30  # of Newton's method, and of one of its steps, at most
_ARMIJO = 1e-4  # least decrease of the dual function, as a share of what the slope promises
_ROUNDING = 1e-13  # largest |A x − w| over the largest Σ|A||x| at which nothing is left to gain
_ACCEPTED = 1e-10  # the same at which the answer is taken: the judge looks at it afterwards, or, where the solution
_ACCEPTED_OF_ERROR = 1e-2  # itself is less accurate, so much of the error of its velocities
_SHIFT = 1e-12  # relative, of the diagonal: for bodies that nothing pushes and for sets at their apex
_DAMPING = 1e-2  # the same over the relative residual: large far away, and convergence stays quadratic
_CREEP, _CREEP_MIN = 2.0, 1e-10  # relative velocity up to which a contact sticks: times the solution's error, at least


@njit(cache=True, error_model="numpy", nogil=True)
def least_of(rigid, judged_by, reactions, velocities, error, out):
    """out: λ' (m,) [N s], the least with the motion of λ; False where λ is the only one, or none was found.

    rigid: `RigidDelassus.plain`; judged_by: of the `Problem`; reactions, velocities: a solution, (m,) each; error: of
    its velocities, relative to those of their island. Joints without contacts and limits need no help: their
    pseudo-inverse gives the least already."""
    if judged_by[3] == len(reactions):
        return False
    bodies = rigid[0]
    total = body_count(bodies)
    numbers, rays = np.empty(3 * len(bodies) + 6 * total, np.int64), np.empty(4 * len(bodies))
    count = _choose(rigid, judged_by, reactions, velocities, error, numbers, rays)
    if count == 0:
        return False
    room = np.empty(len(reactions) * (12 + 4 + 6) + 6 * count * (6 * count + 5))
    accepted = max(_ACCEPTED, _ACCEPTED_OF_ERROR * error)
    return _least(rigid, judged_by, count, numbers, rays, accepted, reactions, room, out)


@njit(cache=True, **NO_REFCOUNT)
def _sets_in(numbers, rays, blocks):
    """(kinds, bodies renumbered, (blocks, 2), scratch of bodies; directions of rays, (blocks, 3), what else is left),
    views."""
    pairs = numbers[blocks : 3 * blocks].reshape(blocks, 2)
    return numbers[:blocks], pairs, numbers[3 * blocks :], folded(rays, blocks, 3), rays[3 * blocks :]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _choose(rigid, judged_by, reactions, velocities, error, numbers, rays):
    """The sets that blocks may choose from; how many bodies have a choice."""
    bodies, start, _, _, compliance = rigid
    mu, _, joints, _, limits, _, scale, is_exact, _, _ = judged_by
    kinds, pairs, own, direction, rest = _sets_in(numbers, rays, len(bodies))
    own = own[: len(own) // 6]
    for k in range(len(bodies)):
        direction[k, 0] = direction[k, 1] = direction[k, 2] = 0.0
        rest[k] = max(_CREEP * error, _CREEP_MIN) * scale[k]
    classify(start, joints, limits, mu, compliance, not is_exact, reactions, velocities, rest, kinds, direction)
    if keep_unique(bodies, kinds, own) == 0:
        return 0
    return renumber(bodies, kinds, own, pairs)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _least(rigid, judged_by, count, numbers, rays, accepted, reactions, room, out):
    """Newton's method on the dual; was it solved?  count: of bodies that have a choice; accepted: |A x − w| at the end,
    relative; room: scratch."""
    start, rows, mu, blocks, m, n = rigid[1], rigid[2], judged_by[0], judged_by[5], len(reactions), 6 * count
    kinds, bodies, end, direction, _ = _sets_in(numbers, rays, len(rigid[0]))
    end, at = end[:n], 12 * m
    A, vectors = folded(room, m, 12), folded(room[at:], 4, m)
    root, x, z, kept, at = vectors[0], vectors[1], vectors[2], vectors[3], at + 4 * m
    P, formed = folded(room[at:], m, 3), folded(room[at + 3 * m :], m, 3)
    at += 6 * m
    vectors = folded(room[at:], 5, n)
    w, y, push, trial, move, at = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], at + 5 * n
    U = folded(room[at:], n, n)
    for j in range(n):
        w[j] = y[j] = move[j] = 0.0
    _scale(bodies, start, rows, blocks, kinds, A, root, move)
    for i in range(m):
        kept[i] = reactions[i] * root[i]
    # into its set, from which a solution may be off by its tolerance
    project(start, mu, kinds, direction, kept, kept, x, P, 0.0)
    _add_pushes(bodies, start, A, x, w, y)
    size_max = max_abs(y)
    if size_max == 0.0:
        return False
    _fill_envelope(bodies, kinds, end)
    value = 0.0  # of the dual function at y = 0
    for i in range(m):
        z[i] = 0.0
    project(start, mu, kinds, direction, z, kept, x, P, 1.0)
    for j in range(n):
        y[j], push[j] = 0.0, w[j]
    worst, is_factored = max_abs(push), False
    for step in range(_STEPS):
        if worst <= _ROUNDING * size_max:
            break
        # where no set has changed sides the last factors do, to rounding
        if not (is_factored and _is_same(P, formed)):
            shift = max(_SHIFT, _DAMPING * worst / size_max) if step else _SHIFT
            _form(bodies, start, A, kinds, P, shift, end, U)
            is_factored = shift == _SHIFT
            for i in range(m):
                formed[i, 0], formed[i, 1], formed[i, 2] = P[i, 0], P[i, 1], P[i, 2]
            if not factor(U, end):
                return False
        for j in range(n):
            move[j] = push[j]
        solve_factored(U, end, move)
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
        if not found:  # the last point it is, or none
            multiply_rows(bodies, start, A, y, z)
            project(start, mu, kinds, direction, z, kept, x, P, 0.0)
            break
        is_done = worst <= accepted * size_max and left > 0.5 * worst  # rounding is what is left
        value, worst = new, left
        for j in range(n):
            y[j] = trial[j]
        if is_done:
            break
    for i in range(m):
        out[i] = x[i] / root[i]
    return worst <= accepted * size_max


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _scale(bodies, start, rows, blocks, kinds, A, root, unit):
    """Rows of A, (m, 12), with velocities in units that give every column of A the norm one, and √d per row.
    unit: (n,) zeros, overwritten."""
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
                    value = rows[i, 6 * side + j] / d if body >= 0 else 0.0
                    A[i, 6 * side + j] = value
                    if body >= 0:
                        unit[6 * body + j] += value * value
    for j in range(len(unit)):
        unit[j] = 1.0 / math.sqrt(unit[j]) if unit[j] > 0.0 else 1.0
    for k in range(len(bodies)):
        for side in range(2):
            body = bodies[k, side]
            if body >= 0:
                for i in range(start[k], start[k + 1]):
                    for j in range(6):
                        A[i, 6 * side + j] *= unit[6 * body + j]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _add_pushes(bodies, start, A, x, w, size):
    """w += A x, size += |A||x|."""
    for k in range(len(bodies)):
        for i in range(start[k], start[k + 1]):
            for side in range(2):
                if bodies[k, side] >= 0:
                    for j in range(6):
                        part = A[i, 6 * side + j] * x[i]
                        w[6 * bodies[k, side] + j] += part
                        size[6 * bodies[k, side] + j] += abs(part)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _dual(kinds, start, x, z, w, y):
    """½‖P_X(z)‖² − wᵀ y, less what kept blocks, whose sets are points, add linearly."""
    value = 0.0
    for k in range(len(kinds)):
        for i in range(start[k], start[k + 1]):
            value += x[i] * z[i] if kinds[k] == KEPT else 0.5 * x[i] * x[i]
    for j in range(len(w)):
        value -= w[j] * y[j]
    return value


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _is_same(P, formed):
    """Is it the derivative that was formed last?"""
    for i in range(len(P)):
        if P[i, 0] != formed[i, 0] or P[i, 1] != formed[i, 1] or P[i, 2] != formed[i, 2]:
            return False
    return True


@njit(cache=True, **NO_REFCOUNT)
def _fill_envelope(bodies, kinds, end):
    """end: (n,) where each row of the upper triangle of H ends."""
    for j in range(len(end)):
        end[j] = 6 * (j // 6) + 6
    for k in range(len(bodies)):
        low, high = min(bodies[k, 0], bodies[k, 1]), max(bodies[k, 0], bodies[k, 1])
        if low >= 0 and kinds[k] not in (ZERO, KEPT):
            end[6 * low] = max(end[6 * low], 6 * high + 6)
    for j in range(1, len(end)):
        end[j] = max(end[j], end[j - 1])


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _form(bodies, start, A, kinds, P, shift, end, H):
    """The upper triangle, inside of its envelope, of H = A P' Aᵀ, its diagonal raised by the factor 1 + shift."""
    n = len(H)
    for i in range(n):
        for j in range(i, end[min(i + 3, n - 1)]):  # `factor` reads so far
            H[i, j] = 0.0
    for k in range(len(bodies)):
        kind = kinds[k]
        if kind in (ZERO, KEPT):
            continue
        for side in range(2):
            for other in range(2):
                p, q = bodies[k, side], bodies[k, other]
                if q < 0 or p < q:
                    continue
                if kind in (RAY, CONE):
                    _add_contact(A, P, start[k], 6 * side, 6 * other, 6 * p, 6 * q, H)
                else:
                    _add_rows(A, P, start[k], start[k + 1], 6 * side, 6 * other, 6 * p, 6 * q, H)
    for j in range(n):
        H[j, j] = H[j, j] * (1.0 + shift) if H[j, j] > 0.0 else 1.0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _add_contact(A, P, i, a, b, p, q, H):
    """The block of H from row q and column p on += that of a contact, whose rows begin at i; a, b: first columns of the
    two bodies in A. Of a body with itself only the upper half."""
    for c in range(6):
        x, y, z = A[i, b + c], A[i + 1, b + c], A[i + 2, b + c]
        f = P[i, 0] * x + P[i, 1] * y + P[i, 2] * z
        g = P[i + 1, 0] * x + P[i + 1, 1] * y + P[i + 1, 2] * z
        h = P[i + 2, 0] * x + P[i + 2, 1] * y + P[i + 2, 2] * z
        for d in range(c if p == q else 0, 6):
            H[q + c, p + d] += A[i, a + d] * f + A[i + 1, a + d] * g + A[i + 2, a + d] * h


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _add_rows(A, P, i, end, a, b, p, q, H):
    """Add rows that do not share a set, from i to before `end`."""
    for c in range(6):
        for d in range(c if p == q else 0, 6):
            value = 0.0
            for e in range(i, end):
                value += A[e, a + d] * (P[e, 0] * A[e, b + c])
            H[q + c, p + d] += value


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _subtract_pushes(bodies, start, A, x, w):
    """w −= A x."""
    for k in range(len(bodies)):
        for i in range(start[k], start[k + 1]):
            push_row(bodies[k, 0], bodies[k, 1], A, i, -x[i], w)
