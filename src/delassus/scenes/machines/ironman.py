"""A suit of armour on a mount that works its arms and its visor."""

import numpy as np

from delassus.builder import Body, Motor
from delassus.scenes.machines.judge import Stiffness, Wave, machine_scene, setup_of
from delassus.scenes.machines.kit import SIDES, Machine, Piece, X, Y, Z, frustum
from delassus.scenes.machines.motion import Motion
from delassus.scenes.scene import Setup

_LANE = 0.04  # m: from one plate of the face to the next


def build(*, wave: Wave = 0.25, stiffness: Stiffness = 1500.0) -> Setup:
    """Fifty-four bodies on a mount: thirteen hinges that only their cranks move, most of them under plates of helmet
    and arms, sixteen ball joints, seven driven hinges, and seven plates that hang from the back and swing."""
    suit = Machine(25544.44 * 0.005, 0.005, Motor(stiffness, 0.05 * stiffness), Motion(wave))
    suit.ground()
    base = suit.solid("base", (0, 0, 0.94), frustum((0.2, 0.34), (0.22, 0.3), 0.2), suit.heaviest)
    for _, side in SIDES:
        suit.plate(base, (0, 0.1 * side, 0.45), (0.15, 0.14, 0.78))
        suit.plate(base, (0.05, 0.1 * side, 0.03), (0.28, 0.14, 0.06))
    suit.mount(base)
    narrow = (-0.4, 0.4)
    spine, points = suit.chain(
        "spine",
        base,
        (0, 0, 1.05),
        [
            Piece((0, 0, 0.08), Z, limits=(-0.6, 0.6), thick=0.035),
            Piece((0, 0, 0.08), Y, limits=narrow, thick=0.035),
            Piece((0, 0, 0.34), X, (0.11, 0.18), narrow),
        ],
        0.6,
    )
    chest, top = spine[-1], points[-1]
    neck, points = suit.chain(
        "neck",
        chest,
        top,
        [Piece((0, 0, 0.05), Z, limits=(-0.8, 0.8)), Piece((0, 0, 0.12), Y, (0.04, 0.04), narrow)],
        0.4,
    )
    for k, share in enumerate((1.0, 0.4, 0.3)):
        suit.motion.swing(f"spine-{k + 1}", share=share, phase=0.8 * k)
    suit.motion.swing("neck-1", share=-1.2)
    suit.motion.swing("neck-2", share=0.4)
    for number, (name, side) in enumerate(SIDES):
        _arm(suit, name, side, chest, top + [0.0, 0.25 * side, -0.06], 4 * number)
    _face(suit, neck[-1], points[1])
    for k in range(7):
        place = top + [-0.19, 0.055 * (k - 3), -0.06]
        suit.link(
            f"plate-{k + 1}",
            chest,
            place,
            place + [-0.03, 0, -0.2],
            Y,
            suit.between(0.2),
            driven=False,
            limits=(-0.12, 0.6),
            damping=0.02,
            hull=(0.02, 0.014),
        )
    return setup_of(suit)


def _arm(suit: Machine, name: str, side: float, chest: Body, shoulder: np.ndarray, first: int) -> None:
    """Upper arm on a motor; forearm, wrist, hand and fingers on push rods, those of the arm under a plate."""
    axes = (Y, Y, X, Y, Y)
    steps = ((0, 0, -0.28), (0.02, 0, -0.26), (0, 0, -0.08), (0.01, 0, -0.09), (0.01, 0, -0.07))
    hulls = ((0.06, 0.045), (0.05, 0.035), (0.028, 0.028), (0.04, 0.04), (0.025, 0.015))
    limits = ((-1.6, 1.0), (-1.1, 0.1), (-0.5, 0.5), (-0.6, 0.6), (-0.9, 0.1))
    links, points = suit.chain(
        f"{name}-arm",
        chest,
        shoulder,
        [
            Piece(step, axis, hull, limit, driven=k == 0)
            for k, (step, axis, hull, limit) in enumerate(zip(steps, axes, hulls, limits))
        ],
        0.4,
    )
    for k in range(1, 5):
        aside = (0.06 if k == 1 else 0.055) * side if axes[k] is Y else 0.05
        suit.push_rod(
            f"{name}-push-{k}",
            links[k - 1],
            links[k],
            points[k],
            steps[k],
            axes[k],
            arm=0.3 * float(np.linalg.norm(steps[k])),
            offset=0.04,
            aside=aside,
            thick=0.005,
            ends=_ends(first + k - 1),
            moves=f"{name}-arm-{k + 1}",
        )
    suit.plate(links[0], points[1] + [0.0, 0.08 * side, 0.06], (0.14, 0.008, 0.24))
    for k, (pose, share) in enumerate(((-0.5, 1.6), (-0.6, 1.2), (0.0, 0.8), (0.0, 1.0), (-0.4, 1.2))):
        suit.motion.swing(f"{name}-arm-{k + 1}", pose=pose, share=share, phase=0.5 * k + (side > 0) * np.pi)


def _face(suit: Machine, head: Body, at: np.ndarray) -> None:
    """A helmet of four plates and five that close it in front, on cranks inside."""
    for place, size in (
        ((0.0, 0.0, 0.235), (0.24, 0.25, 0.01)),
        ((-0.115, 0.0, 0.12), (0.01, 0.25, 0.22)),
        ((0.0, 0.12, 0.12), (0.24, 0.01, 0.22)),
        ((0.0, -0.12, 0.12), (0.24, 0.01, 0.22)),
    ):
        suit.plate(head, at + place, size)
    for k, name in enumerate(("cheek-left", "brow", "visor", "jaw", "cheek-right")):
        hinge, down = at + [0.13, _LANE * (2 - k), 0.21], (0.02, 0.0, -0.15)
        body = suit.link(
            name,
            head,
            hinge,
            hinge + down,
            Y,
            suit.between(0.15),
            driven=False,
            limits=(-1.15, 0.05),
            hull=(0.015, 0.015),
        )
        suit.push_rod(
            f"{name}-push",
            head,
            body,
            hinge,
            down,
            Y,
            arm=0.03,
            offset=0.04,
            ends=_ends(8 + k),
            moves=name,
            thick=0.005,
        )
        suit.motion.swing(name, pose=-0.5, share=2.0, phase=0.3 * k)


def _ends(number: int) -> tuple[str, str]:
    """Joints at the ends of the push rod of that number: a ball at the crank, the first three with one at the limb."""
    return "spherical", "spherical" if number < 3 else "revolute"


SCENE = machine_scene(
    "ironman", "a suit of armour that works arms and visor, thirteen loops, a mass ratio of 25 544", build
)
