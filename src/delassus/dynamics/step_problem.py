"""The problem of one step: all its rows (joints, drives, dry friction of joints, limits, contacts, in this order), then
masses and free velocity at their configuration.

Each kind of rows is filled by one compiled call, and only kinds that are there are called, so that only their kernels
are compiled. What gives is softened afterwards (softness.py).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from delassus.collision import Contacts
from delassus.collision.contacts import ContactColumns
from delassus.cones import ProductCone
from delassus.dynamics.bounded import Held
from delassus.dynamics.forces import fill_free_velocity
from delassus.dynamics.inputs import Inputs
from delassus.dynamics.joint_rows import Coordinates, Targets, fill_coordinates, fill_joints
from delassus.dynamics.lengths import Lengths, lengths_at
from delassus.dynamics.node_rows import WeldData, fill_welds, node_rows, set_surface_biases
from delassus.dynamics.rows import CONTACT, Motion, RowArrays, Rows, Rule, row_rate
from delassus.dynamics.softness import Softness, soften_contacts, soften_joints
from delassus.dynamics.stabilisation import Pushing, contact_bias, weight_along
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.law import Law
from delassus.linalg.dense_product import max_abs
from delassus.linalg.operators.rigid import RigidDelassus, form_response, multiply_rows
from delassus.model.model import Bodies, Model, form_mass_blocks
from delassus.model.state import State
from delassus.problem import Problem

_NONE, _NO_IMPULSE, _NO_LENGTHS = np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 4))


class Nodes(NamedTuple):
    """Nodes of flexible bodies where rows are evaluated."""

    at: np.ndarray  # (n_n, 3) [m]
    pushing: tuple[Any, ...]  # fields of `Pushing` for their surfaces


def assemble(
    model: Model,
    state: State,
    contacts: Contacts,
    inputs: Inputs,
    motion: Motion,
    rule: Rule,
    softness: Softness,
    nodes: Nodes,
) -> Rows:
    """All rows of the step from this state, evaluated where `motion` says. Joints' errors are taken at the state."""
    h, ahead = rule.h, Pushing(*rule.pushing).ahead
    softness.check_step(h)
    joints, freedoms, couplings = model.joints, model.freedoms, model.couplings  # freedoms: lengths of tendons, too
    welds = None if model.flexible is None else model.flexible.welds
    welded, triples = 0 if welds is None else welds.count, len(contacts.gap)
    ties = 0 if couplings is None else len(couplings.held)
    singles = freedoms.drive_count + freedoms.friction_count + freedoms.limit_count
    out = _empty_rows(
        joints.count + welded + ties + singles + triples, joints.row_count + ties + singles + 3 * (welded + triples)
    )
    arrays, at, by = tuple(out), tuple(motion), tuple(rule)
    residual, is_soft = np.empty(joints.row_count + 3 * welded + ties), False
    free = joints.coordinate_count
    along = Coordinates(np.empty(free), np.empty((free, 12)), np.empty((free, 12)), _NO_LENGTHS)
    block, row = joints.count, joints.row_count
    if block:
        turning = residual[:row], np.empty(row), np.empty(row)
        before = state.q, joints.turns_of(state.turns)
        fill_joints(joints.row_data, joints.angle_data, before, at, by, arrays, turning, along[:3])
        if softness.hard_rows is not None:
            soften_joints(joints.row_data, softness.joints, at, by, turning, arrays)
            is_soft = True
    if welds is not None and welded:
        held = tuple(WeldData(welds.node, welds.body, welds.at(state.t + ahead), welds.velocity))
        fill_welds(held, at, nodes.at, by, (block, row), arrays, residual)
        block, row = block + welded, row + 3 * welded
    bilateral, limits, first_single, lengths = block + ties, 0, block, None
    if couplings is not None:
        lengths = lengths_at(model, state, along.values, along.rates, along.rates_before)
        assert lengths is not None
        lengths.fill_held(motion, rule, (block, row), out, residual[row:])
        block, row = block + ties, row + ties
    stopped = np.zeros(freedoms.coordinate_count, np.bool_)
    if singles:
        late = ahead if inputs.time is None else state.t + ahead - inputs.time
        targets = Targets(inputs.target, inputs.target_rate, late)
        if lengths is not None:
            along, targets = _with_lengths(model, lengths, along, targets, motion)
        counts = np.empty(3, np.int64)
        written = arrays, stopped, counts
        fill_coordinates(
            freedoms.coordinate_data, softness.limits, tuple(along), tuple(targets), at, by, (block, row), written
        )
        bilateral, limits = int(counts[0]), int(counts[1])
        is_soft = is_soft or bool(counts[2])
        row += bilateral - block + limits
    block = bilateral + limits
    wide = None
    if lengths is not None:
        wide = lengths.wide(out.names[first_single:block], row - (block - first_single), free)
    if triples:
        fill_contacts(contacts.data, at, by, (block, row), arrays)
        if softness.is_any_shape_soft:
            is_soft = bool(soften_contacts(contacts.data, softness.shapes, at, by, row, arrays)) or is_soft
    touching = None
    if welds is not None:
        touching = node_rows(welds, joints.count, contacts, block)
        if contacts.nodes is not None:
            surface = contacts.nodes, contacts.weights, state.node_velocity
            pushed = h, rule.weight, nodes.pushing
            set_surface_biases(contacts.data, surface, motion.u, pushed, (block, row), arrays)
    count, blocks = row + 3 * triples, block + triples
    sizes = joints.row_sizes
    if bilateral > joints.count:
        sizes = np.ones(bilateral, np.int64)
        sizes[: joints.count] = joints.row_sizes
        sizes[joints.count : joints.count + welded] = 3
    return Rows(
        out.bodies[:blocks],
        out.rows[:count],
        out.bias[:count],
        out.compliance[:count] if is_soft else None,
        ProductCone.trusted(sizes, limits, contacts.mu),
        out.names[:blocks],
        residual,
        contacts,
        along.values[:free],
        along.rates[:free],
        out.bound[:count] if is_soft and freedoms.is_bounded else None,
        stopped[:free],
        freedoms.friction_count,
        touching,
        wide,
        lengths,
    )


