"""Edges of flexible surfaces against shapes: what lies across an edge, or under it, between its nodes.

Straight edges of a shape (those of boxes, hulls and meshes; the axis of a capsule or a cylinder with its radius around)
cross an edge of the surface at one pair of points. Balls meet an edge at its nearest point, where no face is nearer;
rims of cylinders where the edge comes in over the end. Where only the gap is open, an edge may be nearest to a corner
or a rim (corners.py)."""

import math
from typing import NamedTuple

import numpy as np

from delassus.collision.layout import (
    BOX,
    CAPSULE,
    CONVEX,
    CYLINDER,
    MARGIN,
    SPHERE,
    TRIANGLE,
    Polyhedra,
    PosedShapes,
    geometry_of,
    to_local,
    to_world,
)
from delassus.collision.narrow.distance import Segment, segments_nearest
from delassus.collision.narrow.triangle import ON_EDGE
from delassus.collision.surface.facing import FACING, LEANING, SHALLOW, edge_allows, edge_covers, edge_normal_sum
from delassus.collision.surface.posed import Obstacles, PosedSurface
from delassus.collision.surface.rows import HEIGHT, put, put_node, rows_of
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

NEAREST, BALLS, AXIS, RIMS, STRAIGHT = 0, 1, 3, 4, 8
"""Numbers of a shape's features that meet edges: the corner or the point of a rim that is nearest (corners.py), two
balls, the axis, two crossings of each rim, the straight edges."""
_PARALLEL = 1e-6  # sine: edges closer to parallel than this do not cross
OUTSIDE = -1e-12  # sine: no more than rounding over a face, where balls are nearer to the face


