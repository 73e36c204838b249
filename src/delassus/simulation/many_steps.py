"""Many steps: the one loop that runs, benchmarks and recordings share."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral

from delassus.dynamics import Inputs
from delassus.errors import SettingsError
from delassus.integrators import integrator
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation.memory import Memory
from delassus.simulation.one_step import StepReport, step
from delassus.simulation.settings import StepSettings

Watcher = Callable[[int, State, StepReport, Memory], None]
InputFunction = Callable[[float, State], Inputs | None]


def simulate(
    model: Model,
    state: State,
    inputs: InputFunction | None = None,
    settings: StepSettings | None = None,
    steps: int | range = 1,
    *,
    memory: Memory | None = None,
    watch: Watcher | None = None,
) -> State:
    """Take some steps; the state after the last.

    inputs: called with the time that second order asks for, where the rows are evaluated, and the state before the
    step; steps: how many, or their numbers; memory: where the first solve starts from, filled after every step; watch:
    called with (number, state, report, memory) after each, to record or display it.

    >>> import delassus
    >>> builder = delassus.ModelBuilder()
    >>> ball = builder.body("ball", shapes=delassus.Sphere(0.1), density=1000.0)
    >>> model, state = builder.build()
    >>> round(delassus.simulate(model, state, steps=100, settings=delassus.StepSettings(h=1e-3)).t, 6)
    0.1
    """
    settings, memory = settings or StepSettings(), Memory() if memory is None else memory
    if not isinstance(steps, range):
        if not isinstance(steps, Integral) or steps < 0:
            raise SettingsError(f"simulate: steps is {steps!r}: give how many, zero or more, or a range of numbers")
        steps = range(int(steps))
    ahead = integrator(settings.integrator).lead * settings.h
    for k in steps:
        now = None if inputs is None else inputs(state.t + ahead, state)
        if now is not None and now.time is None:
            now = replace(now, time=state.t + ahead)
        state, report = step(model, state, now, settings, memory)
        if watch is not None:
            watch(k, state, report, memory)
    return state
