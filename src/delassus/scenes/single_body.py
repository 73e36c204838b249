"""One ball, or one brick, on a flat floor without friction: the smallest cases of Mangoni's thesis, §5.1, and of
Mangoni and Tasora, §4.2."""

from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.dynamics import Stabilisation
from delassus.io.recording import Trajectory
from delassus.law import Law
from delassus.scenes.scene import Check, Scene, Setup, all_converged, need, no_energy_gain, shallow
from delassus.shapes import Box, Plane, Shape, Sphere
from delassus.simulation import StepSettings

_G = 9.81
_STEPS = 100  # the papers' "IP calls"


def build_ball(
    *,
    size: Annotated[float, "diameter [m]"] = 0.07,
    density: Annotated[float, "of the ball [kg/m³]"] = 1000.0,
    height: Annotated[float, "of its lowest point above the floor at the start [m]"] = 0.0,
    speed: Annotated[float, "along x at the start [m/s]"] = 0.0,
) -> Setup:
    need(size > 0, f"size is {size}: give a positive number of metres")
    return _setup(Sphere(0.5 * size), 0.5 * size, density, height, speed)


def build_brick(
    *,
    size: Annotated[float, "length, twice the width and four times the height [m]"] = 0.2,
    density: Annotated[float, "of the brick [kg/m³]"] = 1000.0,
    height: Annotated[float, "of its lowest point above the floor at the start [m]"] = 0.0,
    speed: Annotated[float, "along x at the start [m/s]"] = 0.0,
) -> Setup:
    need(size > 0, f"size is {size}: give a positive number of metres")
    return _setup(Box((size, 0.5 * size, 0.25 * size)), 0.125 * size, density, height, speed)


def _setup(shape: Shape, half: float, density: float, height: float, speed: float) -> Setup:
    need(height >= 0, f"height is {height}: give zero or more")
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    builder.fixed("floor", shapes=[Plane()], material=Material(0.0))
    builder.body(
        "body",
        position=(0.0, 0.0, half + height),
        velocity=(speed, 0.0, 0.0),
        density=density,
        shapes=[shape],
        material=Material(0.0),
    )
    model, state = builder.build()
    settings = StepSettings(h=0.02, law=Law.FRICTIONLESS, integrator="euler", stabilisation=Stabilisation.full())
    return Setup(model, state, _STEPS * settings.h, settings=settings)


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    weight = float(setup.model.mass[0]) * _G
    scale = weight * (p["size"] + p["height"])
    out = [all_converged(run), shallow(run, 1e-6 * p["size"]), no_energy_gain(run, scale)]
    drift = np.abs(run.q[:, 0, 0] - p["speed"] * run.t).max()
    out.append(Check("sideways, against speed times time", float(drift), 1e-6 * (p["size"] + abs(p["speed"])), "m"))
    landed = np.sqrt(2.0 * p["height"] / _G) + 2.0 * setup.settings.h
    if run.t[-1] > landed:
        held = np.array([run.contacts(k).force_on(0)[2] for k in range(run.step_count) if run.t[k] > landed])
        out.append(Check("force against weight", float(np.abs(held / weight - 1.0).max()), 1e-5))
    return out


_CLAIMS = "the floor carries the weight; nothing pushes sideways; shallow penetration; no energy gained"

BALL = Scene("single-ball", "one ball on a floor without friction", _CLAIMS, build_ball, check)
BRICK = Scene("single-brick", "one brick on a floor without friction, on four corners", _CLAIMS, build_brick, check)
