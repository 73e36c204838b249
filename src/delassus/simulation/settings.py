"""How a step is taken; and the arguments of a step, found in the places people put them, or complained about."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from delassus.arguments import numbers, shown, truth, whole
from delassus.dynamics import Inputs, Penalty, Softening, Stabilisation
from delassus.errors import ProblemError, SettingsError, nearest
from delassus.integrators import Integrator, integrator
from delassus.law import Law
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation.memory import Memory
from delassus.solvers import Settings
from delassus.solvers.driver import Limits, VelocityTolerance
from delassus.solvers.table import find

_LEAST = 1e-100  # of a step and a tolerance, and one over the largest: squares stay in range
_USAGE = "step(model, state, inputs, settings, memory)"


COORDINATES = ["maximal", "joint"]
"""What `StepSettings.coordinates` may be."""


@dataclass(frozen=True)
class StepSettings:
    """How a step is taken. Every value is checked here.

    h: time step [s].
    solver: a name of `SOLVERS`, with modifiers ("apgd+desaxce"), its settings object, or "auto", a portfolio.
    law: "ncp" (exact Coulomb friction), "ccp" (its convex relaxation) or "frictionless".
    tol: largest relative natural map of a step that is called converged [-].
    tol_velocity: largest error of velocity of such a step, as a factor of the larger of its island's free velocities
        and h g [-]; "auto": the same number as tol; None: not asked.
    max_iter: iterations of the solver at most.
    integrator: "moreau" (midpoint, second order), "euler" (semi-implicit, first order), "iterated" (implicit Euler,
        forces with derivatives linearised again until they stay); "penalty" has springs in the place of contacts, to
        compare with: such steps never converge.
    theta: weight of the end of the step in everything that pushes, from 0.5 (second order) to 1, under "moreau"; None:
        the integrator's own, 0.5 for "moreau", whose springs and drives lean to the end where they are stiff, see
        docs/forces.md.
    coordinates: what compiled steps are solved in. "maximal": velocities of bodies; "joint": those of joints, which
        take joints of a spanning tree out of the problem, as far as the model allows, see docs/step.md.
    penalty: the springs of contacts under "penalty", see `Penalty`; None: `Penalty()`.
    stabilisation: how errors of joints, limits and contacts are removed, see `Stabilisation`.
    softening: which rows are soft, and how, where joints and materials say nothing themselves, see `Softening`; None:
        none.
    warm_start: let the solve start from the reactions that the `Memory` given to `step` holds.
    threads: of collision detection, and of `auto` among islands; other solvers take them in their own settings.
    """

    h: float = 1e-3
    solver: str | Settings = "auto"
    law: Law = Law.NCP
    tol: float = 1e-6
    tol_velocity: VelocityTolerance = "auto"
    max_iter: int = 20_000
    integrator: str = "moreau"
    stabilisation: Stabilisation = field(default_factory=Stabilisation)
    softening: Softening | None = None
    warm_start: bool = True
    threads: int = 1
    theta: float | None = None
    penalty: Penalty | None = None
    coordinates: str = "maximal"

    def __post_init__(self) -> None:
        object.__setattr__(self, "law", Law.of(self.law))
        for name, what in (("h", "a positive time step in seconds"), ("tol", "a positive number")):
            value = numbers(getattr(self, name))
            if value.shape != () or not _LEAST <= value <= 1.0 / _LEAST:
                raise SettingsError(f"{name} is {shown(getattr(self, name))}: give {what}")
            object.__setattr__(self, name, float(value))
        for name in ("max_iter", "threads"):
            object.__setattr__(self, name, whole(getattr(self, name), name, 1, error=SettingsError))
        truth(self.warm_start, "warm_start", error=SettingsError)
        for name, kind in (("stabilisation", Stabilisation), ("softening", Softening), ("penalty", Penalty)):
            value = getattr(self, name)
            if not isinstance(value, kind) and (name == "stabilisation" or value is not None):
                raise SettingsError(f"{name} is {shown(value)}: give {kind.__name__}(…)")
        if not (isinstance(self.coordinates, str) and self.coordinates in COORDINATES):
            raise SettingsError(f"coordinates is {shown(self.coordinates)}: give {' or '.join(map(repr, COORDINATES))}")
        Limits(self.tol, self.velocity_factor, self.max_iter, None)
        integrator(self.integrator, self.theta)
        if not isinstance(self.solver, str) or self.solver != "auto":
            find(self.solver)

    @cached_property
    def scheme(self) -> Integrator:
        """The integrator itself."""
        return integrator(self.integrator, self.theta)

    @property
    def velocity_factor(self) -> float | None:
        """tol_velocity as a number."""
        tol_velocity = self.tol_velocity
        return self.tol if isinstance(tol_velocity, str) and tol_velocity == "auto" else tol_velocity


def changed_settings(given: Any, changes: Mapping[str, Any], who: str) -> StepSettings:
    """The settings given, or the usual ones, with single fields changed.  who: is called so, for complaints."""
    if given is not None and not isinstance(given, StepSettings):
        raise SettingsError(f"{who}: settings is {given!r}: give StepSettings(…)")
    known = [field.name for field in fields(StepSettings)]
    for name in changes:
        if name not in known:
            raise SettingsError(f"{who}: there is no setting {name!r}; {nearest(name, known)}")
    return replace(given or StepSettings(), **changes)


def check_arguments(model: Model, state: State, inputs: Inputs | None, memory: Memory | None) -> None:
    """Refuse a state or inputs of another model: compiled code would read beyond their arrays."""
    if type(model) is not Model or type(state) is not State:
        what = "a tuple, which build() returns: model, state = builder.build()" if isinstance(model, tuple) else None
        found = what or f"{type(model).__name__} and {type(state).__name__}"
        raise ProblemError(f"step: model and state are {found}: call {_USAGE}")
    if memory is not None and not isinstance(memory, Memory):
        raise SettingsError(f"step: memory is {memory!r}: give a Memory(), call {_USAGE}")
    count = len(model.mass)
    if len(state.q) != count:
        raise ProblemError(f"step: the state has {len(state.q)} bodies and the model {count}: give its own state")
    if len(state.nodes) != model.node_count:
        have = f"{len(state.nodes)} nodes and the model {model.node_count}"
        raise ProblemError(f"step: the state has {have}: give its own state")
    model.joints.turns_of(state.turns)
    if inputs is not None:
        inputs.check(model, "step")


def check_function(inputs: Any, who: str) -> None:
    """Refuse what is no function of time and state, where one is expected."""
    if not (inputs is None or callable(inputs)):
        raise ProblemError(f"{who}: inputs is {inputs!r}: give a function (t, state) → Inputs.of(model, …), or None")


def inputs_at(function: Any, time: float, state: State, who: str) -> Inputs | None:
    """What a function (t, state) → `Inputs` returns, for that time unless it says another; None: nothing acts."""
    given = None if function is None else function(time, state)
    if given is None:
        return None
    if not isinstance(given, Inputs):
        raise ProblemError(f"{who}: the function of inputs= returned {given!r}: return Inputs.of(model, …), or None")
    return given if given.time is not None else replace(given, time=time)


def sorted_inputs(model: Model, inputs: Any, settings: Any) -> tuple[Inputs | None, Any]:
    """(inputs, settings), where settings stand in the place of inputs, or inputs are a table."""
    if isinstance(inputs, StepSettings) and settings is None:
        inputs, settings = None, inputs
    elif isinstance(inputs, Mapping):
        known = [field.name for field in fields(Inputs)]
        for name in inputs:
            if name not in known:
                raise ProblemError(f"step: inputs have no {name!r}; {nearest(str(name), known)}")
        inputs = Inputs.of(model, **inputs)
    if inputs is not None and not isinstance(inputs, Inputs):
        raise ProblemError(f"step: inputs is {inputs!r}: give Inputs.of(model, …) or None, call {_USAGE}")
    if settings is not None and not isinstance(settings, StepSettings):
        raise SettingsError(f"step: settings is {settings!r}: give StepSettings(…), call {_USAGE}")
    return inputs, settings
