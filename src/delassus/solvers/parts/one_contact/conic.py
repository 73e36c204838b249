"""The one-contact program of Tsounis et al. 2025, eq. 152 (Preclik): least energy over the cone where the
normal velocity is zero.

    minimise  ½ rᵀ D r + rᵀ (q + σ n)   over   ‖r_t‖ ≤ μ r_n,  n·(D r + q) = 0

On the plane r_n = −(q_n + D_nt r_t) / D_nn, and the program becomes ½ r_tᵀ S r_t + b'ᵀ r_t over a conic section: an
ellipse, parabola or hyperbola branch as μ‖D_nt‖ / D_nn is below, at or above one. It is convex, so its solution is
unique, but without the De Saxcé term σ = μ‖v_t‖ it is *not* Coulomb's law when the block couples normal and tangential
directions: this is the defect that their §VI-C reports, and why `raisim` may stall where `raisim-ds` goes on.

Two ways to its boundary solution: the quartic in the multiplier (NBGS of their Alg. 4; appendix equations 222 and 224
are lost, this is our derivation), and RaiSim's bisection over the angle of r_t.
"""

import math

from delassus.kernel import njit
from delassus.solvers.parts.one_contact.polynomial import positive_roots
from delassus.solvers.parts.one_contact.slip import eliminate_normal

_BISECTIONS = 50  # halves an angle of at most 2π to 6e-15


@njit(cache=True, error_model="numpy")
def solve_conic(D, o, q0, q1, q2, mu, sigma, bisect, work):
    """(r_n, r_t1, r_t2) of the program above.  D[o:o+9], q, mu as `solve_slip`; sigma: De Saxcé term [m/s], zero for
    the plain methods; bisect: angle bisection instead of the quartic; work: (7, 10) scratch."""
    dnn = D[o]
    if q0 > 0.0 or dnn <= 0.0:
        return 0.0, 0.0, 0.0
    own = eliminate_normal(D, o)
    inverse, d1, d2 = own.inverse, own.d1, own.d2
    s11, s12, s21, s22 = own.s11, own.s12, own.s21, own.s22
    if mu == 0.0:
        return -q0 * inverse, 0.0, 0.0
    # the objective's linear term on the plane: ∂r_n/∂r_t = −D_nt / D_nn carries σ
    b1 = q1 - own.c1 * q0 - sigma * d1 * inverse
    b2 = q2 - own.c2 * q0 - sigma * d2 * inverse
    det = s11 * s22 - s12 * s21
    if det <= 1e-14 * (s11 + s22) ** 2:
        det = (s11 + 1e-14 * dnn) * (s22 + 1e-14 * dnn) - s12 * s21
        if det <= 0.0:
            return -q0 * inverse, 0.0, 0.0
    r1 = -(s22 * b1 - s12 * b2) / det
    r2 = -(s11 * b2 - s21 * b1) / det
    rn = -(q0 + d1 * r1 + d2 * r2) * inverse
    if math.sqrt(r1 * r1 + r2 * r2) <= mu * rn:
        return rn, r1, r2
    if q0 == 0.0:
        return _on_wedge(D, o, q1, q2, mu)
    if not bisect:
        rn0, g1, g2 = -q0 * inverse, -d1 * inverse, -d2 * inverse
        is_found, n, t1, t2 = _by_quartic((s11, s12, s21, s22), (b1, b2), (rn0, g1, g2), mu, work)
        if is_found:
            return n, t1, t2
    # rounding can lose a root of the quartic; the angle cannot be lost
    return _by_bisection(D, o, (q0, q1, q2), mu, sigma, (rn, r1, r2))


@njit(cache=True, error_model="numpy")
def _by_bisection(D, o, q, mu, sigma, centre_point):
    """Angle θ of r_t at which the objective is stationary along the conic.

    From the unconstrained minimiser c, only the boundary points on its own side can be nearest, and on that arc the
    derivative changes sign once. Seen along r_t/(μ r_n), the section is the unit disk and the arc ends where the
    tangents from c touch it: at the angle of c_t plus and minus β, cos β = μ c_n / ‖c_t‖. With c_n = 0 this is RaiSim's
    ±90°.
    """
    q0, q1, q2 = q
    cn, c1, c2 = centre_point
    centre = math.atan2(c2, c1)
    ratio = mu * cn / math.sqrt(c1 * c1 + c2 * c2)
    half = math.acos(min(1.0, max(-1.0, ratio)))
    low, high = centre - half, centre + half
    for _ in range(_BISECTIONS):
        angle = 0.5 * (low + high)
        e1, e2 = math.cos(angle), math.sin(angle)
        den = D[o] + mu * (D[o + 1] * e1 + D[o + 2] * e2)
        if den <= 0.0:
            # beyond the asymptote of a hyperbola: the branch lies towards the direction that raises den
            rises = -D[o + 1] * e2 + D[o + 2] * e1
            if rises > 0.0:
                low = angle
            else:
                high = angle
            continue
        rn = -q0 / den
        drn = -rn * mu * (-D[o + 1] * e2 + D[o + 2] * e1) / den
        r1, r2 = mu * rn * e1, mu * rn * e2
        v1 = D[o + 3] * rn + D[o + 4] * r1 + D[o + 5] * r2 + q1
        v2 = D[o + 6] * rn + D[o + 7] * r1 + D[o + 8] * r2 + q2
        slope = v1 * mu * (drn * e1 - rn * e2) + v2 * mu * (drn * e2 + rn * e1) + sigma * drn
        if slope < 0.0:
            low = angle
        else:
            high = angle
    angle = 0.5 * (low + high)
    e1, e2 = math.cos(angle), math.sin(angle)
    den = D[o] + mu * (D[o + 1] * e1 + D[o + 2] * e2)
    rn = -q0 / den if den > 0.0 else 0.0
    return rn, mu * rn * e1, mu * rn * e2


