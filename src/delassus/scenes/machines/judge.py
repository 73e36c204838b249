"""From a machine to a scene: how it is run and what must hold."""

from collections.abc import Callable
from typing import Any

from delassus.io.recording import Trajectory
from delassus.scenes.machines.kit import Machine
from delassus.scenes.scene import Check, Scene, Setup, all_converged, shallow

_CLOSED = 1e-5  # joints [m, rad]


def setup_of(machine: Machine, duration: float = 5.0) -> Setup:
    model, state = machine.builder.build()
    return Setup(model, state, duration, inputs=machine.motion(model))


def machine_scene(name: str, summary: str, construct: Callable[..., Setup], *, stands: float | None = None) -> Scene:
    """stands: height [m] its first body must keep while its joints hold still."""

    def judge(setup: Setup, run: Trajectory) -> list[Check]:
        out = [all_converged(run), Check("joints closed", run.drift.max(initial=0.0), _CLOSED, "m, rad")]
        if stands is not None:
            out.append(shallow(run, 1e-3))
            parameters: dict[str, Any] = setup.parameters
            if not parameters["wave"]:
                out.append(Check("trunk below where it stands", stands - run.q[:, 0, 2].min(), 0.0, "m"))
        return out

    claims = "every step converges and all joints and loops stay closed to 1e-5"
    return Scene(name, summary, claims + ("; it stands" if stands else ""), construct, judge)
