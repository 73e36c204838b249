"""One contact exactly, in one unknown: the slip rate.

Sliding Coulomb friction with exact complementarity is v_n = 0, ‖r_t‖ = μ r_n and v_t = −s r_t with a slip rate s ≥ 0
[1/kg], that is (D + s diag(0, 1, 1)) r = −q on the contact's own 3×3 block. Eliminating r_n leaves (S + s I) r_t = −b
with the 2×2 Schur complement S = D_tt − D_tn D_nt / D_nn and b = q_t − D_tn q_n / D_nn. The ratio
g(s) = μ r_n / ‖r_t‖ is below one at s = 0 exactly when sticking violates the cone, and grows without bound; for an
uncoupled isotropic block it is linear in s, so Newton's method on g(s) = 1 needs two or three steps, and a bracket
keeps it safe. Non-symmetric blocks need no special care.

With x(s) = adj(S) b + s b, r_t = −x / det(S + s I) and r_n = N / det(S + s I), N = r_n⁰ det(S + s I) + e · x, where
r_n⁰ = −q_n / D_nn and e = D_nt / D_nn. So g = μ N / ‖x‖, and a step of Newton's takes one root and one division, which
wait for each other and are what a step costs.

What depends on the block alone is computed once (`slip_constants`) and used in every sweep (`slip_at`).
"""

import math
from typing import NamedTuple

from delassus.kernel import njit

SLIP_CONSTANTS = 12
"""Numbers of a block that `slip_at` reads."""


class SlipConstants(NamedTuple):
    """What the slip rate depends on of a block, before velocities are known."""

    inverse: float
    """1 / D_nn; 0 where D_nn is."""
    e1: float
    """D_nt1 / D_nn."""
    e2: float
    """D_nt2 / D_nn."""
    c1: float
    """D_t1n / D_nn."""
    c2: float
    """D_t2n / D_nn."""
    s11: float
    s12: float
    s21: float
    s22: float
    """S, row by row."""
    least: float
    """The least s: positive where sticking reactions are not unique, or S is zero, to pick the smallest of them."""
    det_least: float
    """1 / det(S + s I) for that s; 0 where even that is singular."""
    coupling: float
    """‖D_nt‖ / D_nn."""


class Eliminated(NamedTuple):
    """A contact's own block without the normal reaction."""

    inverse: float
    """1 / D_nn."""
    d1: float
    """D_nt1."""
    d2: float
    """D_nt2."""
    c1: float
    """D_t1n / D_nn."""
    c2: float
    """D_t2n / D_nn."""
    s11: float
    s12: float
    s21: float
    s22: float
    """S = D_tt − D_tn D_nt / D_nn, row by row."""


_STEPS = 100  # Newton needs a handful; bisection alone needs 60 to exhaust the digits
_CLOSE = 1e-12  # |g − 1| below which Newton stops; the point is put on the cone exactly afterwards
LAST = 1e-7
"""Of s: a shorter step of Newton's, which squares errors, leaves about the above, and is the last."""
_SINGULAR = 1e-14  # determinant of S relative to its diagonal below which sticking is not unique


@njit(cache=True, error_model="numpy")
def solve_slip(D, o, q0, q1, q2, mu, slip):
    """(r_n, r_t1, r_t2, s) of exact Coulomb friction: v = D r + q.  D[o:o+9]: the 3×3 block, q: velocity without this
    contact [m/s], slip: start for s (0 if unknown)."""
    if q0 >= 0.0 or D[o] <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    return slip_at(slip_constants(D, o), (q0, q1, q2), mu, slip, LAST)


@njit(cache=True, error_model="numpy")
def slip_constants(D, o):
    """`SlipConstants` of a block, D[o:o+9]."""
    if not D[o] > 0.0:
        return SlipConstants(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    block = eliminate_normal(D, o)
    inverse, c1, c2 = block.inverse, block.c1, block.c2
    s11, s12, s21, s22 = block.s11, block.s12, block.s21, block.s22
    trace, least = s11 + s22, 0.0
    det = s11 * s22 - s12 * s21
    if det <= _SINGULAR * trace * trace:
        # rounding may leave an eigenvalue of S below zero
        low = 0.5 * (trace - math.sqrt(max((s11 - s22) ** 2 + 4.0 * s12 * s21, 0.0)))
        least = max(_SINGULAR * trace, 1e-14 * (D[o + 4] + D[o + 8] + D[o])) + 2.0 * max(0.0, -low)
        det = (s11 + least) * (s22 + least) - s12 * s21
    det = 1.0 / det if det > 0.0 else 0.0
    e1, e2 = block.d1 * inverse, block.d2 * inverse
    return SlipConstants(inverse, e1, e2, c1, c2, s11, s12, s21, s22, least, det, math.sqrt(e1 * e1 + e2 * e2))


@njit(cache=True, error_model="numpy", forceinline=True)
def constants_in(row):
    """`SlipConstants` that were written into an array, (SLIP_CONSTANTS,)."""
    return SlipConstants(
        row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8], row[9], row[10], row[11]
    )


