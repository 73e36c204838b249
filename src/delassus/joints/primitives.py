"""The building blocks of joints: a few scalar constraints and coordinates between two frames, and their exact rates.

A joint has a frame on its base (origin x_a, axes a_0, a_1, a_2) and one on its follower (x_b, b_0, b_1, b_2), both
fixed to their bodies, whose centres of mass are at c_a and c_b. With d = x_b − x_a:

| row | residual | what it says |
|---|---|---|
| POINT i | d · a_i | the follower's origin does not leave the base along a_i [m] |
| DOT i j | a_i · b_j | the two axes stay at right angles [rad] |
| DISTANCE L | ‖d‖ − L | the origins keep their distance [m] |
| EVEN i | d · (a_i + b_i) | both frames are turned alike against the line between their origins [m] |

| coordinate | value | rate |
|---|---|---|
| SLIDE i | d · a_i | the row POINT i |
| TURN | angle of b_0 about a_2 | a_2 · (ω_b − ω_a) |
| FIRST | angle of b_1 about a_0 (universal joint) | a_0 · (ω_b − ω_a) |
| SECOND | angle of b_0 about b_1 (universal joint) | b_1 · (ω_b − ω_a) |
| ROTVEC i | component i of log(AᵀB), in the base frame | row i of the inverse left Jacobian |

A row is twelve numbers: the base's twist (linear, angular at its centre of mass, world frame), then the follower's.
"""

import math

import numpy as np

from delassus.joints.data import Axes, Ends, Frames, JointRows
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

POINT, DOT, DISTANCE, EVEN = 0, 1, 2, 3
SLIDE, TURN, FIRST, SECOND, ROTVEC = 0, 1, 2, 3, 4
COUNTED = (TURN, FIRST, SECOND)
"""Angles that count turns (dynamics/turns.py)."""


@njit(cache=True, **NO_REFCOUNT)
def joint_frames(bodies, origin, axes, position, rotation, out):
    """World frames of all joints on both bodies, into the fields of `Frames`; the world's centre of mass is at zero.

    bodies, origin, axes: of `JointRows`; position: (n_b, 3) or poses (n_b, 7), rotation: (n_b, 3, 3)."""
    out = Frames(*out)
    for j in range(len(bodies)):
        for side in range(2):
            b = bodies[j, side]
            for i in range(3):
                if b < 0:
                    out.centre[j, side, i] = 0.0
                    out.origin[j, side, i] = origin[j, side, i]
                    for k in range(3):
                        out.axes[j, side, i, k] = axes[j, side, i, k]
                else:
                    out.centre[j, side, i] = position[b, i]
                    value = position[b, i]
                    for a in range(3):
                        value += rotation[b, i, a] * origin[j, side, a]
                    out.origin[j, side, i] = value
                    for k in range(3):
                        value = 0.0
                        for a in range(3):
                            value += rotation[b, i, a] * axes[j, side, a, k]
                        out.axes[j, side, i, k] = value


@njit(cache=True)
def empty_frames(count):
    """Room for the frames of so many joints."""
    return Frames(np.empty((count, 2, 3)), np.empty((count, 2, 3, 3)), np.empty((count, 2, 3)))


@njit(cache=True, **NO_REFCOUNT)
def ends_of(frames, j):
    """Of joint j."""
    origin, axes, centre = frames.origin, frames.axes, frames.centre
    return Ends(origin[j, 0], axes[j, 0], centre[j, 0], origin[j, 1], axes[j, 1], centre[j, 1])


@njit(cache=True, **NO_REFCOUNT)
def evaluate_constraints(joints, frames, residual, rows):
    """Residual (m,) [m, rad] and rows (m, 12) of every constraint of every joint, both written.  joints: fields of
    `JointRows`; frames: of `Frames`."""
    of, frames = JointRows(*joints), Frames(*frames)
    for j in range(len(of.bodies)):
        ends = ends_of(frames, j)
        for r in range(of.start[j], of.start[j + 1]):
            kind, a, b = of.primitive[r], of.base_axis[r], of.follower_axis[r]
            residual[r] = constraint_row(kind, a, b, of.length[j], ends, rows[r])
            _ground(of.bodies[j], rows[r])


