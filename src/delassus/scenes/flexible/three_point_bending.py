"""A soft beam on two cylinders, pressed down by a third that is driven (Mangoni's thesis, §5.3.2, table 5.4).

The thesis gives the mesh (26×12×3), E, ν, ρ, the cylinders' diameter, their distance and the speed of the third. What
it does not say is ours: cells of 0.05 m, so that the beam is 1.3 × 0.6 × 0.15 m, gravity along −z across its thickness,
μ = 0.3, no damping, cylinders that touch the beam when it starts."""

from typing import Annotated

import numpy as np

from delassus import fem
from delassus.builder import ModelBuilder
from delassus.dynamics import Inputs
from delassus.io.recording import Trajectory
from delassus.model.state import State
from delassus.scenes.scene import Check, Scene, Setup, all_converged, closed_joints, need, shallow
from delassus.shapes import Cylinder
from delassus.simulation import StepSettings

_CELL = 0.05  # [m]
_CELLS = (26, 12, 3)
_BENT = 0.3  # [s]: what comes later has slipped too far between the cylinders for theories of beams


def build(
    *,
    young: Annotated[float, "Young's modulus [Pa]"] = 1e7,
    poisson: Annotated[float, "Poisson's ratio [-]"] = 0.3,
    density: Annotated[float, "of the beam [kg/m³]"] = 1000.0,
    mu: Annotated[float, "friction [-]"] = 0.3,
    diameter: Annotated[float, "of the cylinders [m]"] = 0.05,
    span: Annotated[float, "between the two below [m]"] = 1.0,
    speed: Annotated[float, "of the third, downwards [m/s]"] = 1.0,
    refine: Annotated[int, "cells per published cell, along each edge [-]"] = 1,
    h: Annotated[float, "time step [s]"] = 0.01,
) -> Setup:
    need(refine >= 1, f"refine is {refine}: give 1 or more")
    size = tuple(_CELL * n for n in _CELLS)
    need(span < size[0], f"span is {span}: the beam is {size[0]} m long")
    builder = ModelBuilder()
    radius, half = 0.5 * diameter, 0.5 * size[1] + diameter
    across = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]], float)  # the cylinder's axis, z, along y
    for name, x in (("left", -0.5 * span), ("right", 0.5 * span)):
        shape = Cylinder(radius, 2.0 * half)
        builder.fixed(name, shapes=[shape], position=(x, 0, -radius), orientation=across, material=mu)
    punch = builder.body(
        "punch",
        mass=1.0,
        shapes=[Cylinder(radius, 2.0 * half)],
        position=(0, 0, size[2] + radius),
        orientation=across,
        material=mu,
    )
    builder.joint("prismatic", None, punch, axis=(0, 0, -1), name="drive", motor="imposed")
    mesh = fem.block(size=size, cells=tuple(refine * n for n in _CELLS), position=(0.0, 0.0, 0.5 * size[2]))
    builder.flexible("beam", mesh, fem.Elastic(young, poisson, density), material=mu)
    model, state = builder.build()

    def inputs(t: float, state: State) -> Inputs:
        del state
        return Inputs.of(model, target={"drive": speed * t}, target_rate={"drive": speed}, time=t)

    return Setup(model, state, 0.3, StepSettings(h=h, integrator="euler"), inputs)


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    out = [all_converged(run), closed_joints(run), shallow(run, 0.02 * p["diameter"])]
    k = min(run.step_count, round(_BENT / setup.settings.h))
    if run.t[k] > 0.1:
        stiffness = 48.0 * p["young"] * 0.6 * 0.15**3 / 12.0 / p["span"] ** 3  # of a slender beam
        pressed = max(float(run.contacts(k - 1).force_on(0)[2]), 1e-9)
        wanted = stiffness * p["speed"] * float(run.t[k])
        out.append(Check("force over that of a slender beam", abs(np.log(pressed / wanted)), np.log(1.6)))
    return out


SCENE = Scene(
    "three-point-bending",
    "a soft beam on two cylinders, bent by a third that is driven (Mangoni's thesis, table 5.4)",
    "stable at steps of 0.06 s, cylinders do not sink in, the force is that of a beam within its order of magnitude",
    build,
    check,
)
