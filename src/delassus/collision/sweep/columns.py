"""Boxes sorted into columns of space, so that those which overlap a given one are found without looking at all others.

Columns run along one axis. A box is listed in every column that it reaches, sorted by where it begins along the axis.
Two boxes share columns where they overlap; the pair is taken in the first of these. Boxes that reach many columns, or
everywhere, are listed apart. Columns are numbered within bounds, modulo the table, so that one thing far away costs
nothing; those that share a list are told apart by their numbers."""

from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_MOST_COLUMNS = 64  # that a box is listed in
_MOST_ALONG = 1 << 20  # columns along an axis: what is beyond shares the last
_SIDE = 0.7  # of a column, in mean sides of boxes


class Columns(NamedTuple):
    """Boxes of n things in columns."""

    axes: np.ndarray
    """(3,) the axis of columns, and those across."""
    origin: np.ndarray
    """(2,) [m], across."""
    inverse: np.ndarray
    """(1,) columns per metre."""
    wide: np.ndarray
    """Things whose boxes are listed apart."""
    is_wide: np.ndarray
    """(n,)"""
    start: np.ndarray
    """(lists + 1,) first entry of each list; lists are a power of two."""
    item: np.ndarray
    """(entries,) the thing, and key (entries,): its column."""
    key: np.ndarray
    box: np.ndarray
    """(entries, 6) its low corner and its high one, the axis of columns first."""


def columns_of(low: np.ndarray, high: np.ndarray) -> Columns:
    """low, high: (n, 3) corners of the boxes [m], which may be infinite."""
    n, axes = len(low), np.empty(3, np.int64)
    origin, inverse, reached = np.zeros(2), np.ones(1), np.empty(n, np.int64)
    entries = _measure(low, high, axes, origin, inverse, reached)
    is_wide = reached == 0
    lists = 1 << max(3, int(entries).bit_length())
    columns = Columns(
        axes,
        origin,
        inverse,
        np.flatnonzero(is_wide),
        is_wide,
        np.zeros(lists + 1, np.int64),
        np.empty(entries, np.int64),
        np.empty(entries, np.int64),
        np.empty((entries, 6)),
    )
    _fill(low, high, np.argsort(low[:, axes[0]], kind="stable"), columns)
    return columns


@njit(cache=True, error_model="numpy")
def _measure(low, high, axes, origin, inverse, reached):
    """The axes, where columns begin and how wide they are; how many each box reaches, 0 where it is listed apart; their
    sum. Columns run along the axis along which there is most to tell apart: the spread over the mean side."""
    n, best = len(low), -1.0
    mean, least = np.zeros(3), np.zeros(3)
    for k in range(3):
        first, last, sides, count = np.inf, -np.inf, 0.0, 0
        for s in range(n):
            side = high[s, k] - low[s, k]
            if side < np.inf:
                first, last, sides, count = min(first, low[s, k]), max(last, low[s, k]), sides + side, count + 1
        mean[k], least[k] = sides / max(count, 1), first
        if count and last - first > best * mean[k]:
            best = (last - first) / mean[k] if mean[k] > 0.0 else 0.0
            axes[0] = k
    if best < 0.0:
        axes[0] = 0
    axes[1], axes[2] = (axes[0] + 1) % 3, (axes[0] + 2) % 3
    width = _SIDE * max(mean[axes[1]], mean[axes[2]])
    inverse[0] = 1.0 / width if width > 0.0 else 1.0
    origin[0], origin[1] = least[axes[1]], least[axes[2]]
    entries = 0
    for s in range(n):
        reached[s] = 1
        for side in range(2):
            k = axes[1 + side]
            if not high[s, k] - low[s, k] < np.inf or not high[s, axes[0]] - low[s, axes[0]] < np.inf:
                reached[s] = 0
            else:
                reached[s] *= along(high[s, k], side, origin, inverse) - along(low[s, k], side, origin, inverse) + 1
            if reached[s] > _MOST_COLUMNS:
                reached[s] = 0
        entries += reached[s]
    return entries


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def along(x, side, origin, inverse):
    """The number of the column along an axis across where x [m] is."""
    at = (x - origin[side]) * inverse[0]
    return np.int64(max(at, 0.0)) if at < _MOST_ALONG - 1.0 else np.int64(_MOST_ALONG - 1)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def column_key(j, k):
    """The column with these numbers across, as one."""
    return j * _MOST_ALONG + k


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _fill(low, high, order, columns):
    """Sort by counting.  order: (n,) things as they begin along the axis."""
    start, mask, origin, inverse = columns.start, len(columns.start) - 2, columns.origin, columns.inverse
    x, y, z = columns.axes[0], columns.axes[1], columns.axes[2]
    for is_counting in (True, False):
        for s in order:
            if columns.is_wide[s]:
                continue
            for j in range(along(low[s, y], 0, origin, inverse), along(high[s, y], 0, origin, inverse) + 1):
                for k in range(along(low[s, z], 1, origin, inverse), along(high[s, z], 1, origin, inverse) + 1):
                    key = column_key(j, k)
                    e = (j * 0x9E3779B1 + k) & mask
                    if is_counting:
                        start[e + 1] += 1
                        continue
                    at = start[e]
                    start[e] = at + 1
                    columns.item[at], columns.key[at], box = s, key, columns.box[at]
                    box[0], box[1], box[2] = low[s, x], low[s, y], low[s, z]
                    box[3], box[4], box[5] = high[s, x], high[s, y], high[s, z]
        if is_counting:
            for e in range(mask + 1):
                start[e + 1] += start[e]
    for e in range(mask + 1, 0, -1):  # filling moved every start to the next one
        start[e] = start[e - 1]
    start[0] = 0
