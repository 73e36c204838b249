"""Steps of many worlds of one model in one compiled call: each has its own state, inputs, memory and, where they vary,
masses, friction and gains; a thread has one work space."""

from typing import NamedTuple

import numpy as np

from delassus.collision.layout import Placing
from delassus.dynamics.rows import RowArrays
from delassus.joints.data import Freedoms
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.argument_blocks import contents
from delassus.kernel.memory import NO_REFCOUNT
from delassus.simulation.compiled.data import (
    JointData,
    ShapeData,
    StepInputs,
    StepMemory,
    StepState,
    StepWorld,
)
from delassus.simulation.compiled.step import INLINED, TAKEN, take_step

SHARE = 16
"""Worlds that a thread takes at a time: fixed, so that results do not depend on the number of threads."""


class Varied(NamedTuple):
    """What takes the place of a model's constants, each (n, …), or (1, …) for the same in all worlds."""

    mass: np.ndarray
    inertia: np.ndarray
    inverse_inertia: np.ndarray
    inverse_mass: np.ndarray
    surface: np.ndarray
    damping: np.ndarray
    friction: np.ndarray
    stiffness: np.ndarray
    rate_gain: np.ndarray
    effort: np.ndarray


class AllWorlds(NamedTuple):
    """Of n worlds; inputs, states and memories have a first axis over them, time is (n, 1)."""

    world: StepWorld
    varied: Varied
    inputs: StepInputs
    states: StepState
    memories: StepMemory
    left: np.ndarray  # (n,) steps to be taken
    done: np.ndarray  # (n,) steps that were
    outcome: np.ndarray  # (n,) what became of the last one; worlds below 0 stand still
    pushed: np.ndarray  # (n, n_b, 6) force and moment of all contacts on each body in the last step [N, N m]


@njit(cache=True, error_model="numpy", **ADDRESSED, **NO_REFCOUNT)
def advance_worlds(held, working, share):
    """A share of the worlds by as many steps each as they have left, as far as that goes; returns 0.  held: where
    `AllWorlds` lies; working: where the work space of a thread does, in a tuple."""
    all_worlds, (work,) = contents(held), contents(working)
    outcome, states, inputs, memories = all_worlds.outcome, all_worlds.states, all_worlds.inputs, all_worlds.memories
    for w in range(SHARE * share, min(SHARE * (share + 1), len(outcome))):
        all_worlds.done[w] = 0
        if outcome[w] < 0:
            continue
        world = _world_at(all_worlds.world, all_worlds.varied, w)
        given = StepInputs(inputs.wrench[w], inputs.effort[w], inputs.target[w], inputs.target_rate[w], inputs.time[w])
        state = StepState(states.q[w], states.u[w], states.turns[w], states.time[w])
        memory = StepMemory(memories.names[w], memories.reactions[w], memories.filled[w])
        for _ in range(all_worlds.left[w]):
            outcome[w], _, contacts = take_step(world, given, state, memory, work)
            if outcome[w] != TAKEN:
                break
            all_worlds.done[w] += 1
            _sum_pushes(world.settings.h, contacts, work, all_worlds.pushed[w])
    return np.int64(0)


@njit(cache=True, error_model="numpy", **INLINED)
def _world_at(world, varied, w):
    """The constants of world w."""
    _, _, _, _, gravity = world.bodies
    bodies = (
        varied.mass[_own(varied.mass, w)],
        varied.inertia[_own(varied.inertia, w)],
        varied.inverse_mass[_own(varied.inverse_mass, w)],
        varied.inverse_inertia[_own(varied.inverse_inertia, w)],
        gravity,
    )
    joints, shapes = world.joints, world.shapes
    of_joints = JointData(
        joints.rows,
        _freedoms_at(joints.freedoms, varied, w),
        joints.angles,
        joints.closing,
        joints.softness,
        joints.limit_softness,
        joints.is_limit_hard,
        joints.rotors,
    )
    surface = varied.surface[_own(varied.surface, w)]
    at = Placing(*shapes.detected[0])
    placed = (at.kind, at.body, at.size, at.half, surface, at.local_position, at.local_rotation)
    _, arm, thin, least, _, filters, order = shapes.swept
    swept = (placed, arm, thin, least, surface, filters, order)
    of_shapes = ShapeData((placed,) + shapes.detected[1:], swept, shapes.reach, surface, shapes.softness)
    return StepWorld(bodies, of_joints, of_shapes, world.settings, world.addresses)


@njit(cache=True, error_model="numpy", **INLINED)
def _freedoms_at(freedoms, varied, w):
    of = Freedoms(*freedoms)
    damping, friction = varied.damping[_own(varied.damping, w)], varied.friction[_own(varied.friction, w)]
    stiffness, rate_gain = varied.stiffness[_own(varied.stiffness, w)], varied.rate_gain[_own(varied.rate_gain, w)]
    effort, measured = varied.effort[_own(varied.effort, w)], (of.bodies, of.joint, of.primitive, of.axis, of.counted)
    passive = (of.limit_restitution, of.spring, of.rest, of.armature)
    driven = (of.lower, of.upper, damping, friction, of.drive, stiffness, rate_gain, effort)
    return measured + driven + passive


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _own(array, w):
    return w if len(array) > 1 else 0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _sum_pushes(h, contacts, work, out):
    """out: (n_b, 6) force and moment of the contacts of the step that was just taken [N, N m]."""
    arrays, start, reactions = RowArrays(*work.rows.arrays), work.rows.start, work.problem.reactions
    for b in range(len(out)):
        for i in range(6):
            out[b, i] = 0.0
    if contacts == 0:
        return
    last = work.rows.counts[3]  # blocks of the step
    for k in range(last - contacts, last):
        for side in range(2):
            b = arrays.bodies[k, side]
            if b >= 0:
                for r in range(start[k], start[k + 1]):
                    for i in range(6):
                        out[b, i] += arrays.rows[r, 6 * side + i] * reactions[r] / h
