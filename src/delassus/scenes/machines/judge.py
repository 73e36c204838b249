"""From a machine to a scene: how it is run and what must hold."""

from collections.abc import Callable
from typing import Annotated

import numpy as np

from delassus.io.recording import Trajectory
from delassus.joints.arrays import PASSIVE
from delassus.scenes.machines.kit import Machine
from delassus.scenes.scene import Check, Scene, Setup, all_converged, shallow

Wave = Annotated[float, "amplitude of the joints' motion [rad]; 0: they hold their pose"]
Stiffness = Annotated[float, "of the motors [N m/rad]"]
Speed = Annotated[float, "it walks at [m/s]; 0: it stands"]

_CLOSED = 1e-5  # joints [m, rad]
_BEYOND = 1e-3  # rad past a limit: what a joint turns in the step in which it gets there
_SUNK = 1e-3  # m into each other: what a foot that lands goes in one step
_OFF = 0.1  # rad, root mean square: what load and stops keep driven joints from where they should be
_BEGINS = 2.0  # s until it walks at full speed


def setup_of(machine: Machine, duration: float = 5.0) -> Setup:
    model, state = machine.builder.build()
    return Setup(model, state, duration, inputs=machine.motion.inputs(model))


def machine_scene(name: str, summary: str, construct: Callable[..., Setup], *, stands: float | None = None) -> Scene:
    """stands: height [m] that its first body must keep; such a machine walks along x at its parameter `speed`."""

    def judge(setup: Setup, run: Trajectory) -> list[Check]:
        out = [
            all_converged(run),
            Check("joint drift", run.drift.max(initial=0.0), _CLOSED, "m, rad"),
            Check("past the limits of its joints", beyond_limits(setup, run), _BEYOND, "rad"),
            shallow(run, _SUNK),
            Check("driven joints off their targets", off_targets(setup, run), _OFF, "rad, root mean square"),
        ]
        if stands is not None:
            out.append(Check("height of standing above that of the trunk", stands - run.q[:, 0, 2].min(), 0.0, "m"))
            missing = setup.parameters["speed"] * (run.t[-1] - _BEGINS) - (run.q[-1, 0, 0] - run.q[0, 0, 0])
            if run.t[-1] > 2.0 * _BEGINS:
                bound = 0.5 * setup.parameters["speed"] * (run.t[-1] - _BEGINS)
                out.append(Check("way that it did not walk", missing, bound, "m"))
        return out

    claims = "every step converges; joints and loops stay closed; limits hold; nothing sinks in; motors follow"
    return Scene(name, summary, claims + ("; it walks and does not fall" if stands else ""), construct, judge)


def beyond_limits(setup: Setup, run: Trajectory) -> float:
    """Furthest that a coordinate went past its limits [rad]."""
    joints, angle = setup.model.joints, run.array("joints/coordinate")
    return float(np.maximum(joints.lower - angle, angle - joints.upper).max(initial=0.0))


def off_targets(setup: Setup, run: Trajectory) -> float:
    """Root mean square of how far driven coordinates are from where they should be, over some fifty steps [rad]."""
    driven = setup.model.joints.drive != PASSIVE
    lead, h = setup.settings.scheme.lead, setup.settings.h
    assert setup.inputs is not None
    errors = []
    for k in range(0, run.step_count, max(1, run.step_count // 50)):
        inputs = setup.inputs(run.t[k] + lead * h, run.state(k))
        assert inputs is not None
        errors.append((run.array("joints/coordinate")[k] - inputs.target)[driven])
    return float(np.sqrt(np.mean(np.square(errors))))
