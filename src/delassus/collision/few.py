"""Few shapes: every pair that may touch is known beforehand, and one compiled call places the shapes and goes through
the list. What a step of a small mechanism waits for is Python, so memory is kept from call to call as well."""

import numpy as np
from numba import njit

from delassus.collision.broad.filters import may_touch
from delassus.collision.broad.near import boxes_overlap, over_plane
from delassus.collision.layout import PLANE
from delassus.collision.narrow.families import DIRECT, FAMILIES, POINTS, SPHERES
from delassus.collision.narrow.sphere import spheres_near
from delassus.collision.placement import place


def few_candidates(kind, body, owner, group, mask, excluded) -> np.ndarray:
    """(c, 4) shapes a < b of the pairs that may touch, in order, family and rows of `out` each needs.  Arguments: as in
    ShapeArrays."""
    n = len(kind)
    room = np.empty((n * (n - 1) // 2, 4), np.int64)
    count = _candidates(kind, body, owner, group, mask, excluded, FAMILIES, POINTS, room)
    return room[:count].copy()


def work_space(n: int, candidates: np.ndarray) -> tuple[np.ndarray, ...]:
    """(position, rotation, extent, pairs, dealt, out) for n shapes and these candidates, see layout.py."""
    c, rows = len(candidates), int(candidates[:, 3].sum())
    return (
        np.empty((n, 8)), np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((c, 2), np.int32),
        np.empty((c, 3), np.int32), np.empty((rows, 8)),
    )  # fmt: skip


@njit(cache=True, error_model="numpy")
def _candidates(kind, body, owner, group, mask, excluded, families, points, candidates):
    count = 0
    for a in range(len(kind)):
        for b in range(a + 1, len(kind)):
            if may_touch(a, b, body, owner, group, mask, excluded):
                candidates[count, 0], candidates[count, 1] = a, b
                candidates[count, 2] = families[kind[a], kind[b]]
                candidates[count, 3] = points[kind[a], kind[b]]
                count += 1
    return count


@njit(cache=True, error_model="numpy", nogil=True)
def find_few(placing, radius, p, q, candidates, position, rotation, extent, pairs, dealt):
    """Place the shapes and keep the near pairs: (first body with a bad pose or −1, pairs, contacts that are known, bits
    of the families that occur).

    placing, radius, candidates: of ShapeArrays; the others are written, see layout.py."""
    bad = place(0, 1, placing, p, q, position, rotation, extent)
    kind = placing[0]
    count, slot, direct, bits = 0, 0, 0, 0
    for c in range(len(candidates)):
        a, b, family = candidates[c, 0], candidates[c, 1], candidates[c, 2]
        if family == SPHERES:
            near = spheres_near(position, a, b)
        elif kind[a] == PLANE or kind[b] == PLANE:
            plane, other = (a, b) if kind[a] == PLANE else (b, a)
            near = over_plane(position, rotation, radius, plane, other)
        else:
            near = boxes_overlap(position, extent, a, b)
        if near:
            pairs[count, 0], pairs[count, 1] = a, b
            dealt[count, 0], dealt[count, 1], dealt[count, 2] = family, slot, 0
            if family <= DIRECT:
                dealt[count, 2] = 1
                direct += 1
            bits |= 1 << family
            slot += candidates[c, 3]
            count += 1
    return bad, count, direct, bits
