"""The arrays of the compiled step, made for a model under settings: see `data.py` for their names."""

import math

import numpy as np

from delassus.collision.contacts import empty_columns
from delassus.collision.find import most_contacts
from delassus.collision.find import work_for as detection_work
from delassus.collision.sweep.swept import few_swept
from delassus.dynamics.bounded import Bounded
from delassus.dynamics.closing_order import closing_of
from delassus.dynamics.closure import room_for
from delassus.dynamics.impacts import Doubt
from delassus.dynamics.joint_rows import Coordinates
from delassus.dynamics.moving import Reach
from delassus.dynamics.rows import RowArrays, Rule, Turning
from delassus.dynamics.softness import Softness, softness_of
from delassus.dynamics.step_problem import Reduced
from delassus.integrators import STIFFLY
from delassus.joints.arrays import JointArrays
from delassus.law import Law
from delassus.linalg.operators.delassus import ODD_MASSES
from delassus.model.model import Model
from delassus.residuals import RESIDUAL_COUNT
from delassus.simulation.compiled.data import (
    JointData,
    Plain,
    SettingsData,
    ShapeData,
    SolverData,
    StepContacts,
    StepMemory,
    StepPoses,
    StepProblem,
    StepRows,
    StepState,
    StepWork,
    StepWorld,
)
from delassus.simulation.impact_times import are_divided
from delassus.simulation.settings import StepSettings
from delassus.softening import HARD
from delassus.solvers.auto.island_loop import RULE
from delassus.solvers.newton.prox_ssn import ProxSsn
from delassus.solvers.newton.small import MOST_ROWS, most_iterations
from delassus.solvers.parts.at_once import MOST_JUDGEMENTS

CONTACTS_EACH = 8
"""Room per shape, where shapes are many: more is made when it is needed."""


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


def world_of(model: Model, settings: StepSettings) -> StepWorld:
    """The constants of a model and of the settings, but the addresses of the stages."""
    joints, shapes, softness = model.joints, model.shapes, softness_of(model, settings.softening)
    softness.check_step(settings.h)
    of_joints = JointData(
        joints.row_data,
        joints.coordinate_data,
        joints.angle_data,
        closing_of(softness.closed),
        softness.joints,
        softness.limits,
        softness.limits[:, 0] == HARD,
        joints.rotors,
    )
    reach = Reach(shapes.body, shapes.pace.arm, float(shapes.pace.least), shapes.radius)
    of_shapes = ShapeData(shapes.constants, few_swept(shapes)[0], tuple(reach), shapes.surface, softness.shapes)
    return StepWorld(model.body_data, of_joints, of_shapes, _settings(model, settings), np.zeros(0, np.int64))


def _settings(model: Model, settings: StepSettings) -> SettingsData:
    h, lead, stabilisation = float(settings.h), settings.scheme.lead, settings.stabilisation
    most, newton = int(settings.max_iter), ProxSsn(solver="prox-ssn", least=True)
    ahead = lead * h
    return SettingsData(
        h,
        ahead,
        float(stabilisation.closure) if closes(model, settings) else -1.0,
        tuple(Rule(h, STIFFLY if ahead > 0.0 else 1.0, stabilisation.pushing(model.gravity, h, ahead))),
        stabilisation.rates,
        h * math.sqrt(float(model.gravity @ model.gravity)),
        (1.0 - lead) * h * h,
        bool(stabilisation.through_velocities),
        slowest_bounce(model, settings),
        SolverData(
            (float(settings.tol), _no_less(settings.velocity_factor)),
            newton.plain,
            most_iterations(MOST_ROWS, 0, most),
            most_iterations(MOST_ROWS + 1, 0, most),
            most,
            RULE,
        ),
    )


def slowest_bounce(model: Model, settings: StepSettings) -> float:
    """The slowest approach at which a contact bounces in steps that are divided at impacts [m/s]; infinite: none is."""
    if not are_divided(model, settings):
        return math.inf
    return settings.stabilisation.slowest_bounce(model.gravity, settings.h)


def closes(model: Model, settings: StepSettings) -> bool:
    """Are joints closed at the end of a step?"""
    rows = softness_of(model, settings.softening).closed.row_count
    return rows > 0 and math.isfinite(settings.stabilisation.closure)


def _no_less(factor: float | None) -> float:
    return math.inf if factor is None else float(factor)


def memory_for(model: Model, contacts: int) -> StepMemory:
    """Room for what a step with so many contacts at most remembers, nothing in it."""
    blocks = _most_blocks(model, contacts)
    return StepMemory(np.zeros(blocks, np.uint64), np.zeros((blocks, 6)), np.zeros(1, np.int64))


def states_for(model: Model, count: int) -> StepState:
    """Room for so many states."""
    n, free = model.body_count, model.joints.coordinate_count
    turns = np.zeros((count, free), np.int64)
    return StepState(np.zeros((count, n, 7)), np.zeros((count, n, 6)), turns, np.zeros(count))


def state_for(model: Model) -> StepState:
    """Room for one."""
    q, u, turns, time = states_for(model, 1)
    return StepState(q[0], u[0], turns[0], time)


