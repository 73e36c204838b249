"""Two rigid jaws press a soft block with a given force, lift it and shake it: it slips where 2 μ N is less than what it
takes to hold it."""

import math
from typing import Annotated

import numpy as np

from delassus import fem
from delassus.builder import ModelBuilder
from delassus.dynamics import Inputs
from delassus.io.recording import Trajectory
from delassus.model.state import State
from delassus.scenes.scene import Check, Scene, Setup, all_converged, closed_joints, need, shallow
from delassus.shapes import Box, Plane
from delassus.simulation import StepSettings

_G, _SIZE = 9.81, 0.1  # gravity [m/s²], edge of the block [m]
_SQUEEZED, _LIFTED, _STILL = 0.3, 0.7, 0.9  # [s]


def build(
    *,
    mu: Annotated[float, "friction; it slips below m g / 2 N [-]"] = 0.5,
    force: Annotated[float, "of each jaw, N [N]"] = 15.0,
    young: Annotated[float, "Young's modulus [Pa]"] = 1e5,
    density: Annotated[float, "of the block [kg/m³]"] = 1000.0,
    lift: Annotated[float, "how high [m]"] = 0.1,
    shake: Annotated[float, "sideways, to and fro [m]"] = 0.01,
    cells: Annotated[int, "along each edge [-]"] = 4,
    h: Annotated[float, "time step [s]"] = 0.005,
) -> Setup:
    need(force > 0.0, f"force is {force}: jaws press, give a positive force")
    need(1 <= cells <= 30, f"cells is {cells}: give 1 to 30")
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    builder.fixed("table", shapes=[Plane()], material=mu)
    hand = builder.body("hand", mass=1.0, inertia=(0.01, 0.01, 0.01), position=(0, 0, 2.0 * _SIZE))
    arm = builder.body("arm", mass=1.0, inertia=(0.01, 0.01, 0.01), position=(0, 0, 2.0 * _SIZE))
    builder.joint("prismatic", None, arm, axis=(0, 0, 1), name="lift", motor="imposed")
    builder.joint("prismatic", arm, hand, axis=(0, 1, 0), name="shake", motor="imposed")
    thick = 0.02
    for name, side in (("left", -1.0), ("right", 1.0)):
        jaw = builder.body(
            name,
            mass=0.2,
            shapes=[Box((thick, _SIZE, 0.8 * _SIZE))],
            material=mu,
            position=(side * 0.5 * (_SIZE + thick), 0, 0.5 * _SIZE),
        )
        builder.joint("prismatic", hand, jaw, axis=(-side, 0, 0), name=name, damping=20.0)
    mesh = fem.block(size=(_SIZE, _SIZE, _SIZE), cells=(cells, cells, cells), position=(0, 0, 0.5 * _SIZE))
    builder.flexible("block", mesh, fem.Elastic(young, 0.3, density, damping=(0.0, 0.02)), material=mu)
    model, state = builder.build()

    def inputs(t: float, state: State) -> Inputs:
        del state
        z, rate = _smooth((t - _SQUEEZED) / (_LIFTED - _SQUEEZED), _LIFTED - _SQUEEZED)
        y, speed = 0.0, 0.0
        if t > _STILL:
            w = 2.0 * math.pi * 2.0
            y, speed = shake * 0.5 * (1.0 - math.cos(w * (t - _STILL))), shake * 0.5 * w * math.sin(w * (t - _STILL))
        press = force * min(t / (0.5 * _SQUEEZED), 1.0)
        return Inputs.of(
            model,
            target={"lift": lift * z, "shake": y},
            target_rate={"lift": lift * rate, "shake": speed},
            effort={"left": press, "right": press},
            time=t,
        )

    return Setup(model, state, 1.9, StepSettings(h=h, integrator="euler", tol=1e-9), inputs)


def _smooth(s: float, duration: float) -> tuple[float, float]:
    """From 0 to 1 for s from 0 to 1, and its rate [1/s]."""
    s = min(max(s, 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s) / duration


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    assert setup.model.flexible is not None
    mass = setup.model.flexible.elements.nodal_mass
    out = [all_converged(run), closed_joints(run), shallow(run, 1e-3 * _SIZE)]
    if run.t[-1] < _STILL:
        return out
    height = run.nodes[..., 2] @ mass / mass.sum() - 0.5 * _SIZE
    holds = 2.0 * p["mu"] * p["force"] > 1.3 * mass.sum() * _G  # lifting takes more than the weight
    slips = 2.0 * p["mu"] * p["force"] < 0.95 * mass.sum() * _G
    k = int(np.searchsorted(run.t, _STILL)) - 1
    if holds:
        out.append(Check("lifted", abs(height[k] - p["lift"]), 0.1 * _SIZE, "m"))
        if run.t[-1] > 1.4:
            drop = float((height[k] - height[k:]).max())
            out.append(Check("lost while shaken", drop, 0.02 * _SIZE, "m"))
    if slips:
        out.append(Check("left on the table", float(height[k]), 0.02 * _SIZE, "m"))
    return out


SCENE = Scene(
    "soft-gripper",
    "two rigid jaws press a soft block, lift it and shake it",
    "held where 2 μ N exceeds its weight, left on the table where it does not",
    build,
    check,
)