def _empty_rows(blocks: int, m: int) -> RowArrays:
    """Room for so many blocks and rows; all are hard and without bounds."""
    bodies, names = np.empty((blocks, 2), np.int64), np.empty(blocks, np.uint64)
    return RowArrays(bodies, names, np.empty((m, 12)), np.empty(m), np.zeros(m), np.full(m, np.inf))


def _with_lengths(
    model: Model, lengths: Lengths, along: Coordinates, targets: Targets, motion: Motion
) -> tuple[Coordinates, Targets]:
    """Joint coordinates, then tendons, which nothing drives."""
    free, none = lengths.couplings.free, np.zeros(len(lengths.couplings.free))
    values = np.append(along.values, lengths.now[free])
    rates = np.concatenate([along.rates, lengths.couplings.of_two_bodies(lengths.rows)[free]])
    of_lengths = lengths.motion(model.mass_blocks(motion.rotation)[1], motion.u, motion.half)
    wanted = Targets(np.append(targets.value, none), np.append(targets.rate, none), targets.late)
    return Coordinates(values, rates, along.rates_before, of_lengths), wanted


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def fill_contacts(contacts, motion, rule, first, out):
    """Triples (n, t₁, t₂) of the contacts, as if all were hard.

    contacts: fields of `ContactColumns`; motion, rule: of `Motion`, `Rule`; first: block and row; out: fields of
    `RowArrays`, compliance and bound left alone."""
    of, motion, rule, out = ContactColumns(*contacts), Motion(*motion), Rule(*rule), RowArrays(*out)
    by, h, rows, (block, row) = Pushing(*rule.pushing), rule.h, out.rows, first
    for c in range(len(of.gap)):
        for i in range(3):
            r = row + i
            out.bias[r] = 0.0
            for side in range(2):
                b, at, sign = of.bodies[c, side], 6 * side, 2.0 * side - 1.0
                for k in range(3):
                    j, m = (k + 1) % 3, (k + 2) % 3
                    rows[r, at + k] = rows[r, at + 3 + k] = 0.0
                    if b >= 0:
                        rows[r, at + k] = sign * of.frame[c, i, k]
                        turn = (of.point[c, j] - motion.at[b, j]) * of.frame[c, i, m]
                        rows[r, at + 3 + k] = sign * (turn - (of.point[c, m] - motion.at[b, m]) * of.frame[c, i, j])
        speed = row_rate(of.bodies, c, rows, row, motion.u)
        before, after = 0.0, 0.0
        if of.restitution[c] > 0.0 and abs(speed) > by.slowest_bounce:  # what rests does not bounce for its weight
            weight = weight_along(by.gravity, of.bodies, c, rows, row)
            before, after = by.ahead * weight, by.behind * weight
        out.bias[row] = contact_bias(rule.pushing, of.gap[c], speed, of.restitution[c], h, h, before, after)
        # shape numbers in a feature id leave its top bits free
        out.bodies[block, 0], out.bodies[block, 1] = of.bodies[c, 0], of.bodies[c, 1]
        out.names[block] = CONTACT + of.feature[c]
        block, row = block + 1, row + 3


