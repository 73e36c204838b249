"""A box on the ground, pulled sideways by less than friction can hold: it must not move at all."""

from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.dynamics import Inputs
from delassus.io.recording import Trajectory
from delassus.scenes.scene import Check, Scene, Setup, all_converged, need, shallow
from delassus.shapes import Box, Plane

_SETTLED = 0.1  # s


def build(
    *,
    size: Annotated[float, "edge of the cube [m]"] = 0.2,
    density: Annotated[float, "of the cube [kg/m³]"] = 1000.0,
    mu: Annotated[float, "friction [-]"] = 0.5,
    load: Annotated[float, "sideways force, as a fraction of what friction can hold [-]"] = 0.8,
) -> Setup:
    need(mu >= 0, f"mu is {mu}: friction cannot be negative")
    builder = ModelBuilder()
    material = Material(mu)
    builder.fixed("ground", shapes=[Plane()], material=material)
    builder.body("box", position=(0, 0, 0.5 * size), density=density, shapes=[Box((size,) * 3)], material=material)
    model, state = builder.build()
    wrench = np.zeros((1, 6))
    wrench[0, 0] = load * mu * model.mass[0] * 9.81
    inputs = Inputs.of(model, wrench=wrench)
    return Setup(model, state, 10.0, inputs=lambda t, state: inputs)


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    h, g = setup.settings.h, 9.81
    out = [all_converged(run), shallow(run, 1e-6 * p["size"])]
    force = np.array([run.contacts(k).force_on(0) for k in range(0, run.step_count, max(1, run.step_count // 50))])
    weight = setup.model.mass[0] * g
    out.append(Check("normal force against weight", float(np.abs(force[:, 2] / weight - 1).max()), 1e-5))
    if p["load"] < 1.0:
        held = p["load"] * p["mu"] * weight
        out.append(Check("friction against load", float(np.abs(force[:, 0] + held).max()) / weight, 1e-5))
        if run.t[-1] > _SETTLED:
            first = int(np.searchsorted(run.t, _SETTLED))
            seconds = run.t[-1] - run.t[first]
            creep = float(np.abs(run.q[first:, 0, :2] - run.q[first, 0, :2]).max() / seconds)
            out.append(Check("creep", creep, 1e-8, "m/s"))
    else:
        a = (p["load"] - 1.0) * p["mu"] * g
        out.append(Check("speed against a t", abs(run.u[-1, 0, 0] - a * run.t[-1]) / max(a * run.t[-1], h * g), 1e-5))
    return out


SCENE = Scene(
    "box-on-plane",
    "a cube held by friction against a sideways force",
    "contact forces balance weight and load; no creep inside the cone; speed a t outside",
    build,
    check,
)
