"""Edges of flexible surfaces against corners of boxes, hulls, meshes and rims of cylinders, where these are nearest.

Only while there is a gap: what touches, touches at a face or across an edge. The distance is convex along an edge, so
its least is found by halving."""

import math

import numpy as np

from delassus.collision.layout import (
    BOX,
    CONVEX,
    CYLINDER,
    MARGIN,
    Polyhedra,
    PosedShapes,
    geometry_of,
    to_local,
    to_world,
)
from delassus.collision.narrow.distance import point_box, point_convex, point_cylinder
from delassus.collision.narrow.triangle import ON_EDGE
from delassus.collision.surface.edges import BALLS, NEAREST
from delassus.collision.surface.facing import LEANING, edge_allows
from delassus.collision.surface.posed import Obstacles, PosedSurface
from delassus.collision.surface.rows import put, put_node, rows_of
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_HALVINGS = 60  # of an edge: to the last digit


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def corners_on_edges(t, threads, pairs, first_rigid, surface, obstacles, out):
    """Contacts of share t of the pairs, into the rows of `out`; arguments as of `edges_on_shapes`."""
    surface, obstacles, rows = PosedSurface(*surface), Obstacles(*obstacles), rows_of(out, t)
    nodes, grow, edges, body, owned = surface.nodes, surface.grow, surface.edges, surface.body, surface.owned
    solids = geometry_of(PosedShapes(*obstacles.shapes), Polyhedra(*obstacles.polyhedra))
    posed = solids.shapes
    position, R, size, kind = posed.position, posed.rotation, posed.size, posed.kind
    count, n, shapes = 0, len(pairs), len(kind)
    for p in range(n * t // threads, n * (t + 1) // threads):
        s, f = pairs[p, 0], pairs[p, 1]
        if kind[s] != BOX and kind[s] != CONVEX and kind[s] != CYLINDER:
            continue
        for c in range(3, 6):
            e = owned[f, c]
            if e < 0:
                continue
            i, j = edges[e, 0], edges[e, 1]
            limit = position[s, MARGIN] + obstacles.reach[s] + max(grow[i], grow[j])
            x, y, z = nodes[i, 0] - position[s, 0], nodes[i, 1] - position[s, 1], nodes[i, 2] - position[s, 2]
            x, y, z = to_local(R, s, x, y, z)
            vx, vy, vz = nodes[j, 0] - nodes[i, 0], nodes[j, 1] - nodes[i, 1], nodes[j, 2] - nodes[i, 2]
            vx, vy, vz = to_local(R, s, vx, vy, vz)
            half = 0.5 * math.sqrt(vx * vx + vy * vy + vz * vz)
            low, high, w, d = 0.0, 1.0, 0.5, 0.0
            ox, oy, oz = 0.0, 0.0, 0.0
            for turn in range(_HALVINGS + 2):  # both ends first: where the distance grows from one, it is least there
                w = 0.5 * (low + high) if turn > 1 else 1.0 * turn
                px, py, pz = x + w * vx, y + w * vy, z + w * vz
                if kind[s] == BOX:
                    d, ox, oy, oz = point_box(px, py, pz, size[s, 0], size[s, 1], size[s, 2])
                elif kind[s] == CYLINDER:
                    d, ox, oy, oz = point_cylinder(px, py, pz, size[s, 0], size[s, 1])
                else:
                    d, ox, oy, oz = point_convex(posed.vertex, posed.vertex_start[s], solids.faces, s, px, py, pz)
                slope = ox * vx + oy * vy + oz * vz
                if d <= 0.0 or d > limit + 2.0 * (high - low) * half or (turn == 0 and slope >= 0.0):
                    break
                if turn == 1 and slope <= 0.0:
                    break
                if slope < 0.0:
                    low = w
                else:
                    high = w
            if d > limit or d <= 0.0 or not (ON_EDGE < w < 1.0 - ON_EDGE):
                continue
            x, y, z = x + w * vx - d * ox, y + w * vy - d * oy, z + w * vz - d * oz
            if not _is_corner(posed, s, x, y, z):
                continue
            nx, ny, nz = to_world(R, s, ox, oy, oz)
            if not edge_allows(surface, e, -nx, -ny, -nz, LEANING):
                continue
            x = nodes[i, 0] + w * (nodes[j, 0] - nodes[i, 0])
            y = nodes[i, 1] + w * (nodes[j, 1] - nodes[i, 1])
            z = nodes[i, 2] + w * (nodes[j, 2] - nodes[i, 2])
            features = (np.int64(first_rigid + NEAREST), len(surface.numbers) + e)
            if put(rows, count, (s, shapes + body[f]), (nx, ny, nz), (x, y, z), d, features):
                put_node(rows, count, 0, i, 1.0 - w)
                put_node(rows, count, 1, j, w)
            count += 1
    out[2][t] = count


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def mesh_corners_on_edges(t, threads, pairs, first_rigid, surface, obstacles, out):
    """`corners_on_edges` for the corners of mesh triangles."""
    surface, obstacles, rows = PosedSurface(*surface), Obstacles(*obstacles), rows_of(out, t)
    nodes, grow, edges, body, owned = surface.nodes, surface.grow, surface.edges, surface.body, surface.owned
    posed, polyhedra = PosedShapes(*obstacles.shapes), Polyhedra(*obstacles.polyhedra)
    position, R, kind = posed.position, posed.rotation, posed.kind
    vertex, vertex_start = posed.vertex, posed.vertex_start
    triangle, at_corner, corner_start = polyhedra.triangle, polyhedra.corner, polyhedra.corner_start
    count, n, shapes = 0, len(pairs), len(kind)
    for p in range(n * t // threads, n * (t + 1) // threads):
        s, f = pairs[p, 0], pairs[p, 1]
        for corner in range(3):
            begin, end = corner_start[3 * triangle[s] + corner], corner_start[3 * triangle[s] + corner + 1]
            if begin == end:
                continue  # another triangle has this corner
            v = vertex_start[s] + corner
            cx, cy, cz = to_world(R, s, vertex[v, 0], vertex[v, 1], vertex[v, 2])
            cx, cy, cz = cx + position[s, 0], cy + position[s, 1], cz + position[s, 2]
            for c in range(3, 6):
                e = owned[f, c]
                if e < 0:
                    continue
                i, j = edges[e, 0], edges[e, 1]
                vx, vy, vz = nodes[j, 0] - nodes[i, 0], nodes[j, 1] - nodes[i, 1], nodes[j, 2] - nodes[i, 2]
                x, y, z = nodes[i, 0] - cx, nodes[i, 1] - cy, nodes[i, 2] - cz
                w = -(x * vx + y * vy + z * vz) / (vx * vx + vy * vy + vz * vz)
                x, y, z = x + w * vx, y + w * vy, z + w * vz
                d = math.sqrt(x * x + y * y + z * z)
                limit = position[s, MARGIN] + obstacles.reach[s] + max(grow[i], grow[j])
                if d > limit or d == 0.0 or not (ON_EDGE < w < 1.0 - ON_EDGE):
                    continue
                nx, ny, nz = x / d, y / d, z / d
                lx, ly, lz = to_local(R, s, nx, ny, nz)
                if not _corner_allows(at_corner, begin, end, lx, ly, lz):
                    continue
                if not edge_allows(surface, e, -nx, -ny, -nz, LEANING):
                    continue
                point = (cx + x, cy + y, cz + z)
                features = (np.int64(first_rigid + BALLS + corner), len(surface.numbers) + e)
                if put(rows, count, (s, shapes + body[f]), (nx, ny, nz), point, d, features):
                    put_node(rows, count, 0, i, 1.0 - w)
                    put_node(rows, count, 1, j, w)
                count += 1
    out[2][t] = count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _corner_allows(at_corner, begin, end, x, y, z):
    """Whether the normal (x, y, z), in the frame of a mesh, leans over no edge at a corner. begin, end: its rows of
    Polyhedra.corner."""
    for k in range(begin + 1, end):
        if x * at_corner[k, 0] + y * at_corner[k, 1] + z * at_corner[k, 2] > LEANING:
            return False
    return True


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _is_corner(shapes, s, x, y, z):
    """Whether a point of the surface of a box or a hull, in its frame, is a corner, or one of a cylinder's on a rim."""
    kind, size, vertex = shapes.kind[s], shapes.size, shapes.vertex
    one, two, three = size[s, 0], size[s, 1], size[s, 2]
    same = ON_EDGE * (one + two + three)
    if kind == BOX:
        return abs(abs(x) - one) < same and abs(abs(y) - two) < same and abs(abs(z) - three) < same
    if kind == CYLINDER:
        return abs(math.sqrt(x * x + y * y) - one) < same and abs(abs(z) - two) < same
    for v in range(shapes.vertex_start[s], shapes.vertex_start[s + 1]):
        if abs(vertex[v, 0] - x) < same and abs(vertex[v, 1] - y) < same and abs(vertex[v, 2] - z) < same:
            return True
    return False
