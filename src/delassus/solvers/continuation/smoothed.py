"""Coulomb's law as one smooth equation a contact: F(x) = x − P_ε(x − y), which tends to the natural map as ε falls.

x = (μ λ_n, λ_t) and y = (w_n / μ, w_t) lie in the same cone, Lorentz's, which is its own dual. In its Jordan algebra
P_ε(z) = (z + √(z² + 4 ε² e)) / 2 (Chen, Harker, Kanzow, Smale), where e = (1, 0, 0): the roots of F have x∘y = ε² e and
lie inside of the cone, as on the central path of an interior point. De Saxcé's term ‖v_t‖ is √(‖v_t‖² + δ²) − δ.

Arrays are in triples, (n, t₁, t₂) of each contact, and in the units of `system.py`.
"""

import math

from delassus.kernel import njit


@njit(cache=True, error_model="numpy")
def _half(s, eps):
    """(p, root) of p = (s + root) / 2, root = √(s² + 4 ε²), without cancellation."""
    root = math.sqrt(s * s + 4.0 * eps * eps)
    return (0.5 * (s + root) if s > 0.0 else 2.0 * eps * eps / (root - s)), root


@njit(cache=True, error_model="numpy")
def smoothed_projection(z, eps, out):
    """out = P_ε(z), (3 n,)."""
    for i in range(0, len(z), 3):
        length = math.sqrt(z[i + 1] ** 2 + z[i + 2] ** 2)
        pa, ra = _half(z[i] - length, eps)
        pb, rb = _half(z[i] + length, eps)
        f = (pa + pb) / (ra + rb)
        out[i], out[i + 1], out[i + 2] = 0.5 * (pa + pb), f * z[i + 1], f * z[i + 2]


@njit(cache=True, error_model="numpy")
def slips(v, delta, out):
    """out = √(‖v_t‖² + δ²) − δ, (n,)."""
    for k in range(len(out)):
        square = v[3 * k + 1] ** 2 + v[3 * k + 2] ** 2
        root = math.sqrt(square + delta * delta)
        out[k] = square / (root + delta) if root > 0.0 else 0.0


@njit(cache=True, error_model="numpy")
def evaluate(x, v, eps, delta, gamma, F, by_eps, Q, R):
    """F and its derivatives, with y = v + γ (√(‖v_t‖² + δ²) − δ) on the normal.  x, v: (3 n,); written: F, and ∂F/∂ε at
    fixed v and δ, (3 n,); Q = I − P' and R = P' ∂y/∂v, (n, 3, 3), of which ∂F/∂x = Q + R ∂v/∂x."""
    for k in range(len(x) // 3):
        i = 3 * k
        u1, u2 = v[i + 1], v[i + 2]
        s = math.sqrt(u1 * u1 + u2 * u2 + delta * delta)
        g1, g2 = (gamma * u1 / s, gamma * u2 / s) if s > 0.0 else (0.0, 0.0)
        zn, z1, z2 = x[i] - v[i] - gamma * (s - delta), x[i + 1] - u1, x[i + 2] - u2
        length = math.sqrt(z1 * z1 + z2 * z2)
        e1, e2 = (z1 / length, z2 / length) if length > 0.0 else (0.0, 0.0)
        pa, ra = _half(zn - length, eps)
        pb, rb = _half(zn + length, eps)
        f = (pa + pb) / (ra + rb)  # the difference of p over that of its arguments, also where they are the same
        F[i], F[i + 1], F[i + 2] = x[i] - 0.5 * (pa + pb), x[i + 1] - f * z1, x[i + 2] - f * z2
        da, db = 4.0 * eps / ra, 4.0 * eps / rb  # of the roots by ε
        df = zn / (ra + rb) ** 2 * (da + db)
        by_eps[i], by_eps[i + 1], by_eps[i + 2] = -0.25 * (da + db), df * z1, df * z2
        m, h = 0.5 * (pa / ra + pb / rb), 0.5 * (pb / rb - pa / ra)
        q = m - f
        P = ((m, h * e1, h * e2), (h * e1, f + q * e1 * e1, q * e1 * e2), (h * e2, q * e1 * e2, f + q * e2 * e2))
        for r in range(3):
            for c in range(3):
                Q[k, r, c] = (1.0 if r == c else 0.0) - P[r][c]
            R[k, r, 0], R[k, r, 1], R[k, r, 2] = P[r][0], P[r][1] + P[r][0] * g1, P[r][2] + P[r][0] * g2


@njit(cache=True, error_model="numpy")
def by_velocity(R, change, out):
    """out = R change, (3 n,): how F answers to a change of v."""
    for k in range(len(R)):
        a, b, c = change[3 * k], change[3 * k + 1], change[3 * k + 2]
        for i in range(3):
            out[3 * k + i] = R[k, i, 0] * a + R[k, i, 1] * b + R[k, i, 2] * c


@njit(cache=True, error_model="numpy")
def by_normal(R, change, out):
    """The derivative times a change (n,) of the normal components alone."""
    for k in range(len(R)):
        for i in range(3):
            out[3 * k + i] = R[k, i, 0] * change[k]
