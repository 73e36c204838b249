"""Rows of the joint limits that are near."""

import math

import numpy as np
from numba import njit

from delassus.dynamics.row import LIMIT, place, row_mobility, row_rate
from delassus.dynamics.soft_rows import soft_stop
from delassus.dynamics.stabilisation import limit_bias
from delassus.joints.arrays import IMPOSED
from delassus.softening import HARD, SPRING

_LIMIT_HORIZON = 4.0  # a limit enters the problem when it could be reached within this many steps at the present rate
_LIMIT_MARGIN = 1e-3  # … or is this near [m, rad]


@njit(cache=True, error_model="numpy")
def fill_limits(
    joint_bodies, freedoms, coordinates, rates, u, h, is_midpoint, stab, soft, masses, rotation, block, row, bodies,
    names, sizes, rows, bias, compliance,
):  # fmt: skip
    """Unilateral rows of the limits that are near (003 eq. 28–31); returns (next row, whether any is compliant)."""
    joint, _, _, _, lower, upper, _, _, drive, _, _, effort, bounce = freedoms
    is_soft = False
    for side in range(2):
        sign = 1.0 - 2.0 * side
        for d in range(len(joint)):
            bound = upper[d] if side else lower[d]
            if not math.isfinite(bound) or (drive[d] == IMPOSED and not math.isfinite(effort[d])):
                continue  # prescribed motion stops at limits by itself (fill_drives.py)
            pair = joint_bodies[joint[d]]
            speed = sign * row_rate(pair, rates[d], u)
            gap = sign * (coordinates[d] - bound)
            if gap > max(_LIMIT_MARGIN, -_LIMIT_HORIZON * h * speed):
                continue
            for k in range(12):
                rows[row, k] = sign * rates[d, k]
            # what is still open stays hard, but for springs: it may close within the step and no further
            if soft[d, 0] == SPRING or (soft[d, 0] != HARD and gap <= 0.0):
                own = row_mobility(pair, rows[row], rotation, masses)
                bias[row], compliance[row] = soft_stop(soft[d], gap, speed, own, h, is_midpoint)
                is_soft = True
            else:
                bias[row] = limit_bias(stab, gap, speed, bounce[d], h)
            place(block, pair, LIMIT + np.uint64(2 * d + side), 1, bodies, names, sizes)
            block, row = block + 1, row + 1
    return row, is_soft
