"""A humanoid that walks."""

import numpy as np

from delassus.builder import Motor
from delassus.scenes.machines.judge import Speed, Stiffness, Wave, machine_scene, setup_of
from delassus.scenes.machines.kit import SIDES, Machine, X, Y, Z, frustum
from delassus.scenes.machines.legs import Walk, biped_leg
from delassus.scenes.machines.motion import Motion
from delassus.scenes.scene import Setup

_STRIDE = 2.0  # s


def build(*, speed: Speed = 0.15, wave: Wave = 0.3, stiffness: Stiffness = 3000.0) -> Setup:
    """Twenty-one bodies: a humanoid of pelvis, chest, head, two legs of six joints and two arms of three; it walks,
    its weight over the foot that stands."""
    man = Machine(321.39 * 0.1, 0.1, Motor(stiffness, 0.05 * stiffness), Motion(wave, _STRIDE))
    man.ground()
    pelvis = man.solid("pelvis", (0, 0, 0.93), frustum((0.16, 0.3), (0.18, 0.26), 0.12), man.heaviest)
    legs = [
        biped_leg(
            man,
            name,
            pelvis,
            np.array([0.0, 0.1 * side, 0.86]),
            man.between(0.8),
            (0.26, 0.14, 0.05),
            phase=0.25 + 0.25 * side,
            thick=0.06,
            ankle_rolls=True,
        )[0]
        for name, side in SIDES
    ]
    chest = man.link(
        "chest", pelvis, (0, 0, 1.0), (0, 0, 1.4), Z, man.between(0.9), limits=(-0.8, 0.8), hull=(0.1, 0.15)
    )
    man.link("head", chest, (0, 0, 1.42), (0, 0, 1.62), Y, man.between(0.5), limits=(-0.6, 0.6), hull=(0.06, 0.09))
    man.motion.swing("chest", share=0.3)
    for name, side in SIDES:
        shoulder = np.array([0.0, 0.17 * side, 1.34])
        out, elbow = shoulder + [0, 0.07 * side, 0], shoulder + [0, 0.07 * side, -0.28]
        upper = man.link(f"{name}-shoulder", chest, shoulder, out, Y, man.between(0.4), thick=0.03, compact=True)
        arm = man.link(f"{name}-arm", upper, out, elbow, X, man.between(0.5), limits=(-1.5, 1.5), hull=(0.04, 0.03))
        man.link(
            f"{name}-hand",
            arm,
            elbow,
            elbow + [0.05, 0, -0.25],
            Y,
            man.lightest,
            limits=(-2.4, 0.1),
            hull=(0.03, 0.025),
        )
        man.motion.swing(f"{name}-shoulder", share=side)
        man.motion.swing(f"{name}-arm", pose=0.1 * side, share=0.0)
        man.motion.swing(f"{name}-hand", pose=-0.5, share=0.4 * side)
    if speed:
        man.motion.gait = Walk(legs, speed, _STRIDE, 0.05, duty=0.7, sway=0.065)
    return setup_of(man)


SCENE = machine_scene("lima", "a humanoid of twenty joints that walks", build, stands=0.85)
