"""Masses of a forest in joint coordinates: H = SᵀMS by composite bodies, its factor H = LᵀL along the tree, and what
goes with it (Featherstone, Rigid Body Dynamics Algorithms, §6.2 and §6.5).

L is lower triangular and has entries only where one velocity comes before another on the way to the root, so that a
factor of a chain is full and one of a forest of single bodies is diagonal.

A composite inertia is ten numbers about the reference of its tree, in world axes: mass, first moment, and xx, xy, xz,
yy, yz, zz of the second.
"""

import math

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def form_composites(tree, mass, inertia, rotation, poses, composite):
    """Composite inertias (n_b, 10) of each body and all that hangs on it.  mass: (n_b,), inertia: (n_b, 3, 3) in the
    bodies' frames, rotation: (n_b, 3, 3) of the masses."""
    for b in range(len(mass)):
        R, T, m, own, t = rotation[b], inertia[b], mass[b], composite[b], tree.root[b]
        c0, c1, c2 = poses[b, 0] - poses[t, 0], poses[b, 1] - poses[t, 1], poses[b, 2] - poses[t, 2]
        own[0], own[1], own[2], own[3] = m, m * c0, m * c1, m * c2
        at = 4
        for i in range(3):
            g0 = R[i, 0] * T[0, 0] + R[i, 1] * T[1, 0] + R[i, 2] * T[2, 0]
            g1 = R[i, 0] * T[0, 1] + R[i, 1] * T[1, 1] + R[i, 2] * T[2, 1]
            g2 = R[i, 0] * T[0, 2] + R[i, 1] * T[1, 2] + R[i, 2] * T[2, 2]
            for j in range(i, 3):
                own[at] = g0 * R[j, 0] + g1 * R[j, 1] + g2 * R[j, 2]
                at += 1
        own[4] += m * (c1 * c1 + c2 * c2)
        own[5] -= m * c0 * c1
        own[6] -= m * c0 * c2
        own[7] += m * (c0 * c0 + c2 * c2)
        own[8] -= m * c1 * c2
        own[9] += m * (c0 * c0 + c1 * c1)
    for k in range(len(mass) - 1, -1, -1):
        b = tree.order[k]
        p = tree.base[b]
        if p >= 0:
            for i in range(10):
                composite[p, i] += composite[b, i]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def form_masses(tree, S, composite, H):
    """The entries of H (n_v, n_v), lower triangle, that the tree has: S_jᵀ I_c S_i, I_c of all beyond velocity i."""
    for i in range(len(tree.before)):
        c, s = composite[tree.of_body[i]], S[i]
        a0, a1, a2 = s[0], s[1], s[2]
        l0, l1, l2 = s[3], s[4], s[5]
        m, h0, h1, h2 = c[0], c[1], c[2], c[3]
        p0, p1, p2 = m * l0 + a1 * h2 - a2 * h1, m * l1 + a2 * h0 - a0 * h2, m * l2 + a0 * h1 - a1 * h0
        r0 = c[4] * a0 + c[5] * a1 + c[6] * a2 + h1 * l2 - h2 * l1
        r1 = c[5] * a0 + c[7] * a1 + c[8] * a2 + h2 * l0 - h0 * l2
        r2 = c[6] * a0 + c[8] * a1 + c[9] * a2 + h0 * l1 - h1 * l0
        j = i
        while j >= 0:
            s = S[j]
            H[i, j] = s[0] * r0 + s[1] * r1 + s[2] * r2 + s[3] * p0 + s[4] * p1 + s[5] * p2
            j = tree.before[j]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def factor(before, H):
    """L with H = LᵀL in the place of H; False where a pivot is not positive."""
    for k in range(len(before) - 1, -1, -1):
        if not H[k, k] > 0.0:
            return False
        pivot = math.sqrt(H[k, k])
        H[k, k] = pivot
        i = before[k]
        while i >= 0:
            H[k, i] /= pivot
            i = before[i]
        i = before[k]
        while i >= 0:
            g, j = H[k, i], i
            while j >= 0:
                H[i, j] -= g * H[k, j]
                j = before[j]
            i = before[i]
    return True


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def solve_transposed(before, L, x):
    """L⁻ᵀ x in the place of x (n_v,), which may have few entries."""
    for i in range(len(x) - 1, -1, -1):
        if x[i] != 0.0:
            g = x[i] / L[i, i]
            x[i] = g
            j = before[i]
            while j >= 0:
                x[j] -= L[i, j] * g
                j = before[j]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def solve_plain(before, L, x):
    """L⁻¹ x in the place of x (n_v,)."""
    for i in range(len(x)):
        g, j = x[i], before[i]
        while j >= 0:
            g -= L[i, j] * x[j]
            j = before[j]
        x[i] = g / L[i, i]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def form_momenta(tree, masses, rotation, posture, u, spatial, out):
    """out (n_v,) = SᵀM u.  masses: (n_b,) and inertias (n_b, 3, 3); rotation: of the masses; u: (n_b, 6); spatial:
    (n_b, 6) scratch: angular and linear momentum of all beyond, about the references."""
    mass, inertia = masses
    poses, S = posture.poses, posture.S
    for b in range(len(mass)):
        R, T, x, own, t = rotation[b], inertia[b], u[b], spatial[b], tree.root[b]
        w0 = R[0, 0] * x[3] + R[1, 0] * x[4] + R[2, 0] * x[5]
        w1 = R[0, 1] * x[3] + R[1, 1] * x[4] + R[2, 1] * x[5]
        w2 = R[0, 2] * x[3] + R[1, 2] * x[4] + R[2, 2] * x[5]
        l0 = T[0, 0] * w0 + T[0, 1] * w1 + T[0, 2] * w2
        l1 = T[1, 0] * w0 + T[1, 1] * w1 + T[1, 2] * w2
        l2 = T[2, 0] * w0 + T[2, 1] * w1 + T[2, 2] * w2
        c0, c1, c2 = poses[b, 0] - poses[t, 0], poses[b, 1] - poses[t, 1], poses[b, 2] - poses[t, 2]
        p0, p1, p2 = mass[b] * x[0], mass[b] * x[1], mass[b] * x[2]
        own[0] = R[0, 0] * l0 + R[0, 1] * l1 + R[0, 2] * l2 + c1 * p2 - c2 * p1
        own[1] = R[1, 0] * l0 + R[1, 1] * l1 + R[1, 2] * l2 + c2 * p0 - c0 * p2
        own[2] = R[2, 0] * l0 + R[2, 1] * l1 + R[2, 2] * l2 + c0 * p1 - c1 * p0
        own[3], own[4], own[5] = p0, p1, p2
    for k in range(len(mass) - 1, -1, -1):
        b = tree.order[k]
        p = tree.base[b]
        if p >= 0:
            for i in range(6):
                spatial[p, i] += spatial[b, i]
    for k in range(len(out)):
        own, s = spatial[tree.of_body[k]], S[k]
        out[k] = s[0] * own[0] + s[1] * own[1] + s[2] * own[2] + s[3] * own[3] + s[4] * own[4] + s[5] * own[5]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def reduce_row(tree, posture, pair, row, out):
    """out (n_v,) += Sᵀ row: how a row (12,) between the bodies of a pair, −1 for the world, sees the velocities."""
    poses, S = posture.poses, posture.S
    for side in range(2):
        b = pair[side]
        if b < 0:
            continue
        t, f = tree.root[b], 6 * side
        c0, c1, c2 = poses[b, 0] - poses[t, 0], poses[b, 1] - poses[t, 1], poses[b, 2] - poses[t, 2]
        p0, p1, p2 = row[f], row[f + 1], row[f + 2]
        r0, r1, r2 = row[f + 3] + c1 * p2 - c2 * p1, row[f + 4] + c2 * p0 - c0 * p2, row[f + 5] + c0 * p1 - c1 * p0
        k = tree.last[b]
        while k >= 0:
            s = S[k]
            out[k] += s[0] * r0 + s[1] * r1 + s[2] * r2 + s[3] * p0 + s[4] * p1 + s[5] * p2
            k = tree.before[k]
