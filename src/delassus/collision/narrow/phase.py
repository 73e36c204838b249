"""Narrow phase: the contacts of pairs, by the kernel of their family, then what all contacts need alike."""

import math

import numpy as np
from numba import njit

from delassus.collision.arrays import ShapeArrays
from delassus.collision.contacts import NO_CONTACTS, Contacts
from delassus.collision.layout import BODY, COUNT, FAMILY, MU, RESTITUTION, SLOT, SPHERE
from delassus.collision.narrow.families import GENERAL, KERNELS, POLYHEDRAL, SPHERE_PLANE, SPHERES
from delassus.collision.narrow.frames import fill_tangents
from delassus.collision.narrow.sphere import sphere_on_plane, sphere_sphere
from delassus.collision.pool import Pool
from delassus.collision.threads import share_out

SMALL = 800  # contacts: for fewer, asking the pool takes longer than fresh memory


def narrow(arrays: ShapeArrays, geometry: tuple, near: tuple, pairs, dealt, out, threads: int) -> Contacts:
    """Contacts of the pairs, family by family.

    geometry: the fields of Geometry; near: (pairs, contacts that are known, bits of the families that occur); pairs,
    dealt, out: sorted pairs, their families and slots, room for contacts (layout.py)."""
    count, total, bits = near
    placed = geometry[:4]
    for number, kernel in KERNELS.items():
        if bits >> number & 1:
            read = geometry if number in POLYHEDRAL else placed
            total += sum(share_out(kernel, threads, count, pairs, dealt, read, out))
    if bits >> GENERAL & 1:
        from delassus.collision.narrow.general import find_general

        total += find_general(arrays, geometry, count, pairs, dealt, out)
    if not total:
        return NO_CONTACTS
    columns = empty_contacts(arrays.pool, total)
    share_out(finish, threads, count, pairs, dealt, placed, out, arrays.mixing, columns)
    return Contacts(*columns)


def empty_contacts(pool: Pool, n: int) -> tuple[np.ndarray, ...]:
    """The fields of Contacts for n of them, uninitialised."""
    if n < SMALL:
        return (
            np.empty((n, 2), np.int64), np.empty((n, 2), np.int32), np.empty((n, 3)), np.empty((n, 3, 3)), np.empty(n),
            np.empty(n), np.empty(n), np.empty(n, np.uint64),
        )  # fmt: skip
    return pool.take(
        ((n, 2), np.int64), ((n, 2), np.int32), ((n, 3), float), ((n, 3, 3), float), ((n,), float), ((n,), float),
        ((n,), float), ((n,), np.uint64),
    )  # fmt: skip


@njit(cache=True, error_model="numpy", nogil=True)
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
            fill_tangents(frame, k)
            bodies[k, 0], bodies[k, 1] = np.int64(position[a, BODY]), np.int64(position[b, BODY])
            shapes[k, 0], shapes[k, 1] = a, b
            mu[k] = mix(mixing, position[a, MU], position[b, MU])
            restitution[k] = max(position[a, RESTITUTION], position[b, RESTITUTION])
            feature[k] |= (np.uint64(a) << np.uint64(40)) | (np.uint64(b) << np.uint64(16))
            k += 1


@njit(cache=True, error_model="numpy", forceinline=True)
def mix(mixing, a, b):
    """Friction coefficient of a pair; numbers as in arrays.MIXING."""
    if mixing == 0:
        return math.sqrt(a * b)
    if mixing == 1:
        return min(a, b)
    if mixing == 2:
        return max(a, b)
    if mixing == 3:
        return 0.5 * (a + b)
    return a * b
