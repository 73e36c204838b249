"""A rigid ball falls into a soft block that stands on the ground, and comes to rest in the hollow it makes."""

from typing import Annotated

import numpy as np

from delassus import fem
from delassus.builder import ModelBuilder
from delassus.io.recording import Trajectory
from delassus.scenes.flexible.claims import weight
from delassus.scenes.scene import Check, Scene, Setup, all_converged, closed_joints, need, no_energy_gain, shallow
from delassus.shapes import Sphere
from delassus.simulation import StepSettings

_SIZE = (0.4, 0.4, 0.2)  # of the block [m]


def build(
    *,
    radius: Annotated[float, "of the ball [m]"] = 0.06,
    density: Annotated[float, "of the ball [kg/m³]"] = 4000.0,
    height: Annotated[float, "of fall [m]"] = 0.1,
    young: Annotated[float, "Young's modulus of the block [Pa]"] = 1e5,
    damping: Annotated[float, "of strain rates, Rayleigh's β [s]"] = 0.02,
    mu: Annotated[float, "friction [-]"] = 0.4,
    cells: Annotated[int, "along the block [-]"] = 8,
    h: Annotated[float, "time step [s]"] = 0.005,
) -> Setup:
    need(0.0 < radius <= 0.15, f"radius is {radius}: give up to 0.15 m, the block is {_SIZE} m")
    need(height >= 0.0, f"height is {height}: give zero or more")
    need(2 <= cells <= 40, f"cells is {cells}: give 2 to 40")
    builder = ModelBuilder()
    mesh = fem.block(size=_SIZE, cells=(cells, cells, max(1, cells // 2)), position=(0, 0, 0.5 * _SIZE[2]))
    block = builder.flexible("block", mesh, fem.Elastic(young, 0.3, 1000.0, damping=(0.0, damping)), material=mu)
    builder.weld(block, "z-")
    builder.body(
        "ball",
        position=(0.011, 0.007, _SIZE[2] + radius + height),
        density=density,
        shapes=[Sphere(radius)],
        material=mu,
    )
    model, state = builder.build()
    return Setup(model, state, 2.0, StepSettings(h=h, integrator="euler"))


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p, model = setup.parameters, setup.model
    scale = weight(model) * (p["height"] + _SIZE[2])
    out = [all_converged(run), closed_joints(run), shallow(run, 0.02 * p["radius"]), no_energy_gain(run, scale)]
    if run.t[-1] > 1.99:
        ball = float(model.mass[0]) * float(np.linalg.norm(model.gravity))
        carried = float(run.contacts(run.step_count - 1).force_on(0)[2])
        out.append(Check("weight of the ball carried at the end", abs(carried / ball - 1.0), 0.02))
    return out


SCENE = Scene(
    "ball-into-block",
    "a rigid ball falls into a soft block",
    "the ball makes a hollow and does not sink through it, energy never gained, its weight is carried in the end",
    build,
    check,
)
