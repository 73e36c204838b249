"""All rows of a step in one compiled call: joints, drives, limits, contacts, dry friction of joints, in this order.

A step of a small mechanism takes some ten microseconds here and took ten times that as array expressions.
"""

import math

import numpy as np
from numba import njit

from delassus.dynamics.softening import soften
from delassus.dynamics.stabilisation import contact_bias, joint_bias, limit_bias
from delassus.joints.arrays import IMPOSED, PD, evaluate_constraints, evaluate_coordinates, joint_frames
from delassus.joints.primitives import line
from delassus.spatial import matrices_of

_LIMIT_HORIZON = 4.0  # a limit enters the problem when it could be reached within this many steps at the present rate
_LIMIT_MARGIN = 1e-3  # … or is this near [m, rad]
# The top bits say what kind of thing a block's name belongs to, so that no two kinds share one.
_JOINT, _DRIVE, _LIMIT, _CONTACT, _FRICTION = (np.uint64(k << 61) for k in range(5))


@njit(cache=True, error_model="numpy")
def fill_rows(joints, freedoms, contacts, q, position, rotation, u, target, target_rate, h, stab, soft, masses, out):
    """Number of bilateral blocks, limits, triples and rows; whether any row is compliant.

    joints, freedoms: `JointArrays.plain` and `.plain_coordinates`; contacts: bodies, point, frame, gap, restitution,
    feature, mu; q: (n_b, 7) before the step; position, rotation: of the bodies where rows are evaluated; stab, soft:
    `plain` of the settings; masses: inverse masses and inertias (body frame);
    out: bodies, names, sizes per block; rows, bias, compliance per row; mu per triple; residual; coordinates, rates."""
    bodies, names, sizes, rows, bias, compliance, mu, residual, coordinates, rates = out
    joint_bodies, start = joints[0], joints[4]
    compliance[:] = 0.0
    block, row, is_soft = len(joint_bodies), start[-1], False
    if block:
        is_soft = _fill_joints(
            joints, freedoms, q, position, rotation, u, h, stab, soft, masses, names, sizes, rows, bias, compliance,
            residual, coordinates, rates,
        )  # fmt: skip
        for j in range(block):
            bodies[j, 0], bodies[j, 1] = joint_bodies[j, 0], joint_bodies[j, 1]
    first = row
    row, driven = _fill_drives(joint_bodies, freedoms, coordinates, rates, target, target_rate, h, block, row,
                               bodies, names, sizes, rows, bias, compliance)  # fmt: skip
    block += row - first
    first = row
    row, softened = _fill_limits(joint_bodies, freedoms, coordinates, rates, u, h, stab, soft, masses, rotation,
                                 block, row, bodies, names, sizes, rows, bias, compliance)  # fmt: skip
    limits = row - first
    bilateral = block
    block += limits
    gives = _fill_contacts(contacts, position, rotation, u, h, stab, soft, masses, block, row,
                           bodies, names, sizes, rows, bias, compliance, mu)  # fmt: skip
    triples = len(contacts[3])
    block, row = block + triples, row + 3 * triples
    rubbing = _fill_friction(joint_bodies, freedoms, rates, h, rotation, masses, block, row,
                             bodies, names, sizes, rows, bias, compliance, mu, triples)  # fmt: skip
    triples, row = triples + rubbing, row + 3 * rubbing
    return bilateral, limits, triples, row, is_soft or driven or softened or gives or rubbing > 0


