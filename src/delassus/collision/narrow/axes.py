"""Separating axes of two solids: the directions of their faces, and those across an edge of each.

Of polyhedra these are all that can be the shortest way out (the separating-axis theorem); a pair of edges only counts
where both can touch there, which follows from their faces. A cylinder has two faces and an edge along its axis, a
capsule only that; what their round sides do besides is left to `descend` in gjk.py."""

import math
from typing import NamedTuple

import numpy as np

from delassus.collision.layout import BOX, CAPSULE, CONVEX, CYLINDER, TRIANGLE, to_local, to_world
from delassus.collision.narrow.distance import Segment
from delassus.collision.narrow.faces import support
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

EDGE_PAIRS = 40_000  # at most so many are tried: beyond, hulls are round
_PARALLEL = 1e-6  # sine of the angle below which edges are parallel: then a face does as well
_BESIDE = 1e-9  # of a unit vector: how far a direction may be out of the cone of an edge


class EdgeAxis(NamedTuple):
    """A direction across an edge of one shape and one of the other."""

    distance: float  # of the shapes along it [m]
    x: float  # unit vector from the first shape to the second
    y: float
    z: float
    one: np.int64  # the edges, −1 where the direction belongs to none
    two: np.int64


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def along(shapes, a, b, nx, ny, nz):
    """Distance of shapes a and b along the unit vector n from a to b: negative where they overlap [m]."""
    position = shapes.position
    x, y, z = position[b, 0] - position[a, 0], position[b, 1] - position[a, 1], position[b, 2] - position[a, 2]
    reach = support(shapes, a, nx, ny, nz)
    reach += support(shapes, b, -nx, -ny, -nz)
    return nx * x + ny * y + nz * z - reach


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def best_face(shapes, faces, a, b, bias, limit):
    """(distance, nx, ny, nz) along the normal from a to b of the face that separates them most, or overlaps least: one
    of b must be better by `bias`; the first that separates them by more than `limit`."""
    position = shapes.position
    best, bx, by, bz = -math.inf, 0.0, 0.0, 1.0
    for side in range(2):
        s, o, sign = (a, b, 1.0) if side == 0 else (b, a, -1.0)
        x, y, z = position[o, 0] - position[s, 0], position[o, 1] - position[s, 1], position[o, 2] - position[s, 2]
        for f in range(_face_count(shapes.kind, faces.shape_face, s)):
            nx, ny, nz, own = _face(shapes, faces, s, f)
            far = nx * x + ny * y + nz * z - own
            far -= support(shapes, o, -nx, -ny, -nz)
            if far > best + bias * side:
                best, bx, by, bz = far, sign * nx, sign * ny, sign * nz
                if far > limit:
                    return best, bx, by, bz
    return best, bx, by, bz


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _face_count(kind, shape_face, s):
    """Number of flat faces of shape s."""
    if kind[s] == BOX:
        return 6
    if kind[s] == CYLINDER or kind[s] == TRIANGLE:
        return 2
    return 0 if kind[s] == CAPSULE else shape_face[s + 1] - shape_face[s]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _face(shapes, faces, s, f):
    """(outward unit normal of face f of shape s in the world, its distance from the origin of s)."""
    R, size, kind, vertex = shapes.rotation, shapes.size, shapes.kind, shapes.vertex
    if kind[s] == BOX or kind[s] == CYLINDER:
        axis = f // 2 if kind[s] == BOX else 2
        own, turn = size[s, axis if kind[s] == BOX else 1], 1.0 - 2.0 * (f % 2)
        return turn * R[s, 0, axis], turn * R[s, 1, axis], turn * R[s, 2, axis], own
    first = shapes.vertex_start[s]
    if kind[s] == TRIANGLE:
        nx, ny, nz = triangle_normal(vertex, first)
        if f:
            nx, ny, nz = -nx, -ny, -nz
    else:
        g = faces.shape_face[s] + f
        nx, ny, nz = faces.face_normal[g, 0], faces.face_normal[g, 1], faces.face_normal[g, 2]
        first += faces.face[faces.face_start[g]]
    own = nx * vertex[first, 0] + ny * vertex[first, 1] + nz * vertex[first, 2]
    nx, ny, nz = to_world(R, s, nx, ny, nz)
    return nx, ny, nz, own


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def triangle_normal(vertex, v):
    """Unit normal of the triangle with corners v, v + 1, v + 2."""
    ax, ay, az = vertex[v + 1, 0] - vertex[v, 0], vertex[v + 1, 1] - vertex[v, 1], vertex[v + 1, 2] - vertex[v, 2]
    bx, by, bz = vertex[v + 2, 0] - vertex[v, 0], vertex[v + 2, 1] - vertex[v, 1], vertex[v + 2, 2] - vertex[v, 2]
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    length = math.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def best_edges(shapes, edges, a, b, best, limit):
    """The best axis across an edge of a and one of b, where the distance along it is above `best`; the first above
    `limit`.  An edge: see `edge_of`."""
    if shapes.kind[b] == CYLINDER:
        return _across_axes(shapes, a, b, best)
    return _across_edges(shapes, edges, a, b, best, limit)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def edge_of(shapes, edges, s, e, nx, ny, nz):
    """Edge e of solid s which lies furthest along n, in the world.  Edges of hulls and triangles are rows of `edge`,
    those of a box its axes; what is round has lines along its axis."""
    position, R, size, kind = shapes.position, shapes.rotation, shapes.size, shapes.kind
    vertex, edge = shapes.vertex, edges.edge
    if kind[s] == CONVEX or kind[s] == TRIANGLE:
        v, half = shapes.vertex_start[s] + int(edge[e, 0]), 0.5 * edge[e, 10]
        ux, uy, uz = edge[e, 1], edge[e, 2], edge[e, 3]
        x, y, z = vertex[v, 0] + half * ux, vertex[v, 1] + half * uy, vertex[v, 2] + half * uz
        x, y, z = to_world(R, s, x, y, z)
        ux, uy, uz = to_world(R, s, ux, uy, uz)
    else:
        ux, uy, uz = R[s, 0, e], R[s, 1, e], R[s, 2, e]
        if kind[s] == BOX:
            half = size[s, e]
            x, y, z = to_local(R, s, nx, ny, nz)
            x = 0.0 if e == 0 else math.copysign(size[s, 0], x)
            y = 0.0 if e == 1 else math.copysign(size[s, 1], y)
            z = 0.0 if e == 2 else math.copysign(size[s, 2], z)
            x, y, z = to_world(R, s, x, y, z)
        else:
            half = size[s, 1]
            x, y, z = size[s, 0] * nx, size[s, 0] * ny, size[s, 0] * nz
    return Segment(position[s, 0] + x, position[s, 1] + y, position[s, 2] + z, ux, uy, uz, half)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _across_axes(shapes, a, b, best):
    """`best_edges` for the axis of cylinder b and an axis of box, capsule or cylinder a; or from axis to axis."""
    position, R, size, kind = shapes.position, shapes.rotation, shapes.size, shapes.kind
    bx, by, bz = 0.0, 0.0, 1.0
    one, two = np.int64(-1), np.int64(2)  # a literal would be a type of its own
    ux, uy, uz = R[b, 0, 2], R[b, 1, 2], R[b, 2, 2]
    tx, ty, tz = position[b, 0] - position[a, 0], position[b, 1] - position[a, 1], position[b, 2] - position[a, 2]
    for k in range(5):
        if kind[a] == BOX and k == 4 or kind[a] != BOX and k < 2:
            continue
        if k < 3:
            x, y, z = R[a, 0, k], R[a, 1, k], R[a, 2, k]
            x, y, z = y * uz - z * uy, z * ux - x * uz, x * uy - y * ux
        else:  # the way from one centre to the other, less what is along the axis of the one or the other
            s = b if k == 3 else a
            c = tx * R[s, 0, 2] + ty * R[s, 1, 2] + tz * R[s, 2, 2]
            x, y, z = tx - c * R[s, 0, 2], ty - c * R[s, 1, 2], tz - c * R[s, 2, 2]
        length = math.sqrt(x * x + y * y + z * z)
        if length < _PARALLEL * (1.0 if k < 3 else size[b, 0]):
            continue
        x, y, z = x / length, y / length, z / length
        for _ in range(2):
            far = along(shapes, a, b, x, y, z)
            if far > best:
                best, bx, by, bz, one = far, x, y, z, np.int64(k if k < 3 else -1)
            x, y, z = -x, -y, -z
    return EdgeAxis(best, bx, by, bz, one, two)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def has_many_edges(kind, shape_edge, a, b):
    """Whether hulls a and b have so many edges that pairs of them are not tried."""
    if kind[a] != CONVEX:
        return False
    return (shape_edge[a + 1] - shape_edge[a]) * (shape_edge[b + 1] - shape_edge[b]) > EDGE_PAIRS


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _across_edges(shapes, edges, a, b, best, limit):
    """`best_edges` for hull or triangle b.  All in the frame of a, whose edges are those of a hull, three axes of a box
    or the axis of what is round.

    Along n = u × e both can touch where n leads into b's faces at e, and out of a's at u, or the other way round. With
    p across e into a face, n · p = u · (e × p): most pairs are excluded by four such products, which are in `edge`."""
    position, R, kind = shapes.position, shapes.rotation, shapes.kind
    vertex, vertex_start, edge, shape_edge = shapes.vertex, shapes.vertex_start, edges.edge, edges.shape_edge
    bx, by, bz = 0.0, 0.0, 1.0
    one, two = np.int64(-1), np.int64(-1)
    if has_many_edges(kind, shape_edge, a, b):
        return EdgeAxis(best, bx, by, bz, one, two)
    is_hull = kind[a] == CONVEX
    first, last = (shape_edge[a], shape_edge[a + 1]) if is_hull else (0 if kind[a] == BOX else 2, 3)
    tx, ty, tz = to_local(
        R, a, position[b, 0] - position[a, 0], position[b, 1] - position[a, 1], position[b, 2] - position[a, 2]
    )
    for e in range(shape_edge[b], shape_edge[b + 1]):
        ex, ey, ez = _turned(R, a, b, edge[e, 1], edge[e, 2], edge[e, 3])
        px, py, pz = _turned(R, a, b, edge[e, 4], edge[e, 5], edge[e, 6])
        qx, qy, qz = _turned(R, a, b, edge[e, 7], edge[e, 8], edge[e, 9])
        v = vertex_start[b] + int(edge[e, 0])
        wx, wy, wz = _turned(R, a, b, vertex[v, 0], vertex[v, 1], vertex[v, 2])
        wx, wy, wz = tx + wx, ty + wy, tz + wz
        for f in range(first, last):
            if is_hull:
                ux, uy, uz = edge[f, 1], edge[f, 2], edge[f, 3]
            else:
                ux, uy, uz = 1.0 if f == 0 else 0.0, 1.0 if f == 1 else 0.0, 1.0 if f == 2 else 0.0
            along_p, along_q = ux * px + uy * py + uz * pz, ux * qx + uy * qy + uz * qz
            if along_p * along_q < -_BESIDE:
                continue
            sign = -1.0 if along_p + along_q < 0.0 else 1.0
            if is_hull and (
                sign * (ex * edge[f, 4] + ey * edge[f, 5] + ez * edge[f, 6]) < -_BESIDE
                or sign * (ex * edge[f, 7] + ey * edge[f, 8] + ez * edge[f, 9]) < -_BESIDE
            ):
                continue
            x, y, z = uy * ez - uz * ey, uz * ex - ux * ez, ux * ey - uy * ex
            length = math.sqrt(x * x + y * y + z * z)
            if length <= _PARALLEL:
                continue
            sign /= length
            x, y, z = sign * x, sign * y, sign * z
            if is_hull:
                c = vertex_start[a] + int(edge[f, 0])
                far = x * (wx - vertex[c, 0]) + y * (wy - vertex[c, 1]) + z * (wz - vertex[c, 2])
                if far <= best:
                    continue
            # so far the two edges: the solids are measured only where these are better
            nx, ny, nz = to_world(R, a, x, y, z)
            far = along(shapes, a, b, nx, ny, nz)
            if far > best:
                best, one, two = far, np.int64(f), np.int64(e)
                bx, by, bz = nx, ny, nz
                if far > limit:
                    return EdgeAxis(best, bx, by, bz, one, two)
    return EdgeAxis(best, bx, by, bz, one, two)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _turned(R, a, b, x, y, z):
    """A direction of the frame of b in that of a."""
    x, y, z = to_world(R, b, x, y, z)
    return to_local(R, a, x, y, z)
