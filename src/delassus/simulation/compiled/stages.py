"""The large stages of a compiled step: each is compiled on its own, once for Python and for compiled code, and called
through its address.

What a stage is called with is said in one place, a function that compiled code calls before it calls the stage, and
Python, to find the types that the stage is compiled for. They are inlined: arrays that borrowing kernels return would
be counted on one side only.
"""

from typing import Any

import numpy as np
from numba import typeof

from delassus.collision.find import PLACE, find_contacts
from delassus.collision.sweep.follow import follow_few
from delassus.collision.work import ShapeConstants
from delassus.dynamics.closure import close
from delassus.dynamics.joint_rows import fill_coordinates, fill_joints
from delassus.dynamics.moving import move_free
from delassus.dynamics.softness import soften_contacts, soften_joints, softness_of
from delassus.dynamics.step_problem import reduce_rows
from delassus.dynamics.turns import count_turns
from delassus.integrators import STIFFLY
from delassus.kernel import njit
from delassus.kernel.addresses import kernel_address
from delassus.linalg.factor.dense_elimination import CARRY_ROWS
from delassus.model.model import Model
from delassus.problem.scales import measure_rigid
from delassus.simulation.compiled.layout import Arrays, closes, most_rows
from delassus.simulation.settings import StepSettings
from delassus.solvers.auto.island_loop import solve_resting
from delassus.solvers.newton.small import MOST_ROWS, solve_small
from delassus.solvers.parts.at_once import solve_alone

(
    CLOSE, JOINTS, SOFT_JOINTS, COORDINATES, SOFT_CONTACTS, FOLLOW, SOLVE, TURNS, DETECT, REST, REDUCE, MEASURE, MOVE,
    ALONE,
) = range(14)  # fmt: skip
"""Numbers of the stages."""


@njit(cache=True, inline="always")
def to_close(world, q, u, work):
    """What `close` is called with."""
    inverse_inertia, inverse_mass = world[0][2], world[0][3]
    return world[1][3], (inverse_mass, inverse_inertia), world[6][2], q, u, work[4]


@njit(cache=True, inline="always")
def to_fill_joints(world, q, u, turns, work):
    """What `fill_joints` is called with."""
    (plain, freedoms, _, _), (h, _, _, pushing, _, _, _, _, _, _) = world[1], world[6]
    poses, _, (pairs, names, rows, bias, _, _, errors, coordinates, _, _, _, _, _, _), _, _ = work
    return (
        plain, freedoms, q, turns, poses[5], poses[1], poses[2], u, poses[4], h, pushing[0],
        (pairs, names, rows, bias), errors, coordinates,
    )  # fmt: skip


@njit(cache=True, inline="always")
def _weight(ahead):
    """Of springs, drives and dampers: the integrator's own."""
    return STIFFLY if ahead > 0.0 else 1.0


@njit(cache=True, inline="always")
def to_soften_joints(world, work):
    """What `soften_joints` is called with."""
    bodies, (plain, _, _, _), (soft, _), (h, ahead, _, _, _, _, _, _, _, _) = world[0], world[1], world[5], world[6]
    poses, _, (_, _, rows, bias, compliance, _, errors, _, _, _, _, _, _, _), _, _ = work
    return (
        plain, soft, rows, errors[1], errors[2], poses[4], poses[2], (bodies[3], bodies[2]), h, _weight(ahead),
        bias, compliance,
    )  # fmt: skip


@njit(cache=True, inline="always")
def to_fill_coordinates(world, inputs, u, late, block, row, work):
    """What `fill_coordinates` is called with.  late: time from the one the targets are for to the one of the rows."""
    bodies, (plain, freedoms, _, _), singles, settings = world[0], world[1], world[2], world[6]
    h, ahead, _, pushing, _, _, _, _, _, _ = settings
    poses, _, (pairs, names, rows, bias, compliance, bound, _, coordinates, stopped, _, _, _, counts, _), _, _ = work
    values, rates, rates_before = coordinates
    return (
        plain[0], freedoms, (values, rates, rates_before, inputs[2], inputs[3], late), u, poses[4], h, _weight(ahead),
        pushing, singles[0], poses[2], (bodies[3], bodies[2]), work[3][8], block, row,
        (pairs, names, rows, bias, compliance, bound), stopped, counts,
    )  # fmt: skip


