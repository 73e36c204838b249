"""Robots without loops: an arm of seven joints, a quadruped, a droid on two legs, a humanoid."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from delassus.builder import Body, Motor
from delassus.scenes.machines.judge import machine_scene, setup_of
from delassus.scenes.machines.kit import Machine, X, Y, Z
from delassus.scenes.scene import Setup

Wave = Annotated[float, "amplitude of the joints' motion [rad]; 0: they hold their pose"]
Stiffness = Annotated[float, "of the motors [N m/rad]"]


def arm7d(*, wave: Wave = 0.3, stiffness: Stiffness = 2000.0) -> Setup:
    """Eight bodies: a base bolted to the floor and seven links, axes alternately upright and across."""
    arm = Machine(19.54, 1.0, Motor(stiffness, 0.05 * stiffness), wave)
    parent = arm.block("base", (0, 0, 0.1), (0.3, 0.3, 0.2), arm.heaviest)
    arm.mount(parent)
    at = np.array([0.0, 0.0, 0.2])
    for k in range(7):
        to = at + (np.array([0.04, 0.0, 0.18]) if k % 2 else np.array([0.0, 0.0, 0.16]))
        mass = arm.lightest if k == 6 else arm.between(0.85 - 0.13 * k)
        parent = arm.link(f"link-{k + 1}", parent, at, to, Y if k % 2 else Z, mass, phase=0.9 * k, thick=0.04)
        at = to
    return setup_of(arm)


def quadruped(*, wave: Wave = 0.0, stiffness: Stiffness = 400.0) -> Setup:
    """Thirteen bodies: a trunk and four legs of hip, thigh and shin."""
    dog = Machine(29.07 * 0.4, 0.4, Motor(stiffness, 0.05 * stiffness), wave, 1.0)
    dog.ground()
    trunk = dog.block("trunk", (0, 0, 0.45), (0.6, 0.25, 0.12), dog.heaviest)
    for k, (front, left) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        name = ("front-" if front > 0 else "hind-") + ("left" if left > 0 else "right")
        hip = np.array([0.25 * front, 0.12 * left, 0.43])
        knee_top = hip + [0.0, 0.06 * left, 0.0]
        knee, foot = knee_top + [-0.08, 0.0, -0.2], knee_top + [0.0, 0.0, -0.405]
        phase = np.pi * (k in (1, 2))
        side = dog.link(f"{name}-hip", trunk, hip, knee_top, X, dog.between(0.3), phase=phase, thick=0.025)
        thigh = dog.link(f"{name}-thigh", side, knee_top, knee, Y, dog.between(0.35), phase=phase)
        dog.link(f"{name}-shin", thigh, knee, foot, Y, dog.lightest, phase=phase, touches=True)
    return setup_of(dog)


def bdx(*, wave: Wave = 0.0, stiffness: Stiffness = 600.0) -> Setup:
    """Fifteen bodies: a trunk, two legs of five joints and a neck of four."""
    droid = Machine(42.49 * 0.2, 0.2, Motor(stiffness, 0.05 * stiffness), wave)
    droid.ground()
    trunk = droid.block("trunk", (0, 0, 0.45), (0.25, 0.2, 0.2), droid.heaviest)
    for name, left in (("left", 1.0), ("right", -1.0)):
        _leg(droid, name, trunk, np.array([0.0, 0.09 * left, 0.38]), (Z, X, Y, Y, Y), 0.38, droid.between(0.55))
    _spine(droid, "neck", trunk, np.array([0.1, 0.0, 0.55]), (Y, Y, Z, X), 0.08, droid.lightest)
    return setup_of(droid)


def lima(*, wave: Wave = 0.0, stiffness: Stiffness = 3000.0) -> Setup:
    """Twenty-one bodies: a humanoid of pelvis, chest, head, two legs of six joints and two arms of three."""
    man = Machine(321.39 * 0.1, 0.1, Motor(stiffness, 0.05 * stiffness), wave)
    man.ground()
    pelvis = man.block("pelvis", (0, 0, 0.9), (0.2, 0.3, 0.15), man.heaviest)
    for name, left in (("left", 1.0), ("right", -1.0)):
        _leg(man, name, pelvis, np.array([0.0, 0.1 * left, 0.84]), (Z, X, Y, Y, Y, X), 0.84, man.between(0.8))
    chest = man.link("chest", pelvis, (0, 0, 0.98), (0, 0, 1.35), Z, man.between(0.9), thick=0.08)
    man.link("head", chest, (0, 0, 1.42), (0, 0, 1.6), Y, man.between(0.5), thick=0.07)
    for name, left in (("left", 1.0), ("right", -1.0)):
        shoulder = np.array([0.0, 0.2 * left, 1.33])
        upper = man.link(f"{name}-shoulder", chest, shoulder, shoulder + [0, 0.06 * left, 0], Y, man.between(0.4))
        elbow = shoulder + [0, 0.06 * left, -0.28]
        arm = man.link(f"{name}-arm", upper, shoulder + [0, 0.06 * left, 0], elbow, X, man.between(0.5))
        man.link(f"{name}-hand", arm, elbow, elbow + [0.05, 0, -0.25], Y, man.lightest)
    return setup_of(man)


def _leg(
    machine: Machine, name: str, trunk: Body, hip: np.ndarray, axes: Sequence[np.ndarray], drop: float, mass: float
) -> Body:
    """A leg of len(axes) joints: short links for the crossed axes of hip and ankle, thigh and shin between, and a flat
    foot whose sole is `drop` below the hip."""
    short, sole = 0.03, 0.04
    long = (drop - (len(axes) - 3) * short - sole) / 2
    lengths = [short] * (len(axes) - 1)
    lengths[2], lengths[3] = long, long
    parent, at = trunk, np.asarray(hip, float)
    for k, (axis, length) in enumerate(zip(axes[:-1], lengths)):
        to = at - length * Z
        share = 1.0 if length == long else 0.4
        parent = machine.link(f"{name}-leg-{k + 1}", parent, at, to, axis, share * mass, thick=0.012, phase=0.5 * k)
        at = to
    foot = machine.block(f"{name}-foot", (at[0] + 0.03, at[1], sole / 2), (0.22, 0.1, sole), 0.5 * mass, touches=True)
    machine.hinge(f"{name}-ankle", parent, foot, at, axes[-1], True, 0.0, 0.0)
    return foot


def _spine(
    machine: Machine, name: str, trunk: Body, at: np.ndarray, axes: Sequence[np.ndarray], length: float, lightest: float
) -> None:
    """A chain of short links upwards, the last one the lightest."""
    parent = trunk
    for k, axis in enumerate(axes):
        to = at + length * Z
        mass = lightest if k == len(axes) - 1 else machine.between(0.3)
        parent = machine.link(f"{name}-{k + 1}", parent, at, to, axis, mass, phase=0.7 * k)
        at = to


SCENES = (
    machine_scene("arm7d", "an arm of seven driven joints on a pedestal, waving", arm7d),
    machine_scene("quadruped", "a four-legged robot standing on its motors", quadruped, stands=0.3),
    machine_scene("bdx", "a droid on two legs, standing", bdx, stands=0.3),
    machine_scene("lima", "a humanoid of twenty joints, standing", lima, stands=0.6),
)
