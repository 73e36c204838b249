"""Accelerated sweeps on a small problem without allocating: in arrays of the caller, or on the stack.

Most problems of a few contacts are solved by less than ten sweeps, in one to five microseconds. Twenty arrays for
these, and the references to them that Numba counts, would take as long again.
"""

import math

import numpy as np

from delassus.kernel import njit
from delassus.kernel.four_wide import PADDING
from delassus.kernel.memory import NO_REFCOUNT, folded, on_stack
from delassus.linalg.operators.delassus import FEW_ROWS
from delassus.problem.data import ProblemData
from delassus.problem.problem import PACKED
from delassus.residuals import RESIDUAL_COUNT
from delassus.solvers.parts.anderson import sweeps
from delassus.solvers.parts.anderson.sweeps import Sweeping, sweep_until_due, sweep_up_to
from delassus.solvers.parts.at_once import MOST_JUDGEMENTS, finish_dense
from delassus.solvers.parts.block_sweeps import COARSE, sweep_constants
from delassus.solvers.parts.judged import Judge
from delassus.solvers.parts.one_contact.slip import LAST
from delassus.solvers.parts.threes import Triples, fill_dense, place_rows, pose, unpose

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


few_of = njit(cache=True, **NO_REFCOUNT)(_few_of)
"""`_few_of` for compiled code."""


@njit(cache=True, inline="always")
def record_in(few):
    """Of judgements, (4, RECORDED), a view."""
    return few[len(few) - 4 * RECORDED :].reshape(4, RECORDED)


@njit(cache=True, **NO_REFCOUNT)
def place_small(data, place, room):
    """Where each row goes, (m,), and friction of the triples."""
    data = ProblemData(*data)
    place_rows(data.block_start, data.joint_count, data.limit_count, data.mu, place, room[FRICTION])


@njit(cache=True, **NO_REFCOUNT)
def triples_in(blocks, convex, room):
    """`Triples` whose D is `blocks`, (pointer, column, value, diagonal), and whose vectors are in `room`."""
    pointer, column, value, diagonal = blocks
    return Triples(pointer, column, value, diagonal, room[SPEED], room[FRICTION][: len(pointer) - 1], convex)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def begin_small(rule, triples, v_f, reactions, place, room, few):
    """The problem and the guess in scaled units, and the state before the first sweep.  rule: `Rule`; triples: of
    `triples_in`; few: zeros."""
    r, best, n = room[_POINT], room[BEST], len(triples.mu)
    pose(
        triples.pointer,
        triples.column,
        triples.value,
        triples.diagonal,
        v_f,
        reactions,
        place,
        room[SPEED],
        room[UNITS],
        room[UNITS + 1],
        r,
    )
    for i in range(len(r)):
        best[i] = r[i]
    if rule.follows_path == 0.0:
        for k in range(n):
            room[_SLIP, k] = 0.0
        sweeps.begin(few[: sweeps.STATE_SIZE], rule.first_sweeps)
        sweep_constants(triples.diagonal, triples.mu, room[_CONSTANTS:ROWS].reshape(n, 12))


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def sweep_small(most, memory, triples, judge, room, few):
    """Accelerated sweeps up to so many; see `sweep_up_to`."""
    n, at = room.shape[1] // 3, sweeps.STATE_SIZE
    sweeping = Sweeping(
        few[:at],
        room[_VECTORS:_CONSTANTS],
        room[ROWS : ROWS + memory],
        room[ROWS + memory :],
        few[at : len(few) - 4 * RECORDED].reshape(2 * memory + 3, memory),
        room[_CONSTANTS:ROWS].reshape(n, 12),
        room[_POINT],
        room[_SLIP],
        room[BEST],
    )
    return sweep_up_to(float(most), triples, sweeping, judge)


@njit(cache=True, **NO_REFCOUNT)
def judge_in(tols, place, data, room, few):
    """`Judge` whose units and judgements are here."""
    return Judge(tols, room[UNITS : UNITS + 2], place, data, record_in(few))


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def end_small(tols, place, room, few, reactions, judgements):
    """The best point in the problem's units; how many judgements are copied."""
    unpose(room[UNITS], room[BEST], place, reactions)
    return _copied(record_in(few), tols, judgements)


@njit(cache=True, **NO_REFCOUNT)
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


FEW_CONTACTS = FEW_ROWS // 3
"""Contacts at most of problems that are packed."""

