"""A heavy cylinder on a bed of light spheres in a silo: the mass ratio test of Heyn et al. 2013 (section 5.3)."""

from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.scenes.scene import Scene, Setup, need, need_bodies
from delassus.scenes.silo import fill
from delassus.scenes.sphere_pile import check
from delassus.shapes import Cylinder
from delassus.simulation import StepSettings

_WIDTH = 0.75  # radius of the cylinder over that of the silo: 1.125 m in 1.5 m
_HEIGHT = 0.5  # of the cylinder over the silo's radius: the paper does not say


def build(
    *,
    n: Annotated[int, "spheres [-]"] = 40,
    heavy: Annotated[float, "mass of the cylinder [kg]"] = 400.0,
    radius: Annotated[float, "of the spheres [m]"] = 0.1,
    container: Annotated[float, "inner radius of the silo [m]"] = 0.4,
    density: Annotated[float, "of the spheres [kg/m³]"] = 1500.0,
    mu: Annotated[float, "friction [-]"] = 0.4,
    reach: Annotated[float, "contacts are found this part of a sphere's radius before it touches [-]"] = 0.05,
    seed: Annotated[int, "of the random places [-]"] = 1,
) -> Setup:
    need(n >= 1, f"n is {n}: give at least one sphere")
    need_bodies(n + 1, f"n = {n}")
    need(heavy > 0, f"heavy is {heavy}: give a positive mass")
    need(container > 1.2 * radius > 0, f"container is {container}: a sphere of radius {radius} does not fit in")
    need(container < 1000 * radius, f"container is {container}: give less than a thousand radii of {radius} m")
    need(seed >= 0, f"seed is {seed}: give zero or more")
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81), reach=reach)
    material = Material(mu)
    top = fill(builder, n, radius, container, density, material, np.random.default_rng(seed))
    height = _HEIGHT * container
    builder.body(
        "cylinder",
        position=(0.0, 0.0, top + 0.5 * height),
        mass=heavy,
        shapes=[Cylinder(_WIDTH * container, height)],
        material=material,
    )
    model, state = builder.build()
    return Setup(model, state, 2.0, settings=StepSettings(h=2e-3))


SCENE = Scene(
    "heavy-cylinder",
    "a heavy cylinder dropped onto a bed of light spheres in a silo",
    "shallow penetration; no energy gained; the silo carries the weight in the end",
    build,
    check,
)
