"""Rows of the joints, and of the coordinates they leave and lengths of tendons: motors, damping, springs, armature and
prescribed motion, dry friction, limits that are near.

Armature a, what a geared rotor adds, is the momentum a q̇ of the coordinate itself: λ = −a (q̇⁺ − q̇⁻), a row of
compliance 1/a. Masses of bodies stay blocks of 6×6. What acts along one coordinate side by side (motor, spring, damper,
armature) is one row whose reaction is their sum.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.dynamics.rows import (
    DRIVE,
    FRICTION,
    JOINT,
    LIMIT,
    NEARLY_HARD,
    Motion,
    RowArrays,
    Rule,
    Turning,
    row_mobility,
    row_rate,
)
from delassus.dynamics.softness import soft_stop, spring_row
from delassus.dynamics.stabilisation import Pushing, limit_bias
from delassus.dynamics.turns import nearest_rotations, unwrap
from delassus.joints.arrays import IMPOSED, PD
from delassus.joints.data import Angles, Freedoms, JointRows
from delassus.joints.primitives import empty_frames, evaluate_constraints, evaluate_coordinates, joint_frames
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.softening import HARD, SPRING
from delassus.spatial import matrices_of

_DAMPER = np.uint64(1 << 32)  # added to the name of a drive whose damping, spring and armature have a row of their own
_LIMIT_HORIZON = 4.0  # a limit enters the problem when it could be reached within this many steps at the present rate
_LIMIT_MARGIN = 1e-3  # … or is this near [m, rad]


class Coordinates(NamedTuple):
    """Joint coordinates where rows are evaluated, lengths of tendons behind them, n in all."""

    values: np.ndarray  # (n,) turns counted [m, rad]
    rates: np.ndarray  # (n, 12) rate rows
    rates_before: np.ndarray  # (n_d, 12) of joint coordinates at the start of the step
    of_lengths: np.ndarray  # (n − n_d, 4) how lengths move, see `_fill_speeds`


class Targets(NamedTuple):
    """What drives are told."""

    value: np.ndarray  # (n,) [m, rad]
    rate: np.ndarray  # (n,) [m/s, rad/s]
    late: float  # time from the one they are for to the one of the rows [s]


@njit(cache=True, error_model="numpy", **ADDRESSED)
def fill_joints(joints, angles, before, motion, rule, out, turning, coordinates):
    """Rows as if all joints were hard, and the joint coordinates; returns 0.

    joints, angles: fields of `JointRows` and `Angles`; before: poses (n_b, 7) and turns (n_d,) at the start of the
    step; motion, rule: of `Motion`, `Rule`; written: out: of `RowArrays`, compliance and bound left alone; turning: of
    `Turning`; coordinates: values (n_d,), rates and rates before (n_d, 12), of `Coordinates`."""
    of, free, (q, turns), motion = JointRows(*joints), Angles(*angles), before, Motion(*motion)
    rule, out, turning = Rule(*rule), RowArrays(*out), Turning(*turning)
    values, rates, rates_before = coordinates
    feedback, frames = Pushing(*rule.pushing).joint, empty_frames(len(of.bodies))
    axes = of.bodies, free.joint, free.primitive, free.axis
    rows_before, other = np.empty((len(turning.residual), 12)), np.empty((len(q), 3, 3))
    earlier = np.empty(len(values))
    # the joints' errors are taken before the step: a midpoint predicted along straight lines has errors of its own
    matrices_of(q, 3, other)
    joint_frames(of.bodies, of.origin, of.axes, q, other, frames)
    evaluate_constraints(of, frames, turning.residual, rows_before)
    evaluate_coordinates(axes, frames, earlier, rates_before)
    for d in range(len(earlier)):
        earlier[d] += 2.0 * math.pi * turns[d]
    joint_frames(of.bodies, of.origin, of.axes, motion.at, motion.rotation, frames)
    evaluate_constraints(of, frames, turning.later, out.rows)
    evaluate_coordinates(axes, frames, values, rates)
    unwrap(free, earlier, rates, motion.u, motion.elapsed, values)
    for j in range(len(of.bodies)):
        out.bodies[j, 0], out.bodies[j, 1], out.names[j] = of.bodies[j, 0], of.bodies[j, 1], JOINT + np.uint64(j)
        for r in range(of.start[j], of.start[j + 1]):
            # Velocities that obey the joints at the *end* of the step, half a step and half a gyroscopic moment beyond
            # those of the solve, differ from them by what rows and velocities turned since its start. Without this
            # term the projection onto the turned joints loses energy at first order: 0.56 J of a double pendulum's in
            # three seconds at h = 1 ms, instead of 0.0007 J.
            now = row_rate(of.bodies, j, out.rows, r, motion.half)
            turning.bend[r] = now - row_rate(of.bodies, j, rows_before, r, motion.u)
            out.bias[r] = feedback * turning.residual[r] / rule.h + turning.bend[r]
    return np.int64(0)


@njit(cache=True, error_model="numpy", **ADDRESSED)
def fill_coordinates(freedoms, soft, coordinates, targets, motion, rule, first, out):
    """Drives and dry friction as bilateral rows, then limits. Returns 0.

    freedoms: fields of `Freedoms`; soft: (n, WIDTH) of the limits; coordinates, targets: of `Coordinates`, `Targets`;
    motion, rule: of `Motion`, `Rule`; first: block and row; out: fields of `RowArrays`; stopped (n,): does a limit stop
    the prescribed motion? counts (3,): bilateral blocks, limits, is any compliant?"""
    rows, stopped, counts = out
    of, coordinates, rows = Freedoms(*freedoms), Coordinates(*coordinates), RowArrays(*rows)
    motion, rule = Motion(*motion), Rule(*rule)
    speeds = np.empty((len(of.joint), 4))
    _fill_speeds(of, coordinates, motion, speeds)
    block, row = first
    row, is_soft = _fill_drives(of, coordinates, targets, speeds, rule, first, rows, stopped)
    for d in range(len(of.joint)):
        if of.friction[d] <= 0.0:
            continue
        # What sticks does not move at the *end* of the step: the rate there differs from that of the rows by what they
        # turned since its start, as with the joints themselves. Without it friction that sticks works at first order.
        _place(rows, block + row - first[1], row, of, d, coordinates.rates, 1.0, FRICTION + np.uint64(d))
        rows.bias[row] = speeds[d, 0] - speeds[d, 1]
        rows.bound[row] = rule.h * of.friction[d]
        rows.compliance[row] = NEARLY_HARD * speeds[d, 3]
        row, is_soft = row + 1, True
    bilateral = block + row - first[1]
    limits, softened = _fill_limits(of, soft, coordinates, speeds, rule, (bilateral, row), rows)
    counts[0], counts[1], counts[2] = bilateral, limits, is_soft or softened
    return np.int64(0)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _fill_speeds(of, coordinates, motion, speeds):
    """(n, 4) of each coordinate: its rate by `half` along the rows, by u along those at the start of the step and along
    the rows [m/s, rad/s], and its mobility [1/kg]; of lengths, the last ones, as they come."""
    rates, rates_before = coordinates.rates, coordinates.rates_before
    own, masses = len(rates_before), (motion.rotation, motion.inverse_mass, motion.inverse_inertia)
    for d in range(own):
        j = of.joint[d]
        speeds[d, 0] = row_rate(of.bodies, j, rates, d, motion.half)
        speeds[d, 1] = row_rate(of.bodies, j, rates_before, d, motion.u)
        speeds[d, 2] = row_rate(of.bodies, j, rates, d, motion.u)
        speeds[d, 3] = row_mobility(of.bodies, j, rates, d, masses)
    for k in range(len(coordinates.of_lengths)):
        for i in range(4):
            speeds[own + k, i] = coordinates.of_lengths[k, i]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _place(out, block, row, of, d, rates, sign, name):
    """Row ± rates[d] of a coordinate's joint, under this name."""
    j = of.joint[d]
    out.bodies[block, 0], out.bodies[block, 1], out.names[block] = of.bodies[j, 0], of.bodies[j, 1], name
    for k in range(12):
        out.rows[row, k] = sign * rates[d, k]