class Crossing(NamedTuple):
    """A contact on an edge."""

    there: bool  # whether there is one
    nx: float  # normal
    ny: float
    nz: float
    gap: float  # [m]
    weight: float  # of the second node of the edge


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def edges_on_shapes(t, threads, pairs, first_rigid, surface, obstacles, out):
    """Contacts of the edges that come with share t of the pairs (p, 2) of a shape and a triangle, into the rows of
    `out` (rows.py); goes on counting when these are full.

    first_rigid: the number that a shape's features here begin with; surface, obstacles: fields of PosedSurface and
    Obstacles."""
    surface, obstacles, rows = PosedSurface(*surface), Obstacles(*obstacles), rows_of(out, t)
    nodes, grow, edges, body, owned = surface.nodes, surface.grow, surface.edges, surface.body, surface.owned
    first = len(surface.numbers)  # number of the first edge among features
    solids = geometry_of(PosedShapes(*obstacles.shapes), Polyhedra(*obstacles.polyhedra))
    posed, straight, mesh = solids.shapes, solids.edges, solids.mesh
    position, R, kind, line_start = posed.position, posed.rotation, posed.kind, straight.shape_edge
    count, n, shapes = 0, len(pairs), len(kind)
    for p in range(n * t // threads, n * (t + 1) // threads):
        s, f = pairs[p, 0], pairs[p, 1]
        begin, end = _parts(kind[s], line_start[s + 1] - line_start[s])
        if begin == end:
            continue
        for c in range(3, 6):
            e = owned[f, c]
            if e < 0:
                continue
            i, j = edges[e, 0], edges[e, 1]
            limit = position[s, MARGIN] + obstacles.reach[s] + max(grow[i], grow[j])
            for part in range(begin, end):
                deep, leaning, r = surface.material[body[f], 3], LEANING, 0.0
                if part < AXIS:
                    met = _ball(posed, s, part - BALLS, nodes, i, j)
                    leaning = OUTSIDE
                elif part == AXIS or part >= STRAIGHT:
                    line, r = _straight(posed, straight, s, part)
                    met = crossing(surface, e, line, r)
                    deep += r
                else:
                    met = _rim(posed, s, part - RIMS, nodes, i, j)
                nx, ny, nz, gap, w = met.nx, met.ny, met.nz, met.gap, met.weight
                if not met.there or gap > limit or gap < -deep:
                    continue
                shallow = SHALLOW * surface.material[body[f], 3]
                if gap + r < -shallow and not edge_covers(surface, e, -nx, -ny, -nz):
                    continue
                if part >= STRAIGHT:
                    x, y, z = to_local(R, s, nx, ny, nz)
                    if kind[s] == BOX:
                        if not _box_allows(part - STRAIGHT, x, y, z):
                            continue
                    elif not _line_allows(straight, mesh, s, part - STRAIGHT, x, y, z):
                        continue
                if not edge_allows(surface, e, -nx, -ny, -nz, leaning):
                    continue
                x = nodes[i, 0] + w * (nodes[j, 0] - nodes[i, 0])
                y = nodes[i, 1] + w * (nodes[j, 1] - nodes[i, 1])
                z = nodes[i, 2] + w * (nodes[j, 2] - nodes[i, 2])
                features = (first_rigid + part, first + e)
                if put(rows, count, (s, shapes + body[f]), (nx, ny, nz), (x, y, z), gap, features):
                    put_node(rows, count, 0, i, 1.0 - w)
                    put_node(rows, count, 1, j, w)
                    rows.real[count, HEIGHT] = gap + r
                count += 1
    out[2][t] = count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _parts(kind, lines):
    """First of the features of a shape that meet edges, and one past the last; lines: straight edges it has."""
    if kind == SPHERE:
        return BALLS, BALLS + 1
    if kind == CAPSULE:
        return BALLS, AXIS + 1
    if kind == CYLINDER:
        return AXIS, STRAIGHT
    if kind == BOX:
        return STRAIGHT, STRAIGHT + 12
    if kind in (CONVEX, TRIANGLE):
        return STRAIGHT, STRAIGHT + lines
    return STRAIGHT, STRAIGHT


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _ball(shapes, s, end, nodes, i, j):
    """The point of edge (i, j) nearest to a sphere or to a capsule's end."""
    position, R, size, h = shapes.position, shapes.rotation, shapes.size, 0.0
    if shapes.kind[s] != SPHERE:
        h = -size[s, 1] if end == 0 else size[s, 1]
    x, y, z = position[s, 0] - nodes[i, 0], position[s, 1] - nodes[i, 1], position[s, 2] - nodes[i, 2]
    x, y, z = x + h * R[s, 0, 2], y + h * R[s, 1, 2], z + h * R[s, 2, 2]
    vx, vy, vz = nodes[j, 0] - nodes[i, 0], nodes[j, 1] - nodes[i, 1], nodes[j, 2] - nodes[i, 2]
    w = (x * vx + y * vy + z * vz) / (vx * vx + vy * vy + vz * vz)
    x, y, z = w * vx - x, w * vy - y, w * vz - z
    d = math.sqrt(x * x + y * y + z * z)
    return Crossing(ON_EDGE < w < 1.0 - ON_EDGE and d > 0.0, x / d, y / d, z / d, d - size[s, 0], w)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _straight(shapes, edges, s, part):
    """(a straight edge of shape s, or its axis; radius)."""
    position, R, size, vertex = shapes.position, shapes.rotation, shapes.size, shapes.vertex
    x, y, z = position[s, 0], position[s, 1], position[s, 2]
    if part == AXIS:
        return Segment(x, y, z, R[s, 0, 2], R[s, 1, 2], R[s, 2, 2], size[s, 1]), size[s, 0]
    part -= STRAIGHT
    if shapes.kind[s] == BOX:  # four along each axis
        k = part // 4
        one, two = (k + 1) % 3, (k + 2) % 3
        a, b = (size[s, one] if part & 1 else -size[s, one]), (size[s, two] if part & 2 else -size[s, two])
        x, y, z = x + a * R[s, 0, one], y + a * R[s, 1, one], z + a * R[s, 2, one]
        x, y, z = x + b * R[s, 0, two], y + b * R[s, 1, two], z + b * R[s, 2, two]
        return Segment(x, y, z, R[s, 0, k], R[s, 1, k], R[s, 2, k], size[s, k]), 0.0
    lines, line = edges.edge, edges.shape_edge[s] + part
    v, half = shapes.vertex_start[s] + np.int64(lines[line, 0]), 0.5 * lines[line, 10]
    ux, uy, uz = lines[line, 1], lines[line, 2], lines[line, 3]
    px, py, pz = to_world(R, s, vertex[v, 0] + half * ux, vertex[v, 1] + half * uy, vertex[v, 2] + half * uz)
    ux, uy, uz = to_world(R, s, ux, uy, uz)
    return Segment(x + px, y + py, z + pz, ux, uy, uz, half), 0.0


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def crossing(surface, e, line, radius):
    """Where edge e crosses a segment with a radius around.  The normal is against the faces at the edge, so the gap
    goes on below zero when the two have passed each other."""
    nodes, edges = surface.nodes, surface.edges
    i, j = edges[e, 0], edges[e, 1]
    vx, vy, vz = nodes[j, 0] - nodes[i, 0], nodes[j, 1] - nodes[i, 1], nodes[j, 2] - nodes[i, 2]
    length = math.sqrt(vx * vx + vy * vy + vz * vz)
    vx, vy, vz = vx / length, vy / length, vz / length
    ux, uy, uz = line.ux, line.uy, line.uz
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    sine = math.sqrt(nx * nx + ny * ny + nz * nz)
    if not sine > _PARALLEL:  # also of an edge without length
        return Crossing(False, 0.0, 0.0, 0.0, 0.0, 0.0)
    mx, my, mz = 0.5 * (nodes[i, 0] + nodes[j, 0]), 0.5 * (nodes[i, 1] + nodes[j, 1]), 0.5 * (nodes[i, 2] + nodes[j, 2])
    a, b = segments_nearest(line, Segment(mx, my, mz, vx, vy, vz, 0.5 * length))
    there = abs(a) < line.half * (1.0 - ON_EDGE) and abs(b) < 0.5 * length * (1.0 - ON_EDGE)
    ox, oy, oz = edge_normal_sum(surface, e)
    if nx * ox + ny * oy + nz * oz > 0.0:
        sine = -sine
    nx, ny, nz = nx / sine, ny / sine, nz / sine
    gap = nx * (mx - line.cx) + ny * (my - line.cy) + nz * (mz - line.cz) - radius
    return Crossing(there, nx, ny, nz, gap, 0.5 + b / length)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _box_allows(part, x, y, z):
    """Whether the normal (x, y, z), in the frame of a box, leans over neither face at its edge `part`."""
    k = part // 4
    one, two = (y, z) if k == 0 else ((z, x) if k == 1 else (x, y))
    return (one if part & 1 else -one) >= -LEANING and (two if part & 2 else -two) >= -LEANING


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _line_allows(edges, mesh, s, part, x, y, z):
    """Whether the normal (x, y, z), in the frame of shape s, leans over neither face at edge `part` of a hull, or of a
    mesh triangle: there the edge must stick out, too, and be this triangle's to report."""
    lines, neighbour, t, line = edges.edge, mesh.edge_normal, mesh.triangle[s], edges.shape_edge[s] + part
    ux, uy, uz = lines[line, 1], lines[line, 2], lines[line, 3]
    for c in range(4, 8, 3):
        mx, my, mz = lines[line, c], lines[line, c + 1], lines[line, c + 2]
        # p, across the edge into its face: (u × p) × u
        px, py, pz = my * uz - mz * uy, mz * ux - mx * uz, mx * uy - my * ux
        if x * px + y * py + z * pz > LEANING:
            return False
    if t < 0:  # a hull
        return True
    mx, my, mz = lines[line, 4], lines[line, 5], lines[line, 6]  # the triangle's normal
    if neighbour[t, part, 3] % 2.0 != 1.0:
        return False
    ox, oy, oz = neighbour[t, part, 0], neighbour[t, part, 1], neighbour[t, part, 2]
    if ox == 0.0 and oy == 0.0 and oz == 0.0:
        return x * mx + y * my + z * mz > FACING
    return ox * mx + oy * my + oz * mz > ON_EDGE and x * ox + y * oy + z * oz > -LEANING


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _rim(shapes, s, part, nodes, i, j):
    """Where edge (i, j) comes in over the end of a cylinder, or leaves it: two crossings of two ends."""
    position, R, size = shapes.position, shapes.rotation, shapes.size
    r, up = size[s, 0], (1.0 if part & 1 else -1.0)
    x, y, z = to_local(R, s, nodes[i, 0] - position[s, 0], nodes[i, 1] - position[s, 1], nodes[i, 2] - position[s, 2])
    vx, vy, vz = to_local(R, s, nodes[j, 0] - nodes[i, 0], nodes[j, 1] - nodes[i, 1], nodes[j, 2] - nodes[i, 2])
    a, b, c = vx * vx + vy * vy, x * vx + y * vy, x * x + y * y - r * r
    root = math.sqrt(max(0.0, b * b - a * c))
    w = (-b + (root if part & 2 else -root)) / a if root > 0.0 and a > 0.0 else -1.0
    height = up * (z + w * vz)
    there = ON_EDGE < w < 1.0 - ON_EDGE and height > 0.0
    return Crossing(there, up * R[s, 0, 2], up * R[s, 1, 2], up * R[s, 2, 2], height - size[s, 1], w)
