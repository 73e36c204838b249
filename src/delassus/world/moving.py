"""What moves a world and brings it back: its state, what acts, the one place that takes steps; snapshots and copies.

Model, poses, velocities, turns, nodes, memory and inputs are plain arrays, and nothing here keeps a report of every
step: the last one can be taken again, from `Before`."""

import pickle
from collections.abc import Callable
from functools import cached_property, partial
from operator import is_
from typing import Any, Self

import numpy as np

from delassus.dynamics import Inputs
from delassus.errors import ProblemError, SettingsError
from delassus.io.recording import Recorder
from delassus.model.model import Model
from delassus.model.state import State
from delassus.scenes import find as find_scene
from delassus.simulation import Memory, StepReport, StepSettings, step
from delassus.simulation.compiled.advance import ROOM_OF_CALL, Stepper
from delassus.simulation.many_steps import InputFunction, Trouble
from delassus.simulation.settings import check_arguments, check_function, inputs_at
from delassus.world import reading
from delassus.world.acting import Acting
from delassus.world.history import History
from delassus.world.loads import closing_impulses
from delassus.world.shape_names import ShapeNames
from delassus.world.snapshot import Before, Snapshot
from delassus.world.watching import Watched

_BEFORE_COMPILED = 50  # steps of a world that do not wait for the compiled loop to be compiled, or loaded