@njit(cache=True, error_model="numpy")
def _fill_drives(of, coordinates, targets, speeds, rule, first, out, stopped):
    """Motors, damping, springs, armature and prescribed motion; returns (next row, is any compliant?)."""
    targets, values, rates, h = Targets(*targets), coordinates.values, coordinates.rates, rule.h
    lower, upper, drive, effort, armature = of.lower, of.upper, of.drive, of.effort, of.armature
    bias, compliance = out.bias, out.compliance
    target = nearest_rotations(of, values, targets.value)
    row, is_soft = first[1], False
    for d in range(len(of.joint)):
        gains = of.stiffness[d] + of.rate_gain[d] if drive[d] == PD else 0.0
        passive = of.damping[d] + of.spring[d] + armature[d] > 0.0
        if drive[d] != IMPOSED and gains <= 0.0 and not passive:
            continue
        own = speeds[d, 3] / (1.0 + armature[d] * speeds[d, 3])
        speed, before = speeds[d, 0], speeds[d, 1]
        error = target[d] + targets.late * targets.rate[d] - values[d]
        # what is passive counts neither against a limited effort nor does it change a prescribed motion
        alone = passive and (drive[d] == IMPOSED or math.isfinite(effort[d]))
        together = gains > 0.0 and not alone  # dampers beside motors are theirs
        pulled, yielding = 0.0, 0.0
        if passive:
            spring = of.spring[d], 0.0, 0.0 if together else of.damping[d]
            pulled, yielding = _passive_row(spring, armature[d], of.rest[d] - values[d], (speed, before), own, rule)
        if drive[d] == IMPOSED:
            near = max(lower[d] - values[d], min(error, upper[d] - values[d]))
            rate = targets.rate[d] if near == error else 0.0  # a target beyond the limits waits at them
            asked = rate + _catch_up(near, effort[d], own, h)
            wanted = _within_limits(asked, values[d], lower[d], upper[d], rule)
            stopped[d] = near != error or wanted != asked
            bias[row] = speed - before - wanted
            compliance[row] = NEARLY_HARD * own if math.isfinite(effort[d]) else 0.0
        elif gains > 0.0:
            gain = of.stiffness[d], of.rate_gain[d], 0.0 if alone else of.damping[d]
            bias[row], compliance[row] = spring_row(gain, error, targets.rate[d], speed, own, h, rule.weight)
            if not alone:
                bias[row], compliance[row] = _side_by_side(bias[row], compliance[row], pulled, yielding)
        elif not alone:
            bias[row], compliance[row] = pulled, yielding
        if drive[d] == IMPOSED or gains > 0.0 or not alone:
            out.bound[row] = h * effort[d]
            _place(out, first[0] + row - first[1], row, of, d, rates, 1.0, DRIVE + np.uint64(d))
            is_soft = is_soft or compliance[row] > 0.0
            row += 1
        if alone:
            bias[row], compliance[row] = pulled, yielding
            _place(out, first[0] + row - first[1], row, of, d, rates, 1.0, DRIVE + _DAMPER + np.uint64(d))
            row, is_soft = row + 1, True
    return row, is_soft


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _passive_row(spring, armature, error, speeds, mobility, rule):
    """(bias, compliance) of a spring, a damper and armature side by side, compliance 0 for none of them.

    spring: stiffness, 0, damping; error: of the spring [m, rad]; speeds: of the row before its impulses, and at the
    start of the step."""
    bias, compliance = 0.0, 0.0
    if spring[0] + spring[2] > 0.0:
        bias, compliance = spring_row(spring, error, 0.0, speeds[0], mobility, rule.h, rule.weight)
    if armature > 0.0:
        # the rate at the end of the step is the row's and what rows turned since its start, as with dry friction
        bias, compliance = _side_by_side(bias, compliance, speeds[0] - 2.0 * speeds[1], 1.0 / armature)
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
def _fill_limits(of, soft, coordinates, speeds, rule, first, out):
    """Unilateral rows of the limits that are near (Tsounis et al. 2024, eq. 28–31); returns (how many, is any
    compliant?)."""
    values, rates, h = coordinates.values, coordinates.rates, rule.h
    count, is_soft = 0, False
    for side in range(2):
        sign = 1.0 - 2.0 * side
        for d in range(len(of.joint)):
            bound = of.upper[d] if side else of.lower[d]
            if not math.isfinite(bound) or (of.drive[d] == IMPOSED and not math.isfinite(of.effort[d])):
                continue  # prescribed motion stops at limits by itself
            speed = sign * speeds[d, 2]
            gap = sign * (values[d] - bound)
            if gap > max(_LIMIT_MARGIN, -_LIMIT_HORIZON * h * speed):
                continue
            r = first[1] + count
            _place(out, first[0] + count, r, of, d, rates, sign, LIMIT + np.uint64(2 * d + side))
            # what is still open stays hard, but for springs: it may close within the step and no further
            if soft[d, 0] == SPRING or (soft[d, 0] != HARD and gap <= 0.0):
                out.bias[r], out.compliance[r] = soft_stop(soft[d], gap, speed, speeds[d, 3], h, rule.weight)
                is_soft = True
            else:
                out.bias[r] = limit_bias(rule.pushing, gap, speed, of.limit_restitution[d], h)
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
def _within_limits(rate, coordinate, lower, upper, rule):
    """The rate, or what of it the joint's limits leave: two hard rows that contradict each other have no solution."""
    low = -_fastest(coordinate - lower, rule) if math.isfinite(lower) else -math.inf
    high = _fastest(upper - coordinate, rule) if math.isfinite(upper) else math.inf
    return max(low, min(rate, high))


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _fastest(gap, rule):
    """The fastest approach to a limit [m/s, rad/s]; beyond it the slowest way back, negative."""
    by = Pushing(*rule.pushing)
    return gap / rule.h if gap >= 0.0 else max(by.limit * gap / rule.h, -by.depenetration_speed)
