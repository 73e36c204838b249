"""Many steps in one compiled call."""

import math
from typing import Any

import numpy as np

from delassus.dynamics import Inputs
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.addresses import call_kernel
from delassus.kernel.argument_blocks import ArgumentBlock, caller, contents
from delassus.kernel.memory import NO_REFCOUNT
from delassus.model.model import Model
from delassus.simulation.compiled.data import Before, Keeping, Plain, StepInputs, StepMemory, Stepping
from delassus.simulation.compiled.joint_coordinates import forest_of
from delassus.simulation.compiled.layout import (
    first_room,
    memory_for,
    nowhere,
    state_for,
    states_for,
    why_not,
    work_for,
    world_of,
)
from delassus.simulation.compiled.stages import address_for, addresses_of, stages_of, to_keep
from delassus.simulation.compiled.step import ROOM, TAKEN, take_step
from delassus.simulation.memory import Memory
from delassus.simulation.settings import StepSettings

ROOM_OF_CALL = 256
"""Steps that one call takes at most: states after each are kept."""


class Stepper:
    """Steps of one model under the same settings, in compiled code, as far as that goes: `step` takes the others.

    reason: why no step of it can be compiled, in words, or None; q: (n_b, 7), u: (n_b, 6), turns: (n_d,), time: (1,)
    where it is; trail: the same after each step of the last call; before: before the last of them; contacts,
    iterations: of the last step."""

    def __init__(self, model: Model, settings: StepSettings):
        self.model, self.settings, self.reason = model, settings, why_not(model, settings)
        if self.reason is None:
            n, free = model.body_count, model.joints.coordinate_count
            self._state = state_for(model)
            self.q, self.u, self.turns, self.time = self._state
            self.trail = states_for(model, ROOM_OF_CALL)
            self._inputs = StepInputs(np.zeros((n, 6)), np.zeros(free), np.zeros(free), np.zeros(free), np.zeros(1))
            self._counts = np.zeros(3, np.int64)  # what became of the last step, its iterations and contacts
            self._make_room(first_room(model))
            world, stages = world_of(model, settings), stages_of(model, settings)
            self.forest = forest_of(model, settings)
            self._forest = None if self.forest is None else ArgumentBlock(self.forest)
            addresses = addresses_of(world, self._inputs, self._work, stages, self._forest)
            self._world = world._replace(addresses=addresses)
            self._keepers: dict[Any, int] = {}  # addresses of what keeps steps
            self._nowhere, self._kept = (ArgumentBlock(Keeping(0, nowhere())) for _ in range(2))
            self._room_kept: Plain = ()
            self._hold()
            self._take = caller(take_steps, self._held, self._nowhere)

    def _hold(self) -> None:
        """For compiled code: what it reads and writes."""
        state = self._world, self._inputs, self._state, self._memory
        self._held = ArgumentBlock(Stepping(*state, self._work, self.trail, self._before, self._counts))

    def _make_room(self, contacts: int) -> None:
        """For steps with so many contacts at most; what is remembered is forgotten."""
        model, self._contacts = self.model, contacts
        self._work, self._memory = work_for(model, self.settings, contacts), memory_for(model, contacts)
        self._before = Before(state_for(model), memory_for(model, contacts))

    def put(self, q: np.ndarray, u: np.ndarray, turns: np.ndarray, t: float, memory: Memory) -> bool:
        """Begin here; can it? Not with reactions of two doubles."""
        if memory.low is not None:
            return False
        if self.outcome == ROOM or len(memory.names) > len(self._memory.names):
            self._counts[0] = TAKEN
            self._make_room(2 * max(self._contacts, len(memory.names)))
            self._hold()
        self.q[:], self.u[:], self.turns[:], self.time[0] = q, u, turns, t
        count, own = len(memory.names), self._memory
        own.names[:count], own.reactions[:count], own.filled[0] = memory.names, memory.reactions, count
        return True

    @property
    def most_contacts(self) -> int:
        """Of a step of the next call."""
        return self._contacts

    def advance(self, inputs: Inputs, count: int, keeper: tuple[Any, Plain] | None = None) -> int:
        """How many of `count` steps, at most ROOM_OF_CALL, were taken with these inputs; where fewer, the next one is
        due to `step`.  keeper: a kernel called after each of them, and what it writes to (io/recording/keeping.py)."""
        inputs.check(self.model, "step")
        for own, other in zip(self._inputs, (inputs.wrench, inputs.effort, inputs.target, inputs.target_rate)):
            own[:] = other
        self._inputs.time[0] = math.nan if inputs.time is None else inputs.time
        kept = self._nowhere if keeper is None else self._kept_by(*keeper)
        return self._take(self._held.address, kept.address, min(count, ROOM_OF_CALL))

    def _kept_by(self, kernel: Any, room: Plain) -> ArgumentBlock:
        if kernel not in self._keepers:
            self._keepers[kernel] = address_for(kernel, to_keep, (self._world, self._state, 0, 0, self._work, room))
        if self._room_kept is not room:
            self._kept.put(Keeping(self._keepers[kernel], room))
            self._room_kept = room
        return self._kept

    @property
    def outcome(self) -> int:
        """What became of the last step: see step.py."""
        return int(self._counts[0])

    @property
    def iterations(self) -> int:
        """Of the last step."""
        return int(self._counts[1])

    @property
    def contacts(self) -> int:
        """Of the last step."""
        return int(self._counts[2])

    @property
    def residual(self) -> float:
        """Relative natural map of the last step [-]."""
        of = self._work.rows
        return float(self._work.problem.found[0]) if of.start[of.counts[3]] else 0.0

    @property
    def memory(self) -> Memory:
        """What the next step starts from."""
        return _copied(self._memory)

    @property
    def before(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, Memory]:
        """Poses, velocities, turns, time and memory before the last step that was taken."""
        q, u, turns, time = self._before.state
        return q.copy(), u.copy(), turns.copy(), float(time[0]), _copied(self._before.memory)


