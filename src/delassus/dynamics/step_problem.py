"""The problem of one step: all its rows (joints, drives, dry friction of joints, limits, contacts, in this order), then
masses and free velocity at their configuration.

Each kind of rows is filled by one compiled call, and only kinds that are there are called, so that only their kernels
are compiled. What gives is softened afterwards (softness.py).
"""

import math

import numpy as np

from delassus.collision import Contacts
from delassus.cones import ProductCone
from delassus.dynamics.bounded import Held
from delassus.dynamics.forces import fill_free_velocity
from delassus.dynamics.inputs import Inputs
from delassus.dynamics.joint_rows import fill_coordinates, fill_joints
from delassus.dynamics.lengths import Lengths, lengths_at
from delassus.dynamics.node_rows import fill_welds, node_rows, set_surface_biases
from delassus.dynamics.rows import CONTACT, WELD, Rows, row_rate
from delassus.dynamics.softness import Softness, soften_contacts, soften_joints
from delassus.dynamics.stabilisation import Stabilisation, contact_bias, weight_along
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.law import Law
from delassus.linalg.dense_product import max_abs
from delassus.linalg.operators.rigid import RigidDelassus, form_response, multiply_rows
from delassus.model.model import Model, form_mass_blocks
from delassus.model.state import State
from delassus.problem import Problem

_NONE, _NO_IMPULSE, _NO_NODES, _NONE_BESIDE = np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 3)), np.zeros((0, 4))


def assemble(
    model: Model, at: np.ndarray, rotation: np.ndarray, state: State, contacts: Contacts, h: float,
    inputs: Inputs, stabilisation: Stabilisation, softness: Softness, half: np.ndarray, ahead: float,
    elapsed: np.ndarray, weight: float, nodes: np.ndarray = _NO_NODES,
) -> Rows:  # fmt: skip
    """All rows at the given configuration.  at: poses (n_b, 7), rotation: (n_b, 3, 3), nodes: (n_n, 3) where rows are
    evaluated, a time ahead [s] after the state, where the joints' errors are taken; half: (n_b, 6) velocities after the
    first half of the step's gyroscopic moment; elapsed: (n_b,) how long each body moved to get there [s], less than
    ahead where it met something; weight: of springs, drives and dampers, see `Integrator`."""
    softness.check_step(h)
    pushing = stabilisation.pushing(model.gravity, h, ahead)
    joints, u, masses = model.joints, state.u, (model.inverse_mass, model.inverse_inertia)
    freedoms = model.freedoms  # coordinates of the joints, then lengths of tendons
    free, row, block = joints.coordinate_count, joints.row_count, joints.count
    most_single = freedoms.drive_count + freedoms.friction_count + freedoms.limit_count
    triples, welds = len(contacts.gap), None if model.flexible is None else model.flexible.welds
    welded = 0 if welds is None else welds.count
    ties = 0 if model.couplings is None else len(model.couplings.held)
    most_blocks = block + welded + ties + most_single + triples
    most_rows = row + ties + most_single + 3 * (welded + triples)
    bodies, names = np.empty((most_blocks, 2), np.int64), np.empty(most_blocks, np.uint64)
    rows, bias, compliance = np.empty((most_rows, 12)), np.empty(most_rows), np.zeros(most_rows)
    residual, coordinates, rates = np.empty(row + 3 * welded + ties), np.empty(free), np.empty((free, 12))
    stopped, bound, wide, lengths = np.zeros(freedoms.coordinate_count, np.bool_), None, None, None
    bilateral, limits, is_soft = block, 0, False
    if block:
        errors, bend, rates_before = np.empty(row), np.empty(row), np.empty((free, 12))
        fill_joints(
            joints.plain, joints.plain_coordinates, state.q, joints.turns_of(state.turns), elapsed, at, rotation,
            u, half, h, pushing[0], (bodies, names, rows, bias), (residual[:row], errors, bend),
            (coordinates, rates, rates_before),
        )  # fmt: skip
        if softness.hard_rows is not None:
            soften_joints(
                joints.plain, softness.joints, rows, errors, bend, half, rotation, masses, h, weight, bias, compliance
            )
            is_soft = True
    if welds is not None and welded:
        fill_welds(
            welds.node, welds.body, welds.at(state.t + ahead), welds.velocity, at, rotation, nodes, h, pushing[0],
            block, row, WELD, (bodies, names, rows, bias), residual,
        )  # fmt: skip
        block, row, bilateral = block + welded, row + 3 * welded, block + welded
    single = block  # the first block of one row
    if model.couplings is not None:
        lengths = lengths_at(model, state, coordinates, rates, rates_before)
        assert lengths is not None
        lengths.fill_held(u, half, h, pushing[0], block, row, (bodies, names, rows, bias), residual[row:])
        block, row, bilateral = block + ties, row + ties, block + ties
    if most_single:
        bound = np.full(most_rows, np.inf)
        late = ahead if inputs.time is None else state.t + ahead - inputs.time
        counts, beside = np.empty(3, np.int64), _NONE_BESIDE
        along: tuple[np.ndarray, ...] = (coordinates, rates, rates_before, inputs.target, inputs.target_rate)
        if lengths is not None:
            along, beside = _with_lengths(model, lengths, along[:3], inputs, rotation, u, half)
        fill_coordinates(
            freedoms.bodies, freedoms.plain_coordinates, (*along, late), u, half, h, weight, pushing, softness.limits,
            rotation, masses, beside, block, row, (bodies, names, rows, bias, compliance, bound), stopped, counts,
        )  # fmt: skip
        bilateral, limits = int(counts[0]), int(counts[1])
        is_soft = is_soft or bool(counts[2])
        row += bilateral - block + limits
    block = bilateral + limits
    if lengths is not None:
        wide = lengths.wide(names[single:block], row - (block - single), free)
    if triples:
        touching = (contacts.bodies, contacts.point, contacts.frame, contacts.gap, contacts.restitution)
        fill_contacts(touching, contacts.feature, at, u, h, pushing, block, row, (bodies, names, rows, bias))
        if softness.is_any_shape_soft:
            gives = soften_contacts(
                contacts.bodies, contacts.shapes, contacts.gap, softness.shapes, rows, u, rotation, masses, h,
                weight, row, bias, compliance,
            )  # fmt: skip
            is_soft = is_soft or bool(gives)
    held = None
    if welds is not None:
        held = node_rows(welds, joints.count, contacts, block)
        if contacts.nodes is not None:
            set_surface_biases(
                contacts.bodies, contacts.frame, contacts.gap, contacts.restitution, contacts.feature, contacts.nodes,
                contacts.weights, u, state.node_velocity, h, stabilisation.pushing_nodes(h, ahead), block, row,
                (names, rows, bias),
            )  # fmt: skip
    count, blocks = row + 3 * triples, block + triples
    sizes = joints.row_sizes
    if bilateral > joints.count:
        sizes = np.ones(bilateral, np.int64)
        sizes[: joints.count] = joints.row_sizes
        sizes[joints.count : joints.count + welded] = 3
    cone = ProductCone.trusted(sizes, limits, contacts.mu)
    return Rows(
        bodies[:blocks], rows[:count], bias[:count], compliance[:count] if is_soft else None, cone, names[:blocks],
        residual, contacts, coordinates, rates,
        bound[:count] if bound is not None and is_soft and freedoms.is_bounded else None, stopped[:free],
        freedoms.friction_count, held, wide, lengths,
    )  # fmt: skip


