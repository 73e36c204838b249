"""Which shapes come near each other along their paths: boxes that hold them, in columns where they are many."""

import math
from typing import Any, NamedTuple

import numpy as np

from delassus.collision.arrays import ShapeArrays
from delassus.collision.broad.pairs import Filters, may_touch
from delassus.collision.layout import PLANE, Placing
from delassus.collision.placement import place
from delassus.collision.sweep.columns import Columns, along, column_key, columns_of
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_FEW = 200  # shapes up to which testing all pairs is quicker than sorting them into columns


class SweptShapes(NamedTuple):
    """Shapes that may move far in a step; from Python it comes as a plain tuple, which costs less."""

    placing: tuple[Any, ...]  # the fields of Placing
    arm: np.ndarray  # of Pace, as the next two
    thin: np.ndarray
    least: float
    surface: np.ndarray  # of ShapeArrays
    filters: tuple[Any, ...]  # the fields of Filters
    radius: np.ndarray  # (n,) of balls around the shapes [m]


class SweptWork(NamedTuple):
    """Swept boxes of n shapes, and p pairs whose boxes overlap."""

    low: np.ndarray  # (n, 3) lowest corners [m]
    high: np.ndarray  # (n, 3) highest corners [m]
    turn: np.ndarray  # (n,) how far turning moves their points [m]
    is_fast: np.ndarray  # (n,)
    pairs: np.ndarray  # (p, 2)
    limit: np.ndarray  # (p,) see `swept_pairs`
    verdict: np.ndarray  # (p,) of `follow_few`
    time: np.ndarray  # (p,)


