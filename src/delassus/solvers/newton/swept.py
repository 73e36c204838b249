"""Accelerated sweeps on a small problem without allocating: in arrays that whoever calls brings.

Most problems of a few contacts are solved by less than ten sweeps, in two to ten microseconds. Twenty arrays for these,
and the references to them that Numba counts, would take as long again.
"""

import math

import numpy as np

from delassus.kernel import njit
from delassus.linalg.borrowed import BORROWED
from delassus.linalg.operators.delassus import FEW_ROWS
from delassus.linalg.operators.matrix import fill_blocks_of_full
from delassus.problem.problem import PACKED
from delassus.solvers.parts.anderson import sweeps
from delassus.solvers.parts.anderson.sweeps import sweep_up_to
from delassus.solvers.parts.at_once import finish_dense, judgements_in
from delassus.solvers.parts.block_sweeps import sweep_constants
from delassus.solvers.parts.fours import PADDING
from delassus.solvers.parts.threes import fill_dense, place_rows, pose, unpose

RECORDED = 64
"""Judgements that one call writes down; further ones take the place of the last."""

# Rows of `room`, (ROWS + 2 memory, 3 n): friction of the triples and slip rates, (n,) each, velocity, units of
# reactions and of velocities, point, best point, vectors and constants of sweeps; then differences of both kinds.
FRICTION, _SLIP, SPEED, UNITS, _POINT, BEST, _VECTORS = 0, 1, 2, 3, 5, 6, 7
_CONSTANTS = _VECTORS + sweeps.VECTORS
ROWS = _CONSTANTS + 4


def _few_of(memory: int) -> int:
    """Length of `few`: state of sweeps, their small matrices, and the record of judgements, (4, RECORDED)."""
    return sweeps.STATE_SIZE + (2 * memory + 3) * memory + 4 * RECORDED


few_of = njit(cache=True, **BORROWED)(_few_of)
"""The same for compiled code."""


@njit(cache=True, inline="always")
def record_in(few):
    """Of judgements, (4, RECORDED), a view."""
    return few[len(few) - 4 * RECORDED :].reshape(4, RECORDED)


@njit(cache=True, **BORROWED)
def place_small(judged_by, place, room):
    """Where each row goes, (m,), and friction of the triples."""
    mu, start, joints, _, limits, _, _, _, _, _ = judged_by
    place_rows(start, joints, limits, mu, place, room[FRICTION])


@njit(cache=True, error_model="numpy", **BORROWED)
def begin_small(plain, pointer, column, value, diagonal, v_f, reactions, place, room, few):
    """The problem and the guess in scaled units, and the state before the first sweep.  plain: of `solve_at_once`; few:
    zeros."""
    r, best = room[_POINT], room[BEST]
    pose(
        pointer, column, value, diagonal, v_f, reactions, place, room[SPEED], room[UNITS], room[UNITS + 1], r
    )  # fmt: skip
    for i in range(len(r)):
        best[i] = r[i]
    if plain[7] == 0.0:
        n = len(r) // 3
        for k in range(n):
            room[_SLIP, k] = 0.0
        sweeps.begin(few[: sweeps.STATE_SIZE], plain[5])
        sweep_constants(diagonal, room[FRICTION][:n], room[_CONSTANTS:ROWS].reshape(n, 12))


@njit(cache=True, error_model="numpy", **BORROWED)
def sweep_small(most, memory, pointer, column, value, diagonal, convex, tols, place, judged_by, room, few):
    """Accelerated sweeps up to so many; see `sweep_up_to`."""
    n, at = room.shape[1] // 3, sweeps.STATE_SIZE
    small = few[at : len(few) - 4 * RECORDED].reshape(2 * memory + 3, memory)
    return sweep_up_to(
        float(most), few[:at], room[_VECTORS:_CONSTANTS], room[ROWS : ROWS + memory], room[ROWS + memory :], small,
        pointer, column, value, diagonal, room[_CONSTANTS:ROWS].reshape(n, 12), room[SPEED], room[FRICTION][:n],
        convex, room[_POINT], room[_SLIP], room[BEST], tols, room[UNITS : UNITS + 2], place, judged_by,
        record_in(few),
    )  # fmt: skip