def _with_lengths(
    model: Model, lengths: Lengths, coordinates: tuple[np.ndarray, ...], inputs: Inputs, rotation: np.ndarray,
    u: np.ndarray, half: np.ndarray,
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:  # fmt: skip
    """Values, rates (n, 12), rates before, targets and their rates (n,) of joint coordinates, then of tendons, and
    how the latter move: (n_t, 4), see `Lengths.motion`."""
    values, rates, rates_before = coordinates
    free, none = lengths.couplings.free, np.zeros(len(lengths.couplings.free))
    out = (
        np.append(values, lengths.now[free]),
        np.concatenate([rates, lengths.couplings.of_two_bodies(lengths.rows)[free]]), rates_before,
        np.append(inputs.target, none), np.append(inputs.target_rate, none),
    )  # fmt: skip
    return out, lengths.motion(model.mass_blocks(rotation)[1], u, half)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
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
    reduce_rows(
        model.mass, model.inertia, model.inverse_inertia, model.gravity, rotation, u, inputs.wrench, inputs.effort,
        model.joints.bodies, model.joints.coordinate_joint, rows.rates, h, rows.bodies, start, acting, bias,
        mass, inverse, u_f, response, free, index, impulse,
        _NO_IMPULSE if compliance is None else compliance,
    )  # fmt: skip
    delassus = RigidDelassus(mass, rows.bodies, acting, start, compliance, inverse, response)
    fall = h * math.sqrt(float(model.gravity @ model.gravity))
    return Problem(delassus, free, rows.cone, law, u_f=u_f.ravel(), bias=bias, rest_speed=fall, before=u.ravel())


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
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


@njit(cache=True, error_model="numpy", **ADDRESSED)
def reduce_rows(
    body_mass, inertia, inverse_inertia, gravity, rotation, u, wrench, effort, joint_bodies, coordinate_joint, rates, h,
    bodies, start, rows, bias, mass, inverse, u_f, response, free, index, impulse, compliance,
):  # fmt: skip
    """Masses, free velocities and what reactions do: see `reduce`.  mass, inverse, u_f, response, free are written;
    returns 0."""
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
    return np.int64(0)
