"""The function whose root is the law, and its derivative, over triples of rows (`parts/threes`).

Exact friction, by Alart and Curnier:

    F_n = r_n − max(0, r_n − ρ u_n),    F_t = r_t − P_disk(μ max(0, r_n − ρ u_n))(r_t − ρ u_t)

for contacts; limits are contacts without friction. The convex law: F = r − P_K(r − ρ u). Joints: F = ρ u.
"""

import math

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

OPEN = 1e-2  # smoothed derivative below which a limit or contact counts as open


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def law_function(r, u, rho, mu, convex, F):
    """F into `F`, (3 n,); returns its norm.  r, u: (3 n,); mu: (n,); convex: 1.0 for the ccp law, else 0.0."""
    total = 0.0
    for k in range(len(mu)):
        i = 3 * k
        if mu[k] < 0.0:
            F[i], F[i + 1], F[i + 2] = rho * u[i], rho * u[i + 1], rho * u[i + 2]
        else:
            n, t1, t2 = r[i] - rho * u[i], r[i + 1] - rho * u[i + 1], r[i + 2] - rho * u[i + 2]
            length = math.sqrt(t1 * t1 + t2 * t2)
            if convex > 0.0 and length > mu[k] * n:  # onto the cone's surface or its apex
                n = max(0.0, n + mu[k] * length) / (1.0 + mu[k] * mu[k])
            n = max(0.0, n)
            f = 1.0 if length <= mu[k] * n else mu[k] * n / length
            F[i], F[i + 1], F[i + 2] = r[i] - n, r[i + 1] - f * t1, r[i + 2] - f * t2
        total += F[i] * F[i] + F[i + 1] * F[i + 1] + F[i + 2] * F[i + 2]
    return math.sqrt(total)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def projection_derivative(r, u, rho, mu, convex, diagonal, A):
    """Rows of the block-diagonal derivative of the projection, (3 n, 3), columns n, t₁, t₂; a triple that is open has a
    zero first. Empty rows, those without a diagonal in D, are zero."""
    for k in range(len(mu)):
        i = 3 * k
        _clear(A, i)
        if mu[k] < 0.0:
            for a in range(3):
                A[i + a, a] = 1.0 if diagonal[9 * k + 4 * a] > 0.0 else 0.0
            A[i, 0] = 1.0
            continue
        n, t1, t2 = r[i] - rho * u[i], r[i + 1] - rho * u[i + 1], r[i + 2] - rho * u[i + 2]
        length, m = math.sqrt(t1 * t1 + t2 * t2), mu[k]
        if convex > 0.0:
            if m * length <= -n:
                continue
            if length <= m * n:
                A[i, 0] = A[i + 1, 1] = A[i + 2, 2] = 1.0
                continue
            e1, e2, share = t1 / length, t2 / length, 1.0 / (1.0 + m * m)
            f = m * share * (n + m * length) / length
            slope = m * m * share - f
            A[i, 0], A[i, 1], A[i, 2] = share, m * share * e1, m * share * e2
            A[i + 1, 0], A[i + 2, 0] = m * share * e1, m * share * e2
            A[i + 1, 1], A[i + 1, 2] = f + slope * e1 * e1, slope * e1 * e2
            A[i + 2, 1], A[i + 2, 2] = slope * e1 * e2, f + slope * e2 * e2
            continue
        if n <= 0.0:
            continue
        A[i, 0] = 1.0
        if length <= m * n:
            A[i + 1, 1] = A[i + 2, 2] = 1.0
        else:
            e1, e2, f = t1 / length, t2 / length, m * n / length
            A[i + 1, 0], A[i + 2, 0] = m * e1, m * e2
            A[i + 1, 1], A[i + 1, 2] = f * (1.0 - e1 * e1), -f * e1 * e2
            A[i + 2, 1], A[i + 2, 2] = -f * e1 * e2, f * (1.0 - e2 * e2)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def smoothed_derivative(r, u, rho, mu, width, diagonal, A):
    """What `projection_derivative` gives for exact friction, of a function without kinks: max(0, x) replaced by
    (x + √(x² + 4 w²))/2, the larger of radius and length alike, and √(‖t‖² + w²) for the length.  width: w > 0."""
    four = 4.0 * width * width
    for k in range(len(mu)):
        i = 3 * k
        _clear(A, i)
        if mu[k] < 0.0:
            for a in range(3):
                A[i + a, a] = 1.0 if diagonal[9 * k + 4 * a] > 0.0 else 0.0
            A[i, 0] = 1.0
            continue
        x = r[i] - rho * u[i]
        root = math.sqrt(x * x + four)
        slope = 0.5 * (1.0 + x / root)
        if slope < OPEN:
            continue
        t1, t2 = r[i + 1] - rho * u[i + 1], r[i + 2] - rho * u[i + 2]
        radius, length = mu[k] * slope * root, math.sqrt(t1 * t1 + t2 * t2 + width * width)
        root = math.sqrt((length - radius) ** 2 + four)
        larger, by_length = 0.5 * (radius + length + root), 0.5 * (1.0 + (length - radius) / root)
        f = radius / larger
        c, d = f * by_length / (larger * length), mu[k] * slope * (1.0 - f * (1.0 - by_length)) / larger
        A[i, 0] = slope
        A[i + 1, 0], A[i + 2, 0] = d * t1, d * t2
        A[i + 1, 1], A[i + 1, 2] = f - c * t1 * t1, -c * t1 * t2
        A[i + 2, 1], A[i + 2, 2] = -c * t1 * t2, f - c * t2 * t2


@njit(cache=True, **NO_REFCOUNT)
def _clear(A, i):
    """A triple's three rows, from row i, start as open."""
    for a in range(3):
        A[i + a, 0] = A[i + a, 1] = A[i + a, 2] = 0.0