@njit(cache=True, error_model="numpy", fastmath={"contract"}, forceinline=True)
def slip_at(block, q, mu, slip, last):
    """What `solve_slip` gives.  block: `SlipConstants`; q: velocity without this contact, three numbers; last: a step
    of Newton's shorter than this part of s is the last; the point is on the cone, and without normal velocity, after
    any. A contact that slid before is tried sliding first: it seldom sticks, and only where the search for s ends at
    the least one is sticking tested."""
    q0, q1, q2 = q
    inverse, least, det_least = block.inverse, block.least, block.det_least
    e1, e2, c1, c2 = block.e1, block.e2, block.c1, block.c2
    s11, s12, s21, s22 = block.s11, block.s12, block.s21, block.s22
    if q0 >= 0.0 or inverse <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    r0 = -q0 * inverse
    if mu == 0.0 or det_least == 0.0:
        return r0, 0.0, 0.0, 0.0
    b1, b2 = q1 - c1 * q0, q2 - c2 * q0
    r1 = r2 = rn = 0.0
    has_tried = not slip > least
    if has_tried:
        r1 = -((s22 + least) * b1 - s12 * b2) * det_least
        r2 = -((s11 + least) * b2 - s21 * b1) * det_least
        rn = r0 - e1 * r1 - e2 * r2
        if rn >= 0.0 and r1 * r1 + r2 * r2 <= mu * mu * rn * rn:
            return rn, r1, r2, 0.0
    s, low, high = max(slip, least), least, math.inf
    a1, a2 = s22 * b1 - s12 * b2, s11 * b2 - s21 * b1
    trace, coupled = s11 + s22, e1 * b1 + e2 * b2
    x1 = x2 = norm = det = normal = 0.0
    for _ in range(_STEPS):
        x1, x2 = a1 + s * b1, a2 + s * b2
        det = (s11 + s) * (s22 + s) - s12 * s21
        normal = r0 * det + (e1 * x1 + e2 * x2)
        square = x1 * x1 + x2 * x2
        norm = math.sqrt(square)
        over = mu * normal - norm  # (g − 1) ‖x‖
        if abs(over) <= _CLOSE * norm:
            break
        if over < 0.0:
            low = s
        else:
            high = s
        slope = mu * ((r0 * (trace + 2.0 * s) + coupled) * square - normal * (x1 * b1 + x2 * b2))  # g' ‖x‖³
        step = s - over * square / slope if slope > 0.0 else low
        if not low < step < high:
            if not has_tried and step <= low:
                has_tried = True
                r1 = -((s22 + least) * b1 - s12 * b2) * det_least
                r2 = -((s11 + least) * b2 - s21 * b1) * det_least
                rn = r0 - e1 * r1 - e2 * r2
                if rn >= 0.0 and r1 * r1 + r2 * r2 <= mu * mu * rn * rn:
                    return rn, r1, r2, 0.0
            if high == math.inf:
                # ‖r_t‖ ≤ ‖b‖ / s and r_n ≥ −(q_n + ‖D_nt‖ ‖r_t‖) / D_nn put the root below this bound
                high = math.sqrt(b1 * b1 + b2 * b2) * (1.0 + mu * block.coupling) / (mu * r0)
            step = 0.5 * (low + high)
        elif abs(step - s) <= last * s:
            s = step
            x1, x2 = a1 + s * b1, a2 + s * b2
            det = (s11 + s) * (s22 + s) - s12 * s21
            normal, norm = r0 * det + (e1 * x1 + e2 * x2), math.sqrt(x1 * x1 + x2 * x2)
            break
        if step == s:
            break
        s = step
    rn = normal / det
    if not 0.0 < rn < math.inf:  # also when an overflow above left a NaN
        return 0.0, 0.0, 0.0, 0.0
    f = -mu * rn / norm  # on the cone to the last digit
    return rn, f * x1, f * x2, s


@njit(cache=True, error_model="numpy")
def eliminate_normal(D, o):
    """A contact's own block with the normal reaction eliminated, what the exact one-contact solvers start from:
    `Eliminated`.

    D[o:o+9]: the block, row by row [1/kg], with D_nn > 0; it need not be symmetric. With v_n = 0 the normal reaction is
    r_n = −(q_n + D_nt r_t) / D_nn, and the tangent sees S r_t + q_t − D_tn q_n / D_nn.
    """
    inverse = 1.0 / D[o]
    d1, d2 = D[o + 1], D[o + 2]
    c1, c2 = D[o + 3] * inverse, D[o + 6] * inverse
    s11, s12 = D[o + 4] - c1 * d1, D[o + 5] - c1 * d2
    s21, s22 = D[o + 7] - c2 * d1, D[o + 8] - c2 * d2
    return Eliminated(inverse, d1, d2, c1, c2, s11, s12, s21, s22)
