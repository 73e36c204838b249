"""The joints of a model in the order in which they are closed: island by island, within an island as their matrix is
best eliminated. Chosen once for a model."""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from delassus.joints.arrays import JointArrays
from delassus.linalg.factor.block_cholesky import BlockPattern, block_pattern, elimination_order


class Closing(NamedTuple):
    """Joints in their own order, and the bodies they join, numbered anew. Each has its constraints, then one row for
    each of its coordinates with armature, then, where limits are asked for, one for each coordinate that has any.
    Kernels name it, `Closing(*closing)`: a plain tuple is taken apart faster."""

    islands: np.ndarray
    """(islands + 1, 2) first joint and first body of each."""
    body: np.ndarray
    """(bodies,) their numbers in the model."""
    pair: np.ndarray
    """(joints, 2) new numbers of the bodies of each joint, −1 for the world."""
    start: np.ndarray
    """(joints + 1,) first row of each joint; this and the next three: `BlockPattern`."""
    below_start: np.ndarray
    below: np.ndarray
    at: np.ndarray
    hard: np.ndarray
    """(joints,) how many of its rows are constraints."""
    row: np.ndarray
    """(m, 3) primitive and axes on base and follower of a constraint; primitive, axis and 0 of a coordinate."""
    origin: np.ndarray
    """(joints, 2, 3) [m], this and the next two: as in `JointArrays`."""
    axes: np.ndarray
    length: np.ndarray
    compliance: np.ndarray
    """(m,) zero for constraints, 1 / armature for coordinates [1/kg, 1/(kg m²)]."""


_MADE: WeakKeyDictionary[JointArrays, tuple[np.ndarray, ...]] = WeakKeyDictionary()
_WITH_LIMITS: WeakKeyDictionary[JointArrays, tuple[tuple[np.ndarray, ...], np.ndarray]] = WeakKeyDictionary()


def closing_of(joints: JointArrays) -> tuple[np.ndarray, ...]:
    """The fields of `Closing` for these joints."""
    if joints not in _MADE:
        _MADE[joints] = tuple(_closing(joints, joints.geared)[0])
    return _MADE[joints]


def closing_with_limits(joints: JointArrays) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """The same with rows for limits, and (m,) the coordinate that each of these is for, −1 of other rows."""
    if joints not in _WITH_LIMITS:
        limited = np.flatnonzero(np.isfinite(joints.lower) | np.isfinite(joints.upper))
        closing, coordinate = _closing(joints, np.concatenate([joints.geared, limited]))
        coordinate[closing.compliance > 0.0] = -1
        _WITH_LIMITS[joints] = tuple(closing), coordinate
    return _WITH_LIMITS[joints]


def _closing(joints: JointArrays, added: np.ndarray) -> tuple[Closing, np.ndarray]:
    """And the coordinate of each row, −1 for constraints.  added: coordinates that have rows, those with armature
    first."""
    extra = np.bincount(joints.coordinate_joint[added], minlength=joints.count)
    used = np.flatnonzero(joints.row_sizes + extra)
    side = joints.bodies[used] >= 0
    local, touched = np.nonzero(side)[0], joints.bodies[used][side]
    if not len(used):
        order, island = np.zeros(0, np.int64), np.zeros(0, np.int64)
    else:
        order, island = elimination_order(local, touched, len(used))
    chosen, of = used[order], island[order]
    body, body_island = _bodies(joints.bodies[chosen], of)
    number = np.full(int(joints.bodies.max(initial=-1)) + 2, -1)
    number[body] = np.arange(len(body))
    pair = number[joints.bodies[chosen]]  # the last entry is the world's
    begin = np.concatenate([[True], of[1:] != of[:-1]]) if len(of) else np.zeros(0, bool)
    first_joint = np.append(np.flatnonzero(begin), len(of))
    first_body = np.append(np.searchsorted(body_island, np.arange(len(first_joint) - 1)), len(body))
    pattern = _pattern(joints.row_sizes[chosen] + extra[chosen], pair, len(body))
    row, compliance, coordinate = _rows(joints, chosen, added)
    closing = Closing(
        np.stack([first_joint, first_body], axis=1).astype(np.int64),
        body.astype(np.int64),
        pair.astype(np.int64),
        *pattern,
        joints.row_sizes[chosen].astype(np.int64),
        row,
        np.ascontiguousarray(joints.origin[chosen]),
        np.ascontiguousarray(joints.axes[chosen]),
        joints.length[chosen].astype(float),
        compliance,
    )
    return closing, coordinate


def _bodies(pairs: np.ndarray, island: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bodies of these pairs (joints, 2), island by island, and the place of the island of each in their order."""
    place = np.cumsum(np.concatenate([[0], island[1:] != island[:-1]])) if len(island) else island
    bodies, places = pairs.ravel(), np.repeat(place, 2)
    bodies, places = bodies[bodies >= 0], places[bodies >= 0]
    bodies, first = np.unique(bodies, return_index=True)
    order = np.argsort(first)  # as the joints come
    return bodies[order], places[first][order]


def _pattern(sizes: np.ndarray, pair: np.ndarray, bodies: int) -> BlockPattern:
    groups: list[list[int]] = [[] for _ in range(bodies)]
    for k, (a, b) in enumerate(pair.tolist()):
        if a >= 0:
            groups[a].append(k)
        if b >= 0 and b != a:
            groups[b].append(k)
    return block_pattern(sizes.astype(np.int64), groups)


def _rows(joints: JointArrays, chosen: np.ndarray, added: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`Closing.row` and `Closing.compliance`, and the coordinate of each row, −1 for constraints."""
    of_joint: list[list[tuple[int, float]]] = [[] for _ in range(joints.count)]
    for k, d in enumerate(added.tolist()):
        is_geared = k < len(joints.geared)
        of_joint[joints.coordinate_joint[d]].append((d, 1.0 / float(joints.armature[d]) if is_geared else 0.0))
    row, compliance, coordinate = [], [], []
    kinds = np.stack([joints.row_primitive, joints.row_base_axis, joints.row_follower_axis], axis=1).tolist()
    for j in chosen.tolist():
        own = range(joints.row_start[j], joints.row_start[j + 1])
        row += [kinds[r] for r in own]
        row += [[int(joints.coordinate_primitive[d]), int(joints.coordinate_axis[d]), 0] for d, _ in of_joint[j]]
        compliance += [0.0 for _ in own] + [soft for _, soft in of_joint[j]]
        coordinate += [-1 for _ in own] + [d for d, _ in of_joint[j]]
    return np.array(row, np.int64).reshape(-1, 3), np.array(compliance), np.array(coordinate, np.int64)
