"""Points of other bodies behind a surface: which of them are inside, and which surface they came through."""

import math
from typing import NamedTuple

import numpy as np

from delassus.collision.surface.posed import PosedSurface, SurfaceTree
from delassus.collision.surface.rows import HEIGHT, ON_RIM, SIDE_A, SIDE_B
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_HERE = 1e-9  # of the segment: the faces where it begins and ends do not cross it
_ROUNDING = 1e-14  # of the coordinates and the faces' edges: nor does a face this near to its ends


class Ray(NamedTuple):
    """A segment from p to p + d [m]."""

    px: float
    py: float
    pz: float
    dx: float
    dy: float
    dz: float


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def mark_hidden(real, surface, tree, stack, hidden):
    """Which rows (n,) are of points behind a surface, by their HEIGHT, with more of the surface in between: those are
    not inside, or not by this surface.  surface, tree: fields of PosedSurface and SurfaceTree; stack: (DEEP,) scratch;
    hidden: written."""
    surface, tree = PosedSurface(*surface), SurfaceTree(*tree)
    for k in range(len(real)):
        height = real[k, HEIGHT]
        hidden[k] = False
        if height < 0.0:
            half = 0.5 * real[k, 6]
            x, y, z = real[k, 3] + half * real[k, 0], real[k, 4] + half * real[k, 1], real[k, 5] + half * real[k, 2]
            ray = Ray(x, y, z, -height * real[k, 0], -height * real[k, 1], -height * real[k, 2])
            hidden[k] = _is_hidden(ray, surface, tree, stack)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _is_hidden(ray, surface, tree, stack):
    """Whether a triangle crosses the ray, which begins on the surface."""
    order, levels, boxes = tree.order, tree.levels, tree.boxes
    px, py, pz = ray.px, ray.py, ray.pz
    dx, dy, dz = ray.dx, ray.dy, ray.dz
    count, leaves, top = len(order), 1 << levels, 1
    far = max(abs(px), abs(py), abs(pz)) / math.sqrt(dx * dx + dy * dy + dz * dz)
    stack[0] = 1
    while top:
        top -= 1
        i = stack[top]
        if (
            boxes[i, 0] > max(px, px + dx)
            or boxes[i, 3] < min(px, px + dx)
            or boxes[i, 1] > max(py, py + dy)
            or boxes[i, 4] < min(py, py + dy)
            or boxes[i, 2] > max(pz, pz + dz)
            or boxes[i, 5] < min(pz, pz + dz)
        ):
            continue
        if i < leaves:
            stack[top], stack[top + 1] = 2 * i + 1, 2 * i
            top += 2
            continue
        k = i - leaves
        for q in range((count * k) >> levels, (count * (k + 1)) >> levels):
            f = order[q]
            if _crosses(ray, f, far, surface.nodes, surface.triangles):
                return True
    return False


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _crosses(ray, f, far, nodes, triangles):
    """Whether a ray crosses triangle f (Möller and Trumbore 1997).  far: largest coordinate of p over |d|: for what is
    a hair inside, the place of the face it came through is rounding."""
    px, py, pz = ray.px, ray.py, ray.pz
    dx, dy, dz = ray.dx, ray.dy, ray.dz
    a, b, c = triangles[f, 0], triangles[f, 1], triangles[f, 2]
    ux, uy, uz = nodes[b, 0] - nodes[a, 0], nodes[b, 1] - nodes[a, 1], nodes[b, 2] - nodes[a, 2]
    wx, wy, wz = nodes[c, 0] - nodes[a, 0], nodes[c, 1] - nodes[a, 1], nodes[c, 2] - nodes[a, 2]
    hx, hy, hz = dy * wz - dz * wy, dz * wx - dx * wz, dx * wy - dy * wx
    det = ux * hx + uy * hy + uz * hz
    if det == 0.0:
        return False
    sx, sy, sz = px - nodes[a, 0], py - nodes[a, 1], pz - nodes[a, 2]
    v = (sx * hx + sy * hy + sz * hz) / det
    gx, gy, gz = sy * uz - sz * uy, sz * ux - sx * uz, sx * uy - sy * ux
    w = (dx * gx + dy * gy + dz * gz) / det
    t = (wx * gx + wy * gy + wz * gz) / det
    if not (v >= 0.0 and w >= 0.0 and v + w <= 1.0 and _HERE < t < 1.0 - _HERE):
        return False
    edges = math.sqrt((ux * ux + uy * uy + uz * uz + wx * wx + wy * wy + wz * wz) / (dx * dx + dy * dy + dz * dz))
    here = _ROUNDING * (far + edges)
    return here < t < 1.0 - here


def nearest_faces(real: np.ndarray, whole: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Which rows of points above faces count, (n,): all faces that a point is in front of, and the face that it is
    behind where none is nearer: that is the one it came through. A point above the rim of several faces counts once.
    point: (n,) the number of each; hidden ones have been taken out."""
    height, rim = np.abs(real[:, HEIGHT]), whole[:, ON_RIM] == 1
    order = np.lexsort((np.arange(len(real)), height, point, whole[:, SIDE_B], whole[:, SIDE_A]))
    key = np.column_stack([whole[:, SIDE_A], whole[:, SIDE_B], point])[order]
    nearest = np.append(True, (key[1:] != key[:-1]).any(axis=1))[: len(order)]
    group = np.cumsum(nearest) - 1
    on_rim = rim[order]
    before = np.cumsum(on_rim) - on_rim
    again = on_rim & (before > before[nearest][group])
    keep = np.empty(len(order), bool)
    keep[order] = ~again & (nearest | (real[order, HEIGHT] > 0))
    return keep
