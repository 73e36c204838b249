"""Balls poured without friction into a round container (Mangoni, thesis, §5.3.1, Table 5.2; Mangoni and Tasora,
§4.1)."""

import math
from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.dynamics import Stabilisation
from delassus.io.recording import Trajectory
from delassus.law import Law
from delassus.scenes.scene import Check, Scene, Setup, all_converged, need, need_bodies, no_energy_gain, shallow
from delassus.shapes import Plane, Sphere
from delassus.simulation import StepSettings

SIZES = (64, 280, 595, 1190)
"""Balls of Table 5.3: n_v = 384, 1680, 3570 and 7140 velocities."""

_G = 9.81
_WALLS = 24  # planes that stand for the container's round wall
_SPACING = 1.05  # of the first places, in diameters


def build(
    *,
    n: Annotated[int, "balls; Table 5.3 has 64, 280, 595 and 1190 [-]"] = SIZES[0],
    diameter: Annotated[float, "of the balls [m]"] = 0.07,
    density: Annotated[float, "of the balls [kg/m³]"] = 1000.0,
    container: Annotated[float, "diameter of the container [m]"] = 1.0,
    reach: Annotated[float, "distance at which two balls become a row of the problem [m]"] = 0.06,
    seed: Annotated[int, "of the random places [-]"] = 1,
) -> Setup:
    need(n >= 1, f"n is {n}: give at least one ball")
    need_bodies(n, f"n = {n}")
    need(seed >= 0, f"seed is {seed}: give zero or more")
    need(
        0 < diameter <= 0.25 * container,
        f"diameter is {diameter}: give a positive part, at most a quarter, of the container's {container}",
    )
    need(reach >= 0, f"reach is {reach}: give zero or more")
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G), reach=reach / diameter)
    material = Material(0.0)
    walls = [Plane((-x, -y, 0.0), -0.5 * container) for x, y in _outward()]
    builder.fixed("container", shapes=[Plane(), *walls], material=material)
    shape = Sphere(0.5 * diameter)
    for k, place in enumerate(_column(n, diameter, container)):
        jitter = 0.02 * diameter * rng.uniform(-1, 1, 3)
        builder.body(f"ball-{k + 1}", position=place + jitter, density=density, shapes=[shape], material=material)
    model, state = builder.build()
    settings = StepSettings(h=0.02, law=Law.FRICTIONLESS, integrator="euler", stabilisation=Stabilisation.full())
    return Setup(model, state, 1.0, settings=settings)


def _outward() -> np.ndarray:
    """Directions from the axis to the walls, (24, 2)."""
    angles = 2.0 * math.pi * np.arange(_WALLS) / _WALLS
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _column(n: int, diameter: float, container: float) -> np.ndarray:
    """First places, (n, 3) [m]: an upright column about as high as wide, where the container lets it be."""
    cell = _SPACING * diameter
    widest = 0.5 * container - 0.6 * diameter
    radius = min(widest, 0.5 * cell * (4.0 * n / math.pi) ** (1.0 / 3.0))
    axis = np.arange(-math.ceil(radius / cell), math.ceil(radius / cell) + 1) * cell
    x, y = (grid.ravel() for grid in np.meshgrid(axis, axis))
    inside = np.hypot(x, y) <= max(radius, 0.1 * cell)
    x, y = x[inside], y[inside]
    layer, k = np.divmod(np.arange(n), len(x))
    return np.column_stack([x[k], y[k], 0.55 * diameter + layer * cell])


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    weight = float(setup.model.mass.sum()) * _G
    out = [all_converged(run), shallow(run, 1e-3 * p["diameter"]), no_energy_gain(run, weight * p["diameter"], 1e-6)]
    beyond = (run.q[..., :2] @ _outward().T).max() - 0.5 * (p["container"] - p["diameter"])
    out.append(Check("outside the container", float(beyond), 1e-3 * p["diameter"], "m"))
    momentum = setup.model.mass @ (run.u[-1, :, 2] - run.u[0, :, 2])
    pushed = sum(setup.settings.h * -run.contacts(k).force_on(-1)[2] for k in range(run.step_count))
    given = pushed - weight * run.t[-1]
    out.append(Check("momentum against impulses", abs(momentum - given) / (weight * run.t[-1]), 1e-6, "of m g t"))
    return out


SCENE = Scene(
    "balls-in-the-box",
    "n equal balls poured without friction into a round container, the benchmark of Mangoni's thesis",
    "nothing leaves the container; shallow penetration; no energy gained; momentum is what floor and weight gave",
    build,
    check,
)
