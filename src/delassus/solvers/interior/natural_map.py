"""The natural map in scaled units: how a phase knows where it stands. What a solve is called is not decided here."""

import math

import numpy as np
from numba import njit

from delassus.cones.coulomb import project_coulomb
from delassus.linalg.iterative.conjugate_gradients import dot
from delassus.solvers.interior.standard import Standard

LARGE = 1e3  # reactions, in scaled units where those of a single contact are about one …
FAR_OFF = 1e-2  # … that do not go together with velocities that miss by this much of the rms of free ones
DROWNING = 1e12  # reactions against which velocities are lost in rounding: such a residual says nothing


def scaled_residual(standard: Standard, x: np.ndarray) -> tuple[float, float]:
    """With r = x − P_C(x − v), v = D x + q: ‖r‖ / max(‖q‖, ‖x‖), and the worst ‖r_k‖ as a velocity, over the rms of
    free ones."""
    v = standard.velocity(x)
    square, worst = _residual(standard.start, standard.joints, standard.limits, x, v, standard.speed)
    size = max(dot(standard.q, standard.q), dot(x, x))
    return math.sqrt(square / size) if size > 0.0 else math.sqrt(square), math.sqrt(worst)


def is_suspicious(standard: Standard, x: np.ndarray) -> bool:
    """Are these reactions very large while some velocity is still far off? Against them any residual is small, so such
    a point is not offered to the judge: it is on its way to a proof of infeasibility, or to a better point."""
    if np.abs(x).max(initial=0.0) < LARGE:
        return False
    return scaled_residual(standard, x)[1] > FAR_OFF


@njit(cache=True, error_model="numpy")
def _residual(start, joints, limits, x, v, speed):
    total, worst = 0.0, 0.0
    for k in range(len(start) - 1):
        i, part = start[k], 0.0
        if k < joints:
            for j in range(i, start[k + 1]):
                part += v[j] * v[j]
        elif k < joints + limits:
            part = (x[i] - max(0.0, x[i] - v[i])) ** 2
        else:
            a, b, c = project_coulomb(x[i] - v[i], x[i + 1] - v[i + 1], x[i + 2] - v[i + 2], 1.0)
            part = (x[i] - a) ** 2 + (x[i + 1] - b) ** 2 + (x[i + 2] - c) ** 2
        total += part
        worst = max(worst, part / speed[i] ** 2)
    return total, worst


@njit(cache=True, error_model="numpy")
def natural_map(limits, x, v, q, speed):
    """`scaled_residual` without bilateral rows, of x with velocity v."""
    total, worst, size, free = 0.0, 0.0, 0.0, 0.0
    for i in range(len(x)):
        size += x[i] * x[i]
        free += q[i] * q[i]
    for i in range(limits):
        part = (x[i] - max(0.0, x[i] - v[i])) ** 2
        total += part
        worst = max(worst, part / speed[i] ** 2)
    for i in range(limits, len(x), 3):
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
