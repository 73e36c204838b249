"""A beam clamped at one end and let go under its own weight: it swings about where beam theory says it would hang, with
the period of its first mode."""

import math
from typing import Annotated

import numpy as np

from delassus import fem
from delassus.builder import ModelBuilder
from delassus.io.recording import Trajectory
from delassus.scenes.scene import Check, Scene, Setup, all_converged, closed_joints, energy_kept, need
from delassus.simulation import StepSettings

_G = 9.81
_FIRST = 1.8751040687119611  # first root of cos x cosh x = −1
_AGAINST_THEORY = 0.05  # Euler and Bernoulli's beam has no shear and free sections; ten cells have errors of their own


def build(
    *,
    length: Annotated[float, "of the beam [m]"] = 1.0,
    thickness: Annotated[float, "of its square section [m]"] = 0.1,
    young: Annotated[float, "Young's modulus [Pa]"] = 1e8,
    density: Annotated[float, "of the beam [kg/m³]"] = 1000.0,
    cells: Annotated[int, "along the beam, of quadratic tetrahedra [-]"] = 10,
    h: Annotated[float, "time step [s]"] = 0.002,
) -> Setup:
    need(length >= 5.0 * thickness, f"length is {length}: a beam is at least five times as long as thick")
    need(1 <= cells <= 500, f"cells is {cells}: give 1 to 500")
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    mesh = fem.block(size=(length, thickness, thickness), cells=(cells, 1, 1), position=(0.5 * length, 0, 0))
    beam = builder.flexible("beam", mesh.quadratic(), fem.Elastic(young, 0.3, density))
    builder.weld(beam, "x-")
    model, state = builder.build()
    need(h > 0.0, f"h is {h}: give a positive time step")
    steps = math.ceil(3.0 * _period(length, thickness, young, density) / h)
    return Setup(model, state, steps * h, StepSettings(h=h))


def _period(length: float, thickness: float, young: float, density: float) -> float:
    """Of the first mode of Euler and Bernoulli's beam [s]."""
    stiffness = young * thickness**4 / 12.0
    return 2.0 * math.pi * length**2 / (_FIRST**2 * math.sqrt(stiffness / (density * thickness**2)))


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    assert setup.model.flexible is not None
    tip = run.nodes[:, setup.model.flexible.sets["beam.x+"], 2].mean(axis=1)
    sag = _G * p["density"] * p["thickness"] ** 2 * p["length"] ** 4 / (8.0 * p["young"] * p["thickness"] ** 4 / 12.0)
    out = [all_converged(run), closed_joints(run), energy_kept(run, float(run.energy[:, 0].max()), 1e-3)]
    period = _period(p["length"], p["thickness"], p["young"], p["density"])
    count = math.floor(run.t[-1] / period)
    if count < 1 or sag > 0.1 * p["length"]:
        return out  # too short to be seen, or too large for theory
    whole = run.t <= count * period
    mean = np.trapezoid(tip[whole], run.t[whole]) / run.t[whole][-1]
    out.append(Check("mean deflection against q L⁴ / 8 E I", abs(-mean / sag - 1.0), _AGAINST_THEORY))
    phase = np.unwrap(np.angle(_swing(tip + sag, run.t, period)))
    measured = 2.0 * math.pi * (run.t[-1] - run.t[0]) / abs(phase[-1] - phase[0])
    return [*out, Check("period against beam theory", abs(measured / period - 1.0), _AGAINST_THEORY)]


def _swing(x: np.ndarray, t: np.ndarray, period: float) -> np.ndarray:
    """x with its rate as the imaginary part: turns once a period."""
    return x + 1j * np.gradient(x, t) * period / (2.0 * math.pi)


SCENE = Scene(
    "cantilever",
    "a clamped beam of finite elements, let go under its own weight",
    "swings about q L⁴ / 8 E I with the period of beam theory within 5 %, energy kept to 0.1 %",
    build,
    check,
)
