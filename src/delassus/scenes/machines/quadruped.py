"""A robot on four legs that trots."""

import numpy as np

from delassus.builder import Motor
from delassus.scenes.machines.judge import Speed, Stiffness, Wave, machine_scene, setup_of
from delassus.scenes.machines.kit import Machine, X, Y, frustum
from delassus.scenes.machines.legs import Leg, Walk
from delassus.scenes.machines.motion import Motion
from delassus.scenes.scene import Setup


def build(*, speed: Speed = 0.25, wave: Wave = 0.0, stiffness: Stiffness = 400.0) -> Setup:
    """Thirteen bodies: a trunk and four legs of hip, thigh and shin; it trots."""
    dog = Machine(29.07 * 0.4, 0.4, Motor(stiffness, 0.05 * stiffness), Motion(wave, 1.0))
    dog.ground()
    foot, thick = np.array([0.08, 0.0, -0.205]), 0.02
    length = float(np.linalg.norm(foot))
    hips = 0.2 + (length - thick) * 0.205 / length + thick  # the shin's round end touches the ground
    trunk = dog.solid("trunk", (0, 0, hips + 0.02), frustum((0.6, 0.2), (0.55, 0.25), 0.12), dog.heaviest)
    legs = []
    for k, (front, left) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        name = ("front-" if front > 0 else "hind-") + ("left" if left > 0 else "right")
        hip = np.array([0.25 * front, 0.12 * left, hips])
        thigh_at = hip + [0.0, 0.06 * left, 0.0]
        knee = thigh_at + [-0.08, 0.0, -0.2]
        side = dog.link(f"{name}-hip", trunk, hip, thigh_at, X, dog.between(0.3), limits=(-0.7, 0.7), thick=0.025)
        thigh = dog.link(
            f"{name}-thigh", side, thigh_at, knee, Y, dog.between(0.35), limits=(-1.2, 1.2), hull=(0.035, 0.022)
        )
        dog.link(f"{name}-shin", thigh, knee, knee + foot, Y, dog.lightest, limits=(-1.6, 0.7), thick=thick)
        dog.motion.swing(f"{name}-hip")
        legs.append(Leg(f"{name}-thigh", f"{name}-shin", (-0.08, -0.2), (0.08, -0.205), 0.5 * (k in (1, 2))))
    if speed:
        dog.motion.gait = Walk(legs, speed, 0.4, 0.04)
    return setup_of(dog)


SCENE = machine_scene("quadruped", "a four-legged robot that trots", build, stands=0.38)