@njit(cache=True, inline="always")
def to_soften_contacts(world, u, count, row, work):
    """What `soften_contacts` is called with."""
    bodies, (_, soft), (h, ahead, _, _, _, _, _, _, _, _) = world[0], world[5], world[6]
    poses, ((pairs, shapes, _, _, gap, _, _, _), _, _, _), table, _, _ = work
    rows, bias, compliance = table[2], table[3], table[4]
    return (
        pairs, shapes, gap[:count], soft, rows, u, poses[2], (bodies[3], bodies[2]), h, _weight(ahead),
        row, bias, compliance,
    )  # fmt: skip


@njit(cache=True, inline="always")
def to_follow(world, q, horizon, work):
    """What `follow_few` is called with."""
    _, (_, found, _, (path, swept, _)), _, _, _ = work
    fixed = ShapeConstants(*world[3][0])
    solids = (fixed.placing[2], fixed.polyhedra[0], fixed.polyhedra[1], fixed.supports)
    return world[3][1], solids, q, path, horizon, (found[0], found[1], found[2]), swept


@njit(cache=True, inline="always")
def to_solve(settings, most, rigid, u_f, v_f, judged_by, reactions, found):
    """What `solve_small` is called with.  most: iterations."""
    tols, newton = settings[8], settings[9][1]
    return None, rigid, u_f, v_f, judged_by, tols, most, newton, 1.0, reactions, found


@njit(cache=True, inline="always")
def to_solve_alone(settings, most, rigid, u_f, v_f, judged_by, reactions, found):
    """What `solve_alone` is called with.  most: iterations."""
    return rigid, v_f, u_f, judged_by, settings[8], most, reactions, found


@njit(cache=True, inline="always")
def to_solve_resting(settings, rigid, bodies, u_f, v_f, bias, before, judged_by, reactions, told, found):
    """What `solve_resting` is called with."""
    tols, (_, newton, _, most, rule) = settings[8], settings[9]
    return (
        rigid, bodies, u_f, v_f, bias, before, judged_by, tols, most, rule, newton, 1.0, reactions, told, found,
    )  # fmt: skip


@njit(cache=True, inline="always")
def to_detect(world, at, reach, work):
    """What `find_contacts` is called with."""
    return PLACE, world[3][0], at, reach, work[1][1], work[1][0]


@njit(cache=True, inline="always")
def to_reduce(world, inputs, pairs, start, rows, bias, m, index, impulse, soft, work):
    """What `reduce_rows` is called with."""
    mass, inertia, inverse_inertia, _, gravity, joint_bodies, coordinate_joint = world[0]
    poses, rates, (mass_blocks, inverse, u_f, response, free) = work[0], work[2][7][1], work[3][0]
    return (
        mass, inertia, inverse_inertia, gravity, poses[3], poses[4], inputs[0], inputs[1], joint_bodies,
        coordinate_joint, rates, world[6][0], pairs, start, rows, bias, mass_blocks, inverse, u_f, response, free[:m],
        index, impulse, soft,
    )  # fmt: skip


@njit(cache=True, inline="always")
def to_move(world, u, touching, is_free, work):
    """What `move_free` is called with."""
    poses, reach, settings = work[0], world[4], world[6]
    return (
        poses[0], u, poses[8], poses[5], poses[6], settings[0], touching, (reach[0], reach[1], reach[2], reach[3]),
        settings[4], is_free, poses[7],
    )  # fmt: skip


@njit(cache=True, inline="always")
def to_count_turns(world, work, turns):
    """What `count_turns` is called with."""
    poses, _, (_, _, _, _, _, _, _, (values, rates, _), _, _, _, _, _, _), _, _ = work
    return world[1][2], poses[7], poses[8], values, rates, poses[6], turns


@njit(cache=True, inline="always")
def to_keep(world, q, u, turns, time, iterations, count, work, room):
    """What a kernel is called with that keeps a step which was just taken (io/recording/keeping.py)."""
    mass, inertia, _, _, gravity, _, _ = world[0]
    poses, ((pairs, _, point, frame, gap, mu, _, feature), _, _, _), table, problem, _ = work
    _, names, _, _, _, _, errors, coordinates, _, _, start, hard, blocks, _ = table
    return (
        (q, u, turns, time), (mass, inertia, gravity, poses[2]), world[6][0], iterations, count,
        (names, start, blocks, errors[0], hard, coordinates[0]), problem[5], problem[6], (*problem[2], problem[10]),
        (pairs, point, frame, gap, mu, feature), room,
    )  # fmt: skip


