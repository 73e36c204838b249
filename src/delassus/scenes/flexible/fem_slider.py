"""A block of tetrahedra on an incline: it slides with a = g (sin θ − μ cos θ), whatever its size and stiffness."""

from typing import Annotated

import numpy as np

from delassus import fem
from delassus.builder import ModelBuilder
from delassus.io.recording import Trajectory
from delassus.scenes.flexible.claims import mean_velocity
from delassus.scenes.scene import Check, Scene, Setup, all_converged, need, shallow
from delassus.shapes import Plane
from delassus.simulation import StepSettings

_G = 9.81
_SETTLED = 0.5  # of the run: what the block does before is to find its shape under its own weight


def build(
    *,
    angle: Annotated[float, "of the incline [deg]"] = 35.0,
    mu: Annotated[float, "friction; it sticks below tan(angle) [-]"] = 0.5,
    size: Annotated[float, "edge of the block [m]"] = 0.2,
    young: Annotated[float, "Young's modulus [Pa]"] = 1e6,
    density: Annotated[float, "of the block [kg/m³]"] = 1000.0,
    cells: Annotated[int, "along its edges [-]"] = 4,
    h: Annotated[float, "time step [s]"] = 0.005,
) -> Setup:
    need(0.0 <= angle < 90.0, f"angle is {angle}: give 0 to 90 degrees")
    need(1 <= cells <= 60, f"cells is {cells}: give 1 to 60")
    theta = np.radians(angle)
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    normal = np.array([np.sin(theta), 0.0, np.cos(theta)])
    builder.fixed("incline", shapes=[Plane(tuple(normal))], material=mu)
    turned = np.array([[np.cos(theta), 0, np.sin(theta)], [0, 1, 0], [-np.sin(theta), 0, np.cos(theta)]])
    mesh = fem.block(size=(size, size, 0.25 * size), cells=(cells, cells, max(1, cells // 4)))
    builder.flexible(
        "block", mesh, fem.Elastic(young, 0.3, density), position=0.125 * size * normal, orientation=turned, material=mu
    )
    model, state = builder.build()
    return Setup(model, state, 1.0, StepSettings(h=h, integrator="euler"))


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    theta = np.radians(p["angle"])
    down = np.array([np.cos(theta), 0.0, -np.sin(theta)])
    a = _G * (np.sin(theta) - p["mu"] * np.cos(theta))
    out = [all_converged(run), shallow(run, 1e-4 * p["size"])]
    first, last = int(_SETTLED * run.step_count), run.step_count
    if first < 1:
        return out
    before, after = (float(mean_velocity(setup.model, run, k) @ down) for k in (first, last))
    if a > 0.0:
        measured = (after - before) / (run.t[last] - run.t[first])
        return [*out, Check("acceleration against g(sin θ − μ cos θ)", abs(measured / a - 1.0), 5e-3)]
    return [*out, Check("creep", abs(after), 1e-6, "m/s")]


SCENE = Scene(
    "fem-slider",
    "a block of finite elements on an incline, steeper or flatter than friction allows",
    "a = g(sin θ − μ cos θ) within 0.5 % above the friction angle, no creep below",
    build,
    check,
)
