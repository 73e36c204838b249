"""Collision detection: poses of the bodies in, contacts out."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.collision.arrays import ShapeArrays
from delassus.collision.contacts import NO_CONTACTS, Contacts, empty_columns
from delassus.collision.find import (
    BAD_POSE,
    COUNT,
    NO_KERNEL,
    PLACE,
    TOO_FEW_ROWS,
    find_contacts,
    find_in_shares,
    work_for,
)
from delassus.collision.work import BAD, CONTACTS, MISSING, OUT_ROWS, PAIR_ROWS, Work
from delassus.errors import ProblemError

_NO_REACH = np.empty(0)
_MORE = 1.2  # times the rows that were missing


def detect(arrays: ShapeArrays, position: ArrayLike, quaternion: ArrayLike, *, threads: int = 1) -> Contacts:
    """All contacts with gap ≤ the sum of the two shapes' margins.

    position: (n_b, 3) [m], quaternion: (n_b, 4) unit (w, x, y, z), body → world. The result does not depend on the
    number of threads.

        arrays = shape_arrays([Instance(Plane()), Instance(Box((1, 1, 1)), body=0, margin=0.01)])
        contacts = detect(arrays, [[0, 0, 0.5]], [[1, 0, 0, 0]])
        len(contacts)  # 4
    """
    p, q = np.asarray(position, dtype=float).reshape(-1, 3), np.asarray(quaternion, dtype=float).reshape(-1, 4)
    if len(p) != len(q):
        raise too_few_error(arrays, len(p), len(q))
    return detect_at(arrays, np.concatenate([p, q], axis=1), threads=threads)


def detect_at(arrays: ShapeArrays, q: np.ndarray, *, threads: int = 1, reach: np.ndarray | None = None) -> Contacts:
    """`detect` at poses q (n_b, 7): positions [m] and unit quaternions.

    reach: (n,) how much further contacts of the pairs that are near are looked for [m]; None: no further."""
    if not arrays.count:
        return NO_CONTACTS
    if len(q) < arrays.body_count:
        raise too_few_error(arrays, len(q), len(q))
    q, reach = np.ascontiguousarray(q), _NO_REACH if reach is None else reach
    threads = 1 if arrays.is_small else threads  # starting others would take longer
    work, columns, first = _spare_work(arrays, threads), empty_columns(arrays.hint[0], arrays.pool), PLACE
    while True:
        arguments = first, arrays.constants, q, reach, work, columns
        total = find_contacts(*arguments) if threads == 1 else find_in_shares(threads, *arguments)
        if total >= 0:
            break
        counters = Work(*work).counters
        if total == BAD_POSE:
            raise bad_pose_error(int(counters[BAD]), q)
        if total == NO_KERNEL:
            arrays.compile_families(int(counters[MISSING]))
        elif total == TOO_FEW_ROWS:
            pairs, rows = (int(_MORE * max(counters[k], 64)) for k in (PAIR_ROWS, OUT_ROWS))
            work = work_for(arrays, threads, max(pairs, len(Work(*work).pairs)), max(rows, len(Work(*work).out)))
        else:
            columns, first = empty_columns(int(counters[CONTACTS]), arrays.pool), COUNT
    arrays.spare.append(work)
    arrays.hint[0] = total  # as many as last time, which is right at rest
    if not total:
        return NO_CONTACTS
    return Contacts(*columns) if total == len(columns[-1]) else Contacts(*[column[:total] for column in columns])


def _spare_work(arrays: ShapeArrays, threads: int) -> tuple[Any, ...]:
    """Free work space for so many threads: without a lock, every call gets another one."""
    try:
        work = arrays.spare.pop()
    except IndexError:
        return work_for(arrays, threads)
    return work if len(Work(*work).bad) == threads else work_for(arrays, threads)


def too_few_error(arrays: ShapeArrays, positions: int, quaternions: int) -> ProblemError:
    """Fewer poses than bodies with shapes."""
    return ProblemError(
        f"{positions} positions and {quaternions} quaternions for {arrays.body_count} bodies with shapes: "
        "give one of each per body"
    )


def bad_pose_error(bad: int, q: np.ndarray) -> ProblemError:
    """Body `bad` of q has no pose."""
    return ProblemError(
        f"body {bad} is at {q[bad, :3].tolist()} turned by {q[bad, 3:].tolist()}: "
        "a pose must be finite, its quaternion (w, x, y, z) of unit length"
    )