class Acting(NamedTuple):
    """What users let act on bodies and along joint coordinates."""

    wrench: np.ndarray  # (n_b, 6) [N, N m]
    effort: np.ndarray  # (n_d,) [N, N m]
    bodies: np.ndarray  # (n_j, 2) of the joints
    joint: np.ndarray  # (n_d,)
    rates: np.ndarray  # (n_d, 12) rate rows


class SolvedRows(NamedTuple):
    """Rows as the solver gets them: those at their bounds are changed."""

    bodies: np.ndarray  # (blocks, 2)
    start: np.ndarray  # (blocks + 1,) first row of each
    rows: np.ndarray  # (m, 12)
    bias: np.ndarray  # (m,)
    compliance: np.ndarray  # (m,), or empty: all are hard


class Reduced(NamedTuple):
    """What the one-step problem holds."""

    mass: np.ndarray  # (n_b, 6, 6)
    inverse: np.ndarray  # (n_b, 6, 6)
    u_f: np.ndarray  # (n_b, 6) velocities without reactions
    response: np.ndarray  # (m, 12) H⁻¹ Jᵀ by rows
    free: np.ndarray  # (m,) v_f


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
    n, m, joints = model.body_count, len(rows.rows), model.joints
    start = rows.cone.block_start
    mass, inverse, u_f = np.zeros((n, 6, 6)), np.zeros((n, 6, 6)), np.empty((n, 6))
    response, free, bias = np.empty((m, 12)), np.empty(m), rows.bias.copy()
    acting, compliance, known = rows.rows, rows.compliance, (_NONE, _NO_IMPULSE)
    if held is not None and held.side.any():
        acting, known = rows.rows.copy(), (held.index, held.side * held.bound)
        compliance = np.zeros(m) if compliance is None else compliance.copy()
    soft = _NO_IMPULSE if compliance is None else compliance
    solved = rows.bodies, start, acting, bias, soft
    pushed = inputs.wrench, inputs.effort, joints.bodies, joints.coordinate_joint, rows.rates
    out = mass, inverse, u_f, response, free
    reduce_rows(model.body_data, rotation, u, pushed, h, solved, known, out)
    delassus = RigidDelassus(mass, rows.bodies, acting, start, compliance, inverse, response)
    fall = h * math.sqrt(float(model.gravity @ model.gravity))
    return Problem(delassus, free, rows.cone, law, u_f=u_f.ravel(), bias=bias, rest_speed=fall, before=u.ravel())


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _hold(index, impulse, of, response, u_f):
    """Rows with a known impulse [N s] move the free velocity and say no more than E λ + b = 0, which has that λ."""
    block, rows = 0, of.rows
    for k in range(len(index)):
        i = index[k]
        while of.start[block + 1] <= i:
            block += 1
        if impulse[k] == 0.0:
            continue
        own = 0.0
        for side in range(2):
            b = of.bodies[block, side]
            for a in range(6 * side, 6 * side + 6):
                own += rows[i, a] * response[i, a]
                if b >= 0:
                    u_f[b, a - 6 * side] += impulse[k] * response[i, a]
                rows[i, a] = response[i, a] = 0.0
        of.compliance[i] = own if own > 0.0 else 1.0
        of.bias[i] = -of.compliance[i] * impulse[k]


@njit(cache=True, error_model="numpy", **ADDRESSED)
def reduce_rows(bodies, rotation, u, acting, h, rows, known, out):
    """Masses, free velocities and what reactions do: see `reduce`. Returns 0.

    bodies: fields of `Bodies`; acting: of `Acting`; rows: of `SolvedRows`; known: numbers of rows and their impulses;
    out: of `Reduced`, written."""
    body, acting, of, out = Bodies(*bodies), Acting(*acting), SolvedRows(*rows), Reduced(*out)
    form_mass_blocks(body.mass, body.inertia, body.inverse_inertia, rotation, out.mass, out.inverse)
    force = acting.wrench
    if max_abs(acting.effort) > 0.0:
        force = acting.wrench.copy()
        for d in range(len(acting.effort)):
            for side in range(2):
                b = acting.bodies[acting.joint[d], side]
                if b >= 0:
                    for k in range(6):
                        force[b, k] += acting.effort[d] * acting.rates[d, 6 * side + k]
    fill_free_velocity(out.inverse, body.gravity, u, force, h, out.u_f)
    form_response(out.inverse, of.bodies, of.start, of.rows, out.response)
    index, impulse = known
    if len(index):
        _hold(index, impulse, of, out.response, out.u_f)
    multiply_rows(of.bodies, of.start, of.rows, out.u_f.reshape(-1), out.free)
    for i in range(len(out.free)):
        out.free[i] += of.bias[i]
    return np.int64(0)
