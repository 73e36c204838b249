"""Rows of the joints, and of the coordinates they leave and lengths of tendons: motors, damping, springs, armature and
prescribed motion, dry friction, limits that are near.

Armature a, what a geared rotor adds, is the momentum a q̇ of the coordinate itself: λ = −a (q̇⁺ − q̇⁻), a row of
compliance 1/a. Masses of bodies stay blocks of 6×6. What acts along one coordinate side by side (motor, spring, damper,
armature) is one row whose reaction is their sum.
"""

import math

import numpy as np

from delassus.dynamics.rows import DRIVE, FRICTION, JOINT, LIMIT, NEARLY_HARD, row_mobility, row_rate
from delassus.dynamics.softness import soft_stop, spring_row
from delassus.dynamics.stabilisation import limit_bias
from delassus.dynamics.turns import nearest_rotations, unwrap
from delassus.joints.arrays import IMPOSED, PD
from delassus.joints.primitives import evaluate_constraints, evaluate_coordinates, joint_frames
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.softening import HARD, SPRING
from delassus.spatial import matrices_of

_DAMPER = np.uint64(1 << 32)  # added to the name of a drive whose damping, spring and armature have a row of their own
_LIMIT_HORIZON = 4.0  # a limit enters the problem when it could be reached within this many steps at the present rate
_LIMIT_MARGIN = 1e-3  # … or is this near [m, rad]


@njit(cache=True, error_model="numpy", **ADDRESSED)
def fill_joints(
    joints, freedoms, q, turns, elapsed, position, rotation, u, half, h, feedback, out, errors, coordinates
):
    """Rows as if all joints were hard, and the joint coordinates.

    joints, freedoms: `JointArrays.plain` and `.plain_coordinates`; q: (n_b, 7), turns: (n_d,) before the step;
    position, rotation: of bodies where rows are evaluated, each having moved for elapsed (n_b,) [s]; u, half: (n_b, 6)
    before the step and after the first half of its gyroscopic moment; feedback: `Stabilisation.joint`;
    out: bodies, names per joint; rows, bias per row; errors: residuals before the step and where rows are evaluated,
    what rows and velocities turned in between, per row; coordinates: values (n_d,), turns counted, rates (n_d, 12)
    where rows are evaluated and before the step."""
    bodies, local_origin, local_axes, length, start, primitive, base_axis, follower_axis = joints
    joint, kind, axis = freedoms[0], freedoms[1], freedoms[2]
    blocks, names, rows, bias = out
    residual, later, bend = errors
    values, rates, rates_before = coordinates
    n = len(bodies)
    origin, axes, centre = np.empty((n, 2, 3)), np.empty((n, 2, 3, 3)), np.empty((n, 2, 3))
    before, other, earlier = np.empty((len(residual), 12)), np.empty((len(q), 3, 3)), np.empty(len(values))
    # the joints' errors are taken before the step: a midpoint predicted along straight lines has errors of its own
    matrices_of(q, 3, other)
    joint_frames(bodies, local_origin, local_axes, q, other, origin, axes, centre)
    evaluate_constraints(
        start, primitive, base_axis, follower_axis, length, bodies, origin, axes, centre, residual, before
    )
    evaluate_coordinates(joint, kind, axis, bodies, origin, axes, centre, earlier, rates_before)
    for d in range(len(earlier)):
        earlier[d] += 2.0 * math.pi * turns[d]
    joint_frames(bodies, local_origin, local_axes, position, rotation, origin, axes, centre)
    evaluate_constraints(start, primitive, base_axis, follower_axis, length, bodies, origin, axes, centre, later, rows)
    evaluate_coordinates(joint, kind, axis, bodies, origin, axes, centre, values, rates)
    unwrap(joint, freedoms[3], bodies, earlier, rates, u, elapsed, values)
    for j in range(n):
        blocks[j, 0], blocks[j, 1], names[j] = bodies[j, 0], bodies[j, 1], JOINT + np.uint64(j)
        for r in range(start[j], start[j + 1]):
            # Velocities that obey the joints at the *end* of the step, half a step and half a gyroscopic moment beyond
            # those of the solve, differ from them by what rows and velocities turned since its start. Without this
            # term the projection onto the turned joints loses energy at first order: 0.56 J of a double pendulum's in
            # three seconds at h = 1 ms, instead of 0.0007 J.
            bend[r] = row_rate(bodies, j, rows, r, half) - row_rate(bodies, j, before, r, u)
            bias[r] = feedback * residual[r] / h + bend[r]
    return np.int64(0)


