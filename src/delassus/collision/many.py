"""Contacts of many shapes in one compiled call, for compiled code: what `detect` does on one thread.

Nothing is allocated. How much room pairs and contacts take is not known beforehand: where there is too little, nothing
is written but how much it takes, and Python makes a larger work space (`many_work`) and calls again."""

from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.collision.broad.grid import fill_grid, size_up, table_room
from delassus.collision.broad.partners import deal, group
from delassus.collision.broad.phase import RUNS, search_common, search_grid
from delassus.collision.few import call_families
from delassus.collision.layout import MARGIN
from delassus.collision.narrow.families import scratch_rows
from delassus.collision.narrow.heap import write_heap
from delassus.collision.narrow.phase import finish
from delassus.collision.placement import place
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

if TYPE_CHECKING:
    from delassus.collision.arrays import ShapeArrays


def many_work(arrays: "ShapeArrays", pairs: int = 0, rows: int = 0) -> tuple[Any, ...]:
    """Work space of `find_contacts_many`: (position, rotation, extent, grid, runs, found, counts, end, partner,
    pairs, dealt, out, scratch), with room for so many pairs and rows of `out`, or for a guess at their number."""
    n, m, levels = arrays.count, len(arrays.gridded), len(arrays.level_radius)
    pairs, rows = pairs or 8 * n + 64, rows or 16 * n + 64
    grid = (
        np.empty((levels, 3)), np.empty(levels), np.empty((levels, 3), np.int64), np.empty(levels, np.int64),
        np.empty(levels, np.int64), np.empty(table_room(m, levels), np.int32), np.empty(m, np.int32),
        np.empty((m, 4)), np.empty(m, np.int32),
    )  # fmt: skip
    return (
        np.empty((n, 8)), np.empty((n, 3, 3)), np.empty((n, 3)), grid, np.empty((1, RUNS, 3), np.int64),
        np.empty((1, pairs, 2), np.int32), np.zeros(1, np.int64), np.empty(n, np.int32),
        np.empty(pairs, np.int32), np.empty((pairs, 2), np.int32), np.empty((pairs, 3), np.int32),
        np.empty((rows, 8)), np.empty((1, 5, scratch_rows(arrays.vertices[3]), 4)),
    )  # fmt: skip


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def find_contacts_many(shapes, q, reach, work, columns, takes):
    """(first body with a bad pose or −1, contacts, bits of the families that have no address).

    shapes: ShapeArrays.many_constants; q: (n_b, 7) poses of the bodies; reach: (n,) how much further contacts of the
    pairs that are near are looked for [m], or empty; work: many_work(); columns: the fields of Contacts,
    written; takes: (3,) written: the room that the search for pairs, rows of `out` and contacts take. Where one of them
    is more than there is, the contacts are not written."""
    placing, radius, vertices, supports, addresses, mixing, searched, filters, levels, families, points = shapes
    position, rotation, extent, grid, runs, found, counts, end, partner, pairs, dealt, out, scratch = work
    zero, one = np.int64(0), np.int64(1)  # literals would be types of their own
    takes[:] = 0
    bad = place(zero, one, placing, q, position, rotation, extent)
    if bad >= 0:
        return bad, 0, 0
    which, is_common, gridded = searched
    kind, plain = placing[0], filters[0]
    counts[0] = 0
    if len(which):
        common = (which, is_common, kind, radius, position, rotation, extent)
        search_common(zero, one, common, filters, found, counts)
    if len(gridded):
        origin, inverse, shape, first, mask, start, item, ball, bucket = grid
        entries = size_up(gridded, levels[0], levels[1], position, origin, inverse, shape, first, mask)
        table = (origin, inverse, shape, first, mask, start[: entries + 1], item, ball)
        fill_grid(gridded, levels[0], position, radius, table, bucket)
        search_grid(zero, one, levels, table, kind, position, extent, filters, runs, found, counts)
    count = counts[0]
    takes[0] = count
    if count > len(partner):
        return bad, 0, 0
    group(found, counts, end, partner)
    if plain:  # one contact per pair, whatever its reach
        takes[2] = count
        if count <= len(columns[4]):
            write_heap(zero, one, end, partner[:count], position, rotation, mixing, columns)
        return bad, count, 0
    rows, total, bits = deal(end, partner, kind, families, points, pairs, dealt)
    takes[1] = rows
    if rows > len(out):
        return bad, 0, 0
    for s in range(len(reach)):
        position[s, MARGIN] += reach[s]
    placed = (position, rotation, placing[2], kind)
    known, missing = call_families(bits, addresses, count, pairs, dealt, placed, vertices, supports, out, scratch)
    total += known
    takes[2] = total
    if missing == 0 and total <= len(columns[4]):
        finish(zero, one, count, pairs, dealt, placed, out, mixing, columns)
    return bad, total, missing
