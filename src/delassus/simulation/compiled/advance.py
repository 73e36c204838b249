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
from delassus.simulation.compiled.layout import Arrays, first_room, memory_for, nowhere, why_not, work_for, world_of
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
            q, u, turns, self.time = _states(1, n, free)
            self.q, self.u, self.turns = q[0], u[0], turns[0]
            self.trail = _states(ROOM_OF_CALL, n, free)
            self._inputs = np.zeros((n, 6)), np.zeros(free), np.zeros(free), np.zeros(free), np.zeros(1)
            self._counts = np.zeros(3, np.int64)  # what became of the last step, its iterations and contacts
            self._make_room(first_room(model))
            world, stages = world_of(model, settings), stages_of(model, settings)
            self._world = (*world, addresses_of(world, self._inputs, self._work, stages))
            self._keepers: dict[Any, int] = {}  # addresses of what keeps steps
            self._nowhere, self._kept, self._room_kept = (
                ArgumentBlock((0, nowhere())),
                ArgumentBlock((0, nowhere())),
                nowhere(),
            )
            self._hold()
            self._take = caller(take_steps, self._held, self._nowhere)

    def _hold(self) -> None:
        """For compiled code: what it reads and writes."""
        self._held = ArgumentBlock(
            (
                self._world, self._inputs, self.q, self.u, self.turns, self.time, self._memory, self._work, self.trail,
                self._before, self._counts,
            )
        )  # fmt: skip

    def _make_room(self, contacts: int) -> None:
        """For steps with so many contacts at most; what is remembered is forgotten."""
        model, n, free = self.model, self.model.body_count, self.model.joints.coordinate_count
        self._contacts = contacts
        self._work, self._memory = work_for(model, self.settings, contacts), memory_for(model, contacts)
        q, u, turns, time = _states(1, n, free)
        self._before = q[0], u[0], turns[0], time, memory_for(model, contacts)

    def put(self, q: np.ndarray, u: np.ndarray, turns: np.ndarray, t: float, memory: Memory) -> bool:
        """Begin here; can it? Not with reactions of two doubles."""
        if memory.low is not None:
            return False
        if self.fate == ROOM or len(memory.names) > len(self._memory[0]):
            self._counts[0] = TAKEN
            self._make_room(2 * max(self._contacts, len(memory.names)))
            self._hold()
        self.q[:], self.u[:], self.turns[:], self.time[0] = q, u, turns, t
        count = len(memory.names)
        self._memory[0][:count], self._memory[1][:count], self._memory[2][0] = memory.names, memory.reactions, count
        return True

    @property
    def most_contacts(self) -> int:
        """Of a step of the next call."""
        return self._contacts

    def advance(self, inputs: Inputs, count: int, keeper: tuple[Any, Arrays] | None = None) -> int:
        """How many of `count` steps, at most ROOM_OF_CALL, were taken with these inputs; where fewer, the next one is
        due to `step`.  keeper: a kernel called after each of them, and what it writes to (io/recording/keeping.py)."""
        inputs.check(self.model, "step")
        given = inputs.wrench, inputs.effort, inputs.target, inputs.target_rate
        for own, other in zip(self._inputs, given):
            own[:] = other
        self._inputs[4][0] = math.nan if inputs.time is None else inputs.time
        kept = self._nowhere if keeper is None else self._kept_by(*keeper)
        return self._take(self._held.address, kept.address, min(count, ROOM_OF_CALL))

    def _kept_by(self, kernel: Any, room: Arrays) -> ArgumentBlock:
        if kernel not in self._keepers:
            given = self._world, self.q, self.u, self.turns, self.time, 0, 0, self._work, room
            self._keepers[kernel] = address_for(kernel, to_keep, given)
        if self._room_kept is not room:
            self._kept.put((self._keepers[kernel], room))
            self._room_kept = room
        return self._kept

    @property
    def fate(self) -> int:
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
        _, _, table, problem, _ = self._work
        rows = table[10][table[12][3]]
        return float(problem[6][0]) if rows else 0.0

    @property
    def memory(self) -> Memory:
        """What the next step starts from."""
        return _copied(self._memory)

    @property
    def before(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, Memory]:
        """Poses, velocities, turns, time and memory before the last step that was taken."""
        q, u, turns, time, memory = self._before
        return q.copy(), u.copy(), turns.copy(), float(time[0]), _copied(memory)


def _states(count: int, n: int, free: int) -> tuple[np.ndarray, ...]:
    """Room for so many states: poses, velocities, turns, times."""
    return np.zeros((count, n, 7)), np.zeros((count, n, 6)), np.zeros((count, free), np.int64), np.zeros(count)


def _copied(memory: tuple[np.ndarray, ...]) -> Memory:
    names, reactions, (count,) = memory
    return Memory(names[:count].copy(), reactions[:count].copy())


@njit(cache=True, error_model="numpy", **ADDRESSED, **NO_REFCOUNT)
def take_steps(held, keeping, count):
    """How many of so many steps were taken. The first that cannot be is left to `step`.

    held: world, inputs, state, memory, work (see layout.py), trail: (poses, velocities, turns, times) after each step,
    before: what the last one begins with, memory included, counts: of the last; keeping: kept, see
    layout.py."""
    world, inputs, q, u, turns, time, memory, work, trail, before, counts = contents(held)
    kept = contents(keeping)
    for k in range(count):
        if k == count - 1:
            _keep(q, u, turns, time, memory, before)
        fate, iterations, contacts = take_step(world, inputs, q, u, turns, time, memory, work)
        counts[0], counts[1], counts[2] = fate, iterations, contacts
        if fate != TAKEN:
            return np.int64(k)
        if kept[0] != 0:
            call_kernel(kept[0], to_keep(world, q, u, turns, time, iterations, contacts, work, kept[1]))
        for b in range(len(q)):
            for i in range(7):
                trail[0][k, b, i] = q[b, i]
            for i in range(6):
                trail[1][k, b, i] = u[b, i]
        for d in range(len(turns)):
            trail[2][k, d] = turns[d]
        trail[3][k] = time[0]
    return np.int64(count)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _keep(q, u, turns, time, memory, before):
    for b in range(len(q)):
        for i in range(7):
            before[0][b, i] = q[b, i]
        for i in range(6):
            before[1][b, i] = u[b, i]
    for d in range(len(turns)):
        before[2][d] = turns[d]
    before[3][0] = time[0]
    names, reactions, (kept_names, kept, number) = memory[0], memory[1], before[4]
    number[0] = memory[2][0]
    for k in range(number[0]):
        kept_names[k] = names[k]
        for i in range(reactions.shape[1]):
            kept[k, i] = reactions[k, i]
