"""Many steps."""

from collections.abc import Callable
from dataclasses import replace

from delassus.dynamics import Inputs
from delassus.integrators import integrator
from delassus.io.recording import Columns, Trajectory
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation import Memory, StepReport, StepSettings, step

Watcher = Callable[[int, State, StepReport, Memory], None]
InputFunction = Callable[[float, State], Inputs | None]


def advance(
    model: Model, state: State, inputs: InputFunction | None, settings: StepSettings, steps: range, memory: Memory,
    watch: Watcher,
) -> State:  # fmt: skip
    """Take the steps with these numbers, calling `watch` after each; the last state.

    inputs: called with the time that second order asks for, where the rows are evaluated, and the state before the
    step."""
    ahead = integrator(settings.integrator).lead * settings.h
    for k in steps:
        now = None if inputs is None else inputs(state.t + ahead, state)
        if now is not None and now.time is None:
            now = replace(now, time=state.t + ahead)
        state, report = step(model, state, now, settings, memory)
        watch(k, state, report, memory)
    return state


def simulate(
    model: Model, state: State, inputs: InputFunction | None, settings: StepSettings, steps: int, *,
    memory: Memory | None = None, watch: Watcher | None = None,
) -> Trajectory:  # fmt: skip
    """Take some steps and keep them in memory.  inputs: (t, state) → Inputs or None."""
    columns = Columns(model, state, settings.h)

    def keep(k: int, state: State, report: StepReport, memory: Memory) -> None:
        columns.add(state, report)
        if watch is not None:
            watch(k, state, report, memory)

    advance(model, state, inputs, settings, range(steps), memory or Memory(), keep)
    return Trajectory.of(columns)
