"""From rows to the one-step problem: masses and free velocity at the configuration of the rows."""

import math

import numpy as np
from numba import njit

from delassus.dynamics.bounded import Held
from delassus.dynamics.forces import fill_free_velocity
from delassus.dynamics.inputs import Inputs
from delassus.dynamics.rows import Rows
from delassus.law import Law
from delassus.linalg.dense_product import max_abs
from delassus.linalg.operators.rigid import RigidDelassus, form_response, multiply_rows
from delassus.model.model import Model, form_mass_blocks
from delassus.problem import Problem

_NONE, _NO_IMPULSE = np.zeros(0, np.int64), np.zeros(0)


def reduce(
    model: Model,
    rotation: np.ndarray,
    u: np.ndarray,
    rows: Rows,
    inputs: Inputs,
    h: float,
    law: Law,
    held: Held | None = None,
) -> Problem:
    """The one-step problem of these rows.  rotation: (n_b, 3, 3) for the masses; u: (n_b, 6) before the impulses: half
    of the gyroscopic moment has acted, the other half is due after the solve (`forces.swung`). held: bounded rows
    that are at their bounds: their impulses act in the free velocity, and what is left of the rows only says so. What
    falls in one step, h g, is the least speed that errors are compared with.

    Not through `Problem.rigid`: the model was checked when it was built, and checking again would cost as much as the
    step."""
    n, m = model.body_count, len(rows.rows)
    start = rows.cone.block_start
    mass, inverse = np.zeros((n, 6, 6)), np.zeros((n, 6, 6))
    u_f, free, response, bias = np.empty((n, 6)), np.empty(m), np.empty((m, 12)), rows.bias.copy()
    acting, compliance, index, impulse = rows.rows, rows.compliance, _NONE, _NO_IMPULSE
    if held is not None and held.side.any():
        acting, index, impulse = rows.rows.copy(), held.index, held.side * held.bound
        compliance = np.zeros(m) if compliance is None else compliance.copy()
    _reduce(
        model.mass, model.inertia, model.inverse_inertia, model.gravity, rotation, u, inputs.wrench, inputs.effort,
        model.joints.bodies, model.joints.coordinate_joint, rows.rates, h, rows.bodies, start, acting, bias,
        mass, inverse, u_f, response, free, index, impulse,
        _NO_IMPULSE if compliance is None else compliance,
    )  # fmt: skip
    delassus = RigidDelassus(mass, rows.bodies, acting, start, compliance, inverse, response)
    fall = h * math.sqrt(float(model.gravity @ model.gravity))
    return Problem(delassus, free, rows.cone, law, u_f=u_f.ravel(), bias=bias, rest_speed=fall)


@njit(cache=True, error_model="numpy")
def _hold(index, impulse, bodies, start, rows, response, bias, compliance, u_f):
    """Rows with a known impulse [N s] move the free velocity and say no more than E λ + b = 0, which has that λ."""
    block = 0
    for k in range(len(index)):
        i = index[k]
        while start[block + 1] <= i:
            block += 1
        if impulse[k] == 0.0:
            continue
        own = 0.0
        for side in range(2):
            b = bodies[block, side]
            for a in range(6 * side, 6 * side + 6):
                own += rows[i, a] * response[i, a]
                if b >= 0:
                    u_f[b, a - 6 * side] += impulse[k] * response[i, a]
                rows[i, a] = response[i, a] = 0.0
        compliance[i] = own if own > 0.0 else 1.0
        bias[i] = -compliance[i] * impulse[k]


@njit(cache=True, error_model="numpy")
def _reduce(
    body_mass, inertia, inverse_inertia, gravity, rotation, u, wrench, effort, joint_bodies, coordinate_joint, rates, h,
    bodies, start, rows, bias, mass, inverse, u_f, response, free, index, impulse, compliance,
):  # fmt: skip
    form_mass_blocks(body_mass, inertia, inverse_inertia, rotation, mass, inverse)
    force = wrench
    if max_abs(effort) > 0.0:
        force = wrench.copy()
        for d in range(len(effort)):
            for side in range(2):
                b = joint_bodies[coordinate_joint[d], side]
                if b >= 0:
                    for k in range(6):
                        force[b, k] += effort[d] * rates[d, 6 * side + k]
    fill_free_velocity(inverse, gravity, u, force, h, u_f)
    form_response(inverse, bodies, start, rows, response)
    if len(index):
        _hold(index, impulse, bodies, start, rows, response, bias, compliance, u_f)
    multiply_rows(bodies, start, rows, u_f.reshape(-1), free)
    for i in range(len(free)):
        free[i] += bias[i]
