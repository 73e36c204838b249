"""The problem of a step in joint coordinates.

Joint rows say that J_t u + b_t = 0 where they are evaluated. For a state that obeys its joints b_t is J_t times `half`,
the velocities after half of the gyroscopic moment (dynamics/joint_rows.py), so that u = S w − half obeys them for every
w, and what is left of M u = M u_f + Jᵀλ is

    H w = SᵀM (u_f + half) + Yᵀλ,    Y = J S,    H = SᵀMS
    v = Y w + E λ + r,               r = v_f − J (u_f + half)

for the other rows. A row with compliance E along coordinates of one joint (motors, springs, dampers, armature) says
λ = −(y w + r)/E: it goes into H and p, and is not solved for. D = Y H⁻¹ Yᵀ + E of the others is small and dense.

What comes out are reactions and velocities of the problem that was posed, all rows included, and the judge sees that:
were the state off its joints, the rows of the forest would say so.
"""

from typing import NamedTuple

import numpy as np

from delassus.dynamics.reduced.dense import solve_dense
from delassus.dynamics.reduced.inertia import (
    factor,
    form_composites,
    form_masses,
    form_momenta,
    reduce_row,
    solve_plain,
    solve_transposed,
)
from delassus.dynamics.reduced.kinematics import form_twists
from delassus.dynamics.reduced.reactions import ABSORBED, OF_TREE, SOLVED, recover
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.linalg.operators.rigid import row_times
from delassus.linalg.operators.rigid_data import RigidData
from delassus.problem.data import ProblemData
from delassus.residuals import RESIDUAL_COUNT
from delassus.solvers.parts.at_once import MOST_JUDGEMENTS, finish_rigid

_HARD = 1e-5
"""Compliance, in mobilities of a coordinate, below which a row is solved for: 1/E beside H would cost digits."""


class Free(NamedTuple):
    """u_f: (6 n_b,) velocities without reactions; half: (6 n_b,) after half of the gyroscopic moment; v_f: (m,)."""

    u_f: np.ndarray
    half: np.ndarray
    v_f: np.ndarray


