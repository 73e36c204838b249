"""Signed distance of a point to a shape and of two segments: the mathematics under most pairs.

Point functions work in the shape's frame and return (distance, ox, oy, oz): negative inside, and the unit direction in
which the distance grows. The nearest surface point is p − distance · o."""

import math

from numba import njit

TINY = 1e-150  # squared lengths below this have no direction


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
def segments_nearest(px, py, pz, ux, uy, uz, a, qx, qy, qz, vx, vy, vz, b):
    """(s, t) of the nearest points p + s u and q + t v of two segments |s| ≤ a, |t| ≤ b; u, v are unit vectors
    (Ericson, Real-Time Collision Detection, 5.1.9, about midpoints)."""
    rx, ry, rz = qx - px, qy - py, qz - pz
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
