"""The loop over steps, which worlds, `simulate`, scenes, benchmarks and the command line share: in compiled code as far
as that goes, by `step` where it does not."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import is_
from typing import Any, Protocol

import numpy as np

from delassus.dynamics import Inputs
from delassus.errors import ProblemError
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation.compiled.advance import ROOM_OF_CALL, Stepper
from delassus.simulation.memory import Memory
from delassus.simulation.one_step import step
from delassus.simulation.report import StepReport
from delassus.simulation.settings import StepSettings, inputs_at

InputFunction = Callable[[float, State], Inputs | None]
After = Callable[[int], None]

BEFORE_COMPILED = 50
"""Steps of a run that do not wait for the compiled step to be compiled, or loaded."""

MOST_UNTRIED = 15
"""Steps that go straight to `step` after compiled code has handed several back: half of a step is done by then."""


class Actions(Protocol):
    """What acts on the bodies."""

    @property
    def are_constant(self) -> bool:
        """Is it the same in all steps to come?"""

    def at(self, state: State) -> Inputs:
        """In the step from this state."""


class Recording(Protocol):
    """What keeps steps: `io.recording.Recorder`, for one.  ahead: how many may be taken in one call."""

    @property
    def ahead(self) -> int: ...

    def keeper(self, steps: int, contacts: int) -> tuple[Any, Any]: ...

    def add_taken(self, steps: int, state: Callable[[], State], memory: Memory) -> None: ...

    def add(self, state: State, report: StepReport, memory: Memory | None = None) -> None: ...


class Asked:
    """What a function (t, state) → `Inputs` asks for, at the time that second order wants; None: nothing acts."""

    def __init__(self, model: Model, function: InputFunction | None, settings: StepSettings, who: str):
        self._model, self._function, self._who = model, function, who
        self._ahead = settings.scheme.lead * settings.h

    @property
    def are_constant(self) -> bool:
        return self._function is None

    def at(self, state: State) -> Inputs:
        return inputs_at(self._function, state.t + self._ahead, state, self._who) or Inputs.none(self._model)


@dataclass(frozen=True, eq=False)
class Before:
    """What a step started from: enough to take it again, bit for bit, and so to report on it."""

    state: State
    memory: Memory
    inputs: Inputs
    settings: StepSettings


@dataclass(frozen=True)
class Glance:
    """Of the last step, what is known without a report: contacts, iterations, relative natural map [-]."""

    contacts: int
    iterations: int
    residual: float


class Run:
    """A state that is taken from step to step.  q: (n_b, 7), u: (n_b, 6), turns: (n_d,), nodes, node_velocity:
    (n_n, 3), t [s]: where it is, replaced and never written to; steps: how many were taken; reported: of the last step,
    None where it was taken in compiled code."""

    q: np.ndarray
    u: np.ndarray
    turns: np.ndarray
    nodes: np.ndarray
    node_velocity: np.ndarray
    t: float
    reported: StepReport | None
    _started: "Before | Callable[[], Before] | None"
    _remembered: "Memory | Callable[[], Memory]"

    def __init__(
        self, model: Model, state: State, settings: StepSettings, memory: Memory | None = None, *, steps: int = 0
    ):
        """memory: where the first solve starts from, which a step that is not compiled fills; steps: taken already."""
        self.model, self.settings, self.steps = model, settings, steps
        self.stepper: Stepper | None = None
        self._left: tuple[Any, ...] = ()  # the stepper, and where it left this state
        self._untried = self._refused = 0  # steps that are not tried in compiled code now, and after the next refusal
        self.memory = Memory() if memory is None else memory
        self.put(state.q, state.u, float(state.t), model.joints.turns_of(state.turns), state.nodes, state.node_velocity)

    def put(
        self, q: np.ndarray, u: np.ndarray, t: float, turns: np.ndarray, nodes: np.ndarray, node_velocity: np.ndarray
    ) -> None:
        """Somewhere else, without a step: what the last one found is about another place."""
        self.q, self.u, self.t, self.turns = q, u, t, turns
        self.nodes, self.node_velocity = nodes, node_velocity
        self._started = self.reported = None

    @property
    def state(self) -> State:
        """Where it is: a copy."""
        q, u, turns = self.q.copy(), self.u.copy(), self.turns.copy()
        return State(q, u, self.t, turns, copy_of_nodes(self.nodes), copy_of_nodes(self.node_velocity))

    @property
    def before(self) -> Before | None:
        """Where the last step started from. Compiled steps are asked for it when somebody wants it."""
        if callable(self._started):
            self._started = self._started()
        return self._started

    @before.setter
    def before(self, before: Before | None) -> None:
        self._started = before

    @property
    def memory(self) -> Memory:
        """Where the next solve starts from; out of compiled steps as `before` is."""
        if callable(self._remembered):
            self._remembered = self._remembered()
        return self._remembered

    @memory.setter
    def memory(self, memory: Memory) -> None:
        self._remembered = memory

    @property
    def report(self) -> StepReport:
        """Everything about the last step: status, residuals, rows, reactions. Of a compiled step it is made when asked
        for: the step is taken again from where it started, which gives the same bits."""
        if self.reported is None:
            if self.before is None:
                raise ProblemError("report: no step was taken yet, or the state was put somewhere else since")
            start = self.before
            _, self.reported = step(self.model, start.state, start.inputs, start.settings, start.memory.copy())
        return self.reported

    @property
    def glance(self) -> Glance:
        """At the last step."""
        if self.reported is None and self.stepper is not None:
            return Glance(self.stepper.contacts, self.stepper.iterations, self.stepper.residual)
        solution = self.report.solution
        return Glance(len(self.report.contacts), solution.iterations, solution.residuals.natural_map_relative)

    def trail(self, count: int) -> tuple[np.ndarray, ...]:
        """Poses, velocities, turns and times after each of the steps that were just taken in one compiled call."""
        assert self.stepper is not None
        return tuple(room[:count] for room in self.stepper.trail)

    def advance(
        self,
        count: int,
        actions: Actions,
        recording: Recording | None = None,
        after: After | None = None,
        *,
        are_reported: bool = False,
    ) -> None:
        """Take so many steps.  after: called after each call of compiled code or of `step` with how many it took,
        before they are recorded; are_reported: is a report of each wanted, so that none is taken in compiled code?"""
        left = count
        while left:
            if not are_reported and self._is_compiled(left):
                left -= self._compiled(left, actions, recording, after)
            if left:
                self._take_step(actions, recording, after)
                left -= 1

    def _is_compiled(self, count: int) -> bool:
        """May steps be taken in compiled code now? Not the first ones, which would wait for the compiler."""
        if self.steps + count < BEFORE_COMPILED:
            return False
        if self._untried:
            self._untried -= 1
            return False
        if self.stepper is None or self.stepper.settings is not self.settings:
            self.stepper = Stepper(self.model, self.settings)
        return self.stepper.reason is None

    def _compiled(self, count: int, actions: Actions, recording: Recording | None, after: After | None) -> int:
        """How many steps were taken in compiled code; where fewer than `count`, the next one is due to `step`."""
        stepper, most, taken = self.stepper, ROOM_OF_CALL, 0
        assert stepper is not None
        is_there = self._is_where_left(stepper)
        if not is_there and not stepper.put(self.q, self.u, self.turns, self.t, self.memory):
            return 0
        if callable(self._started):
            self._started = None  # the next step takes its place
        while taken < count:
            if recording is not None:
                most = min(recording.ahead, ROOM_OF_CALL)
            asked = min(count - taken, most) if actions.are_constant else 1
            inputs = actions.at(self.state)
            keeper = None if recording is None else recording.keeper(asked, stepper.most_contacts)
            done = stepper.advance(inputs, asked, keeper)
            taken += done
            if done:
                self._refused = 0
                self._arrive(stepper, done)
                if done == asked:
                    self._started = partial(_started, stepper, inputs, self.settings)
                if after is not None:
                    after(done)
                if recording is not None:
                    now = partial(State, self.q, self.u, self.t, self.turns, self.nodes, self.node_velocity)
                    recording.add_taken(done, now, stepper.memory)
            if done < asked:
                self._untried, self._refused = self._refused, min(2 * self._refused + 1, MOST_UNTRIED)
                break
        return taken

    def _is_where_left(self, stepper: Stepper) -> bool:
        """Is everything as these compiled steps left it?"""
        now = stepper, self.q, self.u, self.turns, self._remembered
        return len(self._left) == len(now) + 1 and all(map(is_, self._left, now)) and self._left[-1] == self.t

    def _arrive(self, stepper: Stepper, count: int) -> None:
        """Where so many steps of one compiled call have led."""
        self.q, self.u, self.turns = stepper.q.copy(), stepper.u.copy(), stepper.turns.copy()
        self.t, self._remembered = float(stepper.time[0]), lambda: stepper.memory
        self._left = stepper, self.q, self.u, self.turns, self._remembered, self.t
        self._started = self.reported = None
        self.steps += count

    def _take_step(self, actions: Actions, recording: Recording | None, after: After | None) -> None:
        """One step through `step`."""
        state, memory, settings = self.state, self.memory, self.settings
        inputs = actions.at(state)
        before = Before(state, memory.copy(), inputs, settings)
        now, report = step(self.model, state, inputs, settings, memory)
        self.put(now.q, now.u, now.t, now.turns, now.nodes, now.node_velocity)
        self._started, self.reported = before, report
        self.steps += 1
        if after is not None:
            after(1)
        if recording is not None:
            recording.add(now, report, memory)


def _started(stepper: Stepper, inputs: Inputs, settings: StepSettings) -> Before:
    q, u, turns, t, memory = stepper.before
    return Before(State(q, u, t, turns), memory, inputs, settings)


def copy_of_nodes(nodes: np.ndarray) -> np.ndarray:
    """A copy of places or velocities of nodes; where there are none they are what they are: most worlds are rigid."""
    return nodes.copy() if len(nodes) else nodes
