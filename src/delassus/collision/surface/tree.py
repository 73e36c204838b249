"""A tree of boxes over the triangles of all surfaces: which of them are near something.

Which triangles hang where is decided once, by halving them along the longest axis of where they are at rest; every
step only widens the boxes to where the nodes are now, bottom up. Neighbours in a mesh stay neighbours however it bends,
so the tree stays good. A leaf has two to four triangles; node i has the children 2i and 2i + 1, the root is 1."""

import math
from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_LEAF = 4  # triangles of a leaf at most
DEEP = 64  # of the stack of a search: more than the tree has levels


class HalfSpace(NamedTuple):
    """What lies below a plane."""

    x: float  # a point of the plane [m]
    y: float
    z: float
    nx: float  # its unit normal
    ny: float
    nz: float
    height: float  # by which the plane is raised [m]


def grow_tree(rest: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, int]:
    """(order (F,) of the triangles in the leaves, levels): leaf k of 2^levels has order[F k >> levels : F (k + 1) >>
    levels]."""
    count = len(triangles)
    levels = max(0, math.ceil(math.log2(count / _LEAF)))
    middle = rest[triangles].mean(axis=1)
    order = np.arange(count)
    for level in range(levels):
        start = (count * np.arange((1 << level) + 1)) >> level
        here = middle[order]
        spread = np.maximum.reduceat(here, start[:-1]) - np.minimum.reduceat(here, start[:-1])
        part = np.repeat(np.arange(1 << level), np.diff(start))
        along = np.take_along_axis(here, spread.argmax(axis=1)[part][:, None], axis=1)[:, 0]
        order = order[np.lexsort((order, along, part))]
    return order, levels


def branch_bodies(order: np.ndarray, levels: int, body: np.ndarray) -> np.ndarray:
    """(2^(levels + 1),) the body of all triangles below each node of the tree, −1 where there are several."""
    count, result = len(order), np.full(2 << levels, -1)
    start = (count * np.arange((1 << levels) + 1)) >> levels
    low, high = np.minimum.reduceat(body[order], start[:-1]), np.maximum.reduceat(body[order], start[:-1])
    for level in range(levels, -1, -1):
        result[1 << level : 2 << level] = np.where(low == high, low, -1)
        if level:
            low, high = np.minimum(low[::2], low[1::2]), np.maximum(high[::2], high[1::2])
    return result


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def widen(nodes, triangles, order, levels, grow, boxes, normal):
    """Boxes (2^(levels + 1), 6) lowest and highest corners, and normals (F, 3), outward, zero where a triangle is flat.

    nodes: (n, 3) [m]; grow: (n,) how much further than a node its box reaches [m]. Returns the first surface node that
    is not finite, or −1."""
    count, leaves, bad = len(order), 1 << levels, -1
    for k in range(leaves):
        x0 = y0 = z0 = math.inf
        x1 = y1 = z1 = -math.inf
        for p in range((count * k) >> levels, (count * (k + 1)) >> levels):
            t = order[p]
            for c in range(3):
                v = triangles[t, c]
                x, y, z, g = nodes[v, 0], nodes[v, 1], nodes[v, 2], grow[v]
                if not (abs(x) < 1e15 and abs(y) < 1e15 and abs(z) < 1e15):  # also false for NaN
                    bad = v
                x0, y0, z0 = min(x0, x - g), min(y0, y - g), min(z0, z - g)
                x1, y1, z1 = max(x1, x + g), max(y1, y + g), max(z1, z + g)
            normal[t, 0], normal[t, 1], normal[t, 2] = unit_normal(nodes, triangles, t)
        i = leaves + k
        boxes[i, 0], boxes[i, 1], boxes[i, 2] = x0, y0, z0
        boxes[i, 3], boxes[i, 4], boxes[i, 5] = x1, y1, z1
    for i in range(leaves - 1, 0, -1):
        for c in range(3):
            boxes[i, c] = min(boxes[2 * i, c], boxes[2 * i + 1, c])
            boxes[i, 3 + c] = max(boxes[2 * i, 3 + c], boxes[2 * i + 1, 3 + c])
    return bad


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def unit_normal(nodes, triangles, t):
    """Of triangle t, outward; zero where its corners lie on a line."""
    a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
    ux, uy, uz = nodes[b, 0] - nodes[a, 0], nodes[b, 1] - nodes[a, 1], nodes[b, 2] - nodes[a, 2]
    wx, wy, wz = nodes[c, 0] - nodes[a, 0], nodes[c, 1] - nodes[a, 1], nodes[c, 2] - nodes[a, 2]
    nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    if length == 0.0:
        return 0.0, 0.0, 0.0
    return nx / length, ny / length, nz / length


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def triangle_box(nodes, triangles, grow, t, box):
    """The box of triangle t into box (6,)."""
    for c in range(3):
        box[c], box[3 + c] = math.inf, -math.inf
    for k in range(3):
        v = triangles[t, k]
        for c in range(3):
            box[c] = min(box[c], nodes[v, c] - grow[v])
            box[3 + c] = max(box[3 + c], nodes[v, c] + grow[v])


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def boxes_meet(boxes, i, box):
    """Whether boxes[i] and box (6,) have a point in common."""
    return (
        boxes[i, 0] <= box[3]
        and boxes[i, 1] <= box[4]
        and boxes[i, 2] <= box[5]
        and box[0] <= boxes[i, 3]
        and box[1] <= boxes[i, 4]
        and box[2] <= boxes[i, 5]
    )


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def below(box, i, space):
    """Whether box[i] reaches into a half space."""
    nx, ny, nz = space.nx, space.ny, space.nz
    d = nx * ((box[i, 0] if nx > 0.0 else box[i, 3]) - space.x)
    d += ny * ((box[i, 1] if ny > 0.0 else box[i, 4]) - space.y)
    d += nz * ((box[i, 2] if nz > 0.0 else box[i, 5]) - space.z)
    return d <= space.height
