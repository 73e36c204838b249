"""One step into the rows of its columns, in one compiled call: recording must cost little beside a small step."""

import math

import numpy as np
from numba import njit

OPEN, STICK, SLIP = 0, 1, 2
"""What a contact does: no force; force and no motion along the surface; force at the cone's edge and motion."""

NUMBERS = 7
"""Per step: t [s], kinetic and potential energy [J], drift [m, rad], penetration [m], relative natural map [-], worst
velocity [m/s]; then the seconds of its stages."""
COUNTS = 4
"""Per step: warnings, status, solver by number, iterations; then contacts, limits and exact reactions that it has."""
POINT, NORMAL, FORCE, SLIDE, GAP, MU = 0, 3, 6, 9, 12, 13
"""Columns of what is kept of a contact; it has 14 in all."""
_EDGE = 1e-6  # a reaction this near the cone's edge, relatively, is on it
_LOW_BITS = np.uint64((1 << 61) - 1)  # of a block's name: the number within its kind


@njit(cache=True, error_model="numpy")
def keep_step(at, state, numbers, counts, sizes, solved, names, contacts, low, steps, touching, limits, exact):
    """Write a step into row at[0] of its columns, its contacts, limits and exact reactions from rows at[1], at[2] and
    at[3] on; there must be room.

    state: q (n_b, 7), u (n_b, 6), turns (n_d,); numbers: NUMBERS and seconds; counts: (COUNTS,); sizes: rows of joints,
    of their friction, bilateral rows and blocks, limits; solved: h [s], worst velocity [m/s], reactions and velocities
    (m,), coordinates (n_d,); names: (blocks,); contacts: bodies, point, frame, gap, mu, feature; low: (m,) second
    doubles, or empty.
    Written: steps: numbers, counts, q, u, turns, then impulse / h of joints, drives, friction, and coordinates;
    touching: bodies and status (…, 3), numbers (…, 14), feature; limits: coordinate and side (…, 2), force; exact:
    (…, 2)."""
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
    for r in range(joint_rows):
        joint[k, r] = reactions[r] / h
    for r in range(joint_rows, bilateral - rubbing):
        drive[k, r - joint_rows] = reactions[r] / h
    for r in range(bilateral - rubbing, bilateral):
        friction[k, r - bilateral + rubbing] = reactions[r] / h
    for i in range(unilateral):
        number = names[blocks + i] & _LOW_BITS  # 2·coordinate + side (dynamics/rows.py)
        limits[0][at[2] + i, 0], limits[0][at[2] + i, 1] = number // np.uint64(2), number % np.uint64(2)
        limits[1][at[2] + i] = reactions[bilateral + i] / h
    keep_contacts(contacts, reactions, velocities, bilateral + unilateral, h, worst, at[1], touching)
    for r in range(len(low)):
        exact[at[3] + r, 0], exact[at[3] + r, 1] = reactions[r], low[r]


@njit(cache=True, error_model="numpy")
def keep_contacts(contacts, reactions, velocities, first, h, worst, row, out):
    """What contacts did in a step, from this row on: forces [N] and slips [m/s] in the world frame, of the second body
    against the first.  first: row of the problem; worst: velocity [m/s] that is as good as none."""
    bodies, point, frame, gap, mu, feature = contacts
    where, what, features = out
    for c in range(len(gap)):
        r, k = first + 3 * c, row + c
        n, t1, t2 = reactions[r] / h, reactions[r + 1] / h, reactions[r + 2] / h
        v1, v2 = velocities[r + 1], velocities[r + 2]
        for i in range(3):
            what[k, POINT + i] = point[c, i]
            what[k, NORMAL + i] = frame[c, 0, i]
            what[k, FORCE + i] = n * frame[c, 0, i] + t1 * frame[c, 1, i] + t2 * frame[c, 2, i]
            what[k, SLIDE + i] = v1 * frame[c, 1, i] + v2 * frame[c, 2, i]
        what[k, GAP], what[k, MU] = gap[c], mu[c]
        where[k, 0], where[k, 1] = bodies[c, 0], bodies[c, 1]
        at_edge = math.hypot(t1, t2) >= (1.0 - _EDGE) * mu[c] * n
        where[k, 2] = OPEN if n <= 0.0 else SLIP if at_edge and math.hypot(v1, v2) > worst else STICK
        features[k] = feature[c]
