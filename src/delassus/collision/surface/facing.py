"""Which contacts are with the surface, and not along it.

A body that slides over a flat surface, a hair inside it, is in front of the nodes and edges ahead of it, too: taken for
contacts they would be a wall. So the normal of a contact on a node or an edge must be one that its faces allow."""

import math

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

FACING = 0.2  # cosine between the normal of a contact on a node and that of a face there, at least
LEANING = 0.15  # sine of how far the normal of a contact on an edge may lean over a face there
SHALLOW = 0.1  # of the mean length of an edge: what is less deep behind an edge has just come through it


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def node_allows(surface, k, nx, ny, nz):
    """Whether the normal n of a contact, towards surface node k, is against one of the faces around the node, or
    against their mean."""
    around, around_start, normal = surface.around, surface.around_start, surface.normal
    mx, my, mz = 0.0, 0.0, 0.0
    for i in range(around_start[k], around_start[k + 1]):
        f = around[i]
        if nx * normal[f, 0] + ny * normal[f, 1] + nz * normal[f, 2] <= -FACING:
            return True
        mx, my, mz = mx + normal[f, 0], my + normal[f, 1], mz + normal[f, 2]
    return nx * mx + ny * my + nz * mz < -FACING * math.sqrt(mx * mx + my * my + mz * mz)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def node_is_nearest(surface, k, v, ox, oy, oz):
    """Whether no face around surface node k, which is node v, is nearer to what lies along the unit vector o from it,
    but for a little leaning."""
    nodes, triangles, around, around_start = surface.nodes, surface.triangles, surface.around, surface.around_start
    for i in range(around_start[k], around_start[k + 1]):
        for c in range(3):
            w = triangles[around[i], c]
            x, y, z = nodes[w, 0] - nodes[v, 0], nodes[w, 1] - nodes[v, 1], nodes[w, 2] - nodes[v, 2]
            if ox * x + oy * y + oz * z > LEANING * math.sqrt(x * x + y * y + z * z):
                return False
    return True


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def edge_normal_sum(surface, e):
    """The sum of the normals of the faces at edge e."""
    edge_faces, normal = surface.edge_faces, surface.normal
    f, g = edge_faces[e, 0], edge_faces[e, 1]
    if g < 0:
        return normal[f, 0], normal[f, 1], normal[f, 2]
    return normal[f, 0] + normal[g, 0], normal[f, 1] + normal[g, 1], normal[f, 2] + normal[g, 2]


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def edge_allows(surface, e, ox, oy, oz, leaning):
    """Whether the unit vector o, across edge e and out of the surface, leans over none of the faces at the edge by more
    than the sine `leaning`: over a ridge there are many such directions, over a flat edge hardly more than the normal,
    over a valley none. And it must look out of one of the faces."""
    nodes, edges, edge_faces = surface.nodes, surface.edges, surface.edge_faces
    triangles, normal = surface.triangles, surface.normal
    p, q = edges[e, 0], edges[e, 1]
    ux, uy, uz = nodes[q, 0] - nodes[p, 0], nodes[q, 1] - nodes[p, 1], nodes[q, 2] - nodes[p, 2]
    square = ux * ux + uy * uy + uz * uz
    out = -1.0
    for side in range(2):
        f = edge_faces[e, side]
        if f < 0:
            continue
        w = triangles[f, 0] + triangles[f, 1] + triangles[f, 2] - p - q  # the third corner
        ax, ay, az = nodes[w, 0] - nodes[p, 0], nodes[w, 1] - nodes[p, 1], nodes[w, 2] - nodes[p, 2]
        t = (ax * ux + ay * uy + az * uz) / square
        ax, ay, az = ax - t * ux, ay - t * uy, az - t * uz
        if ox * ax + oy * ay + oz * az > leaning * math.sqrt(ax * ax + ay * ay + az * az):
            return False
        out = max(out, ox * normal[f, 0] + oy * normal[f, 1] + oz * normal[f, 2])
    if out > FACING:
        return True
    mx, my, mz = edge_normal_sum(surface, e)
    return ox * mx + oy * my + oz * mz > FACING * math.sqrt(mx * mx + my * my + mz * mz)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def edge_covers(surface, e, ox, oy, oz):
    """Whether −o goes into the body from edge e: behind both of its faces."""
    edge_faces, normal = surface.edge_faces, surface.normal
    f, g = edge_faces[e, 0], edge_faces[e, 1]
    if ox * normal[f, 0] + oy * normal[f, 1] + oz * normal[f, 2] < 0.0:
        return False
    return g < 0 or ox * normal[g, 0] + oy * normal[g, 1] + oz * normal[g, 2] >= 0.0
