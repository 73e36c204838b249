"""A sphere against everything: one contact, by the signed distance of its centre to the other shape."""

import math

import numpy as np

from delassus.collision.layout import BOX, CAPSULE, put, to_local, to_world
from delassus.collision.narrow.distance import TINY, point_box, point_capsule, point_convex, point_cylinder
from delassus.collision.narrow.triangle import point_triangle
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def sphere_sphere(position, a, b, contacts, k):
    """The contact of spheres a and b, straight into row k of the result: that they are near enough is known from the
    broad phase. There are very many of these, and memory is what they wait for."""
    frame, point, gap = contacts.frame, contacts.point, contacts.gap
    px, py, pz = position[a, 0], position[a, 1], position[a, 2]
    x, y, z = position[b, 0] - px, position[b, 1] - py, position[b, 2] - pz
    ra, rb = position[a, 3], position[b, 3]
    square = x * x + y * y + z * z
    d = math.sqrt(square)
    if square > TINY:
        x, y, z = x / d, y / d, z / d
    else:
        x, y, z = 0.0, 0.0, 1.0  # same centre: any direction will do, but always the same
    at = 0.5 * (d + ra - rb)
    frame[k, 0, 0], frame[k, 0, 1], frame[k, 0, 2] = x, y, z
    point[k, 0], point[k, 1], point[k, 2] = px + at * x, py + at * y, pz + at * z
    gap[k] = d - ra - rb


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def sphere_on_plane(position, R, a, b, sign, contacts, k):
    """The contact of sphere a and plane b, straight into row k of the result; sign: 1 for a normal out of the plane."""
    frame, point, gap = contacts.frame, contacts.point, contacts.gap
    nx, ny, nz, r = R[b, 0, 2], R[b, 1, 2], R[b, 2, 2], position[a, 3]
    x, y, z = position[a, 0], position[a, 1], position[a, 2]
    d = nx * (x - position[b, 0]) + ny * (y - position[b, 1]) + nz * (z - position[b, 2])
    at = 0.5 * (r + d)
    frame[k, 0, 0], frame[k, 0, 1], frame[k, 0, 2] = sign * nx, sign * ny, sign * nz
    point[k, 0], point[k, 1], point[k, 2] = x - at * nx, y - at * ny, z - at * nz
    gap[k] = d - r


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def sphere_solid(shapes, pair, out, scratch):
    """Sphere a against box, capsule or cylinder b.  Returns the number of contacts written; so do the others."""
    size, kind, b = shapes.size, shapes.kind, pair.b
    x, y, z = _centre_in(shapes, pair)
    if kind[b] == BOX:
        d, ox, oy, oz = point_box(x, y, z, size[b, 0], size[b, 1], size[b, 2])
    elif kind[b] == CAPSULE:
        d, ox, oy, oz = point_capsule(x, y, z, size[b, 0], size[b, 1])
    else:
        d, ox, oy, oz = point_cylinder(x, y, z, size[b, 0], size[b, 1])
    return _put_at(shapes, pair, d, ox, oy, oz, out)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def sphere_hull(geometry, pair, out, scratch):
    """Sphere a against hull b."""
    shapes = geometry.shapes
    x, y, z = _centre_in(shapes, pair)
    d, ox, oy, oz = point_convex(shapes.vertex, shapes.vertex_start[pair.b], geometry.faces, pair.b, x, y, z)
    return _put_at(shapes, pair, d, ox, oy, oz, out)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def sphere_triangle(geometry, pair, out, scratch):
    """Sphere a against mesh triangle b."""
    shapes = geometry.shapes
    x, y, z = _centre_in(shapes, pair)
    counts, d, ox, oy, oz = point_triangle(shapes, geometry.mesh, pair.b, x, y, z, shapes.position[pair.a, 3])
    if not counts:
        return 0
    return _put_at(shapes, pair, d, ox, oy, oz, out)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _centre_in(shapes, pair):
    """The centre of a in the frame of b."""
    position, a, b = shapes.position, pair.a, pair.b
    x, y, z = position[a, 0] - position[b, 0], position[a, 1] - position[b, 1], position[a, 2] - position[b, 2]
    return to_local(shapes.rotation, b, x, y, z)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _put_at(shapes, pair, d, ox, oy, oz, out):
    """The contact of sphere a whose centre is d from shape b, which lies in direction −o (in the frame of b)."""
    position, a = shapes.position, pair.a
    r = position[a, 3]
    if d - r > pair.limit:
        return 0
    ox, oy, oz = to_world(shapes.rotation, pair.b, ox, oy, oz)
    at = 0.5 * (r + d)
    point = (position[a, 0] - at * ox, position[a, 1] - at * oy, position[a, 2] - at * oz)
    put(out, pair.row, (-ox, -oy, -oz), point, d - r, np.int64(0))
    return 1