class Moving:
    """A world without its names. steps: how many were taken; scene: name and parameters, where it is one; trouble: what
    did not converge or make sense."""

    _report: StepReport | None
    _started: "Before | Callable[[], Before] | None" = None
    _remembered: "Memory | Callable[[], Memory]"
    _left: tuple[Any, ...] = ()  # compiled steps, and where they left the world
    _q: np.ndarray
    _u: np.ndarray
    _turns: np.ndarray
    _nodes: np.ndarray
    _node_velocity: np.ndarray
    _t: float

    def __init__(self, model: Model, state: State, settings: StepSettings, inputs: InputFunction | None):
        check_arguments(model, state, None, None)
        check_function(inputs, "World")
        self.model = model
        self.settings = settings
        self.scene: tuple[str, dict[str, Any]] | None = None
        self.imported: Any = None  # what `load_model` returned, where it is from a file
        self._function = inputs
        self._q, self._u, self._t = state.q.copy(), state.u.copy(), float(state.t)
        self._turns = model.joints.turns_of(state.turns).copy()
        self._nodes, self._node_velocity = _copied(state.nodes), _copied(state.node_velocity)
        self.steps = 0
        self._memory, self._acting = Memory(), Acting(model)
        self._recorder: Recorder | None = None
        self._trouble_of_run: Trouble | None = None
        self._watched = Watched()
        self._begin()

    @property
    def settings(self) -> StepSettings:
        """How steps are taken; others may be set, for the steps to come."""
        return self._settings

    @settings.setter
    def settings(self, settings: StepSettings) -> None:
        if not isinstance(settings, StepSettings):
            raise SettingsError(f"world.settings is {settings!r}: give StepSettings(…)")
        self._settings = settings

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._t

    @property
    def state(self) -> State:
        """Where everything is and how it moves, as `step` takes it: a copy."""
        q, u, turns = self._q.copy(), self._u.copy(), self._turns.copy()
        return State(q, u, self._t, turns, _copied(self._nodes), _copied(self._node_velocity))

    @state.setter
    def state(self, state: State) -> None:
        check_arguments(self.model, state, None, None)
        self._t = float(state.t)
        turns = self.model.joints.turns_of(state.turns).copy()
        self._put(state.q.copy(), state.u.copy(), turns, (_copied(state.nodes), _copied(state.node_velocity)))

    def _take(self, count: int) -> int:
        """Up to `count` steps, each of them looked at where somebody watches; how many were taken."""
        if not self._watched:
            return self._advance(count)
        for _ in range(count):
            self._advance(1)
            self._watched.look(self)  # type: ignore[arg-type]  # a World
        return count

    def _advance(self, count: int) -> int:
        """Up to `count` steps with what acts as it is now; how many were taken. All motion goes through here: in
        compiled code as far as that goes, and step by step where it does not."""
        self._forget()
        taken = 0
        while taken < count:
            if self._is_compiled(count):
                taken += self._advance_compiled(count - taken)
            if taken < count:
                self._take_step()
                taken += 1
        return taken

    def _is_compiled(self, count: int) -> bool:
        """May steps be taken in compiled code now? Not the first ones of a world, which would wait for the
        compiler."""
        if self.steps + count < _BEFORE_COMPILED:
            return False
        if self._stepper.settings is not self.settings:
            del self.__dict__["_stepper"]
        return self._stepper.reason is None

    @property
    def _before(self) -> Before | None:
        """Where the last step started from. Compiled steps are asked for it when somebody wants it."""
        if callable(self._started):
            self._started = self._started()
        return self._started

    @_before.setter
    def _before(self, before: "Before | Callable[[], Before] | None") -> None:
        self._started = before

    @property
    def _memory(self) -> Memory:
        """Where the next solve starts from; out of compiled steps as `_before` is."""
        if callable(self._remembered):
            self._remembered = self._remembered()
        return self._remembered

    @_memory.setter
    def _memory(self, memory: "Memory | Callable[[], Memory]") -> None:
        self._remembered = memory

    def _is_where_left(self, stepper: Stepper) -> bool:
        """Is everything as these compiled steps left it?"""
        now = stepper, self._q, self._u, self._turns, self._remembered
        return len(self._left) == len(now) + 1 and all(map(is_, self._left, now)) and self._left[-1] == self._t

    def _advance_compiled(self, count: int) -> int:
        """How many of `count` steps were taken; where fewer, the next one is due to `step`."""
        stepper, recorder, taken = self._stepper, self._recorder, 0
        is_there = self._is_where_left(stepper)
        if not is_there and not stepper.put(self._q, self._u, self._turns, self._t, self._memory):
            return 0
        if callable(self._started):
            self._started = None  # the next step takes its place
        while taken < count:
            asked = min(count - taken, ROOM_OF_CALL if recorder is None else min(recorder.ahead, ROOM_OF_CALL))
            inputs, asked = self._acting_now(stepper, asked)
            keeper = None if recorder is None else recorder.keeper(asked, stepper.most_contacts)
            done = stepper.advance(inputs, asked, keeper)
            if done:
                self._arrive(done)
            taken += done
            if done < asked:
                break
        if taken == count:
            self._before = partial(_started, stepper, inputs, self.settings)
        return taken

    def _arrive(self, count: int) -> None:
        """Where so many steps of one compiled call have led, which are reported and recorded: an interrupt between two
        calls finds world, history and recording at the same step."""
        stepper = self._stepper
        self._q, self._u, self._turns = stepper.q.copy(), stepper.u.copy(), stepper.turns.copy()
        self._t, self._memory = float(stepper.time[0]), lambda: stepper.memory
        self._left = stepper, self._q, self._u, self._turns, self._remembered, self._t
        self._before, self._report = None, None
        self.steps += count
        self._acting.passed(count * self.settings.h)
        if count == 1:
            self._note()
        else:
            self._history.extend(*(room[:count] for room in stepper.trail))
        for trouble in (self.trouble, self._trouble_of_run):
            if trouble is not None:
                trouble.steps += count
        if self._recorder is not None:
            now = partial(State, self._q, self._u, self._t, self._turns, self._nodes, self._node_velocity)
            self._recorder.add_taken(count, now, stepper.memory)

    def _acting_now(self, stepper: Stepper, count: int) -> tuple[Inputs, int]:
        """What acts on the next steps, and on how many of at most `count`: on one, where it changes from step to
        step."""
        if self._function is None and not self._acting.pushes:
            return self._acting.inputs(stepper.q, self.settings.h), count
        now = State(stepper.q.copy(), stepper.u.copy(), float(stepper.time[0]), stepper.turns.copy())
        return self._acting.inputs(now.q, self.settings.h, self._asked(now)), 1

    def _take_step(self) -> None:
        """One step through `step`, recorded and reported."""
        state, memory, settings = self.state, self._memory, self.settings
        inputs = self._acting.inputs(state.q, settings.h, self._asked(state))
        before = Before(state, memory.copy(), inputs, settings)
        after, report = step(self.model, state, inputs, settings, memory)
        self._acting.passed(settings.h)
        self._before, self._report = before, report
        self._q, self._u, self._t, self._turns = after.q, after.u, after.t, after.turns
        self._nodes, self._node_velocity = after.nodes, after.node_velocity
        self.steps += 1
        self._note()
        for trouble in (self.trouble, self._trouble_of_run):
            if trouble is not None:
                trouble.look(self.steps - 1, report)
        if self._recorder is not None:
            self._recorder.add(after, report, memory)

    def _asked(self, state: State) -> Inputs | None:
        """What the scene's own function asks for in the step from this state, at the time that second order wants."""
        time = state.t + self.settings.scheme.lead * self.settings.h
        return inputs_at(self._function, time, state, "World")

    @property
    def report(self) -> StepReport:
        """Everything about the last step: status, residuals, rows, reactions. Made when asked for: the step is taken
        again from where it started, which gives the same bits."""
        if self._before is None:
            raise ProblemError("world.report: no step was taken yet, or the world was put somewhere else since")
        if self._report is None:
            start = self._before
            _, self._report = step(self.model, start.state, start.inputs, start.settings, start.memory.copy())
        return self._report

    @property
    def ok(self) -> bool:
        """Did every step since the start converge and make sense? `trouble` says what did not."""
        return self.trouble.ok

    # -- to come back to -----------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """This moment, to `restore`: the run goes on from there with the same bits."""
        return Snapshot(
            self.model.hash, self._q.copy(), self._u.copy(), self._t, self._turns.copy(), self.steps,
            self._memory.copy(), self._acting.copy(), self._before, self._nodes, self._node_velocity,
        )  # fmt: skip

    def restore(self, snapshot: Snapshot) -> None:
        """Back to that moment; what the history holds of later times is dropped."""
        if not isinstance(snapshot, Snapshot):
            raise ProblemError(f"restore: {snapshot!r} is no Snapshot: give what world.snapshot() returned")
        if snapshot.model != self.model.hash:
            raise ProblemError("restore: the snapshot is of another model: give one of a world like this")
        self._t, self.steps = snapshot.t, snapshot.steps
        nodes = snapshot.nodes, snapshot.node_velocity
        self._put(snapshot.q.copy(), snapshot.u.copy(), snapshot.turns.copy(), nodes)
        self._before = snapshot.before
        self._memory, self._acting = snapshot.memory.copy(), snapshot.acting.copy()

    def reset(self) -> None:
        """Back to where it was made, with nothing set, and no history."""
        self.restore(self._start)
        self._begin()

    def copy(self) -> Self:
        """Another world in the same state, independent of this one; its history begins now."""
        other = object.__new__(type(self))
        other.__setstate__(self._held())
        return other

    def _held(self) -> dict[str, Any]:
        return {
            "model": self.model, "settings": self.settings, "scene": self.scene, "start": self._start,
            "now": self.snapshot(), "function": self._function, "watched": self._watched.fresh(),
        }  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        held = self._held()
        if self.scene is not None:
            del held["function"]  # the scene has it
        try:
            pickle.dumps((held.get("function"), held["watched"]))
        except (pickle.PicklingError, AttributeError, TypeError):
            raise ProblemError(
                "this world cannot be pickled, since a function of inputs= or watch cannot: define it at the top of a "
                "module"
            ) from None
        return held

    def __setstate__(self, held: dict[str, Any]) -> None:
        self.model, self.settings, self.scene = held["model"], held["settings"], held["scene"]
        if "function" in held:
            self._function = held["function"]
        elif self.scene is not None:
            self._function = find_scene(self.scene[0]).build(**self.scene[1]).inputs
        self._recorder, self._trouble_of_run, self._watched = None, None, held["watched"]
        now: Snapshot = held["now"]
        self._q, self._u, self._t, self._turns = now.q.copy(), now.u.copy(), now.t, now.turns.copy()
        self._nodes, self._node_velocity = now.nodes, now.node_velocity
        self.steps, self._memory, self._acting = now.steps, now.memory.copy(), now.acting.copy()
        self._begin()
        self._start, self._before = held["start"], now.before

    # -- inside --------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """What happened is nothing, and this is where it began."""
        self._before = self._report = None
        self.trouble, self._history, self._watched = Trouble(), History(self.model), self._watched.fresh()
        self._note()
        self._start = self.snapshot()

    def _note(self) -> None:
        """Keep where it is now, for the history."""
        self._history.add(self._t, self._q, self._u, self._turns, self._nodes, self._node_velocity)

    def _put(
        self, q: np.ndarray, u: np.ndarray, turns: np.ndarray, nodes: tuple[np.ndarray, np.ndarray] | None = None
    ) -> None:
        """Somewhere else, without a step: what the last one found is about another place.  nodes: where they are, and
        their velocities; None: they stay."""
        self._q, self._u, self._turns = q, u, turns
        if nodes is not None:
            self._nodes, self._node_velocity = nodes
        self._before = self._report = None
        self._forget()
        self._history.put_at(self._t, q, u, turns, self._nodes, self._node_velocity)
        self._watched.forget_after(self._t)

    def _forget(self) -> None:
        """What was read from the state."""
        for name in ("_coordinates", "_rates", "_closing", "contacts"):
            self.__dict__.pop(name, None)

    def _set_target(self, d: int, **given: float) -> None:
        self._acting.set_target(d, self._t, **given)

    def _set_effort(self, d: int, value: float) -> None:
        self._acting.set_effort(d, value)

    @cached_property
    def _coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """Joint coordinates and their rate rows, once for a state."""
        return reading.coordinates(self.model, self._q, self._turns)

    @cached_property
    def _rates(self) -> np.ndarray:
        return reading.rates(self.model, self._coordinates[1], self._u)

    @cached_property
    def _closing(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return closing_impulses(self)  # type: ignore[arg-type]  # a World

    @cached_property
    def _stepper(self) -> Stepper:
        """The compiled steps of this world."""
        return Stepper(self.model, self.settings)

    @cached_property
    def _shape_names(self) -> ShapeNames:
        return ShapeNames(self.model)


def _started(stepper: Stepper, inputs: Inputs, settings: StepSettings) -> Before:
    q, u, turns, t, memory = stepper.before
    return Before(State(q, u, t, turns), memory, inputs, settings)


def _copied(nodes: np.ndarray) -> np.ndarray:
    """A copy of places or velocities of nodes; where there are none they are what they are: most worlds are rigid."""
    return nodes.copy() if len(nodes) else nodes
