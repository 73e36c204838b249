"""The large stages of a compiled step: each is compiled on its own, once for Python and for compiled code, and called
through its address.

What a stage is called with is said in one place, a function that compiled code calls before it calls the stage, and
Python, to find the types that the stage is compiled for. They are inlined: arrays that borrowing kernels return would
be counted on one side only.
"""

from typing import Any

import numpy as np
from numba import typeof

from delassus.collision.contacts import ContactColumns
from delassus.collision.find import PLACE, find_contacts
from delassus.collision.sweep.follow import follow_few
from delassus.collision.work import ShapeConstants, Work
from delassus.dynamics.closure import close
from delassus.dynamics.joint_rows import fill_coordinates, fill_joints
from delassus.dynamics.moving import move_free
from delassus.dynamics.rows import RowArrays
from delassus.dynamics.softness import soften_contacts, soften_joints, softness_of
from delassus.dynamics.step_problem import Reduced, reduce_rows
from delassus.dynamics.turns import count_turns
from delassus.joints.data import Freedoms
from delassus.kernel import njit
from delassus.kernel.addresses import kernel_address
from delassus.kernel.argument_blocks import ArgumentBlock
from delassus.linalg.factor.dense_elimination import CARRY_ROWS
from delassus.model.model import Model
from delassus.problem.scales import measure_rigid
from delassus.simulation.compiled.data import Plain, StepInputs, StepWork, StepWorld
from delassus.simulation.compiled.joint_coordinates import addresses_for
from delassus.simulation.compiled.layout import closes, most_rows
from delassus.simulation.settings import StepSettings
from delassus.solvers.auto.island_loop import solve_resting
from delassus.solvers.newton.small import MOST_ROWS, solve_small
from delassus.solvers.parts.at_once import solve_alone

CLOSE, JOINTS, SOFT_JOINTS, COORDINATES, SOFT_CONTACTS, FOLLOW, SOLVE = range(7)
TURNS, DETECT, REST, REDUCE, MEASURE, MOVE, ALONE = range(7, 14)
FOREST, CLOSE_FOREST, SOLVE_FOREST, STAGES = range(14, 18)
"""Numbers of the stages, and how many there are; FOREST is where the last two find theirs."""


@njit(cache=True, inline="always")
def motion_of(world, u, poses):
    """Fields of `Motion`."""
    _, _, inverse_mass, inverse_inertia, _ = world.bodies
    return poses.at, poses.rotation, poses.elapsed, u, poses.half, inverse_mass, inverse_inertia


@njit(cache=True, inline="always")
def contacts_of(work, count):
    """Fields of `ContactColumns`, so many contacts."""
    of = ContactColumns(*work.contacts.columns)
    return of.bodies, of.shapes, of.point, of.frame, of.gap[:count], of.mu, of.restitution, of.feature


@njit(cache=True, inline="always")
def to_close(world, q, u, work):
    """What `close` is called with."""
    _, _, inverse_mass, inverse_inertia, _ = world.bodies
    return world.joints.closing, (inverse_mass, inverse_inertia), world.settings.closure, q, u, work.closing


@njit(cache=True, inline="always")
def to_solve_forest(forest, poses, rigid, free, data, out):
    """What `solve_forest` is called with, see `to_solve`."""
    return forest, poses.turned, poses.half, rigid, free, data, out


@njit(cache=True, inline="always")
def to_fill_joints(world, q, u, turns, work):
    """What `fill_joints` is called with."""
    of, rows, (values, rates, rates_before, _) = world.joints, work.rows, work.rows.coordinates
    at, coordinates = motion_of(world, u, work.poses), (values, rates, rates_before)
    return of.rows, of.angles, (q, turns), at, world.settings.rule, rows.arrays, rows.turning, coordinates


@njit(cache=True, inline="always")
def to_soften_joints(world, u, work):
    """What `soften_joints` is called with."""
    of, rows, at = world.joints, work.rows, motion_of(world, u, work.poses)
    return of.rows, of.softness, at, world.settings.rule, rows.turning, rows.arrays


@njit(cache=True, inline="always")
def to_fill_coordinates(world, inputs, u, late, first, work):
    """What `fill_coordinates` is called with.  late: time from the one the targets are for to the one of the rows;
    first: block and row."""
    of, rows, at = world.joints, work.rows, motion_of(world, u, work.poses)
    targets, out = (inputs.target, inputs.target_rate, late), (rows.arrays, rows.stopped, rows.counts)
    return of.freedoms, of.limit_softness, rows.coordinates, targets, at, world.settings.rule, first, out


