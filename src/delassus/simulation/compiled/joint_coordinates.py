"""The stages of a compiled step that joint coordinates take over: the solve and the closing of joints.

They read the forest and write to room of their own, which lie at an address, so that the compiled step is the same for
all models. Where they fail, which is counted, the stage in coordinates of bodies takes its place, on the same problem.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import float64, typeof

from delassus.dynamics.reduced.closing import close_reduced
from delassus.dynamics.reduced.dense import Asked
from delassus.dynamics.reduced.room import Room, room_for
from delassus.dynamics.reduced.solve import solve_reduced
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.addresses import kernel_address
from delassus.kernel.argument_blocks import ArgumentBlock, ArgumentBlockType, contents
from delassus.kernel.memory import NO_REFCOUNT
from delassus.model.model import Model
from delassus.model.tree import Tree
from delassus.residuals import RESIDUAL_COUNT
from delassus.simulation.compiled.layout import closes
from delassus.simulation.in_joints import asked_by, mechanism_for
from delassus.simulation.settings import StepSettings

SOLVED, UNSOLVED, UNCLOSED = range(3)
"""Places of `Forest.tally`."""


class Forest(NamedTuple):
    """tree, masses, loops, tol: of `close_reduced`; asked: of `solve_reduced`; room: where both work; tally: (3,) how
    many solves were good enough, how many were not, and how often joints did not close."""

    tree: Tree
    masses: tuple[Any, ...]
    loops: tuple[Any, ...]
    tol: float
    asked: Asked
    room: Room
    tally: np.ndarray


def forest_of(model: Model, settings: StepSettings) -> Forest | None:
    """What steps under these settings need; None where they stay in coordinates of bodies."""
    made = mechanism_for(model, settings) if closes(model, settings) else None
    if made is None:
        return None
    asked, tol = asked_by(settings), float(settings.stabilisation.closure)
    room, tally = room_for(made.tree, made.loops), np.zeros(3, np.int64)
    return Forest(made.tree, made.masses, made.loops.row_data, tol, asked, room, tally)


@njit(cache=True, error_model="numpy", **ADDRESSED, **NO_REFCOUNT)
def close_forest(held, q, u):
    """`close_reduced` of the forest at an address; counted where it fails."""
    own = contents(held)
    done = close_reduced(own.tree, own.masses, own.loops, own.tol, q, u, own.room)
    own.tally[UNCLOSED] += 1 - done
    return done


@njit(cache=True, error_model="numpy", **ADDRESSED)
def solve_forest(held, rotation, half, rigid, free, judged_by, out):
    """`solve_reduced` where `close_forest` was called last: judgements, or 0, and the guess as it was, where the
    solution is not good enough.  rotation: of the masses; half: (n_b, 6); free: velocities of bodies and of rows
    without reactions; out: reactions, and `found` of an `Attempt`."""
    own = contents(held)
    tols, masses, (reactions, found) = own.asked.tols, (own.masses[0], own.masses[1], rotation), out
    guess, without = reactions.copy(), (free[0], half.reshape(-1), free[1])
    judged = solve_reduced(own.tree, masses, rigid, without, judged_by, own.asked, out, own.room)
    if judged > 0 and found[0] <= tols[0] and found[RESIDUAL_COUNT - 1] <= tols[1]:
        own.tally[SOLVED] += 1
        return judged
    own.tally[UNSOLVED] += 1
    reactions[:] = guess
    return np.int64(0)


def addresses_for(forest: ArgumentBlock, solve: tuple[Any, ...]) -> tuple[int, int]:
    """Of `close_forest` and `solve_forest`, compiled now or loaded.  solve: what the second is called with, but the
    forest."""
    held = None if not hasattr(forest, "inner") else ArgumentBlockType(forest.inner)
    table = float64[:, ::1]
    close = kernel_address(close_forest, (held, table, table))
    return close, kernel_address(solve_forest, (held, *(typeof(each) for each in solve)))
