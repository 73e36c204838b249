"""Nodes of flexible surfaces against shapes: the signed distance of a point."""

import math

import numpy as np

from delassus.collision.layout import BOX, CAPSULE, CYLINDER, GIVEN, MARGIN, PLANE, SPHERE, TRIANGLE, to_local, to_world
from delassus.collision.narrow.distance import TINY, point_box, point_capsule, point_convex, point_cylinder
from delassus.collision.narrow.triangle import point_triangle
from delassus.collision.surface.rows import NODE, put
from delassus.kernel import njit


@njit(cache=True, error_model="numpy", nogil=True)
def nodes_on_shapes(t, threads, pairs, surface, geometry, reach, real, whole, counts):
    """Contacts of the nodes that come with share t of the pairs (p, 2) of a shape and a triangle, into real[t] and
    whole[t] (rows.py); goes on counting when out of room.

    surface: (nodes (n, 3), grow (n,), which (S,), owned (F, 6), triangle_body, material, around, around_start, normal);
    geometry: the fields of Geometry; reach: (n_s,) [m]."""
    nodes, grow, which, owned, body, material, around, around_start, normal = surface
    (position, rotation, size, kind, vertex, vertex_start, face, face_start, shape_face, face_normal, edge_normal,
     triangle, _, _, _) = geometry  # fmt: skip
    count, n, shapes = 0, len(pairs), len(kind)
    for p in range(n * t // threads, n * (t + 1) // threads):
        s, f = pairs[p, 0], pairs[p, 1]
        for c in range(3):
            k = owned[f, c]
            if k < 0 or kind[s] == GIVEN:
                continue
            v = which[k]
            limit = position[s, MARGIN] + reach[s] + grow[v]
            wx, wy, wz = nodes[v, 0] - position[s, 0], nodes[v, 1] - position[s, 1], nodes[v, 2] - position[s, 2]
            if kind[s] == SPHERE:
                square = wx * wx + wy * wy + wz * wz
                d = math.sqrt(square)
                if square > TINY:
                    ox, oy, oz = wx / d, wy / d, wz / d
                else:
                    ox, oy, oz = 0.0, 0.0, 1.0
                d -= size[s, 0]
            else:
                x, y, z = to_local(rotation, s, wx, wy, wz)
                if kind[s] == PLANE:
                    d, ox, oy, oz = z, 0.0, 0.0, 1.0
                elif kind[s] == BOX:
                    d, ox, oy, oz = point_box(x, y, z, size[s, 0], size[s, 1], size[s, 2])
                elif kind[s] == CAPSULE:
                    d, ox, oy, oz = point_capsule(x, y, z, size[s, 0], size[s, 1])
                elif kind[s] == CYLINDER:
                    d, ox, oy, oz = point_cylinder(x, y, z, size[s, 0], size[s, 1])
                elif kind[s] == TRIANGLE:
                    deep = limit + material[body[f], 3]
                    counts_here, d, ox, oy, oz = point_triangle(
                        vertex, vertex_start[s], edge_normal, triangle[s], x, y, z, deep
                    )
                    if not counts_here:
                        continue
                else:
                    d, ox, oy, oz = point_convex(
                        vertex,
                        face,
                        face_start,
                        face_normal,
                        vertex_start[s],
                        shape_face[s],
                        shape_face[s + 1],
                        x,
                        y,
                        z,
                    )
                ox, oy, oz = to_world(rotation, s, ox, oy, oz)
            if d > limit:
                continue
            if kind[s] != PLANE and not is_facing(k, ox, oy, oz, around, around_start, normal):
                continue
            if put(
                real[t], whole[t], count, s, shapes + body[f], ox, oy, oz, nodes[v, 0], nodes[v, 1], nodes[v, 2], d,
                np.int64(0), k,
            ):  # fmt: skip
                real[t, count, 7], whole[t, count, NODE] = 1.0, v
            count += 1
    counts[t] = count


FACING = 0.2  # cosine: what leans further than this from a surface's normals pushes along it, not into it


@njit(cache=True, error_model="numpy")
def is_facing(k, nx, ny, nz, around, around_start, normal):
    """Whether the normal n of a contact, from the other side to surface node k, is against one of the faces around the
    node, or against their mean.

    A box that slides over a flat surface, a hair inside it, is in front of the nodes ahead of it: without this they
    would be a wall."""
    mx, my, mz = 0.0, 0.0, 0.0
    for i in range(around_start[k], around_start[k + 1]):
        f = around[i]
        if nx * normal[f, 0] + ny * normal[f, 1] + nz * normal[f, 2] <= -FACING:
            return True
        mx, my, mz = mx + normal[f, 0], my + normal[f, 1], mz + normal[f, 2]
    return nx * mx + ny * my + nz * mz < -FACING * math.sqrt(mx * mx + my * my + mz * mz)
