"""An arm of seven joints on a pedestal that wipes the floor."""

import numpy as np

from delassus.builder import Motor
from delassus.scenes.machines.judge import Stiffness, Wave, machine_scene, setup_of
from delassus.scenes.machines.kit import Machine, Y, Z, frustum
from delassus.scenes.machines.motion import Motion
from delassus.scenes.scene import Setup


def build(*, wave: Wave = 0.3, stiffness: Stiffness = 2000.0) -> Setup:
    """Eight bodies: a base bolted to the floor and seven links, axes alternately upright and across. It bows until its
    hand presses on the floor, one elbow at its stop, and wipes."""
    arm = Machine(19.54, 1.0, Motor(stiffness, 0.05 * stiffness), Motion(wave))
    arm.ground()
    parent = arm.solid("base", (0, 0, 0.1), frustum((0.3, 0.3), (0.2, 0.2), 0.2), arm.heaviest)
    arm.mount(parent)
    at = np.array([0.0, 0.0, 0.2])
    poses = (0.0, 1.05, 0.0, 1.0, 0.0, 0.85, 0.0)
    for k in range(7):
        to = at + (np.array([0.04, 0.0, 0.18]) if k % 2 else np.array([0.0, 0.0, 0.16]))
        mass = arm.lightest if k == 6 else arm.between(0.85 - 0.13 * k)
        name, thick = f"link-{k + 1}", 0.07 - 0.006 * k
        # the second elbow is told to bend further than its stop lets it
        parent = arm.link(
            name,
            parent,
            at,
            to,
            Y if k % 2 else Z,
            mass,
            limits=(-2.0, 0.9 if k == 3 else 2.0),
            hull=(thick, thick - 0.006),
        )
        arm.motion.swing(name, pose=poses[k], share=(1.5, 0.1, 0.3, 0.0, 0.3, 0.2, 1.0)[k], phase=0.9 * k)
        at = to
    return setup_of(arm)


SCENE = machine_scene("arm7d", "an arm of seven driven joints on a pedestal, wiping the floor", build)
