"""A flexible strip is pulled between two rigid rollers that turn with it, the upper one pressed on it by its weight."""

from typing import Annotated

import numpy as np

from delassus import fem
from delassus.builder import ModelBuilder
from delassus.dynamics import Inputs
from delassus.io.recording import Trajectory
from delassus.model.state import State
from delassus.scenes.scene import Check, Scene, Setup, all_converged, closed_joints, need, shallow
from delassus.shapes import Box, Cylinder
from delassus.simulation import StepSettings

_WIDTH, _RADIUS = 0.1, 0.05  # of the strip, of the rollers [m]


def build(
    *,
    length: Annotated[float, "of the strip [m]"] = 0.6,
    thickness: Annotated[float, "of the strip [m]"] = 0.02,
    young: Annotated[float, "Young's modulus [Pa]"] = 1e6,
    mu: Annotated[float, "friction [-]"] = 0.6,
    press: Annotated[float, "mass of the upper roller [kg]"] = 1.0,
    speed: Annotated[float, "of pulling [m/s]"] = 0.4,
    cells: Annotated[int, "along the strip [-]"] = 30,
    h: Annotated[float, "time step [s]"] = 0.005,
) -> Setup:
    need(length >= 4.0 * _RADIUS, f"length is {length}: give at least {4.0 * _RADIUS} m")
    need(speed > 0.0, f"speed is {speed}: the strip is pulled, give a positive speed")
    need(4 <= cells <= 400, f"cells is {cells}: give 4 to 400")
    builder = ModelBuilder()
    across = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]], float)  # the cylinder's axis, z, along y
    shape, axis = Cylinder(_RADIUS, 2.0 * _WIDTH), (0, 1, 0)
    below, above = -_RADIUS, thickness + _RADIUS
    lower = builder.body("lower", mass=2.0, shapes=[shape], position=(0, 0, below), orientation=across, material=mu)
    builder.joint("revolute", None, lower, axis=axis, name="lower-axle")
    carriage = builder.body("carriage", mass=0.1, inertia=(1e-3, 1e-3, 1e-3), position=(0, 0, above))
    builder.joint("prismatic", None, carriage, axis=(0, 0, 1), name="guide")
    upper = builder.body("upper", mass=press, shapes=[shape], position=(0, 0, above), orientation=across, material=mu)
    builder.joint("revolute", carriage, upper, axis=axis, name="upper-axle")
    table = Box((length, 2.0 * _WIDTH, _RADIUS))
    builder.fixed("table", shapes=[table], position=(-1.1 * _RADIUS - 0.5 * length, 0, -0.5 * _RADIUS), material=0.01)
    puller = builder.body("puller", mass=1.0, inertia=(1e-2, 1e-2, 1e-2), position=(0.5 * _RADIUS, 0, 0.5 * thickness))
    builder.joint("prismatic", None, puller, axis=(1, 0, 0), name="pull", motor="imposed")
    mesh = fem.block(
        size=(length, _WIDTH, thickness), cells=(cells, 4, 1), position=(_RADIUS - 0.5 * length, 0, 0.5 * thickness)
    )
    strip = builder.flexible("strip", mesh, fem.Elastic(young, 0.3, 1000.0, damping=(0.0, 0.005)), material=mu)
    builder.weld(strip, "x+", to=puller)
    model, state = builder.build()
    ramp = 0.1  # [s]

    def inputs(t: float, state: State) -> Inputs:
        del state
        s = min(t / ramp, 1.0)  # a smooth start
        rate = speed * s * s * (3.0 - 2.0 * s)
        gone = ramp * speed * (s**3 - 0.5 * s**4) + speed * max(t - ramp, 0.0)
        return Inputs.of(model, target={"pull": gone}, target_rate={"pull": rate}, time=t)

    return Setup(model, state, 0.6 * length / speed, StepSettings(h=h, integrator="euler"), inputs)


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    out = [all_converged(run), closed_joints(run), shallow(run, 0.05 * p["thickness"])]
    if run.t[-1] >= 0.4:
        late = run.t > 0.3
        for name, k in (("lower", 0), ("upper", 2)):
            turning = float(np.abs(run.u[late, k, 4]).mean()) * _RADIUS
            out.append(Check(f"speed of the {name} roller's surface", abs(turning / p["speed"] - 1.0), 0.03))
    return out


SCENE = Scene(
    "strip-through-rollers",
    "a flexible strip pulled between two rollers that turn with it",
    "the rollers' surfaces move at the speed of the strip within 3 %",
    build,
    check,
)
