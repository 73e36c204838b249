"""Surfaces of flexible bodies against each other and against themselves: nodes above faces, edges across edges."""

import math

from delassus.collision.narrow.distance import Segment
from delassus.collision.narrow.triangle import ON_EDGE
from delassus.collision.surface.edges import OUTSIDE, crossing
from delassus.collision.surface.faces import weights_above
from delassus.collision.surface.facing import LEANING, SHALLOW, edge_allows, edge_covers, node_allows, node_is_nearest
from delassus.collision.surface.posed import PosedSurface
from delassus.collision.surface.rows import HEIGHT, ON_RIM, put, put_node, rows_of
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_FAR = 4.0
"""Mean lengths of an edge: nodes of one body that are further from each other at rest have met by bending, and may be
behind each other's faces; of nearer ones the one is simply on the other side of the body."""


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def nodes_on_faces(t, threads, pairs, shapes, surface, out):
    """Contacts of nodes with faces of share t of the pairs (p, 2) of triangles, into the rows of `out` (rows.py); goes
    on counting when these are full.

    shapes: number of shapes, which come before the flexible bodies; surface: fields of PosedSurface."""
    surface, rows = PosedSurface(*surface), rows_of(out, t)
    nodes, grow, normal, owned = surface.nodes, surface.grow, surface.normal, surface.owned
    triangles, body, material = surface.triangles, surface.body, surface.material
    first = len(surface.numbers) + len(surface.edges)  # number of the first triangle among features
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
                v = surface.numbers[node]
                if v in (i, j, k):
                    continue
                x, y, z = nodes[v, 0], nodes[v, 1], nodes[v, 2]
                gap = mx * (x - nodes[i, 0]) + my * (y - nodes[i, 1]) + mz * (z - nodes[i, 2])
                limit = grow[v] + max(grow[i], grow[j], grow[k])
                if gap > limit or gap < -max(material[body[f], 3], material[body[g], 3]):
                    continue
                w0, w1, w2 = weights_above(nodes, (i, j, k), (mx, my, mz), (x, y, z))
                least = min(w0, w1, w2)
                if not least >= -ON_EDGE or not node_allows(surface, node, mx, my, mz):
                    continue
                if gap < 0.0 and body[f] == body[g] and not _were_far(surface.rest, v, i, material[body[f], 3]):
                    continue
                if body[f] < body[g]:  # the node is side A
                    sides, features, sign = (shapes + body[f], shapes + body[g]), (node, first + g), -1.0
                    point = (x - gap * mx, y - gap * my, z - gap * mz)
                    is_put = put(rows, count, sides, (-mx, -my, -mz), point, gap, features)
                else:
                    sides, features, sign = (shapes + body[g], shapes + body[f]), (first + g, node), 1.0
                    is_put = put(rows, count, sides, (mx, my, mz), (x, y, z), gap, features)
                if is_put:
                    put_node(rows, count, 0, v, sign)
                    put_node(rows, count, 1, i, -sign * w0)
                    put_node(rows, count, 2, j, -sign * w1)
                    put_node(rows, count, 3, k, -sign * w2)
                    rows.real[count, HEIGHT], rows.whole[count, ON_RIM] = gap, 1 if least < ON_EDGE else 0
                count += 1
    out[2][t] = count


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def edges_on_edges(t, threads, pairs, shapes, surface, out):
    """`nodes_on_faces` of edges with edges."""
    surface, rows = PosedSurface(*surface), rows_of(out, t)
    nodes, grow, edges, owned = surface.nodes, surface.grow, surface.edges, surface.owned
    rest, body, material = surface.rest, surface.body, surface.material
    first = len(surface.numbers)  # number of the first edge among features
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
                met = crossing(surface, b, own_edge, 0.0)
                nx, ny, nz, gap, w = met.nx, met.ny, met.nz, met.gap, met.weight
                limit = max(grow[i], grow[j]) + max(grow[k], grow[m])
                if not met.there or gap > limit or gap < -max(material[body[f], 3], material[body[g], 3]):
                    continue
                if not edge_allows(surface, b, -nx, -ny, -nz, LEANING):
                    continue
                if not edge_allows(surface, a, nx, ny, nz, LEANING):
                    continue
                if gap < 0.0:
                    if gap < -SHALLOW * material[body[f], 3] and not (
                        edge_covers(surface, b, -nx, -ny, -nz) and edge_covers(surface, a, nx, ny, nz)
                    ):
                        continue
                    if body[f] == body[g] and not _were_far(rest, i, k, material[body[f], 3]):
                        continue
                x = nodes[k, 0] + w * (nodes[m, 0] - nodes[k, 0])
                y = nodes[k, 1] + w * (nodes[m, 1] - nodes[k, 1])
                z = nodes[k, 2] + w * (nodes[m, 2] - nodes[k, 2])
                sides, features = (shapes + body[f], shapes + body[g]), (first + a, first + b)
                if put(rows, count, sides, (nx, ny, nz), (x, y, z), gap, features):
                    x, y, z = x - gap * nx - nodes[i, 0], y - gap * ny - nodes[i, 1], z - gap * nz - nodes[i, 2]
                    own = (ux * x + uy * y + uz * z) / length
                    put_node(rows, count, 0, i, own - 1.0)
                    put_node(rows, count, 1, j, -own)
                    put_node(rows, count, 2, k, 1.0 - w)
                    put_node(rows, count, 3, m, w)
                    rows.real[count, HEIGHT] = gap
                count += 1
    out[2][t] = count


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def nodes_on_ridges(t, threads, pairs, shapes, surface, out):
    """`nodes_on_faces` of nodes with edges and with other nodes, where these are what is nearest: only while there is a
    gap."""
    surface, rows = PosedSurface(*surface), rows_of(out, t)
    nodes, grow, numbers, edges = surface.nodes, surface.grow, surface.numbers, surface.edges
    owned, body = surface.owned, surface.body
    count, n = 0, len(pairs)
    for p in range(n * t // threads, n * (t + 1) // threads):
        for turn in range(2):
            f, g = pairs[p, turn], pairs[p, 1 - turn]
            for c in range(3):
                node = owned[f, c]
                if node < 0:
                    continue
                v = numbers[node]
                for d in range(3 * turn, 6):  # two nodes meet once
                    e = owned[g, d]
                    if e < 0:
                        continue
                    i, j = (numbers[e], numbers[e]) if d < 3 else (edges[e, 0], edges[e, 1])
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
                    if not node_allows(surface, node, x, y, z):
                        continue
                    if not node_is_nearest(surface, node, v, -x, -y, -z):
                        continue
                    if d < 3:
                        if not node_allows(surface, e, -x, -y, -z):
                            continue
                        if not node_is_nearest(surface, e, i, x, y, z):
                            continue
                    elif not edge_allows(surface, e, x, y, z, OUTSIDE):
                        continue
                    feature = e if d < 3 else len(numbers) + e
                    if body[f] < body[g]:  # the node is side A
                        sides, sign = (shapes + body[f], shapes + body[g]), -1.0
                        point = (nodes[v, 0] - gap * x, nodes[v, 1] - gap * y, nodes[v, 2] - gap * z)
                        is_put = put(rows, count, sides, (-x, -y, -z), point, gap, (node, feature))
                    else:
                        sides, sign = (shapes + body[g], shapes + body[f]), 1.0
                        point = (nodes[v, 0], nodes[v, 1], nodes[v, 2])
                        is_put = put(rows, count, sides, (x, y, z), point, gap, (feature, node))
                    if is_put:
                        put_node(rows, count, 0, v, sign)
                        put_node(rows, count, 1, i, sign * (w - 1.0))
                        if d >= 3:
                            put_node(rows, count, 2, j, -sign * w)
                    count += 1
    out[2][t] = count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _were_far(rest, v, w, length):
    """Whether nodes v and w are far from each other at rest, by edges of this length [m]."""
    x, y, z = rest[v, 0] - rest[w, 0], rest[v, 1] - rest[w, 1], rest[v, 2] - rest[w, 2]
    return x * x + y * y + z * z > (_FAR * length) ** 2