_PAD = 16  # vectors are multiples of this: loops over them are compiled for so many numbers at a time
# What `sweep_contacts` needs at most, in numbers.
_MOST_MEMORY, _MOST_BLOCKS = 8, FEW_CONTACTS * (FEW_CONTACTS - 1)
_FEW = sweeps.STATE_SIZE + (2 * _MOST_MEMORY + 3) * _MOST_MEMORY + 22 * FEW_CONTACTS
_VALUES, _WHOLE = 9 * _MOST_BLOCKS + PADDING, (sweeps.VECTORS + 2 * _MOST_MEMORY + 2) * (FEW_ROWS + _PAD)
_SCRATCH, _NUMBERS = _FEW + _VALUES + _WHOLE, 2 * FEW_ROWS + 2 * (FEW_CONTACTS + 1) + _MOST_BLOCKS
_scratch, _numbers = on_stack(_SCRATCH), on_stack(_NUMBERS)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def sweep_contacts(packed, asked, reactions, found):
    """Accelerated sweeps over contacts alone, from zero, where they are enough: how many judgements were made, the last
    of which found the tolerances met; none where others have to take over. Without units of its own, and with one
    judgement of the point that is returned: of a few contacts, either would take as long as a sweep.

    packed: of a `Problem`; asked: (tol, tol_velocity, most sweeps, sweeps before a price is asked for, memory of the
    acceleration); reactions: (m,), written; found: of an `Attempt`, written."""
    m, n, most, memory = int(packed[0]), int(packed[1]), asked[2], int(asked[4])
    at, length = PACKED + m * m, (m + _PAD - 1) // _PAD * _PAD
    full, v_f, at = folded(packed[PACKED:at], m, m), packed[at : at + m], at + m
    mu, scale = packed[at : at + n], packed[at + n : at + 2 * n]
    rho, speed, is_exact = packed[len(packed) - 2], packed[len(packed) - 1], packed[3] < 4.0
    if m != 3 * n or speed == 0.0 or not most > 0.0 or memory > _MOST_MEMORY:
        return 0
    scratch, numbers = _scratch()[:_SCRATCH], _numbers()[:_NUMBERS].view(np.int64)
    wide = sweeps.VECTORS + 2 * memory + 2
    whole = wide * length
    room, few, value = folded(scratch, wide, length), scratch[whole:], scratch[whole + _FEW :]
    state, few = few[: sweeps.STATE_SIZE], few[sweeps.STATE_SIZE :]
    blocks, constants, slip, few = few[: 9 * n], folded(few[9 * n :], n, 12), few[21 * n : 22 * n], few[22 * n :]
    small = folded(few, 2 * memory + 3, memory)
    r, best, vectors = room[0], room[1], room[2 : 2 + sweeps.VECTORS]
    G, F = room[2 + sweeps.VECTORS : 2 + sweeps.VECTORS + memory], room[2 + sweeps.VECTORS + memory :]
    place, row_of, starts = numbers[:m], numbers[m : 2 * m], numbers[2 * m : 2 * m + n + 1]
    pointer, column = numbers[2 * m + n + 1 : 2 * m + 2 * n + 2], numbers[2 * m + 2 * n + 2 :]
    for i in range(m):
        place[i] = i
    column = column[: fill_dense(full, place, n, row_of, pointer, column, value, blocks)]
    sweep_constants(blocks, mu, constants)
    for k in range(n + 1):
        starts[k] = 3 * k
    for k in range(n):
        slip[k] = 0.0
    for i in range(length):
        r[i] = 0.0
    sweeps.begin(state, asked[3])
    data = ProblemData(mu, starts, 0, 0, 0, blocks, scale, is_exact, rho, speed)
    triples = Triples(pointer, column, value, blocks, v_f, mu, 0.0 if is_exact else 1.0)
    sweeping = Sweeping(state, vectors, G, F, small, constants, r, slip, best)
    judgements = folded(found[len(found) - 3 * MOST_JUDGEMENTS :], 3, MOST_JUDGEMENTS)
    count, is_first, end, last = 0, True, 1.0, LAST
    while True:
        is_due = sweep_until_due(end, triples, sweeping, last)
        if is_first:  # one contact that is alone is solved already
            is_due, is_first, end, last = is_due or len(column) == 0 or _closed(r, n) <= 1, False, most, COARSE
            if not is_due:
                continue
        if not is_due:
            return 0
        finish_dense(full, v_f, r[:m], data, found)
        at = min(count, judgements.shape[1] - 1)
        relative, velocity, count = found[0], found[RESIDUAL_COUNT - 1], at + 1
        judgements[0, at], judgements[1, at], judgements[2, at] = state[sweeps.DONE], relative, velocity
        excess = max(relative / asked[0], velocity / asked[1])
        how = sweeps.take_judgement(state, excess if math.isfinite(excess) else math.inf, r, best)
        if how == sweeps.CONVERGED:
            for i in range(m):
                reactions[i] = r[i]
            return count
        if how == sweeps.NEEDS_PRICE:
            state[sweeps.FACTOR_PRICE] = sweeps.full_price(_closed(r, n))
        if how == sweeps.TOO_DEAR or sweeps.is_too_dear(state, mu, triples.convex, column):
            return 0


@njit(cache=True, **NO_REFCOUNT)
def _closed(r, n):
    """How many contacts have a reaction."""
    count = 0
    for k in range(n):
        count += r[3 * k] != 0.0
    return count
