"""Nodes of flexible surfaces against shapes: the signed distance of a point."""

import math

import numpy as np

from delassus.collision.layout import (
    BOX,
    CAPSULE,
    CYLINDER,
    MARGIN,
    PLANE,
    SPHERE,
    SUPPORT_ONLY,
    TRIANGLE,
    Polyhedra,
    PosedShapes,
    geometry_of,
    to_local,
    to_world,
)
from delassus.collision.narrow.distance import TINY, point_box, point_capsule, point_convex, point_cylinder
from delassus.collision.narrow.triangle import ON_EDGE, point_triangle
from delassus.collision.surface.facing import node_allows, node_is_nearest
from delassus.collision.surface.posed import Obstacles, PosedSurface
from delassus.collision.surface.rows import put, put_node, rows_of
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def nodes_on_shapes(t, threads, pairs, surface, obstacles, out):
    """Contacts of the nodes that come with share t of the pairs (p, 2) of a shape and a triangle, into the rows of
    `out` (rows.py); goes on counting when these are full.

    surface, obstacles: fields of PosedSurface and Obstacles."""
    surface, obstacles, rows = PosedSurface(*surface), Obstacles(*obstacles), rows_of(out, t)
    nodes, grow, numbers, owned, body = surface.nodes, surface.grow, surface.numbers, surface.owned, surface.body
    solids = geometry_of(PosedShapes(*obstacles.shapes), Polyhedra(*obstacles.polyhedra))
    posed, faces, mesh = solids.shapes, solids.faces, solids.mesh
    position, rotation, kind = posed.position, posed.rotation, posed.kind
    vertex, vertex_start = posed.vertex, posed.vertex_start
    count, n, shapes = 0, len(pairs), len(kind)
    for p in range(n * t // threads, n * (t + 1) // threads):
        s, f = pairs[p, 0], pairs[p, 1]
        for c in range(3):
            k = owned[f, c]
            if k < 0 or kind[s] == SUPPORT_ONLY:
                continue
            v = numbers[k]
            limit = position[s, MARGIN] + obstacles.reach[s] + grow[v]
            deep = surface.material[body[f], 3]
            x, y, z = nodes[v, 0] - position[s, 0], nodes[v, 1] - position[s, 1], nodes[v, 2] - position[s, 2]
            x, y, z = to_local(rotation, s, x, y, z)
            if kind[s] == TRIANGLE:
                there, d, ox, oy, oz = point_triangle(posed, mesh, s, x, y, z, limit + deep)
                if not there:
                    continue
                is_sharp = d > 0.0 and not _on_face(vertex, vertex_start[s], ox, oy, oz)
            else:
                d, ox, oy, oz, is_sharp = _distance(posed, faces, s, x, y, z)
            if d > limit:
                continue
            nx, ny, nz = to_world(rotation, s, ox, oy, oz)
            if kind[s] != PLANE:
                if is_sharp and not node_is_nearest(surface, k, v, -nx, -ny, -nz):
                    continue
                if not node_allows(surface, k, nx, ny, nz):
                    if d >= 0.0 or kind[s] == TRIANGLE:
                        continue
                    d, nx, ny, nz = _way_out(posed, faces, s, (x, y, z), surface, k)
                    if d < -deep:
                        continue
            point, features = (nodes[v, 0], nodes[v, 1], nodes[v, 2]), (np.int64(0), k)
            if put(rows, count, (s, shapes + body[f]), (nx, ny, nz), point, d, features):
                put_node(rows, count, 0, v, 1.0)
            count += 1
    out[2][t] = count


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _distance(shapes, faces, s, x, y, z):
    """(distance, where it grows, whether an edge or a corner is what is nearest) of a point in the frame of shape s."""
    kind, size = shapes.kind[s], shapes.size
    if kind == PLANE:
        return z, 0.0, 0.0, 1.0, False
    if kind == SPHERE:
        square = x * x + y * y + z * z
        d = math.sqrt(square)
        if square > TINY:
            return d - size[s, 0], x / d, y / d, z / d, False
        return -size[s, 0], 0.0, 0.0, 1.0, False
    if kind == BOX:
        d, ox, oy, oz = point_box(x, y, z, size[s, 0], size[s, 1], size[s, 2])
        return d, ox, oy, oz, d > 0.0 and max(abs(ox), abs(oy), abs(oz)) < 1.0 - ON_EDGE
    if kind == CAPSULE:
        d, ox, oy, oz = point_capsule(x, y, z, size[s, 0], size[s, 1])
        return d, ox, oy, oz, False
    if kind == CYLINDER:
        d, ox, oy, oz = point_cylinder(x, y, z, size[s, 0], size[s, 1])
        return d, ox, oy, oz, d > 0.0 and ON_EDGE < abs(oz) < 1.0 - ON_EDGE
    d, ox, oy, oz = point_convex(shapes.vertex, shapes.vertex_start[s], faces, s, x, y, z)
    best, face_normal = -1.0, faces.face_normal
    for f in range(faces.shape_face[s], faces.shape_face[s + 1]):
        best = max(best, ox * face_normal[f, 0] + oy * face_normal[f, 1] + oz * face_normal[f, 2])
    return d, ox, oy, oz, d > 0.0 and best < 1.0 - ON_EDGE


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _on_face(vertex, v, ox, oy, oz):
    """Whether o is the normal of the mesh triangle with corners v, v + 1, v + 2."""
    ux, uy, uz = vertex[v + 1, 0] - vertex[v, 0], vertex[v + 1, 1] - vertex[v, 1], vertex[v + 1, 2] - vertex[v, 2]
    wx, wy, wz = vertex[v + 2, 0] - vertex[v, 0], vertex[v + 2, 1] - vertex[v, 1], vertex[v + 2, 2] - vertex[v, 2]
    nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    return ox * nx + oy * ny + oz * nz > (1.0 - ON_EDGE) * math.sqrt(nx * nx + ny * ny + nz * nz)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _way_out(shapes, faces, s, point, surface, k):
    """(signed distance, normal) of the nearest face of a box, a cylinder or a hull that surface node k, inside it, can
    have come through: one that looks at the surface there. Minus infinity without one."""
    kind, size, vertex, (x, y, z) = shapes.kind[s], shapes.size, shapes.vertex, point
    first, begin, face_normal = shapes.vertex_start[s], faces.shape_face[s], faces.face_normal
    best, bx, by, bz = -math.inf, 0.0, 0.0, 0.0
    count = 0
    if kind == BOX:
        count = 6
    elif kind == CYLINDER:
        count = 3
    elif kind != SPHERE and kind != CAPSULE:
        count = faces.shape_face[s + 1] - begin
    for f in range(count):
        if kind == BOX:
            up = 1.0 if f & 1 else -1.0
            ox, oy, oz = (up if f < 2 else 0.0), (up if 2 <= f < 4 else 0.0), (up if f >= 4 else 0.0)
            d = ox * x + oy * y + oz * z - size[s, f // 2]
        elif kind == CYLINDER:
            rho = math.sqrt(x * x + y * y)
            if f == 2:
                ox, oy, oz = (x / rho, y / rho, 0.0) if rho > 0.0 else (1.0, 0.0, 0.0)
                d = rho - size[s, 0]
            else:
                ox, oy, oz = 0.0, 0.0, (1.0 if f else -1.0)
                d = oz * z - size[s, 1]
        else:
            ox, oy, oz = face_normal[begin + f, 0], face_normal[begin + f, 1], face_normal[begin + f, 2]
            v = first + faces.face[faces.face_start[begin + f]]
            d = ox * (x - vertex[v, 0]) + oy * (y - vertex[v, 1]) + oz * (z - vertex[v, 2])
        if d > best:
            nx, ny, nz = to_world(shapes.rotation, s, ox, oy, oz)
            if node_allows(surface, k, nx, ny, nz):
                best, bx, by, bz = d, nx, ny, nz
    return best, bx, by, bz
