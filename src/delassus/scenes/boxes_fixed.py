"""A heavy box welded on a light one and dropped on the ground (Tsounis et al. 2025, Table II: mass ratio 1000)."""

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
from delassus.shapes import Box, Plane

_G = 9.81


def build(
    *,
    ratio: Annotated[float, "mass of the upper box over that of the lower one [-]"] = 1000.0,
    size: Annotated[float, "edge of both boxes [m]"] = 0.2,
    mass: Annotated[float, "of the lower box [kg]"] = 1.0,
    height: Annotated[float, "above the ground at the start [m]"] = 0.05,
    mu: Annotated[float, "friction [-]"] = 0.7,
) -> Setup:
    need(ratio > 0, f"ratio is {ratio}: masses must be positive")
    need(height >= 0, f"height is {height}: the boxes start on the ground or above it, give zero or more")
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    material = Material(mu)
    builder.fixed("ground", shapes=[Plane()], material=material)
    boxes = [
        builder.body(
            name, position=(0, 0, height + (k + 0.5) * size), mass=m, shapes=[Box((size,) * 3)], material=material
        )
        for k, (name, m) in enumerate([("lower", mass), ("upper", ratio * mass)])
    ]
    builder.joint("fixed", *boxes, position=(0, 0, height + size), name="weld")
    model, state = builder.build()
    return Setup(model, state, 2.0)


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    weight = float(setup.model.mass.sum()) * _G
    scale = weight * max(p["height"], 1e-3 * p["size"])
    out = [all_converged(run), closed_joints(run), shallow(run, 1e-4 * p["size"]), no_energy_gain(run, scale, 1e-4)]
    landed = np.sqrt(2 * p["height"] / _G)
    if run.t[-1] > landed + 0.5:
        out.append(at_rest(run, 1e-5))
        out.append(Check("ground force against weight", abs(run.contacts(-1).force_on(0)[2] / weight - 1), 1e-4))
    return out


SCENE = Scene(
    "boxes-fixed",
    "a heavy box welded on a light one, dropped on the ground",
    "the weld holds; shallow penetration; rest, with the ground carrying the weight",
    build,
    check,
)
