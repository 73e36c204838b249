"""Narrow phase: the contacts of pairs, by the kernel of their family, then what all contacts need alike."""

import numpy as np

from delassus.collision.contacts import ContactColumns
from delassus.collision.layout import (
    COUNT,
    FAMILY,
    SLOT,
    SPHERE,
    SPHERE_PLANE,
    SPHERES,
    Placing,
    Polyhedra,
    geometry_of,
)
from delassus.collision.narrow.families import READS_ALL
from delassus.collision.narrow.frames import put_pair
from delassus.collision.narrow.neighbours import NONE
from delassus.collision.narrow.sphere import sphere_on_plane, sphere_sphere
from delassus.collision.placement import posed
from delassus.collision.work import FAMILIES, PAIRS, ShapeConstants, Work
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.addresses import call_kernel
from delassus.kernel.memory import NO_REFCOUNT


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def pair_contacts(t, threads, fixed, work):
    """Number of contacts of share t of the pairs, by the kernels of their families; without those that the broad phase
    knows."""
    shapes = posed(fixed, work)
    geometry = geometry_of(shapes, Polyhedra(*fixed.polyhedra))
    pairs, dealt, out, scratch = work.pairs, work.dealt, work.out, work.scratch
    total, family, left, count = np.int64(0), 0, work.counters[FAMILIES], work.counters[PAIRS]
    while left:
        if left & 1 and family > SPHERE_PLANE:  # pairs of the first two are contacts already
            address = fixed.addresses[family]
            if READS_ALL >> family & 1:
                total += call_kernel(address, (t, threads, count, pairs, dealt, geometry, out, scratch))
            else:
                total += call_kernel(address, (t, threads, count, pairs, dealt, shapes, out, scratch))
        left >>= 1
        family += 1
    return total


@njit(cache=True, error_model="numpy", nogil=True, **ADDRESSED, **NO_REFCOUNT)
def write_pairs(t, threads, shapes, work, columns):
    """Contacts of share t of the pairs, one after the other, in the fields of Contacts: normals from the lower numbered
    shape to the other, tangents, bodies, materials, and the pair in the feature.  0."""
    fixed, own, contacts = ShapeConstants(*shapes), Work(*work), ContactColumns(*columns)
    kind, position, rotation = Placing(*fixed.placing).kind, own.position, own.rotation
    pairs, dealt, out, count = own.pairs, own.dealt, own.out, own.counters[PAIRS]
    frame, point, gap, feature = contacts.frame, contacts.point, contacts.gap, contacts.feature
    first, k = count * t // threads, np.int64(0)
    for p in range(first):
        k += dealt[p, COUNT]
    for p in range(first, count * (t + 1) // threads):
        a, b, number = np.int64(pairs[p, 0]), np.int64(pairs[p, 1]), dealt[p, COUNT]
        if dealt[p, FAMILY] == SPHERES:
            sphere_sphere(position, a, b, contacts, k)
            feature[k] = 0
        elif dealt[p, FAMILY] == SPHERE_PLANE:
            if kind[a] == SPHERE:
                sphere_on_plane(position, rotation, a, b, -1.0, contacts, k)
            else:
                sphere_on_plane(position, rotation, b, a, 1.0, contacts, k)
            feature[k] = 0
        else:
            sign, slot = -1.0 if kind[a] > kind[b] else 1.0, dealt[p, SLOT]  # kernels see the lower kind first
            is_turned = own.turned[p, 3] < NONE
            for c in range(number):
                for i in range(3):
                    n = own.turned[p, i] if is_turned else out[slot + c, i]
                    frame[k + c, 0, i], point[k + c, i] = sign * n, out[slot + c, 3 + i]
                gap[k + c] = own.turned[p, 3] if is_turned else out[slot + c, 6]
                feature[k + c] = np.uint64(out[slot + c, 7])
        for _ in range(number):
            put_pair(k, a, b, feature[k], position, fixed.mixing, contacts)
            k += 1
    return np.int64(0)
