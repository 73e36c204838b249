"""What a scene is: a function that builds it, and one that checks what it did; and claims that many scenes share."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np

from delassus.arguments import instance, numbers, shown
from delassus.dynamics import Inputs
from delassus.errors import SettingsError, nearest
from delassus.io.recording import Columns, Trajectory
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation import Memory, StepSettings
from delassus.simulation.many_steps import Watcher
from delassus.simulation.run import Asked, Run
from delassus.simulation.settings import changed_settings
from delassus.solvers.settings import TRUTH

MOST_STEPS = 10**9
"""Of one run: a slip of the keyboard would otherwise compute for years."""
MOST_BODIES = 200_000
"""Of one scene: what a builder written in Python puts together in a minute."""

FAR = 1e12
"""Largest parameter, and one over the smallest: beyond, squares and cubes of sizes and speeds leave the range of
floating point, and nobody means it."""


@dataclass(frozen=True)
class Parameter:
    """An argument of a scene. `meaning` ends with the unit in brackets."""

    name: str
    default: Any
    meaning: str

    def parsed(self, text: str) -> Any:
        """The value written as text, of the default's type."""
        kind = type(self.default)
        try:
            value = TRUTH[text.lower()] if kind is bool else kind(text)
        except (KeyError, ValueError):
            raise SettingsError(f"{self.name}={text!r} is not {_KINDS[kind]}") from None
        return value


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


@dataclass(frozen=True)
class Check:
    """One claim about a run: `value` is at most `bound`. Both in `unit`."""

    name: str
    value: float
    bound: float
    unit: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value))
        object.__setattr__(self, "bound", float(self.bound))

    @property
    def passed(self) -> bool:
        return bool(self.value <= self.bound)  # a NaN fails


@dataclass(frozen=True, eq=False)
class Setup:
    """A scene built with certain parameters, ready to run.

    inputs: (t, state) → what acts from outside at time t [s] of the step that starts from the state, the middle of the
    step under Moreau's scheme; a function of nothing else so that a run can be resumed; None: nothing. duration [s]:
    how long it takes to see what the scene is about; notes: what a file says and the model does not."""

    model: Model
    state: State
    duration: float
    settings: StepSettings = field(default_factory=StepSettings)
    inputs: Callable[[float, State], Inputs | None] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def steps(self, duration: float | None = None, settings: StepSettings | None = None) -> int:
        """Steps that a duration [s] takes, the last one perhaps going a little beyond."""
        found = numbers(self.duration if duration is None else duration)
        if found.shape != () or not (np.isfinite(found) and found > 0):
            raise SettingsError(f"duration is {shown(duration)}: give a positive number of seconds")
        wanted = float(found)
        h = changed_settings(settings or self.settings, {}, "Setup").h
        if wanted / h > MOST_STEPS:
            raise SettingsError(
                f"{wanted:g} s in steps of {h:g} s are {wanted / h:.3g} steps, at most {MOST_STEPS} are taken: give a "
                "shorter duration or a longer time step"
            )
        return max(1, math.ceil(wanted / h - 1e-9))

    def run(
        self,
        *,
        steps: int | None = None,
        duration: float | None = None,
        settings: StepSettings | None = None,
        memory: Memory | None = None,
        watch: Watcher | None = None,
    ) -> Trajectory:
        """Take the steps and keep them in memory. watch: called with (number, state, report, memory) after each."""
        settings = changed_settings(settings or self.settings, {}, "Setup.run")
        count = self.steps(duration, settings) if steps is None else steps
        columns, numbers = Columns(self.model, self.state, settings.h), iter(range(count))
        memory = Memory() if memory is None else instance(memory, Memory, "Setup.run: memory")
        run = Run(self.model, self.state, settings, memory)

        def after(_: int) -> None:
            assert watch is not None
            watch(next(numbers), run.state, run.report, memory)

        try:
            asked, is_watched = Asked(self.model, self.inputs, settings, "Setup.run"), watch is not None
            run.advance(count, asked, columns, after if is_watched else None, are_reported=is_watched)
        finally:
            memory.become(run.memory)
        return Trajectory.of(columns)


