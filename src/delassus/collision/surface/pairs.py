"""Broad phase: which triangles of flexible bodies are near which shapes."""

import numpy as np

from delassus.collision.layout import MARGIN, PLANE
from delassus.collision.surface.tree import below, boxes_meet
from delassus.kernel import njit
from delassus.linalg.borrowed import BORROWED


@njit(cache=True, error_model="numpy", nogil=True, **BORROWED)
def near_shapes(t, threads, surface, filters, boxes, placed, reach, scratch, found, counts):
    """Pairs (shape, triangle) that are near each other into found[t], by share t of the shapes, and how many into
    counts[t]; goes on counting when out of room.

    surface: (nodes (n, 3), triangles, triangle_body, order, levels, grow); filters: see `may_meet`; boxes: of the tree;
    scratch: (threads, DEEP) whole numbers and (threads, 6);
    placed: (kind, owner, group, mask, position, rotation, extent) of the shapes; reach: (n_s,) [m]."""
    nodes, triangles, body, order, levels, grow = surface
    kind, owner, group, mask, position, rotation, extent = placed
    count, leaves, n = len(order), 1 << levels, len(kind)
    stack, around = scratch[0][t], scratch[1][t]
    seen, room = 0, found.shape[1]
    for s in range(n * t // threads, n * (t + 1) // threads):
        plane = kind[s] == PLANE
        x, y, z = position[s, 0], position[s, 1], position[s, 2]
        nx, ny, nz = rotation[s, 0, 2], rotation[s, 1, 2], rotation[s, 2, 2]
        high = position[s, MARGIN] + reach[s]
        for c in range(3):
            half = extent[s, c] + reach[s]
            around[c], around[3 + c] = position[s, c] - half, position[s, c] + half
        top = 1
        stack[0] = 1
        while top:
            top -= 1
            i = stack[top]
            if plane:
                if not below(boxes, i, x, y, z, nx, ny, nz, high):
                    continue
            elif not boxes_meet(boxes, i, around):
                continue
            if i < leaves:
                stack[top], stack[top + 1] = 2 * i + 1, 2 * i
                top += 2
                continue
            k = i - leaves
            for p in range((count * k) >> levels, (count * (k + 1)) >> levels):
                f = order[p]
                if not may_meet(body[f], owner[s], group[s], mask[s], filters):
                    continue
                if not _is_near(nodes, triangles, grow, f, plane, around, x, y, z, nx, ny, nz, high):
                    continue
                if seen < room:
                    found[t, seen, 0], found[t, seen, 1] = s, f
                seen += 1
    counts[t] = seen


@njit(cache=True, error_model="numpy", **BORROWED)
def _is_near(nodes, triangles, grow, f, plane, around, x, y, z, nx, ny, nz, high):
    """Triangle f by its own box, or its corners above a plane."""
    x0 = y0 = z0 = np.inf
    x1 = y1 = z1 = -np.inf
    for c in range(3):
        v = triangles[f, c]
        px, py, pz, g = nodes[v, 0], nodes[v, 1], nodes[v, 2], grow[v]
        if plane and nx * (px - x) + ny * (py - y) + nz * (pz - z) <= high + g:
            return True
        x0, y0, z0 = min(x0, px - g), min(y0, py - g), min(z0, pz - g)
        x1, y1, z1 = max(x1, px + g), max(y1, py + g), max(z1, pz + g)
    if plane:
        return False
    return (
        x0 <= around[3] and y0 <= around[4] and z0 <= around[5]
        and around[0] <= x1 and around[1] <= y1 and around[2] <= z1
    )  # fmt: skip


@njit(cache=True, error_model="numpy", **BORROWED)
def may_meet(body, owner, group, mask, filters):
    """Whether a flexible body and a shape may touch: their groups see each other, and no exclusion.

    filters: (group, mask) of the flexible bodies, and sorted keys of excluded pairs."""
    groups, masks, excluded = filters
    if (groups[body] & mask) == 0 or (group & masks[body]) == 0:
        return False
    if len(excluded):
        key = (body << 32) + owner
        lo, hi = 0, len(excluded)
        while lo < hi:
            middle = (lo + hi) // 2
            if excluded[middle] < key:
                lo = middle + 1
            else:
                hi = middle
        if lo < len(excluded) and excluded[lo] == key:
            return False
    return True
