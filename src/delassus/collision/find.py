"""Detection of contacts: the phases that take poses of bodies to the fields of Contacts.

It is compiled code that allocates nothing. Phases that may be shared out to threads and those that may not take turns,
so that one text serves compiled code (`find_contacts`) and threads (`find_in_shares`). How pairs are searched for and
contacts are written depends on how many shapes there are and of which kinds: these two are called through their
addresses, as the families of pairs are, and a scene compiles only what it contains."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import typeof, types

from delassus.collision.broad.grid import RUNS, empty_grid
from delassus.collision.broad.phase import search_candidates, search_grids
from delassus.collision.contacts import empty_columns
from delassus.collision.layout import MARGIN, PLANE, SPHERE_PLANE
from delassus.collision.machine import share_out
from delassus.collision.narrow.heap import write_heap
from delassus.collision.narrow.neighbours import link_pairs, turn_to_neighbours
from delassus.collision.narrow.phase import pair_contacts, write_pairs
from delassus.collision.narrow.scratch import BLOCKS, scratch_rows
from delassus.collision.placement import place
from delassus.collision.work import BAD, CONTACTS, COUNTERS, DIRECT, FAMILIES, MISSING, STATUS, ShapeConstants, Work
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.addresses import call_kernel, kernel_address
from delassus.kernel.memory import NO_REFCOUNT

if TYPE_CHECKING:
    from delassus.collision.arrays import ShapeArrays

DONE, BAD_POSE, NO_KERNEL, TOO_FEW_ROWS, TOO_SHORT_COLUMNS = 0, -1, -2, -3, -4
"""What stops a detection: nothing, a pose that is none, a family of pairs that has no address yet, more pairs than the
work space has rows, more contacts than the columns. Then Python compiles the family or allocates more, and calls
again."""
PLACE, PREPARE, SEARCH, DEAL, NARROW, LINK, TURN, COUNT, WRITE, PHASES = range(10)
_SHARED = (PLACE, SEARCH, NARROW, TURN, WRITE)
TURNING, SEARCHING, WRITING = -3, -2, -1
"""Places from the end of the addresses: after those of the families."""


@njit(cache=True, error_model="numpy", nogil=True, **ADDRESSED, **NO_REFCOUNT)
def find_contacts(first, shapes, q, reach, work, columns):
    """Number of contacts, or what stopped the detection, from this phase on.

    shapes: fields of ShapeConstants; q: (n_b, 7) poses of the bodies; reach: (n,) how much further contacts of the
    pairs that are near are looked for [m], or empty; work: fields of Work; columns: the fields of Contacts, written
    where they are long enough."""
    zero, one = np.int64(0), np.int64(1)  # literals would be types of their own
    for phase in range(first, PHASES):
        _do(zero, one, phase, shapes, q, reach, work, columns)
    counters = Work(*work).counters
    return counters[CONTACTS] if counters[STATUS] == DONE else counters[STATUS]


def find_in_shares(threads: int, first: int, *arguments: Any) -> int:
    """`find_contacts` on threads."""
    for phase in range(first, PHASES):
        if phase in _SHARED:
            share_out(_do, threads, phase, *arguments)
        else:
            _do(0, 1, phase, *arguments)
    counters = Work(*arguments[3]).counters
    return int(counters[CONTACTS] if counters[STATUS] == DONE else counters[STATUS])


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def _do(t, threads, phase, shapes, q, reach, work, columns):
    """Share t of a phase."""
    fixed, own = ShapeConstants(*shapes), Work(*work)
    counters, position = own.counters, own.position
    if phase == PLACE:
        own.bad[t] = place(t, threads, fixed.placing, q, position, own.rotation, own.extent)
        return
    if phase == PREPARE:
        counters[STATUS] = DONE
        for k in range(len(own.bad)):
            if own.bad[k] >= 0 and counters[STATUS] == DONE:
                counters[STATUS], counters[BAD] = BAD_POSE, own.bad[k]
    if phase == COUNT and counters[STATUS] == TOO_SHORT_COLUMNS:
        counters[STATUS] = DONE  # again, with more of them
    if counters[STATUS] != DONE:
        return
    if phase <= DEAL and call_kernel(fixed.addresses[SEARCHING], (t, threads, phase, shapes, work)) != DONE:
        counters[STATUS] = TOO_FEW_ROWS
        return
    if phase == DEAL:
        counters[MISSING] = 0
        for family in range(SPHERE_PLANE + 1, len(fixed.addresses) + TURNING):
            if counters[FAMILIES] >> family & 1 and fixed.addresses[family] == 0:
                counters[MISSING] |= 1 << family
                counters[STATUS] = NO_KERNEL
        for s in range(len(reach)):
            position[s, MARGIN] += reach[s]
    elif phase == NARROW:
        own.contacts[t] = pair_contacts(t, threads, fixed, own)
    elif phase < COUNT:
        if counters[FAMILIES] >> SPHERE_PLANE + 1 == 0:
            return  # spheres and planes alone: nothing to be turned
        if phase == LINK:
            link_pairs(own)
        else:
            call_kernel(fixed.addresses[TURNING], (t, threads, shapes, work))
    elif phase == COUNT:
        total = counters[DIRECT]
        for k in range(len(own.contacts)):
            total += own.contacts[k]
        counters[CONTACTS] = total
        if total > len(columns[4]):
            counters[STATUS] = TOO_SHORT_COLUMNS
    elif phase == WRITE:
        call_kernel(fixed.addresses[WRITING], (t, threads, shapes, work, columns))


def compile_ends(arrays: "ShapeArrays", shapes: tuple[Any, ...]) -> None:
    """Have the kernels compiled, or loaded, that search for pairs of these shapes and write their contacts."""
    share: tuple[Any, ...] = (types.int64, types.int64, typeof(shapes), typeof(work_for(arrays)))
    addresses, search = ShapeConstants(*shapes).addresses, search_candidates if arrays.is_small else search_grids
    write = write_heap if arrays.is_heap and not arrays.is_small else write_pairs
    addresses[SEARCHING] = kernel_address(search, (*share[:2], types.int64, *share[2:]))
    if (arrays.kind > PLANE).any():
        addresses[TURNING] = kernel_address(turn_to_neighbours, share)
    addresses[WRITING] = kernel_address(write, (*share, typeof(empty_columns(0))))


def work_for(arrays: "ShapeArrays", threads: int = 1, pairs: int = 0, rows: int = 0) -> tuple[Any, ...]:
    """The fields of Work for so many pairs and rows of `out`: of few shapes for all there can be, of many for a guess
    at their number where it is 0."""
    n, scratch = arrays.count, np.empty((threads, BLOCKS, scratch_rows(arrays.vertices.face_start), 4))
    if arrays.is_small:
        pairs, rows = len(arrays.candidates), int(arrays.candidates[:, 3].sum())
        unsorted, groups, grid = 0, 0, empty_grid(0, 0)
    else:
        pairs, rows = pairs or 8 * n + 64, rows or 16 * n + 64
        unsorted, groups, grid = pairs // threads + 1, n, empty_grid(len(arrays.gridded), len(arrays.level_radius))
    work = Work(
        np.empty((n, 8)),
        np.empty((n, 3, 3)),
        np.empty((n, 3)),
        np.empty((pairs, 2), np.int32),
        np.empty((pairs, 3), np.int32),
        np.empty((rows, 8)),
        np.empty((pairs, 4)),
        np.empty(n + 1, np.int32),
        np.empty(2 * pairs, np.int32),
        scratch,
        counters=np.zeros(COUNTERS, np.int64),
        bad=np.empty(threads, np.int64),
        contacts=np.empty(threads, np.int64),
        counts=np.zeros(threads, np.int64),
        unsorted=np.empty((threads, unsorted, 2), np.int32),
        runs=np.empty((threads, RUNS, 3), np.int64),
        end=np.empty(groups, np.int32),
        partner=np.empty(pairs if groups else 0, np.int32),
        grid=tuple(grid),
    )
    return tuple(work)


def most_contacts(arrays: "ShapeArrays") -> int:
    """Upper bound on the contacts of few shapes."""
    return int(np.maximum(arrays.candidates[:, 3], 1).sum())