@njit(cache=True, error_model="numpy", **BORROWED)
def end_small(tols, place, room, few, reactions, judgements):
    """The best point in the problem's units; how many judgements are copied."""
    unpose(room[UNITS], room[BEST], place, reactions)
    return _copied(record_in(few), tols, judgements)


@njit(cache=True, **BORROWED)
def _copied(record, tols, judgements):
    """The last of the judgements to those asked for, with that of the best point, which is returned, at their end; how
    many they are."""
    count, room, best, least = int(record[3, 0]), judgements.shape[1], 0, math.inf
    for k in range(count):
        excess = max(record[1, k] / tols[0], record[2, k] / tols[1])
        if excess < least:
            best, least = k, excess
    last = best == count - 1
    first = max(count + (0 if last else 1) - room, 0)
    for k in range(first, count):
        for a in range(3):
            judgements[a, k - first] = record[a, k]
    if last:
        return count - first
    at = count - first
    judgements[0, at], judgements[1, at], judgements[2, at] = record[0, count - 1], record[1, best], record[2, best]
    return at + 1


def scratch_of(contacts: int, memory: int) -> int:
    """Numbers that `sweep_contacts` needs."""
    blocks = contacts * (contacts - 1)
    return 3 * (ROWS + 2 * memory + 8) * contacts + _few_of(memory) + 10 * blocks + PADDING + 2 * (contacts + 1)


FEW_CONTACTS = FEW_ROWS // 3
"""Contacts at most of problems that are packed."""


@njit(cache=True, error_model="numpy", nogil=True, **BORROWED)
def sweep_contacts(packed, tol, tol_velocity, most, first, memory, reactions, found, scratch):
    """What `solve_small` does with contacts alone where sweeps do, bit by bit: how many judgements were made, none
    where others have to take over.

    packed: of a `Problem` of contacts alone; most: sweeps; first, memory: first sweeps and memory of `solve_at_once`;
    reactions: (m,) a guess, overwritten; where it is not zero, nothing is done; found: of an `Attempt`, written;
    scratch: of `scratch_of` numbers."""
    m, n, tols = int(packed[0]), int(packed[1]), (tol, tol_velocity)
    plain = 0.0, 0.0, 0.0, 0.0, 0.0, float(first), float(memory), 0.0
    at = PACKED + m * m
    full, v_f, mu, scale = packed[PACKED:at].reshape(m, m), packed[at : at + m], packed[at + m :], packed[at + m + n :]
    rho, speed, is_exact = packed[len(packed) - 2], packed[len(packed) - 1], packed[3] < 4.0
    if speed == 0.0 or most <= 0.0:
        return 0
    for i in range(m):
        if reactions[i] != 0.0:
            return 0
    rows, whole = (ROWS + 2 * memory) * m, 9 * n * (n - 1) + PADDING
    room, few, end = scratch[:rows].reshape(ROWS + 2 * memory, m), scratch[rows : rows + few_of(memory)], rows
    end += few_of(memory)
    diagonal, blocks, value = scratch[end : end + 3 * m], scratch[end + 3 * m : end + 6 * m], scratch[end + 6 * m :]
    end += 6 * m + whole
    numbers = scratch[end:].view(np.int64)
    place, row_of = numbers[:m], numbers[m : 2 * m]
    at = 2 * m + n + 1
    pointer, starts, column = numbers[2 * m : at], numbers[at : at + n + 1], numbers[at + n + 1 :]
    for k in range(n + 1):
        starts[k] = 3 * k
    fill_blocks_of_full(full, starts, blocks)
    judged_by = mu[:n], starts, 0, 0, 0, blocks, scale[:n], is_exact, rho, speed
    for i in range(len(few)):
        few[i] = 0.0
    place_small(judged_by, place, room)
    fill_dense(full, place, n, row_of, pointer, column, value, diagonal)
    begin_small(plain, pointer, column, value, diagonal, v_f, reactions, place, room, few)
    convex = 0.0 if is_exact else 1.0
    end = sweep_small(
        most, memory, pointer, column[: pointer[n]], value, diagonal, convex, tols, place, judged_by, room, few
    )
    if end != sweeps.CONVERGED:
        return 0
    count = end_small(tols, place, room, few, reactions, judgements_in(found))
    finish_dense(full, v_f, reactions, judged_by, found)
    return count
