"""The broad phase pair by pair: may two shapes touch at all, could they be in contact, and, where shapes are few, the
list of all pairs that may touch, made once.

Which of the three tests is due stands in each loop: a function with branches keeps the two atomic additions that every
array handed to it costs, ten times the test itself."""

from typing import NamedTuple

import numpy as np

from delassus.collision.layout import MARGIN
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

SMALL = 64  # shapes up to which every pair is tested


class Filters(NamedTuple):
    """Fields of ShapeArrays that say which of n shapes may touch at all."""

    body: np.ndarray  # (n,) −1 for the world
    owner: np.ndarray  # (n,)
    group: np.ndarray  # (n,) bits
    mask: np.ndarray  # (n,) bits
    excluded: np.ndarray  # sorted keys lower · 2³² + higher of pairs of owners


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def may_touch(i, j, filters):
    """Different bodies, at least one of them movable, groups that see each other, and no exclusion."""
    body, owner, group, mask = filters.body, filters.owner, filters.group, filters.mask
    excluded = filters.excluded
    if body[i] == body[j]:  # also two shapes of the world, −1
        return False
    if (group[i] & mask[j]) == 0 or (group[j] & mask[i]) == 0:
        return False
    if len(excluded):
        a, b = owner[i], owner[j]
        key = (min(a, b) << 32) + max(a, b)
        lo, hi = 0, len(excluded)  # np.searchsorted would take a second to compile
        while lo < hi:
            middle = (lo + hi) // 2
            if excluded[middle] < key:
                lo = middle + 1
            else:
                hi = middle
        if lo < len(excluded) and excluded[lo] == key:
            return False
    return True


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def boxes_overlap(position, extent, a, b):
    """The boxes along the world's axes, margins included."""
    return (
        abs(position[a, 0] - position[b, 0]) <= extent[a, 0] + extent[b, 0]
        and abs(position[a, 1] - position[b, 1]) <= extent[a, 1] + extent[b, 1]
        and abs(position[a, 2] - position[b, 2]) <= extent[a, 2] + extent[b, 2]
    )


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def over_plane(position, rotation, radius, plane, other):
    """The bounding ball of the other shape reaches the plane."""
    d = 0.0
    for k in range(3):
        d += rotation[plane, k, 2] * (position[other, k] - position[plane, k])
    return d <= radius[other] + position[plane, MARGIN]


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def spheres_near(position, a, b):
    """Whether the gap of spheres a and b is at most the sum of their margins, by the test of the grid."""
    x, y, z = position[b, 0] - position[a, 0], position[b, 1] - position[a, 1], position[b, 2] - position[a, 2]
    reach = (position[a, 3] + position[a, 4]) + (position[b, 3] + position[b, 4])
    return x * x + y * y + z * z <= reach * reach


def candidate_pairs(kind: np.ndarray, filters: Filters, families: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(c, 4) shapes a < b of the pairs that may touch, in order, family and rows of `out` each needs.

    kind: (n,); families, points: (kinds, kinds), see narrow/families.py."""
    n = len(kind)
    candidates = np.empty((n * (n - 1) // 2, 4), np.int64)
    count = _candidates(kind, tuple(filters), families, points, candidates)
    return candidates[:count].copy()


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _candidates(kind, filters, families, points, candidates):
    count = 0
    for a in range(len(kind)):
        for b in range(a + 1, len(kind)):
            if may_touch(a, b, Filters(*filters)):
                candidates[count, 0], candidates[count, 1] = a, b
                candidates[count, 2] = families[kind[a], kind[b]]
                candidates[count, 3] = points[kind[a], kind[b]]
                count += 1
    return count
