"""All rows of a step: joints, drives, dry friction of joints, limits, contacts, in this order.

Each kind is filled by one compiled call, and only kinds that are there are called, so that only their kernels are
compiled. What gives is softened afterwards (softness.py).
"""

import numpy as np
from numba import njit

from delassus.collision import Contacts
from delassus.cones import ProductCone
from delassus.dynamics.inputs import Inputs
from delassus.dynamics.joint_rows import fill_coordinates, fill_joints
from delassus.dynamics.rows import CONTACT, Rows, row_rate
from delassus.dynamics.softness import Softness, soften_contacts, soften_joints
from delassus.dynamics.stabilisation import Stabilisation, contact_bias, weight_along
from delassus.model.model import Model
from delassus.model.state import State


def assemble(
    model: Model, position: np.ndarray, rotation: np.ndarray, state: State, contacts: Contacts, h: float,
    inputs: Inputs, stabilisation: Stabilisation, softness: Softness, half: np.ndarray, ahead: float,
    elapsed: np.ndarray,
) -> Rows:  # fmt: skip
    """All rows at the given configuration.  position: (n_b, 3), rotation: (n_b, 3, 3) where rows are evaluated, a
    time ahead [s] after the state, where the joints' errors are taken; half: (n_b, 6) velocities after the first half
    of the step's gyroscopic moment; elapsed: (n_b,) how long each body moved to get there [s], less than ahead where
    it met something."""
    softness.check_step(h)
    pushing = stabilisation.pushing(model.gravity, h, ahead)
    joints, u, masses = model.joints, state.u, (model.inverse_mass, model.inverse_inertia)
    free, row, block = joints.coordinate_count, joints.row_count, joints.count
    most_single = joints.drive_count + joints.friction_count + joints.limit_count
    triples = len(contacts.gap)
    most_blocks, most_rows = block + most_single + triples, row + most_single + 3 * triples
    bodies, names = np.empty((most_blocks, 2), np.int64), np.empty(most_blocks, np.uint64)
    rows, bias, compliance = np.empty((most_rows, 12)), np.empty(most_rows), np.zeros(most_rows)
    residual, coordinates, rates = np.empty(row), np.empty(free), np.empty((free, 12))
    stopped, bound = np.zeros(free, np.bool_), None
    bilateral, limits, is_soft, midpoint = block, 0, False, ahead > 0.0
    if block:
        errors, bend, rates_before = np.empty(row), np.empty(row), np.empty((free, 12))
        fill_joints(
            joints.plain, joints.plain_coordinates, state.q, joints.turns_of(state.turns), elapsed, position, rotation,
            u, half, h, pushing[0], (bodies, names, rows, bias), (residual, errors, bend),
            (coordinates, rates, rates_before),
        )  # fmt: skip
        if softness.hard_rows is not None:
            soften_joints(
                joints.plain, softness.joints, rows, errors, bend, half, rotation, masses, h, midpoint, bias, compliance
            )
            is_soft = True
    if most_single:
        bound = np.full(most_rows, np.inf)
        late = ahead if inputs.time is None else state.t + ahead - inputs.time
        bilateral, limits, gives = fill_coordinates(
            joints.bodies, joints.plain_coordinates, (coordinates, rates, rates_before, inputs.target,
            inputs.target_rate, late), u, half, h, midpoint, pushing, softness.limits, rotation, masses, block, row,
            (bodies, names, rows, bias, compliance, bound), stopped,
        )  # fmt: skip
        is_soft = is_soft or gives
        row += bilateral - block + limits
    block = bilateral + limits
    if triples:
        touching = (contacts.bodies, contacts.point, contacts.frame, contacts.gap, contacts.restitution)
        fill_contacts(touching, contacts.feature, position, u, h, pushing, block, row, (bodies, names, rows, bias))
        if softness.is_any_shape_soft:
            gives = soften_contacts(
                contacts.bodies, contacts.shapes, contacts.gap, softness.shapes, rows, u, rotation, masses, h,
                midpoint, row, bias, compliance,
            )  # fmt: skip
            is_soft = is_soft or gives
    count, blocks = row + 3 * triples, block + triples
    sizes = joints.row_sizes
    if bilateral > joints.count:
        sizes = np.ones(bilateral, np.int64)
        sizes[: joints.count] = joints.row_sizes
    cone = ProductCone.trusted(sizes, limits, contacts.mu)
    return Rows(
        bodies[:blocks], rows[:count], bias[:count], compliance[:count] if is_soft else None, cone, names[:blocks],
        residual, contacts, coordinates, rates,
        bound[:count] if bound is not None and is_soft and joints.is_bounded else None, stopped, joints.friction_count,
    )  # fmt: skip


@njit(cache=True, error_model="numpy")
def fill_contacts(contacts, feature, position, u, h, stab, block, row, out):
    """Triples (n, t₁, t₂) of the contacts, as if all were hard.

    contacts: bodies (n_c, 2), point (n_c, 3), frame (n_c, 3, 3), gap, restitution; feature: (n_c,) their names;
    block, row: the first; stab: `Stabilisation.pushing`; out: bodies, names per block; rows, bias per row."""
    pairs, point, frame, gap, restitution = contacts
    bodies, names, rows, bias = out
    for c in range(len(gap)):
        for i in range(3):
            r = row + i
            bias[r] = 0.0
            for side in range(2):
                b, at, sign = pairs[c, side], 6 * side, 2.0 * side - 1.0
                for k in range(3):
                    j, m = (k + 1) % 3, (k + 2) % 3
                    rows[r, at + k] = rows[r, at + 3 + k] = 0.0
                    if b >= 0:
                        rows[r, at + k] = sign * frame[c, i, k]
                        turn = (point[c, j] - position[b, j]) * frame[c, i, m]
                        rows[r, at + 3 + k] = sign * (turn - (point[c, m] - position[b, m]) * frame[c, i, j])
        speed = row_rate(pairs, c, rows, row, u)
        before, after = 0.0, 0.0
        if restitution[c] > 0.0 and speed < -stab[5]:  # what rests does not bounce because it would fall
            weight = weight_along(stab, pairs, c, rows, row)
            before, after = stab[10] * weight, stab[11] * weight
        bias[row] = contact_bias(stab, gap[c], speed, restitution[c], h, h, before, after)
        # shape numbers in a feature id leave its top bits free
        bodies[block, 0], bodies[block, 1], names[block] = pairs[c, 0], pairs[c, 1], CONTACT + feature[c]
        block, row = block + 1, row + 3