@njit(cache=True, error_model="numpy")
def _fill_joints(
    joints, freedoms, q, position, rotation, u, h, stab, soft, masses, names, sizes, rows, bias, compliance, residual,
    coordinates, rates,
):  # fmt: skip
    bodies, local_origin, local_axes, length, start, primitive, base_axis, follower_axis = joints
    n, m = len(bodies), start[-1]
    origin, axes, centre = np.empty((n, 2, 3)), np.empty((n, 2, 3, 3)), np.empty((n, 2, 3))
    before, other = np.empty((m, 12)), np.empty((len(q), 3, 3))
    # the joints' errors are taken before the step: a midpoint predicted along straight lines has errors of its own
    matrices_of(q[:, 3:], other)
    joint_frames(bodies, local_origin, local_axes, q[:, :3], other, origin, axes, centre)
    evaluate_constraints(
        start, primitive, base_axis, follower_axis, length, bodies, origin, axes, centre, residual, before
    )
    errors = np.empty(m)
    joint_frames(bodies, local_origin, local_axes, position, rotation, origin, axes, centre)
    evaluate_constraints(start, primitive, base_axis, follower_axis, length, bodies, origin, axes, centre, errors, rows)
    evaluate_coordinates(freedoms[0], freedoms[1], freedoms[2], bodies, origin, axes, centre, coordinates, rates)
    is_soft = soft[0] != 0.0
    for j in range(n):
        names[j], sizes[j] = _JOINT + np.uint64(j), start[j + 1] - start[j]
        for r in range(start[j], start[j + 1]):
            if is_soft:
                speed = row_rate(bodies[j], rows[r], u)
                own = row_mobility(bodies[j], rows[r], rotation, masses)
                bias[r], compliance[r] = soften(soft, residual[r], speed, own, h)
            else:
                # Velocities that obey the joints at the *end* of the step, half a step beyond the midpoint, differ
                # there by what the rows turned since its start. Without this term the projection onto the turned
                # joints loses energy at first order: 0.56 J of a double pendulum's in three seconds at h = 1 ms,
                # instead of 0.0007 J.
                bend = row_rate(bodies[j], rows[r], u) - row_rate(bodies[j], before[r], u)
                bias[r] = joint_bias(stab, residual[r], h) + bend
    return is_soft


@njit(cache=True, error_model="numpy")
def _fill_drives(
    joint_bodies, freedoms, coordinates, rates, target, target_rate, h, block, row, bodies, names, sizes, rows, bias,
    compliance,
):  # fmt: skip
    """Motors, damping and prescribed motion as bilateral rows; returns (next row, whether any is compliant).

    Implicit PD: τ = k (q* − q − h v) + c (v* − v) − d v makes v + E λ + b = 0 with λ = h τ, g = c + d + h k,
    E = 1/(h g) and b = −(k (q* − q) + c v*)/g. Prescribed motion (000 eq. 3.21): v = v* + (q* − q)/h, hard."""
    joint, _, _, angular, _, _, damping, _, drive, stiffness, rate_gain = freedoms
    is_soft = False
    for d in range(len(joint)):
        k = stiffness[d] if drive[d] == PD else 0.0
        c = rate_gain[d] if drive[d] == PD else 0.0
        g = c + damping[d] + h * k
        if drive[d] != IMPOSED and g <= 0.0:
            continue
        error = target[d] - coordinates[d]
        if angular[d]:  # angles are known up to full turns
            error = (error + math.pi) % (2.0 * math.pi) - math.pi
        if drive[d] == IMPOSED:
            bias[row] = -(target_rate[d] + error / h)
        else:
            bias[row], compliance[row] = -(k * error + c * target_rate[d]) / g, 1.0 / (h * g)
            is_soft = True
        _place(block, joint_bodies[joint[d]], _DRIVE + np.uint64(d), 1, bodies, names, sizes)
        rows[row, :] = rates[d]
        block, row = block + 1, row + 1
    return row, is_soft


