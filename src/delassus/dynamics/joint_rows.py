"""Rows of the joints, and the coordinates they leave."""

import math

import numpy as np
from numba import njit

from delassus.dynamics.rows import JOINT, row_rate
from delassus.dynamics.turns import unwrap
from delassus.joints.primitives import evaluate_constraints, evaluate_coordinates, joint_frames
from delassus.spatial import matrices_of


@njit(cache=True, error_model="numpy")
def fill_joints(
    joints, freedoms, q, turns, elapsed, position, rotation, u, half, h, feedback, out, errors, coordinates
):
    """Rows as if all joints were hard, and the joint coordinates.

    joints, freedoms: `JointArrays.plain` and `.plain_coordinates`; q: (n_b, 7), turns: (n_d,) before the step;
    position, rotation: of bodies where rows are evaluated, each having moved for elapsed (n_b,) [s]; u, half: (n_b, 6)
    before the step and after the first half of its gyroscopic moment; feedback: `Stabilisation.joint`;
    out: bodies, names per joint; rows, bias per row; errors: residuals before the step and where rows are evaluated,
    what rows and velocities turned in between, per row; coordinates: values (n_d,), turns counted, rates (n_d, 12)
    where rows are evaluated and before the step."""
    bodies, local_origin, local_axes, length, start, primitive, base_axis, follower_axis = joints
    joint, kind, axis = freedoms[0], freedoms[1], freedoms[2]
    blocks, names, rows, bias = out
    residual, later, bend = errors
    values, rates, rates_before = coordinates
    n = len(bodies)
    origin, axes, centre = np.empty((n, 2, 3)), np.empty((n, 2, 3, 3)), np.empty((n, 2, 3))
    before, other, earlier = np.empty((len(residual), 12)), np.empty((len(q), 3, 3)), np.empty(len(values))
    # the joints' errors are taken before the step: a midpoint predicted along straight lines has errors of its own
    matrices_of(q[:, 3:], other)
    joint_frames(bodies, local_origin, local_axes, q[:, :3], other, origin, axes, centre)
    evaluate_constraints(
        start, primitive, base_axis, follower_axis, length, bodies, origin, axes, centre, residual, before
    )
    evaluate_coordinates(joint, kind, axis, bodies, origin, axes, centre, earlier, rates_before)
    for d in range(len(earlier)):
        earlier[d] += 2.0 * math.pi * turns[d]
    joint_frames(bodies, local_origin, local_axes, position, rotation, origin, axes, centre)
    evaluate_constraints(start, primitive, base_axis, follower_axis, length, bodies, origin, axes, centre, later, rows)
    evaluate_coordinates(joint, kind, axis, bodies, origin, axes, centre, values, rates)
    unwrap(joint, freedoms[3], bodies, earlier, rates, u, elapsed, values)
    for j in range(n):
        blocks[j, 0], blocks[j, 1], names[j] = bodies[j, 0], bodies[j, 1], JOINT + np.uint64(j)
        for r in range(start[j], start[j + 1]):
            # Velocities that obey the joints at the *end* of the step, half a step and half a gyroscopic moment beyond
            # those of the solve, differ from them by what rows and velocities turned since its start. Without this
            # term the projection onto the turned joints loses energy at first order: 0.56 J of a double pendulum's in
            # three seconds at h = 1 ms, instead of 0.0007 J.
            bend[r] = row_rate(bodies, j, rows, r, half) - row_rate(bodies, j, before, r, u)
            bias[r] = feedback * residual[r] / h + bend[r]
