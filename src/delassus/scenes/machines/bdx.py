"""A droid on two legs whose ankles do not roll: it waddles."""

import numpy as np

from delassus.builder import Motor
from delassus.scenes.machines.judge import Speed, Stiffness, Wave, machine_scene, setup_of
from delassus.scenes.machines.kit import SIDES, Machine, X, Y, Z, frustum
from delassus.scenes.machines.legs import Walk, biped_leg
from delassus.scenes.machines.motion import Motion
from delassus.scenes.scene import Setup


def build(*, speed: Speed = 0.1, wave: Wave = 0.2, stiffness: Stiffness = 600.0) -> Setup:
    """Fifteen bodies: a trunk, two legs of five joints and a neck of four; it waddles, since its ankles do not roll."""
    droid = Machine(42.49 * 0.2, 0.2, Motor(stiffness, 0.05 * stiffness), Motion(wave, 1.0))
    droid.ground()
    trunk = droid.solid("trunk", (0, 0, 0.5), frustum((0.2, 0.2), (0.26, 0.22), 0.16), droid.heaviest)
    legs = [
        biped_leg(
            droid,
            name,
            trunk,
            np.array([0.0, 0.09 * side, 0.41]),
            droid.between(0.55),
            (0.2, 0.14, 0.04),
            phase=0.25 + 0.25 * side,
            thick=0.035,
            ankle_rolls=False,
        )[0]
        for name, side in SIDES
    ]
    parent, at = trunk, np.array([0.08, 0.0, 0.6])
    for k, axis in enumerate((Y, Y, Z, X)):
        head = k == 3
        to = at + (0.12 * X if head else 0.07 * Z)
        parent = droid.link(
            f"neck-{k + 1}",
            parent,
            at,
            to,
            axis,
            droid.lightest if head else droid.between(0.3),
            limits=(-0.6, 0.6),
            hull=(0.07, 0.05) if head else None,
            compact=True,
        )
        droid.motion.swing(f"neck-{k + 1}", share=(1.0, -1.0, 1.0, 0.5)[k], phase=0.7 * k)
        at = to
    if speed:
        droid.motion.gait = Walk(legs, speed, 0.5, 0.015)
    return setup_of(droid)


SCENE = machine_scene("bdx", "a droid on two legs that waddles", build, stands=0.45)
