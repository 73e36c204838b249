"""A ball that is pushed without spin: friction slows it and spins it until it rolls, at 5/7 of its first speed."""

from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.io.recording import Trajectory
from delassus.scenes.scene import Check, Scene, Setup, all_converged, no_energy_gain, shallow
from delassus.shapes import Plane, Sphere

_G = 9.81


def build(
    *,
    speed: Annotated[float, "at the start, without spin [m/s]"] = 2.0,
    mu: Annotated[float, "friction [-]"] = 0.2,
    radius: Annotated[float, "of the ball [m]"] = 0.1,
    density: Annotated[float, "of the ball [kg/m³]"] = 1000.0,
) -> Setup:
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    material = Material(mu)
    builder.fixed("ground", shapes=[Plane()], material=material)
    builder.body(
        "ball",
        position=(0, 0, radius),
        velocity=(speed, 0, 0),
        density=density,
        shapes=[Sphere(radius)],
        material=material,
    )
    model, state = builder.build()
    return Setup(model, state, 2.0)


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    v, spin = run.u[-1, 0, 0], run.u[-1, 0, 4]
    energy = 0.5 * setup.model.mass[0] * p["speed"] ** 2
    out = [all_converged(run), shallow(run, 1e-6 * p["radius"]), no_energy_gain(run, max(energy, 1e-12), 1e-6)]
    rolls_at = 2 * p["speed"] / (7 * p["mu"] * _G) if p["mu"] > 0 else np.inf
    if run.t[-1] > rolls_at + 2 * setup.settings.h:
        out.append(Check("speed against 5/7 v₀", abs(v / (5 / 7 * p["speed"]) - 1), 1e-5))
        out.append(Check("slip while rolling", abs(v - spin * p["radius"]), 1e-6 * p["speed"], "m/s"))
    elif run.t[-1] < rolls_at:
        exact = p["speed"] - p["mu"] * _G * run.t[-1]
        out.append(Check("speed against v₀ − μ g t", abs(v - exact) / p["speed"], 1e-5))
    return out


SCENE = Scene(
    "rolling-sphere",
    "a ball pushed without spin, which slides first and rolls then",
    "v₀ − μ g t while it slides, 5/7 v₀ and no slip when it rolls; no energy gained",
    build,
    check,
)
