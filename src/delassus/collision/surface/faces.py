"""Corners of shapes against faces of flexible surfaces: what pokes into a face between its nodes.

The points of a shape that look at a face (the corners of its own face there, the ends of a ruling, the nearest point of
a ball) are held against the face's plane: the gap grows along the face's normal, in front of it and behind. Behind it,
a point counts only where it is inside, and this is the face it came through (hidden.py)."""

import math

import numpy as np

from delassus.collision.layout import (
    CONVEX,
    CYLINDER,
    MARGIN,
    PLANE,
    TRIANGLE,
    Polyhedra,
    PosedShapes,
    geometry_of,
    to_local,
)
from delassus.collision.narrow.faces import looking_face, support
from delassus.collision.narrow.gjk import core_point, skin
from delassus.collision.narrow.triangle import ON_EDGE
from delassus.collision.surface.facing import FACING
from delassus.collision.surface.rows import HEIGHT, NODE, ON_RIM, put
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_SLACK = 0.1  # of a shape's radius: points that lie further back than this behind its foremost one do not look there
_SAME = 1e-12  # of the coordinates: corners this near are one


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def corners_on_faces(t, threads, pairs, scratch, surface, geometry, reach, real, whole, counts):
    """Contacts of share t of the pairs (p, 2) of a shape and a triangle, into real[t] and whole[t]; goes on counting
    when out of room.

    scratch: (threads, ·, 3), room for corners; surface: (nodes (n, 3), grow (n,), triangles, triangle_body, material,
    normal, number of the first triangle among features); geometry, reach: as in nodes.py, and the shapes' radii."""
    nodes, grow, triangles, body, material, normal, first = surface
    solids, radius = geometry_of(PosedShapes(*geometry[0][0]), Polyhedra(*geometry[0][1])), geometry[1]
    posed, mesh = solids.shapes, solids.mesh
    position, R, size, kind = posed.position, posed.rotation, posed.size, posed.kind
    corners, count, n, shapes = scratch[t], 0, len(pairs), len(kind)
    for p in range(n * t // threads, n * (t + 1) // threads):
        s, f = pairs[p, 0], pairs[p, 1]
        mx, my, mz = normal[f, 0], normal[f, 1], normal[f, 2]
        if kind[s] == PLANE or mx * mx + my * my + mz * mz < 0.5:
            continue
        i, j, k = triangles[f, 0], triangles[f, 1], triangles[f, 2]
        limit = position[s, MARGIN] + reach[s] + max(grow[i], grow[j], grow[k])
        ax, ay, az = nodes[i, 0], nodes[i, 1], nodes[i, 2]
        height = mx * (position[s, 0] - ax) + my * (position[s, 1] - ay) + mz * (position[s, 2] - az)
        lowest = height - support(posed, s, -mx, -my, -mz)
        deep = material[body[f], 3] + skin(s, kind, size)
        slack = _SLACK * radius[s]
        if lowest > limit or lowest + slack < -deep:
            continue
        many, _ = looking_face(posed, solids.faces, s, -mx, -my, -mz, corners)
        if kind[s] == CONVEX or (kind[s] == CYLINDER and many > 2):
            # the foremost point need not be on the face that looks there most, nor among the points of a rim
            x, y, z = core_point(posed, s, s, -mx, -my, -mz)
            many = _add(corners, many, x, y, z)
        for c in range(many):
            if kind[s] == TRIANGLE:
                nx, ny, nz = to_local(R, s, mx, my, mz)
                if not _sticks_out(posed, mesh, s, c, nx, ny, nz):
                    continue
            x, y, z = corners[c, 0], corners[c, 1], corners[c, 2]
            gap = mx * (x - ax) + my * (y - ay) + mz * (z - az)
            if gap > min(limit, lowest + slack) or gap < -deep:
                continue
            w0, w1, w2 = weights_above(nodes, i, j, k, mx, my, mz, x, y, z)
            least = min(w0, w1, w2)
            if least < -ON_EDGE:
                continue
            qx, qy, qz = x - gap * mx, y - gap * my, z - gap * mz
            if put(
                real[t], whole[t], count, s, shapes + body[f], -mx, -my, -mz, qx, qy, qz, gap, np.int64(1 + c),
                first + f,
            ):  # fmt: skip
                real[t, count, 7], real[t, count, 8], real[t, count, 9] = w0, w1, w2
                whole[t, count, NODE], whole[t, count, NODE + 1], whole[t, count, NODE + 2] = i, j, k
                real[t, count, HEIGHT] = gap + skin(s, kind, size)
                whole[t, count, ON_RIM] = 1 if least < ON_EDGE else 0
            count += 1
    counts[t] = count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _sticks_out(shapes, mesh, s, c, mx, my, mz):
    """Whether corner c of mesh triangle s is its own to report, and can poke into a face with normal m, in its frame:
    it looks there, or an edge at the corner leads behind it."""
    vertex, v, t = shapes.vertex, shapes.vertex_start[s], mesh.triangle[s]
    corner, corner_start = mesh.corner, mesh.corner_start
    begin, end = corner_start[3 * t + c], corner_start[3 * t + c + 1]
    if begin == end:
        return False
    ux, uy, uz = vertex[v + 1, 0] - vertex[v, 0], vertex[v + 1, 1] - vertex[v, 1], vertex[v + 1, 2] - vertex[v, 2]
    wx, wy, wz = vertex[v + 2, 0] - vertex[v, 0], vertex[v + 2, 1] - vertex[v, 1], vertex[v + 2, 2] - vertex[v, 2]
    nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    if nx * mx + ny * my + nz * mz < -FACING * length:
        return True
    for k in range(begin + 1, end):
        if corner[k, 0] * nx + corner[k, 1] * ny + corner[k, 2] * nz < -ON_EDGE * length:
            return True
    return False


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _add(corners, many, x, y, z):
    """One more corner after `many`, where none of them is there."""
    for c in range(many):
        far = abs(corners[c, 0] - x) + abs(corners[c, 1] - y) + abs(corners[c, 2] - z)
        if far <= _SAME * (abs(x) + abs(y) + abs(z)):
            return many
    corners[many, 0], corners[many, 1], corners[many, 2] = x, y, z
    return many + 1


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def weights_above(nodes, i, j, k, mx, my, mz, x, y, z):
    """Barycentric coordinates of a point projected along the unit normal m of triangle (i, j, k)."""
    ux, uy, uz = nodes[j, 0] - nodes[i, 0], nodes[j, 1] - nodes[i, 1], nodes[j, 2] - nodes[i, 2]
    wx, wy, wz = nodes[k, 0] - nodes[i, 0], nodes[k, 1] - nodes[i, 1], nodes[k, 2] - nodes[i, 2]
    x, y, z = x - nodes[i, 0], y - nodes[i, 1], z - nodes[i, 2]
    area = mx * (uy * wz - uz * wy) + my * (uz * wx - ux * wz) + mz * (ux * wy - uy * wx)
    w1 = (mx * (y * wz - z * wy) + my * (z * wx - x * wz) + mz * (x * wy - y * wx)) / area
    w2 = (mx * (uy * z - uz * y) + my * (uz * x - ux * z) + mz * (ux * y - uy * x)) / area
    return 1.0 - w1 - w2, w1, w2
