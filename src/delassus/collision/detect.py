"""Collision detection: poses of the bodies in, contacts out."""

import numpy as np
from numpy.typing import ArrayLike

from delassus.collision.arrays import ShapeArrays
from delassus.collision.broad.pairs import find_few, work_space
from delassus.collision.broad.partners import deal
from delassus.collision.broad.phase import find_pairs
from delassus.collision.contacts import NO_CONTACTS, Contacts
from delassus.collision.layout import MARGIN
from delassus.collision.machine import share_out
from delassus.collision.narrow.families import FAMILIES, POINTS
from delassus.collision.narrow.heap import heap_contacts
from delassus.collision.narrow.phase import narrow
from delassus.collision.placement import place
from delassus.errors import ProblemError


def detect(
    arrays: ShapeArrays,
    position: ArrayLike,
    quaternion: ArrayLike,
    *,
    threads: int = 1,
    reach: np.ndarray | None = None,
) -> Contacts:
    """All contacts with gap ≤ the sum of the two shapes' margins.

    reach: (n,) how much further contacts of the pairs that are near are looked for [m]; None: no further.

    position: (n_b, 3) [m], quaternion: (n_b, 4) unit (w, x, y, z), body → world. The result does not depend on the
    number of threads.

        arrays = shape_arrays([Instance(Plane()), Instance(Box((1, 1, 1)), body=0, margin=0.01)])
        contacts = detect(arrays, [[0, 0, 0.5]], [[1, 0, 0, 0]])
        len(contacts)  # 4
    """
    if not arrays.count:
        return NO_CONTACTS
    p, q = _poses(arrays, position, quaternion)
    if arrays.few:
        return _detect_few(arrays, p, q, reach)
    n = arrays.count
    placed, rotation, extent = arrays.pool.take(((n, 8), float), ((n, 3, 3), float), ((n, 3), float))
    for bad in share_out(place, threads, arrays.placing, p, q, placed, rotation, extent):
        if bad >= 0:
            _refuse(bad, p, q)
    end, partner = find_pairs(arrays, placed, rotation, extent, threads=threads)
    if arrays.plain:  # one contact per pair, whatever its reach
        return heap_contacts(arrays, placed, rotation, end, partner, threads)
    pairs, dealt = arrays.pool.take(((len(partner), 2), np.int32), ((len(partner), 3), np.int32))
    rows, direct, bits = deal(end, partner, arrays.kind, FAMILIES, POINTS, pairs, dealt)
    (out,) = arrays.pool.take(((rows, 8), float))
    if reach is not None:
        placed[:, MARGIN] += reach
    geometry = (placed, rotation, arrays.size, arrays.kind, *arrays.vertices, arrays.given)
    return narrow(arrays, geometry, (len(partner), direct, bits), pairs, dealt, out, threads)


def _detect_few(arrays: ShapeArrays, p: np.ndarray, q: np.ndarray, reach: np.ndarray | None) -> Contacts:
    """The same for few shapes, on one thread: starting another would take longer."""
    try:
        work = arrays.spare.pop()  # without a lock: every call gets another one
    except IndexError:
        work = work_space(arrays.count, arrays.candidates)
    position, rotation, _, pairs, dealt, out = work
    bad, *near = find_few(arrays.placing, arrays.radius, p, q, arrays.candidates, *work[:5])
    if bad >= 0:
        _refuse(bad, p, q)
    contacts = NO_CONTACTS
    if near[0]:
        if reach is not None:
            position[:, MARGIN] += reach
        geometry = (position, rotation, arrays.size, arrays.kind, *arrays.vertices, arrays.given)
        contacts = narrow(arrays, geometry, near, pairs, dealt, out, 1)
    arrays.spare.append(work)
    return contacts


def _poses(arrays: ShapeArrays, position: ArrayLike, quaternion: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Body poses as contiguous arrays, or an error that says that some are missing."""
    p = np.ascontiguousarray(position, dtype=float)
    q = np.ascontiguousarray(quaternion, dtype=float)
    if p.shape[-1:] != (3,) or q.shape[-1:] != (4,) or not p.ndim == q.ndim == 2:
        p, q = p.reshape(-1, 3), q.reshape(-1, 4)
    if len(p) != len(q) or len(p) < arrays.body_count:
        raise ProblemError(
            f"{len(p)} positions and {len(q)} quaternions for {arrays.body_count} bodies with shapes: "
            "give one of each per body"
        )
    return p, q


def _refuse(bad: int, p: np.ndarray, q: np.ndarray) -> None:
    raise ProblemError(
        f"body {bad} is at {p[bad].tolist()} turned by {q[bad].tolist()}: "
        "a pose must be finite, its quaternion (w, x, y, z) of unit length"
    )