@njit(cache=True, inline="always")
def to_soften_contacts(world, u, count, row, work):
    """What `soften_contacts` is called with."""
    at = motion_of(world, u, work.poses)
    return contacts_of(work, count), world.shapes.softness, at, world.settings.rule, row, work.rows.arrays


@njit(cache=True, inline="always")
def to_follow(world, q, horizon, work):
    """What `follow_few` is called with."""
    fixed, found = ShapeConstants(*world.shapes.detected), Work(*work.contacts.detection)
    solids = (fixed.placing[2], fixed.polyhedra[0], fixed.polyhedra[1], fixed.supports)
    placed = (found.position, found.rotation, found.extent)
    return world.shapes.swept, solids, q, work.contacts.path, horizon, placed, work.contacts.swept


@njit(cache=True, inline="always")
def to_solve(solver, most, rigid, free, data, out):
    """What `solve_small` is called with.  solver: `SolverData`; most: iterations; free: velocities of bodies and of
    rows without reactions; data: fields of `ProblemData`; out: reactions, and `found` of an `Attempt`."""
    return None, rigid, free[0], free[1], data, solver.tols, most, solver.newton, 1.0, out[0], out[1]


@njit(cache=True, inline="always")
def to_solve_alone(solver, most, rigid, free, data, out):
    """What `solve_alone` is called with, see `to_solve`."""
    return rigid, free[1], free[0], data, solver.tols, most, out[0], out[1]


@njit(cache=True, inline="always")
def to_solve_resting(solver, rigid, free, bias, before, data, out, islands):
    """What `solve_resting` is called with, see `to_solve`.  bias: of the rows; before: velocities (6 n_b,) before the
    impulses."""
    how = (solver.tols, solver.max_iter, solver.islands, solver.newton, 1.0)
    return rigid, len(before) // 6, free, (bias, before), data, how, out, islands


@njit(cache=True, inline="always")
def to_detect(world, at, reach, work):
    """What `find_contacts` is called with."""
    return PLACE, world.shapes.detected, at, reach, work.contacts.detection, work.contacts.columns


@njit(cache=True, inline="always")
def to_reduce(world, inputs, rows, m, known, work):
    """What `reduce_rows` is called with.  rows: fields of `SolvedRows`, m of them; known: numbers and impulses of those
    at their bounds."""
    poses, of, rates = work.poses, Freedoms(*world.joints.freedoms), work.rows.coordinates[1]
    acting = (inputs.wrench, inputs.effort, of.bodies, of.joint, rates)
    mass, inverse, u_f, response, free = work.problem.reduced
    out = (mass, inverse, u_f, response, free[:m])
    return world.bodies, poses.turned, poses.half, acting, world.settings.h, rows, known, out


@njit(cache=True, inline="always")
def to_move(world, u, touching, is_free, work):
    """What `move_free` is called with."""
    poses, settings = work.poses, world.settings
    way = (poses.predicted, u, poses.u, poses.elapsed, poses.left)
    return way, settings.h, touching, world.shapes.reach, settings.rates, is_free, poses.q


@njit(cache=True, inline="always")
def to_count_turns(world, work, turns):
    """What `count_turns` is called with."""
    poses, (values, rates, _, _) = work.poses, work.rows.coordinates
    return world.joints.angles, poses.q, poses.u, values, rates, poses.left, turns


@njit(cache=True, inline="always")
def to_keep(world, state, iterations, count, work, room):
    """What a kernel is called with that keeps a step which was just taken (io/recording/keeping.py)."""
    rows, problem = work.rows, work.problem
    (residual, _, _), (values, _, _, _) = rows.turning, rows.coordinates
    taken = (world.settings.h, iterations, count)
    of_rows = (rows.arrays[1], rows.start, rows.counts, residual, rows.hard, values)
    solved = (problem.reactions, problem.found, problem.blocks, problem.scale, problem.whole)
    at = (state.q, state.u, state.turns, state.time)
    return at, world.bodies, work.poses.rotation, taken, of_rows, solved, work.contacts.columns, room


