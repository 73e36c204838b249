"""What writes a step into its rows, in one compiled call: recording must cost little beside a small step."""

import math

import numpy as np

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


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT, **ADDRESSED)
def keep_taken(state, bodies, h, iterations, count, rows, reactions, found, scales, contacts, room):
    """Write a step that compiled code has just taken into the next rows of its columns; returns 0.

    state: q, u, turns, time (1,) after it; bodies: mass, inertia, gravity, and space for rotations (n_b, 3, 3); count:
    of its contacts; rows: names, start per block, numbers of blocks (4,), errors of joints, which of them are hard,
    coordinates; found: residuals and velocities, as of an `Attempt`; scales: diagonal blocks of D, velocity scales, ρ
    and ‖v_f‖₂, as in `ProblemData`; contacts: as for `keep_step`, with more room;
    room: rows filled (4,), which move on, numbers and counts of a step, then as for `keep_step`."""
    q, u, turns, time = state
    mass, inertia, gravity, rotation = bodies
    names, start, blocks, residual, hard, coordinates = rows
    of, point, frame, gap, mu, feature = contacts
    at, numbers, counts, steps, touching, limits, exact = room
    unilateral = blocks[1]
    bilateral, m = blocks[3] - count - unilateral, start[blocks[3]]
    matrices_of(q, 3, rotation)
    numbers[0] = time[0]
    numbers[1], numbers[2] = energy_at(mass, inertia, gravity, rotation, q, u)
    numbers[3], numbers[4] = drift_of(residual, hard), deepest(gap[:count]) + 0.0
    numbers[5], numbers[6] = 0.0, 0.0
    if m > 0:  # otherwise there was nothing to solve
        numbers[5], numbers[6] = found[0], found[1]
    counts[3] = iterations
    velocities = found[RESIDUAL_COUNT : RESIDUAL_COUNT + m]
    keep_step(
        (at[0], at[1], at[2], at[3]), (q, u, turns), numbers, counts,
        (steps[5].shape[1], steps[7].shape[1], start[bilateral], bilateral, unilateral),
        (h, numbers[6], reactions, velocities, coordinates), names, (of, point, frame, gap[:count], mu, feature),
        reactions[:0], steps, touching, limits, exact,
    )  # fmt: skip
    data = mu, start, bilateral, start[bilateral], unilateral, scales[0], scales[1], True, scales[2][0], scales[2][1]
    fill_contact_errors(reactions, velocities, data, count, at[1], touching[9], touching[10])
    at[0], at[1], at[2] = at[0] + 1, at[1] + count, at[2] + unilateral
    return np.int64(0)


@njit(cache=True, error_model="numpy")
def add_energies(joints, freedoms, first, last, steps):
    """Add what springs and armature of joints hold to the energies of rows that `keep_taken` has written, which knows
    of bodies alone.  joints, freedoms: as for `coordinate_energy`; steps: as for `keep_step`."""
    numbers, q, u, turns = steps[0], steps[2], steps[3], steps[4]
    rotation = np.empty((q.shape[1], 3, 3))
    for k in range(first, last):
        matrices_of(q[k], 3, rotation)
        kinetic, potential = coordinate_energy(joints, freedoms, q[k], rotation, u[k], turns[k])
        numbers[k, 1] += kinetic
        numbers[k, 2] += potential


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def keep_step(at, state, numbers, counts, sizes, solved, names, contacts, low, steps, touching, limits, exact):
    """Write a step into row at[0] of its columns, its contacts, limits and exact reactions from rows at[1], at[2] and
    at[3] on; there must be room.

    state: q (n_b, 7), u (n_b, 6), turns (n_d,); numbers: NUMBERS and seconds; counts: (COUNTS,); sizes: rows of joints,
    of their friction, bilateral rows and blocks, limits; solved: h [s], worst velocity [m/s], reactions and velocities
    (m,), coordinates (n_d,); names: (blocks,); contacts: bodies, point, frame, gap, mu, feature; low: (m,) second
    doubles, or empty.
    Written: steps: numbers, counts, q, u, turns, then impulse / h of joints, drives, friction, and coordinates;
    touching: see `keep_contacts`; limits: coordinate, is it the upper one? force; exact: (…, 2)."""
    k = at[0]
    joint_rows, rubbing, bilateral, blocks, unilateral = sizes
    h, worst, reactions, velocities, coordinates = solved
    all_numbers, all_counts, q, u, turns, joint, drive, friction, coordinate = steps
    for i in range(len(numbers)):
        all_numbers[k, i] = numbers[i]
    for i in range(COUNTS):
        all_counts[k, i] = counts[i]
    all_counts[k, COUNTS] = len(contacts[3])
    all_counts[k, COUNTS + 1] = unilateral
    all_counts[k, COUNTS + 2] = len(low)
    for b in range(q.shape[1]):
        for i in range(7):
            q[k, b, i] = state[0][b, i]
        for i in range(6):
            u[k, b, i] = state[1][b, i]
    for d in range(turns.shape[1]):
        turns[k, d] = state[2][d]
        coordinate[k, d] = coordinates[d]
    for r in range(joint.shape[1]):  # rows of joints; those of welds follow them
        joint[k, r] = reactions[r] / h
    for r in range(joint_rows, bilateral - rubbing):
        drive[k, r - joint_rows] = reactions[r] / h
    for r in range(bilateral - rubbing, bilateral):
        friction[k, r - bilateral + rubbing] = reactions[r] / h
    for i in range(unilateral):
        number = names[blocks + i] & _LOW_BITS  # 2·coordinate + side (dynamics/rows.py)
        limits[0][at[2] + i], limits[1][at[2] + i] = number // np.uint64(2), number % np.uint64(2)
        limits[2][at[2] + i] = reactions[bilateral + i] / h
    keep_contacts(contacts, reactions, velocities, bilateral + unilateral, h, worst, at[1], touching)
    for r in range(len(low)):
        exact[at[3] + r, 0], exact[at[3] + r, 1] = reactions[r], low[r]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def keep_contacts(contacts, reactions, velocities, first, h, worst, row, out):
    """What contacts did in a step, from this row on: forces [N] and slips [m/s] in the world frame, of the second body
    against the first.  first: row of the problem; worst: velocity [m/s] that is as good as none; out: bodies (…, 2),
    status, point, normal, force, slip (…, 3), gap, mu, feature; residuals, the last two, are written by
    `fill_contact_errors`."""
    bodies, point, frame, gap, mu, feature = contacts
    out_bodies, status, points, normals, forces, slips, gaps, mus, features, _, _ = out
    for c in range(len(gap)):
        r, k = first + 3 * c, row + c
        n, t1, t2 = reactions[r] / h, reactions[r + 1] / h, reactions[r + 2] / h
        v1, v2 = velocities[r + 1], velocities[r + 2]
        for i in range(3):
            points[k, i], normals[k, i] = point[c, i], frame[c, 0, i]
            forces[k, i] = n * frame[c, 0, i] + t1 * frame[c, 1, i] + t2 * frame[c, 2, i]
            slips[k, i] = v1 * frame[c, 1, i] + v2 * frame[c, 2, i]
        gaps[k], mus[k], features[k] = gap[c], mu[c], feature[c]
        out_bodies[k, 0], out_bodies[k, 1] = bodies[c, 0], bodies[c, 1]
        at_edge = math.hypot(t1, t2) >= (1.0 - _EDGE) * mu[c] * n
        status[k] = OPEN if n <= 0.0 else SLIP if at_edge and math.hypot(v1, v2) > worst else STICK
