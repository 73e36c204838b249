"""Rows of dry friction of joints: they hold still with at most so much effort."""

import numpy as np
from numba import njit

from delassus.dynamics.row import FRICTION, NEARLY_HARD, place, row_mobility, row_rate


@njit(cache=True, error_model="numpy")
def fill_friction(
    joint_bodies, freedoms, rates, rates_before, u, half, h, rotation, masses, block, row, bodies, names, sizes, rows,
    bias, compliance, bound,
):  # fmt: skip
    """Bilateral rows whose reactions are bounded (bounded.py); returns the next row.

    What sticks does not move at the *end* of the step: the rate there differs from that of the rows by what they turned
    since its start, as with the joints themselves. Without it friction that sticks works at first order."""
    joint, friction = freedoms[0], freedoms[7]
    for d in range(len(joint)):
        if friction[d] <= 0.0:
            continue
        pair = joint_bodies[joint[d]]
        rows[row, :] = rates[d]
        bias[row] = row_rate(pair, rates[d], half) - row_rate(pair, rates_before[d], u)
        bound[row] = h * friction[d]
        compliance[row] = NEARLY_HARD * row_mobility(pair, rates[d], rotation, masses)
        place(block, pair, FRICTION + np.uint64(d), 1, bodies, names, sizes)
        block, row = block + 1, row + 1
    return row
