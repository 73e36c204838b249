"""The point midway between two faces that look at each other but do not overlap, seen along their common direction."""

import math

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_ROUNDS = 32  # projections from one face to the other; of two edges that are nearly parallel any point will do
_DONE = 1e-12  # squared step, over the squared distance walked, at which they end


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def between_faces(one, two, n, point):
    """Write the point (3,) midway between two faces.  one, two: (·, 3) corners [m] of convex polygons, segments or
    points; n: unit vector along which they are seen.  Alternating projections (Cheney and Goldstein 1959)."""
    x, y, z = one[0, 0], one[0, 1], one[0, 2]
    px, py, pz = x, y, z
    for _ in range(_ROUNDS):
        px, py, pz = _nearest_in(two, n, x, y, z)
        qx, qy, qz = _nearest_in(one, n, px, py, pz)
        step = (qx - x) ** 2 + (qy - y) ** 2 + (qz - z) ** 2
        x, y, z = qx, qy, qz
        if step <= _DONE * ((px - x) ** 2 + (py - y) ** 2 + (pz - z) ** 2) + 1e-300:
            break
    point[0], point[1], point[2] = 0.5 * (x + px), 0.5 * (y + py), 0.5 * (z + pz)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _nearest_in(face, n, x, y, z):
    """The point of a face that is nearest to a point, seen along n.  Inside the face it is the point itself, at the
    height of the face's first corner."""
    best, lowest, highest = math.inf, math.inf, -math.inf
    bx, by, bz = face[0, 0], face[0, 1], face[0, 2]
    for c in range(len(face)):
        d = c + 1 if c + 1 < len(face) else 0
        ex, ey, ez = face[d, 0] - face[c, 0], face[d, 1] - face[c, 1], face[d, 2] - face[c, 2]
        wx, wy, wz = x - face[c, 0], y - face[c, 1], z - face[c, 2]
        height = wx * n[0] + wy * n[1] + wz * n[2]
        wx, wy, wz = wx - height * n[0], wy - height * n[1], wz - height * n[2]
        square = ex * ex + ey * ey + ez * ez
        t = min(max((wx * ex + wy * ey + wz * ez) / square, 0.0), 1.0) if square > 0.0 else 0.0
        distance = (wx - t * ex) ** 2 + (wy - t * ey) ** 2 + (wz - t * ez) ** 2
        if distance < best:
            best = distance
            bx, by, bz = face[c, 0] + t * ex, face[c, 1] + t * ey, face[c, 2] + t * ez
        across = (ey * wz - ez * wy) * n[0] + (ez * wx - ex * wz) * n[1] + (ex * wy - ey * wx) * n[2]
        lowest, highest = min(lowest, across), max(highest, across)
    if len(face) > 2 and (lowest >= 0.0 or highest <= 0.0):
        wx, wy, wz = x - face[0, 0], y - face[0, 1], z - face[0, 2]
        height = wx * n[0] + wy * n[1] + wz * n[2]
        return x - height * n[0], y - height * n[1], z - height * n[2]
    return bx, by, bz
