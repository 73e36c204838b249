"""One row of a step: its name, rate and mobility."""

import numpy as np
from numba import njit

# The top bits say what kind of thing a block's name belongs to, so that no two kinds share one.
JOINT, DRIVE, LIMIT, CONTACT, FRICTION = (np.uint64(k << 61) for k in range(5))

NEARLY_HARD = (
    1e-9  # compliance, in mobilities, of rows that are hard up to a bound: two of them may contradict each other
)


@njit(cache=True, error_model="numpy")
def place(block, pair, name, size, bodies, names, sizes):
    """Enter a block of rows: its two bodies, its name and the number of its rows."""
    bodies[block, 0], bodies[block, 1] = pair[0], pair[1]
    names[block], sizes[block] = name, size


@njit(cache=True, error_model="numpy")
def row_rate(pair, row, u):
    """row · (u_a, u_b).  pair: (2,), row: (12,), u: (n_b, 6)."""
    value = 0.0
    for side in range(2):
        b = pair[side]
        if b >= 0:
            for k in range(6):
                value += row[6 * side + k] * u[b, k]
    return value


@njit(cache=True, error_model="numpy")
def row_mobility(pair, row, rotation, masses):
    """row H⁻¹ rowᵀ [1/kg].  masses: inverse masses (n_b,) and inverse inertias (n_b, 3, 3) in the bodies' frames."""
    inverse_mass, inverse_inertia = masses
    value = 0.0
    for side in range(2):
        b = pair[side]
        if b < 0:
            continue
        for k in range(3):
            value += row[6 * side + k] ** 2 * inverse_mass[b]
            local, other = 0.0, 0.0  # component k of the row's moment, and of Θ⁻¹ times it, in the body's frame
            for m in range(3):
                local += rotation[b, m, k] * row[6 * side + 3 + m]
                for a in range(3):
                    other += inverse_inertia[b, k, a] * rotation[b, m, a] * row[6 * side + 3 + m]
            value += local * other
    return value
