"""Which joints of a model make a spanning forest: those that joint coordinates can take the place of.

A joint of the forest puts its follower where its base and its coordinates say, so that none of its rows has to be
solved for. Every body hangs on one joint at most; where joints close loops, the first one that is met from the roots on
is of the forest, and the others stay rows. Roots are the world and bodies that are nobody's follower; a ring of bodies
of which each follows another has a floating root where it is met first.

A coordinate of the forest is a motion of the joint's frame: slides along its axes, then turns. What turns in three ways
(spherical joints, floating bodies) has a quaternion instead of angles.
"""

from typing import NamedTuple

import numpy as np

from delassus.joints.arrays import JointArrays
from delassus.joints.primitives import SLIDE
from delassus.spatial import matrix_to_quaternion

STIFF, ABOUT_Z, ABOUT_XY, BALL, ROLLING, FREE = range(6)
"""How a follower turns against its base: not, about z, about the base's x and then its own y (universal joint), any
way, as one circle rolls on another; any way and place: a floating body."""

TURNING = {
    "fixed": STIFF,
    "prismatic": STIFF,
    "cartesian": STIFF,
    "revolute": ABOUT_Z,
    "cylindrical": ABOUT_Z,
    "planar": ABOUT_Z,
    "universal": ABOUT_XY,
    "spherical": BALL,
    "rolling": ROLLING,
}
"""Kinds of joints that a forest may hold."""

_TURNS = {STIFF: 0, ABOUT_Z: 1, ABOUT_XY: 2, BALL: 3, ROLLING: 1, FREE: 6}  # velocities beside slides
_TURNS_PLACES = {**_TURNS, BALL: 4, FREE: 7}  # coordinates beside slides


class Tree(NamedTuple):
    """A spanning forest of n_b bodies with n_v velocities and n_q coordinates, for compiled code.

    order: (n_b,) bodies, bases first; base: (n_b,) the body each hangs on, −1 for the world or none; root: (n_b,) the
    first body of its tree; joint: (n_b,) −1 for floating bodies; turning: (n_b,) see above; first: (n_b,) of its
    velocities, place: (n_b,) of its coordinates; slides, freedoms: (n_b,) how many velocities it has that are slides,
    and in all.
    at_base, at_follower: (n_b, 3) the joint's origins [m], frame_base, frame_follower: (n_b, 4) its frames as
    quaternions, in the bodies' own frames; length: (n_b,) of rolling joints [m]; axis: (n_v,) of slides, 0, 1 or 2.
    of_body: (n_v,) whose velocity it is; before: (n_v,) the one that comes before it on the way to the root, −1 for
    none; last: (n_b,) the last velocity that moves the body, −1 where nothing does. n_q: how many coordinates.
    holds: (n_j,) which joints are of the forest."""

    order: np.ndarray
    base: np.ndarray
    root: np.ndarray
    joint: np.ndarray
    turning: np.ndarray
    first: np.ndarray
    place: np.ndarray
    slides: np.ndarray
    freedoms: np.ndarray
    at_base: np.ndarray
    at_follower: np.ndarray
    frame_base: np.ndarray
    frame_follower: np.ndarray
    length: np.ndarray
    axis: np.ndarray
    of_body: np.ndarray
    before: np.ndarray
    last: np.ndarray
    n_q: int
    holds: np.ndarray


def spanning_forest(joints: JointArrays, bodies: int, may_join: np.ndarray | None = None) -> Tree:
    """The forest of these joints between so many bodies.  may_join: (n_j,) those that may be of it, all kinds that can
    unless given: soft joints may not."""
    joint_of, order = _hung(joints, bodies, may_join)
    n = bodies
    base, root, turning = np.full(n, -1), np.arange(n), np.full(n, FREE)
    slides, count, places = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    at, frame, length = np.zeros((2, n, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (2, n, 1)), np.zeros(n)
    axis: list[int] = []
    before: list[int] = []
    of_body: list[int] = []
    first, place, last = np.zeros(n, np.int64), np.zeros(n, np.int64), np.full(n, -1)
    n_q = 0
    for b in order:
        j = joint_of[b]
        if j >= 0:
            base[b], turning[b] = joints.bodies[j, 0], TURNING[joints.kinds[j]]
            own = slice(joints.coordinate_start[j], joints.coordinate_start[j + 1])
            sliding = joints.coordinate_axis[own][joints.coordinate_primitive[own] == SLIDE]
            slides[b], length[b] = len(sliding), joints.length[j]
            for side in range(2):
                at[side, b], frame[side, b] = joints.origin[j, side], matrix_to_quaternion(joints.axes[j, side])
        if base[b] >= 0:
            root[b], last[b] = root[base[b]], last[base[b]]
        count[b], places[b] = slides[b] + _TURNS[turning[b]], slides[b] + _TURNS_PLACES[turning[b]]
        first[b], place[b], n_q = len(before), n_q, n_q + places[b]
        for k in range(count[b]):
            before.append(last[b])
            of_body.append(b)
            axis.append(int(sliding[k]) if k < slides[b] else 2)
            last[b] = len(before) - 1
    return Tree(
        np.array(order, np.int64),
        base,
        root,
        joint_of,
        turning,
        first,
        place,
        slides,
        count,
        at[0],
        at[1],
        frame[0],
        frame[1],
        length,
        np.array(axis, np.int64),
        np.array(of_body, np.int64),
        np.array(before, np.int64),
        last,
        int(n_q),
        np.isin(np.arange(joints.count), joint_of),
    )


def _hung(joints: JointArrays, bodies: int, may_join: np.ndarray | None) -> tuple[np.ndarray, list[int]]:
    """(n_b,) the joint that each body hangs on, −1 for floating ones, and the bodies, bases first."""
    followed: dict[int, list[int]] = {}
    for j in range(joints.count):
        a, b = (int(x) for x in joints.bodies[j])
        if b >= 0 and b != a and joints.kinds[j] in TURNING and (may_join is None or may_join[j]):
            followed.setdefault(a, []).append(j)
    joint_of = np.full(bodies, -1)
    placed, order = np.zeros(bodies, bool), list[int]()

    def grow(start: int) -> None:
        waiting = [start]
        for a in waiting:  # breadth first: chains stay short
            for j in followed.get(a, ()):
                b = int(joints.bodies[j, 1])
                if not placed[b]:
                    placed[b], joint_of[b] = True, j
                    order.append(b)
                    waiting.append(b)

    grow(-1)
    follows = {int(joints.bodies[j, 1]) for group in followed.values() for j in group}
    for b in (*(b for b in range(bodies) if b not in follows), *range(bodies)):
        if not placed[b]:
            placed[b] = True
            order.append(b)
            grow(b)
    return joint_of, order
