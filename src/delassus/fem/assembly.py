"""Forces and stiffness of elements, summed into arrays over nodes. Work goes element by element in a fixed order, so
that the same input gives the same bits."""

import numpy as np

from delassus.kernel import njit


@njit(cache=True, error_model="numpy")
def add_forces(connectivity, gradient, volume, some, U, slope, V, force):
    """force (n, 3) −= Σ volume P ∇N with P = U diag(slope) Vᵀ, of some elements: the first and their number.  U, V:
    (p, 3, 3), slope: (p, 3), of their points; gradient: (e, Q, N, 3); volume: (e, Q)."""
    P, (first, count) = np.empty((3, 3)), some
    points, nodes = gradient.shape[1], gradient.shape[2]
    for e in range(first, first + count):
        for q in range(points):
            p = (e - first) * points + q
            for i in range(3):
                for j in range(3):
                    P[i, j] = volume[e, q] * (
                        U[p, i, 0] * slope[p, 0] * V[p, j, 0]
                        + U[p, i, 1] * slope[p, 1] * V[p, j, 1]
                        + U[p, i, 2] * slope[p, 2] * V[p, j, 2]
                    )
            for a in range(nodes):
                node = connectivity[e, a]
                g0, g1, g2 = gradient[e, q, a, 0], gradient[e, q, a, 1], gradient[e, q, a, 2]
                for i in range(3):
                    force[node, i] -= P[i, 0] * g0 + P[i, 1] * g1 + P[i, 2] * g2


@njit(cache=True, error_model="numpy")
def add_stiffness(slots, gradient, volume, some, U, V, response, stiffness):
    """stiffness (blocks, 3, 3) += −∂force/∂x of some elements: the first and their number. slots: (e, N, N), the block
    of each pair of nodes. In the principal axes, with h = Vᵀ∇N, most entries of the law's derivative vanish, and a
    block takes fifteen products before it is turned by U."""
    points, nodes, (first, count) = gradient.shape[1], gradient.shape[2], some
    h, K, A, B = np.empty((nodes, 3)), np.empty((nodes, nodes, 3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for e in range(first, first + count):
        K[:] = 0.0
        for q in range(points):
            p = (e - first) * points + q
            u, v, w = U[p], V[p], volume[e, q]
            for a in range(nodes):
                for k in range(3):
                    h[a, k] = (
                        v[0, k] * gradient[e, q, a, 0] + v[1, k] * gradient[e, q, a, 1] + v[2, k] * gradient[e, q, a, 2]
                    )
            for i in range(3):
                for j in range(3):
                    A[i, j] = w * response.curvature[p, i, j]
            # of change eᵢeⱼᵀ: what it does along itself (the same), and along eⱼeᵢᵀ (the other)
            same0 = 0.5 * w * (response.shear[p, 0] + response.spin[p, 0])
            same1 = 0.5 * w * (response.shear[p, 1] + response.spin[p, 1])
            same2 = 0.5 * w * (response.shear[p, 2] + response.spin[p, 2])
            other0 = 0.5 * w * (response.shear[p, 0] - response.spin[p, 0])
            other1 = 0.5 * w * (response.shear[p, 1] - response.spin[p, 1])
            other2 = 0.5 * w * (response.shear[p, 2] - response.spin[p, 2])
            for a in range(nodes):
                a0, a1, a2 = h[a, 0], h[a, 1], h[a, 2]
                for b in range(a, nodes):
                    b0, b1, b2 = h[b, 0], h[b, 1], h[b, 2]
                    c00 = A[0, 0] * a0 * b0 + same2 * a1 * b1 + same1 * a2 * b2
                    c11 = A[1, 1] * a1 * b1 + same2 * a0 * b0 + same0 * a2 * b2
                    c22 = A[2, 2] * a2 * b2 + same1 * a0 * b0 + same0 * a1 * b1
                    c01 = A[0, 1] * a0 * b1 + other2 * a1 * b0
                    c10 = A[0, 1] * a1 * b0 + other2 * a0 * b1
                    c02 = A[0, 2] * a0 * b2 + other1 * a2 * b0
                    c20 = A[0, 2] * a2 * b0 + other1 * a0 * b2
                    c12 = A[1, 2] * a1 * b2 + other0 * a2 * b1
                    c21 = A[1, 2] * a2 * b1 + other0 * a1 * b2
                    for i in range(3):
                        B[i, 0] = u[i, 0] * c00 + u[i, 1] * c10 + u[i, 2] * c20
                        B[i, 1] = u[i, 0] * c01 + u[i, 1] * c11 + u[i, 2] * c21
                        B[i, 2] = u[i, 0] * c02 + u[i, 1] * c12 + u[i, 2] * c22
                    for i in range(3):
                        for j in range(3):
                            K[a, b, i, j] += B[i, 0] * u[j, 0] + B[i, 1] * u[j, 1] + B[i, 2] * u[j, 2]
        for a in range(nodes):
            for b in range(a, nodes):
                above, below = stiffness[slots[e, a, b]], stiffness[slots[e, b, a]]
                for i in range(3):
                    for j in range(3):
                        above[i, j] += K[a, b, i, j]
                if a != b:
                    for i in range(3):
                        for j in range(3):
                            below[i, j] += K[a, b, j, i]


@njit(cache=True, error_model="numpy")
def cauchy_stress(volume, U, sigma, slope, determinant, stress):
    """Fill stress (e, 3, 3) [Pa], force per deformed area, in world axes: P Fᵀ / det F = U diag(slope σ) Uᵀ / det F,
    the mean over an element's points by volume (e, Q); the others of these points, one element after the other."""
    points = volume.shape[1]
    for e in range(len(stress)):
        stress[e] = 0.0
        total = 0.0
        for q in range(points):
            total += volume[e, q]
        for q in range(points):
            p = e * points + q
            weight = volume[e, q] / (total * determinant[p])
            for i in range(3):
                for j in range(3):
                    for k in range(3):
                        stress[e, i, j] += weight * slope[p, k] * sigma[p, k] * U[p, i, k] * U[p, j, k]
