"""Rows of motors, damping and prescribed motion."""

import numpy as np
from numba import njit

from delassus.dynamics.row import DRIVE, place
from delassus.joints.arrays import IMPOSED, PD


@njit(cache=True, error_model="numpy")
def fill_drives(
    joint_bodies, freedoms, coordinates, rates, target, target_rate, h, block, row, bodies, names, sizes, rows, bias,
    compliance,
):  # fmt: skip
    """Motors, damping and prescribed motion as bilateral rows; returns (next row, whether any is compliant).

    Implicit PD: τ = k (q* − q − h v) + c (v* − v) − d v makes v + E λ + b = 0 with λ = h τ, g = c + d + h k,
    E = 1/(h g) and b = −(k (q* − q) + c v*)/g. Prescribed motion (000 eq. 3.21): v = v* + (q* − q)/h, hard."""
    joint, _, _, _, _, _, damping, _, drive, stiffness, rate_gain = freedoms
    is_soft = False
    for d in range(len(joint)):
        k = stiffness[d] if drive[d] == PD else 0.0
        c = rate_gain[d] if drive[d] == PD else 0.0
        g = c + damping[d] + h * k
        if drive[d] != IMPOSED and g <= 0.0:
            continue
        error = target[d] - coordinates[d]
        if drive[d] == IMPOSED:
            bias[row] = -(target_rate[d] + error / h)
        else:
            bias[row], compliance[row] = -(k * error + c * target_rate[d]) / g, 1.0 / (h * g)
            is_soft = True
        place(block, joint_bodies[joint[d]], DRIVE + np.uint64(d), 1, bodies, names, sizes)
        rows[row, :] = rates[d]
        block, row = block + 1, row + 1
    return row, is_soft
