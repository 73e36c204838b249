"""Flush neighbours make one floor under surfaces that bend, too (see narrow/neighbours.py): where a node touches a
shape along an axis that separates the same or another shape from all of a row's feature, the row takes this axis."""

import math

import numpy as np

from delassus.collision.layout import TRIANGLE
from delassus.collision.narrow.faces import support
from delassus.collision.narrow.neighbours import BEHIND, FLUSH, SAME, is_polyhedron
from delassus.collision.surface.rows import NODE, SIDE_A
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT


@njit(cache=True, error_model="numpy")
def turn_rows(shapes, of, nodes, real, whole):
    """Turn rows of surfaces on shapes.  shapes: PosedShapes; of: (radius, body, owner) of the shapes, (n_s,) each;
    nodes: (n, 3) [m]; real, whole: rows (rows.py), those of surfaces with each other left alone.

    Normals lead from the shape to the surface. All rows are read as they came: turned ones are written at the end."""
    (radius, body, owner), rows = of, len(whole)
    count = len(radius)
    start, turned = np.zeros(len(nodes) + 1, np.int64), np.empty((rows, 4))
    for r in range(rows):
        for c in range(4):
            if whole[r, SIDE_A] < count and whole[r, NODE + c] >= 0:
                start[whole[r, NODE + c] + 1] += 1
    for v in range(len(nodes)):
        start[v + 1] += start[v]
    link, place = np.empty(start[-1], np.int64), start.copy()
    for r in range(rows):
        for c in range(4):
            v = whole[r, NODE + c]
            if whole[r, SIDE_A] < count and v >= 0:
                link[place[v]] = r
                place[v] += 1
    for r in range(rows):
        turned[r, 3] = math.inf
        if whole[r, SIDE_A] < count and is_polyhedron(shapes.kind[whole[r, SIDE_A]]):
            nearest = math.inf
            for c in range(4):
                v = whole[r, NODE + c]
                if v >= 0:
                    others = link[start[v] : start[v + 1]]
                    nearest = _ask_rows((shapes, radius, body, owner, nodes), (real, whole, turned), r, others, nearest)
    for r in range(rows):
        if turned[r, 3] < math.inf:
            gap = real[r, 6]
            for i in range(3):
                real[r, 3 + i] += 0.5 * (gap * real[r, i] - turned[r, 3] * turned[r, i])
                real[r, i] = turned[r, i]
            real[r, 6] = turned[r, 3]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _ask_rows(places, rows, r, others, nearest):
    """Let `others`, rows at one node of row r nearer than `nearest` [m], say along which axis row r acts.  Returns the
    gap of the one that did, or `nearest`.  places: shapes … nodes; rows: (real, whole, turned)."""
    (shapes, radius, body, owner, nodes), (real, whole, turned) = places, rows
    position = shapes.position
    s = whole[r, SIDE_A]
    for q in others:
        c, gap = whole[q, SIDE_A], real[q, 6]
        mx, my, mz = real[q, 0], real[q, 1], real[q, 2]
        if body[s] != body[c] or (shapes.kind[s] == TRIANGLE and shapes.kind[c] == TRIANGLE and owner[s] == owner[c]):
            continue  # triangles of one mesh know their neighbours
        if q == r or gap >= nearest or not BEHIND < mx * real[r, 0] + my * real[r, 1] + mz * real[r, 2] < SAME:
            continue
        lowest = math.inf
        for k in range(4):
            v = whole[r, NODE + k]
            if v >= 0:
                lowest = min(lowest, mx * nodes[v, 0] + my * nodes[v, 1] + mz * nodes[v, 2])
        top = mx * position[s, 0] + my * position[s, 1] + mz * position[s, 2] + support(shapes, s, mx, my, mz)
        if lowest - top >= -FLUSH * min(radius[s], radius[c]):
            nearest, height = gap, -top
            for i in range(3):
                turned[r, i] = real[q, i]
                height += turned[r, i] * (real[r, 3 + i] + 0.5 * real[r, 6] * real[r, i])  # of the surface's point
            turned[r, 3] = max(height, min(gap, 0.0))
    return nearest
