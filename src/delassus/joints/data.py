"""What kernels read of joints, by name.

`JointArrays` gives plain tuples of these fields: Numba takes 8 µs to look at a named tuple that Python hands it, and
none for a plain one. Kernels name them: `joints = JointRows(*joints)`, which accepts either.
"""

from typing import NamedTuple

import numpy as np


class JointRows(NamedTuple):
    """Of n_j joints with m rows: see `JointArrays`."""

    bodies: np.ndarray  # (n_j, 2)
    origin: np.ndarray  # (n_j, 2, 3) [m]
    axes: np.ndarray  # (n_j, 2, 3, 3)
    length: np.ndarray  # (n_j,) [m]
    start: np.ndarray  # (n_j + 1,) first row of each
    primitive: np.ndarray  # (m,)
    base_axis: np.ndarray  # (m,)
    follower_axis: np.ndarray  # (m,)


class Frames(NamedTuple):
    """World frames of joints on base and follower."""

    origin: np.ndarray  # (n_j, 2, 3) [m]
    axes: np.ndarray  # (n_j, 2, 3, 3) as columns
    centre: np.ndarray  # (n_j, 2, 3) centres of mass of the two bodies [m]


class Ends(NamedTuple):
    """Frames of one joint on its base and its follower."""

    xa: np.ndarray  # (3,) origin on the base [m]
    A: np.ndarray  # (3, 3) its axes as columns
    ca: np.ndarray  # (3,) centre of mass of the base [m]
    xb: np.ndarray
    B: np.ndarray
    cb: np.ndarray


class Axes(NamedTuple):
    """What each of n_d joint coordinates measures."""

    bodies: np.ndarray  # (n_j, 2)
    joint: np.ndarray  # (n_d,)
    primitive: np.ndarray  # (n_d,)
    axis: np.ndarray  # (n_d,)


class Angles(NamedTuple):
    """What turns are counted by: half the arguments of all, half the time of the call."""

    bodies: np.ndarray  # (n_j, 2)
    origin: np.ndarray  # (n_j, 2, 3) [m]
    axes: np.ndarray  # (n_j, 2, 3, 3)
    joint: np.ndarray  # (n_d,) as the others below
    primitive: np.ndarray
    axis: np.ndarray
    counted: np.ndarray  # does it count turns?


class Freedoms(NamedTuple):
    """Of n_d joint coordinates, and of lengths of tendons behind them: see `JointArrays`."""

    bodies: np.ndarray  # (n_j, 2) of the joints
    joint: np.ndarray  # (n_d,) as all that follow
    primitive: np.ndarray
    axis: np.ndarray
    counted: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    damping: np.ndarray
    friction: np.ndarray
    drive: np.ndarray
    stiffness: np.ndarray
    rate_gain: np.ndarray
    effort: np.ndarray
    limit_restitution: np.ndarray
    spring: np.ndarray
    rest: np.ndarray
    armature: np.ndarray


class Rotors(NamedTuple):
    """Coordinates with armature in a step."""

    geared: np.ndarray  # (n_g,) their numbers
    bodies: np.ndarray  # (n_g, 2)
    armature: np.ndarray  # (n_g,) [kg, kg m²]
    rates: np.ndarray  # (n_d, 12) rate rows of all coordinates
    inverse: np.ndarray  # (n_b, 6, 6) of the masses
