"""A figure on two legs with loops in them, that walks."""

import numpy as np

from delassus.builder import Motor
from delassus.scenes.machines.judge import Speed, Stiffness, Wave, machine_scene, setup_of
from delassus.scenes.machines.kit import SIDES, Machine, Piece, Y, Z, frustum
from delassus.scenes.machines.legs import Walk, biped_leg
from delassus.scenes.machines.motion import Motion
from delassus.scenes.scene import Setup

_STRIDE = 2.0  # s


def build(*, speed: Speed = 0.12, wave: Wave = 0.3, stiffness: Stiffness = 2500.0) -> Setup:
    """Thirty-one bodies, free to fall: a trunk with six links above it, and two legs of six joints each with three push
    rods under plates of thigh and shin, whose cranks are driven like the hinges they move."""
    biped = Machine(99.55 * 0.3, 0.3, Motor(stiffness, 0.05 * stiffness), Motion(wave, _STRIDE))
    biped.ground()
    trunk = biped.solid("trunk", (0, 0, 1.05), frustum((0.16, 0.26), (0.22, 0.36), 0.3), biped.heaviest)
    biped.chain(
        "neck",
        trunk,
        (0, 0, 1.21),
        [Piece((0, 0, 0.06), Z, limits=(-1.0, 1.0)), Piece((0, 0, 0.16), Y, (0.06, 0.09), (-0.6, 0.6))],
        0.3,
    )
    biped.motion.swing("neck-1")
    legs = []
    for name, side in SIDES:
        biped.chain(
            f"{name}-arm",
            trunk,
            (0, 0.25 * side, 1.15),
            [Piece((0, 0.03 * side, -0.26), Y, (0.05, 0.04)), Piece((0.05, 0, -0.24), Y, (0.04, 0.03), (-2.2, 0.1))],
            0.3,
        )
        biped.motion.swing(f"{name}-arm-1", share=side)
        biped.motion.swing(f"{name}-arm-2", pose=-0.4, share=0.4 * side)
        leg, links, bends = biped_leg(
            biped,
            name,
            trunk,
            np.array([0.0, 0.11 * side, 0.88]),
            biped.between(0.55),
            (0.28, 0.15, 0.05),
            phase=0.25 + 0.25 * side,
            thick=0.05,
            ankle_rolls=True,
        )
        legs.append(leg)
        aside = 0.065 * side
        for k, (moves, arm) in enumerate((("thigh", 0.06), ("shin", 0.06), ("ankle", 0.02))):
            along = bends[k + 1] - bends[k] if k < 2 else -Z
            biped.push_rod(
                f"{name}-push-{k + 1}",
                links[k + 1],
                links[k + 2],
                bends[k],
                along,
                Y,
                arm=arm,
                offset=0.06,
                aside=aside,
                moves=f"{name}-{moves}",
            )
        for link, start, end in ((links[2], bends[0], bends[1]), (links[3], bends[1], bends[2])):
            biped.plate(link, 0.5 * (start + end) + [0.0, 0.085 * side, 0.0], (0.1, 0.01, 0.16))
    if speed:
        biped.motion.gait = Walk(legs, speed, _STRIDE, 0.05, duty=0.7, sway=0.065)
    return setup_of(biped)


SCENE = machine_scene("walker", "a two-legged figure that walks, with six loops in its legs", build, stands=0.9)
