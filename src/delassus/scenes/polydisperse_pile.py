"""Spheres of different sizes that do not turn, dropped into a pit: the test problems of Kleinert et al. 2014, §5.1.

The pit has sloping walls. On a plane the spheres slide apart into a single layer; between upright walls no motion keeps
all sliding contacts open, v_n > μ |v_t|, so that the convex law's problem has no interior.
"""

import math
from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.dynamics import Stabilisation
from delassus.io.recording import Trajectory
from delassus.law import Law
from delassus.scenes.grains import add_grains, need_grains
from delassus.scenes.scene import Check, Scene, Setup, all_converged, need, need_bodies, no_energy_gain, shallow
from delassus.shapes import Plane
from delassus.simulation import StepSettings

SIZES = (2048, 5040)
"""Spheres of the two test problems of Kleinert et al. 2014."""

_G = 9.81
_CELL = 2.05  # edge of a cell that a sphere starts in, in largest radii
_BLOCK = 0.67  # (cells along an edge of the block that falls)³ / spheres: half as high again as wide
_WALL = math.radians(60.0)  # slope of the walls


def build(
    *,
    n: Annotated[int, "spheres; Kleinert et al. 2014 have 2048 and 5040 [-]"] = 200,
    smallest: Annotated[float, "radius [m]"] = 0.008,
    largest: Annotated[float, "radius [m]"] = 0.016,
    density: Annotated[float, "of the spheres [kg/m³]"] = 2600.0,
    mu: Annotated[float, "friction [-]"] = 0.4,
    reach: Annotated[float, "gap at which two spheres of mean radius become a potential contact [m]"] = 0.02,
    rolls: Annotated[bool, "the spheres may turn; those of Kleinert et al. 2014 may not [-]"] = False,
    seed: Annotated[int, "of the random radii and places [-]"] = 1,
) -> Setup:
    need_grains(n, smallest, largest, seed)
    need_bodies(n, f"n = {n}")
    need(0.0 <= reach <= 10.0 * largest, f"reach is {reach}: give zero or more, at most ten radii of {largest} m")
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G), reach=reach / (smallest + largest))
    material = Material(mu)
    edge, side = _CELL * largest, max(2, round((_BLOCK * n) ** (1 / 3)))
    half, sine, cosine = 0.5 * edge * side, math.sin(_WALL), math.cos(_WALL)
    slopes = [Plane((sine * x, sine * y, cosine), -sine * half) for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))]
    builder.fixed("pit", shapes=[Plane(), *slopes], material=material)
    k = np.arange(n)
    cells = edge * (np.stack([k % side, k // side % side, k // side**2], axis=1) + 0.5) - [half, half, 0.0]
    add_grains(builder, np.random.default_rng(seed), cells, edge, (smallest, largest), density, material, rolls)
    model, state = builder.build()
    # the scheme of Kleinert et al. 2014: implicit Euler, the whole gap in the normal row (eq. 10), the convex law
    settings = StepSettings(h=0.01, solver="ipm", law=Law.CCP, integrator="euler", stabilisation=Stabilisation.full())
    return Setup(model, state, 1.0, settings=settings)


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    weight = float(setup.model.mass.sum()) * _G
    out = [all_converged(run), shallow(run, 5e-2 * p["smallest"]), no_energy_gain(run, weight * p["smallest"], 1e-3)]
    if not p["rolls"]:
        out.append(Check("turning", float(np.abs(run.u[:, :, 3:]).max()), 1e-4, "rad/s"))
    pushed = sum(setup.settings.h * -run.contacts(k).force_on(-1) for k in range(run.step_count))
    momentum = setup.model.mass @ (run.u[-1, :, :3] - run.u[0, :, :3])
    left = momentum - pushed + [0.0, 0.0, weight * run.t[-1]]
    out.append(Check("momentum against impulses", float(np.abs(left).max()) / (weight * run.t[-1]), 1e-6, "of m g t"))
    if run.t[-1] >= 1.0 - 1e-9:
        out.append(
            Check("kinetic energy at the end", float(run.energy[-1, 0]) / (weight * p["smallest"]), 1e-2, "of m g r")
        )
    return out


SCENE = Scene(
    "polydisperse-pile",
    "n spheres of different size that do not turn, dropped into a pit: the piles of Kleinert et al. 2014",
    "shallow penetration; no energy gained; momentum is what pit and weight gave; at rest in the end",
    build,
    check,
)
