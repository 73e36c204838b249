"""Measures of how two frames lie to each other, with exact first and second derivatives.

Each end of a force is a point x and a frame of unit axes, fixed to a rigid body with its centre of mass at c, to the
world, or, without a frame, at a node. With d = x_b − x_a and R the second frame seen from the first:

| measure | value |
|---|---|
| DISTANCE | ‖d‖ [m] |
| SLIDE i | a_i · d [m] |
| ROTVEC i | component i of log R in the first frame [rad], singular at half a turn |
| TWIST | angle of R about a_2: 2 atan2(p_z, p_w) of its quaternion p [rad], whatever else R does |

Derivatives are by displacements along the velocities: translation of both ends, and rotation vectors in the world's
axes. A gradient is twelve numbers Y: first end (translation, rotation), then second. T = ∂Y/∂(displacement), 12×12, is
not symmetric, since rotations do not commute: T − Tᵀ is −[Y_rot]× of each body.
"""

import math

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

DISTANCE, SLIDE, ROTVEC, TWIST = 0, 1, 2, 3
MOST = 6  # measures of one kind

_NEAR = 1e-2  # [rad]: below, series of β and β′/θ, whose first terms left out are of 1e-15
_NO_LENGTH = 1e-150  # [m]: a distance below has no direction


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def cross_matrix(v, sign, out, row, column):
    """sign·[v]× added to out[row:, column:], where [v]× w = v × w."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[row + i, column + j] -= sign * v[k]
        out[row + i, column + k] += sign * v[j]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def value_of(which, axis, d, axes, p, phi):
    """The measure itself [m, rad].  d: (3,); axes: (2, 3, 3) as columns; p, phi: quaternion and rotation vector of the
    second frame seen from the first."""
    if which == DISTANCE:
        # never zero, so that without a rest length tension over length is the stiffness, at no length too
        return max(math.sqrt(d[0] ** 2 + d[1] ** 2 + d[2] ** 2), _NO_LENGTH)
    if which == SLIDE:
        return axes[0, 0, axis] * d[0] + axes[0, 1, axis] * d[1] + axes[0, 2, axis] * d[2]
    if which == ROTVEC:
        return phi[axis]
    return 2.0 * math.atan2(p[3], p[0])  # p_w ≥ 0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def distance(d, arm, length, G, Y, T, geometric):
    """Y, T of ‖d‖, written.  d: (3,); arm: (2, 3) from the centres of mass to the points; length: of d; G: (12, 3)
    written, ḋ = Gᵀ u; geometric: (12, 12) written, the part of T that is symmetric and not negative,
    G (I − nnᵀ) Gᵀ/‖d‖."""
    has_direction = length > _NO_LENGTH
    n0, n1, n2 = (d[0] / length, d[1] / length, d[2] / length) if has_direction else (0.0, 0.0, 0.0)
    for side in range(2):
        sign, at = 2.0 * side - 1.0, 6 * side
        r0, r1, r2 = sign * arm[side, 0], sign * arm[side, 1], sign * arm[side, 2]
        for i in range(3):
            for j in range(3):
                G[at + i, j] = sign if i == j else 0.0
            G[at + 3 + i, i] = 0.0
        G[at + 3, 1], G[at + 3, 2] = -r2, r1  # e_i × r
        G[at + 4, 0], G[at + 4, 2] = r2, -r0
        G[at + 5, 0], G[at + 5, 1] = -r1, r0
    for a in range(12):
        Y[a] = G[a, 0] * n0 + G[a, 1] * n1 + G[a, 2] * n2
    for a in range(12):
        for b in range(12):
            value = G[a, 0] * G[b, 0] + G[a, 1] * G[b, 1] + G[a, 2] * G[b, 2] - Y[a] * Y[b]
            T[a, b] = geometric[a, b] = value / length
    for side in range(2):
        sign, at = 2.0 * side - 1.0, 6 * side + 3
        along = arm[side, 0] * n0 + arm[side, 1] * n1 + arm[side, 2] * n2
        for i in range(3):
            T[at + i, at] += sign * arm[side, i] * n0
            T[at + i, at + 1] += sign * arm[side, i] * n1
            T[at + i, at + 2] += sign * arm[side, i] * n2
            T[at + i, at + i] -= sign * along


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def slide(a, d, arm, Y, T):
    """Y, T of a · d, written.  a: (3,) unit, fixed to the first body."""
    r = arm[1]
    e0, e1, e2 = arm[0, 0] + d[0], arm[0, 1] + d[1], arm[0, 2] + d[2]  # the second point from the first centre
    for i in range(3):
        Y[i], Y[6 + i] = -a[i], a[i]
    Y[3], Y[4], Y[5] = a[1] * e2 - a[2] * e1, a[2] * e0 - a[0] * e2, a[0] * e1 - a[1] * e0
    Y[9], Y[10], Y[11] = r[1] * a[2] - r[2] * a[1], r[2] * a[0] - r[0] * a[2], r[0] * a[1] - r[1] * a[0]
    T[:, :] = 0.0
    cross_matrix(a, 1.0, T, 0, 3)
    cross_matrix(a, 1.0, T, 3, 6)
    cross_matrix(a, -1.0, T, 3, 0)
    cross_matrix(a, -1.0, T, 6, 3)
    over, along = e0 * a[0] + e1 * a[1] + e2 * a[2], r[0] * a[0] + r[1] * a[1] + r[2] * a[2]
    ar = a[0] * r[0] + a[1] * r[1] + a[2] * r[2]
    for i in range(3):
        T[3 + i, 3] += a[i] * e0
        T[3 + i, 4] += a[i] * e1
        T[3 + i, 5] += a[i] * e2
        T[3 + i, 3 + i] -= over
        for j in range(3):
            T[9 + i, 9 + j] += r[i] * a[j]
            # −[a]×[r]× = (a·r) I − r aᵀ, and −[r]×[a]× = (a·r) I − a rᵀ
            T[3 + i, 9 + j] -= r[i] * a[j]
            T[9 + i, 3 + j] -= a[i] * r[j]
        T[9 + i, 9 + i] -= along
        T[3 + i, 9 + i] += ar
        T[9 + i, 3 + i] += ar


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def relative_rotation(A, B, p):
    """Quaternion p (4,), w ≥ 0, of Aᵀ B, by the largest of the four candidates (Shepperd)."""
    R00 = A[0, 0] * B[0, 0] + A[1, 0] * B[1, 0] + A[2, 0] * B[2, 0]
    R11 = A[0, 1] * B[0, 1] + A[1, 1] * B[1, 1] + A[2, 1] * B[2, 1]
    R22 = A[0, 2] * B[0, 2] + A[1, 2] * B[1, 2] + A[2, 2] * B[2, 2]
    R01 = A[0, 0] * B[0, 1] + A[1, 0] * B[1, 1] + A[2, 0] * B[2, 1]
    R10 = A[0, 1] * B[0, 0] + A[1, 1] * B[1, 0] + A[2, 1] * B[2, 0]
    R02 = A[0, 0] * B[0, 2] + A[1, 0] * B[1, 2] + A[2, 0] * B[2, 2]
    R20 = A[0, 2] * B[0, 0] + A[1, 2] * B[1, 0] + A[2, 2] * B[2, 0]
    R12 = A[0, 1] * B[0, 2] + A[1, 1] * B[1, 2] + A[2, 1] * B[2, 2]
    R21 = A[0, 2] * B[0, 1] + A[1, 2] * B[1, 1] + A[2, 2] * B[2, 1]
    t = R00 + R11 + R22
    if t >= R00 and t >= R11 and t >= R22:
        w, x, y, z = 1.0 + t, R21 - R12, R02 - R20, R10 - R01
    elif R00 >= R11 and R00 >= R22:
        w, x, y, z = R21 - R12, 1.0 + R00 - R11 - R22, R10 + R01, R02 + R20
    elif R11 >= R22:
        w, x, y, z = R02 - R20, R10 + R01, 1.0 + R11 - R00 - R22, R21 + R12
    else:
        w, x, y, z = R10 - R01, R02 + R20, R21 + R12, 1.0 + R22 - R00 - R11
    f = math.copysign(1.0 / math.sqrt(w * w + x * x + y * y + z * z), w)
    p[0], p[1], p[2], p[3] = f * w, f * x, f * y, f * z


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def log_of(p, phi):
    """Rotation vector phi (3,) of the unit quaternion p, w ≥ 0 [rad]."""
    s = math.sqrt(p[1] ** 2 + p[2] ** 2 + p[3] ** 2)
    f = 2.0 * math.atan2(s, p[0]) / s if s > 1e-9 else 2.0
    phi[0], phi[1], phi[2] = f * p[1], f * p[2], f * p[3]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def rotation_component(i, phi, A, E, N, Y, T):
    """Y, T of phi_i, written.  E: (3, 3) written, phi changes by E ψ where the second frame turns by ψ against the
    first, seen in the first; N: (3, 3) written, ∂E_i/∂ψ."""
    square = phi[0] ** 2 + phi[1] ** 2 + phi[2] ** 2
    angle = math.sqrt(square)
    if angle < _NEAR:
        beta = 1.0 / 12.0 + square / 720.0 + square * square / 30240.0
        slope = 1.0 / 360.0 + square / 7560.0 + square * square / 201600.0
    else:
        x = 0.5 * angle
        s, c = math.sin(x), math.cos(x)
        rest = 1.0 - x * c / s
        beta = rest / square
        slope = ((x / (s * s) - c / s) / (4.0 * x * x) - rest / (2.0 * x**3)) / (4.0 * x)  # β′/θ
    for a in range(3):
        for b in range(3):
            E[a, b] = beta * phi[a] * phi[b]
        E[a, a] += 1.0 - beta * square
        b, c_ = (a + 1) % 3, (a + 2) % 3
        E[a, b] += 0.5 * phi[c_]
        E[a, c_] -= 0.5 * phi[b]
    j, k = (i + 1) % 3, (i + 2) % 3
    for a in range(3):
        for b in range(3):
            N[a, b] = 0.0
            for m in range(3):  # ∂E[i, a]/∂phi_m · E[m, b]
                value = slope * phi[m] * (phi[i] * phi[a] - (square if a == i else 0.0))
                if m == i:
                    value += beta * phi[a]
                if m == a:
                    value += beta * phi[i]
                if a == i:
                    value -= 2.0 * beta * phi[m]
                if a == j and m == k:
                    value += 0.5
                if a == k and m == j:
                    value -= 0.5
                N[a, b] += value * E[m, b]
    _turn_rows(E[i], N, A, Y, T)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def twist(p, A, row, N, Y, T):
    """Y, T of the twist, written.  row: (3,), N: (3, 3) written: its rate and that rate's
    change by rotations ψ of the second frame against the first, seen in the first."""
    w, x, y, z = p[0], p[1], p[2], p[3]
    D = w * w + z * z
    row[0], row[1], row[2] = (w * y + x * z) / D, (y * z - w * x) / D, 1.0
    for b in range(3):
        dw = -0.5 * p[1 + b]
        dx = 0.5 * (w if b == 0 else z if b == 1 else -y)
        dy = 0.5 * (-z if b == 0 else w if b == 1 else x)
        dz = 0.5 * (y if b == 0 else -x if b == 1 else w)
        dD = 2.0 * (w * dw + z * dz)
        N[0, b] = (dw * y + w * dy + dx * z + x * dz - row[0] * dD) / D
        N[1, b] = (dy * z + y * dz - dw * x - w * dx - row[1] * dD) / D
        N[2, b] = 0.0
    _turn_rows(row, N, A, Y, T)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _turn_rows(row, N, A, Y, T):
    """Y, T of an angle whose rate is row · ψ̇: both in the world's axes, of both bodies."""
    T[:, :] = 0.0
    for i in range(3):
        Y[i] = Y[6 + i] = 0.0
        value = A[i, 0] * row[0] + A[i, 1] * row[1] + A[i, 2] * row[2]
        Y[3 + i], Y[9 + i] = -value, value
    for i in range(3):
        for j in range(3):
            value = 0.0
            for a in range(3):
                for b in range(3):
                    value += A[i, a] * N[a, b] * A[j, b]
            T[9 + i, 9 + j], T[9 + i, 3 + j] = value, -value
    cross_matrix(Y[9:12], -1.0, T, 9, 3)  # the first frame turns, and the row with it
    for i in range(3):
        for j in range(3):
            T[3 + i, 3 + j], T[3 + i, 9 + j] = -T[9 + i, 3 + j], -T[9 + i, 9 + j]
