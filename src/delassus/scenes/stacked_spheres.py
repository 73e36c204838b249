"""Spheres standing on each other, each guided along the vertical; equal ones, or each ten times heavier than the one
below (Mangoni, thesis, §5.3.3)."""

from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.dynamics import Stabilisation
from delassus.io.recording import Trajectory
from delassus.law import Law
from delassus.scenes.scene import Check, Scene, Setup, all_converged, closed_joints, need, need_bodies
from delassus.shapes import Plane, Sphere
from delassus.simulation import StepSettings

_G = 9.81
_HEAVIEST = 1e30  # kg: beyond, positions of the small spheres drown in the size of the large ones
_SUNK = 1e-3  # of a diameter
_SPREAD, _FEW = 1e6, 50  # of masses; of bodies, so few that reactions may be two doubles: either way steps converge


def build(
    *,
    n: Annotated[int, "spheres [-]"] = 10,
    mass: Annotated[float, "of the lowest sphere [kg]"] = 100.0,
    ratio: Annotated[float, "mass of each sphere over that of the one below; 1 and 10 in the thesis [-]"] = 1.0,
    density: Annotated[float, "of all spheres, from which their sizes follow [kg/m³]"] = 1000.0,
) -> Setup:
    need(n >= 1, f"n is {n}: give at least one sphere")
    need_bodies(n, f"n = {n}")
    for name, value in (("mass", mass), ("density", density), ("ratio", ratio)):
        need(value > 0, f"{name} is {value}: give a positive number")
    largest = np.log10(mass) + max(0.0, (n - 1) * np.log10(ratio))
    need(
        largest <= np.log10(_HEAVIEST),
        f"the heaviest of {n} spheres has 1e{largest:.0f} kg: give fewer, a smaller "
        f"mass or a smaller ratio, at most {_HEAVIEST:g} kg",
    )
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    material = Material(0.0)
    builder.fixed("floor", shapes=[Plane()], material=material)
    top = 0.0
    for k in range(n):
        m = mass * ratio**k
        radius = (0.75 * m / (np.pi * density)) ** (1.0 / 3.0)
        sphere = builder.body(
            f"sphere-{k + 1}", position=(0.0, 0.0, top + radius), mass=m, shapes=[Sphere(radius)], material=material
        )
        builder.joint("cylindrical", None, sphere, name=f"guide-{k + 1}")
        top += 2.0 * radius
    model, state = builder.build()
    stabilisation = Stabilisation(contact=1.0, depenetration_speed=np.inf, through_velocities=True)
    settings = StepSettings(h=0.05, law=Law.FRICTIONLESS, integrator="euler", stabilisation=stabilisation)
    return Setup(model, state, 2.5, settings=settings)


def sunk(setup: Setup, run: Trajectory) -> np.ndarray:
    """How far each sphere came closer to what is below it than touching, at worst, in its diameters, (n,)."""
    radius = _radii(setup)
    z = run.q[:, :, 2]
    gap = np.diff(z, axis=1, prepend=0.0) - radius - np.concatenate([[0.0], radius[:-1]])
    return (-gap / (2.0 * radius)).max(axis=0)


def _radii(setup: Setup) -> np.ndarray:
    return (0.75 * setup.model.mass / (np.pi * setup.parameters["density"])) ** (1.0 / 3.0)


def check(setup: Setup, run: Trajectory) -> list[Check]:
    mass = setup.model.mass
    out = [Check("sunk", float(sunk(setup, run).max()), _SUNK, "diameters"), closed_joints(run)]
    lift = (run.q[:, :, 2] - run.q[0, :, 2]) / (2.0 * _radii(setup))
    out.append(Check("lifted", float(lift.max()), _SUNK, "diameters"))
    weight = float(mass.sum()) * _G
    held = np.array([-run.contacts(k).force_on(-1)[2] for k in range(run.step_count)])
    out.append(Check("force on the floor against weight", float(np.abs(held / weight - 1.0).max()), 1e-5))
    if mass.max() / mass.min() <= _SPREAD or len(mass) <= _FEW:
        out.append(all_converged(run))
    return out


SCENE = Scene(
    "stacked-spheres",
    "n spheres on top of each other, guided upright; ratio=10 mass=10: each ten times heavier than the one below",
    "no sphere sinks into the one below or leaves it; the floor carries the weight",
    build,
    check,
)