@njit(cache=True, **NO_REFCOUNT)
def evaluate_coordinates(of, frames, values, rows):
    """Values (n_d,) [m, rad] and rate rows (n_d, 12) of every joint coordinate, both written.  of: fields of `Axes`;
    frames: of `Frames`."""
    of, frames = Axes(*of), Frames(*frames)
    for d in range(len(of.joint)):
        j = of.joint[d]
        values[d] = coordinate_row(of.primitive[d], of.axis[d], ends_of(frames, j), rows[d])
        _ground(of.bodies[j], rows[d])


@njit(cache=True, **NO_REFCOUNT)
def _ground(pair, row):
    """The world does not move: its half of the row is zero."""
    for side in range(2):
        if pair[side] < 0:
            for k in range(6):
                row[6 * side + k] = 0.0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def constraint_row(kind, i, j, length, ends, row):
    """Residual of one row; its rate is row · (u_a, u_b).  row: (12,), written."""
    xa, A, ca = ends.xa, ends.A, ends.ca
    xb, B, cb = ends.xb, ends.B, ends.cb
    if kind == DOT:
        axis_pair(A, i, B, j, row)
        return A[0, i] * B[0, j] + A[1, i] * B[1, j] + A[2, i] * B[2, j]
    d0, d1, d2 = xb[0] - xa[0], xb[1] - xa[1], xb[2] - xa[2]
    if kind == POINT:
        e0, e1, e2 = A[0, i], A[1, i], A[2, i]
        # the axis turns with the base: its arm reaches to x_b, not to x_a
        line(e0, e1, e2, xb, ca, xb, cb, row)
        return d0 * e0 + d1 * e1 + d2 * e2
    if kind == EVEN:
        # d · a_i changes with the turning base, too, and d · b_i with the turning follower: by ω · (a_i × d)
        f0, f1, f2 = A[0, i] + B[0, i], A[1, i] + B[1, i], A[2, i] + B[2, i]
        line(f0, f1, f2, xa, ca, xb, cb, row)
        for side in range(2):
            M = A if side == 0 else B
            row[6 * side + 3] += M[1, i] * d2 - M[2, i] * d1
            row[6 * side + 4] += M[2, i] * d0 - M[0, i] * d2
            row[6 * side + 5] += M[0, i] * d1 - M[1, i] * d0
        return d0 * f0 + d1 * f1 + d2 * f2
    norm = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
    if norm > 0.0:
        e0, e1, e2 = d0 / norm, d1 / norm, d2 / norm
    else:
        e0, e1, e2 = A[0, 2], A[1, 2], A[2, 2]  # coincident points: any direction parts them
    line(e0, e1, e2, xa, ca, xb, cb, row)
    return norm - length


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def coordinate_row(kind, i, ends, row):
    """Value of one joint coordinate [m or rad]; its rate is row · (u_a, u_b)."""
    A, B = ends.A, ends.B
    x, y, z = np.int64(0), np.int64(1), np.int64(2)  # literals would be types of their own, compiled one by one
    if kind == SLIDE:
        return constraint_row(np.int64(POINT), i, x, 0.0, ends, row)
    if kind == TURN:
        turn(A[0, 2], A[1, 2], A[2, 2], row)
        return math.atan2(_dot(B, x, A, y), _dot(B, x, A, x))
    if kind == FIRST:
        turn(A[0, 0], A[1, 0], A[2, 0], row)
        return math.atan2(_dot(B, y, A, z), _dot(B, y, A, y))
    if kind == SECOND:
        turn(B[0, 1], B[1, 1], B[2, 1], row)
        # b_0 · (b_1 × a_0) and b_0 · a_0
        c0 = B[1, 1] * A[2, 0] - B[2, 1] * A[1, 0]
        c1 = B[2, 1] * A[0, 0] - B[0, 1] * A[2, 0]
        c2 = B[0, 1] * A[1, 0] - B[1, 1] * A[0, 0]
        return math.atan2(B[0, 0] * c0 + B[1, 0] * c1 + B[2, 0] * c2, _dot(B, x, A, x))
    return _rotation_vector(i, A, B, row)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def line(e0, e1, e2, pa, ca, pb, cb, row):
    """Row of e · (velocity of the follower's point p_b − velocity of the base's point p_a)."""
    row[0], row[1], row[2] = -e0, -e1, -e2
    s0, s1, s2 = pa[0] - ca[0], pa[1] - ca[1], pa[2] - ca[2]
    row[3], row[4], row[5] = -(s1 * e2 - s2 * e1), -(s2 * e0 - s0 * e2), -(s0 * e1 - s1 * e0)
    row[6], row[7], row[8] = e0, e1, e2
    s0, s1, s2 = pb[0] - cb[0], pb[1] - cb[1], pb[2] - cb[2]
    row[9], row[10], row[11] = s1 * e2 - s2 * e1, s2 * e0 - s0 * e2, s0 * e1 - s1 * e0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def turn(e0, e1, e2, row):
    """Row of e · (ω_b − ω_a)."""
    for k in range(12):
        row[k] = 0.0
    row[3], row[4], row[5] = -e0, -e1, -e2
    row[9], row[10], row[11] = e0, e1, e2


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def axis_pair(A, i, B, j, row):
    """Row of d/dt (a_i · b_j) = −(a_i × b_j) · (ω_b − ω_a)."""
    turn(
        -(A[1, i] * B[2, j] - A[2, i] * B[1, j]),
        -(A[2, i] * B[0, j] - A[0, i] * B[2, j]),
        -(A[0, i] * B[1, j] - A[1, i] * B[0, j]),
        row,
    )


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _rotation_vector(i, A, B, row):
    """Component i of θ = log(AᵀB), with θ' = J_l⁻¹(θ) Aᵀ(ω_b − ω_a)."""
    x, y, z = np.int64(0), np.int64(1), np.int64(2)  # literals would be types of their own, compiled one by one
    # skew part and trace of R = AᵀB give axis times sine, and cosine
    s0 = 0.5 * (_dot(A, z, B, y) - _dot(A, y, B, z))
    s1 = 0.5 * (_dot(A, x, B, z) - _dot(A, z, B, x))
    s2 = 0.5 * (_dot(A, y, B, x) - _dot(A, x, B, y))
    sine = math.sqrt(s0 * s0 + s1 * s1 + s2 * s2)
    angle = math.atan2(sine, 0.5 * (_dot(A, x, B, x) + _dot(A, y, B, y) + _dot(A, z, B, z) - 1.0))
    scale = angle / sine if sine > 1e-9 else 1.0
    t0, t1, t2 = scale * s0, scale * s1, scale * s2
    # J_l⁻¹ = I − ½[θ] + c [θ]², c = 1/θ² − (1 + cos θ)/(2 θ sin θ)
    if angle > 1e-4:
        c = 1.0 / (angle * angle) - (1.0 + math.cos(angle)) / (2.0 * angle * math.sin(angle))
    else:
        c = 1.0 / 12.0
    n = t0 * t0 + t1 * t1 + t2 * t2
    g0, g1, g2 = c * t0, c * t1, c * t2
    if i == 0:
        w0, w1, w2 = 1.0 + g0 * t0 - c * n, g0 * t1 + 0.5 * t2, g0 * t2 - 0.5 * t1
        value = t0
    elif i == 1:
        w0, w1, w2 = g1 * t0 - 0.5 * t2, 1.0 + g1 * t1 - c * n, g1 * t2 + 0.5 * t0
        value = t1
    else:
        w0, w1, w2 = g2 * t0 + 0.5 * t1, g2 * t1 - 0.5 * t0, 1.0 + g2 * t2 - c * n
        value = t2
    turn(
        A[0, 0] * w0 + A[0, 1] * w1 + A[0, 2] * w2,
        A[1, 0] * w0 + A[1, 1] * w1 + A[1, 2] * w2,
        A[2, 0] * w0 + A[2, 1] * w1 + A[2, 2] * w2,
        row,
    )
    return value


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _dot(A, i, B, j):
    return A[0, i] * B[0, j] + A[1, i] * B[1, j] + A[2, i] * B[2, j]
