"""One contact exactly, as the root of a quartic in the slip rate (Bonnefon and Daviet's form).

With S, b and the slip rate s as in `slip`, r_t = −(adj(S) b + s b) / det(S + s I), and ‖r_t‖² = μ² r_n² times
det² is a polynomial of degree four in s. Its positive roots with r_n > 0 are the sliding solutions.
"""

import math

from delassus.kernel import njit
from delassus.solvers.parts.one_contact.polynomial import positive_roots
from delassus.solvers.parts.one_contact.slip import eliminate_normal, solve_slip


@njit(cache=True, error_model="numpy")
def solve_quartic(D, o, q0, q1, q2, mu, work):
    """(r_n, r_t1, r_t2) of exact Coulomb friction.  Arguments as `solve_slip`; work: (7, 10) scratch."""
    dnn = D[o]
    if q0 >= 0.0 or dnn <= 0.0:
        return 0.0, 0.0, 0.0
    own = eliminate_normal(D, o)
    inverse, d1, d2 = own.inverse, own.d1, own.d2
    if mu == 0.0:
        return -q0 * inverse, 0.0, 0.0
    unit = D[o + 4] + D[o + 8] + dnn  # s is counted in this unit, so that the roots lie around one
    s11, s12, s21, s22 = own.s11 / unit, own.s12 / unit, own.s21 / unit, own.s22 / unit
    b1, b2 = (q1 - own.c1 * q0) / unit, (q2 - own.c2 * q0) / unit
    trace, det = s11 + s22, s11 * s22 - s12 * s21
    a1, a2 = s22 * b1 - s12 * b2, s11 * b2 - s21 * b1  # adj(S) b

    if det > 0.0:
        r1, r2 = -a1 / det, -a2 / det
        rn = -(q0 + d1 * r1 + d2 * r2) * inverse
        if math.sqrt(r1 * r1 + r2 * r2) <= mu * rn:
            return rn, r1, r2

    # ‖a + s b‖² − μ² (k0 + k1 s + k2 s²)² = 0, where k/det is −r_n
    k0 = (q0 * det - d1 * a1 - d2 * a2) * inverse
    k1 = (q0 * trace - d1 * b1 - d2 * b2) * inverse
    k2 = q0 * inverse
    c, roots = work[5], work[6]
    m = mu * mu
    c[0] = a1 * a1 + a2 * a2 - m * k0 * k0
    c[1] = 2.0 * (a1 * b1 + a2 * b2) - 2.0 * m * k0 * k1
    c[2] = b1 * b1 + b2 * b2 - m * (2.0 * k0 * k2 + k1 * k1)
    c[3] = -2.0 * m * k1 * k2
    c[4] = -m * k2 * k2
    count = positive_roots(c, 4, work[:5], roots)
    for i in range(count):
        s = roots[i]
        full = det + s * (trace + s)
        if full <= 0.0:
            continue
        rn = -(k0 + s * (k1 + s * k2)) / full
        if rn > 0.0:
            r1, r2 = -(a1 + s * b1) / full, -(a2 + s * b2) / full
            norm = math.sqrt(r1 * r1 + r2 * r2)
            f = mu * rn / norm if norm > 0.0 else 0.0
            if abs(f - 1.0) < 1e-3:  # a root of the squared equation that really is on the cone
                return rn, f * r1, f * r2
    # Rounding can lose a double root of the quartic; the scalar form cannot.
    rn, r1, r2, _ = solve_slip(D, o, q0, q1, q2, mu, 0.0)
    return rn, r1, r2