@njit(cache=True, error_model="numpy")
def _fill_limits(
    joint_bodies, freedoms, coordinates, rates, u, h, stab, soft, masses, rotation, block, row, bodies, names, sizes,
    rows, bias, compliance,
):  # fmt: skip
    """Unilateral rows of the limits that are near (003 eq. 28–31); returns (next row, whether any is compliant)."""
    joint, lower, upper = freedoms[0], freedoms[4], freedoms[5]
    is_soft = False
    for side in range(2):
        sign = 1.0 - 2.0 * side
        for d in range(len(joint)):
            bound = upper[d] if side else lower[d]
            if not math.isfinite(bound):
                continue
            pair = joint_bodies[joint[d]]
            speed = sign * row_rate(pair, rates[d], u)
            gap = sign * (coordinates[d] - bound)
            if gap > max(_LIMIT_MARGIN, -_LIMIT_HORIZON * h * speed):
                continue
            for k in range(12):
                rows[row, k] = sign * rates[d, k]
            # what is still open stays hard: it may close within the step and no further
            if soft[1] != 0.0 and gap <= 0.0:
                own = row_mobility(pair, rows[row], rotation, masses)
                bias[row], compliance[row] = soften(soft, gap, speed, own, h)
                is_soft = True
            else:
                bias[row] = limit_bias(stab, gap, h)
            _place(block, pair, _LIMIT + np.uint64(2 * d + side), 1, bodies, names, sizes)
            block, row = block + 1, row + 1
    return row, is_soft


@njit(cache=True, error_model="numpy")
def _fill_contacts(
    contacts, position, rotation, u, h, stab, soft, masses, block, row, bodies, names, sizes, rows, bias, compliance, mu
):
    """Triples (n, t₁, t₂) of the contacts; returns whether any is compliant."""
    pairs, point, frame, gap, restitution, feature, friction = contacts
    zero = np.zeros(3)
    is_soft = False
    for c in range(len(gap)):
        a, b = pairs[c, 0], pairs[c, 1]
        ca = position[a] if a >= 0 else zero
        cb = position[b] if b >= 0 else zero
        for i in range(3):
            r = rows[row + i]
            line(frame[c, i, 0], frame[c, i, 1], frame[c, i, 2], point[c], ca, point[c], cb, r)
            for k in range(6):
                r[k] = r[k] if a >= 0 else 0.0
                r[6 + k] = r[6 + k] if b >= 0 else 0.0
            bias[row + i] = 0.0
            if soft[2] != 0.0 and gap[c] <= 0.0:
                own = row_mobility(pairs[c], r, rotation, masses)
                depth = gap[c] if i == 0 else 0.0
                bias[row + i], compliance[row + i] = soften(soft, depth, row_rate(pairs[c], r, u), own, h)
                is_soft = True
        if soft[2] == 0.0 or gap[c] > 0.0:
            bias[row] = contact_bias(stab, gap[c], row_rate(pairs[c], rows[row], u), restitution[c], h)
        mu[c] = friction[c]
        # shape numbers in a feature id leave its top bits free
        _place(block, pairs[c], _CONTACT + feature[c], 3, bodies, names, sizes)
        block, row = block + 1, row + 3
    return is_soft


@njit(cache=True, error_model="numpy")
def _fill_friction(
    joint_bodies, freedoms, rates, h, rotation, masses, block, row, bodies, names, sizes, rows, bias, compliance, mu, at
):
    """Triples for dry friction of joint coordinates, friction coefficient one; returns their number."""
    joint, friction = freedoms[0], freedoms[7]
    count = 0
    for d in range(len(joint)):
        if friction[d] <= 0.0:
            continue
        pair = joint_bodies[joint[d]]
        own = row_mobility(pair, rates[d], rotation, masses)
        rows[row : row + 3, :] = 0.0
        rows[row + 1, :] = rates[d]
        bias[row], bias[row + 1], bias[row + 2] = -own * h * friction[d], 0.0, 0.0
        compliance[row] = compliance[row + 2] = own
        mu[at + count] = 1.0
        _place(block, pair, _FRICTION + np.uint64(d), 3, bodies, names, sizes)
        block, row, count = block + 1, row + 3, count + 1
    return count


@njit(cache=True, error_model="numpy")
def _place(block, pair, name, size, bodies, names, sizes):
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