@dataclass(frozen=True)
class Scene:
    """A line of the SCENES table. `build` takes keyword arguments annotated `Annotated[type, "meaning [unit]"]`, each
    with a default; `judge` gives the checks that apply to a run of that length; claims: what these say, in words."""

    name: str
    summary: str
    claims: str
    construct: Callable[..., Setup]
    judge: Callable[[Setup, Trajectory], list[Check]]

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The scene's arguments by name."""
        hints = get_type_hints(self.construct, include_extras=True)
        signature = inspect.signature(self.construct).parameters
        for name, argument in signature.items():
            need(
                get_origin(hints.get(name)) is Annotated and argument.default is not argument.empty,
                f'scene {self.name!r}: give parameter {name!r} a default and a meaning, Annotated[float, "… [m]"]',
            )
        return {
            name: Parameter(name, argument.default, get_args(hints[name])[1]) for name, argument in signature.items()
        }

    def build(self, **values: Any) -> Setup:
        """The scene with some parameters changed; unknown names suggest the nearest."""
        known = self.parameters
        for name, value in values.items():
            if name not in known:
                raise SettingsError(f"scene {self.name!r} has no parameter {name!r}; {nearest(name, list(known))}")
            if isinstance(value, float) and value and not 1.0 / FAR <= abs(value) <= FAR:
                raise SettingsError(f"{name} is {value}: give zero or a number between {1.0 / FAR:g} and {FAR:g}")
        given = {name: values.get(name, parameter.default) for name, parameter in known.items()}
        setup = self.construct(**given)
        need(isinstance(setup, Setup), f"scene {self.name!r} builds a {type(setup).__name__}: return a Setup")
        return replace(setup, parameters=given)

    def parsed(self, texts: dict[str, str]) -> dict[str, Any]:
        """Parameters given as text (`{"mu": "0.3"}`), converted to the types of their defaults."""
        known = self.parameters
        need(isinstance(texts, dict), f"scene {self.name!r}: give a table of texts, name → value")
        for name in texts:
            if name not in known:
                raise SettingsError(f"scene {self.name!r} has no parameter {name!r}; {nearest(name, list(known))}")
        return {name: known[name].parsed(text) for name, text in texts.items()}

    def check(self, setup: Setup, run: Trajectory) -> list[Check]:
        """What physics says about this run, claim by claim; claims that need a longer run are left out."""
        return self.judge(setup, run) if run.step_count else []


def check_line(scene: Scene) -> None:
    """Refuse a scene that could not be built."""
    for function in (scene.construct, scene.judge):
        need(callable(function), f"scene {scene.name!r}: {function!r} is no function: give one to build, one to check")
    list(scene.parameters)  # complains of those without a default or a meaning


def need(condition: bool, message: str) -> None:
    """Refuse a parameter."""
    if not condition:
        raise SettingsError(message)


def need_bodies(count: int, what: str) -> None:
    """Refuse to build more bodies than anybody can wait for. what: the parameters that say so, as "n = 5"."""
    need(count <= MOST_BODIES, f"{what} makes {count} bodies, a scene has at most {MOST_BODIES}: give less")


# Claims that many scenes share.


def all_converged(run: Trajectory) -> Check:
    return Check("steps that did not converge", int((~run.converged).sum()), 0)


def closed_joints(run: Trajectory, bound: float = 1e-6) -> Check:
    """The worst joint error of the run."""
    return Check("joint drift", float(run.drift.max(initial=0.0)), bound, "m, rad")


def shallow(run: Trajectory, bound: float) -> Check:
    return Check("penetration", float(run.penetration.max(initial=0.0)), bound, "m")


def no_energy_gain(run: Trajectory, scale: float, bound: float = 1e-6) -> Check:
    """Passive systems: the total energy never rises above where it was before. scale: what it is compared with [J]."""
    total = run.total_energy
    gain = float((total - np.minimum.accumulate(total)).max())
    return Check("energy gained", gain / scale, bound, f"of {scale:.3g} J")


def energy_kept(run: Trajectory, scale: float, bound: float) -> Check:
    """Conservative systems: the total energy stays what it was after the first step, which makes the given velocities
    obey the joints. scale: what it is compared with [J]."""
    change = run.total_energy[1:] - run.total_energy[1]
    return Check("energy error", float(np.abs(change).max()) / scale, bound, f"of {scale:.3g} J")


def at_rest(run: Trajectory, bound: float) -> Check:
    """Nothing moves any more at the end."""
    return Check("speed at the end", float(np.abs(run.u[-1]).max()), bound, "m/s, rad/s")
