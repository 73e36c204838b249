"""The arguments of a step, found in the places people put them, or complained about."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from delassus.dynamics import Inputs
from delassus.errors import ProblemError, SettingsError, nearest
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation.memory import Memory

_USAGE = "step(model, state, inputs, settings, memory)"


def check_arguments(model: Model, state: State, inputs: Inputs | None, memory: Memory | None) -> None:
    """Refuse a state or inputs of another model: compiled code would read beyond their arrays."""
    if type(model) is not Model or type(state) is not State:
        what = "a tuple, which build() returns: model, state = builder.build()" if isinstance(model, tuple) else None
        found = what or f"{type(model).__name__} and {type(state).__name__}"
        raise ProblemError(f"step: model and state are {found}: call {_USAGE}")
    if memory is not None and not isinstance(memory, Memory):
        raise SettingsError(f"step: memory is {memory!r}: give a Memory(), call {_USAGE}")
    count, free = len(model.mass), len(model.joints.coordinate_names)
    if len(state.q) != count:
        raise ProblemError(f"step: the state has {len(state.q)} bodies and the model {count}: give its own state")
    if inputs is not None and (len(inputs.wrench) != count or len(inputs.target) != free):
        raise ProblemError(
            f"step: the inputs are for {len(inputs.wrench)} bodies and {len(inputs.target)} joint coordinates, the "
            f"model has {count} and {free}: make them with Inputs.of(model, …)"
        )


def sorted_inputs(model: Model, inputs: Any, settings: Any, kind: type) -> tuple[Inputs | None, Any]:
    """(inputs, settings), where settings stand in the place of inputs, or inputs are a table.  kind: of settings."""
    if isinstance(inputs, kind) and settings is None:
        inputs, settings = None, inputs
    elif isinstance(inputs, Mapping):
        known = [field.name for field in fields(Inputs)]
        for name in inputs:
            if name not in known:
                raise ProblemError(f"step: inputs have no {name!r}; {nearest(str(name), known)}")
        inputs = Inputs.of(model, **inputs)
    if inputs is not None and not isinstance(inputs, Inputs):
        raise ProblemError(f"step: inputs is {inputs!r}: give Inputs.of(model, …) or None, call {_USAGE}")
    if settings is not None and not isinstance(settings, kind):
        raise SettingsError(f"step: settings is {settings!r}: give {kind.__name__}(…), call {_USAGE}")
    return inputs, settings
