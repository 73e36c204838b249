"""Which islands rest: a guess judged island by island, in compiled code."""

import math
from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.linalg.operators.islands import fill_islands_of_bodies
from delassus.linalg.operators.rigid import multiply_rows, rigid_velocities
from delassus.problem.data import ProblemData
from delassus.residuals import measure_islands

KEPT, SOLVED, FINISHED = 0, 1, 2
"""What is done with an island: nothing, solve it to the tolerances, or as far as it goes: it is about to rest."""

EXCESS, ROWS, ITERATIONS, LEFT = range(4)
"""Columns of the table of islands: excess of the guess over the tolerances, rows, iterations, excess afterwards."""

# Reactions that are kept from step to step push with the same error in every step, so that things speed up and creep.
# An island rests if its velocities and what its reactions add to them in a step are far below the tolerance.
_RESTS = 0.1  # largest excess of a guess that a step keeps
_CREEPS = 1e-3  # largest velocity of closed contacts, over that of the tolerance: 60 s at 1e-6 and 1 ms are 0.6 nm
_SPEEDS_UP = 1e-5  # and what may be added to it in a step by what falls asleep: a hundred steps later it is too much
_WAKES_UP, _STEPS_ASLEEP = 1e-4, 3.0  # the same of what has slept for some steps: one bound for both would rattle
_MOVES = 10.0  # velocities from here on are meant, not errors
_NEARLY = 10.0  # excess of a guess up to which nothing new happens: the island is finished, and the next steps keep it
_BY_ERRORS = 2.0  # largest velocity before the step, over that of the tolerance, that a solve leaves of what rests


class Islands(NamedTuple):
    """Islands, and what is done with each; with room for as many as there are blocks."""

    label: np.ndarray
    """(block_count,) the island of each block."""
    first: np.ndarray
    """(islands + 1,) where the blocks of each begin in `members`."""
    members: np.ndarray
    """(block_count,) blocks, island by island."""
    table: np.ndarray
    """(islands, 4), columns as above."""
    action: np.ndarray
    """(islands,) KEPT, SOLVED or FINISHED."""


@njit(cache=True)
def group(island, block_start, first, members, table):
    """Blocks by island, each in ascending order: first (islands + 1,) and members (block_count,), written; rows of each
    island into the table."""
    for g in range(len(first)):
        first[g] = 0
    for g in range(len(table)):
        table[g, ROWS] = 0.0
    for k in range(len(island)):
        first[island[k] + 1] += 1
        table[island[k], ROWS] += block_start[k + 1] - block_start[k]
    for g in range(len(first) - 1):
        first[g + 1] += first[g]
    at = first[:-1].copy()
    for k in range(len(island)):
        members[at[island[k]]] = k
        at[island[k]] += 1


@njit(cache=True, error_model="numpy")
def judge_guess(island, v, reactions, data, tols, motion, table, action):
    """What to do with each island, into `action`, and excesses into `table`; (relative natural map, relative worst
    velocity) of all.  motion: (speed, gain), (m,) each: velocities of the rows without bias, and what the reactions
    add to those before the step, or empty."""
    data = ProblemData(*data)
    step, free_speed = data.rho, data.free_speed
    measured = np.empty((len(table), 3))
    measure_islands(reactions, v, island, data, measured)
    square = length = worst = 0.0
    for g in range(len(table)):
        own = free_speed * math.sqrt(table[g, ROWS] / max(len(v), 1))
        size = max(step * own, math.sqrt(measured[g, 1]))
        error = math.sqrt(measured[g, 0]) / size if measured[g, 0] > 0.0 else 0.0
        excess = max(error / tols[0], measured[g, 2] / tols[1])
        table[g, EXCESS] = table[g, LEFT] = excess if excess == excess else math.inf
        table[g, ITERATIONS] = 0.0
        action[g] = KEPT if excess <= 1.0 else SOLVED
        square, length, worst = square + measured[g, 0], length + measured[g, 1], max(worst, measured[g, 2])
    if len(motion[0]):
        _look_for_rest(island, reactions, data, tols[1], motion, measured, table, action)
    size = max(step * free_speed, math.sqrt(length))
    return math.sqrt(square) / size if square > 0.0 else 0.0, worst


@njit(cache=True, error_model="numpy", inline="always")
def _look_for_rest(island, reactions, data, tol, motion, measured, table, action):
    """In a step only islands at rest are kept, and those that are about to rest are finished. What moved before the
    step by more than errors does not come to rest by being finished, which takes several times a solve to the
    tolerances: a pile that creeps would pay for it in every step."""
    speed, gain = motion
    block_start, joints, scale = data.block_start, data.joint_count, data.velocity_scale
    for g in range(len(table)):
        measured[g, 0] = measured[g, 1] = measured[g, 2] = 0.0
    for k in range(len(island)):
        if k >= joints and not reactions[block_start[k]] > 0.0:
            continue  # open
        g = island[k]
        for i in range(block_start[k], block_start[k + 1]):
            measured[g, 0] = max(measured[g, 0], abs(speed[i]) / (tol * scale[k]))
            measured[g, 1] = max(measured[g, 1], abs(gain[i]) / (tol * scale[k]))
            measured[g, 2] = max(measured[g, 2], abs(speed[i] - gain[i]) / (tol * scale[k]))
    for g in range(len(table)):
        moves, gains = measured[g, 0], measured[g, 1]
        # an error of several times what is added in a step has grown over several steps: it sleeps already
        sleeps = gains <= _WAKES_UP and table[g, EXCESS] > _STEPS_ASLEEP * gains
        rests = (moves <= _CREEPS or moves > _MOVES) and (gains <= _SPEEDS_UP or sleeps)
        moved = measured[g, 2] > _BY_ERRORS
        if table[g, EXCESS] > (1.0 if moved else _NEARLY):
            action[g] = SOLVED
        elif table[g, EXCESS] > _RESTS or not rests:
            action[g] = FINISHED


@njit(cache=True, error_model="numpy")
def motion_of(rigid, bias, before, reactions, v, speed, gain):
    """Velocities of the rows without their bias, and what is added to those before the step.  before: (n,)."""
    bodies, block_start, rows, _, compliance = rigid
    multiply_rows(bodies, block_start, rows, before, gain)
    for i in range(len(v)):
        speed[i] = v[i] - bias[i]
        if len(compliance):
            speed[i] -= compliance[i] * reactions[i]
        gain[i] = speed[i] - gain[i]


@njit(cache=True, error_model="numpy", nogil=True)
def look_at_bodies(rigid, body_count, free, step, data, tols, reactions, islands):
    """Islands of rigid bodies, and what to do with them, in one call: (how many, relative natural map, relative worst
    velocity) of the guess.

    step: (bias (m,), velocities before it (n,)) of the `Problem`, both empty where no step is taken; islands:
    `Islands`, written."""
    bias, before = step
    label, first, members = islands.label, islands.first, islands.members
    count = fill_islands_of_bodies(rigid[0], body_count, label)
    group(label, rigid[1], first[: count + 1], members, islands.table[:count])
    u, v = np.empty(6 * body_count), np.empty(len(free))
    rigid_velocities(rigid, reactions, free, u, v)
    rows = len(free) if len(before) else 0
    speed, gain = np.empty(rows), np.empty(rows)
    if rows:
        motion_of(rigid, bias, before, reactions, v, speed, gain)
    table, action = islands.table[:count], islands.action[:count]
    relative, worst = judge_guess(label, v, reactions, data, tols, (speed, gain), table, action)
    return count, relative, worst