def stages_of(model: Model, settings: StepSettings) -> set[int]:
    """The stages that steps of this model have."""
    joints, softness = model.joints, softness_of(model, settings.softening)
    has = {
        CLOSE: closes(model, settings),
        JOINTS: joints.count > 0,
        SOFT_JOINTS: softness.hard_rows is not None,
        COORDINATES: joints.drive_count + joints.friction_count + joints.limit_count > 0,
        SOFT_CONTACTS: softness.is_any_shape_soft,
        FOLLOW: model.shapes.count > 0 and model.shapes.is_small,
        DETECT: model.shapes.count > 0,
        REST: not model.shapes.is_small or most_rows(model) > MOST_ROWS,
        SOLVE: joints.count > 0 or model.shapes.count > 0,
        TURNS: joints.any_counted,
        REDUCE: True,
        MEASURE: joints.count > 0 or model.shapes.count > 0,
        MOVE: True,
        ALONE: 0 < joints.row_count <= CARRY_ROWS,
    }
    return {stage for stage, is_there in has.items() if is_there}


def address_for(kernel: Any, arguments_of: Any, given: Plain) -> int:
    """Of a kernel that is called with arguments_of(*given), compiled now or loaded."""
    plain = getattr(arguments_of, "py_func", arguments_of)  # itself where nothing is compiled
    return kernel_address(kernel, tuple(typeof(a) for a in plain(*given)))


def _as_given(*arguments: Any) -> Plain:
    return arguments


def addresses_of(
    world: StepWorld, inputs: StepInputs, work: StepWork, needed: set[int], forest: ArgumentBlock | None = None
) -> np.ndarray:
    """(STAGES,) of the stages that are needed, compiled now or loaded; 0 for the others.  forest: of joint
    coordinates."""
    poses, rows, problem = work.poses, RowArrays(*work.rows.arrays), work.problem
    q, u, turns, start, reduced = poses.q, poses.u, np.zeros(0, np.int64), work.rows.start, Reduced(*problem.reduced)
    columns, solver = ContactColumns(*work.contacts.columns), world.settings.solver
    rigid = (rows.bodies, start, rows.rows, reduced.response, rows.compliance)
    rotors = (*world.joints.rotors, work.rows.coordinates[1], reduced.inverse)
    of_contacts = columns.bodies, columns.shapes, columns.gap, 0
    touching = (*of_contacts, rows.rows, reduced.response, rows.compliance, rotors)
    data = (columns.mu, start, 0, 0, 0, problem.blocks, problem.scale, True, 1.0, 1.0)
    v_f, u_f, out = reduced.free, reduced.u_f.reshape(-1), (problem.reactions, problem.found)
    solved = (rows.bodies, start, rows.rows, rows.bias, rows.compliance)
    calls: dict[int, tuple[Any, Any, Plain]] = {
        CLOSE: (close, to_close, (world, q, u, work)),
        JOINTS: (fill_joints, to_fill_joints, (world, q, u, turns, work)),
        SOFT_JOINTS: (soften_joints, to_soften_joints, (world, u, work)),
        COORDINATES: (fill_coordinates, to_fill_coordinates, (world, inputs, u, 0.0, (0, 0), work)),
        SOFT_CONTACTS: (soften_contacts, to_soften_contacts, (world, u, 0, 0, work)),
        FOLLOW: (follow_few, to_follow, (world, q, 1.0, work)),
        SOLVE: (solve_small, to_solve, (solver, 0, rigid, (u_f, v_f), data, out)),
        ALONE: (solve_alone, to_solve_alone, (solver, 0, rigid, (u_f, v_f), data, out)),
        TURNS: (count_turns, to_count_turns, (world, work, turns)),
        DETECT: (find_contacts, to_detect, (world, q, work.contacts.reach, work)),
        REDUCE: (reduce_rows, to_reduce, (world, inputs, solved, 0, (start, v_f), work)),
        MEASURE: (measure_rigid, _as_given, (rigid, 0, 0, v_f, 0.0, problem.blocks, problem.scale, v_f)),
        MOVE: (move_free, to_move, (world, u, touching, False, work)),
        REST: (solve_resting, to_solve_resting, (solver, rigid, (u_f, v_f), v_f, v_f, data, out, problem.islands)),
    }
    addresses = np.zeros(STAGES, np.int64)
    for number in sorted(needed):
        addresses[number] = address_for(*calls[number])
    if forest is not None:
        solve = getattr(to_solve_forest, "py_func", to_solve_forest)(0, poses, rigid, (u_f, v_f), data, out)
        addresses[FOREST:STAGES] = forest.address, *addresses_for(forest, solve[1:])
    return addresses
