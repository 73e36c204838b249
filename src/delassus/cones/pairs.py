"""Coulomb's cone and the natural map for reactions and velocities of two doubles each (`linalg.pairs`)."""

import math

from numba import njit

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
    """‖λ_k − P(λ_k − ρ w_k)‖² of the contact whose rows start at i."""
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
def natural_map_pairs(x, v, mu, block_start, joints, limits, diagonal_blocks, scale, gamma, step):
    """(‖λ − P_K(λ − ρ w)‖₂², worst velocity, worst over the scale of its block, ‖λ‖₂²), as `residuals` defines them for
    doubles.  x, v: (m, 2); scale: (block_count,) [m/s]."""
    square, worst, relative, length, offset = 0.0, 0.0, 0.0, 0.0, 0
    for i in range(len(x)):
        length += x[i, 0] * x[i, 0]
    for k in range(len(block_start) - 1):
        i, size = block_start[k], block_start[k + 1] - block_start[k]
        trace = 0.0
        for a in range(size):
            trace += diagonal_blocks[offset + a * (size + 1)]
        offset += size * size
        own = size / trace if trace > 0.0 else step
        if k < joints:
            part = 0.0
            for a in range(size):
                part += v[i + a, 0] * v[i + a, 0]
            square += step * step * part
            error = math.sqrt(part)
        elif k < joints + limits:
            gap = min(x[i, 0], step * v[i, 0])
            square += gap * gap
            error = abs(min(x[i, 0], own * v[i, 0])) / own
        else:
            friction = mu[k - joints - limits]
            square += _contact_gap(x, v, i, friction, gamma, step)
            error = math.sqrt(_contact_gap(x, v, i, friction, gamma, own)) / own
        worst = max(worst, error)
        if error > 0.0:
            relative = max(relative, error / scale[k] if scale[k] > 0.0 else math.inf)
    return square, worst, relative, length
