"""A forest's coordinates, poses, and how bodies move with its velocities.

Body twists are S v. A column of S is a twist (angular, linear) of everything beyond its joint, in world axes, the
linear part at the reference of its tree: the centre of mass of the root body. With e the axis and o a point on it:

| motion | angular | linear |
|---|---|---|
| slide | 0 | e |
| turn | e | e × (reference − o) |
| floating | the six unit twists, linear ones first | |

Spherical joints turn about the follower's axes, rolling ones about the point between both centres.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.model.tree import ABOUT_XY, ABOUT_Z, BALL, FREE, ROLLING


class Posture(NamedTuple):
    """Where the bodies of a forest are. poses: (n_b, 7); rotation: (n_b, 3, 3); S: (n_v, 6) as above; coordinates:
    (n_q,) in the order of `Tree`: slides [m], angles [rad], quaternions, poses of floating bodies."""

    poses: np.ndarray
    rotation: np.ndarray
    S: np.ndarray
    coordinates: np.ndarray


def posture_for(bodies: int, velocities: int, coordinates: int) -> Posture:
    """Room for one."""
    return Posture(np.zeros((bodies, 7)), np.zeros((bodies, 3, 3)), np.zeros((velocities, 6)), np.zeros(coordinates))


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def take_coordinates(tree, poses, rotation, coordinates):
    """Coordinates of poses (n_b, 7) that need not obey the joints: what a joint forbids is left out.  rotation:
    (n_b, 3, 3) of these poses; coordinates: (n_q,), written."""
    for b in range(len(poses)):
        if tree.turning[b] == FREE:
            for i in range(7):
                coordinates[tree.place[b] + i] = poses[b, i]
        else:
            _take_joined(tree, b, poses, rotation, coordinates)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _take_joined(tree, b, poses, rotation, coordinates):
    a, turning = tree.place[b], tree.turning[b]
    w, x, y, z = _base_frame(tree, b, poses)
    ox, oy, oz = _base_origin(tree, b, poses, rotation)
    f, R = tree.at_follower[b], rotation[b]
    dx = poses[b, 0] + R[0, 0] * f[0] + R[0, 1] * f[1] + R[0, 2] * f[2] - ox
    dy = poses[b, 1] + R[1, 0] * f[0] + R[1, 1] * f[1] + R[1, 2] * f[2] - oy
    dz = poses[b, 2] + R[2, 0] * f[0] + R[2, 1] * f[1] + R[2, 2] * f[2] - oz
    for k in range(tree.slides[b]):
        ex, ey, ez = _axis(tree.axis[tree.first[b] + k], w, x, y, z)
        coordinates[a] = ex * dx + ey * dy + ez * dz
        a += 1
    g = tree.frame_follower[b]
    tw, tx, ty, tz = _times(poses[b, 3], poses[b, 4], poses[b, 5], poses[b, 6], g[0], g[1], g[2], g[3])
    rw, rx, ry, rz = _times(w, -x, -y, -z, tw, tx, ty, tz)  # of the follower's frame in the base's
    if turning == BALL:
        scale = 1.0 / math.sqrt(rw * rw + rx * rx + ry * ry + rz * rz)
        coordinates[a], coordinates[a + 1] = scale * rw, scale * rx
        coordinates[a + 2], coordinates[a + 3] = scale * ry, scale * rz
    elif turning == ABOUT_XY:
        # r = (c₁c₂, s₁c₂, c₁s₂, s₁s₂) of half the angles
        if rw * rw + rx * rx >= ry * ry + rz * rz:
            half = math.atan2(rx, rw)
        else:
            half = math.atan2(rz, ry)
        c, s = math.cos(half), math.sin(half)
        coordinates[a], coordinates[a + 1] = 2.0 * half, 2.0 * math.atan2(c * ry + s * rz, c * rw + s * rx)
    elif turning == ABOUT_Z:
        coordinates[a] = 2.0 * math.atan2(rz, rw)
    elif turning == ROLLING:
        angle = 2.0 * math.atan2(rz, rw)
        # after a whole turn the follower is on the other side of the base
        mw, mx, my, mz = _times(w, x, y, z, math.cos(0.25 * angle), 0.0, 0.0, math.sin(0.25 * angle))
        ex, ey, ez = _axis(0, mw, mx, my, mz)
        if ex * dx + ey * dy + ez * dz < 0.0:
            angle += 2.0 * math.pi
        coordinates[a] = angle


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def place(tree, posture):
    """Poses, rotations and S of the coordinates of a posture, all written."""
    for b in tree.order:
        if tree.turning[b] == FREE:
            for i in range(7):
                posture.poses[b, i] = posture.coordinates[tree.place[b] + i]
            _rotate(posture.poses, posture.rotation, b)
            _free_columns(posture.S, tree.first[b])
        else:
            _place_joined(tree, b, posture)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _place_joined(tree, b, posture):
    poses, rotation, S, q = posture
    a, k, turning = tree.place[b], tree.first[b], tree.turning[b]
    w, x, y, z = _base_frame(tree, b, poses)
    ox, oy, oz = _base_origin(tree, b, poses, rotation)
    for _ in range(tree.slides[b]):
        ex, ey, ez = _axis(tree.axis[k], w, x, y, z)
        S[k, 0] = S[k, 1] = S[k, 2] = 0.0
        S[k, 3], S[k, 4], S[k, 5] = ex, ey, ez
        ox, oy, oz = ox + q[a] * ex, oy + q[a] * ey, oz + q[a] * ez
        a, k = a + 1, k + 1
    tw, tx, ty, tz = w, x, y, z  # of the follower's frame
    cx, cy, cz = ox, oy, oz  # what it turns about
    if turning == BALL:
        tw, tx, ty, tz = _times(w, x, y, z, q[a], q[a + 1], q[a + 2], q[a + 3])
    elif turning == ABOUT_XY:
        tw, tx, ty, tz = _times(w, x, y, z, math.cos(0.5 * q[a]), math.sin(0.5 * q[a]), 0.0, 0.0)
        tw, tx, ty, tz = _times(tw, tx, ty, tz, math.cos(0.5 * q[a + 1]), 0.0, math.sin(0.5 * q[a + 1]), 0.0)
    elif turning == ABOUT_Z:
        tw, tx, ty, tz = _times(w, x, y, z, math.cos(0.5 * q[a]), 0.0, 0.0, math.sin(0.5 * q[a]))
    elif turning == ROLLING:
        tw, tx, ty, tz = _times(w, x, y, z, math.cos(0.25 * q[a]), 0.0, 0.0, math.sin(0.25 * q[a]))
        ex, ey, ez = _axis(0, tw, tx, ty, tz)
        ox, oy, oz = ox + tree.length[b] * ex, oy + tree.length[b] * ey, oz + tree.length[b] * ez
        cx, cy, cz = 0.5 * (cx + ox), 0.5 * (cy + oy), 0.5 * (cz + oz)
        tw, tx, ty, tz = _times(w, x, y, z, math.cos(0.5 * q[a]), 0.0, 0.0, math.sin(0.5 * q[a]))
    g, f = tree.frame_follower[b], tree.at_follower[b]
    poses[b, 3], poses[b, 4], poses[b, 5], poses[b, 6] = _times(tw, tx, ty, tz, g[0], -g[1], -g[2], -g[3])
    _rotate(poses, rotation, b)
    for i in range(3):
        o = ox if i == 0 else oy if i == 1 else oz
        poses[b, i] = o - rotation[b, i, 0] * f[0] - rotation[b, i, 1] * f[1] - rotation[b, i, 2] * f[2]
    t = tree.root[b]
    cx, cy, cz = poses[t, 0] - cx, poses[t, 1] - cy, poses[t, 2] - cz
    if turning == BALL:
        for i in range(3):
            ex, ey, ez = _axis(i, tw, tx, ty, tz)
            _turn_column(S, k + i, ex, ey, ez, cx, cy, cz)
    elif turning == ABOUT_XY:
        ex, ey, ez = _axis(0, w, x, y, z)
        _turn_column(S, k, ex, ey, ez, cx, cy, cz)
        ex, ey, ez = _axis(1, tw, tx, ty, tz)
        _turn_column(S, k + 1, ex, ey, ez, cx, cy, cz)
    elif turning in (ABOUT_Z, ROLLING):
        ex, ey, ez = _axis(2, tw, tx, ty, tz)
        _turn_column(S, k, ex, ey, ez, cx, cy, cz)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def move_coordinates(tree, v, time, coordinates):
    """Coordinates (n_q,) after a time with velocities v (n_v,), in place."""
    for b in range(len(tree.first)):
        a, k = tree.place[b], tree.first[b]
        for _ in range(tree.slides[b]):
            coordinates[a] += time * v[k]
            a, k = a + 1, k + 1
        turning = tree.turning[b]
        if turning == FREE:
            for i in range(3):
                coordinates[a + i] += time * v[k + i]
            a, k = a + 3, k + 3
        if turning in (FREE, BALL):
            _turn_quaternion(coordinates, a, turning == FREE, time * v[k], time * v[k + 1], time * v[k + 2])
        else:
            for i in range(tree.freedoms[b] - tree.slides[b]):
                coordinates[a + i] += time * v[k + i]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def form_twists(tree, posture, v, spatial, u):
    """Twists u (n_b, 6) of the bodies, in the package's order, at velocities v (n_v,): S v.  spatial: (n_b, 6) scratch:
    angular, linear at the references."""
    poses, S = posture.poses, posture.S
    for b in tree.order:
        p, t = tree.base[b], tree.root[b]
        for i in range(6):
            spatial[b, i] = spatial[p, i] if p >= 0 else 0.0
        for k in range(tree.first[b], tree.first[b] + tree.freedoms[b]):
            for i in range(6):
                spatial[b, i] += S[k, i] * v[k]
        w0, w1, w2 = spatial[b, 0], spatial[b, 1], spatial[b, 2]
        c0, c1, c2 = poses[b, 0] - poses[t, 0], poses[b, 1] - poses[t, 1], poses[b, 2] - poses[t, 2]
        u[b, 0] = spatial[b, 3] + w1 * c2 - w2 * c1
        u[b, 1] = spatial[b, 4] + w2 * c0 - w0 * c2
        u[b, 2] = spatial[b, 5] + w0 * c1 - w1 * c0
        u[b, 3], u[b, 4], u[b, 5] = w0, w1, w2


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def coordinate_rate(tree, posture, k, u):
    """The rate of slide or turn k at twists u (n_b, 6) that need not obey the joints [m/s, rad/s]."""
    poses, rotation, S, _ = posture
    b = tree.of_body[k]
    p, rate = tree.base[b], 0.0
    if k >= tree.first[b] + tree.slides[b]:
        for i in range(3):
            rate += S[k, i] * (u[b, 3 + i] - (u[p, 3 + i] if p >= 0 else 0.0))
        return rate
    f, R = tree.at_follower[b], rotation[b]
    for side in range(2):
        body = p if side == 0 else b
        if body < 0:
            continue
        sign = 2.0 * side - 1.0
        c0 = poses[b, 0] + R[0, 0] * f[0] + R[0, 1] * f[1] + R[0, 2] * f[2] - poses[body, 0]
        c1 = poses[b, 1] + R[1, 0] * f[0] + R[1, 1] * f[1] + R[1, 2] * f[2] - poses[body, 1]
        c2 = poses[b, 2] + R[2, 0] * f[0] + R[2, 1] * f[1] + R[2, 2] * f[2] - poses[body, 2]
        rate += sign * S[k, 3] * (u[body, 0] + u[body, 4] * c2 - u[body, 5] * c1)
        rate += sign * S[k, 4] * (u[body, 1] + u[body, 5] * c0 - u[body, 3] * c2)
        rate += sign * S[k, 5] * (u[body, 2] + u[body, 3] * c1 - u[body, 4] * c0)
    return rate


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def fill_shift(posture, q, shift):
    """shift (n_b, 6): twists that lead from a posture to the poses q (n_b, 7) nearby; returns the largest entry."""
    largest = 0.0
    for b in range(len(q)):
        p = posture.poses[b]
        w, x, y, z = _times(q[b, 3], q[b, 4], q[b, 5], q[b, 6], p[3], -p[4], -p[5], -p[6])
        twice = 2.0 if w >= 0.0 else -2.0
        for i in range(3):
            shift[b, i] = q[b, i] - p[i]
        shift[b, 3], shift[b, 4], shift[b, 5] = twice * x, twice * y, twice * z
        for i in range(6):
            largest = max(largest, abs(shift[b, i]))
    return largest


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _base_frame(tree, b, poses):
    """The joint's frame on the base, in the world: a quaternion."""
    p, g = tree.base[b], tree.frame_base[b]
    if p < 0:
        return g[0], g[1], g[2], g[3]
    return _times(poses[p, 3], poses[p, 4], poses[p, 5], poses[p, 6], g[0], g[1], g[2], g[3])


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _base_origin(tree, b, poses, rotation):
    """The joint's origin on the base, in the world [m]."""
    p, o = tree.base[b], tree.at_base[b]
    if p < 0:
        return o[0], o[1], o[2]
    R = rotation[p]
    return (
        poses[p, 0] + R[0, 0] * o[0] + R[0, 1] * o[1] + R[0, 2] * o[2],
        poses[p, 1] + R[1, 0] * o[0] + R[1, 1] * o[1] + R[1, 2] * o[2],
        poses[p, 2] + R[2, 0] * o[0] + R[2, 1] * o[1] + R[2, 2] * o[2],
    )


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _times(aw, ax, ay, az, bw, bx, by, bz):
    """Hamilton product of two quaternions."""
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _axis(i, w, x, y, z):
    """Column i of the rotation matrix of a quaternion."""
    if i == 0:
        return 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)
    if i == 1:
        return 2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)
    return 2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _rotate(poses, rotation, b):
    """The rotation matrix of a pose."""
    w, x, y, z = poses[b, 3], poses[b, 4], poses[b, 5], poses[b, 6]
    for i in range(3):
        rotation[b, 0, i], rotation[b, 1, i], rotation[b, 2, i] = _axis(i, w, x, y, z)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _turn_column(S, k, ex, ey, ez, cx, cy, cz):
    """A turn about e, with c from a point of its axis to the reference."""
    S[k, 0], S[k, 1], S[k, 2] = ex, ey, ez
    S[k, 3], S[k, 4], S[k, 5] = ey * cz - ez * cy, ez * cx - ex * cz, ex * cy - ey * cx


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _free_columns(S, k):
    """Of a floating body, which is the reference itself."""
    for i in range(3):
        for j in range(6):
            S[k + i, j] = S[k + 3 + i, j] = 0.0
        S[k + i, 3 + i] = S[k + 3 + i, i] = 1.0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _turn_quaternion(q, a, in_world, rx, ry, rz):
    """exp(r) q with r in the world's axes, or q exp(r) with r in those that q leads to; q: four numbers from place a
    on."""
    half = 0.5 * math.sqrt(rx * rx + ry * ry + rz * rz)
    c = math.cos(half)
    s = 0.5 * (math.sin(half) / half if half > 1e-8 else 1.0 - half * half / 6.0)
    rx, ry, rz = s * rx, s * ry, s * rz
    if in_world:
        w, x, y, z = _times(c, rx, ry, rz, q[a], q[a + 1], q[a + 2], q[a + 3])
    else:
        w, x, y, z = _times(q[a], q[a + 1], q[a + 2], q[a + 3], c, rx, ry, rz)
    f = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    q[a], q[a + 1], q[a + 2], q[a + 3] = f * w, f * x, f * y, f * z
