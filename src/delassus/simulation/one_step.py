"""One step, one screen: from a state to the next, through one problem solved to a stated accuracy."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from delassus.dynamics import Inputs, Rows, assemble, reduce
from delassus.dynamics.bounded import Held
from delassus.dynamics.closure import POSES_ALONE, close_joints
from delassus.dynamics.coupled_closure import close_model
from delassus.dynamics.forces import swung, total_energy
from delassus.dynamics.impacts import foresee, meeting
from delassus.dynamics.implicit_step import ImplicitStep, touching_surfaces
from delassus.dynamics.loose import Loose
from delassus.dynamics.moving import Way, move_on, return_to_limits
from delassus.dynamics.penalty import Penalty, press
from delassus.dynamics.rows import Motion, Rule
from delassus.dynamics.softness import Softness, softness_of
from delassus.dynamics.step_problem import Nodes
from delassus.dynamics.turns import turns_after
from delassus.errors import SettingsError
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.law import Law
from delassus.linalg.blas_threads import one_thread
from delassus.model.model import Model
from delassus.model.state import State
from delassus.problem import Problem
from delassus.simulation.impact_times import are_divided, divided
from delassus.simulation.in_joints import InJoints, mechanism_for
from delassus.simulation.memory import Memory
from delassus.simulation.report import StepReport
from delassus.simulation.settings import StepSettings, check_arguments, sorted_inputs
from delassus.simulation.signs import warnings_of
from delassus.solvers import Solution, solve
from delassus.spatial import rotations_of
from delassus.status import Status
from delassus.waiting import clock

_FINE = 1e-3  # of the tolerances, where rows next to their bounds go to and fro within them
_MOST_ROUNDS = 20  # of Newton's method over a step, of which three to six are taken
_SAME = 10.0  # tolerances: what solves to them leave of differences
_DEFAULT = StepSettings()
First = Callable[[Problem, np.ndarray | None], Solution | None]
"""What may solve a problem from a guess."""
_NOWHERE = np.zeros(0)
_ALL = np.empty(0, bool)


@one_thread
def step(
    model: Model,
    state: State,
    inputs: Inputs | None = None,
    settings: StepSettings | None = None,
    memory: Memory | None = None,
) -> tuple[State, StepReport]:
    """The state one time step later, and a report that holds every object on the way.

    inputs: forces and targets from outside, `Inputs.of(model, …)`; settings: how the step is taken; memory: where the
    solve starts from, filled for the next step."""
    if not (inputs is None or type(inputs) is Inputs) or not (settings is None or type(settings) is StepSettings):
        inputs, settings = sorted_inputs(model, inputs, settings)
    check_arguments(model, state, inputs, memory)
    settings = settings or _DEFAULT
    inputs = inputs or Inputs.none(model)
    if are_divided(model, settings):
        return divided(_taken, model, state, inputs, settings, memory)
    return _taken(model, state, inputs, settings, memory)


def _taken(
    model: Model,
    state: State,
    inputs: Inputs,
    settings: StepSettings,
    memory: Memory | None,
    loose: Loose | None = None,
) -> tuple[State, StepReport]:
    """A step, or a piece of one.  loose: given, contacts that bounce are left out, see impact_times.py."""
    h, scheme = settings.h, settings.scheme
    watch = _Clock()
    stabilisation = settings.stabilisation
    if scheme.is_penalty:  # springs push things out of each other, and nobody looks ahead
        stabilisation = replace(stabilisation, through_velocities=True)

    softness = softness_of(model, settings.softening)
    closes = softness.closed.row_count > 0 and np.isfinite(stabilisation.closure)
    made = mechanism_for(model, settings) if closes else None
    joints = None if made is None else InJoints(made, settings)
    at = predicted = scheme.predict(state.q, state.u, h)
    flight = foresee(model, state, inputs, at, h, scheme.lead, stabilisation, loose)
    if flight is not None:
        at = predicted = flight.at
        joints = None  # what stopped on its way is not where its joints are
    if closes:
        # off its path an over-constrained linkage is rigid, and its rows ask for the impossible
        here = state.coordinates(model) if model.closes_lengths else _NOWHERE
        found = joints.closed(predicted, POSES_ALONE) if joints is not None else None
        joints = joints if found is not None else None
        at, _ = found or _closed(model, predicted, POSES_ALONE, stabilisation.closure, softness, here)
    rotation = rotations_of(at)
    contacts = meeting(model, state, inputs, at, h, scheme.lead, stabilisation, flight, settings.threads, loose)
    nodes = state.nodes
    if model.flexible is not None:
        nodes = nodes + scheme.lead * h * state.node_velocity
        contacts = touching_surfaces(model, state, contacts, at, nodes, h, settings.threads)
    if scheme.is_penalty:
        contacts = contacts.where(contacts.gap < 0.0)
    watch.stage("collision")
    # Masses are those of the prediction: a body turned along its own velocity keeps its kinetic energy, one that is
    # moved to close its joints does not, and the difference would be an error of first order.
    turned = rotations_of(predicted) if closes else rotation
    half = swung(model, turned, state.u, 0.5 * h)
    ahead = scheme.lead * h
    elapsed = np.full(model.body_count, ahead) if flight is None else flight.elapsed
    motion = Motion(at, rotation, elapsed, state.u, half, model.inverse_mass, model.inverse_inertia)
    rule = Rule(h, scheme.weight, stabilisation.pushing(model.gravity, h, ahead))
    of_nodes = Nodes(nodes, () if model.flexible is None else stabilisation.pushing_nodes(h, ahead))
    rows = assemble(model, state, contacts, inputs, motion, rule, softness, of_nodes)
    if flight is not None:
        flight.set_impacts(model, state, rows, h, stabilisation)
    guess = memory.recall(rows) if memory is not None and settings.warm_start else None
    held = Held(rows, guess, half) if rows.bound is not None else None
    posed, known = None, rows
    if scheme.is_penalty:
        springs, is_frictionless = settings.penalty or Penalty(), settings.law is Law.FRICTIONLESS
        known, inputs = press(model, state, rows, inputs, h, springs, is_frictionless)
    if model.is_implicit:
        posed = ImplicitStep(model, state, turned, half, known, inputs, h, scheme, settings.law)

    def reduced() -> Problem:
        law = settings.law
        return reduce(model, turned, half, known, inputs, h, law, held) if posed is None else posed.problem(held)

    problem = reduced()
    solving, solver = settings, settings.solver
    if not isinstance(solver, str) and solver.follows_contacts:
        solving = replace(settings, solver=solver.in_step(h, contacts.rod_lengths(at)))
    watch.stage("assembly")
    first = joints.at(predicted) if joints is not None else None
    problem, solution = _settled(problem, reduced, held, guess, solving, first)
    rounds = 1
    if scheme.is_iterated and posed is not None:
        problem, solution, rounds = _iterated(posed, problem, solution, reduced, held, solving)
    if scheme.is_penalty and solution.converged:
        solution.status = Status.PENALTY  # what was solved is joints, limits and drives alone
    assert solution.body_velocities is not None
    watch.stage("solve")
    u = swung(model, turned, solution.body_velocities[: half.size].reshape(-1, 6), 0.5 * h)
    way = Way(predicted, state.u, u, elapsed, h - elapsed)
    q = move_on(model, way, h, rows, problem, stabilisation, solution.reactions, loose)
    q, coordinates = return_to_limits(model, q, way, h, rows, stabilisation, softness)
    solved = q, u
    if closes:
        closure = settings.stabilisation.closure
        found = joints.closed(q, u) if joints is not None else None
        q, u = found or _closed(model, q, u, closure, softness, coordinates)
    turns = turns_after(model.joints, q, u, coordinates, rows.rates, way.left)
    if posed is None:
        after = State(q, u, state.t + h, turns)
    else:
        after = State(q, u, state.t + h, turns, *posed.nodes_after(nodes, q, solution.body_velocities))
    report = StepReport(
        rows,
        problem,
        solution,
        contacts,
        energy=total_energy(model, after),
        drift=drift_of(rows.residual, _hard_rows(softness, len(rows.residual))),
        penetration=deepest(contacts.gap),
        times=watch.times,
        t=after.t,
        h=h,
        held_back=_held_back(model, rows, held),
        warnings=warnings_of(model, state, after, rows, solution, softness.hard_rows, closes, settings),
        at=at,
        solved=solved,
        rounds=rounds,
    )
    if memory is not None:
        memory.store(rows, solution.point)
    watch.stage("advance")
    return after, report


def _settled(
    problem: Problem,
    reduced: Callable[[], Problem],
    held: Held | None,
    guess: np.ndarray | None,
    settings: StepSettings,
    first: First | None = None,
) -> tuple[Problem, Solution]:
    """The problem and its solution, with bounded rows where they belong.  reduced: makes it anew of what is held;
    first: what may solve it before others do."""
    solution = _solve(problem, guess, settings, first)
    while held is not None and not held.is_done(solution, _allowed_speed(problem, settings)):
        problem = reduced()
        first = None if held.is_late else first
        spent, solution = solution.iterations, _solve(problem, solution.point, settings, first, held.is_late)
        solution.iterations += spent
    if held is not None and not held.is_settled:
        solution.status = Status.STALLED
    return problem, solution


def _iterated(
    posed: ImplicitStep,
    problem: Problem,
    solution: Solution,
    reduced: Callable[[], Problem],
    held: Held | None,
    settings: StepSettings,
) -> tuple[Problem, Solution, int]:
    """Newton's method over the step, contacts inside (Mangoni, thesis, §3.4): forces are linearised about the last
    velocities until these stay. The third is how often. Without an end in sight the step is stalled."""
    for rounds in range(2, _MOST_ROUNDS + 1):
        if not solution.converged:
            return problem, solution, rounds - 1
        before, spent = solution.body_velocities, solution.iterations
        assert before is not None
        posed.linearise(before)
        problem, solution = _settled(reduced(), reduced, held, solution.point, settings)
        solution.iterations += spent
        assert solution.body_velocities is not None
        if posed.is_settled(before, solution.body_velocities, _SAME * settings.tol):
            return problem, solution, rounds
    solution.status = Status.STALLED
    return problem, solution, _MOST_ROUNDS


def _solve(
    problem: Problem,
    guess: np.ndarray | None,
    settings: StepSettings,
    first: First | None = None,
    is_fine: bool = False,
) -> Solution:
    """is_fine: three digits more where they can be had, otherwise as good as the settings ask for."""
    found = None if first is None else first(problem, guess)
    if found is not None:
        return found
    factor, tol, solver = settings.velocity_factor, settings.tol, settings.solver
    limits: dict[str, Any] = {"max_iter": settings.max_iter, "threads": settings.threads}
    if is_fine:
        fine = None if factor is None else _FINE * factor
        solution = solve(problem, solver, guess, tol=_FINE * tol, tol_velocity=fine, **limits)
        if solution.converged:
            return solution
        guess = solution.point
    solution = solve(problem, solver, guess, tol=tol, tol_velocity=factor, **limits)
    if solution.status is Status.UNSUPPORTED:
        raise SettingsError(f"solver {solution.solver!r} cannot take this step: {solution.trace.words[-1]}")
    return solution


def _closed(
    model: Model, q: np.ndarray, u: np.ndarray, tol: float, softness: Softness, near: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Poses and velocities that obey joints and couplings.  near: (n_d,) coordinates, by which turns are counted."""
    if not model.closes_lengths:
        return close_joints(model, q, u, tol=tol, joints=softness.closed)
    return close_model(model, q, u, tol=tol, joints=softness.closed, near=near)


