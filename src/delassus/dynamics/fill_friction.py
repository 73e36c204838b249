"""Rows of dry friction of joints."""

import numpy as np
from numba import njit

from delassus.dynamics.row import FRICTION, place, row_mobility


@njit(cache=True, error_model="numpy")
def fill_friction(
    joint_bodies, freedoms, rates, h, rotation, masses, block, row, bodies, names, sizes, rows, bias, compliance, mu, at
):
    """Triples for dry friction of joint coordinates, friction coefficient one; returns their number."""
    joint, friction = freedoms[0], freedoms[7]
    count = 0
    for d in range(len(joint)):
        if friction[d] <= 0.0:
            continue
        pair = joint_bodies[joint[d]]
        own = row_mobility(pair, rates[d], rotation, masses)
        rows[row : row + 3, :] = 0.0
        rows[row + 1, :] = rates[d]
        bias[row], bias[row + 1], bias[row + 2] = -own * h * friction[d], 0.0, 0.0
        compliance[row] = compliance[row + 2] = own
        mu[at + count] = 1.0
        place(block, pair, FRICTION + np.uint64(d), 3, bodies, names, sizes)
        block, row, count = block + 1, row + 3, count + 1
    return count
