"""Narrow phase: the contacts of pairs, by the kernel of their family, then what all contacts need alike."""

from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.collision.contacts import NO_CONTACTS, Contacts
from delassus.collision.layout import COUNT, FAMILY, SLOT, SPHERE, SPHERE_PLANE, SPHERES
from delassus.collision.machine import share_out
from delassus.collision.narrow.families import KERNELS, POLYHEDRAL
from delassus.collision.narrow.frames import empty_contacts, put_pair
from delassus.collision.narrow.sphere import sphere_on_plane, sphere_sphere
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

if TYPE_CHECKING:
    from delassus.collision.arrays import ShapeArrays


def narrow(
    arrays: "ShapeArrays",
    geometry: tuple[Any, ...],
    near: tuple[Any, ...],
    pairs: np.ndarray,
    dealt: np.ndarray,
    out: np.ndarray,
    scratch: np.ndarray,
    threads: int,
) -> Contacts:
    """Contacts of the pairs, family by family.

    geometry: the fields of Geometry; near: (pairs, contacts that are known, bits of the families that occur); pairs,
    dealt, out: sorted pairs, their families and slots, room for contacts (layout.py); scratch: see families.py."""
    count, total, bits = near
    placed = geometry[:4]
    for number, kernel in KERNELS.items():
        if bits >> number & 1:
            read = geometry if number in POLYHEDRAL else placed
            total += sum(share_out(kernel, threads, count, pairs, dealt, read, out, scratch))
    if not total:
        return NO_CONTACTS
    columns = empty_contacts(arrays, total)
    share_out(finish, threads, count, pairs, dealt, placed, out, arrays.mixing, columns)
    return Contacts(*columns)


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def finish(t, threads, count, pairs, dealt, placed, out, mixing, contacts):
    """Contacts of share t of the pairs, one after the other, in the fields of Contacts: normals from the lower numbered
    shape to the other, tangents, bodies, materials, and the pair in the feature."""
    position, rotation, _, kind = placed
    bodies, shapes, point, frame, gap, mu, restitution, feature = contacts
    first, k = count * t // threads, np.int64(0)
    for p in range(first):
        k += dealt[p, COUNT]
    for p in range(first, count * (t + 1) // threads):
        a, b, found = np.int64(pairs[p, 0]), np.int64(pairs[p, 1]), dealt[p, COUNT]
        if dealt[p, FAMILY] == SPHERES:
            sphere_sphere(position, a, b, frame, point, gap, k)
            feature[k] = 0
        elif dealt[p, FAMILY] == SPHERE_PLANE:
            if kind[a] == SPHERE:
                sphere_on_plane(position, rotation, a, b, -1.0, frame, point, gap, k)
            else:
                sphere_on_plane(position, rotation, b, a, 1.0, frame, point, gap, k)
            feature[k] = 0
        else:
            sign, slot = -1.0 if kind[a] > kind[b] else 1.0, dealt[p, SLOT]  # kernels see the lower kind first
            for c in range(found):
                for i in range(3):
                    frame[k + c, 0, i], point[k + c, i] = sign * out[slot + c, i], out[slot + c, 3 + i]
                gap[k + c], feature[k + c] = out[slot + c, 6], np.uint64(out[slot + c, 7])
        for _ in range(found):
            put_pair(k, a, b, feature[k], position, mixing, bodies, shapes, frame, mu, restitution, feature)
            k += 1
