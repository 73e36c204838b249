"""A bear on a stool that waves."""

import numpy as np

from delassus.builder import Body, Motor
from delassus.scenes.machines.judge import Stiffness, Wave, machine_scene, setup_of
from delassus.scenes.machines.kit import SIDES, Machine, Piece, X, Y, Z, frustum
from delassus.scenes.machines.motion import Motion
from delassus.scenes.scene import Setup


def build(*, wave: Wave = 0.3, stiffness: Stiffness = 1500.0) -> Setup:
    """Twenty-two bodies on a mount: spine, neck and head, two arms of five, a tail, and two push rods that help the
    shoulders, under plates of the chest; every hinge is driven."""
    bear = Machine(90.67 * 0.2, 0.2, Motor(stiffness, 0.05 * stiffness), Motion(wave))
    bear.ground()
    base = bear.solid("base", (0, 0, 0.1), frustum((0.36, 0.36), (0.3, 0.3), 0.2), bear.heaviest)
    bear.mount(base)
    narrow = (-0.5, 0.5)
    spine, points = bear.chain(
        "spine",
        base,
        (0, 0, 0.2),
        [
            Piece((0, 0, 0.15), Z, (0.15, 0.17), narrow),
            Piece((0, 0, 0.15), Y, (0.17, 0.16), narrow),
            Piece((0, 0, 0.15), X, (0.16, 0.11), narrow),
        ],
        0.7,
    )
    chest, top = spine[-1], points[-1]
    bear.chain(
        "neck",
        chest,
        top,
        [
            Piece((0, 0, 0.05), Z, limits=(-0.8, 0.8)),
            Piece((0, 0, 0.08), Y, limits=narrow),
            Piece((0.17, 0, 0.03), X, (0.1, 0.045), narrow),
        ],
        0.4,
    )
    for k, share in enumerate((0.3, 0.2, 0.2)):
        bear.motion.swing(f"spine-{k + 1}", share=share, phase=0.8 * k)
        bear.motion.swing(f"neck-{k + 1}", share=0.6, phase=0.5 * k)
    for name, side in SIDES:
        _arm(bear, name, side, chest, top)
    bear.link("tail", base, (-0.2, 0, 0.12), (-0.32, 0, 0.16), Y, bear.between(0.3), limits=narrow, thick=0.04)
    bear.motion.swing("tail")
    return setup_of(bear)


def _arm(bear: Machine, name: str, side: float, chest: Body, top: np.ndarray) -> None:
    """Five hinges and the push rod of the first; the right arm greets, the left one leans on the stool."""
    shoulder = top + [0.0, 0.25 * side, -0.05]
    links, _ = bear.chain(
        f"{name}-arm",
        chest,
        shoulder,
        [
            Piece((0, 0.02 * side, -0.2), Y, (0.055, 0.05), (-1.1, 1.1)),
            Piece((0, 0, -0.04), X, limits=(-1.0, 1.0)),
            Piece((0.02, 0, -0.18), Y, (0.05, 0.045), (-2.0, 0.1)),
            Piece((0, 0, -0.03), Z, limits=(-1.0, 1.0)),
            Piece((0.02, 0, -0.09), Y, (0.05, 0.035), (-0.8, 0.8)),
        ],
        0.35,
    )
    bear.push_rod(
        f"{name}-push",
        chest,
        links[0],
        shoulder,
        (0, 0.02 * side, -0.2),
        Y,
        arm=0.06,
        offset=0.08,
        aside=0.075 * side,
        moves=f"{name}-arm-1",
        drive_ends=True,
    )
    out = shoulder[1] + 0.11 * side
    bear.plate(chest, (-0.03, out, shoulder[2] + 0.02), (0.15, 0.01, 0.09))
    bear.plate(chest, (-0.03, out - 0.1 * side, shoulder[2] + 0.065), (0.15, 0.21, 0.01))
    raised = side < 0.0
    poses = (-1.0, -0.2 * side, -1.6, 0.0, 0.0) if raised else (0.0, -0.28, -0.3, 0.0, 0.0)
    shares = (0.1, 0.3, 1.0, 1.0, 1.0) if raised else (0.3, 0.5, 0.3, 0.3, 0.3)
    for k, (pose, share) in enumerate(zip(poses, shares)):
        bear.motion.swing(f"{name}-arm-{k + 1}", pose=pose, share=share, phase=0.6 * k)


SCENE = machine_scene("misha", "a bear on a stool that waves, its shoulders helped by push rods", build)
