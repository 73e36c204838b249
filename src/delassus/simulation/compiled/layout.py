"""What the compiled step reads and writes, as nested plain tuples of arrays.

| tuple | entries |
|---|---|
| world | bodies, joints, limits, shapes, reach, softness, settings, addresses of the stages: constant |
| inputs | wrench (n_b, 6), effort, target, target_rate (n_d,), time (1,), which is not a number for the step's start |
| memory | names, reactions (room, 6), count (1,): of `Memory`, with room for every block there may be |
| work | poses, contacts, rows, problem, closing of joints: room for everything on the way |
| kept | address of a kernel that keeps each step, and what it writes to; 0 where nobody wants them kept |

Named tuples would read better, and Numba would type each of them anew in Python at every call.
"""

import math
from typing import Any

import numpy as np

from delassus.collision.contacts import empty_columns
from delassus.collision.find import most_contacts
from delassus.collision.find import work_for as detection_work
from delassus.collision.sweep.swept import few_swept
from delassus.dynamics.closing_order import closing_of
from delassus.dynamics.closure import room_for
from delassus.dynamics.softness import softness_of
from delassus.law import Law
from delassus.linalg.operators.delassus import ODD_MASSES
from delassus.model.model import Model
from delassus.residuals import RESIDUAL_COUNT
from delassus.simulation.settings import StepSettings
from delassus.softening import HARD
from delassus.solvers.auto.island_loop import RULE
from delassus.solvers.newton.prox_ssn import ProxSsn
from delassus.solvers.newton.small import MOST_ROWS, most_iterations
from delassus.solvers.parts.at_once import MOST_JUDGEMENTS

Arrays = tuple[Any, ...]

_CONTACTS_EACH = 8  # per shape, where shapes are many: more room is made when it is needed


def why_not(model: Model, settings: StepSettings) -> str | None:
    """Why steps of this model under these settings cannot be taken in compiled code, in words; None where they can."""
    if settings.solver != "auto" or settings.law is not Law.NCP:
        return "only the default solver under exact friction is compiled"
    if not settings.warm_start:
        return "only steps with a warm start are compiled"
    if settings.scheme.is_penalty:
        return "steps with contacts as springs are not compiled"
    if settings.theta is not None:
        return "only steps with the integrator's own θ are compiled"
    if model.is_implicit:
        return "flexible bodies, springs, bushings and couplings of many bodies are not compiled"
    if model.couplings is not None:
        return "couplings of joints are not compiled"
    if not model.body_count:
        return "nothing moves"
    if model.mass.max() > ODD_MASSES * model.mass.min():
        return "masses are so far apart that reactions may need two doubles"
    if settings.threads > 1:
        return "only steps in one thread are compiled"
    return None


def world_of(model: Model, settings: StepSettings) -> Arrays:
    """The constants of a model and of the settings, but the addresses of the stages."""
    joints, shapes, softness = model.joints, model.shapes, softness_of(model, settings.softening)
    stabilisation, lead, h = settings.stabilisation, settings.scheme.lead, settings.h
    softness.check_step(h)
    most = int(settings.max_iter)
    newton = ProxSsn(solver="prox-ssn", least=True)
    return (
        (
            model.mass, model.inertia, model.inverse_inertia, model.inverse_mass, model.gravity, joints.bodies,
            joints.coordinate_joint,
        ),
        (joints.plain, joints.plain_coordinates, joints.plain_turns, closing_of(softness.closed)),
        (softness.limits, softness.limits[:, 0] == HARD),
        (shapes.constants, few_swept(shapes)[0]),
        (shapes.body, shapes.pace.arm, float(shapes.pace.least), shapes.radius, shapes.surface, joints.rotors),
        (softness.joints, softness.shapes),
        (
            float(h), lead * h, float(stabilisation.closure) if closes(model, settings) else -1.0,
            tuple(map(float, stabilisation.pushing(model.gravity, h, lead * h))),
            tuple(map(float, stabilisation.plain)),
            h * math.sqrt(float(model.gravity @ model.gravity)), (1.0 - lead) * h * h,
            bool(stabilisation.through_velocities), (float(settings.tol), _no_less(settings.velocity_factor)),
            (
                most_iterations(MOST_ROWS, 0, most), newton.plain, most_iterations(MOST_ROWS + 1, 0, most), most, RULE,
            ),
        ),
    )  # fmt: skip


def closes(model: Model, settings: StepSettings) -> bool:
    """Are joints closed at the end of a step?"""
    rows = softness_of(model, settings.softening).closed.row_count
    return rows > 0 and math.isfinite(settings.stabilisation.closure)


def _no_less(factor: float | None) -> float:
    return math.inf if factor is None else float(factor)


