"""Signed distance of a point to a shape and of two segments: the mathematics under most pairs.

Point functions work in the shape's frame and return (distance, ox, oy, oz): negative inside, and the unit direction in
which the distance grows. The nearest surface point is p − distance · o."""

import math
from typing import NamedTuple

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

TINY = 1e-150  # squared lengths below this have no direction


class Segment(NamedTuple):
    """The points c + t u, |t| ≤ half."""

    cx: float  # its middle [m]
    cy: float
    cz: float
    ux: float  # unit vector along it
    uy: float
    uz: float
    half: float  # half its length [m]


@njit(cache=True)
def point_box(x, y, z, hx, hy, hz):
    """A box of half edges h: outside by clamping, inside by the nearest face (ties: the first axis)."""
    dx = x - min(max(x, -hx), hx)
    dy = y - min(max(y, -hy), hy)
    dz = z - min(max(z, -hz), hz)
    square = dx * dx + dy * dy + dz * dz
    if square > TINY:
        d = math.sqrt(square)
        return d, dx / d, dy / d, dz / d
    fx, fy, fz = abs(x) - hx, abs(y) - hy, abs(z) - hz
    if fx >= fy and fx >= fz:
        return fx, math.copysign(1.0, x), 0.0, 0.0
    if fy >= fz:
        return fy, 0.0, math.copysign(1.0, y), 0.0
    return fz, 0.0, 0.0, math.copysign(1.0, z)


@njit(cache=True)
def point_capsule(x, y, z, r, h):
    """A capsule: the segment |z| ≤ h thickened by r."""
    dz = z - min(max(z, -h), h)
    square = x * x + y * y + dz * dz
    if square > TINY:
        d = math.sqrt(square)
        return d - r, x / d, y / d, dz / d
    return -r, 1.0, 0.0, 0.0


@njit(cache=True)
def point_cylinder(x, y, z, r, h):
    """A cylinder of radius r and half length h."""
    rho = math.sqrt(x * x + y * y)
    if rho > 0.0:
        ux, uy = x / rho, y / rho
    else:
        ux, uy = 1.0, 0.0
    side, end = rho - r, abs(z) - h
    up = math.copysign(1.0, z)
    if side > 0.0 and end > 0.0:
        d = math.sqrt(side * side + end * end)
        return d, side / d * ux, side / d * uy, end / d * up
    if side >= end:
        return side, ux, uy, 0.0
    return end, 0.0, 0.0, up


@njit(cache=True)
def segments_nearest(p, q):
    """(s, t) of the nearest points of two segments (Ericson, Real-Time Collision Detection, 5.1.9, about midpoints)."""
    a, b = p.half, q.half
    ux, uy, uz = p.ux, p.uy, p.uz
    vx, vy, vz = q.ux, q.uy, q.uz
    rx, ry, rz = q.cx - p.cx, q.cy - p.cy, q.cz - p.cz
    c = ux * vx + uy * vy + uz * vz
    d1 = ux * rx + uy * ry + uz * rz
    d2 = vx * rx + vy * ry + vz * rz
    det = 1.0 - c * c
    if det > 1e-14:
        s = min(max((d1 - c * d2) / det, -a), a)
    else:
        # parallel: the middle of the overlap as seen from p
        lo, hi = max(-a, d1 - b), min(a, d1 + b)
        s = min(max(0.5 * (lo + hi), -a), a)
    t = c * s - d2
    if t < -b:
        t = -b
        s = min(max(d1 + c * t, -a), a)
    elif t > b:
        t = b
        s = min(max(d1 + c * t, -a), a)
    return s, t


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def point_convex(vertex, first, faces, s, x, y, z):
    """(distance, ox, oy, oz) of a point in the frame of hull s, whose first vertex is `first`."""
    face, face_start, face_normal = faces.face, faces.face_start, faces.face_normal
    begin, end = faces.shape_face[s], faces.shape_face[s + 1]
    best, bx, by, bz = -math.inf, 1.0, 0.0, 0.0
    for f in range(begin, end):
        nx, ny, nz = face_normal[f, 0], face_normal[f, 1], face_normal[f, 2]
        v = first + face[face_start[f]]
        d = nx * (x - vertex[v, 0]) + ny * (y - vertex[v, 1]) + nz * (z - vertex[v, 2])
        if d > best:
            best, bx, by, bz = d, nx, ny, nz
    if best <= 0.0:
        return best, bx, by, bz
    # Outside: the nearest point lies on a face the point is in front of.
    square, ox, oy, oz = math.inf, bx, by, bz
    for f in range(begin, end):
        nx, ny, nz = face_normal[f, 0], face_normal[f, 1], face_normal[f, 2]
        v = first + face[face_start[f]]
        d = nx * (x - vertex[v, 0]) + ny * (y - vertex[v, 1]) + nz * (z - vertex[v, 2])
        if d <= 0.0 or d * d >= square:
            continue
        dx, dy, dz = _off_face(vertex, faces, first, f, d, x, y, z)
        now = dx * dx + dy * dy + dz * dz
        if now < square:
            square, ox, oy, oz = now, dx, dy, dz
    if square <= TINY:
        return 0.0, bx, by, bz
    d = math.sqrt(square)
    return d, ox / d, oy / d, oz / d


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _off_face(vertex, faces, first, f, d, x, y, z):
    """The point minus its nearest point on face f, whose plane it is d in front of."""
    face, face_start, face_normal = faces.face, faces.face_start, faces.face_normal
    nx, ny, nz = face_normal[f, 0], face_normal[f, 1], face_normal[f, 2]
    lo, hi = face_start[f], face_start[f + 1]
    inside = True
    best, ox, oy, oz = math.inf, 0.0, 0.0, 0.0
    for c in range(lo, hi):
        p = first + face[c]
        q = first + face[c + 1 if c + 1 < hi else lo]
        ex = vertex[q, 0] - vertex[p, 0]
        ey = vertex[q, 1] - vertex[p, 1]
        ez = vertex[q, 2] - vertex[p, 2]
        wx, wy, wz = x - vertex[p, 0], y - vertex[p, 1], z - vertex[p, 2]
        # outside this edge of an anticlockwise face: (n × e) · w < 0
        if (ny * ez - nz * ey) * wx + (nz * ex - nx * ez) * wy + (nx * ey - ny * ex) * wz < 0.0:
            inside = False
            t = min(max((ex * wx + ey * wy + ez * wz) / (ex * ex + ey * ey + ez * ez), 0.0), 1.0)
            wx, wy, wz = wx - t * ex, wy - t * ey, wz - t * ez
            now = wx * wx + wy * wy + wz * wz
            if now < best:
                best, ox, oy, oz = now, wx, wy, wz
    if inside:
        return d * nx, d * ny, d * nz
    return ox, oy, oz
