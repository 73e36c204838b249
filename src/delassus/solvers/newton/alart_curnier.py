"""Alart and Curnier's function, whose root is exact Coulomb friction, and its derivative.

    F_n = r_n − max(0, r_n − ρ u_n),    F_t = r_t − P_disk(μ max(0, r_n − ρ u_n))(r_t − ρ u_t)

for contacts, the first alone for limits, F = ρ u for joints; u = W r + v. Rows come as in every problem: joints,
limits, contacts of three.
"""

import math

from numba import njit

OPEN = 1e-2  # smoothed derivative below which a limit or contact counts as open


@njit(cache=True, error_model="numpy")
def alart_curnier(r, u, rho, joints, limits, mu, F):
    """F into `F`, (m,); returns its norm.  r, u: (m,); joints, limits: numbers of their rows."""
    total = 0.0
    for i in range(joints):
        F[i] = rho * u[i]
        total += F[i] * F[i]
    for i in range(joints, joints + limits):
        F[i] = r[i] - max(0.0, r[i] - rho * u[i])
        total += F[i] * F[i]
    for k in range(len(mu)):
        i = joints + limits + 3 * k
        n = max(0.0, r[i] - rho * u[i])
        t1, t2 = r[i + 1] - rho * u[i + 1], r[i + 2] - rho * u[i + 2]
        radius, length = mu[k] * n, math.sqrt(t1 * t1 + t2 * t2)
        f = 1.0 if length <= radius else radius / length
        F[i], F[i + 1], F[i + 2] = r[i] - n, r[i + 1] - f * t1, r[i + 2] - f * t2
        total += F[i] ** 2 + F[i + 1] ** 2 + F[i + 2] ** 2
    return math.sqrt(total)


@njit(cache=True, error_model="numpy")
def projection_derivative(r, u, rho, joints, limits, mu, A, row):
    """Rows of the block-diagonal derivative of the projection, (m, 3): columns n, t₁, t₂ (joints and limits use the
    first), and the rows of joints and of closed limits and contacts, written to `row`; returns their number."""
    count = 0
    for i in range(joints):
        A[i, 0] = 1.0
        A[i, 1] = A[i, 2] = 0.0
        count = _closed(i, 1, row, count)
    for i in range(joints, joints + limits):
        A[i, 0] = 1.0 if r[i] - rho * u[i] > 0.0 else 0.0
        A[i, 1] = A[i, 2] = 0.0
        if A[i, 0] > 0.0:
            count = _closed(i, 1, row, count)
    for k in range(len(mu)):
        i = joints + limits + 3 * k
        _clear(A, i)
        n = r[i] - rho * u[i]
        if n <= 0.0:
            continue
        A[i, 0] = 1.0
        t1, t2 = r[i + 1] - rho * u[i + 1], r[i + 2] - rho * u[i + 2]
        radius, length = mu[k] * n, math.sqrt(t1 * t1 + t2 * t2)
        if length <= radius:
            A[i + 1, 1] = A[i + 2, 2] = 1.0
        else:
            e1, e2, f = t1 / length, t2 / length, radius / length
            A[i + 1, 0], A[i + 2, 0] = mu[k] * e1, mu[k] * e2
            A[i + 1, 1], A[i + 1, 2] = f * (1.0 - e1 * e1), -f * e1 * e2
            A[i + 2, 1], A[i + 2, 2] = -f * e1 * e2, f * (1.0 - e2 * e2)
        count = _closed(i, 3, row, count)
    return count


@njit(cache=True, error_model="numpy")
def smoothed_derivative(r, u, rho, joints, limits, mu, width, A, row):
    """What `projection_derivative` gives, of a function without kinks: max(0, x) replaced by (x + √(x² + 4 w²))/2, the
    larger of radius and length alike, and √(‖t‖² + w²) for the length.  width: w > 0."""
    four = 4.0 * width * width
    count = 0
    for i in range(joints + limits):
        A[i, 0] = 1.0
        A[i, 1] = A[i, 2] = 0.0
        if i >= joints:
            x = r[i] - rho * u[i]
            A[i, 0] = 0.5 * (1.0 + x / math.sqrt(x * x + four))
            if A[i, 0] < OPEN:
                A[i, 0] = 0.0
                continue
        count = _closed(i, 1, row, count)
    for k in range(len(mu)):
        i = joints + limits + 3 * k
        _clear(A, i)
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
        count = _closed(i, 3, row, count)
    return count


@njit(cache=True)
def _clear(A, i):
    """A contact's three rows, from row i, start as open."""
    for a in range(3):
        A[i + a, 0] = A[i + a, 1] = A[i + a, 2] = 0.0


@njit(cache=True)
def _closed(first, size, row, count):
    """Append rows first … first + size − 1 to `row`, which holds `count`; how many it holds then."""
    for a in range(size):
        row[count + a] = first + a
    return count + size
