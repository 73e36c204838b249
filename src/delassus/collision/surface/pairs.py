"""Broad phase: which triangles of flexible bodies are near which shapes, and near which others."""

from typing import NamedTuple

import numpy as np

from delassus.collision.layout import MARGIN, PLANE
from delassus.collision.surface.posed import PosedSurface, SurfaceTree
from delassus.collision.surface.tree import HalfSpace, below, boxes_meet, triangle_box
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT


class BodyFilters(NamedTuple):
    """Which flexible bodies may touch what; fields of SurfaceArrays."""

    group: np.ndarray  # (bodies,) bits
    mask: np.ndarray  # (bodies,) bits
    excluded: np.ndarray  # sorted keys of pairs (flexible body, owner of shapes)
    self_contact: np.ndarray  # (bodies,)


class NearShapes(NamedTuple):
    """Shapes in the broad phase: fields of ShapeArrays, poses and boxes of `place`, and reach."""

    kind: np.ndarray
    owner: np.ndarray
    group: np.ndarray
    mask: np.ndarray
    position: np.ndarray
    rotation: np.ndarray
    extent: np.ndarray
    reach: np.ndarray  # (n_s,) how much further contacts are looked for [m]


class Search(NamedTuple):
    """What a search writes."""

    stack: np.ndarray  # (threads, DEEP) scratch
    box: np.ndarray  # (threads, 6) scratch
    pairs: np.ndarray  # (threads, ·, 2)
    counts: np.ndarray  # (threads,) of the pairs


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def near_shapes(t, threads, surface, tree, filters, shapes, search):
    """Pairs (shape, triangle) that are near each other, by share t of the shapes; goes on counting when there are more
    than `search` has rows for.

    surface, tree, filters, shapes, search: fields of PosedSurface, SurfaceTree, BodyFilters, NearShapes and Search."""
    surface, tree, filters = PosedSurface(*surface), SurfaceTree(*tree), BodyFilters(*filters)
    shapes, search = NearShapes(*shapes), Search(*search)
    body, order, levels, boxes = surface.body, tree.order, tree.levels, tree.boxes
    kind, owner, group, mask = shapes.kind, shapes.owner, shapes.group, shapes.mask
    position, rotation, extent, reach = shapes.position, shapes.rotation, shapes.extent, shapes.reach
    count, leaves, n = len(order), 1 << levels, len(kind)
    stack, around, pairs = search.stack[t], search.box[t], search.pairs[t]
    seen = 0
    for s in range(n * t // threads, n * (t + 1) // threads):
        plane = kind[s] == PLANE
        x, y, z = position[s, 0], position[s, 1], position[s, 2]
        nx, ny, nz = rotation[s, 0, 2], rotation[s, 1, 2], rotation[s, 2, 2]
        space = HalfSpace(x, y, z, nx, ny, nz, position[s, MARGIN] + reach[s])
        for c in range(3):
            half = extent[s, c] + reach[s]
            around[c], around[3 + c] = position[s, c] - half, position[s, c] + half
        top = 1
        stack[0] = 1
        while top:
            top -= 1
            i = stack[top]
            if plane:
                if not below(boxes, i, space):
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
                if not _is_near(surface, f, plane, around, space):
                    continue
                if seen < len(pairs):
                    pairs[seen, 0], pairs[seen, 1] = s, f
                seen += 1
    search.counts[t] = seen


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _is_near(surface, f, plane, around, space):
    """Whether triangle f is near a box `around` (6,), by its own box, or near a plane, by its corners."""
    nodes, triangles, grow = surface.nodes, surface.triangles, surface.grow
    x, y, z, high = space.x, space.y, space.z, space.height
    nx, ny, nz = space.nx, space.ny, space.nz
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
    low = x0 <= around[3] and y0 <= around[4] and z0 <= around[5]
    return low and around[0] <= x1 and around[1] <= y1 and around[2] <= z1


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def may_meet(body, owner, group, mask, filters):
    """Whether a flexible body and a shape may touch: their groups see each other, and no exclusion."""
    groups, masks, excluded = filters.group, filters.mask, filters.excluded
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


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def near_each_other(t, threads, surface, tree, filters, search):
    """Pairs of triangles f < g that are near each other, by share t of the triangles; goes on counting when there are
    more than `search` has rows for.  Arguments: as of `near_shapes`."""
    surface, tree, filters, search = PosedSurface(*surface), SurfaceTree(*tree), BodyFilters(*filters), Search(*search)
    nodes, triangles, body, grow = surface.nodes, surface.triangles, surface.body, surface.grow
    order, levels, boxes, branch_body = tree.order, tree.levels, tree.boxes, tree.branch_body
    group, mask, self_contact = filters.group, filters.mask, filters.self_contact
    stack, box, pairs = search.stack[t], search.box[t], search.pairs[t]
    count, leaves, seen = len(order), 1 << levels, 0
    for p in range(count * t // threads, count * (t + 1) // threads):
        f = order[p]
        own = body[f]
        triangle_box(nodes, triangles, grow, f, box)
        top = 1
        stack[0] = 1
        while top:
            top -= 1
            i = stack[top]
            if (branch_body[i] == own and not self_contact[own]) or not boxes_meet(boxes, i, box):
                continue
            if i < leaves:
                stack[top], stack[top + 1] = 2 * i + 1, 2 * i
                top += 2
                continue
            k = i - leaves
            for q in range((count * k) >> levels, (count * (k + 1)) >> levels):
                g = order[q]
                other = body[g]
                if g <= f or (
                    own == other and (not self_contact[own] or _are_neighbours(f, g, triangles, surface.normal))
                ):
                    continue
                if (group[own] & mask[other]) == 0 or (group[other] & mask[own]) == 0:
                    continue
                if _boxes_touch(nodes, triangles, grow, g, box):
                    if seen < len(pairs):
                        pairs[seen, 0], pairs[seen, 1] = f, g
                    seen += 1
    search.counts[t] = seen


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _are_neighbours(f, g, triangles, normal):
    """Whether triangles of one body share a node and look the same way: they are not what touches there."""
    if normal[f, 0] * normal[g, 0] + normal[f, 1] * normal[g, 1] + normal[f, 2] * normal[g, 2] < 0.0:
        return False
    for c in range(3):
        v = triangles[f, c]
        if v in (triangles[g, 0], triangles[g, 1], triangles[g, 2]):
            return True
    return False


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _boxes_touch(nodes, triangles, grow, g, box):
    """Whether the box of triangle g and box (6,) have a point in common."""
    i, j, k = triangles[g, 0], triangles[g, 1], triangles[g, 2]
    for c in range(3):
        low = min(nodes[i, c] - grow[i], nodes[j, c] - grow[j], nodes[k, c] - grow[k])
        high = max(nodes[i, c] + grow[i], nodes[j, c] + grow[j], nodes[k, c] + grow[k])
        if low > box[3 + c] or high < box[c]:
            return False
    return True
