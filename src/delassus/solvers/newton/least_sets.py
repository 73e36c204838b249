"""Which reactions give the same motion: the set that each block of rows may choose from, and the projection onto it.

Contacts that open stay zero, those that slide stay on their ray, those that stick stay in their cone; limits push,
joints are free. Blocks that give way (compliance) and blocks on which a body hangs alone keep what they have: their
reaction is unique.
"""

import math

from delassus.cones.coulomb import project_coulomb
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

FREE, ZERO, NORMAL, RAY, CONE, KEPT = range(6)
"""The kinds of sets."""


@njit(cache=True, **NO_REFCOUNT)
def classify(start, joints, limits, mu, compliance, is_convex, reactions, velocities, rest, kinds, direction):
    """The set of each block, and the unit vector along the ray of those that slide."""
    for k in range(len(kinds)):
        i = start[k]
        is_soft = False
        for a in range(i, start[k + 1]):
            is_soft = is_soft or (len(compliance) > 0 and compliance[a] > 0.0)
        if is_soft:
            kinds[k] = KEPT
        elif k < joints:
            kinds[k] = FREE
        elif k < joints + limits:
            kinds[k] = ZERO if velocities[i] > rest[k] else NORMAL
        else:
            friction = mu[k - joints - limits]
            v1, v2 = velocities[i + 1], velocities[i + 2]
            slip = math.sqrt(v1 * v1 + v2 * v2)
            gap = velocities[i] - (friction * slip if is_convex else 0.0)
            if gap > rest[k]:
                kinds[k] = ZERO
            elif friction == 0.0:
                kinds[k] = NORMAL
            elif slip > rest[k]:
                # along its own reaction, which is as exact as the solution; unloaded ones along their slip
                r0, r1, r2 = reactions[i], reactions[i + 1], reactions[i + 2]
                length = math.sqrt(r0 * r0 + r1 * r1 + r2 * r2)
                if not r0 > 0.0:
                    r0, r1, r2 = 1.0, -friction * v1 / slip, -friction * v2 / slip
                    length = math.sqrt(1.0 + friction * friction)
                kinds[k] = RAY
                direction[k, 0], direction[k, 1], direction[k, 2] = r0 / length, r1 / length, r2 / length
            else:
                kinds[k] = CONE


@njit(cache=True, **NO_REFCOUNT)
def keep_unique(bodies, kinds, blocks_of):
    """Mark blocks on which a body hangs alone as KEPT, then those of which that is true without them, and so on until
    only cycles of blocks are left; how many blocks those have.  blocks_of: (bodies,), scratch."""
    left = 0
    for b in range(len(blocks_of)):
        blocks_of[b] = 0
    for k in range(len(kinds)):
        if kinds[k] not in (ZERO, KEPT):
            left += 1
            for side in range(2):
                if bodies[k, side] >= 0:
                    blocks_of[bodies[k, side]] += 1
    changed = True
    while changed and left:
        changed = False
        for k in range(len(kinds)):
            a, b = bodies[k, 0], bodies[k, 1]
            if kinds[k] in (ZERO, KEPT) or not ((a >= 0 and blocks_of[a] == 1) or (b >= 0 and blocks_of[b] == 1)):
                continue
            kinds[k] = KEPT
            left -= 1
            changed = True
            for side in range(2):
                if bodies[k, side] >= 0:
                    blocks_of[bodies[k, side]] -= 1
    return left


@njit(cache=True, **NO_REFCOUNT)
def renumber(bodies, kinds, number, out):
    """out: (blocks, 2), bodies numbered over those on cycles of blocks, and their number: the others need no unknowns.
    The last one first: the trunk of a tree, from which all branches start, is to be eliminated after them.  number:
    (bodies,), scratch."""
    found = 0
    for b in range(len(number)):
        number[b] = -1
    for k in range(len(kinds)):
        out[k, 0] = out[k, 1] = -1
    for k in range(len(kinds)):
        for side in range(2):
            body = bodies[k, side]
            if body >= 0 and kinds[k] not in (ZERO, KEPT):
                if number[body] < 0:
                    number[body] = found
                    found += 1
                out[k, side] = number[body]
    for k in range(len(kinds)):
        for side in range(2):
            if out[k, side] >= 0:
                out[k, side] = found - 1 - out[k, side]
    return found


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def project(start, mu, kinds, direction, z, kept, x, P, at_apex):
    """x = P_X(z) and rows of its derivative by blocks, (m, 3), for contacts; joints and limits use the first column.
    at_apex: 1.0 for the derivative as if every set were the space it spans, else 0.0 (a float, since constants of other
    types are compiled apart)."""
    for k in range(len(kinds)):
        i, kind = start[k], kinds[k]
        for a in range(i, start[k + 1]):
            x[a] = kept[a] if kind == KEPT else 0.0
            P[a, 0] = P[a, 1] = P[a, 2] = 0.0
        if kind == FREE:
            for a in range(i, start[k + 1]):
                x[a], P[a, 0] = z[a], 1.0
        elif kind == NORMAL:
            x[i] = max(z[i], 0.0)
            P[i, 0] = 1.0 if z[i] > 0.0 or at_apex > 0.0 else 0.0
        elif kind == RAY:
            g0, g1, g2 = direction[k, 0], direction[k, 1], direction[k, 2]
            along = g0 * z[i] + g1 * z[i + 1] + g2 * z[i + 2]
            if along > 0.0 or at_apex > 0.0:
                along = max(along, 0.0)
                x[i], x[i + 1], x[i + 2] = along * g0, along * g1, along * g2
                P[i, 0], P[i, 1], P[i, 2] = g0 * g0, g0 * g1, g0 * g2
                P[i + 1, 0], P[i + 1, 1], P[i + 1, 2] = g0 * g1, g1 * g1, g1 * g2
                P[i + 2, 0], P[i + 2, 1], P[i + 2, 2] = g0 * g2, g1 * g2, g2 * g2
        elif kind == CONE:
            _project_cone(mu[k - (len(kinds) - len(mu))], i, z, x, P, at_apex)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _project_cone(mu, i, z, x, P, at_apex):
    """One sticking contact."""
    n, t1, t2 = z[i], z[i + 1], z[i + 2]
    x[i], x[i + 1], x[i + 2] = project_coulomb(n, t1, t2, mu)
    t = math.sqrt(t1 * t1 + t2 * t2)
    if t <= mu * n or at_apex > 0.0:
        P[i, 0] = P[i + 1, 1] = P[i + 2, 2] = 1.0
    elif mu * t > -n:
        c, e1, e2 = 1.0 / (1.0 + mu * mu), t1 / t, t2 / t
        turn = mu * x[i] / t
        P[i, 0], P[i, 1], P[i, 2] = c, c * mu * e1, c * mu * e2
        P[i + 1, 0], P[i + 2, 0] = c * mu * e1, c * mu * e2
        P[i + 1, 1] = c * mu * mu * e1 * e1 + turn * e2 * e2
        P[i + 2, 2] = c * mu * mu * e2 * e2 + turn * e1 * e1
        P[i + 1, 2] = P[i + 2, 1] = (c * mu * mu - turn) * e1 * e2