@njit(cache=True, error_model="numpy")
def _by_quartic(S, b, plane, mu, work):
    """(was a root found?, r_n, r_t1, r_t2).  S: 2×2 by rows; plane: (rn0, g1, g2).

    Multiplier ν > 0 of ‖r_t‖² ≤ μ² r_n², r_n = rn0 + g·r_t: (S + ν G) r_t = −b + ν μ² rn0 g, G = I − μ² g gᵀ.
    With N(ν) = adj(S + ν G)(−b + ν μ² rn0 g) and det(ν), both of degree two, ‖N‖² = μ² (rn0 det + g·N)²: a quartic.
    """
    s11, s12, s21, s22 = S
    b1, b2 = b
    rn0, g1, g2 = plane
    m = mu * mu
    G11, G12, G22 = 1.0 - m * g1 * g1, -m * g1 * g2, 1.0 - m * g2 * g2
    unit = s11 + s22
    s11, s12, s21, s22 = s11 / unit, s12 / unit, s21 / unit, s22 / unit
    b1, b2 = b1 / unit, b2 / unit
    f1, f2 = m * rn0 * g1, m * rn0 * g2
    # N = n0 + ν n1 + ν² n2, per component; adj is linear for 2×2 matrices
    x0, y0 = -(s22 * b1 - s12 * b2), -(s11 * b2 - s21 * b1)
    x1 = s22 * f1 - s12 * f2 - (G22 * b1 - G12 * b2)
    y1 = s11 * f2 - s21 * f1 - (G11 * b2 - G12 * b1)
    x2, y2 = G22 * f1 - G12 * f2, G11 * f2 - G12 * f1
    e0 = s11 * s22 - s12 * s21
    e1 = s11 * G22 + s22 * G11 - s12 * G12 - s21 * G12
    e2 = G11 * G22 - G12 * G12
    k0 = rn0 * e0 + g1 * x0 + g2 * y0
    k1 = rn0 * e1 + g1 * x1 + g2 * y1
    k2 = rn0 * e2 + g1 * x2 + g2 * y2
    c, roots = work[5], work[6]
    c[0] = x0 * x0 + y0 * y0 - m * k0 * k0
    c[1] = 2.0 * (x0 * x1 + y0 * y1 - m * k0 * k1)
    c[2] = x1 * x1 + y1 * y1 + 2.0 * (x0 * x2 + y0 * y2) - m * (k1 * k1 + 2.0 * k0 * k2)
    c[3] = 2.0 * (x1 * x2 + y1 * y2 - m * k1 * k2)
    c[4] = x2 * x2 + y2 * y2 - m * k2 * k2
    count = positive_roots(c, 4, work[:5], roots)
    for i in range(count):
        nu = roots[i]
        det = e0 + nu * (e1 + nu * e2)
        if det == 0.0:
            continue
        rn = (k0 + nu * (k1 + nu * k2)) / det
        r1 = (x0 + nu * (x1 + nu * x2)) / det
        r2 = (y0 + nu * (y1 + nu * y2)) / det
        norm = math.sqrt(r1 * r1 + r2 * r2)
        if rn > 0.0 and norm > 0.0 and abs(mu * rn / norm - 1.0) < 1e-3:
            f = mu * rn / norm
            return True, rn, f * r1, f * r2
    return False, 0.0, 0.0, 0.0


@njit(cache=True, error_model="numpy")
def _on_wedge(D, o, q1, q2, mu):
    """q_n = 0: the section is the apex alone (ellipse) or a wedge between two rays (hyperbola); least energy on it."""
    d = math.sqrt(D[o + 1] ** 2 + D[o + 2] ** 2)
    if mu * d < D[o]:
        return 0.0, 0.0, 0.0
    middle = math.atan2(-D[o + 2], -D[o + 1])
    half = math.acos(min(1.0, D[o] / (mu * d)))
    best, bn, b1, b2 = 0.0, 0.0, 0.0, 0.0
    for sign in (-1.0, 1.0):
        e1, e2 = mu * math.cos(middle + sign * half), mu * math.sin(middle + sign * half)
        push = -(q1 * e1 + q2 * e2)
        # the ray (1, e) has no normal velocity, so only the tangential rows of D count
        stiff = e1 * (D[o + 3] + D[o + 4] * e1 + D[o + 5] * e2) + e2 * (D[o + 6] + D[o + 7] * e1 + D[o + 8] * e2)
        if push > 0.0 and stiff > 0.0:
            length = push / stiff
            energy = -0.5 * push * length
            if energy < best:
                best, bn, b1, b2 = energy, length, length * e1, length * e2
    return bn, b1, b2
