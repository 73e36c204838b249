"""A ball dropped on the ground: every bounce reaches ε² of the height before."""

from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.io.recording import Trajectory
from delassus.scenes.checks import all_converged
from delassus.scenes.scene import Check, Scene, Setup, need
from delassus.shapes import Plane, Sphere

_G = 9.81


def build(
    *,
    height: Annotated[float, "of the ball's lowest point at the start [m]"] = 1.0,
    restitution: Annotated[float, "Newton's, 0 to 1 [-]"] = 0.8,
    radius: Annotated[float, "of the ball [m]"] = 0.1,
    density: Annotated[float, "of the ball [kg/m³]"] = 1000.0,
) -> Setup:
    need(0.0 <= restitution <= 1.0, f"restitution is {restitution}: give 0 to 1")
    need(height >= 0.0, f"height is {height}: the ball starts on the ground or above it, give zero or more")
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    material = Material(0.0, restitution)
    builder.fixed("ground", shapes=[Plane()], material=material)
    builder.body("ball", position=(0, 0, radius + height), density=density, shapes=[Sphere(radius)], material=material)
    model, state = builder.build()
    return Setup(model, state, 3.0)


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    heights = _apexes(run.q[:, 0, 2] - p["radius"])
    fall = np.sqrt(2 * _G * p["height"])
    # an impact is noticed up to a step late: the ball has then fallen, or rises, h v further
    slack = setup.settings.h * fall
    out = [all_converged(run)]
    for k, height in enumerate(heights[:4], start=1):
        out.append(Check(f"height {k} against ε²", abs(height - p["restitution"] ** (2 * k) * p["height"]), slack, "m"))
    depth = -(run.q[:, 0, 2] - p["radius"]).min()
    return [*out, Check("penetration", max(depth, 0.0), setup.settings.h * fall, "m")]


def _apexes(z: np.ndarray) -> np.ndarray:
    """Local maxima after the first impact."""
    inside = (z[1:-1] > z[:-2]) & (z[1:-1] >= z[2:])
    return z[1:-1][inside]


SCENE = Scene(
    "bouncing-ball", "a ball that bounces on the ground", "every height is ε² of the one before", build, check
)