def stages_of(model: Model, settings: StepSettings) -> set[int]:
    """The stages that steps of this model have."""
    joints, softness = model.joints, softness_of(model, settings.softening)
    has = {
        CLOSE: closes(model, settings),
        JOINTS: joints.count > 0,
        SOFT_JOINTS: softness.hard_rows is not None,
        COORDINATES: joints.drive_count + joints.friction_count + joints.limit_count > 0,
        SOFT_CONTACTS: softness.is_any_shape_soft,
        FOLLOW: model.shapes.count > 0 and model.shapes.few,
        DETECT: model.shapes.count > 0,
        REST: not model.shapes.few or most_rows(model) > MOST_ROWS,
        SOLVE: joints.count > 0 or model.shapes.count > 0,
        TURNS: joints.any_counted,
        REDUCE: True,
        MEASURE: joints.count > 0 or model.shapes.count > 0,
        MOVE: True,
        ALONE: 0 < joints.row_count <= CARRY_ROWS,
    }
    return {stage for stage, is_there in has.items() if is_there}


def address_for(kernel: Any, arguments_of: Any, given: Arrays) -> int:
    """Of a kernel that is called with arguments_of(*given), compiled now or loaded."""
    plain = getattr(arguments_of, "py_func", arguments_of)  # itself where nothing is compiled
    return kernel_address(kernel, tuple(typeof(a) for a in plain(*given)))


def _as_given(*arguments: Any) -> Arrays:
    return arguments


def addresses_of(world: Arrays, inputs: Arrays, work: Arrays, needed: set[int]) -> np.ndarray:
    """(14,) of the stages that are needed, compiled now or loaded; 0 for the others."""
    poses, _, table, problem, _ = work
    q, u, turns = poses[0], poses[4], np.zeros(0, np.int64)
    (_, _, u_f, response, free), _, (blocks, scale), _, _, reactions, found, _, _, _, _ = problem
    rigid = (table[0], table[10], table[2], response, table[4])
    pairs, shapes, gap = work[1][0][0], work[1][0][1], work[1][0][4]
    rotors = (*world[4][5], table[7][1], problem[0][1])
    touching = (pairs, shapes, gap, 0, table[2], response, table[4], rotors)
    judged_by = (work[1][0][5], table[10], 0, 0, 0, blocks, scale, True, 1.0, 1.0)
    calls: dict[int, tuple[Any, Any, Arrays]] = {
        CLOSE: (close, to_close, (world, q, u, work)),
        JOINTS: (fill_joints, to_fill_joints, (world, q, u, turns, work)),
        SOFT_JOINTS: (soften_joints, to_soften_joints, (world, work)),
        COORDINATES: (fill_coordinates, to_fill_coordinates, (world, inputs, u, 0.0, 0, 0, work)),
        SOFT_CONTACTS: (soften_contacts, to_soften_contacts, (world, u, 0, 0, work)),
        FOLLOW: (follow_few, to_follow, (world, q, 1.0, work)),
        SOLVE: (solve_small, to_solve, (world[6], 0, rigid, u_f.reshape(-1), free, judged_by, reactions, found)),
        ALONE: (
            solve_alone,
            to_solve_alone,
            (world[6], 0, rigid, u_f.reshape(-1), free, judged_by, reactions, found),
        ),
        TURNS: (count_turns, to_count_turns, (world, work, turns)),
        DETECT: (find_contacts, to_detect, (world, q, work[1][3][2], work)),
        REDUCE: (
            reduce_rows,
            to_reduce,
            (world, inputs, table[0], table[10], table[2], table[3], 0, table[10], free, free, work),
        ),
        MEASURE: (measure_rigid, _as_given, (rigid, 0, 0, free, 0.0, blocks, scale, free)),
        MOVE: (move_free, to_move, (world, u, touching, False, work)),
        REST: (
            solve_resting,
            to_solve_resting,
            (world[6], rigid, 0, u_f.reshape(-1), free, free, free, judged_by, reactions, turns, found),
        ),
    }
    out = np.zeros(len(calls), np.int64)
    for number in sorted(needed):
        out[number] = address_for(*calls[number])
    return out
