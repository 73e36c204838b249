"""Collision detection: poses of the bodies in, contacts out."""

import numpy as np

from delassus.collision.arrays import ShapeArrays
from delassus.collision.broad import find_pairs
from delassus.collision.contacts import NO_CONTACTS, Contacts
from delassus.collision.narrow import FAMILIES, FAMILY, GENERAL, POINTS, compact, deal, finish, spheres
from delassus.collision.placement import check_poses, place
from delassus.collision.threads import share_out
from delassus.errors import ProblemError


def detect(arrays: ShapeArrays, position, quaternion, *, threads: int = 1) -> Contacts:
    """All contacts with gap ≤ the sum of the two shapes' margins.

    position: (n_b, 3) [m], quaternion: (n_b, 4) unit (w, x, y, z), body → world. The result does not depend on the
    number of threads.

        arrays = shape_arrays([Instance(Plane()), Instance(Box((1, 1, 1)), body=0, margin=0.01)])
        contacts = detect(arrays, [[0, 0, 0.5]], [[1, 0, 0, 0]])
        len(contacts)  # 4
    """
    if not arrays.count:
        return NO_CONTACTS
    p, q = _poses(arrays, position, quaternion)
    n = arrays.count
    world = arrays.pool.take(((n, 4), float), ((n, 3, 3), float), ((n, 3), float))
    share_out(place, threads, arrays.placing, p, q, *world)
    pairs = find_pairs(arrays, *world, threads=threads)
    geometry = (arrays.kind, arrays.size, world[0], world[1], *arrays.vertices)
    return _narrow(arrays, geometry, pairs, threads)


def _narrow(arrays: ShapeArrays, geometry: tuple, pairs: np.ndarray, threads: int) -> Contacts:
    """Contacts of the pairs, family by family."""
    count = len(pairs)
    family, slots, counts = arrays.pool.take(((count,), np.int8), ((count + 1,), np.int64), ((count,), np.int64))
    counts[:] = 0
    m, bits, general = deal(pairs, arrays.kind, FAMILY, POINTS, family, slots)
    rows = [((m, 3, 3), float), ((m, 3), float), ((m,), float), ((m,), np.uint64)]
    rows += [((m, 2), np.int64), ((m, 2), np.int32), ((m,), float), ((m,), float)]
    columns = arrays.pool.take(*rows)
    found, owners = tuple(columns[:4]), tuple(columns[4:])
    if bits & 1:
        share_out(
            spheres, threads, pairs, family, geometry[2], arrays.surface, arrays.mixing, found, owners, slots, counts
        )
    for number, kernel in FAMILIES.items():
        if bits >> number & 1:
            share_out(kernel, threads, pairs, family, geometry, arrays.margin, found, slots, counts)
    if bits & ~1:
        share_out(
            finish, threads, pairs, family, arrays.kind, arrays.surface, arrays.mixing, found, owners, slots, counts
        )
    n = compact(found, owners, slots, counts)
    frame, point, gap, feature = found
    bodies, shape, mu, restitution = owners
    contacts = Contacts(bodies[:n], shape[:n], point[:n], frame[:n], gap[:n], mu[:n], restitution[:n], feature[:n])
    if general:
        from delassus.collision.general import add_general

        return add_general(arrays, geometry, pairs[family == GENERAL], contacts)
    return contacts


def _poses(arrays: ShapeArrays, position, quaternion) -> tuple[np.ndarray, np.ndarray]:
    """Body poses as contiguous arrays, or an error that says what is wrong with them."""
    p = np.ascontiguousarray(position, dtype=float).reshape(-1, 3)
    q = np.ascontiguousarray(quaternion, dtype=float).reshape(-1, 4)
    if len(p) != len(q) or len(p) < arrays.body_count:
        raise ProblemError(
            f"{len(p)} positions and {len(q)} quaternions for {arrays.body_count} bodies with shapes: "
            "give one of each per body"
        )
    bad = check_poses(p, q)
    if bad >= 0:
        raise ProblemError(
            f"body {bad} is at {p[bad].tolist()} turned by {q[bad].tolist()}: "
            "a pose must be finite, its quaternion (w, x, y, z) of unit length"
        )
    return p, q
