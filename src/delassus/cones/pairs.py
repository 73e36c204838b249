"""Coulomb's cone and the gap of its natural map for reactions and velocities of two doubles each (`linalg.pairs`)."""

from delassus.cones.coulomb import MOST_DE_SAXCE, project_disk
from delassus.kernel import njit
from delassus.linalg.pairs import add, div, get, mul, root, sub, times

OPEN, INSIDE, EDGE = 0, 1, 2
"""Where a projection lands: at the apex, nowhere else than it was, on the boundary."""


@njit(cache=True, error_model="numpy")
def project_pair(an, a1, a2, mu):
    """(where, P_K(a)) of one triple, as `coulomb.project_coulomb`."""
    zero = (0.0, 0.0)
    length = root(add(mul(a1, a1), mul(a2, a2)))
    if add(times(length, mu), an)[0] <= 0.0:
        return OPEN, zero, zero, zero
    if sub(length, times(an, mu))[0] <= 0.0:
        return INSIDE, an, a1, a2
    s = div(add(an, times(length, mu)), add(times((mu, 0.0), mu), (1.0, 0.0)))
    f = div(times(s, mu), length)
    return EDGE, s, mul(f, a1), mul(f, a2)


@njit(cache=True, error_model="numpy")
def _contact_gap(x, v, i, mu, gamma, step):
    """‖λ_k − P(λ_k − ρ w_k)‖² of the contact whose rows start at i; Alart and Curnier's as in `residuals`."""
    if gamma and mu > MOST_DE_SAXCE:
        return _rough_gap(x, v, i, mu, step)
    wn, w1, w2 = get(v, i), get(v, i + 1), get(v, i + 2)
    if gamma:
        wn = add(wn, times(root(add(mul(w1, w1), mul(w2, w2))), mu))
    xn, x1, x2 = get(x, i), get(x, i + 1), get(x, i + 2)
    where, pn, p1, p2 = project_pair(sub(xn, times(wn, step)), sub(x1, times(w1, step)), sub(x2, times(w2, step)), mu)
    if where == INSIDE:  # ρ w, without subtracting it from reactions that may be 1e32 times larger
        return step * step * (wn[0] * wn[0] + w1[0] * w1[0] + w2[0] * w2[0])
    dn, d1, d2 = sub(xn, pn)[0], sub(x1, p1)[0], sub(x2, p2)[0]
    return dn * dn + d1 * d1 + d2 * d2


@njit(cache=True, error_model="numpy")
def _rough_gap(x, v, i, mu, step):
    """`residuals._rough_gap` of reactions and velocities of two doubles."""
    xn, x1, x2 = get(x, i), get(x, i + 1), get(x, i + 2)
    w1, w2 = times(get(v, i + 1), step), times(get(v, i + 2), step)
    normal = min(xn[0], step * v[i, 0])
    a1, a2, radius = sub(x1, w1), sub(x2, w2), mu * max(xn[0], 0.0)
    p1, p2 = project_disk(a1[0], a2[0], radius)
    if p1 == a1[0] and p2 == a2[0]:  # ρ v, without subtracting it from reactions
        return normal * normal + w1[0] * w1[0] + w2[0] * w2[0]
    d1, d2 = sub(x1, (p1, 0.0))[0], sub(x2, (p2, 0.0))[0]
    return normal * normal + d1 * d1 + d2 * d2


@njit(cache=True, error_model="numpy")
def fill_gaps(x, v, first, mu, gamma, step, own, out):
    """out: (n_c, 2) squared gaps ‖λ_k − P(λ_k − ρ w_k)‖² of contacts from row `first` on, with ρ = step and with
    ρ_k = own.  x, v: (m, 2) reactions and velocities; gamma: is De Saxcé's term in w? own: (n_c,) [kg]."""
    for k in range(len(mu)):
        i = first + 3 * k
        out[k, 0] = _contact_gap(x, v, i, mu[k], gamma, step)
        out[k, 1] = _contact_gap(x, v, i, mu[k], gamma, own[k])