def first_room(model: Model) -> int:
    """Contacts that there is room for at first: all there can be among few shapes, some among many."""
    if not model.shapes.count:
        return 0
    return most_contacts(model.shapes) if model.shapes.is_small else CONTACTS_EACH * model.shapes.count


def _most_blocks(model: Model, contacts: int) -> int:
    joints = model.joints
    return joints.count + joints.drive_count + joints.friction_count + joints.limit_count + contacts


def most_rows(model: Model) -> int:
    """Of a step that needs no more room than there is at first."""
    joints = model.joints
    singles = joints.drive_count + joints.friction_count + joints.limit_count
    return joints.row_count + singles + 3 * first_room(model)


def work_for(model: Model, settings: StepSettings, contacts: int) -> StepWork:
    """Room for everything between two states, of steps with so many contacts at most."""
    joints, shapes, n = model.joints, model.shapes, model.body_count
    softness = softness_of(model, settings.softening)
    columns = empty_columns(contacts)
    detection = detection_work(shapes, 1, 2 * contacts, 8 * contacts)
    doubt = Doubt(np.zeros(n, np.bool_), np.zeros(contacts), np.zeros(contacts, np.bool_))
    swept, reach = few_swept(shapes)[1], np.zeros(shapes.count)
    of_contacts = StepContacts(columns, detection, tuple(doubt), np.zeros((n, 9)), swept, reach)
    singles = joints.drive_count + joints.friction_count + joints.limit_count
    m = joints.row_count + singles + 3 * contacts
    area = int((joints.row_sizes**2).sum()) + singles + 9 * contacts
    blocks = _most_blocks(model, contacts)
    return StepWork(
        _poses_for(n, settings),
        of_contacts,
        _rows_for(joints, softness, blocks, m),
        _problem_for(n, blocks, m, area),
        room_for(softness.closed),
    )


def _poses_for(n: int, settings: StepSettings) -> StepPoses:
    h, lead = settings.h, settings.scheme.lead
    half, u, scratch = (np.zeros((n, 6)) for _ in range(3))
    predicted, at, q = (np.zeros((n, 7)) for _ in range(3))
    rotation, turned = np.zeros((n, 3, 3)), np.zeros((n, 3, 3))
    elapsed, left = np.full(n, lead * h), np.full(n, h - lead * h)
    return StepPoses(predicted, at, rotation, turned, half, elapsed, left, q, u, scratch)


def _rows_for(joints: JointArrays, softness: Softness, blocks: int, m: int) -> StepRows:
    free = joints.coordinate_count
    limited = free if joints.limit_count else 0
    sizes = np.ones(blocks, np.int64)
    sizes[: joints.count] = joints.row_sizes
    bodies, names = np.zeros((blocks, 2), np.int64), np.zeros(blocks, np.uint64)
    arrays = RowArrays(bodies, names, np.zeros((m, 12)), *(np.zeros(m) for _ in range(3)))
    turning = Turning(*(np.zeros(joints.row_count) for _ in range(3)))
    coordinates = Coordinates(np.zeros(free), np.zeros((free, 12)), np.zeros((free, 12)), np.zeros((0, 4)))
    return StepRows(
        tuple(arrays),
        tuple(turning),
        tuple(coordinates),
        np.zeros(free, np.bool_),
        sizes,
        np.zeros(blocks + 1, np.int64),
        np.zeros(0, np.bool_) if softness.hard_rows is None else softness.hard_rows,
        np.zeros(4, np.int64),
        np.zeros(limited),
    )


def _problem_for(n: int, blocks: int, m: int, area: int) -> StepProblem:
    masses = np.zeros((n, 6, 6)), np.zeros((n, 6, 6))
    whole = [np.zeros(m, np.int64) for _ in range(3)]
    return StepProblem(
        tuple(Reduced(*masses, np.zeros((n, 6)), np.zeros((m, 12)), np.zeros(m))),
        (np.zeros((m, 12)), np.zeros(m), np.zeros(m)),
        np.zeros(area),
        np.zeros(blocks),
        np.zeros(2),
        np.zeros(blocks, np.int64),
        np.zeros(m),
        np.zeros(m),
        np.zeros(RESIDUAL_COUNT + m + 6 * n + 3 * MOST_JUDGEMENTS),
        tuple(Bounded(whole[0], whole[1], np.zeros(m), whole[2])),
        np.zeros(4, np.int64),
    )


def nowhere() -> Plain:
    """What steps are kept in where nobody wants them: nothing, of the types of `io.recording.Columns`, so that the loop
    is compiled once for both."""
    whole, table, cube = np.zeros((0, 0), np.int64), np.zeros((0, 0)), np.zeros((0, 0, 0))
    numbers, counts, small = np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.uint8)
    steps = table, whole, cube, cube, whole, table, table, table, table
    bodies, feature = np.zeros((0, 0), np.int32), np.zeros(0, np.uint64)
    judged = np.zeros(0, np.float32)
    touching = bodies, small, table, table, table, table, numbers, numbers, feature, judged, judged
    return counts, numbers, counts, steps, touching, (np.zeros(0, np.int32), small, numbers), table
