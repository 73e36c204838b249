"""Deformation gradients and their principal stretches: F = U diag(σ) Vᵀ with proper rotations U and V, so that a
negative smallest σ says that the element is turned inside out."""

import math

import numpy as np

from delassus.kernel import njit

_SWEEPS = 12  # of Jacobi's method; three or four are usual, convergence is quadratic
_OFF = 1e-32  # squared entries beside the diagonal over the squared trace that count as zero: rounding
_LINE = 1e-14  # second largest stretch over the largest below which its direction is arbitrary


@njit(cache=True, error_model="numpy")
def stretches(x, connectivity, gradient, some, U, sigma, V, determinant):
    """Fill U, V (p, 3, 3), sigma (p, 3) and determinant (p,) of the points of some elements, the first and their
    number, one after the other.  x: (n, 3) places of nodes; connectivity: (e, N); gradient: (e, Q, N, 3)."""
    F, (first, count) = np.empty((3, 3)), some
    points, nodes = gradient.shape[1], gradient.shape[2]
    for e in range(first, first + count):
        for q in range(points):
            F[:] = 0.0
            # Places from the first node on: gradients sum to zero, and far from the origin fewer digits are lost.
            origin = connectivity[e, 0]
            for a in range(1, nodes):
                node = connectivity[e, a]
                g0, g1, g2 = gradient[e, q, a, 0], gradient[e, q, a, 1], gradient[e, q, a, 2]
                for i in range(3):
                    arm = x[node, i] - x[origin, i]
                    F[i, 0] += arm * g0
                    F[i, 1] += arm * g1
                    F[i, 2] += arm * g2
            p = (e - first) * points + q
            determinant[p] = (
                F[0, 0] * (F[1, 1] * F[2, 2] - F[1, 2] * F[2, 1])
                - F[0, 1] * (F[1, 0] * F[2, 2] - F[1, 2] * F[2, 0])
                + F[0, 2] * (F[1, 0] * F[2, 1] - F[1, 1] * F[2, 0])
            )
            eigenvectors(
                F[0, 0] * F[0, 0] + F[1, 0] * F[1, 0] + F[2, 0] * F[2, 0],
                F[0, 1] * F[0, 1] + F[1, 1] * F[1, 1] + F[2, 1] * F[2, 1],
                F[0, 2] * F[0, 2] + F[1, 2] * F[1, 2] + F[2, 2] * F[2, 2],
                F[0, 1] * F[0, 2] + F[1, 1] * F[1, 2] + F[2, 1] * F[2, 2],
                F[0, 0] * F[0, 2] + F[1, 0] * F[1, 2] + F[2, 0] * F[2, 2],
                F[0, 0] * F[0, 1] + F[1, 0] * F[1, 1] + F[2, 0] * F[2, 1],
                V[p],
            )
            _left(F, V[p], U[p], sigma[p])


@njit(cache=True, error_model="numpy")
def eigenvectors(xx, yy, zz, yz, xz, xy, V):
    """Orthonormal eigenvectors of a symmetric matrix, the columns of a proper rotation V; returns its eigenvalues. By
    Jacobi's method, on numbers that stay in registers."""
    for i in range(3):
        for j in range(3):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(_SWEEPS):
        trace = xx + yy + zz
        if not yz * yz + xz * xz + xy * xy > _OFF * trace * trace:
            break
        if xy != 0.0:
            c, s, t = _turn(xx, yy, xy)
            xx, yy, xz, yz, xy = xx - t * xy, yy + t * xy, c * xz - s * yz, s * xz + c * yz, 0.0
            _turn_columns(V, 0, 1, c, s)
        if xz != 0.0:
            c, s, t = _turn(xx, zz, xz)
            xx, zz, xy, yz, xz = xx - t * xz, zz + t * xz, c * xy - s * yz, s * xy + c * yz, 0.0
            _turn_columns(V, 0, 2, c, s)
        if yz != 0.0:
            c, s, t = _turn(yy, zz, yz)
            yy, zz, xy, xz, yz = yy - t * yz, zz + t * yz, c * xy - s * xz, s * xy + c * xz, 0.0
            _turn_columns(V, 1, 2, c, s)
    return xx, yy, zz


@njit(cache=True, error_model="numpy")
def _turn(p, q, between):
    """Cosine, sine and tangent of the smaller rotation that makes the entry between two diagonal ones vanish."""
    cotangent = (q - p) / (2.0 * between)
    t = (1.0 if cotangent >= 0.0 else -1.0) / (abs(cotangent) + math.sqrt(cotangent * cotangent + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    return c, t * c, t


@njit(cache=True, error_model="numpy")
def _turn_columns(V, p, q, c, s):
    for i in range(3):
        V[i, p], V[i, q] = c * V[i, p] - s * V[i, q], s * V[i, p] + c * V[i, q]


@njit(cache=True, error_model="numpy")
def _left(F, V, U, sigma):
    """U and σ of F and V. The columns F v_k are orthogonal up to rounding; the two longest give two columns of U, their
    product the third, so that U is a proper rotation whatever F is."""
    for k in range(3):
        square = 0.0
        for i in range(3):
            U[i, k] = F[i, 0] * V[0, k] + F[i, 1] * V[1, k] + F[i, 2] * V[2, k]
            square += U[i, k] * U[i, k]
        sigma[k] = math.sqrt(square)
    low = 0 if sigma[0] < sigma[1] else 1
    low = low if sigma[low] < sigma[2] else 2
    a, b = (low + 1) % 3, (low + 2) % 3
    sign = 1.0  # low, a, b are in cyclic order
    if sigma[a] < sigma[b]:
        a, b, sign = b, a, -1.0
    if not sigma[a] > 0.0:  # all nodes in one place, or not a number
        for i in range(3):
            for j in range(3):
                U[i, j] = V[i, j]
        return
    c0, c1, c2 = U[0, low], U[1, low], U[2, low]  # F v of the smallest
    u0, u1, u2 = U[0, a] / sigma[a], U[1, a] / sigma[a], U[2, a] / sigma[a]
    along = U[0, b] * u0 + U[1, b] * u1 + U[2, b] * u2
    w0, w1, w2 = U[0, b] - along * u0, U[1, b] - along * u1, U[2, b] - along * u2
    length = math.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
    if length > _LINE * sigma[a]:
        w0, w1, w2 = w0 / length, w1 / length, w2 / length
        sigma[b] = length
    else:  # all nodes on a line: any direction across it
        if abs(u0) < 0.6:  # no unit vector has all entries below 1/√3
            w0, w1, w2 = 0.0, -u2, u1
        else:
            w0, w1, w2 = u2, 0.0, -u0
        length = math.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
        w0, w1, w2 = w0 / length, w1 / length, w2 / length
    n0, n1, n2 = sign * (u1 * w2 - u2 * w1), sign * (u2 * w0 - u0 * w2), sign * (u0 * w1 - u1 * w0)
    sigma[low] = c0 * n0 + c1 * n1 + c2 * n2
    U[0, a], U[1, a], U[2, a] = u0, u1, u2
    U[0, b], U[1, b], U[2, b] = w0, w1, w2
    U[0, low], U[1, low], U[2, low] = n0, n1, n2
