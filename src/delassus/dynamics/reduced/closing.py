"""Poses and velocities that obey all joints: those of the forest by coordinates, loops by Newton's method over these.

What a joint forbids is dropped from the poses where it is as little as a step of a curved path leaves. Where it is
more, since bodies were pushed out of what they penetrate, say, the coordinates follow along the least change in the
mass metric, δ = H⁻¹SᵀM shift, as dynamics/closure.py closes joints without coordinates. Velocities do so always:
u⁺ = S H⁻¹ (SᵀM u + a ċ), a being armature and ċ the rates of the coordinates, and loops in the same metric.
"""

import math

import numpy as np

from delassus.dynamics.reduced.dense import factor_scaled
from delassus.dynamics.reduced.inertia import (
    factor,
    form_composites,
    form_masses,
    form_momenta,
    reduce_row,
    solve_plain,
    solve_transposed,
)
from delassus.dynamics.reduced.kinematics import (
    coordinate_rate,
    fill_shift,
    form_twists,
    move_coordinates,
    place,
    take_coordinates,
)
from delassus.dynamics.rows import row_mobility
from delassus.joints.data import JointRows
from delassus.joints.primitives import evaluate_constraints, joint_frames
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.linalg.factor.dense_inverse import null_rows, solve_columns
from delassus.spatial import matrices_of

_FAR = 1e-6
"""Shifts [m, rad] beyond which poses follow in the mass metric, as of dynamics/moving.py: below, nothing is pushed."""
_STEPS = 10  # Newton's over loops: one is enough but for near-singular mechanisms


@njit(cache=True, error_model="numpy", **ADDRESSED, **NO_REFCOUNT)
def close_reduced(tree, masses, loops, tol, q, u, room):
    """1 and poses q (n_b, 7), velocities u (n_b, 6), or (0, ·) where they are not wanted, that obey all joints, in
    place; 0 where loops do not close.

    masses: (n_b,), inertias (n_b, 3, 3), inverses of both, armature (n_v,); loops: `JointArrays.plain` of the joints
    that close them; tol: of their errors [m, rad]; room: `Room`, whose posture is the one that was found."""
    end = room.posture
    matrices_of(q, 3, end.rotation)
    take_coordinates(tree, q, end.rotation, end.coordinates)
    place(tree, end)
    if fill_shift(end, q, room.twists) > _FAR:
        if not _factor_masses(tree, masses, room):
            return np.int64(0)
        form_momenta(tree, (masses[0], masses[1]), end.rotation, end, room.twists, room.spatial, room.w)
        solve_transposed(tree.before, room.H, room.w)
        _follow(tree, room)
    if not _close_loops(tree, masses, loops, tol, room):
        return np.int64(0)
    if len(u) > 0:
        if not _factor_masses(tree, masses, room):
            return np.int64(0)
        _project(tree, masses, loops, u, room)
    _write(end.poses, q)
    return np.int64(1)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _factor_masses(tree, masses, room):
    """H with armature, factored, at the posture; False where it is not positive definite."""
    end, armature = room.posture, masses[4]
    form_composites(tree, masses[0], masses[1], end.rotation, end.poses, room.composite)
    form_masses(tree, end.S, room.composite, room.H)
    for k in range(len(armature)):
        room.H[k, k] += armature[k]
    return factor(tree.before, room.H)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _follow(tree, room):
    """Move by L⁻¹ w."""
    solve_plain(tree.before, room.H, room.w)
    move_coordinates(tree, room.w, 1.0, room.posture.coordinates)
    place(tree, room.posture)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _close_loops(tree, masses, loops, tol, room):
    """Loops closed at the posture, by Newton's method; False where they do not."""
    for _ in range(_STEPS if len(room.loops.error) > 0 else 0):
        worst = _evaluate(loops, room)
        if worst <= tol:
            return True
        if not math.isfinite(worst) or not _factor_masses(tree, masses, room):
            return False
        rank = _factor_rows(tree, masses, loops, room)
        for k in range(len(room.w)):
            room.w[k] = 0.0
        _correct(rank, room)
        _follow(tree, room)
    return len(room.loops.error) == 0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _project(tree, masses, loops, u, room):
    """Velocities u that obey the joints at the posture, whose masses are factored."""
    end, armature, own = room.posture, masses[4], room.loops
    form_momenta(tree, (masses[0], masses[1]), end.rotation, end, u, room.spatial, room.w)
    for k in range(len(armature)):
        if armature[k] > 0.0:
            room.w[k] += armature[k] * coordinate_rate(tree, end, k, u)
    solve_transposed(tree.before, room.H, room.w)
    if len(own.error) > 0:
        rank = _factor_rows(tree, masses, loops, room)
        for i in range(len(own.error)):
            own.error[i] = 0.0
            for k in range(len(room.w)):
                own.error[i] += own.Y[i, k] * room.w[k]
        _correct(rank, room)
    solve_plain(tree.before, room.H, room.w)
    form_twists(tree, end, room.w, room.spatial, u)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _evaluate(loops, room):
    """Errors and rows of the loops at the posture; the worst error."""
    of, end, own, worst = JointRows(*loops), room.posture, room.loops, 0.0
    frames = (own.origin, own.axes, own.centre)
    joint_frames(of.bodies, of.origin, of.axes, end.poses, end.rotation, frames)
    evaluate_constraints(of, frames, own.error, own.rows)
    for error in own.error:
        worst = abs(error) if not abs(error) <= worst else worst  # NaN, too
    return worst


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _factor_rows(tree, masses, loops, room):
    """Y = L⁻ᵀ Sᵀ rowsᵀ of the loops and the factor of Y Yᵀ; returns its rank."""
    own, end, of = room.loops, room.posture, JointRows(*loops)
    bodies, start, bodies_at = of.bodies, of.start, (end.rotation, masses[2], masses[3])
    for j in range(len(bodies)):
        for i in range(start[j], start[j + 1]):
            for k in range(len(room.w)):
                own.Y[i, k] = 0.0
            reduce_row(tree, end, bodies[j], own.rows[i], own.Y[i])
            solve_transposed(tree.before, room.H, own.Y[i])
            own.scale[i] = 1.0 / math.sqrt(row_mobility(bodies, j, own.rows, i, bodies_at))
    for i in range(len(own.Y)):
        for j in range(i + 1):
            g = 0.0
            for k in range(len(room.w)):
                g += own.Y[i, k] * own.Y[j, k]
            own.D[i, j] = g
    rank = factor_scaled(own.D, own.scale, own.order, own.y[:, 0], own.D)
    null_rows(own.D, rank, own.null[: len(own.Y) - rank])
    return rank


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _correct(rank, room):
    """w −= Yᵀ (Y Yᵀ)⁻¹ error."""
    own = room.loops
    for i in range(len(own.Y)):
        own.y[i, 0] = own.scale[own.order[i]] * own.error[own.order[i]]
    solve_columns(own.D, rank, own.null[: len(own.Y) - rank], own.y)
    for i in range(len(own.Y)):
        a = own.order[i]
        g = own.scale[a] * own.y[i, 0]
        for k in range(len(room.w)):
            room.w[k] -= g * own.Y[a, k]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _write(poses, q):
    """Poses into q, quaternions with the signs that they had there."""
    for b in range(len(q)):
        along = 0.0
        for i in range(3, 7):
            along += q[b, i] * poses[b, i]
        for i in range(7):
            q[b, i] = -poses[b, i] if i >= 3 and along < 0.0 else poses[b, i]
