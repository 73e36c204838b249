"""Nodes and edges of flexible surfaces against solids known by their support function alone: by GJK.

A probe stands for the node or the edge: a hull of two corners, one row after the shapes for every thread."""

from typing import Any

import numpy as np

from delassus.collision.arrays import ShapeArrays
from delassus.collision.layout import CONVEX, MARGIN, PosedShapes
from delassus.collision.narrow.gjk import WITNESS, signed_distance
from delassus.collision.narrow.triangle import ON_EDGE
from delassus.collision.surface.edges import NEAREST
from delassus.collision.surface.facing import LEANING, edge_allows, node_allows
from delassus.collision.surface.posed import Obstacles, PosedSurface
from delassus.collision.surface.rows import put, put_node, rows_of
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT


def with_probes(shapes: ShapeArrays, position: np.ndarray, rotation: np.ndarray, threads: int) -> tuple[Any, ...]:
    """The fields of PosedShapes, of the shapes and a probe for every thread."""
    vertex, start = shapes.vertices.vertex, shapes.vertices.vertex_start
    return (
        np.concatenate([position, np.zeros((threads, position.shape[1]))]),
        np.concatenate([rotation, np.tile(np.eye(3), (threads, 1, 1))]),
        np.concatenate([shapes.size, np.zeros((threads, shapes.size.shape[1]))]),
        np.concatenate([shapes.kind, np.full(threads, CONVEX, shapes.kind.dtype)]),
        np.concatenate([vertex, np.zeros((2 * threads, 3))]),
        np.concatenate([start, start[-1] + 2 * np.arange(1, threads + 1)]),
        np.concatenate([shapes.supports, np.zeros(threads, np.int64)]),
    )


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def on_support_only(t, threads, pairs, first_rigid, surface, obstacles, scratch, out):
    """Contacts of the nodes and edges that come with share t of the pairs (p, 2) of a SUPPORT_ONLY shape and a
    triangle, into the rows of `out` (rows.py); goes on counting when these are full.

    first_rigid: as of `edges_on_shapes`; surface, obstacles: fields of PosedSurface and, with probes, of Obstacles;
    scratch: (threads, WITNESS, 3)."""
    surface, obstacles, rows = PosedSurface(*surface), Obstacles(*obstacles), rows_of(out, t)
    nodes, grow, numbers, owned = surface.nodes, surface.grow, surface.numbers, surface.owned
    edges, body, posed = surface.edges, surface.body, PosedShapes(*obstacles.shapes)
    position, vertex = posed.position, posed.vertex
    W, count, n, shapes = scratch[t], 0, len(pairs), len(posed.kind) - threads
    probe = shapes + t
    first = posed.vertex_start[probe]
    for p in range(n * t // threads, n * (t + 1) // threads):
        s, f = pairs[p, 0], pairs[p, 1]
        for c in range(6):
            k = owned[f, c]
            if k < 0:
                continue
            i, j = (numbers[k], numbers[k]) if c < 3 else (edges[k, 0], edges[k, 1])
            limit = position[s, MARGIN] + obstacles.reach[s] + max(grow[i], grow[j])
            half = 0.0
            for a in range(3):
                position[probe, a] = 0.5 * (nodes[i, a] + nodes[j, a])
                along = 0.5 * (nodes[j, a] - nodes[i, a])
                vertex[first, a], vertex[first + 1, a] = -along, along
                half += along * along
            gap, nx, ny, nz = signed_distance(posed, s, probe, W)
            if gap > limit:
                continue
            w, feature = 0.0, np.int64(0)
            if c < 3:
                if not node_allows(surface, k, nx, ny, nz):
                    continue
            else:
                for a in range(3):
                    w += (W[WITNESS - 1, a] - nodes[i, a]) * (nodes[j, a] - nodes[i, a])
                w /= 4.0 * half
                if not (ON_EDGE < w < 1.0 - ON_EDGE):
                    continue
                if not edge_allows(surface, k, -nx, -ny, -nz, LEANING):
                    continue
                feature, k = np.int64(first_rigid + NEAREST), k + len(numbers)
            x = nodes[i, 0] + w * (nodes[j, 0] - nodes[i, 0])
            y = nodes[i, 1] + w * (nodes[j, 1] - nodes[i, 1])
            z = nodes[i, 2] + w * (nodes[j, 2] - nodes[i, 2])
            if put(rows, count, (s, shapes + body[f]), (nx, ny, nz), (x, y, z), gap, (feature, k)):
                put_node(rows, count, 0, i, 1.0 - w)
                if c >= 3:
                    put_node(rows, count, 1, j, w)
            count += 1
    out[2][t] = count
