"""One contact of the convex law exactly: least ½ rᵀ D r + qᵀ r over the cone ‖r_t‖ ≤ μ r_n.

For a known normal reaction x the tangent is a disc: r_t minimises over ‖r_t‖ ≤ μ x, that is
(D_tt + s I) r_t = −(q_t + D_tn x) with the least slip rate s ≥ 0 [1/kg] that keeps it there. What the normal then
feels,

    h(x) = D_nn x + D_nt r_t + q_n − μ² s x,

is the derivative of a convex function of x: it never falls, so a bracketed Newton finds its root, and h(0) ≥ 0, which
is q in the dual cone, means open. Sliding contacts separate at v_n = μ² s x = μ‖v_t‖: the artefact of the convex law.
"""

import math

from delassus.kernel import njit

_STEPS = 100  # Newton needs a handful; bisection alone needs 60 to exhaust the digits
_CLOSE = 1e-15  # relative change of x below which Newton stops
_TOO_LOW = 1e-6  # start over the usual size below which it is none: over-relaxed contacts come from 1e-179 of it
_SINGULAR = 1e-14  # determinant of D_tt relative to its trace below which the smallest of many r_t is taken


@njit(cache=True, error_model="numpy")
def solve_convex(D, o, q0, q1, q2, mu, start, slip):
    """(r_n, r_t1, r_t2, s).  D[o:o+9]: the 3×3 block, q: velocity without this contact [m/s]; start, slip: where to
    begin for r_n and s (0 if unknown)."""
    dnn = D[o]
    if q0 >= mu * math.sqrt(q1 * q1 + q2 * q2) or dnn <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    if mu == 0.0:
        return -q0 / dnn, 0.0, 0.0, 0.0
    low, high = 0.0, math.inf
    trace = dnn + D[o + 4] + D[o + 8]
    usual = max(-q0, mu * math.sqrt(q1 * q1 + q2 * q2) - q0) / trace
    x = start if start > _TOO_LOW * usual else usual
    s = slip
    for _ in range(_STEPS):
        r1, r2, s, slope1, slope2, change = _on_disc(D, o, q1 + D[o + 3] * x, q2 + D[o + 6] * x, mu, x, s)
        h = dnn * x + D[o + 1] * r1 + D[o + 2] * r2 + q0 - mu * mu * s * x
        rise = dnn + D[o + 1] * slope1 + D[o + 2] * slope2 - mu * mu * (s + change * x)
        if h < 0.0:
            low = x
        else:
            high = x
        step = x - h / rise if rise > 0.0 else math.inf
        if abs(step - x) <= _CLOSE * x:
            break
        if not (low < step < high):
            step = 0.5 * (low + high) if high < math.inf else 10.0 * x
            if abs(step - x) <= _CLOSE * x:
                break
        x = step
    if not x < math.inf:  # a block that gives way without end: no reaction holds this contact
        return 0.0, 0.0, 0.0, 0.0
    if s > 0.0:  # on the cone to the last digit
        f = mu * x / math.sqrt(r1 * r1 + r2 * r2)
        r1, r2 = f * r1, f * r2
    return x, r1, r2, s


@njit(cache=True, error_model="numpy")
def _on_disc(D, o, b1, b2, mu, x, slip):
    """(r_t, s) of (D_tt + s I) r_t = −b on the disc of radius μ x, and the derivatives of both by x."""
    s11, s12, s21, s22 = D[o + 4], D[o + 5], D[o + 7], D[o + 8]
    trace, radius = s11 + s22, mu * x
    low = 0.0
    det = s11 * s22 - s12 * s21
    if det <= _SINGULAR * trace * trace:
        low = max(_SINGULAR * trace, 1e-14 * D[o])
    a11, a22 = s11 + low, s22 + low
    det = a11 * a22 - s12 * s21
    r1, r2 = _refined(a11, s12, s21, a22, det, -b1, -b2)
    norm = math.sqrt(r1 * r1 + r2 * r2)
    n1, n2 = D[o + 3], D[o + 6]
    if norm <= radius:
        return r1, r2, 0.0, -(a22 * n1 - s12 * n2) / det, -(a11 * n2 - s21 * n1) / det, 0.0
    high = math.sqrt(b1 * b1 + b2 * b2) / radius
    s = slip if low < slip < high else low
    t1 = t2 = 0.0
    for _ in range(_STEPS):
        a11, a22 = s11 + s, s22 + s
        det = a11 * a22 - s12 * s21
        r1, r2 = -(a22 * b1 - s12 * b2) / det, -(a11 * b2 - s21 * b1) / det
        norm = math.sqrt(r1 * r1 + r2 * r2)
        t1, t2 = (a22 * r1 - s12 * r2) / det, (a11 * r2 - s21 * r1) / det  # −∂r_t/∂s
        if norm > radius:
            low = s
        else:
            high = s
        # Newton on 1/‖r_t‖, which is nearly linear in s
        step = s + (norm / radius - 1.0) * norm * norm / (r1 * t1 + r2 * t2)
        if abs(step - s) <= _CLOSE * s:
            break
        if not (low < step < high):
            step = 0.5 * (low + high)
            if step in (low, high):
                break
        s = step
    m1, m2 = (a22 * n1 - s12 * n2) / det, (a11 * n2 - s21 * n1) / det
    change = -(mu * radius + r1 * m1 + r2 * m2) / (r1 * t1 + r2 * t2)
    return r1, r2, s, -m1 - change * t1, -m2 - change * t2, change


@njit(cache=True, error_model="numpy")
def _refined(a11, a12, a21, a22, det, b1, b2):
    """A⁻¹ b of a 2×2 system, refined once: the determinant loses as many digits as A is conditioned."""
    x1, x2 = (a22 * b1 - a12 * b2) / det, (a11 * b2 - a21 * b1) / det
    e1, e2 = b1 - a11 * x1 - a12 * x2, b2 - a21 * x1 - a22 * x2
    return x1 + (a22 * e1 - a12 * e2) / det, x2 + (a11 * e2 - a21 * e1) / det