def _copied(memory: StepMemory) -> Memory:
    count = memory.filled[0]
    return Memory(memory.names[:count].copy(), memory.reactions[:count].copy())


@njit(cache=True, error_model="numpy", **ADDRESSED, **NO_REFCOUNT)
def take_steps(held, keeping, count):
    """How many of so many steps were taken. The first that cannot be is left to `step`.  held: where `Stepping` lies,
    keeping: where `Keeping` does."""
    of, kept = contents(held), contents(keeping)
    state, trail = of.state, of.trail
    for k in range(count):
        if k == count - 1:
            _keep(state, of.memory, of.before)
        outcome, iterations, contacts = take_step(of.world, of.inputs, state, of.memory, of.work)
        of.counts[0], of.counts[1], of.counts[2] = outcome, iterations, contacts
        if outcome != TAKEN:
            return np.int64(k)
        if kept.address != 0:
            call_kernel(kept.address, to_keep(of.world, state, iterations, contacts, of.work, kept.room))
        for b in range(len(state.q)):
            for i in range(7):
                trail.q[k, b, i] = state.q[b, i]
            for i in range(6):
                trail.u[k, b, i] = state.u[b, i]
        for d in range(len(state.turns)):
            trail.turns[k, d] = state.turns[d]
        trail.time[k] = state.time[0]
    return np.int64(count)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _keep(state, memory, before):
    to, kept = before.state, before.memory
    for b in range(len(state.q)):
        for i in range(7):
            to.q[b, i] = state.q[b, i]
        for i in range(6):
            to.u[b, i] = state.u[b, i]
    for d in range(len(state.turns)):
        to.turns[d] = state.turns[d]
    to.time[0] = state.time[0]
    kept.filled[0] = memory.filled[0]
    for k in range(memory.filled[0]):
        kept.names[k] = memory.names[k]
        for i in range(memory.reactions.shape[1]):
            kept.reactions[k, i] = memory.reactions[k, i]
