"""Hulls: the signed distance of a point, from the faces."""

import math

from numba import njit

from delassus.collision.narrow.distance import TINY


@njit(cache=True, error_model="numpy")
def point_convex(vertex, face, face_start, face_normal, first, begin, end, x, y, z):
    """(distance, ox, oy, oz) of a point in the frame of a hull, as in distance.py.  first: its first vertex; begin,
    end: its faces."""
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
        dx, dy, dz = _off_face(vertex, face, face_start, first, f, nx, ny, nz, d, x, y, z)
        now = dx * dx + dy * dy + dz * dz
        if now < square:
            square, ox, oy, oz = now, dx, dy, dz
    if square <= TINY:
        return 0.0, bx, by, bz
    d = math.sqrt(square)
    return d, ox / d, oy / d, oz / d


@njit(cache=True, error_model="numpy")
def _off_face(vertex, face, face_start, first, f, nx, ny, nz, d, x, y, z):
    """The point minus its nearest point on face f, whose plane it is d in front of."""
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
