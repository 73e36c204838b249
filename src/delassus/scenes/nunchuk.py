"""Two sticks and a ball between them, joined by two ball joints, thrown on the ground (Tsounis et al. 2025, Table
II)."""

from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.io.recording import Trajectory
from delassus.scenes.scene import (
    Check,
    Scene,
    Setup,
    all_converged,
    at_rest,
    closed_joints,
    need,
    no_energy_gain,
    shallow,
)
from delassus.shapes import Box, Plane, Sphere
from delassus.spatial import rotate, rotation_exp

_G = 9.81


def build(
    *,
    length: Annotated[float, "of each stick [m]"] = 0.3,
    thickness: Annotated[float, "of the sticks; also the diameter of the ball [m]"] = 0.05,
    mass: Annotated[float, "of each of the three bodies [kg]"] = 0.5,
    height: Annotated[float, "of the ball above the ground at the start [m]"] = 0.3,
    mu: Annotated[float, "friction [-]"] = 0.5,
) -> Setup:
    need(height > 0, f"height is {height}: it falls from above the ground, give a positive number")
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    material = Material(mu)
    builder.fixed("ground", shapes=[Plane()], material=material)
    middle = np.array([0.0, 0.0, height])
    ball = builder.body("ball", position=middle, mass=mass, shapes=[Sphere(0.5 * thickness)], material=material)
    for side, name in ((-1.0, "left"), (1.0, "right")):
        # one stick hangs a little, the other a little more and sideways: nothing about the fall is symmetric
        turn = rotation_exp((0.0, side * (0.3 + 0.1 * side), 0.2 * side + 0.1))
        end = middle + (side * 0.6 * thickness, 0.0, 0.0)
        centre = end + rotate(turn, np.array([side * 0.5 * length, 0.0, 0.0]))
        stick = builder.body(
            name,
            position=centre,
            orientation=turn,
            mass=mass,
            material=material,
            shapes=[Box((length, thickness, thickness))],
        )
        builder.joint("spherical", ball, stick, position=end, name=f"{name}-joint")
    model, state = builder.build()
    return Setup(model, state, 2.0)


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    weight = float(setup.model.mass.sum()) * _G
    out = [
        all_converged(run),
        closed_joints(run),
        shallow(run, 1e-3 * p["thickness"]),
        no_energy_gain(run, weight * p["height"], 1e-4),
    ]
    if run.t[-1] > 1.5:
        out.append(at_rest(run, 1e-3))
    return out


SCENE = Scene(
    "nunchuk",
    "two sticks and a ball on two ball joints, dropped on the ground",
    "the joints hold; shallow penetration; no energy gained; rest at the end",
    build,
    check,
)
