"""Triangles of a static mesh: one-sided, and smooth across their shared edges.

A ball that rolls over a flat mesh must not feel its edges. So a contact on an edge counts only where the direction from
the edge to the ball lies outside both triangles at that edge (the edge's own Voronoi region, empty at flat and concave
edges), and the lower numbered of the two reports it; a contact at a corner only where that direction leans over none of
the edges that meet there, and the lowest numbered triangle reports it. See Mesh.edge_directions for edge_normal,
Mesh.corner_directions for corner."""

import math

from delassus.collision.narrow.distance import TINY
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

ON_EDGE = 1e-9  # barycentric coordinates below this are zero


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def point_triangle(shapes, mesh, s, x, y, z, reach):
    """(counts, distance, ox, oy, oz) of a point in the frame of mesh triangle s; behind the surface by less than
    `reach` the distance is negative, further behind it does not count."""
    vertex, v, e = shapes.vertex, shapes.vertex_start[s], mesh.triangle[s]
    corner, corner_start = mesh.corner, mesh.corner_start
    ax, ay, az = vertex[v, 0], vertex[v, 1], vertex[v, 2]
    ux, uy, uz = vertex[v + 1, 0] - ax, vertex[v + 1, 1] - ay, vertex[v + 1, 2] - az
    wx, wy, wz = vertex[v + 2, 0] - ax, vertex[v + 2, 1] - ay, vertex[v + 2, 2] - az
    nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    nx, ny, nz = nx / length, ny / length, nz / length
    l0, l1, l2 = nearest_barycentric((x - ax, y - ay, z - az), (ux, uy, uz), (wx, wy, wz))
    dx = x - (ax + l1 * ux + l2 * wx)
    dy = y - (ay + l1 * uy + l2 * wy)
    dz = z - (az + l1 * uz + l2 * wz)
    height = nx * (x - ax) + ny * (y - ay) + nz * (z - az)
    zeros = (1 if l0 < ON_EDGE else 0) + (1 if l1 < ON_EDGE else 0) + (1 if l2 < ON_EDGE else 0)
    if zeros == 0:
        behind = height < 0.0 and _is_past_neighbour(vertex, v, mesh, e, (nx, ny, nz), (x, y, z))
        return height > -reach and not behind, height, nx, ny, nz
    square = dx * dx + dy * dy + dz * dz
    if square <= TINY:
        return False, 0.0, nx, ny, nz
    d = math.sqrt(square)
    dx, dy, dz = dx / d, dy / d, dz / d
    if zeros == 1:
        # Edge i runs from corner i to the next: it is the one whose opposite corner has weight zero.
        i = 0 if l2 < ON_EDGE else (1 if l0 < ON_EDGE else 2)
        counts, front = _edge_region(vertex, v, i, mesh, e, (nx, ny, nz), (dx, dy, dz))
    else:
        i = 0 if l0 >= ON_EDGE else (1 if l1 >= ON_EDGE else 2)
        counts, front = _corner_region(corner, corner_start[3 * e + i], corner_start[3 * e + i + 1], dx, dy, dz)
    if front:
        return counts, d, dx, dy, dz
    # Behind: only straight below a flat edge, where the ball has sunk in and the face would have reported.
    flat = height < 0.0 and d < reach and -height > (1.0 - ON_EDGE) * d
    return flat and counts, -d, -dx, -dy, -dz


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _is_past_neighbour(vertex, v, mesh, e, normal, point):
    """Whether a point behind triangle e has left the solid again, through a neighbour at a sharp edge.  v: first corner
    of the triangle."""
    edge_normal, (nx, ny, nz), (x, y, z) = mesh.edge_normal, normal, point
    for i in range(3):
        ox, oy, oz = edge_normal[e, i, 0], edge_normal[e, i, 1], edge_normal[e, i, 2]
        if ox * nx + oy * ny + oz * nz <= 0.0:
            continue  # none, flat or concave
        p, q = v + i, v + (i + 1) % 3
        tx, ty, tz = vertex[p, 0] - vertex[q, 0], vertex[p, 1] - vertex[q, 1], vertex[p, 2] - vertex[q, 2]
        fx, fy, fz = oy * tz - oz * ty, oz * tx - ox * tz, ox * ty - oy * tx
        if fx * (x - vertex[p, 0]) + fy * (y - vertex[p, 1]) + fz * (z - vertex[p, 2]) > 0.0:
            return True
    return False


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _edge_region(vertex, v, i, mesh, e, normal, d):
    """(triangle e reports what lies in direction d of its edge i, d leads out of the surface)."""
    edge_normal, (nx, ny, nz), (dx, dy, dz) = mesh.edge_normal, normal, d
    ox, oy, oz = edge_normal[e, i, 0], edge_normal[e, i, 1], edge_normal[e, i, 2]
    if ox != 0.0 or oy != 0.0 or oz != 0.0:
        p, q = v + i, v + (i + 1) % 3
        tx, ty, tz = vertex[p, 0] - vertex[q, 0], vertex[p, 1] - vertex[q, 1], vertex[p, 2] - vertex[q, 2]
        length = math.sqrt(tx * tx + ty * ty + tz * tz)
        # the neighbour's normal is o × t, with t along its own direction of the edge; in the edge's region the sum of
        # both normals tells outside from inside, one of them does not where the edge is sharp
        nx += (oy * tz - oz * ty) / length
        ny += (oz * tx - ox * tz) / length
        nz += (ox * ty - oy * tx) / length
    counts = edge_normal[e, i, 3] % 2.0 > 0.0 and ox * dx + oy * dy + oz * dz > -ON_EDGE
    return counts, nx * dx + ny * dy + nz * dz > -ON_EDGE


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _corner_region(corner, begin, end, dx, dy, dz):
    """(the triangle reports what lies in direction d of its corner, d leads out of the surface): where d leans over
    none of the edges that meet there, rows begin … end of Polyhedra.corner. Without rows another triangle reports."""
    if begin == end:
        return False, True
    for k in range(begin + 1, end):
        if corner[k, 0] * dx + corner[k, 1] * dy + corner[k, 2] * dz > ON_EDGE:
            return False, True
    return True, corner[begin, 0] * dx + corner[begin, 1] * dy + corner[begin, 2] * dz > -ON_EDGE


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def nearest_barycentric(p, u, w):
    """Weights (a, b, c) of the point of a triangle (0, u, w) nearest to p (Ericson 2005, 5.1.5)."""
    (px, py, pz), (ux, uy, uz), (wx, wy, wz) = p, u, w
    d1, d2 = ux * px + uy * py + uz * pz, wx * px + wy * py + wz * pz
    if d1 <= 0.0 and d2 <= 0.0:
        return 1.0, 0.0, 0.0
    qx, qy, qz = px - ux, py - uy, pz - uz
    d3, d4 = ux * qx + uy * qy + uz * qz, wx * qx + wy * qy + wz * qz
    if d3 >= 0.0 and d4 <= d3:
        return 0.0, 1.0, 0.0
    c = d1 * d4 - d3 * d2
    if c <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / (d1 - d3)
        return 1.0 - t, t, 0.0
    qx, qy, qz = px - wx, py - wy, pz - wz
    d5, d6 = ux * qx + uy * qy + uz * qz, wx * qx + wy * qy + wz * qz
    if d6 >= 0.0 and d5 <= d6:
        return 0.0, 0.0, 1.0
    b = d5 * d2 - d1 * d6
    if b <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6)
        return 1.0 - t, 0.0, t
    a = d3 * d6 - d5 * d4
    if a <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return 0.0, 1.0 - t, t
    f = 1.0 / (a + b + c)
    return 1.0 - (b + c) * f, b * f, c * f