@njit(cache=True, error_model="numpy", **ADDRESSED)
def fill_coordinates(
    joint_bodies, freedoms, coordinates, u, half, h, weight, stab, soft, rotation, masses, beside, block, row, out,
    stopped, counts,
):  # fmt: skip
    """Drives and dry friction as bilateral rows, then limits; counts: (3,) bilateral blocks, limits, is any compliant?
    is written. Returns 0.

    freedoms: `JointArrays.plain_coordinates` of joint coordinates and lengths of tendons, n in all; coordinates: values
    (n,), rates (n, 12) where rows are evaluated, and (n_d, 12) of joint coordinates at the start of the step, targets
    and target rates (n,), time from the one the targets are for to the one of the rows [s]; u, half: (n_b, 6) before
    the step and after the first half of its gyroscopic moment, between which and the velocities after the solve
    impulses work; weight: of springs and dampers, see softness.py; stab: `Stabilisation.pushing`; soft: (n, WIDTH) of
    the limits; masses: inverse; beside: (n − n_d, 4) how lengths move, see `_fill_motion`; block, row: the first; out:
    bodies, names per block; rows, bias, compliance, bound per row, bound being the largest reaction [N s]; stopped:
    (n,) does a limit stop the prescribed motion?"""
    bodies, names, rows, bias, compliance, bound = out
    placed = (bodies, names, rows)
    start = (block, row)
    joint, friction, rates = freedoms[0], freedoms[7], coordinates[1]
    motion = np.empty((len(joint), 4))
    _fill_motion(joint_bodies, joint, rates, coordinates[2], u, half, rotation, masses, beside, motion)
    row, is_soft = _fill_drives(
        joint_bodies, freedoms, coordinates, motion, h, weight, stab, start, placed, bias, compliance, bound, stopped
    )  # fmt: skip
    for d in range(len(joint)):
        if friction[d] <= 0.0:
            continue
        # What sticks does not move at the *end* of the step: the rate there differs from that of the rows by what they
        # turned since its start, as with the joints themselves. Without it friction that sticks works at first order.
        j = joint[d]
        _place(start[0] + row - start[1], row, joint_bodies, j, rates, d, 1.0, FRICTION + np.uint64(d), placed)
        bias[row] = motion[d, 0] - motion[d, 1]
        bound[row] = h * friction[d]
        compliance[row] = NEARLY_HARD * motion[d, 3]
        row, is_soft = row + 1, True
    bilateral = start[0] + row - start[1]
    limits, softened = _fill_limits(
        joint_bodies, freedoms, coordinates, motion, h, weight, stab, soft, bilateral, row, placed, bias, compliance
    )
    counts[0], counts[1], counts[2] = bilateral, limits, is_soft or softened
    return np.int64(0)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _fill_motion(joint_bodies, joint, rates, rates_before, u, half, rotation, masses, beside, motion):
    """(n, 4) of each coordinate: its rate by `half` along the rows, by u along those at the start of the step and along
    the rows [m/s, rad/s], and its mobility [1/kg]; of lengths, the last ones, as given."""
    own = len(rates_before)
    for d in range(own):
        j = joint[d]
        motion[d, 0] = row_rate(joint_bodies, j, rates, d, half)
        motion[d, 1] = row_rate(joint_bodies, j, rates_before, d, u)
        motion[d, 2] = row_rate(joint_bodies, j, rates, d, u)
        motion[d, 3] = row_mobility(joint_bodies, j, rates, d, rotation, masses)
    for k in range(len(beside)):
        for i in range(4):
            motion[own + k, i] = beside[k, i]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _place(block, row, joint_bodies, j, rates, d, sign, name, placed):
    """Row ± rates[d] of joint j, under this name."""
    bodies, names, rows = placed
    bodies[block, 0], bodies[block, 1], names[block] = joint_bodies[j, 0], joint_bodies[j, 1], name
    for k in range(12):
        rows[row, k] = sign * rates[d, k]


