"""Figures with closed loops: push rods move limbs from cranks inside the body, as in animatronic figures."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from delassus.builder import Body, Motor
from delassus.scenes.machines.judge import machine_scene, setup_of
from delassus.scenes.machines.kit import Machine, X, Y, Z
from delassus.scenes.scene import Setup

Wave = Annotated[float, "amplitude of the joints' motion [rad]; 0: they hold their pose"]
Stiffness = Annotated[float, "of the motors [N m/rad]"]
_SIDES = (("left", 1.0), ("right", -1.0))
_R, _S = "revolute", "spherical"


def misha(*, wave: Wave = 0.15, stiffness: Stiffness = 1500.0) -> Setup:
    """Twenty-two bodies on a mount: spine, neck and head, two arms of five, a tail, and two push rods that help the
    shoulders; every hinge is driven."""
    bear = Machine(90.67 * 0.2, 0.2, Motor(stiffness, 0.05 * stiffness), wave)
    base = bear.block("base", (0, 0, 0.1), (0.4, 0.4, 0.2), bear.heaviest)
    bear.mount(base)
    top, at = _chain(bear, "spine", base, np.array([0, 0, 0.2]), [(0, 0, 0.15)] * 3, (Z, Y, X), 0.7)
    _chain(bear, "neck", top, at, [(0, 0, 0.06), (0, 0, 0.06), (0.1, 0, 0.08)], (Z, Y, X), 0.4)
    for name, side in _SIDES:
        shoulder = at + [0.0, 0.15 * side, -0.05]
        steps = [(0, 0.02 * side, -0.25), (0, 0, -0.06), (0.02, 0, -0.2), (0, 0, -0.05), (0.02, 0, -0.08)]
        _chain(bear, f"{name}-arm", top, shoulder, steps, (Y, X, Y, Z, Y), 0.35)
        first = _named(bear, f"{name}-arm-1")
        bear.push_rod(f"{name}-push", top, first, shoulder, steps[0], Y, arm=0.06, offset=0.08, drive_ends=True,
                      crank_mass=bear.between(0.1), rod_mass=bear.lightest)  # fmt: skip
    bear.link("tail", base, (-0.2, 0, 0.15), (-0.45, 0, 0.2), Y, bear.between(0.3))
    return setup_of(bear)


def walker(*, wave: Wave = 0.0, stiffness: Stiffness = 2500.0) -> Setup:
    """Thirty-one bodies, free to fall: a trunk with six links above it, and two legs of six joints each with three push
    rods, whose cranks are driven like the hinges they move."""
    biped = Machine(99.55 * 0.3, 0.3, Motor(stiffness, 0.05 * stiffness), wave)
    biped.ground()
    trunk = biped.block("trunk", (0, 0, 0.95), (0.2, 0.3, 0.2), biped.heaviest)
    _chain(biped, "neck", trunk, np.array([0, 0, 1.05]), [(0, 0, 0.1), (0, 0, 0.1)], (Z, Y), 0.3)
    for name, side in _SIDES:
        steps = [(0, 0.03 * side, -0.2), (0.05, 0, -0.2)]
        _chain(biped, f"{name}-arm", trunk, np.array([0, 0.2 * side, 1.0]), steps, (Y, Y), 0.3)
    for name, side in _SIDES:
        hip = np.array([0.0, 0.12 * side, 0.87])
        steps = [(0, 0, -0.04), (0, 0, -0.04), (0, 0, -0.35), (0, 0, -0.35), (0, 0, -0.05)]
        _chain(biped, f"{name}-leg", trunk, hip, steps, (Z, X, Y, Y, Y), 0.55)
        links = [_named(biped, f"{name}-leg-{k + 1}") for k in range(5)]
        sole = (0.26, 0.11, 0.04)
        foot = biped.block(f"{name}-foot", (0.03, 0.12 * side, 0.02), sole, biped.between(0.4), touches=True)
        biped.hinge(f"{name}-ankle", links[4], foot, hip + np.sum(steps, axis=0), X, True, 0.0, 0.0)
        joints = np.cumsum([hip, *steps], axis=0)
        for k, (parent, child, axis) in enumerate(((1, 2, Y), (2, 3, Y), (3, 4, Y))):
            arm = 0.02 if child == 4 else 0.06
            biped.push_rod(f"{name}-push-{k + 1}", links[parent], links[child], joints[child], steps[child], axis,
                           arm=arm, offset=0.06, phase=0.6 * child, crank_mass=biped.between(0.05),
                           rod_mass=biped.lightest)  # fmt: skip
    return setup_of(biped)


def gazelle(*, wave: Wave = 0.15, stiffness: Stiffness = 800.0) -> Setup:
    """Thirty-eight bodies on a mount: seven limbs that only their cranks move, through push rods, six of them with a
    ball joint at the crank; fifteen driven hinges and a tail that hangs."""
    deer = Machine(1012.54 * 0.05, 0.05, Motor(stiffness, 0.05 * stiffness), wave)
    base = deer.block("base", (0, 0, 0.8), (0.9, 0.3, 0.3), deer.heaviest)
    deer.mount(base)
    for k, (name, corner) in enumerate(_corners()):
        steps = [(0, 0, -0.05), (0.02, 0, -0.3), (-0.02, 0, -0.3)]
        _chain(deer, name, base, corner, steps, (X, Y, Y), 0.45, driven=(True, True, False), phase=1.5 * k)
        _push(deer, f"{name}-push", _named(deer, f"{name}-2"), _named(deer, f"{name}-3"), corner, steps, 2, (_S, _R))
    neck, at = _chain(deer, "neck", base, np.array([0.4, 0, 0.9]), [(0.1, 0, 0.15)] * 4, (Y, Y, Y, Z), 0.4)
    for name, side in _SIDES:
        ear = at + [0.0, 0.05 * side, 0.0]
        deer.link(f"{name}-ear", neck, ear, ear + [0, 0.02 * side, 0.12], Y, deer.between(0.1), driven=False)
        deer.push_rod(f"{name}-ear-push", neck, _named(deer, f"{name}-ear"), ear, (0, 0.02 * side, 0.12), Y, arm=0.03,
                      offset=0.04, ends=(_S, _R), crank_mass=deer.between(0.05), rod_mass=deer.lightest)  # fmt: skip
    deer.link("jaw", neck, at, at + [0.14, 0, -0.02], Y, deer.between(0.2), driven=False)
    deer.push_rod("jaw-push", neck, _named(deer, "jaw"), at, (0.14, 0, -0.02), Y, arm=0.04, offset=0.05,
                  crank_mass=deer.between(0.05), rod_mass=deer.lightest)  # fmt: skip
    steps = [(-0.1, 0, -0.02)] * 4
    _chain(deer, "tail", base, np.array([-0.45, 0, 0.9]), steps, (Y, Y, Y, Y), 0.2, driven=(True, True, True, False))
    return setup_of(deer)


def ironman(*, wave: Wave = 0.1, stiffness: Stiffness = 1500.0) -> Setup:
    """Fifty-four bodies on a mount: thirteen hinges that only their cranks move, sixteen ball joints, seven driven
    hinges, and seven plates that hang and swing."""
    suit = Machine(25544.44 * 0.005, 0.005, Motor(stiffness, 0.05 * stiffness), wave)
    base = suit.block("base", (0, 0, 0.5), (0.4, 0.4, 1.0), suit.heaviest)
    suit.mount(base)
    torso, at = _chain(suit, "spine", base, np.array([0, 0, 1.0]), [(0, 0, 0.15)] * 3, (Z, Y, X), 0.6)
    head, crown = _chain(suit, "neck", torso, at, [(0, 0, 0.08), (0, 0, 0.12)], (Z, Y), 0.4)
    pushed = 0
    for name, side in _SIDES:
        shoulder = at + [0.0, 0.2 * side, -0.05]
        steps = [(0, 0.02 * side, -0.3), (0.02, 0, -0.28), (0, 0, -0.1), (0.01, 0, -0.08), (0.01, 0, -0.05)]
        _chain(suit, f"{name}-arm", torso, shoulder, steps, (Y, Y, X, Y, Y), 0.4, driven=(True, *(False,) * 4))
        parents = [_named(suit, f"{name}-arm-{k + 1}") for k in range(5)]
        for k in range(1, 5):
            _push(suit, f"{name}-push-{k}", parents[k - 1], parents[k], shoulder, steps, k, _ends(pushed),
                  (Y, Y, X, Y, Y)[k])  # fmt: skip
            pushed += 1
    for k, name in enumerate(("brow", "visor", "jaw", "cheek-left", "cheek-right")):
        place = crown + [0.0, 0.03 * (k - 2), -0.02]
        suit.link(name, head, place, place + [0.08, 0, 0], Y, suit.between(0.15), driven=False, thick=0.008)
        suit.push_rod(f"{name}-push", head, _named(suit, name), place, (0.08, 0, 0), Y, arm=0.03, offset=0.03,
                      ends=_ends(pushed), crank_mass=suit.between(0.1), rod_mass=suit.lightest)  # fmt: skip
        pushed += 1
    for k in range(7):
        place = np.array([-0.2, 0.05 * (k - 3), 0.9])
        end = place + [-0.02, 0, -0.15]
        suit.link(f"plate-{k + 1}", base, place, end, Y, suit.between(0.2), driven=False, damping=0.02)
    return setup_of(suit)


def _ends(number: int) -> tuple[str, str]:
    """Joints at the ends of the push rod of that number: a ball at the crank, the first three with one at the limb."""
    return _S, _S if number < 3 else _R


def _corners() -> list[tuple[str, np.ndarray]]:
    """Where the legs of a four-legged figure begin."""
    return [
        (f"{end}-{name}", np.array([0.4 * sign, 0.12 * side, 0.65]))
        for end, sign in (("front", 1.0), ("hind", -1.0))
        for name, side in _SIDES
    ]


def _chain(
    machine: Machine,
    name: str,
    parent: Body,
    at: ArrayLike,
    steps: Sequence[ArrayLike],
    axes: Sequence[ArrayLike],
    weight: float,
    *,
    driven: Sequence[bool] | None = None,
    phase: float = 0.0,
) -> tuple[Body, np.ndarray]:
    """Links one after the other; (last body, its end). weight: of the first one between lightest and heaviest."""
    here = np.asarray(at, float)
    for k, (step, axis) in enumerate(zip(steps, axes)):
        to = here + np.asarray(step, float)
        mass = machine.between(max(weight - 0.05 * k, 0.08))
        is_driven = True if driven is None else driven[k]
        damping = 0.0 if is_driven else 1e-3
        parent = machine.link(f"{name}-{k + 1}", parent, here, to, axis, mass, phase=phase + 0.6 * k, driven=is_driven,
                              damping=damping, thick=0.015)  # fmt: skip
        here = to
    return parent, here


def _push(
    machine: Machine,
    name: str,
    parent: Body,
    child: Body,
    start: ArrayLike,
    steps: Sequence[ArrayLike],
    k: int,
    ends: tuple[str, str],
    axis: ArrayLike = Y,
) -> None:
    """The push rod of joint k of a chain that starts at `start`."""
    hinge = np.asarray(start, float) + np.sum(np.asarray(steps[:k], float).reshape(-1, 3), axis=0)
    length = float(np.linalg.norm(steps[k]))
    machine.push_rod(name, parent, child, hinge, steps[k], axis, arm=0.3 * length, offset=0.04, ends=ends,
                     crank_mass=machine.between(0.1), rod_mass=machine.lightest)  # fmt: skip


def _named(machine: Machine, name: str) -> Body:
    return next(body for body in machine.builder.bodies if body.name == name)


SCENES = (
    machine_scene("misha", "a bear on a mount, waving, its shoulders moved through push rods", misha),
    machine_scene("walker", "a two-legged figure with six loops in its legs, standing", walker, stands=0.7),
    machine_scene("gazelle", "a gazelle on a mount whose limbs are moved through seven loops", gazelle),
    machine_scene("ironman", "a suit of armour on a mount, thirteen loops, a mass ratio of 25 544", ironman),
)
