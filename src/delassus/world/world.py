"""The object people hold: a mechanism, where it is, what acts on it, and what happened."""

import pickle
from dataclasses import fields, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from delassus.dynamics import energy_of
from delassus.errors import ProblemError, SettingsError, nearest
from delassus.integrators import integrator
from delassus.io.recording import Recorder
from delassus.model.model import Model
from delassus.model.state import State
from delassus.scenes import find as find_scene
from delassus.simulation import Memory, StepReport, StepSettings, step
from delassus.simulation.many_steps import InputFunction, Trouble
from delassus.simulation.settings import check_arguments
from delassus.spatial import quaternion_to_matrix
from delassus.world import reading
from delassus.world.acting import Acting
from delassus.world.body import Body, Energy
from delassus.world.contacts import ContactTable, contacts_of
from delassus.world.film import write_film_of
from delassus.world.handle import find
from delassus.world.history import History, Series
from delassus.world.joint import Joint
from delassus.world.loads import closing_impulses
from delassus.world.recording import load
from delassus.world.running import Control, Ran, Until, run
from delassus.world.shape_names import ShapeNames
from delassus.world.snapshot import Before, Snapshot


class World:
    """A mechanism that moves. Holds everything a loop needs: model, state, settings, what the next solve starts from,
    and what acts; and gives joints, bodies and contacts by name.

    >>> import delassus
    >>> world = delassus.World.from_scene("four-bar-free")
    >>> world.run(seconds=0.1).steps
    100
    >>> world.joint("hinge-1").follower, float(round(world.body("crank").velocity[2], 6))
    ('crank', -0.981)
    """

    _before: Before | None
    _report: StepReport | None

    def __init__(
        self,
        model: Model,
        state: State,
        settings: StepSettings | None = None,
        *,
        inputs: InputFunction | None = None,
        **changes: Any,
    ):
        """model, state: of `ModelBuilder.build`; settings: how steps are taken, and changes: single fields of them,
        such as h=2e-3; inputs: (t, state) → `Inputs`, what acts beside what is set by name, as `simulate` takes it."""
        check_arguments(model, state, None, None)
        self.model = model
        self.settings = _settings(settings, changes)
        self.scene: tuple[str, dict[str, Any]] | None = None
        self._function = inputs
        self._q, self._u, self._t = state.q.copy(), state.u.copy(), float(state.t)
        self._turns = model.joints.turns_of(state.turns).copy()
        self.steps = 0
        self._memory, self._acting = Memory(), Acting(model)
        self._recorder: Recorder | None = None
        self._trouble_of_run: Trouble | None = None
        self._begin()

    @classmethod
    def from_scene(cls, name: str, settings: StepSettings | None = None, **parameters: Any) -> "World":
        """A ready-made mechanism (`delassus scenes` lists them) with some of its parameters changed; settings: instead
        of the scene's own."""
        setup = find_scene(name).build(**parameters)
        world = cls(setup.model, setup.state, settings or setup.settings, inputs=setup.inputs)
        world.scene = (name, setup.parameters)
        return world

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "World":
        """From a file, or from the folder of a recording of a scene, to go on where it ends."""
        return load(path)

    # -- moving --------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        """One time step."""
        self._advance(1)

    def run(
        self,
        steps: int | None = None,
        *,
        seconds: float | None = None,
        control: Control | None = None,
        every: float | None = None,
        until: Until | None = None,
        progress: bool = False,
        record: str | PathLike[str] | None = None,
        overwrite: bool = False,
    ) -> Ran:
        """Many steps: so many, or as many as a time [s] takes.

        control: called with the world before every step, or whenever `every` seconds have passed; it sets targets and
        efforts and returns nothing. until: called after every step; a true answer ends the run. progress: a line on
        stderr. record: a directory to write every step to, at least once a second; a recording that ends where this
        world is now is continued, with overwrite=True any other is replaced."""
        return run(self, steps, seconds, control, every, until, progress, record, overwrite)

    def _advance(self, count: int) -> int:
        """Up to `count` steps with what acts as it is now; how many were taken. All motion goes through here."""
        state, memory, settings = self.state, self._memory, self.settings
        taken, h = 0, settings.h
        self._forget()
        try:
            while taken < count:
                inputs = self._acting.inputs(state.q, h, self._asked(state))
                before = Before(state, memory.copy(), inputs)
                after, report = step(self.model, state, inputs, settings, memory)
                self._acting.passed(h)
                self._before, self._report, state, taken = before, report, after, taken + 1
                self.steps += 1
                self._history.add(after.t, after.q, after.u, after.turns)
                for trouble in (self.trouble, self._trouble_of_run):
                    if trouble is not None:
                        trouble.look(self.steps - 1, report)
                if self._recorder is not None:
                    self._recorder.add(after, report, memory)
        finally:
            self._q, self._u, self._t, self._turns = state.q, state.u, state.t, state.turns
        return taken

    def _asked(self, state: State) -> Any:
        """What the scene's own function asks for in the step from this state, at the time that second order wants."""
        if self._function is None:
            return None
        time = state.t + integrator(self.settings.integrator).lead * self.settings.h
        given = self._function(time, state)
        return given if given is None or given.time is not None else replace(given, time=time)

    # -- where it is ---------------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._t

    @property
    def state(self) -> State:
        """Where everything is and how it moves, as `step` takes it: a copy."""
        return State(self._q.copy(), self._u.copy(), self._t, self._turns.copy())

    @state.setter
    def state(self, state: State) -> None:
        check_arguments(self.model, state, None, None)
        self._t = float(state.t)
        self._put(state.q.copy(), state.u.copy(), self.model.joints.turns_of(state.turns).copy())

    @property
    def energy(self) -> Energy:
        """Kinetic and potential energy of all bodies, and their `total` [J]."""
        return Energy(*energy_of(self.model, quaternion_to_matrix(self._q[:, 3:]), self._q[:, :3], self._u))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Of all joints."""
        return self.model.joints.names

    @property
    def body_names(self) -> tuple[str, ...]:
        """Of all bodies, the fixed ones last."""
        return (*self.model.body_names, *self.model.fixed_names)

    def joint(self, name: str) -> Joint:
        """The joint of that name."""
        return Joint(self, find(name, self.joint_names, "joint"))

    def body(self, name: str) -> Body:
        """The body of that name, moving or fixed."""
        return Body(self, find(name, self.body_names, "body"))

    @property
    def joints(self) -> tuple[Joint, ...]:
        """All of them."""
        return tuple(Joint(self, j) for j in range(len(self.joint_names)))

    @property
    def bodies(self) -> tuple[Body, ...]:
        """All of them, the fixed ones last."""
        return tuple(Body(self, b) for b in range(len(self.body_names)))

    @property
    def contacts(self) -> ContactTable:
        """Contacts as they are now, with the forces of the last step; print it."""
        return contacts_of(self)

    # -- what happened -------------------------------------------------------------------------------------------------

    @property
    def report(self) -> StepReport:
        """Everything about the last step: status, residuals, rows, reactions. Made when asked for: the step is taken
        again from where it started, which gives the same bits."""
        if self._before is None:
            raise ProblemError("world.report: no step was taken yet, or the world was put somewhere else since")
        if self._report is None:
            start = self._before
            _, self._report = step(self.model, start.state, start.inputs, self.settings, start.memory.copy())
        return self._report

    @property
    def ok(self) -> bool:
        """Did every step since the start converge and make sense? `trouble` says what did not."""
        return self.trouble.ok

    def history(self, name: str) -> Series:
        """A quantity over time since the start, with `.t`, `.values` and `.plot()`: "joint:hinge.angle", ".rate" or any
        coordinate; "body:arm.position", ".velocity", ".energy", …; "world.energy"."""
        return self._history.series(self.model, name)

    def film(
        self, path: str | PathLike[str], *, fps: float = 25.0, speed: float = 1.0, azimuth: float = -60.0,
        elevation: float = 20.0,
    ) -> None:  # fmt: skip
        """Write what the history holds as an animated GIF.  fps: frames a second; speed: of the film over that of the
        world, 0.1 for slow motion; azimuth, elevation: where it is looked at from [degrees]."""
        write_film_of(self, path, fps, speed, azimuth, elevation)

    # -- to come back to -----------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """This moment, to `restore`: the run goes on from there with the same bits."""
        return Snapshot(
            self.model.hash, self._q.copy(), self._u.copy(), self._t, self._turns.copy(), self.steps,
            self._memory.copy(), self._acting.copy(), self._before,
        )  # fmt: skip

    def restore(self, snapshot: Snapshot) -> None:
        """Back to that moment; what the history holds of later times is dropped."""
        if not isinstance(snapshot, Snapshot):
            raise ProblemError(f"restore: {snapshot!r} is no Snapshot: give what world.snapshot() returned")
        if snapshot.model != self.model.hash:
            raise ProblemError("restore: the snapshot is of another model: give one of a world like this")
        self._t, self.steps = snapshot.t, snapshot.steps
        self._put(snapshot.q.copy(), snapshot.u.copy(), snapshot.turns.copy())
        self._before = snapshot.before
        self._memory, self._acting = snapshot.memory.copy(), snapshot.acting.copy()

    def reset(self) -> None:
        """Back to where it was made, with nothing set, and no history."""
        self.restore(self._start)
        self._begin()

    def copy(self) -> "World":
        """Another world in the same state, independent of this one; its history begins now."""
        other = object.__new__(type(self))
        other.__setstate__(self._held() | {"function": self._function})
        return other

    def _held(self) -> dict[str, Any]:
        return {
            "model": self.model, "settings": self.settings, "scene": self.scene, "start": self._start,
            "now": self.snapshot(), "function": None if self.scene is not None else self._function,
        }  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        held = self._held()
        try:
            pickle.dumps(held["function"])
        except (pickle.PicklingError, AttributeError, TypeError):
            raise ProblemError(
                "this world cannot be pickled, since its inputs= function cannot: define it at the top of a module"
            ) from None
        return held

    def __setstate__(self, held: dict[str, Any]) -> None:
        self.model, self.settings, self.scene = held["model"], held["settings"], held["scene"]
        self._function = held["function"]
        if self.scene is not None and self._function is None:
            self._function = find_scene(self.scene[0]).build(**self.scene[1]).inputs
        self._recorder = self._trouble_of_run = None
        now: Snapshot = held["now"]
        self._q, self._u, self._t, self._turns = now.q.copy(), now.u.copy(), now.t, now.turns.copy()
        self.steps, self._memory, self._acting = now.steps, now.memory.copy(), now.acting.copy()
        self._begin()
        self._start, self._before = held["start"], now.before

    # -- inside --------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """What happened is nothing, and this is where it began."""
        self._before = self._report = None
        self.trouble, self._history = Trouble(), History(self.model)
        self._history.add(self._t, self._q, self._u, self._turns)
        self._start = self.snapshot()

    def _put(self, q: np.ndarray, u: np.ndarray, turns: np.ndarray) -> None:
        """Somewhere else, without a step: what the last one found is about another place."""
        self._q, self._u, self._turns = q, u, turns
        self._before = self._report = None
        self._forget()
        self._history.put_at(self._t, q, u, turns)

    def _forget(self) -> None:
        """What was read from the state."""
        for name in ("_coordinates", "_rates", "_closing"):
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
    def _closing(self) -> np.ndarray:
        return closing_impulses(self)

    @cached_property
    def _shape_names(self) -> ShapeNames:
        return ShapeNames(self.model)

    def __repr__(self) -> str:
        what = self.scene[0] if self.scene is not None else f"{self.model.body_count} bodies"
        return f"World({what}, t = {self._t:.6g} s, {len(self.joint_names)} joints, {self.steps} steps taken)"


def _settings(given: StepSettings | None, changes: dict[str, Any]) -> StepSettings:
    if given is not None and not isinstance(given, StepSettings):
        raise SettingsError(f"World: settings is {given!r}: give StepSettings(…)")
    known = [field.name for field in fields(StepSettings)]
    for name in changes:
        if name not in known:
            raise SettingsError(f"World: there is no setting {name!r}; {nearest(name, known)}")
    return replace(given or StepSettings(), **changes)