def swept_pairs(
    arrays: ShapeArrays, path: np.ndarray, position: np.ndarray, rotation: np.ndarray, extent: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (p, 2) of shapes of which one is fast and whose swept boxes overlap, and the motion against each other that
    counts as fast (p,) [m]; in no order.  It is negative where they do not move so fast: the distance [m] at which they
    count as touching.

    arrays: ShapeArrays; path: (n_b, 9), see sweep; position, rotation, extent: of the shapes at the start."""
    n, most, placed = arrays.count, 64, (position, rotation, extent)
    shapes, work = _swept_shapes(arrays), _work(n, most)
    _swept_boxes(tuple(shapes), path, placed, tuple(work))
    columns = columns_of(work.low, work.high) if n > _FEW else None
    while True:
        if columns is None:
            count = _overlaps(tuple(shapes), path, placed, tuple(work))
        else:
            count = _overlaps_in_columns(tuple(columns), tuple(shapes), path, placed, tuple(work))
        if count <= most:
            return work.pairs[:count], work.limit[:count]
        most = count
        work = work._replace(pairs=np.empty((most, 2), np.int64), limit=np.empty(most))


def _swept_shapes(arrays: ShapeArrays) -> SweptShapes:
    pace, filters = arrays.pace, tuple(arrays.filters)
    return SweptShapes(arrays.placing, pace.arm, pace.thin, pace.least, arrays.surface, filters, arrays.radius)


def _work(shapes: int, pairs: int) -> SweptWork:
    """For so many shapes and pairs."""
    return SweptWork(
        np.empty((shapes, 3)),
        np.empty((shapes, 3)),
        np.empty(shapes),
        np.empty(shapes, np.bool_),
        np.empty((pairs, 2), np.int64),
        np.empty(pairs),
        np.empty(pairs, np.int64),
        np.empty(pairs),
    )


def few_swept(arrays: ShapeArrays) -> tuple[tuple[Any, ...], tuple[np.ndarray, ...]]:
    """Fields of SweptShapes and of SweptWork for `find_swept` and `follow_few` among few shapes."""
    return tuple(_swept_shapes(arrays)), tuple(_work(arrays.count, max(len(arrays.candidates), 1)))


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def find_swept(shapes, q, path, placed, work):
    """`swept_pairs` among few shapes, for compiled code: the number of pairs, which are in work.

    shapes, work: `few_swept`; q: (n_b, 7) at the start; placed: (position, rotation, extent) of the shapes, written."""
    position, rotation, extent = placed
    place(np.int64(0), np.int64(1), SweptShapes(*shapes).placing, q, position, rotation, extent)
    _swept_boxes(shapes, path, placed, work)
    return _overlaps(shapes, path, placed, work)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _swept_boxes(shapes, path, placed, work):
    """Boxes that hold the shapes all along their paths, and how far turning moves their points."""
    shapes, work, (position, _, extent) = SweptShapes(*shapes), SweptWork(*work), placed
    body, arm, least = Placing(*shapes.placing).body, shapes.arm, shapes.least
    low, high, turn, is_fast = work.low, work.high, work.turn, work.is_fast
    for s in range(len(body)):
        b = body[s]
        turn[s], far = 0.0, 0.0
        if b >= 0:
            w = path[b]
            turn[s] = min(math.sqrt(w[3] ** 2 + w[4] ** 2 + w[5] ** 2), 2.0) * arm[s]
            far = math.sqrt(w[0] ** 2 + w[1] ** 2 + w[2] ** 2) + math.sqrt(w[6] ** 2 + w[7] ** 2 + w[8] ** 2)
        is_fast[s] = far + turn[s] > least
        for k in range(3):
            lo = hi = 0.0
            if b >= 0:
                lo = min(path[b, k], 0.0) + min(path[b, 6 + k], 0.0)
                hi = max(path[b, k], 0.0) + max(path[b, 6 + k], 0.0)
            low[s, k] = position[s, k] + lo - extent[s, k] - turn[s]
            high[s, k] = position[s, k] + hi + extent[s, k] + turn[s]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _overlaps(shapes, path, placed, work):
    """Pairs of shapes, one of them fast, whose swept boxes overlap; goes on counting when there are more than `work`
    has rows for."""
    shapes, work, count = SweptShapes(*shapes), SweptWork(*work), 0
    is_fast = work.is_fast
    for a in range(len(is_fast)):
        if not is_fast[a]:
            continue
        for b in range(len(is_fast)):
            if a != b and not (is_fast[b] and b < a):
                count += _pair(a, b, shapes, (path, placed), work, count)
    return count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _overlaps_in_columns(columns, shapes, path, placed, work):
    """`_overlaps` by columns."""
    columns, shapes, work, count = Columns(*columns), SweptShapes(*shapes), SweptWork(*work), 0
    is_fast, start, item, key, box = work.is_fast, columns.start, columns.item, columns.key, columns.box
    origin, inverse, is_wide = columns.origin, columns.inverse, columns.is_wide
    for a in range(len(is_fast)):
        for w in range(len(columns.wide)):
            b = columns.wide[w]
            if a != b and (is_fast[a] or is_fast[b]) and not (is_wide[a] and b < a):
                count += _pair(a, b, shapes, (path, placed), work, count)
    for e in range(len(start) - 1):
        for p in range(start[e], start[e + 1]):
            a, y0, y1, z0, z1 = item[p], box[p, 1], box[p, 4], box[p, 2], box[p, 5]
            for r in range(p + 1, start[e + 1]):
                if box[r, 0] > box[p, 3]:
                    break  # sorted: so are all that follow
                if box[r, 1] > y1 or y0 > box[r, 4] or box[r, 2] > z1 or z0 > box[r, 5] or key[r] != key[p]:
                    continue
                b = item[r]
                if not (is_fast[a] or is_fast[b]):
                    continue
                # in the first column of both alone
                j, k = along(max(y0, box[r, 1]), 0, origin, inverse), along(max(z0, box[r, 2]), 1, origin, inverse)
                if key[p] == column_key(j, k):
                    count += _pair(a, b, shapes, (path, placed), work, count)
    return count


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _pair(a, b, shapes, motion, work, count):
    """1 where the swept boxes of two shapes overlap and they may touch, then the pair and its limit are row `count` of
    `work`, if there is one; 0 elsewhere.  motion: the path, and what is placed."""
    low, high, kind, (path, (position, rotation, _)) = work.low, work.high, Placing(*shapes.placing).kind, motion
    if (
        low[a, 0] > high[b, 0]
        or low[b, 0] > high[a, 0]
        or low[a, 1] > high[b, 1]
        or low[b, 1] > high[a, 1]
        or low[a, 2] > high[b, 2]
        or low[b, 2] > high[a, 2]
    ):
        return 0
    if kind[a] == PLANE and _is_above(low, high, b, position, rotation, a):
        return 0
    if kind[b] == PLANE and _is_above(low, high, a, position, rotation, b):
        return 0
    first, second, filters = min(a, b), max(a, b), Filters(*shapes.filters)
    if not may_touch(first, second, filters):
        return 0
    margin = shapes.surface[a, 0] + shapes.surface[b, 0]
    most = min(margin, min(shapes.thin[a], shapes.thin[b]))
    if count < len(work.limit):
        work.pairs[count, 0], work.pairs[count, 1] = first, second
        work.limit[count] = most if _against(first, second, work.turn, path, filters.body) > most else -margin
    return 1


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _is_above(low, high, s, position, rotation, plane):
    """Whether the swept box of shape s stays above a plane, whose own box is everything."""
    d = 0.0
    for k in range(3):
        n = rotation[plane, k, 2]
        d += n * ((low[s, k] if n > 0.0 else high[s, k]) - position[plane, k])
    return d > 0.0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _against(a, b, turn, path, body):
    """How far points of shapes a and b may move against each other [m]."""
    far, bend = 0.0, 0.0
    for k in range(3):
        x, y = 0.0, 0.0
        if body[a] >= 0:
            x, y = path[body[a], k], path[body[a], 6 + k]
        if body[b] >= 0:
            x, y = x - path[body[b], k], y - path[body[b], 6 + k]
        far, bend = far + x * x, bend + y * y
    return math.sqrt(far) + math.sqrt(bend) + turn[a] + turn[b]
