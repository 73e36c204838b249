"""Old names of what `delassus.simulate` and `Setup.run` do; they go with the next release."""

from delassus.io.recording import Trajectory
from delassus.model.model import Model
from delassus.model.state import State
from delassus.scenes.scene import Setup
from delassus.simulation import Memory, StepSettings
from delassus.simulation.many_steps import Watcher
from delassus.simulation.many_steps import simulate as _simulate
from delassus.simulation.run import InputFunction


def advance(
    model: Model,
    state: State,
    inputs: InputFunction | None,
    settings: StepSettings,
    steps: range,
    memory: Memory,
    watch: Watcher,
) -> State:
    """`delassus.simulate`."""
    return _simulate(model, state, inputs, settings, steps, memory=memory, watch=watch)


def simulate(
    model: Model,
    state: State,
    inputs: InputFunction | None,
    settings: StepSettings,
    steps: int,
    *,
    memory: Memory | None = None,
    watch: Watcher | None = None,
) -> Trajectory:
    """The same, kept in memory as `Setup.run` does."""
    setup = Setup(model, state, steps * settings.h, settings, inputs)
    return setup.run(steps=steps, memory=memory, watch=watch)
