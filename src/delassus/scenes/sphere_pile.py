"""Spheres dropped into an open box."""

from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.io.recording import StepContacts, Trajectory
from delassus.scenes.scene import Check, Scene, Setup, all_converged, need, need_bodies, no_energy_gain, shallow
from delassus.shapes import Plane, Sphere
from delassus.simulation import StepSettings

_G = 9.81
_SPREAD = 0.1  # radii differ by at most this fraction: equal spheres stack like crystals


def build(
    *,
    n: Annotated[int, "spheres [-]"] = 40,
    radius: Annotated[float, "mean of the spheres [m]"] = 0.05,
    density: Annotated[float, "of the spheres [kg/m³]"] = 2000.0,
    mu: Annotated[float, "friction [-]"] = 0.4,
    reach: Annotated[float, "contacts are found this part of a sphere's radius before it touches [-]"] = 0.05,
    seed: Annotated[int, "of the random radii and places [-]"] = 1,
) -> Setup:
    need(n >= 1, f"n is {n}: give at least one sphere")
    need_bodies(n, f"n = {n}")
    need(seed >= 0, f"seed is {seed}: give zero or more")
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G), reach=reach)
    material = Material(mu)
    side = max(2, round((0.5 * n) ** (1 / 3)) + 1)  # spheres per edge of the box
    cell = 2.4 * radius
    half = 0.5 * side * cell
    walls = [Plane((x, y, 0.0), -half) for x, y in ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0))]
    builder.fixed("box", shapes=[Plane(), *walls], material=material)
    for k in range(n):
        i, j, layer = k % side, k // side % side, k // side**2
        place = np.array([(i + 0.5) * cell - half, (j + 0.5) * cell - half, (layer + 0.6) * cell])
        r = radius * (1.0 + _SPREAD * rng.uniform(-1, 1))
        builder.body(
            f"sphere-{k + 1}",
            position=place + 0.08 * radius * rng.uniform(-1, 1, 3),
            density=density,
            shapes=[Sphere(r)],
            material=material,
        )
    model, state = builder.build()
    return Setup(model, state, 1.5, settings=StepSettings(h=2e-3))


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    weight = float(setup.model.mass.sum()) * _G
    out = [all_converged(run), shallow(run, 1e-2 * p["radius"]), no_energy_gain(run, weight * p["radius"], 1e-4)]
    if run.t[-1] >= 1.5:
        kinetic = float(run.energy[-1, 0]) / (weight * p["radius"])
        out.append(Check("kinetic energy at the end", kinetic, 1e-2, "of m g r"))
        count = int(0.1 * run.step_count)
        carried = sum(_on_box(run.contacts(k)) for k in range(run.step_count - count, run.step_count)) / count
        out.append(Check("floor force against weight, mean of the last tenth", abs(carried / weight - 1), 2e-2))
    return out


def _on_box(contacts: StepContacts) -> float:
    """Downward force on the box [N]."""
    return -float(contacts.force_on(-1)[2])


SCENE = Scene(
    "sphere-pile",
    "n spheres of slightly different size dropped into an open box",
    "shallow penetration; no energy gained; the box carries the weight in the end",
    build,
    check,
)
