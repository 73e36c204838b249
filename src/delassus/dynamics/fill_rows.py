"""All rows of a step in one compiled call: joints, drives, dry friction of joints, limits, contacts, in this order.
Each kind is filled by the kernel in its own file (fill_joints.py, …).

A step of a small mechanism takes some ten microseconds here and took ten times that as array expressions.
"""

import numpy as np
from numba import njit

from delassus.dynamics.fill_contacts import fill_contacts
from delassus.dynamics.fill_drives import fill_drives
from delassus.dynamics.fill_friction import fill_friction
from delassus.dynamics.fill_joints import fill_joints
from delassus.dynamics.fill_limits import fill_limits
from delassus.dynamics.turns import nearest_rotations


@njit(cache=True, error_model="numpy")
def fill_rows(
    joints, freedoms, contacts, q, turns, elapsed, ahead, position, rotation, u, half, target, target_rate, late, h,
    stab, soft, masses, out,
):  # fmt: skip
    """Number of bilateral blocks, limits and rows; whether any row is compliant.

    joints, freedoms: `JointArrays.plain` and `.plain_coordinates`; contacts: bodies, shapes, point, frame, gap,
    restitution, feature, mu; q: (n_b, 7), turns: (n_d,) before the step; position, rotation: of bodies where rows are
    evaluated, a time ahead [s] after q, each body having moved for elapsed (n_b,) [s]; u, half: (n_b, 6) before the
    step and after the first half of its gyroscopic moment; late: time from the one the targets are for to the one of
    the rows [s]; stab: `plain` of the settings; soft: `Softness.plain`; masses: inverse masses and inertias (body
    frame);
    out: bodies, names, sizes per block; rows, bias, compliance, bound per row; mu per triple; residual; coordinates,
    rates, stopped."""
    bodies, names, sizes, rows, bias, compliance, bound, mu, residual, coordinates, rates, stopped = out
    joint_bodies, start = joints[0], joints[4]
    soft_joints, soft_limits, soft_shapes = soft
    compliance[:] = 0.0
    bound[:] = np.inf
    stopped[:] = False
    rates_before = np.empty(rates.shape)
    block, row, is_soft = len(joint_bodies), start[-1], False
    if block:
        is_soft = fill_joints(
            joints, freedoms, q, turns, elapsed, ahead, position, rotation, u, half, h, stab, soft_joints, masses,
            names, sizes, rows, bias, compliance, residual, coordinates, rates, rates_before,
        )  # fmt: skip
        for j in range(block):
            bodies[j, 0], bodies[j, 1] = joint_bodies[j, 0], joint_bodies[j, 1]
    first = row
    target = nearest_rotations(freedoms, coordinates, target)
    row, driven = fill_drives(joint_bodies, freedoms, coordinates, rates, rates_before, target, target_rate, late,
                              u, half, h, ahead > 0.0, stab, rotation, masses, block, row, bodies, names, sizes, rows,
                              bias, compliance, bound, stopped)  # fmt: skip
    block += row - first
    first = row
    row = fill_friction(joint_bodies, freedoms, rates, rates_before, u, half, h, rotation, masses, block, row, bodies,
                        names, sizes, rows, bias, compliance, bound)  # fmt: skip
    block, rubbing, first = block + row - first, row > first, row
    row, softened = fill_limits(joint_bodies, freedoms, coordinates, rates, u, h, ahead > 0.0, stab, soft_limits,
                                masses, rotation, block, row, bodies, names, sizes, rows, bias, compliance)  # fmt: skip
    limits = row - first
    bilateral = block
    block += limits
    gives = fill_contacts(contacts, position, rotation, u, h, ahead > 0.0, stab, soft_shapes, masses, block, row,
                          bodies, names, sizes, rows, bias, compliance, mu)  # fmt: skip
    triples = len(contacts[4])
    return bilateral, limits, row + 3 * triples, is_soft or driven or softened or gives or rubbing
