"""Many worlds of one model, stepped in one call: arrays with a first axis over worlds, read and written in place."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import numbers, real, shown
from delassus.dynamics import Inputs
from delassus.errors import DelassusError, ProblemError, SettingsError, nearest
from delassus.kernel.argument_blocks import ArgumentBlock, caller
from delassus.linalg.operators.delassus import ODD_MASSES
from delassus.model.model import Model
from delassus.model.state import State
from delassus.simulation import Memory, StepSettings, step
from delassus.simulation.compiled.data import StepInputs, StepMemory, StepState
from delassus.simulation.compiled.layout import first_room, memory_for, why_not, work_for, world_of
from delassus.simulation.compiled.stages import addresses_of, stages_of
from delassus.simulation.compiled.step import ROOM
from delassus.simulation.compiled.worlds import SHARE, AllWorlds, Varied, advance_worlds
from delassus.simulation.settings import changed_settings, check_arguments
from delassus.solvers.driver import check_threads
from delassus.world import reading

FAILED = -1
"""Status of a world that no step can be taken of: it stands still until it is reset."""

_VARIED = ("mass", "friction", "restitution", "stiffness", "rate_gain", "damping", "joint_friction", "effort")
_PLACES = ("q", "u", "nodes", "node_velocity")  # of states that worlds are reset to
_OF_THIS_PROCESS = ("_world", "_work", "_pool", "_held", "_advance_share")


def _array(name: str) -> Any:
    """An array that is written to in place, whatever is assigned: compiled code reads it as it is."""

    def get(worlds: "Worlds") -> np.ndarray:
        return worlds._arrays[name]

    def put(worlds: "Worlds", value: ArrayLike) -> None:
        own = worlds._arrays[name]
        try:
            own[...] = value
        except (TypeError, ValueError):
            raise ProblemError(
                f"worlds.{name}: {np.shape(value)} numbers do not fill {own.shape}: give one for all, or as many"
            ) from None

    return property(get, put, doc="See the class.")


class Worlds:
    """n independent worlds of one model.

    q: (n, n_b, 7) poses of the centres of mass [m, unit quaternions], u: (n, n_b, 6) velocities [m/s, rad/s], turns:
    (n, n_d) whole turns of joint angles, time: (n,) [s]; effort, target, target_rate: (n, n_d) [N, N m; m, rad and per
    second]; wrench: (n, n_b, 6) force and moment on each body at its centre of mass, world axes [N, N m]: all of them
    may be written to, and act in the next step. contact_wrench: (n, n_b, 6) what all contacts did to each body in the
    last step [N, N m]. nodes, node_velocity, node_force: (n, n_n, 3) of flexible bodies [m, m/s, N]; such worlds go
    through `step`, one after the other. status: (n,) 0, or FAILED; not_converged: (n,) steps of each world that did not
    converge.

    >>> import delassus
    >>> builder = delassus.ModelBuilder()
    >>> ball = builder.body("ball", position=(0, 0, 1), shapes=delassus.Sphere(0.1), density=1000.0)
    >>> worlds = delassus.Worlds(*builder.build(), count=3)
    >>> worlds.u[:, 0, 0] = [0.0, 1.0, 2.0]
    >>> worlds.step(100)
    >>> worlds.q[:, 0, 0].round(6).tolist()
    [0.0, 0.1, 0.2]
    """

    def __init__(
        self,
        model: Model,
        state: State,
        count: int,
        settings: StepSettings | None = None,
        *,
        threads: int = 1,
        seed: int | None = None,
        **changes: Any,
    ):
        """state: where all of them begin; settings: how steps are taken, and changes: single fields of them, such as
        h=2e-3; threads: that share the worlds, with the same bits whatever their number; seed: of `rng`, for whoever
        varies them at random."""
        if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
            raise SettingsError(f"Worlds: count is {count!r}: give how many, a whole number from 1 on")
        check_arguments(model, state, None, None)
        check_threads(threads)
        self.model, self.count, self.threads = model, int(count), threads
        self._settings = changed_settings(settings, changes, "Worlds")
        self.rng = np.random.default_rng(seed)
        self.start = state
        self.troubles: dict[int, str] = {}
        self._factors: dict[str, np.ndarray] = {}
        self._models: dict[int, Model] = {}
        self._pool: tuple[int, ThreadPoolExecutor] | None = None
        self._contacts = first_room(model)
        try:
            self._make_arrays(state)
            self._prepare()
        except MemoryError:
            raise SettingsError(
                f"Worlds: there is no memory for {count} worlds of {model.body_count} bodies: make fewer at a time"
            ) from None

    def _make_arrays(self, state: State) -> None:
        model = self.model
        n, bodies, free = self.count, model.body_count, model.joints.coordinate_count
        self._arrays = {
            "q": np.repeat(state.q[None], n, axis=0),
            "u": np.repeat(state.u[None], n, axis=0),
            "turns": np.repeat(model.joints.turns_of(state.turns)[None], n, axis=0),
            "wrench": np.zeros((n, bodies, 6)),
            "effort": np.zeros((n, free)),
            "target": np.zeros((n, free)),
            "target_rate": np.zeros((n, free)),
            "nodes": np.repeat(state.nodes[None], n, axis=0),
            "node_velocity": np.repeat(state.node_velocity[None], n, axis=0),
            "node_force": np.zeros((n, model.node_count, 3)),
        }
        self._time, self.contact_wrench = np.full((n, 1), float(state.t)), np.zeros((n, bodies, 6))
        self.status, self.not_converged = np.zeros(n, np.int64), np.zeros(n, np.int64)
        room = memory_for(model, self._contacts)
        self._names, self._reactions = (np.repeat(part[None], n, axis=0) for part in room[:2])
        self._known = np.zeros((n, 1), np.int64)

    def _prepare(self) -> None:
        model, n = self.model, self.count
        self._left, self._done, self._outcome = (np.zeros(n, np.int64) for _ in range(3))
        self._no_time = np.full((n, 1), np.nan)  # targets are for the start of each step
        self._work: list[ArgumentBlock] = []
        self._fill_varied()
        if why_not(model, self.settings) is None:
            world, work = world_of(model, self.settings), work_for(model, self.settings, self._contacts)
            one = StepInputs(*(part[0] for part in self._inputs))
            addresses = addresses_of(world, one, work, stages_of(model, self.settings))
            self._world = world._replace(addresses=addresses)
            self._work = [ArgumentBlock((work,))]
            self._hold()

    def _hold(self) -> None:
        """For compiled code: what it reads and writes. Due whenever an array takes the place of another."""
        if self._work:
            self._held = ArgumentBlock(self._all)
            self._advance_share = caller(advance_worlds, self._held, self._work[0])

    @property
    def _inputs(self) -> StepInputs:
        return StepInputs(self.wrench, self.effort, self.target, self.target_rate, self._no_time)

    @property
    def _all(self) -> AllWorlds:
        """What compiled code reads and writes."""
        states = StepState(self.q, self.u, self.turns, self._time)
        memories = StepMemory(self._names, self._reactions, self._known)
        what = self._world, self._varied, self._inputs, states, memories
        return AllWorlds(*what, self._left, self._done, self._outcome, self.contact_wrench)

    q, u, turns = _array("q"), _array("u"), _array("turns")
    wrench, effort = _array("wrench"), _array("effort")
    target, target_rate = _array("target"), _array("target_rate")
    nodes, node_velocity, node_force = _array("nodes"), _array("node_velocity"), _array("node_force")

    @property
    def time(self) -> np.ndarray:
        """(n,) [s]."""
        return self._time[:, 0]

    @property
    def settings(self) -> StepSettings:
        """How steps are taken: make other worlds for others."""
        return self._settings

    def __getstate__(self) -> dict[str, Any]:
        """Without addresses of this process, threads and room."""
        return {name: value for name, value in self.__dict__.items() if name not in _OF_THIS_PROCESS}

    def __setstate__(self, held: dict[str, Any]) -> None:
        self.__dict__.update(held, _pool=None)
        self._prepare()

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        failed = int((self.status == FAILED).sum())
        return f"Worlds({self.count} of {self.model!r}{f', {failed} failed' if failed else ''})"

    # -- parameters ----------------------------------------------------------------------------------------------------

    def vary(self, **factors: ArrayLike) -> None:
        """Give every world parameters of its own, as factors on those of the model: mass (inertia included) of bodies;
        friction and restitution of shapes; stiffness, rate_gain, damping, joint_friction and effort of joint
        coordinates. Each (n,), for all alike in a world, or (n, how many there are). A factor of one takes it back."""
        for name, given in factors.items():
            if name not in _VARIED:
                raise SettingsError(f"vary: there is no {name!r}; {nearest(name, list(_VARIED))}")
            value, each = numbers(given), self._each(name)
            if value.ndim > 2:
                raise SettingsError(f"vary: {name} is {given!r}: give factors from 0 on, ({self.count},)")
            if value.shape == (self.count,):
                value = np.repeat(value[:, None], each, axis=1)
            if value.shape != (self.count, each) or not np.isfinite(value).all() or (value < 0.0).any():
                raise SettingsError(
                    f"vary: {name} has shape {value.shape}: give factors from 0 on, ({self.count},) or "
                    f"({self.count}, {each})"
                )
            if name == "restitution" and (value * self.model.shapes.surface[:, 2] > 1.0).any():
                raise SettingsError("vary: a restitution beyond 1 would make energy: give smaller factors")
            if name == "mass" and (value <= 0.0).any():
                raise SettingsError("vary: a mass must stay positive: give factors above 0")
            self._factors[name] = value
        self._models.clear()
        self._fill_varied()
        self._hold()

    def _each(self, name: str) -> int:
        if name == "mass":
            return self.model.body_count
        return self.model.shapes.count if name in ("friction", "restitution") else self.model.joints.coordinate_count

    def _fill_varied(self) -> None:
        model, joints, f = self.model, self.model.joints, self._factors
        of = {name: getattr(joints, name)[None] for name in ("damping", "friction", "stiffness", "rate_gain", "effort")}
        of |= {name: getattr(model, name)[None] for name in ("mass", "inertia", "inverse_inertia", "inverse_mass")}
        of["surface"] = model.shapes.surface[None]
        if "mass" in f:
            of["mass"], of["inertia"] = f["mass"] * of["mass"], f["mass"][:, :, None, None] * of["inertia"]
            of["inverse_mass"], of["inverse_inertia"] = 1.0 / of["mass"], np.linalg.inv(of["inertia"])
        if "friction" in f or "restitution" in f:
            of["surface"] = np.repeat(of["surface"], self.count, axis=0)
            of["surface"][:, :, 1] *= f.get("friction", 1.0)
            of["surface"][:, :, 2] *= f.get("restitution", 1.0)
        for name in ("damping", "joint_friction", "stiffness", "rate_gain", "effort"):
            if name in f:
                own = name.removeprefix("joint_")
                with np.errstate(invalid="ignore"):
                    of[own] = np.where(np.isinf(of[own]), of[own], f[name] * of[own])
        self._varied = Varied(**{name: np.ascontiguousarray(part) for name, part in of.items()})
        self.reason = why_not(model, self.settings)
        mass = self._varied.mass
        if self.reason is None and (mass.max(axis=1) > ODD_MASSES * mass.min(axis=1)).any():
            self.reason = "masses of some world are so far apart that reactions may need two doubles"

    def model_of(self, w: int) -> Model:
        """The model of world w, with its own parameters."""
        if not self._factors:
            return self.model
        if w not in self._models:
            own = Varied(*(part[w if len(part) > 1 else 0] for part in self._varied))
            gains = ("damping", "friction", "stiffness", "rate_gain", "effort")
            joints = replace(self.model.joints, **{name: getattr(own, name) for name in gains})
            shapes = replace(self.model.shapes, surface=own.surface, spare=[])
            self._models[w] = replace(self.model, mass=own.mass, inertia=own.inertia, joints=joints, shapes=shapes)
        return self._models[w]

    # -- moving --------------------------------------------------------------------------------------------------------

    def step(self, count: int = 1) -> None:
        """All worlds by so many steps. One that fails does not stop the others: see `status` and `troubles`."""
        if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 0:
            raise SettingsError(f"Worlds.step: count is {count!r}: give how many steps, a whole number from 0 on")
        left = np.where(self.status == FAILED, 0, count).astype(np.int64)
        while left.any():
            if self.reason is None:
                left -= self._advance(left)
            for w in np.flatnonzero(left):
                self._take_step(int(w))
                left[w] = 0 if self.status[w] == FAILED else left[w] - 1

    def _advance(self, left: np.ndarray) -> np.ndarray:
        """(n,) steps taken in compiled code, of at most `left`."""
        self._left[:], self._done[:], self._outcome[:] = left, 0, self.status
        shares = -(-self.count // SHARE)

        def advance(thread: int) -> None:
            for share in range(thread, shares, len(self._work)):
                self._advance_share(self._held.address, self._work[thread].address, share)

        threads = max(1, min(self.threads, shares))
        while len(self._work) < threads:
            self._work.append(ArgumentBlock((work_for(self.model, self.settings, self._contacts),)))
        del self._work[threads:]
        if threads == 1:
            advance(0)
        else:
            if self._pool is None or self._pool[0] != threads:
                self._pool = threads, ThreadPoolExecutor(threads)
            list(self._pool[1].map(advance, range(threads)))
        if (self._outcome == ROOM).any():
            self._make_room(2 * self._contacts)
        return self._done

    def _make_room(self, contacts: int) -> None:
        """For so many contacts in a world."""
        self._contacts = contacts
        names, reactions, _ = memory_for(self.model, contacts)
        old = self._names, self._reactions
        self._names = np.zeros((self.count, *names.shape), np.uint64)
        self._reactions = np.zeros((self.count, *reactions.shape))
        self._names[:, : old[0].shape[1]], self._reactions[:, : old[1].shape[1]] = old
        if self._work:
            self._work = [ArgumentBlock((work_for(self.model, self.settings, contacts),))]
            self._hold()

    def _take_step(self, w: int) -> None:
        """One step of world w by `step`, where compiled code hands it back."""
        model, count = self.model_of(w), self._known[w, 0]
        memory = Memory(self._names[w, :count].copy(), self._reactions[w, :count].copy())
        inputs = Inputs(
            self.wrench[w], self.effort[w], self.target[w], self.target_rate[w], node_force=self.node_force[w]
        )
        try:
            nodes = (self.nodes[w], self.node_velocity[w]) if model.node_count else ()
            state = State(self.q[w], self.u[w], float(self._time[w, 0]), self.turns[w], *nodes)
            after, report = step(model, state, inputs, self.settings, memory)
        except DelassusError as error:
            self.status[w], self.troubles[w] = FAILED, str(error)
            return
        self.q[w], self.u[w], self.turns[w], self._time[w] = after.q, after.u, after.turns, after.t
        self.nodes[w], self.node_velocity[w] = after.nodes, after.node_velocity
        known = len(memory.names)
        if known > self._names.shape[1]:
            self._make_room(2 * known)
        self._names[w, :known], self._reactions[w, :known], self._known[w] = memory.names, memory.reactions, known
        self.contact_wrench[w] = reading.contact_wrenches(report)
        if not report.ok:
            self.not_converged[w] += not report.solution.converged
            said = report.warnings[0] if report.warnings else report.solution.message
            self.troubles.setdefault(w, f"at t = {report.t:.6g} s: {said}")

    # -- reading and putting -------------------------------------------------------------------------------------------

    @property
    def coordinates(self) -> np.ndarray:
        """(n, n_d) joint coordinates [m, rad], turns counted, in the order of `coordinate_names`."""
        return reading.coordinates_of_many(self.model, self.q, self.u, self.turns)[0]

    @property
    def rates(self) -> np.ndarray:
        """(n, n_d) their rates [m/s, rad/s]."""
        return reading.coordinates_of_many(self.model, self.q, self.u, self.turns)[1]

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Of joint coordinates: "hinge.angle"."""
        return self.model.joints.coordinate_names

    def reset(self, mask: ArrayLike | None = None, states: Mapping[str, ArrayLike] | State | None = None) -> None:
        """Put worlds back to where they began, all or those of a mask (n,); states: to another place, one for all of
        them, or arrays {"q": (k, n_b, 7), "u": (k, n_b, 6), "nodes": (k, n_n, 3), …} for each. What is remembered of
        the last solve goes; what acts stays."""
        chosen = np.ones(self.count, bool) if mask is None else real(mask)
        if chosen is None or chosen.shape != (self.count,) or chosen.dtype != np.bool_:
            raise SettingsError(
                f"reset: the mask is {shown(mask)}: give True or False for each of the {self.count} worlds"
            )
        start = states if isinstance(states, State) else self.start
        given: Mapping[str, Any] = states if isinstance(states, Mapping) else {}
        places: dict[str, np.ndarray] = {}
        for name in given:
            if name not in _PLACES:
                raise SettingsError(f"reset: states have no {name!r}; known: {', '.join(_PLACES)}")
        for name in _PLACES:
            usual = getattr(start, name)
            value, shape = numbers(given.get(name, usual)), (int(chosen.sum()), *usual.shape)
            if value.shape not in (usual.shape, shape) or not np.isfinite(value).all():
                raise ProblemError(f"reset: states[{name!r}] has shape {value.shape}: give {shape}, all finite")
            places[name] = value
        for name, value in places.items():
            self._arrays[name][chosen] = value
        self.turns[chosen], self._time[chosen] = self.model.joints.turns_of(start.turns), start.t
        self._known[chosen], self.status[chosen], self.not_converged[chosen] = 0, 0, 0
        self.contact_wrench[chosen] = 0.0
        for w in np.flatnonzero(chosen):
            self.troubles.pop(int(w), None)
