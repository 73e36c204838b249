"""Heavy bodies on light ones: a stack in which each body is many times heavier than the one below."""

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from delassus.builder import Material, ModelBuilder
from delassus.io.recording import Trajectory
from delassus.scenes.scene import Check, Scene, Setup, all_converged, need, need_bodies
from delassus.shapes import Box, Plane, Sphere
from delassus.simulation import StepSettings

_G = 9.81
_DENSITY = 1000.0  # kg/m³
_HEAVIEST = 1e30  # kg: beyond, positions of the small bodies drown in the size of the large ones
_MOVED = 1e-6  # of a body's half width
_ASKED, _SLOW = 1e-8, 1e-6  # errors of velocity asked for, and speeds allowed, over what falls in a step


def build(
    *,
    n: Annotated[int, "bodies [-]"] = 4,
    ratio: Annotated[float, "mass of each body over that of the one below [-]"] = 1000.0,
    mass: Annotated[float, "of the lowest body [kg]"] = 10.0,
    mu: Annotated[float, "friction coefficient [-]"] = 0.3,
    spheres: Annotated[bool, "spheres instead of cubes [-]"] = False,
) -> Setup:
    need(n >= 1, f"n is {n}: give at least one body")
    need_bodies(n, f"n = {n}")
    for name, value in (("mass", mass), ("ratio", ratio)):
        need(value > 0, f"{name} is {value}: give a positive number")
    need(mu >= 0, f"mu is {mu}: give zero or more")
    largest = np.log10(mass) + max(0.0, (n - 1) * np.log10(ratio))
    need(
        largest <= np.log10(_HEAVIEST),
        f"the heaviest of {n} bodies has 1e{largest:.0f} kg: give fewer, a smaller "
        f"mass or a smaller ratio, at most {_HEAVIEST:g} kg",
    )
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    material = Material(mu)
    builder.fixed("floor", shapes=[Plane()], material=material)
    top = 0.0
    for k in range(n):
        half = float(_half_width(mass * ratio**k))
        shape = Sphere(half) if spheres else Box((2.0 * half, 2.0 * half, 2.0 * half))
        body = builder.body(
            f"body-{k + 1}", position=(0.0, 0.0, top + half), mass=mass * ratio**k, shapes=[shape], material=material
        )
        # Nothing holds a sphere on a sphere, nor a cube without friction: a tilt of the last digit, under 1e19 times
        # the body's own weight, is a thousand g sideways. Guides do, as in the stacks of Mangoni's thesis.
        if spheres or mu == 0.0:
            builder.joint("prismatic", None, body, name=f"guide-{k + 1}")
        top += 2.0 * half
    model, state = builder.build()
    return Setup(model, state, 1.0, settings=StepSettings(h=0.01, tol_velocity=_ASKED))


def _half_width(mass: ArrayLike) -> np.ndarray:
    """Of a sphere of that mass; a cube gets the same [m]."""
    return (0.75 * np.asarray(mass, float) / (np.pi * _DENSITY)) ** (1.0 / 3.0)


def moved(setup: Setup, run: Trajectory) -> float:
    """How far a body went from where it was, at worst, in its half widths."""
    way = np.linalg.norm(run.q[:, :, :3] - run.q[0, :, :3], axis=2)
    return float((way / _half_width(setup.model.mass)).max())


def speeds(run: Trajectory) -> tuple[float, float]:
    """Worst velocity the judge found, and largest speed of a body [m/s, rad/s], over what falls in a step."""
    fall = _G * float(np.diff(run.t).min())
    return float(run.array("solver/worst_velocity").max()) / fall, float(np.abs(run.u).max()) / fall


def check(setup: Setup, run: Trajectory) -> list[Check]:
    worst, speed = speeds(run)
    return [
        Check("moved", moved(setup, run), _MOVED, "half widths"),
        Check("worst velocity against free fall", worst, _SLOW),
        Check("speed of a body against free fall", speed, _SLOW),
        all_converged(run),
    ]


SCENE = Scene(
    "heavy-on-light",
    "n cubes or spheres, each `ratio` times heavier than the one below: 10 kg may carry 1e20 kg",
    "nothing moves, velocities hold to 1e-6 of what falls in a step, every step converged",
    build,
    check,
)
