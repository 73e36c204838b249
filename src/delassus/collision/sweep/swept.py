"""Which shapes come near each other along their paths: boxes that hold them all along, sorted along one axis."""

import math
from typing import Any

import numpy as np

from delassus.collision.arrays import ShapeArrays
from delassus.collision.broad.pairs import Filters, may_touch
from delassus.collision.layout import PLANE
from delassus.collision.placement import place
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_ALL_BY_ALL = 64  # fast shapes up to which each is tested against everything
_UNSORTED = 64  # shapes up to which testing all pairs is quicker than sorting them
_IN_ORDER = np.arange(_UNSORTED)


def swept_pairs(
    arrays: ShapeArrays, path: np.ndarray, position: np.ndarray, rotation: np.ndarray, extent: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (p, 2) of shapes of which one is fast and whose swept boxes overlap, and the motion against each other that
    counts as fast (p,) [m]; in no order.  It is negative where they do not move so fast: the distance [m] at which they
    count as touching.

    arrays: ShapeArrays; path: (n_b, 9), see sweep; position, rotation, extent: of the shapes at the start."""
    n, pace = arrays.count, arrays.pace
    low, high, turn, is_fast = np.empty((n, 3)), np.empty((n, 3)), np.empty(n), np.empty(n, np.bool_)
    _swept_boxes(arrays.body, pace.arm, pace.least, path, position, extent, low, high, turn, is_fast)
    axis, order = _sorted(low) if n > _UNSORTED else (-1, _IN_ORDER[:n])
    filters = tuple(arrays.filters)
    room = 64
    while True:
        found, limit = np.empty((room, 2), np.int64), np.empty(room)
        count = _overlaps(axis, order, low, high, turn, is_fast, pace.thin, arrays.surface, path, filters,
                          (arrays.kind, position, rotation), found, limit)  # fmt: skip
        if count <= room:
            break
        room = count
    return found[:count], limit[:count]


def _sorted(low: np.ndarray) -> tuple[int, np.ndarray]:
    """The axis along which shapes are spread most, and their order along it.  low: (n, 3) corners of their boxes."""
    with np.errstate(invalid="ignore"):
        spread = [np.ptp(low[np.isfinite(low[:, k]), k]) for k in range(3)]
    axis = int(np.argmax(spread))
    return axis, np.argsort(low[:, axis], kind="stable")


def few_swept(arrays: ShapeArrays) -> tuple[tuple[Any, ...], tuple[np.ndarray, ...]]:
    """What `find_swept` reads of few shapes, and its work space; that of `follow_few`, too."""
    n, c, pace = arrays.count, max(len(arrays.candidates), 1), arrays.pace
    filters = tuple(arrays.filters)
    constants = (arrays.placing, pace.arm, pace.thin, pace.least, arrays.surface, filters, np.arange(n))
    return constants, (
        np.empty((n, 3)), np.empty((n, 3)), np.empty(n), np.empty(n, np.bool_), np.empty((c, 2), np.int64), np.empty(c),
        np.empty(c, np.int64), np.empty(c),
    )  # fmt: skip


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def find_swept(shapes, q, path, placed, work):
    """How many pairs `swept_pairs` would find among few shapes, in compiled code; they are in work[4].  shapes, work:
    `few_swept`; q: (n_b, 7) at the start; placed: (position, rotation, extent) of the shapes, written."""
    placing, arm, thin, least, surface, filters, order = shapes
    position, rotation, extent = placed
    low, high, turn, is_fast, found, limit, _, _ = work
    place(np.int64(0), np.int64(1), placing, q, position, rotation, extent)
    _swept_boxes(filters[0], arm, least, path, position, extent, low, high, turn, is_fast)
    return _overlaps(
        -1, order, low, high, turn, is_fast, thin, surface, path, filters, (placing[0], position, rotation), found,
        limit,
    )  # fmt: skip


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _swept_boxes(body, arm, least, path, position, extent, low, high, turn, is_fast):
    """Boxes that hold the shapes all along their paths, and how far turning moves their points."""
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
def _overlaps(axis, order, low, high, turn, is_fast, thin, surface, path, filters, poses, found, limit):
    """Pairs of fast shapes whose swept boxes overlap; goes on counting when out of room.  axis: along which `order`
    goes, or −1; limit: negative where they do not move fast against each other, the distance [m] at which they count as
    touching."""
    kind, position, rotation = poses
    n, count, fast = len(order), 0, 0
    for s in range(n):
        fast += is_fast[s]
    few = fast <= _ALL_BY_ALL
    for i in range(n):
        a = order[i]
        if few and not is_fast[a]:
            continue
        for j in range(0 if few else i + 1, n):
            b = order[j]
            if axis >= 0 and low[b, axis] > high[a, axis]:
                break  # sorted: so are all that follow
            if a == b or not (is_fast[a] or is_fast[b]) or (few and is_fast[b] and j < i):
                continue
            if (
                low[a, 0] > high[b, 0] or low[b, 0] > high[a, 0] or low[a, 1] > high[b, 1] or low[b, 1] > high[a, 1]
                or low[a, 2] > high[b, 2] or low[b, 2] > high[a, 2]
            ):  # fmt: skip
                continue
            if kind[a] == PLANE and _is_above(low, high, b, position, rotation, a):
                continue
            if kind[b] == PLANE and _is_above(low, high, a, position, rotation, b):
                continue
            first, second = min(a, b), max(a, b)
            if not may_touch(first, second, Filters(*filters)):
                continue
            margin = surface[a, 0] + surface[b, 0]
            most = min(margin, min(thin[a], thin[b]))
            if count < len(limit):
                found[count, 0], found[count, 1] = first, second
                limit[count] = most if _against(first, second, turn, path, filters[0]) > most else -margin
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
