"""What moves a world and brings it back: its state, what acts; snapshots and copies.

Model, poses, velocities, turns, nodes, memory and inputs are plain arrays, and nothing here keeps a report of every
step: the last one can be taken again (simulation/run.py)."""

import pickle
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from delassus.arguments import instance
from delassus.dynamics import Inputs
from delassus.errors import ProblemError, SettingsError
from delassus.io.recording import Recorder
from delassus.model.model import Model
from delassus.model.state import State
from delassus.scenes import find as find_scene
from delassus.simulation import StepReport, StepSettings
from delassus.simulation.many_steps import Trouble
from delassus.simulation.run import InputFunction, Run, copy_of_nodes
from delassus.simulation.settings import check_arguments, check_function, inputs_at
from delassus.world import reading
from delassus.world.acting import Acting
from delassus.world.history import History
from delassus.world.loads import closing_impulses
from delassus.world.shape_names import ShapeNames
from delassus.world.snapshot import Snapshot
from delassus.world.watching import Watched


class Moving:
    """A world without its names. steps: how many were taken; scene: name and parameters, where it is one; trouble: what
    did not converge or make sense."""

    imported: Any = None
    """What `load_model` returned, where it is from a file; not of a copy."""

    def __init__(self, model: Model, state: State, settings: StepSettings, inputs: InputFunction | None):
        check_arguments(model, state, None, None)
        check_function(inputs, "World")
        self.model = model
        self._settings = settings
        self.scene: tuple[str, dict[str, Any]] | None = None
        self._function = inputs
        self._run = Run(model, state, settings)
        self._run.put(*_copied(self._run))
        self._acting = Acting(model)
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
        self._settings = self._run.settings = settings

    @property
    def steps(self) -> int:
        """How many were taken."""
        return self._run.steps

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._run.t

    @property
    def state(self) -> State:
        """Where everything is and how it moves, as `step` takes it: a copy."""
        return self._run.state

    @state.setter
    def state(self, state: State) -> None:
        check_arguments(self.model, state, None, None)
        self._put(*_copied(replace(state, turns=self.model.joints.turns_of(state.turns))))

    def _take(self, count: int) -> int:
        """Up to `count` steps, each of them looked at where somebody watches; how many were taken."""
        if not self._watched:
            return self._advance(count)
        for _ in range(count):
            self._advance(1)
            self._watched.look(self)  # type: ignore[arg-type]  # a World
        return count

    def _advance(self, count: int) -> int:
        """So many steps with what acts as it is now. All motion goes through here."""
        self._forget()
        self._run.advance(count, self, self._recorder, self._arrive)
        return count

    def _arrive(self, count: int) -> None:
        """After so many steps of one call: an interrupt between two calls finds world, history and recording at the
        same step."""
        self._acting.passed(count * self.settings.h)
        if count == 1:
            self._note()
        else:
            self._history.extend(*self._run.trail(count))
        for trouble in (self.trouble, self._trouble_of_run):
            if trouble is not None:
                trouble.look_back(self._run, count)

    @property
    def are_constant(self) -> bool:
        """Does the same act in all steps to come, unless somebody changes it? One of `simulation.run.Actions`."""
        owner = getattr(self._function, "__self__", None)  # what was loaded from a file, whose controls may change
        of_file = owner is not None and getattr(owner, "inputs", None) == self._function
        changes = self._function is not None and not (of_file and getattr(owner, "inputs_are_constant", False))
        return not changes and self._acting.is_constant

    def at(self, state: State) -> Inputs:
        """What acts in the step from this state."""
        instance(state, State, "World.at: state")
        time = state.t + self.settings.scheme.lead * self.settings.h
        return self._acting.inputs(state.q, self.settings.h, inputs_at(self._function, time, state, "World"))

    @property
    def report(self) -> StepReport:
        """Everything about the last step: status, residuals, rows, reactions."""
        return self._run.report

    @property
    def ok(self) -> bool:
        """Did every step since the start converge and make sense? `trouble` says what did not."""
        return self.trouble.ok

    # -- to come back to -----------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """This moment, to `restore`: the run goes on from there with the same bits."""
        return Snapshot(
            self.model.hash,
            *_copied(self._run),
            self.steps,
            self._run.memory.copy(),
            self._acting.copy(),
            self._run.before,
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Back to that moment; what the history holds of later times is dropped."""
        if not isinstance(snapshot, Snapshot):
            raise ProblemError(f"restore: {snapshot!r} is no Snapshot: give what world.snapshot() returned")
        if snapshot.model != self.model.hash:
            raise ProblemError("restore: the snapshot is of another model: give one of a world like this")
        self._put(*_copied(snapshot))
        self._go_on(snapshot)

    def _go_on(self, snapshot: Snapshot) -> None:
        """From where a snapshot was taken."""
        run = self._run
        run.steps, run.before, run.memory = snapshot.steps, snapshot.before, snapshot.memory.copy()
        self._acting = snapshot.acting.copy()

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
            "model": self.model,
            "settings": self.settings,
            "scene": self.scene,
            "start": self._start,
            "now": self.snapshot(),
            "function": self._function,
            "watched": self._watched.fresh(),
        }

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
        self.model, self._settings, self.scene = held["model"], held["settings"], held["scene"]
        if "function" in held:
            self._function = held["function"]
        elif self.scene is not None:
            self._function = find_scene(self.scene[0]).build(**self.scene[1]).inputs
        self._recorder, self._trouble_of_run, self._watched = None, None, held["watched"]
        now: Snapshot = held["now"]
        self._run = Run(self.model, State(now.q, now.u), self.settings)
        self._run.put(*_copied(now))
        self._go_on(now)
        self._begin()
        self._start = held["start"]

    # -- inside --------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """What happened is nothing, and this is where it began."""
        self.trouble, self._history, self._watched = Trouble(), History(self.model), self._watched.fresh()
        self._note()
        self._start = self.snapshot()

    def _note(self) -> None:
        """Keep where it is now, for the history."""
        self._history.add(self.time, self._q, self._u, self._turns, self._nodes, self._run.node_velocity)

    def _put(
        self, q: np.ndarray, u: np.ndarray, t: float, turns: np.ndarray, nodes: np.ndarray, node_velocity: np.ndarray
    ) -> None:
        """Somewhere else, without a step."""
        self._run.put(q, u, t, turns, nodes, node_velocity)
        self._forget()
        self._history.put_at(t, q, u, turns, nodes, node_velocity)
        self._watched.forget_after(t)

    def _place(self, q: np.ndarray, u: np.ndarray, turns: np.ndarray) -> None:
        """Rigid bodies somewhere else, now."""
        self._put(q, u, self.time, turns, self._nodes, self._run.node_velocity)

    @property
    def _q(self) -> np.ndarray:
        return self._run.q

    @property
    def _u(self) -> np.ndarray:
        return self._run.u

    @property
    def _turns(self) -> np.ndarray:
        return self._run.turns

    @property
    def _nodes(self) -> np.ndarray:
        return self._run.nodes

    def _forget(self) -> None:
        """What was read from the state."""
        for name in ("_coordinates", "_rates", "_closing", "contacts"):
            self.__dict__.pop(name, None)

    def _set_target(self, d: int, **given: float) -> None:
        self._acting.set_target(d, self.time, **given)

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
    def _shape_names(self) -> ShapeNames:
        return ShapeNames(self.model)


def _copied(where: Any) -> tuple[np.ndarray, np.ndarray, float, np.ndarray, np.ndarray, np.ndarray]:
    """What `Run.put` takes, of a state, a snapshot or a run."""
    nodes = copy_of_nodes(where.nodes), copy_of_nodes(where.node_velocity)
    return where.q.copy(), where.u.copy(), float(where.t), where.turns.copy(), *nodes
