"""Rows of motors, damping and prescribed motion."""

import numpy as np
from numba import njit

from delassus.dynamics.row import DRIVE, place, row_mobility, row_rate
from delassus.dynamics.spring import spring_row
from delassus.joints.arrays import IMPOSED, PD


@njit(cache=True, error_model="numpy")
def fill_drives(
    joint_bodies, freedoms, coordinates, rates, rates_before, target, target_rate, late, u, half, h, is_midpoint,
    rotation, masses, block, row, bodies, names, sizes, rows, bias, compliance,
):  # fmt: skip
    """Motors, damping and prescribed motion as bilateral rows; returns (next row, whether any is compliant).

    rates_before: at the start of the step; late: time from the one the targets are for to the one of the rows [s]; u,
    half: (n_b, 6) before the step and after the first half of its gyroscopic moment, between which and the velocities
    after the solve impulses work.
    Prescribed motion (000 eq. 3.21) is hard: v = v* + (q* − q)/h, all at the time of the rows. Under Moreau's midpoint
    both eigenvalues of what this does to errors are zero: after a jump the target is reached in two steps, without
    ringing, which solving q⁺ = q* for v⁺ would not do."""
    joint, _, _, _, _, _, damping, _, drive, stiffness, rate_gain = freedoms
    is_soft = False
    for d in range(len(joint)):
        k = stiffness[d] if drive[d] == PD else 0.0
        c = rate_gain[d] if drive[d] == PD else 0.0
        if drive[d] != IMPOSED and k + c + damping[d] <= 0.0:
            continue
        pair = joint_bodies[joint[d]]
        error = target[d] + late * target_rate[d] - coordinates[d]
        if drive[d] == IMPOSED:
            turned = row_rate(pair, rates[d], half) - row_rate(pair, rates_before[d], u)
            bias[row] = turned - (target_rate[d] + error / h)
        else:
            own, speed = row_mobility(pair, rates[d], rotation, masses), row_rate(pair, rates[d], half)
            bias[row], compliance[row] = spring_row(k, c, damping[d], error, target_rate[d], speed, own, h, is_midpoint)
            is_soft = True
        place(block, pair, DRIVE + np.uint64(d), 1, bodies, names, sizes)
        rows[row, :] = rates[d]
        block, row = block + 1, row + 1
    return row, is_soft