def memory_for(model: Model, contacts: int) -> Arrays:
    """Room for what a step with so many contacts at most remembers, nothing in it."""
    blocks = _most_blocks(model, contacts)
    return np.zeros(blocks, np.uint64), np.zeros((blocks, 6)), np.zeros(1, np.int64)


def first_room(model: Model) -> int:
    """Contacts that there is room for at first: all there can be among few shapes, some among many."""
    if not model.shapes.count:
        return 0
    return most_contacts(model.shapes) if model.shapes.few else _CONTACTS_EACH * model.shapes.count


def _most_blocks(model: Model, contacts: int) -> int:
    joints = model.joints
    return joints.count + joints.drive_count + joints.friction_count + joints.limit_count + contacts


def most_rows(model: Model) -> int:
    """Of a step that needs no more room than there is at first."""
    joints = model.joints
    singles = joints.drive_count + joints.friction_count + joints.limit_count
    return joints.row_count + singles + 3 * first_room(model)


def work_for(model: Model, settings: StepSettings, contacts: int) -> Arrays:
    """Room for everything between two states, of steps with so many contacts at most."""
    joints, shapes, n, free = model.joints, model.shapes, model.body_count, model.joints.coordinate_count
    softness, h = softness_of(model, settings.softening), settings.h
    lead = settings.scheme.lead
    blocks = _most_blocks(model, contacts)
    limited = free if joints.limit_count else 0
    singles = joints.drive_count + joints.friction_count + joints.limit_count
    rows = joints.row_count + singles + 3 * contacts
    area = int((joints.row_sizes**2).sum()) + singles + 9 * contacts
    sizes = np.ones(blocks, np.int64)
    sizes[: joints.count] = joints.row_sizes
    columns = empty_columns(contacts)
    poses = (
        np.zeros((n, 7)), np.zeros((n, 7)), np.zeros((n, 3, 3)), np.zeros((n, 3, 3)), np.zeros((n, 6)),
        np.full(n, lead * h), np.full(n, h - lead * h), np.zeros((n, 7)), np.zeros((n, 6)), np.zeros((n, 6)),
    )  # fmt: skip
    swept = np.zeros((n, 9)), few_swept(shapes)[1], np.zeros(shapes.count)
    doubt = np.zeros(n, np.bool_), np.zeros(contacts), np.zeros(contacts, np.bool_)
    table = (
        np.zeros((blocks, 2), np.int64), np.zeros(blocks, np.uint64), np.zeros((rows, 12)), np.zeros(rows),
        np.zeros(rows), np.zeros(rows),
        (np.zeros(joints.row_count), np.zeros(joints.row_count), np.zeros(joints.row_count)),
        (np.zeros(free), np.zeros((free, 12)), np.zeros((free, 12))),
        np.zeros(free, np.bool_), sizes, np.zeros(blocks + 1, np.int64),
        np.zeros(0, np.bool_) if softness.hard_rows is None else softness.hard_rows, np.zeros(4, np.int64),
        np.zeros(limited),
    )  # fmt: skip
    problem = (
        (np.zeros((n, 6, 6)), np.zeros((n, 6, 6)), np.zeros((n, 6)), np.zeros((rows, 12)), np.zeros(rows)),
        (np.zeros((rows, 12)), np.zeros(rows), np.zeros(rows)), (np.zeros(area), np.zeros(blocks)),
        np.zeros(blocks, np.int64), np.zeros(rows), np.zeros(rows),
        np.zeros(RESIDUAL_COUNT + rows + 6 * n + 3 * MOST_JUDGEMENTS),
        (np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows), np.zeros(rows, np.int64)),
        np.zeros((0, 0)), np.zeros(4, np.int64), np.zeros(2),
    )  # fmt: skip
    detection = detection_work(shapes, 1, 2 * contacts, 8 * contacts)
    closing = room_for(softness.closed)
    return poses, (columns, detection, doubt, swept), table, problem, closing


def nowhere() -> Arrays:
    """What steps are kept in where nobody wants them: nothing, of the types of `io.recording.Columns`, so that the loop
    is compiled once for both."""
    whole, table, cube = np.zeros((0, 0), np.int64), np.zeros((0, 0)), np.zeros((0, 0, 0))
    numbers, counts, small = np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.uint8)
    steps = table, whole, cube, cube, whole, table, table, table, table
    bodies, feature = np.zeros((0, 0), np.int32), np.zeros(0, np.uint64)
    judged = np.zeros(0, np.float32)
    touching = bodies, small, table, table, table, table, numbers, numbers, feature, judged, judged
    return counts, numbers, counts, steps, touching, (np.zeros(0, np.int32), small, numbers), table
