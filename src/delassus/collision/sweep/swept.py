"""Which shapes come near each other along their paths: boxes that hold them all along, sorted along one axis."""

import math
from typing import Any, NamedTuple

import numpy as np

from delassus.collision.arrays import ShapeArrays
from delassus.collision.broad.pairs import Filters, may_touch
from delassus.collision.layout import PLANE, Placing
from delassus.collision.placement import place
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_ALL_BY_ALL = 64  # fast shapes up to which each is tested against everything
_UNSORTED = 64  # shapes up to which testing all pairs is quicker than sorting them
_IN_ORDER = np.arange(_UNSORTED)


class SweptShapes(NamedTuple):
    """Shapes that may move far in a step; from Python it comes as a plain tuple, which costs less."""

    placing: tuple[Any, ...]  # the fields of Placing
    arm: np.ndarray  # of Pace, as the next two
    thin: np.ndarray
    least: float
    surface: np.ndarray  # of ShapeArrays
    filters: tuple[Any, ...]  # the fields of Filters
    order: np.ndarray  # (n,) of the shapes along an axis, or in any


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
    shapes, work = _swept_shapes(arrays, _IN_ORDER[:n]), _work(n, most)
    _swept_boxes(tuple(shapes), path, placed, tuple(work))
    axis = -1
    if n > _UNSORTED:
        axis, order = _sorted(work.low)
        shapes = shapes._replace(order=order)
    while True:
        count = _overlaps(axis, tuple(shapes), path, placed, tuple(work))
        if count <= most:
            return work.pairs[:count], work.limit[:count]
        most = count
        work = work._replace(pairs=np.empty((most, 2), np.int64), limit=np.empty(most))


def _swept_shapes(arrays: ShapeArrays, order: np.ndarray) -> SweptShapes:
    pace = arrays.pace
    return SweptShapes(arrays.placing, pace.arm, pace.thin, pace.least, arrays.surface, tuple(arrays.filters), order)


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


def _sorted(low: np.ndarray) -> tuple[int, np.ndarray]:
    """The axis along which shapes are spread most, and their order along it.  low: (n, 3) corners of their boxes."""
    with np.errstate(invalid="ignore"):
        spread = [np.ptp(low[np.isfinite(low[:, k]), k]) for k in range(3)]
    axis = int(np.argmax(spread))
    return axis, np.argsort(low[:, axis], kind="stable")


def few_swept(arrays: ShapeArrays) -> tuple[tuple[Any, ...], tuple[np.ndarray, ...]]:
    """Fields of SweptShapes and of SweptWork for `find_swept` and `follow_few` among few shapes."""
    n = arrays.count
    return tuple(_swept_shapes(arrays, np.arange(n))), tuple(_work(n, max(len(arrays.candidates), 1)))


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def find_swept(shapes, q, path, placed, work):
    """`swept_pairs` among few shapes, for compiled code: the number of pairs, which are in work.

    shapes, work: `few_swept`; q: (n_b, 7) at the start; placed: (position, rotation, extent) of the shapes, written."""
    position, rotation, extent = placed
    place(np.int64(0), np.int64(1), SweptShapes(*shapes).placing, q, position, rotation, extent)
    _swept_boxes(shapes, path, placed, work)
    return _overlaps(-1, shapes, path, placed, work)


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
def _overlaps(axis, shapes, path, placed, work):
    """Pairs of fast shapes whose swept boxes overlap; goes on counting when there are more than `work` has rows for.
    axis: along which the shapes are ordered, or −1."""
    shapes, work = SweptShapes(*shapes), SweptWork(*work)
    filters = Filters(*shapes.filters)
    kind, position, rotation = Placing(*shapes.placing).kind, placed[0], placed[1]
    order, thin, surface = shapes.order, shapes.thin, shapes.surface
    low, high, turn, is_fast = work.low, work.high, work.turn, work.is_fast
    n, count, fast = len(order), 0, 0
    for s in range(n):
        fast += is_fast[s]
    each = fast <= _ALL_BY_ALL
    for i in range(n):
        a = order[i]
        if each and not is_fast[a]:
            continue
        for j in range(0 if each else i + 1, n):
            b = order[j]
            if axis >= 0 and low[b, axis] > high[a, axis]:
                break  # sorted: so are all that follow
            if a == b or not (is_fast[a] or is_fast[b]) or (each and is_fast[b] and j < i):
                continue
            if (
                low[a, 0] > high[b, 0]
                or low[b, 0] > high[a, 0]
                or low[a, 1] > high[b, 1]
                or low[b, 1] > high[a, 1]
                or low[a, 2] > high[b, 2]
                or low[b, 2] > high[a, 2]
            ):
                continue
            if kind[a] == PLANE and _is_above(low, high, b, position, rotation, a):
                continue
            if kind[b] == PLANE and _is_above(low, high, a, position, rotation, b):
                continue
            first, second = min(a, b), max(a, b)
            if not may_touch(first, second, filters):
                continue
            margin = surface[a, 0] + surface[b, 0]
            most = min(margin, min(thin[a], thin[b]))
            if count < len(work.limit):
                work.pairs[count, 0], work.pairs[count, 1] = first, second
                work.limit[count] = most if _against(first, second, turn, path, filters.body) > most else -margin
            count += 1
    return count


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
