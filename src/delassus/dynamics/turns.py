"""Angles that count turns.

Poses give an angle in (−π, π] only. What is added to it, 2π times a whole number of turns, lives in `State.turns` and
is carried from step to step: the new angle is the one nearest to where the old one and its rate say it is, so that a
rotor may pass several turns within a step.

| coordinates | range |
|---|---|
| angle of revolute, cylindrical and planar joints; first and second of universal joints | unlimited: turns counted |
| rotation_x, _y, _z of spherical joints | a rotation vector no longer than π, not counted |
"""

import math

import numpy as np

from delassus.joints.arrays import JointArrays
from delassus.joints.data import Angles, Freedoms
from delassus.joints.primitives import ROTVEC, empty_frames, evaluate_coordinates, joint_frames
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.spatial import matrices_of

_TURN = 2.0 * math.pi


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def unwrap(angles, before, rates, u, dt, values):
    """Put counted angles on the branch nearest to before + dt · rate, in place.

    angles: fields of `Angles`; before, values: (n_d,) [m, rad]; rates: (n_d, 12); u: (n_b, 6); dt: (n_b,) how long each
    body moved [s]."""
    of = Angles(*angles)
    for d in range(len(values)):
        if of.counted[d]:
            expected = before[d] + _way(of.bodies, of.joint[d], rates, d, u, dt)
            values[d] += _TURN * np.rint((expected - values[d]) / _TURN)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _way(bodies, j, rates, d, u, dt):
    """What a coordinate moves by when its bodies move for times dt (n_b,) [s]."""
    value = 0.0
    for side in range(2):
        b = bodies[j, side]
        if b >= 0:
            for k in range(6):
                value += dt[b] * rates[d, 6 * side + k] * u[b, k]
    return value


def turns_after(
    joints: JointArrays, q: np.ndarray, u: np.ndarray, values: np.ndarray, rates: np.ndarray, dt: np.ndarray
) -> np.ndarray:
    """Turns (n_d,) of the poses q, given the coordinates (n_d,) and their rate rows (n_d, 12) before the bodies moved
    for times dt (n_b,) [s]; zero where not counted.  q: (n_b, 7), u: (n_b, 6) the twists that led there."""
    if not joints.any_counted:
        return np.zeros(len(values), np.int64)
    turns = np.zeros(len(values), np.int64)
    count_turns(joints.angle_data, q, u, values, rates, dt, turns)
    return turns


@njit(cache=True, error_model="numpy", **ADDRESSED)
def count_turns(angles, q, u, values, rates, dt, turns):
    """turns: (n_d,), those that are counted are written. Returns 0.  angles: fields of `Angles`."""
    of, count = Angles(*angles), len(values)
    rotation, frames = np.empty((len(q), 3, 3)), empty_frames(len(of.bodies))
    now, rows = np.empty(count), np.empty((count, 12))
    matrices_of(q, 3, rotation)
    joint_frames(of.bodies, of.origin, of.axes, q, rotation, frames)
    evaluate_coordinates((of.bodies, of.joint, of.primitive, of.axis), frames, now, rows)
    for d in range(count):
        if of.counted[d]:
            expected = values[d] + _way(of.bodies, of.joint[d], rates, d, u, dt)
            turns[d] = np.rint((expected - now[d]) / _TURN)
    return np.int64(0)


@njit(cache=True, error_model="numpy")
def nearest_rotations(freedoms, values, target):
    """The targets (n_d,), those of rotation vectors replaced by the nearest vector of the same rotation: a rotation
    vector that grows beyond π comes back as its opposite, and its motor must not turn back a whole turn for that.
    freedoms: fields of `Freedoms`."""
    of, out = Freedoms(*freedoms), target
    for d in range(len(values)):
        if of.primitive[d] != ROTVEC or of.axis[d] != 0:
            continue
        length = math.sqrt(target[d] ** 2 + target[d + 1] ** 2 + target[d + 2] ** 2)
        if length == 0.0:
            continue
        along = (values[d] * target[d] + values[d + 1] * target[d + 1] + values[d + 2] * target[d + 2]) / length
        whole = np.rint((along - length) / _TURN)
        if whole != 0.0:
            out = target.copy() if out is target else out
            for k in range(d, d + 3):
                out[k] = target[k] * (1.0 + _TURN * whole / length)
    return out
