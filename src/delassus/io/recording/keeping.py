"""What writes a step into its rows, in one compiled call: recording must cost little beside a small step."""

import math
from typing import Any, NamedTuple

import numpy as np

from delassus.collision.contacts import ContactColumns
from delassus.dynamics.forces import coordinate_energy, energy_at
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.residuals import RESIDUAL_COUNT, fill_contact_errors
from delassus.simulation.one_step import deepest, drift_of
from delassus.spatial import matrices_of

OPEN, STICK, SLIP = 0, 1, 2
"""What a contact does: no force; force and no motion along the surface; force at the cone's edge and motion."""

NUMBERS = 7
"""Per step: t [s], kinetic and potential energy [J], drift [m, rad], penetration [m], relative natural map [-], worst
velocity [m/s]; then the seconds of its stages."""
COUNTS = 4
"""Per step: warnings, status, solver by number, iterations; then contacts, limits and exact reactions that it has."""
_EDGE = 1e-6  # a reaction this near the cone's edge, relatively, is on it
_LOW_BITS = np.uint64((1 << 61) - 1)  # of a block's name: the number within its kind


class StepColumns(NamedTuple):
    """Rows of steps."""

    numbers: np.ndarray  # (…, NUMBERS and seconds)
    counts: np.ndarray  # (…, COUNTS + 3)
    q: np.ndarray  # (…, n_b, 7)
    u: np.ndarray  # (…, n_b, 6)
    turns: np.ndarray  # (…, n_d)
    joint: np.ndarray  # (…, m_j) impulse / h of joints [N, N m]
    drive: np.ndarray  # (…, ·) of drives
    friction: np.ndarray  # (…, ·) of dry friction
    coordinate: np.ndarray  # (…, n_d) [m, rad]


class TouchingColumns(NamedTuple):
    """Rows of contacts, forces and slips in the world frame, of the second body against the first."""

    bodies: np.ndarray  # (…, 2)
    status: np.ndarray
    point: np.ndarray  # (…, 3) [m]
    normal: np.ndarray  # (…, 3)
    force: np.ndarray  # (…, 3) [N]
    slip: np.ndarray  # (…, 3) [m/s]
    gap: np.ndarray  # [m]
    mu: np.ndarray
    feature: np.ndarray
    natural_map: np.ndarray  # residuals, written by `fill_contact_errors`, as the next
    velocity: np.ndarray


class Room(NamedTuple):
    """Where steps are kept, with rows for more."""

    filled: np.ndarray  # (4,) rows that there are of steps, contacts, limits and exact reactions
    numbers: np.ndarray  # (NUMBERS and seconds,) of a step
    counts: np.ndarray  # (COUNTS,) of a step
    steps: tuple[Any, ...]  # fields of StepColumns
    touching: tuple[Any, ...]  # of TouchingColumns
    limits: tuple[Any, ...]  # coordinate, is it the upper one? force
    exact: np.ndarray  # (…, 2)


class Solved(NamedTuple):
    """What a step was solved to."""

    h: float  # [s]
    worst: float  # velocity that is as good as none [m/s]
    reactions: np.ndarray  # (m,) [N s]
    velocities: np.ndarray  # (m,) [m/s]
    coordinates: np.ndarray  # (n_d,) [m, rad]
    names: np.ndarray  # (blocks,)
    low: np.ndarray  # (m,) second doubles of the reactions, or empty


class Counts(NamedTuple):
    """Of the rows of a step."""

    joints: int  # rows of joints
    friction: int  # rows of their dry friction
    bilateral: int  # rows
    blocks: int  # bilateral ones
    limits: int


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT, **ADDRESSED)
def keep_taken(state, bodies, rotation, taken, rows, solved, contacts, room):
    """Write a step that compiled code has just taken into the next rows of its columns; returns 0.

    state: q, u, turns, time (1,) after it; bodies: fields of `Bodies`; rotation: (n_b, 3, 3), written; taken: h,
    iterations, contacts; rows: names, start per block, numbers of blocks (4,), errors of joints, which of them are
    hard, coordinates; solved: reactions, residuals and velocities as of an `Attempt`, diagonal blocks of D, velocity
    scales, ρ and ‖v_f‖₂, as in `ProblemData`; contacts: fields of `ContactColumns`, with more room; room: of `Room`,
    whose `filled` moves on."""
    (q, u, turns, time), (mass, inertia, _, _, gravity), (h, iterations, count) = state, bodies, taken
    (names, start, blocks), (residual, hard, coordinates) = rows[:3], rows[3:]
    reactions, found, diagonal, scale, whole = solved
    of, room = ContactColumns(*contacts), Room(*room)
    at, numbers, steps, touching = room.filled, room.numbers, StepColumns(*room.steps), TouchingColumns(*room.touching)
    unilateral = blocks[1]
    bilateral, m = blocks[3] - count - unilateral, start[blocks[3]]
    matrices_of(q, 3, rotation)
    numbers[0] = time[0]
    numbers[1], numbers[2] = energy_at(mass, inertia, gravity, rotation, q, u)
    numbers[3], numbers[4] = drift_of(residual, hard), deepest(of.gap[:count]) + 0.0
    numbers[5], numbers[6] = 0.0, 0.0
    if m > 0:  # otherwise there was nothing to solve
        numbers[5], numbers[6] = found[0], found[1]
    room.counts[3] = iterations
    velocities = found[RESIDUAL_COUNT : RESIDUAL_COUNT + m]
    sizes = Counts(steps.joint.shape[1], steps.friction.shape[1], start[bilateral], bilateral, unilateral)
    result = Solved(h, numbers[6], reactions, velocities, coordinates, names, reactions[:0])
    cut = (of.bodies, of.shapes, of.point, of.frame, of.gap[:count], of.mu, of.restitution, of.feature)
    keep_step((at[0], at[1], at[2], at[3]), (q, u, turns), sizes, result, cut, room)
    data = of.mu, start, bilateral, start[bilateral], unilateral, diagonal, scale, True, whole[0], whole[1]
    fill_contact_errors(reactions, velocities, data, count, at[1], touching.natural_map, touching.velocity)
    at[0], at[1], at[2] = at[0] + 1, at[1] + count, at[2] + unilateral
    return np.int64(0)


