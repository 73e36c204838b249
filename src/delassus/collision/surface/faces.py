"""Corners of shapes against faces of flexible surfaces: what pokes into a face between its nodes.

The points of a shape that look at a face (the corners of its own face there, the ends of a ruling, the nearest point of
a ball) are compared with the face's plane: the gap grows along the face's normal, in front of it and behind. Behind it,
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
from delassus.collision.surface.posed import Obstacles, PosedSurface
from delassus.collision.surface.rows import HEIGHT, ON_RIM, put, put_node, rows_of
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_SLACK = 0.1  # of a shape's radius: points that lie further back than this behind its foremost one do not look there
_SAME = 1e-12  # of the coordinates: corners this near are one


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def corners_on_faces(t, threads, pairs, scratch, surface, obstacles, out):
    """Contacts of share t of the pairs (p, 2) of a shape and a triangle, into the rows of `out` (rows.py); goes on
    counting when these are full.

    scratch: (threads, ·, 3), for corners; surface, obstacles: fields of PosedSurface and Obstacles."""
    surface, obstacles, rows = PosedSurface(*surface), Obstacles(*obstacles), rows_of(out, t)
    nodes, grow, normal = surface.nodes, surface.grow, surface.normal
    triangles, body = surface.triangles, surface.body
    first = len(surface.numbers) + len(surface.edges)  # number of the first triangle among features
    solids = geometry_of(PosedShapes(*obstacles.shapes), Polyhedra(*obstacles.polyhedra))
    posed, mesh = solids.shapes, solids.mesh
    position, R, size, kind = posed.position, posed.rotation, posed.size, posed.kind
    corners, count, n, shapes = scratch[t], 0, len(pairs), len(kind)
    for p in range(n * t // threads, n * (t + 1) // threads):
        s, f = pairs[p, 0], pairs[p, 1]
        mx, my, mz = normal[f, 0], normal[f, 1], normal[f, 2]
        if kind[s] == PLANE or mx * mx + my * my + mz * mz < 0.5:
            continue
        i, j, k = triangles[f, 0], triangles[f, 1], triangles[f, 2]
        limit = position[s, MARGIN] + obstacles.reach[s] + max(grow[i], grow[j], grow[k])
        ax, ay, az = nodes[i, 0], nodes[i, 1], nodes[i, 2]
        height = mx * (position[s, 0] - ax) + my * (position[s, 1] - ay) + mz * (position[s, 2] - az)
        lowest = height - support(posed, s, -mx, -my, -mz)
        deep = surface.material[body[f], 3] + skin(s, kind, size)
        slack = _SLACK * obstacles.radius[s]
        if lowest > limit or lowest + slack < -deep:
            continue
        number, _ = looking_face(posed, solids.faces, s, -mx, -my, -mz, corners)
        if kind[s] == CONVEX or (kind[s] == CYLINDER and number > 2):
            # the foremost point need not be on the face that looks there most, nor among the points of a rim
            x, y, z = core_point(posed, s, s, -mx, -my, -mz)
            number = _add(corners, number, x, y, z)
        for c in range(number):
            if kind[s] == TRIANGLE:
                nx, ny, nz = to_local(R, s, mx, my, mz)
                if not _sticks_out(posed, mesh, s, c, nx, ny, nz):
                    continue
            x, y, z = corners[c, 0], corners[c, 1], corners[c, 2]
            gap = mx * (x - ax) + my * (y - ay) + mz * (z - az)
            if gap > min(limit, lowest + slack) or gap < -deep:
                continue
            w0, w1, w2 = weights_above(nodes, (i, j, k), (mx, my, mz), (x, y, z))
            least = min(w0, w1, w2)
            if least < -ON_EDGE:
                continue
            qx, qy, qz = x - gap * mx, y - gap * my, z - gap * mz
            features = (np.int64(1 + c), first + f)
            if put(rows, count, (s, shapes + body[f]), (-mx, -my, -mz), (qx, qy, qz), gap, features):
                put_node(rows, count, 0, i, w0)
                put_node(rows, count, 1, j, w1)
                put_node(rows, count, 2, k, w2)
                rows.real[count, HEIGHT] = gap + skin(s, kind, size)
                rows.whole[count, ON_RIM] = 1 if least < ON_EDGE else 0
            count += 1
    out[2][t] = count


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
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
def _add(corners, number, x, y, z):
    """One more corner after the first `number`, where none of them is there.  Returns their number."""
    for c in range(number):
        far = abs(corners[c, 0] - x) + abs(corners[c, 1] - y) + abs(corners[c, 2] - z)
        if far <= _SAME * (abs(x) + abs(y) + abs(z)):
            return number
    corners[number, 0], corners[number, 1], corners[number, 2] = x, y, z
    return number + 1


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def weights_above(nodes, triangle, normal, point):
    """Barycentric coordinates of a point projected along the unit normal of a triangle of three nodes."""
    (i, j, k), (mx, my, mz), (x, y, z) = triangle, normal, point
    ux, uy, uz = nodes[j, 0] - nodes[i, 0], nodes[j, 1] - nodes[i, 1], nodes[j, 2] - nodes[i, 2]
    wx, wy, wz = nodes[k, 0] - nodes[i, 0], nodes[k, 1] - nodes[i, 1], nodes[k, 2] - nodes[i, 2]
    x, y, z = x - nodes[i, 0], y - nodes[i, 1], z - nodes[i, 2]
    area = mx * (uy * wz - uz * wy) + my * (uz * wx - ux * wz) + mz * (ux * wy - uy * wx)
    w1 = (mx * (y * wz - z * wy) + my * (z * wx - x * wz) + mz * (x * wy - y * wx)) / area
    w2 = (mx * (uy * z - uz * y) + my * (uz * x - ux * z) + mz * (ux * y - uy * x)) / area
    return 1.0 - w1 - w2, w1, w2
