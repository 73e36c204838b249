"""A soft box falls on the ground, tilted, bounces and comes to rest."""

from typing import Annotated

import numpy as np

from delassus import fem
from delassus.builder import ModelBuilder
from delassus.io.recording import Trajectory
from delassus.scenes.flexible.claims import weight
from delassus.scenes.scene import Check, Scene, Setup, all_converged, need, no_energy_gain, shallow
from delassus.shapes import Plane
from delassus.simulation import StepSettings


def build(
    *,
    size: Annotated[float, "edge of the box [m]"] = 0.2,
    height: Annotated[float, "of its centre at the start [m]"] = 0.4,
    tilt: Annotated[float, "about y at the start [deg]"] = 20.0,
    young: Annotated[float, "Young's modulus [Pa]"] = 1e5,
    damping: Annotated[float, "of strain rates, Rayleigh's β [s]"] = 0.01,
    mu: Annotated[float, "friction [-]"] = 0.5,
    cells: Annotated[int, "along each edge [-]"] = 4,
    h: Annotated[float, "time step [s]"] = 0.005,
) -> Setup:
    need(height > 0.87 * size, f"height is {height}: the box would start in the ground, give more than {0.87 * size:g}")
    need(1 <= cells <= 40, f"cells is {cells}: give 1 to 40")
    builder = ModelBuilder()
    builder.fixed("ground", shapes=[Plane()], material=mu)
    c, s = np.cos(np.radians(tilt)), np.sin(np.radians(tilt))
    mesh = fem.block(size=(size, size, size), cells=(cells, cells, cells))
    builder.flexible(
        "box",
        mesh,
        fem.Elastic(young, 0.3, 1000.0, damping=(0.0, damping)),
        position=(0, 0, height),
        orientation=[[c, 0, s], [0, 1, 0], [-s, 0, c]],
        material=mu,
    )
    model, state = builder.build()
    return Setup(model, state, 2.0, StepSettings(h=h, integrator="euler"))


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    scale = weight(setup.model) * p["height"]
    out = [all_converged(run), shallow(run, 1e-4 * p["size"]), no_energy_gain(run, scale)]
    sunk = max(-float(run.nodes[..., 2].min()), 0.0)
    out.append(Check("nodes below the ground", sunk, 1e-4 * p["size"], "m"))
    if run.t[-1] > 1.99:
        carried = float(run.contacts(run.step_count - 1).force_on_flexible(0)[2])
        out.append(Check("weight carried at the end", abs(carried / weight(setup.model) - 1.0), 0.02))
    return out


SCENE = Scene(
    "soft-box-drop",
    "a soft box falls on the ground and comes to rest",
    "no node below the ground, energy never gained, the ground carries its weight in the end",
    build,
    check,
)