def _hard_rows(softness: Softness, count: int) -> np.ndarray:
    """Which of the first rows are hard, (count,): joints as the model says, then welds, which are; empty: all."""
    hard = softness.hard_rows
    return _ALL if hard is None else hard if len(hard) == count else np.append(hard, np.ones(count - len(hard), bool))


def _allowed_speed(problem: Problem, settings: StepSettings) -> float:
    """What the velocity of a row may be off by under these settings [m/s]."""
    factor = settings.velocity_factor
    return 0.0 if factor is None else factor * float(problem.velocity_scale.min(initial=np.inf))


def _held_back(model: Model, rows: Rows, held: Held | None) -> tuple[str, ...]:
    """Names of the coordinates whose drives are held back."""
    if held is None and not rows.stopped.any():
        return ()
    stopped = np.flatnonzero(rows.stopped)
    found = stopped if held is None else np.union1d(stopped, held.drives)
    return tuple(model.freedoms.coordinate_names[d] for d in found)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def drift_of(residual, hard):
    """The worst error of the joints that are not meant to give, NaN where one is.  hard: which rows, or empty: all."""
    out = 0.0
    for i in range(len(residual)):
        size = abs(residual[i])
        if (len(hard) == 0 or hard[i]) and (size > out or size != size):
            out = size
    return out


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def deepest(gap):
    """max(−gap, 0), zero for nothing."""
    out = 0.0
    for i in range(len(gap)):
        out = max(out, -gap[i])
    return out


class _Clock:
    """Seconds per stage, without those spent compiling."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self.last = clock()

    def stage(self, name: str) -> None:
        now = clock()
        self.times[name] = now - self.last
        self.last = now