@njit(cache=True, error_model="numpy", **ADDRESSED)
def solve_reduced(tree, masses, rigid, free, judged_by, asked, out, room):
    """How many judgements were made: one, or none where it cannot be solved so. Converged is what `found` says is
    within the tolerances.

    masses: (n_b,), inertias (n_b, 3, 3) and the rotations (n_b, 3, 3) that they have; rigid: `RigidDelassus.plain`;
    free: `Free`; judged_by: `ProblemData`; asked: `Asked`; out: reactions (m,), a guess that is overwritten, and found,
    of an `Attempt`, written; room: `Room`, its posture where the rows were evaluated."""
    free, data, rows = Free(*free), ProblemData(*judged_by), RigidData(*rigid)
    reactions, found = out
    m, n_v = len(free.v_f), len(tree.before)
    fate, left, Y, index = np.empty(m, np.int64), np.empty(m), np.empty((m, n_v)), np.empty(m, np.int64)
    _pose(tree, masses, free, room)
    _sort(tree, rows, data, free.v_f, fate, left, room)
    if not factor(tree.before, room.H):
        return np.int64(0)
    solve_transposed(tree.before, room.H, room.p)
    count = _form_rows(tree, rows, fate, index, Y, room)
    iterations = 0.0
    if count > 0:
        D, speed, own = np.empty((count, count)), np.empty(count), np.empty(count)
        _form_system(rows, index[:count], left, Y, room.p, (D, speed))
        for a in range(count):
            own[a] = reactions[index[a]]
        iterations = solve_dense(D, speed, own, rows, data, index[:count], asked)
        if iterations < 0.0:
            return np.int64(0)
        for a in range(count):
            reactions[index[a]] = own[a]
            for d in range(n_v):
                room.p[d] += Y[a, d] * own[a]
    solve_plain(tree.before, room.H, room.p)
    _finish(tree, masses, rows, free, fate, left, reactions, room)
    finish_rigid(rigid, free.v_f, free.u_f, reactions, judged_by, found)
    at = len(found) - 3 * MOST_JUDGEMENTS
    found[at] = iterations
    found[at + MOST_JUDGEMENTS], found[at + 2 * MOST_JUDGEMENTS] = found[0], found[RESIDUAL_COUNT - 1]
    return np.int64(1)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _pose(tree, masses, free, room):
    """H and p = SᵀM (u_f + half); u_f + half itself into room.twists."""
    mass, inertia, rotation = masses
    form_composites(tree, mass, inertia, rotation, room.posture.poses, room.composite)
    form_masses(tree, room.posture.S, room.composite, room.H)
    for b in range(len(mass)):
        for i in range(6):
            room.twists[b, i] = free.u_f[6 * b + i] + free.half[6 * b + i]
    form_momenta(tree, (mass, inertia), rotation, room.posture, room.twists, room.spatial, room.p)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _sort(tree, rows, data, v_f, fate, left, room):
    """What becomes of each row, and r of those that are not of the forest; absorbed ones go into H and p."""
    flat = room.twists.reshape(-1)
    for k in range(len(rows.bodies)):
        first, end = rows.block_start[k], rows.block_start[k + 1]
        for i in range(first, end):
            if k < len(tree.holds) and tree.holds[k]:
                fate[i] = OF_TREE
                continue
            fate[i] = SOLVED
            left[i] = v_f[i] - row_times(rows.bodies[k, 0], rows.bodies[k, 1], rows.rows, i, flat)
        is_single = end == first + 1 and k < data.joint_count and fate[first] == SOLVED
        if is_single and len(rows.compliance) > 0 and _absorb(tree, rows, k, left[first], room):
            fate[first] = ABSORBED


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _absorb(tree, rows, k, left, room):
    """Add a compliant row along coordinates of one joint to H and p; was it one?"""
    i = rows.block_start[k]
    soft, a, b = rows.compliance[i], rows.bodies[k, 0], rows.bodies[k, 1]
    if soft <= 0.0 or b < 0 or tree.base[b] != a:
        return False
    y, first = room.w, tree.first[b]
    end = first + tree.freedoms[b]
    for d in range(len(y)):
        y[d] = 0.0
    reduce_row(tree, room.posture, rows.bodies[k], rows.rows[i], y)
    for d in range(first, end):
        if soft * room.H[d, d] < _HARD * y[d] * y[d]:
            return False
    for d in range(first, end):
        room.p[d] -= y[d] * left / soft
        for e in range(first, d + 1):
            room.H[d, e] += y[d] * y[e] / soft
    return True


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _form_rows(tree, rows, fate, index, Y, room):
    """Y L⁻¹ of the rows that are solved for, and which they are; how many."""
    count = 0
    for k in range(len(rows.bodies)):
        for i in range(rows.block_start[k], rows.block_start[k + 1]):
            if fate[i] == SOLVED:
                for d in range(Y.shape[1]):
                    Y[count, d] = 0.0
                reduce_row(tree, room.posture, rows.bodies[k], rows.rows[i], Y[count])
                solve_transposed(tree.before, room.H, Y[count])
                index[count] = i
                count += 1
    return count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _form_system(rows, index, left, Y, p, out):
    """D = Y H⁻¹ Yᵀ + E, and v without reactions, into `out`."""
    D, speed = out
    for a in range(len(index)):
        for b in range(a + 1):
            g = 0.0
            for d in range(Y.shape[1]):
                g += Y[a, d] * Y[b, d]
            D[a, b] = D[b, a] = g
        i = index[a]
        if len(rows.compliance) > 0:
            D[a, a] += rows.compliance[i]
        speed[a] = left[i]
        for d in range(Y.shape[1]):
            speed[a] += Y[a, d] * p[d]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _finish(tree, masses, rows, free, fate, left, reactions, room):
    """Reactions of absorbed rows and of the forest's joints, with room.p the velocities of the coordinates."""
    for k in range(len(rows.bodies)):
        i = rows.block_start[k]
        if rows.block_start[k + 1] == i + 1 and fate[i] == ABSORBED:
            for d in range(len(room.w)):
                room.w[d] = 0.0
            reduce_row(tree, room.posture, rows.bodies[k], rows.rows[i], room.w)
            speed, b = left[i], rows.bodies[k, 1]
            for d in range(tree.first[b], tree.first[b] + tree.freedoms[b]):
                speed += room.w[d] * room.p[d]
            reactions[i] = -speed / rows.compliance[i]
    form_twists(tree, room.posture, room.p, room.spatial, room.twists)
    for b in range(len(room.twists)):
        for i in range(6):  # S w − half − u_f
            room.twists[b, i] -= free.half[6 * b + i] + free.u_f[6 * b + i]
    recover(tree, masses, rows, room.twists, fate, reactions, room)
