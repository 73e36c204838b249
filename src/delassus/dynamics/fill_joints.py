"""Rows of the joints, and the coordinates they leave."""

import math

import numpy as np
from numba import njit

from delassus.dynamics.row import JOINT, row_mobility, row_rate
from delassus.dynamics.soft_rows import soft_joint_row, soft_row
from delassus.dynamics.stabilisation import joint_bias
from delassus.dynamics.turns import unwrap
from delassus.joints.primitives import DOT, evaluate_constraints, evaluate_coordinates, joint_frames
from delassus.softening import HARD, SPRING
from delassus.spatial import matrices_of


@njit(cache=True, error_model="numpy")
def fill_joints(
    joints, freedoms, q, turns, elapsed, ahead, position, rotation, u, half, h, stab, soft, masses, names, sizes, rows,
    bias, compliance, residual, coordinates, rates, rates_before,
):  # fmt: skip
    """Bilateral rows of all joints at the given poses, and the coordinates with their rates that the rows of limits,
    drives and friction are made of. Everything from `names` on is written."""
    bodies, local_origin, local_axes, length, start, primitive, base_axis, follower_axis = joints
    n, m = len(bodies), start[-1]
    origin, axes, centre = np.empty((n, 2, 3)), np.empty((n, 2, 3, 3)), np.empty((n, 2, 3))
    before, other = np.empty((m, 12)), np.empty((len(q), 3, 3))
    # the joints' errors are taken before the step: a midpoint predicted along straight lines has errors of its own
    matrices_of(q[:, 3:], other)
    joint_frames(bodies, local_origin, local_axes, q[:, :3], other, origin, axes, centre)
    evaluate_constraints(
        start, primitive, base_axis, follower_axis, length, bodies, origin, axes, centre, residual, before
    )
    earlier = np.empty(len(coordinates))
    evaluate_coordinates(freedoms[0], freedoms[1], freedoms[2], bodies, origin, axes, centre, earlier, rates_before)
    for d in range(len(earlier)):
        earlier[d] += 2.0 * math.pi * turns[d]
    errors = np.empty(m)
    joint_frames(bodies, local_origin, local_axes, position, rotation, origin, axes, centre)
    evaluate_constraints(start, primitive, base_axis, follower_axis, length, bodies, origin, axes, centre, errors, rows)
    evaluate_coordinates(freedoms[0], freedoms[1], freedoms[2], bodies, origin, axes, centre, coordinates, rates)
    unwrap(freedoms, bodies, earlier, rates, u, elapsed, coordinates)
    is_soft = False
    for j in range(n):
        names[j], sizes[j] = JOINT + np.uint64(j), start[j + 1] - start[j]
        for r in range(start[j], start[j + 1]):
            # Velocities that obey the joints at the *end* of the step, half a step and half a gyroscopic moment beyond
            # those of the solve, differ from them by what rows and velocities turned since its start. Without this
            # term the projection onto the turned joints loses energy at first order: 0.56 J of a double pendulum's in
            # three seconds at h = 1 ms, instead of 0.0007 J.
            speed = row_rate(bodies[j], rows[r], half)
            bend = speed - row_rate(bodies[j], before[r], u)
            if soft[j, 0] == HARD:
                bias[r] = joint_bias(stab, residual[r], h) + bend
                continue
            is_soft = True
            own = row_mobility(bodies[j], rows[r], rotation, masses)
            if soft[j, 0] == SPRING:
                bias[r], compliance[r] = soft_joint_row(
                    soft[j], primitive[r] == DOT, errors[r], speed, own, h, ahead > 0.0
                )
            else:  # v⁻ at the start, v⁺ at the end, r between them: of second order, and the bend is no force
                bias[r], compliance[r] = soft_row(soft[j], errors[r], speed - bend, own, h, ahead > 0.0)
                bias[r] += bend
    return is_soft
