"""Heaps of spheres on planes: every pair that the broad phase finds is one contact, so it is written at once.

There may be very many of these, and memory is what they wait for: no lists of pairs are made in between."""

from typing import TYPE_CHECKING

import numpy as np

from delassus.collision.broad.partners import sort_partners
from delassus.collision.contacts import Contacts
from delassus.collision.machine import AHEAD, share_out
from delassus.collision.narrow.frames import empty_contacts, put_pair
from delassus.collision.narrow.sphere import sphere_on_plane, sphere_sphere
from delassus.kernel import njit
from delassus.kernel.instructions import prefetch
from delassus.kernel.memory import NO_REFCOUNT

if TYPE_CHECKING:
    from delassus.collision.arrays import ShapeArrays


def heap_contacts(
    arrays: "ShapeArrays",
    position: np.ndarray,
    rotation: np.ndarray,
    end: np.ndarray,
    partner: np.ndarray,
    threads: int,
) -> Contacts:
    """Contacts of the pairs that `group` made of what the broad phase found.

    arrays: plain ShapeArrays; position, rotation: of the shapes; end, partner: see partners.py."""
    columns = empty_contacts(arrays, len(partner))
    share_out(write_heap, threads, end, partner, position, rotation, arrays.mixing, columns)
    return Contacts(*columns)


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def write_heap(t, threads, end, partner, position, rotation, mixing, contacts):
    """The contacts of share t of the shapes with their partners."""
    bodies, shapes, point, frame, gap, mu, restitution, feature = contacts
    n, last = len(end), len(partner) - 1
    first = n * t // threads
    begin = np.int64(end[first - 1] if first else 0)
    for a in range(first, n * (t + 1) // threads):
        sort_partners(partner, begin, np.int64(end[a]))
        for k in range(begin, end[a]):
            prefetch(position, partner[min(k + AHEAD, last)])
            b = np.int64(partner[k])
            if position[a, 3] == 0.0:  # a plane has no size
                sphere_on_plane(position, rotation, b, a, 1.0, frame, point, gap, k)
            elif position[b, 3] == 0.0:
                sphere_on_plane(position, rotation, a, b, -1.0, frame, point, gap, k)
            else:
                sphere_sphere(position, a, b, frame, point, gap, k)
            put_pair(k, a, b, np.uint64(0), position, mixing, bodies, shapes, frame, mu, restitution, feature)
        begin = np.int64(end[a])
