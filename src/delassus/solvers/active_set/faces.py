"""Faces of the sets that reactions are confined to: which directions are free, and how far.

A contact's set is its cone ‖x_t‖ ≤ μ x_n or, under Tresca's law, a half-line times a disc, x_n ≥ 0 and ‖x_t‖ ≤ radius.
Its *face* at x is the part of the boundary that x lies on; free are the directions along it. Limits are half-lines,
rows of joints are always free. All in scaled variables, see `program`.

    SHUT nothing free             SLIDE the cone's surface: its ray and its circumference
    OPEN all three                NORMAL x_n alone (no friction, or a disc of no radius)
    NORMAL_RIM x_n and the disc's circumference     RIM that alone     DISC x_1, x_2 alone (x_n = 0)
"""

import math

from delassus.cones.coulomb import project_coulomb, project_disk
from delassus.kernel import njit

SHUT, SLIDE, OPEN, NORMAL, NORMAL_RIM, RIM, DISC = range(7)
_ON = 1.0 - 1e-13  # a point projected onto a curved boundary lies on it to a few units in the last place


@njit(cache=True, error_model="numpy", inline="always")
def project_contact(tresca, mu, radius, x0, x1, x2):
    """Nearest point of the contact's set."""
    if tresca:
        x1, x2 = project_disk(x1, x2, radius)
        return max(x0, 0.0), x1, x2
    return project_coulomb(x0, x1, x2, mu)


@njit(cache=True, error_model="numpy")
def face_of(tresca, mu, radius, x0, x1, x2):
    """(face, e₁, e₂, ‖x_t‖) at x, a point of the set; e: direction of x_t, zero where no rim is touched."""
    if not tresca or mu == 0.0:
        if x0 <= 0.0:
            return SHUT, 0.0, 0.0, 0.0
        if mu == 0.0:
            return NORMAL, 0.0, 0.0, 0.0
        radius = mu * x0
    length = math.sqrt(x1 * x1 + x2 * x2)
    if radius <= 0.0:
        return (NORMAL if x0 > 0.0 else SHUT), 0.0, 0.0, 0.0
    if length < _ON * radius:
        return (DISC if x0 <= 0.0 else OPEN), 0.0, 0.0, length
    if not tresca:
        return SLIDE, x1 / length, x2 / length, length
    return (NORMAL_RIM if x0 > 0.0 else RIM), x1 / length, x2 / length, length


@njit(cache=True, error_model="numpy")
def curvature(face, mu, e1, e2, length, g0, g1, g2):
    """What the bending of the boundary adds to the second derivative along its circumference, −(g·n) times the
    boundary's curvature, n outward; never negative, and zero where the gradient g points out of the set."""
    if face == SLIDE:
        return max(0.0, (mu * g0 - g1 * e1 - g2 * e2) / (length * (1.0 + mu * mu)))
    if face in (NORMAL_RIM, RIM):
        return max(0.0, -(g1 * e1 + g2 * e2) / length)
    return 0.0


@njit(cache=True, error_model="numpy")
def along_face(face, mu, e1, e2, soft, y0, y1, y2):
    """T y: the part of y along the face, its circumferential part times `soft`. T is symmetric."""
    if face == OPEN:
        return y0, y1, y2
    if face == SHUT:
        return 0.0, 0.0, 0.0
    if face == NORMAL:
        return y0, 0.0, 0.0
    if face == DISC:
        return 0.0, y1, y2
    around = soft * (e1 * y2 - e2 * y1)
    if face == SLIDE:
        ray = (y0 + mu * (e1 * y1 + e2 * y2)) / (1.0 + mu * mu)
        return ray, ray * mu * e1 - around * e2, ray * mu * e2 + around * e1
    return (y0 if face == NORMAL_RIM else 0.0), -around * e2, around * e1


@njit(cache=True, error_model="numpy")
def descent(face, tresca, mu, e1, e2, g0, g1, g2):
    """The projected gradient of Heyn et al. 2013, eq. 14, with its sign turned: −g projected onto the cone of
    directions that stay in the set, and whether the face binds, that is, whether −g leaves the set wherever x is on the
    boundary."""
    if face == OPEN:
        return -g0, -g1, -g2, True
    if not tresca or mu == 0.0:
        if face == NORMAL:
            return -g0, 0.0, 0.0, True
        if face == SHUT:
            d0, d1, d2 = project_coulomb(-g0, -g1, -g2, mu)
            return d0, d1, d2, d0 == 0.0
        out = (mu * g0 - e1 * g1 - e2 * g2) / (1.0 + mu * mu)
        if out < 0.0:
            return -g0, -g1, -g2, False
        return -g0 + mu * out, -g1 - e1 * out, -g2 - e2 * out, True
    binds = True
    d0, d1, d2 = -g0, -g1, -g2
    if face in (SHUT, RIM, DISC):
        d0 = max(d0, 0.0)
        binds = d0 == 0.0
    if face in (SHUT, NORMAL):
        return d0, 0.0, 0.0, binds
    if face == DISC:
        return d0, d1, d2, binds
    out = d1 * e1 + d2 * e2
    if out < 0.0:
        return d0, d1, d2, False
    return d0, d1 - out * e1, d2 - out * e2, binds


@njit(cache=True, error_model="numpy")
def step_inside(tresca, mu, radius, x, p):
    """The largest a with x − a p in the set, for x in its interior (of the disc alone where x₀ and p₀ are zero).
    x, p: three numbers each."""
    x0, x1, x2 = x
    p0, p1, p2 = p
    a = math.inf
    if p0 > 0.0:
        a = x0 / p0
    if not tresca and mu == 0.0:
        return a
    # ‖x_t − a p_t‖² = ρ(a)², ρ = radius, or μ (x₀ − a p₀) for the cone: A a² − 2 B a − C = 0 with C > 0 inside
    rho, slope = (radius, 0.0) if tresca else (mu * x0, mu * p0)
    A = p1 * p1 + p2 * p2 - slope * slope
    B = x1 * p1 + x2 * p2 - rho * slope
    C = max(0.0, rho * rho - x1 * x1 - x2 * x2)
    root = B * B + A * C
    if B < 0.0:  # written so that nothing cancels; a negative root: the two nappes of the cone are never reached
        return min(a, C / (math.sqrt(root) - B)) if root >= 0.0 else a
    return min(a, (B + math.sqrt(root)) / A) if A > 0.0 else a
