"""Surfaces of flexible bodies against each other and against themselves: nodes above faces, edges across edges."""

import math

from delassus.collision.narrow.distance import Segment
from delassus.collision.narrow.triangle import ON_EDGE
from delassus.collision.surface.edges import OUTSIDE, crossing
from delassus.collision.surface.faces import weights_above
from delassus.collision.surface.facing import LEANING, SHALLOW, edge_allows, edge_covers, node_allows, node_is_nearest
from delassus.collision.surface.rows import HEIGHT, NODE, ON_RIM, put
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_APART = 4.0
"""Mean lengths of an edge: nodes of one body that are further apart at rest have met by bending, and may be behind each
other's faces; of nearer ones the one is simply on the other side of the body."""


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def nodes_on_faces(t, threads, pairs, shapes, surface, real, whole, counts):
    """Contacts of nodes with faces of share t of the pairs (p, 2) of triangles, into real[t] and whole[t].

    shapes: how many shapes are numbered before the flexible bodies; surface: (nodes, rest, grow, which, owned,
    triangles, triangle_body, material, around, around_start, normal, number of the first triangle among features)."""
    nodes, rest, grow, which, owned, triangles, body, material, around, around_start, normal, first = surface
    count, n = 0, len(pairs)
    for p in range(n * t // threads, n * (t + 1) // threads):
        for turn in range(2):
            f, g = pairs[p, turn], pairs[p, 1 - turn]
            mx, my, mz = normal[g, 0], normal[g, 1], normal[g, 2]
            i, j, k = triangles[g, 0], triangles[g, 1], triangles[g, 2]
            for c in range(3):
                node = owned[f, c]
                if node < 0:
                    continue
                v = which[node]
                if v in (i, j, k):
                    continue
                x, y, z = nodes[v, 0], nodes[v, 1], nodes[v, 2]
                gap = mx * (x - nodes[i, 0]) + my * (y - nodes[i, 1]) + mz * (z - nodes[i, 2])
                limit = grow[v] + max(grow[i], grow[j], grow[k])
                if gap > limit or gap < -max(material[body[f], 3], material[body[g], 3]):
                    continue
                w0, w1, w2 = weights_above(nodes, i, j, k, mx, my, mz, x, y, z)
                least = min(w0, w1, w2)
                if not least >= -ON_EDGE or not node_allows(node, mx, my, mz, around, around_start, normal):
                    continue
                if gap < 0.0 and body[f] == body[g] and not _were_apart(rest, v, i, material[body[f], 3]):
                    continue
                if body[f] < body[g]:  # the node is side A
                    there = put(
                        real[t], whole[t], count, shapes + body[f], shapes + body[g], -mx, -my, -mz, x - gap * mx,
                        y - gap * my, z - gap * mz, gap, node, first + g,
                    )  # fmt: skip
                    sign = -1.0
                else:
                    there = put(
                        real[t], whole[t], count, shapes + body[g], shapes + body[f], mx, my, mz, x, y, z, gap,
                        first + g, node,
                    )  # fmt: skip
                    sign = 1.0
                if there:
                    _put_node(real[t], count, 0, whole[t], v, sign)
                    _put_node(real[t], count, 1, whole[t], i, -sign * w0)
                    _put_node(real[t], count, 2, whole[t], j, -sign * w1)
                    _put_node(real[t], count, 3, whole[t], k, -sign * w2)
                    real[t, count, HEIGHT], whole[t, count, ON_RIM] = gap, 1 if least < ON_EDGE else 0
                count += 1
    counts[t] = count


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def edges_on_edges(t, threads, pairs, shapes, surface, real, whole, counts):
    """The same of edges with edges.  surface: (nodes, rest, grow, edges, edge_faces, owned, triangles, triangle_body,
    material, normal, number of the first edge among features)."""
    nodes, rest, grow, edges, edge_faces, owned, triangles, body, material, normal, first = surface
    mesh = (nodes, edges, edge_faces, normal)
    count, n = 0, len(pairs)
    for p in range(n * t // threads, n * (t + 1) // threads):
        f, g = pairs[p, 0], pairs[p, 1]
        if body[f] > body[g]:
            f, g = g, f
        for c in range(3, 6):
            a = owned[f, c]
            if a < 0:
                continue
            i, j = edges[a, 0], edges[a, 1]
            ux, uy, uz = nodes[j, 0] - nodes[i, 0], nodes[j, 1] - nodes[i, 1], nodes[j, 2] - nodes[i, 2]
            length = math.sqrt(ux * ux + uy * uy + uz * uz)
            ux, uy, uz = ux / length, uy / length, uz / length
            half = 0.5 * length
            px, py, pz = nodes[i, 0] + half * ux, nodes[i, 1] + half * uy, nodes[i, 2] + half * uz
            own_edge = Segment(px, py, pz, ux, uy, uz, half)
            for d in range(3, 6):
                b = owned[g, d]
                if b < 0:
                    continue
                k, m = edges[b, 0], edges[b, 1]
                if i in (k, m) or j in (k, m):
                    continue
                there, nx, ny, nz, gap, w = crossing(own_edge, 0.0, b, mesh)
                limit = max(grow[i], grow[j]) + max(grow[k], grow[m])
                if not there or gap > limit or gap < -max(material[body[f], 3], material[body[g], 3]):
                    continue
                if not edge_allows(b, -nx, -ny, -nz, LEANING, nodes, edges, edge_faces, triangles, normal):
                    continue
                if not edge_allows(a, nx, ny, nz, LEANING, nodes, edges, edge_faces, triangles, normal):
                    continue
                if gap < 0.0:
                    if gap < -SHALLOW * material[body[f], 3] and not (
                        edge_covers(b, -nx, -ny, -nz, edge_faces, normal)
                        and edge_covers(a, nx, ny, nz, edge_faces, normal)
                    ):
                        continue
                    if body[f] == body[g] and not _were_apart(rest, i, k, material[body[f], 3]):
                        continue
                x = nodes[k, 0] + w * (nodes[m, 0] - nodes[k, 0])
                y = nodes[k, 1] + w * (nodes[m, 1] - nodes[k, 1])
                z = nodes[k, 2] + w * (nodes[m, 2] - nodes[k, 2])
                if put(
                    real[t], whole[t], count, shapes + body[f], shapes + body[g], nx, ny, nz, x, y, z, gap, first + a,
                    first + b,
                ):  # fmt: skip
                    x, y, z = x - gap * nx - nodes[i, 0], y - gap * ny - nodes[i, 1], z - gap * nz - nodes[i, 2]
                    own = (ux * x + uy * y + uz * z) / length
                    _put_node(real[t], count, 0, whole[t], i, own - 1.0)
                    _put_node(real[t], count, 1, whole[t], j, -own)
                    _put_node(real[t], count, 2, whole[t], k, 1.0 - w)
                    _put_node(real[t], count, 3, whole[t], m, w)
                    real[t, count, HEIGHT] = gap
                count += 1
    counts[t] = count


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def nodes_on_ridges(t, threads, pairs, shapes, surface, real, whole, counts):
    """The same of nodes with edges and with other nodes, where these are what is nearest: only while there is a gap.
    surface: (nodes, grow, which, edges, edge_faces, owned, triangles, triangle_body, around, around_start, normal)."""
    nodes, grow, which, edges, edge_faces, owned, triangles, body, around, around_start, normal = surface
    count, n = 0, len(pairs)
    for p in range(n * t // threads, n * (t + 1) // threads):
        for turn in range(2):
            f, g = pairs[p, turn], pairs[p, 1 - turn]
            for c in range(3):
                node = owned[f, c]
                if node < 0:
                    continue
                v = which[node]
                for d in range(3 * turn, 6):  # two nodes meet once
                    e = owned[g, d]
                    if e < 0:
                        continue
                    i, j = (which[e], which[e]) if d < 3 else (edges[e, 0], edges[e, 1])
                    if v in (i, j):
                        continue
                    x, y, z = nodes[v, 0] - nodes[i, 0], nodes[v, 1] - nodes[i, 1], nodes[v, 2] - nodes[i, 2]
                    w = 0.0
                    if d >= 3:
                        ux, uy, uz = nodes[j, 0] - nodes[i, 0], nodes[j, 1] - nodes[i, 1], nodes[j, 2] - nodes[i, 2]
                        w = (x * ux + y * uy + z * uz) / (ux * ux + uy * uy + uz * uz)
                        if not (ON_EDGE < w < 1.0 - ON_EDGE):
                            continue
                        x, y, z = x - w * ux, y - w * uy, z - w * uz
                    gap = math.sqrt(x * x + y * y + z * z)
                    if gap == 0.0 or gap > grow[v] + max(grow[i], grow[j]):
                        continue
                    x, y, z = x / gap, y / gap, z / gap  # from the edge or the other node to the node
                    if not node_allows(node, x, y, z, around, around_start, normal):
                        continue
                    if not node_is_nearest(node, v, -x, -y, -z, nodes, triangles, around, around_start):
                        continue
                    if d < 3:
                        if not node_allows(e, -x, -y, -z, around, around_start, normal):
                            continue
                        if not node_is_nearest(e, i, x, y, z, nodes, triangles, around, around_start):
                            continue
                    elif not edge_allows(e, x, y, z, OUTSIDE, nodes, edges, edge_faces, triangles, normal):
                        continue
                    feature = e if d < 3 else len(which) + e
                    if body[f] < body[g]:  # the node is side A
                        there = put(
                            real[t], whole[t], count, shapes + body[f], shapes + body[g], -x, -y, -z,
                            nodes[v, 0] - gap * x, nodes[v, 1] - gap * y, nodes[v, 2] - gap * z, gap, node, feature,
                        )  # fmt: skip
                        sign = -1.0
                    else:
                        there = put(
                            real[t], whole[t], count, shapes + body[g], shapes + body[f], x, y, z, nodes[v, 0],
                            nodes[v, 1], nodes[v, 2], gap, feature, node,
                        )  # fmt: skip
                        sign = 1.0
                    if there:
                        _put_node(real[t], count, 0, whole[t], v, sign)
                        _put_node(real[t], count, 1, whole[t], i, sign * (w - 1.0))
                        if d >= 3:
                            _put_node(real[t], count, 2, whole[t], j, -sign * w)
                    count += 1
    counts[t] = count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _put_node(real, row, place, whole, v, weight):
    real[row, 7 + place], whole[row, NODE + place] = weight, v


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _were_apart(rest, v, w, length):
    """Whether nodes v and w are far from each other at rest, by edges of this length [m]."""
    x, y, z = rest[v, 0] - rest[w, 0], rest[v, 1] - rest[w, 1], rest[v, 2] - rest[w, 2]
    return x * x + y * y + z * z > (_APART * length) ** 2