@njit(cache=True, error_model="numpy")
def _fill_drives(
    joint_bodies, freedoms, coordinates, motion, h, weight, stab, start, placed, bias, compliance, bound, stopped
):
    """Motors, damping, springs, armature and prescribed motion; returns (next row, is any compliant?)."""
    joint, _, _, _, lower, upper, damping, _, drive, stiffness, rate_gain, effort, _, spring, rest, armature = freedoms
    values, rates, _, target, target_rate, late = coordinates
    target = nearest_rotations(freedoms, values, target)
    row, is_soft = start[1], False
    for d in range(len(joint)):
        gains = stiffness[d] + rate_gain[d] if drive[d] == PD else 0.0
        passive = damping[d] + spring[d] + armature[d] > 0.0
        if drive[d] != IMPOSED and gains <= 0.0 and not passive:
            continue
        j = joint[d]
        own = motion[d, 3] / (1.0 + armature[d] * motion[d, 3])
        speed = motion[d, 0]
        error = target[d] + late * target_rate[d] - values[d]
        # what is passive counts neither against a limited effort nor does it change a prescribed motion
        alone = passive and (drive[d] == IMPOSED or math.isfinite(effort[d]))
        together = gains > 0.0 and not alone  # dampers beside motors are theirs
        pulled, given = 0.0, 0.0
        if passive:
            pulled, given = _passive_row(
                spring[d], 0.0 if together else damping[d], armature[d], rest[d] - values[d], speed,
                motion[d, 1], own, h, weight,
            )  # fmt: skip
        if drive[d] == IMPOSED:
            near = max(lower[d] - values[d], min(error, upper[d] - values[d]))
            rate = target_rate[d] if near == error else 0.0  # a target beyond the limits waits at them
            asked = rate + _catch_up(near, effort[d], own, h)
            wanted = _within_limits(asked, values[d], lower[d], upper[d], h, stab)
            stopped[d] = near != error or wanted != asked
            bias[row] = speed - motion[d, 1] - wanted
            compliance[row] = NEARLY_HARD * own if math.isfinite(effort[d]) else 0.0
        elif gains > 0.0:
            bias[row], compliance[row] = spring_row(
                stiffness[d], rate_gain[d], 0.0 if alone else damping[d], error, target_rate[d], speed, own, h,
                weight,
            )  # fmt: skip
            if not alone:
                bias[row], compliance[row] = _side_by_side(bias[row], compliance[row], pulled, given)
        elif not alone:
            bias[row], compliance[row] = pulled, given
        if drive[d] == IMPOSED or gains > 0.0 or not alone:
            bound[row] = h * effort[d]
            _place(start[0] + row - start[1], row, joint_bodies, j, rates, d, 1.0, DRIVE + np.uint64(d), placed)
            is_soft = is_soft or compliance[row] > 0.0
            row += 1
        if alone:
            bias[row], compliance[row] = pulled, given
            name = DRIVE + _DAMPER + np.uint64(d)
            _place(start[0] + row - start[1], row, joint_bodies, j, rates, d, 1.0, name, placed)
            row, is_soft = row + 1, True
    return row, is_soft


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _passive_row(stiffness, damping, armature, error, speed, before, mobility, h, weight):
    """(bias, compliance) of a spring, a damper and armature side by side, compliance 0 for none of them.

    error: of the spring [m, rad]; speed: of the row before its impulses, before: at the start of the step."""
    bias, compliance = 0.0, 0.0
    if stiffness + damping > 0.0:
        bias, compliance = spring_row(stiffness, 0.0, damping, error, 0.0, speed, mobility, h, weight)
    if armature > 0.0:
        # the rate at the end of the step is the row's and what rows turned since its start, as with dry friction
        bias, compliance = _side_by_side(bias, compliance, speed - 2.0 * before, 1.0 / armature)
    return bias, compliance


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _side_by_side(bias, compliance, other_bias, other):
    """(bias, compliance) of the row whose reaction is the sum of two, λ = −(v + b)/E each; E = 0: there is none."""
    if compliance == 0.0:
        return other_bias, other
    if other == 0.0:
        return bias, compliance
    share = other / (compliance + other)  # of the first
    return share * bias + (1.0 - share) * other_bias, share * compliance


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _fill_limits(
    joint_bodies, freedoms, coordinates, motion, h, weight, stab, soft, block, row, placed, bias, compliance
):
    """Unilateral rows of the limits that are near (Tsounis et al. 2024, eq. 28–31); returns (how many, is any
    compliant?)."""
    joint, _, _, _, lower, upper, _, _, drive, _, _, effort, bounce, _, _, _ = freedoms
    values, rates = coordinates[0], coordinates[1]
    count, is_soft = 0, False
    for side in range(2):
        sign = 1.0 - 2.0 * side
        for d in range(len(joint)):
            bound = upper[d] if side else lower[d]
            if not math.isfinite(bound) or (drive[d] == IMPOSED and not math.isfinite(effort[d])):
                continue  # prescribed motion stops at limits by itself
            speed = sign * motion[d, 2]
            gap = sign * (values[d] - bound)
            if gap > max(_LIMIT_MARGIN, -_LIMIT_HORIZON * h * speed):
                continue
            r = row + count
            _place(block + count, r, joint_bodies, joint[d], rates, d, sign, LIMIT + np.uint64(2 * d + side), placed)
            # what is still open stays hard, but for springs: it may close within the step and no further
            if soft[d, 0] == SPRING or (soft[d, 0] != HARD and gap <= 0.0):
                bias[r], compliance[r] = soft_stop(soft[d], gap, speed, motion[d, 3], h, weight)
                is_soft = True
            else:
                bias[r] = limit_bias(stab, gap, speed, bounce[d], h)
            count += 1
    return count, is_soft


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _catch_up(error, effort, mobility, h):
    """Speed added to a prescribed motion that is off by this error, at the time of the rows (Mangoni, thesis, eq.
    3.21).

    error/h is all of it. Under Moreau's midpoint both eigenvalues of what that does to errors are zero: after a jump
    the target is reached in two steps, without ringing, which solving q⁺ = q* for v⁺ would not do. A drive of limited
    effort comes at the speed it can brake from: with more it would swing about its target. The mobility is that of
    free bodies; joined ones are up to some four times heavier, hence a quarter of the acceleration."""
    fast = abs(error) / h
    if math.isfinite(effort):
        fast = min(fast, math.sqrt(0.5 * effort * mobility * abs(error)))
    return math.copysign(fast, error)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _within_limits(rate, coordinate, lower, upper, h, stab):
    """The rate, or what of it the joint's limits leave: two hard rows that contradict each other have no solution."""
    low = -_room(stab, coordinate - lower, h) if math.isfinite(lower) else -math.inf
    high = _room(stab, upper - coordinate, h) if math.isfinite(upper) else math.inf
    return max(low, min(rate, high))


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _room(stab, gap, h):
    """The fastest approach to a limit [m/s, rad/s]; beyond it the slowest way back, negative."""
    return gap / h if gap >= 0.0 else max(stab[1] * gap / h, -stab[4])
