"""Spheres dropped into an upright cylinder, a prism of planes: the granular test of Heyn et al. 2013 (section 5.2)."""

import math
from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.scenes.scene import Scene, Setup, need, need_bodies
from delassus.scenes.sphere_pile import check
from delassus.shapes import Plane, Sphere
from delassus.simulation import StepSettings

_G = 9.81
_SIDES = 24  # planes of the prism
_PITCH = 2.2  # radii between neighbours at the start
_JITTER = 0.08  # radii by which places differ from a lattice, which would stand as it is


def build(
    *,
    n: Annotated[int, "spheres [-]"] = 40,
    radius: Annotated[float, "of the spheres [m]"] = 0.1,
    container: Annotated[float, "inner radius of the cylinder [m]"] = 0.4,
    density: Annotated[float, "of the spheres [kg/m³]"] = 1500.0,
    mu: Annotated[float, "friction [-]"] = 0.4,
    reach: Annotated[float, "contacts are found this part of a sphere's radius before it touches [-]"] = 0.05,
    seed: Annotated[int, "of the random places [-]"] = 1,
) -> Setup:
    need(n >= 1, f"n is {n}: give at least one sphere")
    need_bodies(n, f"n = {n}")
    need(container > 1.2 * radius > 0, f"container is {container}: a sphere of radius {radius} does not fit in")
    need(container < 1000 * radius, f"container is {container}: give less than a thousand radii of {radius} m")
    need(seed >= 0, f"seed is {seed}: give zero or more")
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G), reach=reach)
    material = Material(mu)
    fill(builder, n, radius, container, density, material, rng)
    model, state = builder.build()
    return Setup(model, state, 2.0, settings=StepSettings(h=2e-3))


def fill(
    builder: ModelBuilder,
    n: int,
    radius: float,
    container: float,
    density: float,
    material: Material,
    rng: np.random.Generator,
) -> float:
    """Add the cylinder and its spheres, layer above layer; the height of the topmost sphere's top [m]."""
    angles = 2.0 * math.pi * np.arange(_SIDES) / _SIDES
    walls = [Plane((-math.cos(angle), -math.sin(angle), 0.0), -container) for angle in angles]
    builder.fixed("silo", shapes=[Plane(), *walls], material=material)
    layer = _layer(container - (1.0 + _JITTER) * radius, _PITCH * radius)
    for k in range(n):
        x, y = layer[k % len(layer)]
        place = np.array([x, y, (k // len(layer) + 0.6) * _PITCH * radius])
        builder.body(
            f"sphere-{k + 1}",
            position=place + _JITTER * radius * rng.uniform(-1, 1, 3),
            density=density,
            shapes=[Sphere(radius)],
            material=material,
        )
    return ((n - 1) // len(layer) + 0.6) * _PITCH * radius + (1.0 + _JITTER) * radius


def _layer(reach: float, pitch: float) -> list[tuple[float, float]]:
    """Points of a square lattice within `reach` of the axis, the axis among them."""
    most = int(reach / pitch)
    return [
        (pitch * i, pitch * j)
        for i in range(-most, most + 1)
        for j in range(-most, most + 1)
        if math.hypot(i, j) * pitch <= reach
    ]


SCENE = Scene(
    "silo",
    "n spheres dropped into an upright cylinder of 24 planes",
    "shallow penetration; no energy gained; the silo carries the weight in the end",
    build,
    check,
)
