"""Rows of the contacts."""

import numpy as np
from numba import njit

from delassus.dynamics.row import CONTACT, place, row_mobility, row_rate
from delassus.dynamics.soft_rows import mix, soft_stop
from delassus.dynamics.stabilisation import contact_bias, weight_along
from delassus.joints.primitives import line
from delassus.softening import IMPEDANCE, SPRING, WIDTH


@njit(cache=True, error_model="numpy")
def fill_contacts(
    contacts, position, rotation, u, h, is_midpoint, stab, soft, masses, block, row, bodies, names, sizes, rows, bias,
    compliance, mu,
):  # fmt: skip
    """Triples (n, t₁, t₂) of the contacts; returns whether any is compliant."""
    pairs, shapes, point, frame, gap, restitution, feature, friction = contacts
    zero, own_soft = np.zeros(3), np.zeros(WIDTH)
    is_soft = False
    for c in range(len(gap)):
        a, b = pairs[c, 0], pairs[c, 1]
        ca = position[a] if a >= 0 else zero
        cb = position[b] if b >= 0 else zero
        mix(soft[shapes[c, 0]], soft[shapes[c, 1]], own_soft)
        is_spring = own_soft[0] == SPRING
        gives = own_soft[0] == IMPEDANCE and gap[c] <= 0.0  # what is still open may close within the step, no further
        for i in range(3):
            r = rows[row + i]
            line(frame[c, i, 0], frame[c, i, 1], frame[c, i, 2], point[c], ca, point[c], cb, r)
            for k in range(6):
                r[k] = r[k] if a >= 0 else 0.0
                r[6 + k] = r[6 + k] if b >= 0 else 0.0
            bias[row + i] = 0.0
            if gives or (is_spring and i == 0):
                own, depth = row_mobility(pairs[c], r, rotation, masses), gap[c] if i == 0 else 0.0
                bias[row + i], compliance[row + i] = soft_stop(
                    own_soft, depth, row_rate(pairs[c], r, u), own, h, is_midpoint
                )
                is_soft = True
        if not gives and not is_spring:
            speed = row_rate(pairs[c], rows[row], u)
            before, after = 0.0, 0.0
            if restitution[c] > 0.0 and speed < -stab[5]:  # what rests does not bounce because it would fall
                weight = weight_along(stab, pairs[c], rows[row])
                before, after = stab[10] * weight, stab[11] * weight
            bias[row] = contact_bias(stab, gap[c], speed, restitution[c], h, h, before, after)
        mu[c] = friction[c]
        # shape numbers in a feature id leave its top bits free
        place(block, pairs[c], CONTACT + feature[c], 3, bodies, names, sizes)
        block, row = block + 1, row + 3
    return is_soft
