"""Rows of motors, damping and prescribed motion."""

import math

import numpy as np
from numba import njit

from delassus.dynamics.row import DRIVE, NEARLY_HARD, place, row_mobility, row_rate
from delassus.dynamics.spring import spring_row
from delassus.joints.arrays import IMPOSED, PD

_DAMPER = np.uint64(1 << 32)  # added to the name of a drive whose damping has a row of its own


@njit(cache=True, error_model="numpy")
def fill_drives(
    joint_bodies, freedoms, coordinates, rates, rates_before, target, target_rate, late, u, half, h, is_midpoint, stab,
    rotation, masses, block, row, bodies, names, sizes, rows, bias, compliance, bound, stopped,
):  # fmt: skip
    """Motors, damping and prescribed motion as bilateral rows; returns (next row, whether any is compliant).

    rates_before: at the start of the step; late: time from the one the targets are for to the one of the rows [s]; u,
    half: (n_b, 6) before the step and after the first half of its gyroscopic moment, between which and the velocities
    after the solve impulses work; bound: per row, the largest reaction [N s]; stopped: per coordinate, does a limit
    stop its prescribed motion?"""
    joint, _, _, _, lower, upper, damping, _, drive, stiffness, rate_gain, effort, _ = freedoms
    is_soft = False
    for d in range(len(joint)):
        gains = stiffness[d] + rate_gain[d] if drive[d] == PD else 0.0
        if drive[d] != IMPOSED and gains + damping[d] <= 0.0:
            continue
        pair = joint_bodies[joint[d]]
        own, speed = row_mobility(pair, rates[d], rotation, masses), row_rate(pair, rates[d], half)
        error = target[d] + late * target_rate[d] - coordinates[d]
        # damping counts neither against a limited effort nor does it change a prescribed motion
        alone = damping[d] > 0.0 and (drive[d] == IMPOSED or math.isfinite(effort[d]))
        if drive[d] == IMPOSED:
            near = max(lower[d] - coordinates[d], min(error, upper[d] - coordinates[d]))
            rate = target_rate[d] if near == error else 0.0  # a target beyond the limits waits at them
            asked = rate + _catch_up(near, effort[d], own, h)
            wanted = _within_limits(asked, coordinates[d], lower[d], upper[d], h, stab)
            stopped[d] = near != error or wanted != asked
            bias[row] = speed - row_rate(pair, rates_before[d], u) - wanted
            compliance[row] = NEARLY_HARD * own if math.isfinite(effort[d]) else 0.0
        elif gains > 0.0 or not alone:
            bias[row], compliance[row] = spring_row(
                stiffness[d], rate_gain[d], 0.0 if alone else damping[d], error, target_rate[d], speed, own, h,
                is_midpoint,
            )  # fmt: skip
        if drive[d] == IMPOSED or gains > 0.0 or not alone:
            bound[row] = h * effort[d]
            rows[row, :] = rates[d]
            place(block, pair, DRIVE + np.uint64(d), 1, bodies, names, sizes)
            is_soft = is_soft or compliance[row] > 0.0
            block, row = block + 1, row + 1
        if alone:
            bias[row], compliance[row] = spring_row(0.0, 0.0, damping[d], 0.0, 0.0, speed, own, h, is_midpoint)
            rows[row, :] = rates[d]
            place(block, pair, DRIVE + _DAMPER + np.uint64(d), 1, bodies, names, sizes)
            is_soft = True
            block, row = block + 1, row + 1
    return row, is_soft


@njit(cache=True, error_model="numpy")
def _catch_up(error, effort, mobility, h):
    """Speed added to a prescribed motion that is off by this error, at the time of the rows (000 eq. 3.21).

    error/h is all of it. Under Moreau's midpoint both eigenvalues of what that does to errors are zero: after a jump
    the target is reached in two steps, without ringing, which solving q⁺ = q* for v⁺ would not do. A drive of limited
    effort comes at the speed it can brake from: with more it would swing about its target. The mobility is that of
    free bodies; joined ones are up to some four times heavier, hence a quarter of the acceleration."""
    fast = abs(error) / h
    if math.isfinite(effort):
        fast = min(fast, math.sqrt(0.5 * effort * mobility * abs(error)))
    return math.copysign(fast, error)


@njit(cache=True, error_model="numpy")
def _within_limits(rate, coordinate, lower, upper, h, stab):
    """The rate, or what of it the joint's limits leave: two hard rows that contradict each other have no solution."""
    low = -_room(stab, coordinate - lower, h) if math.isfinite(lower) else -math.inf
    high = _room(stab, upper - coordinate, h) if math.isfinite(upper) else math.inf
    return max(low, min(rate, high))


@njit(cache=True, error_model="numpy")
def _room(stab, gap, h):
    """The fastest approach to a limit [m/s, rad/s]; beyond it the slowest way back, negative."""
    return gap / h if gap >= 0.0 else max(stab[1] * gap / h, -stab[4])
