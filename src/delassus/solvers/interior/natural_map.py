"""The natural map in scaled units: how a phase knows where it stands. What a solve is called is not decided here."""

import math

import numpy as np
from numba import njit

from delassus.cones.coulomb import project_coulomb

LARGE = 1e3  # reactions, in scaled units where those of a single contact are about one …
FAR_OFF = 1e-2  # … that do not go together with velocities that miss by this much of the rms of free ones
_DROWNING = 1e12  # reactions against which velocities are lost in rounding: such a residual says nothing


def is_large(x: np.ndarray) -> bool:
    """Are these scaled reactions so large that the problem may have no solution?"""
    return bool(np.abs(x).max(initial=0.0) >= LARGE)


def is_suspicious(x: np.ndarray, worst: float) -> bool:
    """Are these reactions very large while some velocity is still far off? Against them any residual is small, so such
    a point is not offered to the judge: it is on its way to a proof of infeasibility, or to a better point.

    worst: the second number of the natural map."""
    size = np.abs(x).max(initial=0.0)
    return bool((size >= LARGE and worst > FAR_OFF) or size >= _DROWNING)


@njit(cache=True, error_model="numpy")
def natural_map(joint_start, limits, x, v, q, speed):
    """With r = x − P_C(x − v): (‖r‖ / max(‖q‖, ‖x‖), the worst ‖r_k‖ as a velocity, over the rms of free ones).

    joint_start: (joints + 1,) first row of each joint and of the cones behind them; v: D x + q, (m',)."""
    total, worst, size, free = 0.0, 0.0, 0.0, 0.0
    for i in range(len(x)):
        size += x[i] * x[i]
        free += q[i] * q[i]
    for k in range(len(joint_start) - 1):
        part = 0.0
        for i in range(joint_start[k], joint_start[k + 1]):
            part += v[i] * v[i]
        total += part
        worst = max(worst, part / speed[joint_start[k]] ** 2)
    first = joint_start[len(joint_start) - 1]
    for i in range(first, first + limits):
        part = (x[i] - max(0.0, x[i] - v[i])) ** 2
        total += part
        worst = max(worst, part / speed[i] ** 2)
    for i in range(first + limits, len(x), 3):
        a, b, c = project_coulomb(x[i] - v[i], x[i + 1] - v[i + 1], x[i + 2] - v[i + 2], 1.0)
        part = (x[i] - a) ** 2 + (x[i + 1] - b) ** 2 + (x[i + 2] - c) ** 2
        total += part
        worst = max(worst, part / speed[i] ** 2)
    size = max(size, free)
    return math.sqrt(total / size) if size > 0.0 else math.sqrt(total), math.sqrt(worst)


@njit(cache=True, error_model="numpy")
def project_standard(free, limits, x):
    """x ← P_C x in place; bilateral rows stay."""
    for i in range(free, free + limits):
        x[i] = max(0.0, x[i])
    for i in range(free + limits, len(x), 3):
        x[i], x[i + 1], x[i + 2] = project_coulomb(x[i], x[i + 1], x[i + 2], 1.0)
