"""One step, one screen: from a state to the next, through one problem solved to a stated accuracy."""

from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from delassus.collision import Contacts, detect
from delassus.dynamics import Inputs, Rows, Softening, Stabilisation, assemble, energy_of, free_velocity
from delassus.dynamics.closure import MOST_ROWS, close_joints
from delassus.dynamics.rows import effort_wrench
from delassus.errors import SettingsError
from delassus.integrators import integrator
from delassus.law import Law
from delassus.linalg.rigid_delassus import RigidDelassus
from delassus.model import Model
from delassus.problem import Problem
from delassus.solvers import Settings, Solution, solve
from delassus.spatial import quaternion_to_matrix
from delassus.state import State
from delassus.status import Status


@dataclass(frozen=True)
class StepSettings:
    """How a step is taken."""

    h: float = 1e-3  # time step [s]
    solver: str | Settings = "auto"
    law: Law = Law.NCP
    tol: float = 1e-6  # relative natural map [-]
    tol_velocity: float | None = 1e-6  # worst velocity, relative to the larger of ‖v_f‖_∞ and h g [-]; None: not asked
    max_iter: int = 20_000
    integrator: str = "moreau"
    stabilisation: Stabilisation = field(default_factory=Stabilisation)
    softening: Softening | None = None  # soft constraints in MuJoCo's manner; None: hard ones
    warm_start: bool = True
    threads: int = 1  # of collision detection

    def __post_init__(self):
        object.__setattr__(self, "law", Law.of(self.law))
        if not (np.isfinite(self.h) and self.h > 0):
            raise SettingsError(f"h is {self.h}: give a positive time step in seconds")


class Memory:
    """Reactions of the last step by block name: what the next solve starts from. Part of the state for exact resume."""

    def __init__(self, names=None, reactions=None):
        self.names = np.zeros(0, np.uint64) if names is None else np.asarray(names, np.uint64)
        self.reactions = np.zeros((0, 6)) if reactions is None else np.asarray(reactions, float)

    def recall(self, rows: Rows) -> np.ndarray:
        """λ for these rows: remembered for blocks known by name, zero for new ones; (m,) [N s]."""
        out = np.zeros(rows.cone.row_count)
        if len(self.names) and len(rows.names):
            at = np.minimum(np.searchsorted(self.names, rows.names), len(self.names) - 1)
            known = self.names[at] == rows.names
            block, component = _layout(rows)
            remembered = np.where(known[:, None], self.reactions[at], 0.0)
            out[:] = remembered[block, component]
        return out

    def store(self, rows: Rows, reactions: np.ndarray) -> None:
        """Keep the reactions under their blocks' names."""
        block, component = _layout(rows)
        table = np.zeros((len(rows.names), 6))
        table[block, component] = reactions
        order = np.argsort(rows.names, kind="stable")
        self.names, self.reactions = rows.names[order], table[order]


@dataclass(frozen=True, eq=False)
class StepReport:
    """What happened in a step. energy: kinetic and potential after it [J]; drift: worst joint error before it [m, rad];
    penetration: deepest [m]; seconds by stage."""

    rows: Rows
    problem: Problem
    solution: Solution
    contacts: Contacts
    energy: tuple[float, float]
    drift: float
    penetration: float
    times: dict[str, float]


def step(
    model: Model, state: State, inputs: Inputs | None = None, settings: StepSettings | None = None,
    memory: Memory | None = None,
) -> tuple[State, StepReport]:  # fmt: skip
    """The state one time step later, and a report that holds every object on the way."""
    settings = settings or StepSettings()
    if model.joints.has_friction and settings.law is not Law.NCP:
        raise SettingsError(
            f"law {settings.law.value} does not keep the known normal force behind dry friction of joints: "
            "use law ncp or take the friction out"
        )
    inputs = inputs or Inputs.of(model)
    h, scheme = settings.h, integrator(settings.integrator)
    clock = _Clock()

    closes = 0 < model.joints.row_count <= MOST_ROWS and np.isfinite(settings.stabilisation.closure)
    at = scheme.predict(state.q, state.u, h)
    if closes:
        # off its path an over-constrained linkage is rigid, and its rows ask for the impossible
        at, _ = close_joints(model, at, state.u, tol=settings.stabilisation.closure)
    position, rotation = at[:, :3], quaternion_to_matrix(at[:, 3:])
    contacts = detect(model.shapes, position, at[:, 3:], threads=settings.threads)
    clock.stage("collision")
    rows = assemble(model, position, rotation, state, contacts, h, inputs, settings.stabilisation, settings.softening)
    problem = reduce(model, rotation, state.u, rows, inputs, settings)
    clock.stage("assembly")
    guess = memory.recall(rows) if memory is not None and settings.warm_start else None
    solution = solve(
        problem, settings.solver, guess, tol=settings.tol, tol_velocity=_velocity_tolerance(model, problem, settings),
        max_iter=settings.max_iter,
    )  # fmt: skip
    clock.stage("solve")
    if solution.status is Status.UNSUPPORTED:
        raise SettingsError(f"solver {solution.solver!r} cannot take this step: {solution.status.advice}")
    assert solution.body_velocities is not None
    u = solution.body_velocities.reshape(-1, 6)
    q = scheme.advance(state.q, at, state.u, u, h)
    if closes:
        q, u = close_joints(model, q, u, tol=settings.stabilisation.closure)
    after = State(q, u, state.t + h)
    if memory is not None:
        memory.store(rows, solution.reactions)
    report = StepReport(
        rows, problem, solution, contacts, energy_of(model, after.rotation, after.position, u),
        float(np.abs(rows.residual).max(initial=0.0)), float(-contacts.gap.min(initial=0.0)), clock.times,
    )  # fmt: skip
    clock.stage("advance")
    return after, report


def reduce(model: Model, rotation, u, rows: Rows, inputs: Inputs, settings: StepSettings) -> Problem:
    """The one-step problem of these rows."""
    mass, inverse = model.mass_blocks(rotation)
    u_f = free_velocity(model, mass, inverse, u, effort_wrench(model, rows, inputs), settings.h).ravel()
    # not `Problem.rigid`: the model was checked when it was built, and checking again would cost as much as the step
    delassus = RigidDelassus(mass, rows.bodies, rows.rows, rows.cone.block_start, rows.compliance, inverse)
    free = delassus.rows_times(u_f) + rows.bias
    return Problem(delassus, free, rows.cone, settings.law, u_f=u_f, bias=rows.bias)


def _velocity_tolerance(model: Model, problem: Problem, settings: StepSettings) -> float | None:
    """tol_velocity in m/s: relative to what moves, or would fall, in this step."""
    if settings.tol_velocity is None or not problem.row_count:
        return None
    fall = settings.h * float(np.linalg.norm(model.gravity))
    return settings.tol_velocity * max(float(np.abs(problem.free_velocity).max()), fall, 1e-300)


def _layout(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Block and component within it of every row."""
    sizes = np.diff(rows.cone.block_start)
    block = np.repeat(np.arange(len(sizes)), sizes)
    return block, np.arange(rows.cone.row_count) - rows.cone.block_start[block]


class _Clock:
    """Seconds per stage."""

    def __init__(self):
        self.times: dict[str, float] = {}
        self.last = perf_counter()

    def stage(self, name: str) -> None:
        now = perf_counter()
        self.times[name] = now - self.last
        self.last = now
