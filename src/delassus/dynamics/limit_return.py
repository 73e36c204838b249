"""Overshoot of joint limits removed by moving bodies, not by speeding them up, as penetration is (separation.py).

A limit that is passed in the first half of a step, or by a body that was hit in it, is overshot before any row can act.
Pushed back through the velocities, a slider that met a limit without restitution came back at 1 m/s, and one that
bounced had 10 % more energy. What was within its limits when the step began ends within them; what was beyond comes
back at the bounded rate of `Stabilisation`.
"""

import math

import numpy as np
from numba import njit

from delassus.dynamics.closure import MOST_ROWS
from delassus.dynamics.rows import Rows, row_rate
from delassus.dynamics.softness import Softness
from delassus.dynamics.stabilisation import Stabilisation
from delassus.integrators.motion import moved
from delassus.joints.arrays import IMPOSED
from delassus.linalg.operators.rigid import RigidDelassus
from delassus.model.model import Model
from delassus.softening import HARD
from delassus.spatial import quaternion_to_matrix

_SMALL = 1e-6  # [m, rad]: overshoots below are left to velocities, which they do not disturb
_REDUNDANT = 1e-10  # singular values below this fraction of the largest belong to redundant rows


def return_to_limits(
    model: Model, q: np.ndarray, before: np.ndarray, u: np.ndarray, elapsed: np.ndarray, h: float, rows: Rows,
    settings: Stabilisation, softness: Softness,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Poses (n_b, 7) within the limits, to first order, and coordinates (n_d,) to count turns from.

    q: poses at the end; before, u: (n_b, 6) velocities before and after; elapsed: (n_b,) time to where rows are
    evaluated [s]."""
    joints = model.joints
    if settings.through_velocities or not joints.limit_count or softness.closed.row_count > MOST_ROWS:
        return q, rows.coordinates
    lack = np.zeros(joints.coordinate_count)
    hard = softness.limits[:, 0] == HARD
    if not _lacks(
        joints.bodies, joints.plain_coordinates, hard, rows.coordinates, rows.rates, before, u, elapsed, h,
        settings.plain, lack,
    ):  # fmt: skip
        return q, rows.coordinates
    out = np.flatnonzero(lack)
    held, wanted = softness.closed, lack[out]
    residual, joint_rows = held.constraints(held.frames(q[:, :3], quaternion_to_matrix(q[:, 3:])))
    bodies = np.concatenate([held.bodies, joints.bodies[joints.coordinate_joint[out]]])
    start = np.concatenate([held.row_start, held.row_start[-1] + 1 + np.arange(len(out))])
    mass, inverse = model.mass_blocks(quaternion_to_matrix(q[:, 3:]))
    operator = RigidDelassus(mass, bodies, np.concatenate([joint_rows, rows.rates[out]]), start, mass_inverse=inverse)
    scale = 1.0 / np.sqrt(np.maximum(operator.diagonal, np.finfo(float).tiny))
    D = scale[:, None] * operator.dense() * scale
    push = scale * (np.linalg.pinv(D, rcond=_REDUNDANT) @ (scale * np.concatenate([-residual, wanted])))
    move = operator.body_velocity(push).reshape(-1, 6)
    way = np.array([row_rate(joints.bodies, j, rows.rates, d, move) for d, j in enumerate(joints.coordinate_joint)])
    return moved(q, move, 1.0), rows.coordinates + way


@njit(cache=True, error_model="numpy")
def _lacks(bodies, freedoms, hard, coordinates, rates, before, u, elapsed, h, plain, lack):
    """What each coordinate lacks to where it should be, into `lack`; returns whether any does.  plain: of
    Stabilisation."""
    joint, _, _, _, lower, upper, _, _, drive, _, _, effort, _ = freedoms
    lacks = False
    for d in range(len(lack)):
        if not hard[d] or (drive[d] == IMPOSED and not math.isfinite(effort[d])):
            continue  # prescribed motion stops at limits by itself (coordinate_rows.py)
        began = ends = coordinates[d]
        for side in range(2):
            b = bodies[joint[d], side]
            if b >= 0:
                for k in range(6):
                    began -= elapsed[b] * rates[d, 6 * side + k] * before[b, k]
                    ends += (h - elapsed[b]) * rates[d, 6 * side + k] * u[b, k]
        for sign, bound in ((1.0, upper[d]), (-1.0, lower[d])):
            over = max(sign * (began - bound), 0.0)  # zero where there is no limit
            more = sign * (ends - bound) - (over - min(plain[1] * over, plain[4] * h))
            if more > _SMALL:
                lack[d], lacks = -sign * more, True
    return lacks
