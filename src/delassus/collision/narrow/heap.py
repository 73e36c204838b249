"""Heaps of spheres on planes: every pair that the broad phase finds is one contact, so it is written at once.

There may be very many of these, and memory is what they wait for: no lists of pairs are made in between."""

import numpy as np

from delassus.collision.broad.partners import sort_partners
from delassus.collision.contacts import ContactColumns
from delassus.collision.machine import AHEAD
from delassus.collision.narrow.frames import put_pair
from delassus.collision.narrow.sphere import sphere_on_plane, sphere_sphere
from delassus.collision.work import PAIRS, ShapeConstants, Work
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.instructions import prefetch
from delassus.kernel.memory import NO_REFCOUNT


@njit(cache=True, error_model="numpy", nogil=True, **ADDRESSED, **NO_REFCOUNT)
def write_heap(t, threads, shapes, work, columns):
    """The contacts of share t of the shapes with their partners.  0."""
    fixed, own, contacts = ShapeConstants(*shapes), Work(*work), ContactColumns(*columns)
    position, rotation, end, partner = own.position, own.rotation, own.end, own.partner
    n, last = len(end), own.counters[PAIRS] - 1
    first = n * t // threads
    begin = np.int64(end[first - 1] if first else 0)
    for a in range(first, n * (t + 1) // threads):
        sort_partners(partner, begin, np.int64(end[a]))
        for k in range(begin, end[a]):
            prefetch(position, partner[min(k + AHEAD, last)])
            b = np.int64(partner[k])
            if position[a, 3] == 0.0:  # a plane has no size
                sphere_on_plane(position, rotation, b, a, 1.0, contacts, k)
            elif position[b, 3] == 0.0:
                sphere_on_plane(position, rotation, a, b, -1.0, contacts, k)
            else:
                sphere_sphere(position, a, b, contacts, k)
            put_pair(k, a, b, np.uint64(0), position, fixed.mixing, contacts)
        begin = np.int64(end[a])
    return np.int64(0)
