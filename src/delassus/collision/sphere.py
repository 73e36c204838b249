"""A sphere against everything: one contact, by the signed distance of its centre to the other shape."""

import math

from numba import njit

from delassus.collision.convex import point_convex
from delassus.collision.distance import TINY, point_box, point_capsule, point_cylinder
from delassus.collision.layout import BOX, CAPSULE, CONVEX, PLANE, put, to_local, to_world
from delassus.collision.triangle import point_triangle


@njit(cache=True, error_model="numpy", forceinline=True)
def sphere_sphere(position, a, b, limit, frame, point, gap, feature, k):
    """Spheres a and b.  Returns the number of contacts written at k: those with gap ≤ limit.

    Plain arrays instead of the tuples other kernels take: there are very many of these, and taking an array out of a
    tuple costs two atomic additions."""
    px, py, pz = position[a, 0], position[a, 1], position[a, 2]
    x, y, z = position[b, 0] - px, position[b, 1] - py, position[b, 2] - pz
    ra, rb = position[a, 3], position[b, 3]
    square = x * x + y * y + z * z
    d = math.sqrt(square)
    if d - ra - rb > limit:
        return 0
    if square > TINY:
        x, y, z = x / d, y / d, z / d
    else:
        x, y, z = 0.0, 0.0, 1.0  # same centre: any direction will do, but always the same
    at = 0.5 * (d + ra - rb)
    frame[k, 0, 0], frame[k, 0, 1], frame[k, 0, 2] = x, y, z
    point[k, 0], point[k, 1], point[k, 2] = px + at * x, py + at * y, pz + at * z
    gap[k], feature[k] = d - ra - rb, 0
    return 1


@njit(cache=True, error_model="numpy")
def sphere_primitive(g, a, b, limit, found, k):
    """Sphere a against plane, box, capsule or cylinder b."""
    kind = g.kind[b]
    x, y, z = to_local(
        g.rotation,
        b,
        g.position[a, 0] - g.position[b, 0],
        g.position[a, 1] - g.position[b, 1],
        g.position[a, 2] - g.position[b, 2],
    )
    if kind == PLANE:
        d, ox, oy, oz = z, 0.0, 0.0, 1.0
    elif kind == BOX:
        d, ox, oy, oz = point_box(x, y, z, g.size[b, 0], g.size[b, 1], g.size[b, 2])
    elif kind == CAPSULE:
        d, ox, oy, oz = point_capsule(x, y, z, g.size[b, 0], g.size[b, 1])
    else:
        d, ox, oy, oz = point_cylinder(x, y, z, g.size[b, 0], g.size[b, 1])
    return _put_at(g, a, b, d, ox, oy, oz, limit, found, k)


@njit(cache=True, error_model="numpy")
def sphere_polyhedron(g, a, b, limit, found, k):
    """Sphere a against hull or mesh triangle b."""
    x, y, z = to_local(
        g.rotation,
        b,
        g.position[a, 0] - g.position[b, 0],
        g.position[a, 1] - g.position[b, 1],
        g.position[a, 2] - g.position[b, 2],
    )
    if g.kind[b] == CONVEX:
        d, ox, oy, oz = point_convex(g, b, x, y, z)
    else:
        counts, d, ox, oy, oz = point_triangle(g, b, x, y, z, g.size[a, 0])
        if not counts:
            return 0
    return _put_at(g, a, b, d, ox, oy, oz, limit, found, k)


@njit(cache=True, error_model="numpy")
def _put_at(g, a, b, d, ox, oy, oz, limit, found, k):
    """The contact of sphere a whose centre is d from shape b, which lies in direction −o (in the frame of b)."""
    r = g.size[a, 0]
    gap = d - r
    if gap > limit:
        return 0
    ox, oy, oz = to_world(g.rotation, b, ox, oy, oz)
    at = 0.5 * (r + d)
    x, y, z = g.position[a, 0] - at * ox, g.position[a, 1] - at * oy, g.position[a, 2] - at * oz
    put(found, k, -ox, -oy, -oz, x, y, z, gap, 0)
    return 1