@njit(cache=True, error_model="numpy")
def add_energies(joints, freedoms, first, last, steps):
    """Add what springs and armature of joints hold to the energies of rows that `keep_taken` has written, which knows
    of bodies alone.  joints, freedoms: as for `coordinate_energy`; steps: fields of `StepColumns`."""
    of = StepColumns(*steps)
    rotation = np.empty((of.q.shape[1], 3, 3))
    for k in range(first, last):
        matrices_of(of.q[k], 3, rotation)
        kinetic, potential = coordinate_energy(joints, freedoms, of.q[k], rotation, of.u[k], of.turns[k])
        of.numbers[k, 1] += kinetic
        of.numbers[k, 2] += potential


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def keep_step(at, state, sizes, solved, contacts, room):
    """Write a step into row at[0] of its columns, its contacts, limits and exact reactions from rows at[1], at[2] and
    at[3] on; there must be room.

    state: q (n_b, 7), u (n_b, 6), turns (n_d,); sizes, solved: fields of `Counts`, `Solved`; contacts: of
    `ContactColumns`; room: of `Room`, whose `filled` stays."""
    sizes, solved, room, k = Counts(*sizes), Solved(*solved), Room(*room), at[0]
    to, touching, limits, (q, u, turns) = StepColumns(*room.steps), ContactColumns(*contacts), room.limits, state
    reactions, h, low = solved.reactions, solved.h, solved.low
    for i in range(len(room.numbers)):
        to.numbers[k, i] = room.numbers[i]
    for i in range(COUNTS):
        to.counts[k, i] = room.counts[i]
    to.counts[k, COUNTS] = len(touching.gap)
    to.counts[k, COUNTS + 1] = sizes.limits
    to.counts[k, COUNTS + 2] = len(low)
    for b in range(to.q.shape[1]):
        for i in range(7):
            to.q[k, b, i] = q[b, i]
        for i in range(6):
            to.u[k, b, i] = u[b, i]
    for d in range(to.turns.shape[1]):
        to.turns[k, d] = turns[d]
        to.coordinate[k, d] = solved.coordinates[d]
    for r in range(to.joint.shape[1]):  # rows of joints; those of welds follow them
        to.joint[k, r] = reactions[r] / h
    rubbing = sizes.bilateral - sizes.friction
    for r in range(sizes.joints, rubbing):
        to.drive[k, r - sizes.joints] = reactions[r] / h
    for r in range(rubbing, sizes.bilateral):
        to.friction[k, r - rubbing] = reactions[r] / h
    for i in range(sizes.limits):
        number = solved.names[sizes.blocks + i] & _LOW_BITS  # 2·coordinate + side (dynamics/rows.py)
        limits[0][at[2] + i], limits[1][at[2] + i] = number // np.uint64(2), number % np.uint64(2)
        limits[2][at[2] + i] = reactions[sizes.bilateral + i] / h
    keep_contacts(touching, solved, sizes.bilateral + sizes.limits, at[1], room.touching)
    for r in range(len(low)):
        room.exact[at[3] + r, 0], room.exact[at[3] + r, 1] = reactions[r], low[r]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def keep_contacts(of, solved, first, row, out):
    """What contacts did in a step, from this row on.  of, solved: fields of `ContactColumns`, `Solved`; first: row of
    the problem; out: of `TouchingColumns`, the two of residuals are left alone."""
    of, solved = ContactColumns(*of), Solved(*solved)
    to, reactions, velocities, h = TouchingColumns(*out), solved.reactions, solved.velocities, solved.h
    for c in range(len(of.gap)):
        r, k = first + 3 * c, row + c
        n, t1, t2 = reactions[r] / h, reactions[r + 1] / h, reactions[r + 2] / h
        v1, v2, frame = velocities[r + 1], velocities[r + 2], of.frame[c]
        for i in range(3):
            to.point[k, i], to.normal[k, i] = of.point[c, i], frame[0, i]
            to.force[k, i] = n * frame[0, i] + t1 * frame[1, i] + t2 * frame[2, i]
            to.slip[k, i] = v1 * frame[1, i] + v2 * frame[2, i]
        to.gap[k], to.mu[k], to.feature[k] = of.gap[c], of.mu[c], of.feature[c]
        to.bodies[k, 0], to.bodies[k, 1] = of.bodies[c, 0], of.bodies[c, 1]
        at_edge = math.hypot(t1, t2) >= (1.0 - _EDGE) * of.mu[c] * n
        to.status[k] = OPEN if n <= 0.0 else SLIP if at_edge and math.hypot(v1, v2) > solved.worst else STICK
