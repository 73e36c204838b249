"""A block on an incline: it sticks while tan θ ≤ μ and otherwise slides with a = g (sin θ − μ cos θ)."""

from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.io.recording import Trajectory
from delassus.scenes.scene import Check, Scene, Setup, all_converged, need, shallow
from delassus.shapes import Box, Plane

_G = 9.81


def build(
    *,
    angle: Annotated[float, "of the incline [deg]"] = 35.0,
    mu: Annotated[float, "friction; it sticks below tan(angle) [-]"] = 0.5,
    size: Annotated[float, "edge of the block [m]"] = 0.2,
    density: Annotated[float, "of the block [kg/m³]"] = 1000.0,
) -> Setup:
    need(0.0 <= angle < 90.0, f"angle is {angle}: give 0 to 90 degrees")
    theta = np.radians(angle)
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    material = Material(mu)
    normal = np.array([np.sin(theta), 0.0, np.cos(theta)])
    builder.fixed("incline", shapes=[Plane(tuple(normal))], material=material)
    # flat, so that it slides as a point mass would: friction acts size/8 below the centre and tilts nothing
    turned = np.array([[np.cos(theta), 0, np.sin(theta)], [0, 1, 0], [-np.sin(theta), 0, np.cos(theta)]])
    shape = Box((size, size, 0.25 * size))
    builder.body(
        "block", position=0.125 * size * normal, orientation=turned, density=density, shapes=[shape], material=material
    )
    model, state = builder.build()
    return Setup(model, state, 2.0)


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    theta = np.radians(p["angle"])
    down = np.array([np.cos(theta), 0.0, -np.sin(theta)])
    a = _G * (np.sin(theta) - p["mu"] * np.cos(theta))
    out = [all_converged(run), shallow(run, 1e-6 * p["size"])]
    speed, moved = float(run.u[-1, 0, :3] @ down), run.q[-1, 0, :3] - run.q[0, 0, :3]
    if a > 0.0:
        out.append(Check("acceleration against g(sin θ − μ cos θ)", abs(speed / (a * run.t[-1]) - 1.0), 1e-6))
        across = np.linalg.norm(moved - (moved @ down) * down)
        return [*out, Check("off the line of fall", float(across), 1e-6 * max(p["size"], float(moved @ down)), "m")]
    return [*out, Check("creep", float(np.linalg.norm(moved)) / run.t[-1], 1e-8, "m/s")]


SCENE = Scene(
    "sliding-block",
    "a block on an incline, steeper or flatter than friction allows",
    "a = g(sin θ − μ cos θ) straight down above the friction angle, no creep below",
    build,
    check,
)
