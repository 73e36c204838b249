"""The algebra of cones in pairs, as `parts.jordan` has it in doubles.

kind: (m,) of each row: JOINT, ORTHANT, CONE for the first row of a cone of three, NONE for its others and for rows
without a reaction. x, y, …: (m, 2).
"""

import math

from delassus.kernel import njit
from delassus.linalg.pairs import add, div, get, mul, put, root, sub, times

JOINT, NONE, ORTHANT, CONE = -1, 0, 1, 3


@njit(cache=True, error_model="numpy")
def _determinant(a, b, c):
    return sub(mul(a, a), add(mul(b, b), mul(c, c)))


@njit(cache=True, error_model="numpy")
def _dot3(a0, a1, a2, b0, b1, b2):
    return add(mul(a0, b0), add(mul(a1, b1), mul(a2, b2)))


@njit(cache=True, error_model="numpy")
def form_scaling(kind, x, y, eta, w):
    """Nesterov and Todd's point: W x = W⁻¹ y with W = η (2 w wᵀ − J) on cones, η on orthant rows."""
    one = (1.0, 0.0)
    for i in range(len(kind)):
        if kind[i] == ORTHANT:
            put(eta, i, root(div(get(y, i), get(x, i))))
        elif kind[i] == CONE:
            x0, x1, x2, y0, y1, y2 = get(x, i), get(x, i + 1), get(x, i + 2), get(y, i), get(y, i + 1), get(y, i + 2)
            of_x, of_y = root(_determinant(x0, x1, x2)), root(_determinant(y0, y1, y2))
            x0, x1, x2 = div(x0, of_x), div(x1, of_x), div(x2, of_x)
            y0, y1, y2 = div(y0, of_y), div(y1, of_y), div(y2, of_y)
            twice = times(root(times(add(_dot3(x0, x1, x2, y0, y1, y2), one), 0.5)), 2.0)
            w0, w1, w2 = div(add(y0, x0), twice), div(sub(y1, x1), twice), div(sub(y2, x2), twice)
            length = root(times(add(w0, one), 2.0))  # the square root of the point, normalised
            put(w, i, div(add(w0, one), length))
            put(w, i + 1, div(w1, length))
            put(w, i + 2, div(w2, length))
            put(eta, i, root(div(of_y, of_x)))


@njit(cache=True, error_model="numpy")
def scale_by(kind, eta, w, a, inverse, out):
    """out = W a, or W⁻¹ a."""
    sign = -1.0 if inverse else 1.0
    for i in range(len(kind)):
        if kind[i] == ORTHANT:
            put(out, i, div(get(a, i), get(eta, i)) if inverse else mul(get(a, i), get(eta, i)))
        elif kind[i] == CONE:
            w0, w1, w2 = get(w, i), times(get(w, i + 1), sign), times(get(w, i + 2), sign)
            a0, a1, a2 = get(a, i), get(a, i + 1), get(a, i + 2)
            twice = times(_dot3(w0, w1, w2, a0, a1, a2), 2.0)
            factor = div((1.0, 0.0), get(eta, i)) if inverse else get(eta, i)
            put(out, i, mul(factor, sub(mul(twice, w0), a0)))
            put(out, i + 1, mul(factor, add(mul(twice, w1), a1)))
            put(out, i + 2, mul(factor, add(mul(twice, w2), a2)))


@njit(cache=True, error_model="numpy")
def form_weights(kind, eta, w, up, soft, S):
    """S: (m, 3, 2) = (T⁻¹ W² T⁻¹ + E)⁻¹, T = diag(up) from standard to physical reactions; E on orthant rows alone."""
    one = (1.0, 0.0)
    for i in range(len(kind)):
        if kind[i] == ORTHANT:
            e = get(eta, i)
            put(S[i], 0, div(one, add(mul(e, e), (soft[i], 0.0))))
        elif kind[i] == CONE:
            # W⁻² = η⁻² (2 p pᵀ − J) with p the inverse of the scaling point, from its square root
            w0, w1, w2, e = get(w, i), get(w, i + 1), get(w, i + 2), get(eta, i)
            p = (sub(times(mul(w0, w0), 2.0), one), times(mul(w0, w1), -2.0), times(mul(w0, w2), -2.0))
            factor = div(one, mul(e, e))
            for a in range(3):
                for b in range(3):
                    value = times(mul(p[a], p[b]), 2.0)
                    if a == b:
                        value = add(value, (-1.0 if a == 0 else 1.0, 0.0))
                    put(S[i + a], b, mul(mul(mul(value, factor), get(up, i + a)), get(up, i + b)))


@njit(cache=True, error_model="numpy")
def apply_weights(kind, S, a, out):
    """out = S a: three by three on cones, one weight per row elsewhere."""
    for i in range(len(kind)):
        if kind[i] == CONE:
            for b in range(3):
                put(
                    out,
                    i + b,
                    _dot3(
                        get(S[i + b], 0), get(S[i + b], 1), get(S[i + b], 2), get(a, i), get(a, i + 1), get(a, i + 2)
                    ),
                )
        elif kind[i] != NONE:
            put(out, i, mul(get(S[i], 0), get(a, i)))


@njit(cache=True, error_model="numpy")
def longest_step(kind, x, d):
    """Largest step along d that stays inside."""
    best = math.inf
    for i in range(len(kind)):
        if kind[i] == ORTHANT and d[i, 0] < 0.0:
            best = min(best, -x[i, 0] / d[i, 0])
        elif kind[i] == CONE:
            x0, x1, x2, d0, d1, d2 = get(x, i), get(x, i + 1), get(x, i + 2), get(d, i), get(d, i + 1), get(d, i + 2)
            a, c = _determinant(d0, d1, d2), _determinant(x0, x1, x2)
            b = sub(mul(x0, d0), add(mul(x1, d1), mul(x2, d2)))
            under = sub(mul(b, b), mul(a, c))
            if d0[0] < 0.0:
                best = min(best, -x0[0] / d0[0])
            if a[0] < 0.0 or (b[0] < 0.0 and under[0] >= 0.0):
                below = sub(root(under), b)
                if below[0] > 0.0:
                    best = min(best, div(c, below)[0])
    return best


@njit(cache=True, error_model="numpy")
def correct(kind, z, a, b, target, out):
    """out = z \\ (target e − a∘b) − z: what a predictor's second-order term asks for."""
    for i in range(len(kind)):
        if kind[i] == ORTHANT:
            put(out, i, sub(div(sub((target, 0.0), mul(get(a, i), get(b, i))), get(z, i)), get(z, i)))
        elif kind[i] == CONE:
            z0, z1, z2, a0, a1, a2 = get(z, i), get(z, i + 1), get(z, i + 2), get(a, i), get(a, i + 1), get(a, i + 2)
            b0, b1, b2 = get(b, i), get(b, i + 1), get(b, i + 2)
            r0 = sub((target, 0.0), _dot3(a0, a1, a2, b0, b1, b2))
            r1 = times(add(mul(a0, b1), mul(b0, a1)), -1.0)
            r2 = times(add(mul(a0, b2), mul(b0, a2)), -1.0)
            s0 = div(sub(mul(z0, r0), add(mul(z1, r1), mul(z2, r2))), _determinant(z0, z1, z2))
            put(out, i, sub(s0, z0))
            put(out, i + 1, sub(div(sub(r1, mul(z1, s0)), z0), z1))
            put(out, i + 2, sub(div(sub(r2, mul(z2, s0)), z0), z2))
