"""Contacts of few shapes in one compiled call, from poses to the fields of Contacts, for Python and for compiled code.

Nothing is allocated. Families of pairs are called through their addresses: one that has none yet is handed back, for
Python to have it compiled (`ShapeArrays.compile_families`) and to call again."""

from typing import TYPE_CHECKING

import numpy as np

from delassus.collision.broad.pairs import find_few
from delassus.collision.layout import MARGIN, SPHERE_PLANE
from delassus.collision.narrow.families import READS_ALL, scratch_rows
from delassus.collision.narrow.phase import finish
from delassus.kernel import njit
from delassus.kernel.addresses import call_kernel
from delassus.kernel.memory import NO_REFCOUNT

if TYPE_CHECKING:
    from delassus.collision.arrays import ShapeArrays


def few_work(arrays: "ShapeArrays") -> tuple[np.ndarray, ...]:
    """Work space of `find_contacts`: (position, rotation, extent, pairs, dealt, out, scratch), see layout.py."""
    n, c, rows = arrays.count, len(arrays.candidates), int(arrays.candidates[:, 3].sum())
    return (
        np.empty((n, 8)), np.empty((n, 3, 3)), np.empty((n, 3)), np.empty((c, 2), np.int32),
        np.empty((c, 3), np.int32), np.empty((rows, 8)), np.empty((1, 5, scratch_rows(arrays.vertices[3]), 4)),
    )  # fmt: skip


def few_most(arrays: "ShapeArrays") -> int:
    """Upper bound on the contacts of few shapes: the room that is enough for columns of `find_contacts`."""
    return int(np.maximum(arrays.candidates[:, 3], 1).sum())


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def find_contacts(shapes, q, reach, work, columns):
    """(first body with a bad pose or −1, pairs that are near, contacts, bits of the families that have no address).

    shapes: ShapeArrays.few_constants; q: (n_b, 7) poses of the bodies; reach: (n,) how much further contacts of the
    pairs that are near are looked for [m], or empty; work: few_work(); columns: the fields of Contacts,
    written, with room for some. They are left alone where a pose is bad, a family has no address, or where the contacts
    are more than their room: then `finish` writes them into larger ones."""
    placing, radius, candidates, vertices, supports, addresses, mixing = shapes
    position, rotation, extent, pairs, dealt, out, scratch = work
    bad, count, total, bits = find_few(placing, radius, q, candidates, position, rotation, extent, pairs, dealt)
    if bad >= 0:
        return bad, count, 0, 0
    for s in range(len(reach)):
        position[s, MARGIN] += reach[s]
    placed = (position, rotation, placing[2], placing[0])
    known, missing = call_families(bits, addresses, count, pairs, dealt, placed, vertices, supports, out, scratch)
    total += known
    if missing == 0 and total <= len(columns[4]):
        finish(np.int64(0), np.int64(1), count, pairs, dealt, placed, out, mixing, columns)
    return bad, count, total, missing


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def call_families(bits, addresses, count, pairs, dealt, placed, vertices, supports, out, scratch):
    """(contacts, bits of the families without an address) of those of the first `count` pairs whose families `bits`
    names.  addresses: of the families' kernels; placed, vertices, supports: of Geometry; the others: layout.py."""
    geometry = placed + vertices + (supports,)
    total, missing, family, left = np.int64(0), 0, 0, bits
    first, one = np.int64(0), np.int64(1)  # literals would be types of their own
    while left:
        if left & 1 and family > SPHERE_PLANE:  # pairs of the first two are contacts already
            address = addresses[family]
            if address == 0:
                missing |= 1 << family
            elif READS_ALL >> family & 1:
                total += call_kernel(address, (first, one, count, pairs, dealt, geometry, out, scratch))
            else:
                total += call_kernel(address, (first, one, count, pairs, dealt, placed, out, scratch))
        left >>= 1
        family += 1
    return total, missing
