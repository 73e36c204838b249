"""Collision detection: poses of the bodies in, contacts out."""

import numpy as np
from numpy.typing import ArrayLike

from delassus.collision.arrays import ShapeArrays
from delassus.collision.broad.partners import deal
from delassus.collision.broad.phase import find_pairs
from delassus.collision.contacts import NO_CONTACTS, Contacts
from delassus.collision.few import few_work, find_contacts
from delassus.collision.layout import MARGIN
from delassus.collision.machine import share_out
from delassus.collision.narrow.families import FAMILIES, POINTS, scratch_rows
from delassus.collision.narrow.frames import empty_contacts
from delassus.collision.narrow.heap import heap_contacts
from delassus.collision.narrow.phase import finish, narrow
from delassus.collision.placement import place
from delassus.errors import ProblemError

_NO_REACH = np.empty(0)


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
    """The same at poses q (n_b, 7): positions [m] and unit quaternions.

    reach: (n,) how much further contacts of the pairs that are near are looked for [m]; None: no further."""
    if not arrays.count:
        return NO_CONTACTS
    if len(q) < arrays.body_count:
        raise too_few_error(arrays, len(q), len(q))
    q = np.ascontiguousarray(q)
    if arrays.few:
        return _detect_few(arrays, q, _NO_REACH if reach is None else reach)
    n = arrays.count
    placed, rotation, extent = arrays.pool.take(((n, 8), float), ((n, 3, 3), float), ((n, 3), float))
    for bad in share_out(place, threads, arrays.placing, q, placed, rotation, extent):
        if bad >= 0:
            raise bad_pose_error(bad, q)
    end, partner = find_pairs(arrays, placed, rotation, extent, threads=threads)
    if arrays.plain:  # one contact per pair, whatever its reach
        return heap_contacts(arrays, placed, rotation, end, partner, threads)
    pairs, dealt = arrays.pool.take(((len(partner), 2), np.int32), ((len(partner), 3), np.int32))
    rows, direct, bits = deal(end, partner, arrays.kind, FAMILIES, POINTS, pairs, dealt)
    (out,) = arrays.pool.take(((rows, 8), float))
    scratch = np.empty((threads, 5, scratch_rows(arrays.vertices[3]), 4))
    if reach is not None:
        placed[:, MARGIN] += reach
    geometry = (placed, rotation, arrays.size, arrays.kind, *arrays.vertices, arrays.supports)
    return narrow(arrays, geometry, (len(partner), direct, bits), pairs, dealt, out, scratch, threads)


def _detect_few(arrays: ShapeArrays, q: np.ndarray, reach: np.ndarray) -> Contacts:
    """The same for few shapes, on one thread: starting another would take longer."""
    try:
        work = arrays.spare.pop()  # without a lock: every call gets another one
    except IndexError:
        work = few_work(arrays)
    shapes = arrays.few_constants
    room = arrays.hint[0]  # as many contacts as last time, which is right at rest
    columns = empty_contacts(arrays, room)
    bad, near, total, missing = find_contacts(shapes, q, reach, work, columns)
    if missing:
        arrays.compile_families(missing)
        bad, near, total, _ = find_contacts(shapes, q, reach, work, columns)
    if bad >= 0:
        raise bad_pose_error(bad, q)
    position, rotation, _, pairs, dealt, out, _ = work
    placed = (position, rotation, arrays.size, arrays.kind)
    if total != room:
        columns = empty_contacts(arrays, total)
        finish(0, 1, near, pairs, dealt, placed, out, arrays.mixing, columns)
    arrays.hint[0] = total
    arrays.spare.append(work)
    return Contacts(*columns) if total else NO_CONTACTS


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
