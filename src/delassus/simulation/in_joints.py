"""Joint coordinates in a step of `one_step.py`: the same kernels as in the compiled step, which gives the same bits."""

from collections.abc import Callable
from time import perf_counter

import numpy as np

from delassus.dynamics.reduced.closing import close_reduced
from delassus.dynamics.reduced.dense import Asked, asked_of
from delassus.dynamics.reduced.mechanism import Mechanism, mechanism_of
from delassus.dynamics.reduced.room import Room, room_for
from delassus.dynamics.reduced.solve import solve_reduced
from delassus.dynamics.softness import softness_of
from delassus.law import Law
from delassus.linalg.operators.delassus import ODD_MASSES
from delassus.model.model import Model
from delassus.problem import Problem
from delassus.simulation.settings import StepSettings
from delassus.solvers import Solution
from delassus.solvers.newton.small import MOST_ROWS, most_iterations
from delassus.solvers.parts.at_once import Attempt
from delassus.solvers.solution import AttemptedSolution
from delassus.spatial import rotations_of
from delassus.status import Status


def mechanism_for(model: Model, settings: StepSettings) -> Mechanism | None:
    """What steps under these settings are taken by; None where they stay in the coordinates of bodies."""
    if settings.coordinates == "maximal" or settings.solver != "auto" or settings.law is not Law.NCP:
        return None
    softness = softness_of(model, settings.softening)
    if settings.scheme.is_penalty or model.mass.max(initial=0.0) > ODD_MASSES * model.mass.min(initial=np.inf):
        return None
    if not np.isfinite(settings.stabilisation.closure) or not softness.closed.row_count:
        return None
    made = mechanism_of(model, softness)
    return None if made.reason is not None else made


def asked_by(settings: StepSettings) -> Asked:
    """What solves are asked for."""
    factor = np.inf if settings.velocity_factor is None else float(settings.velocity_factor)
    return asked_of((float(settings.tol), factor), most_iterations(MOST_ROWS, 0, int(settings.max_iter)))


class InJoints:
    """A step in joint coordinates. Where something fails, None is returned, and bodies' coordinates take its place."""

    def __init__(self, mechanism: Mechanism, settings: StepSettings):
        self.mechanism, self.settings = mechanism, settings
        self.room: Room = room_for(mechanism.tree, mechanism.loops)

    def closed(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Poses (n_b, 7) and velocities (n_b, 6), or none, that obey the joints; a solve is at the last poses."""
        made, q, u = self.mechanism, q.copy(), u.copy()
        closure = float(self.settings.stabilisation.closure)
        done = close_reduced(made.tree, made.masses, made.loops.row_data, closure, q, u, self.room)
        return (q, u) if done else None

    def at(self, predicted: np.ndarray) -> Callable[[Problem, np.ndarray | None], Solution | None]:
        """What solves a step's problem, from a guess, within the tolerances or not at all.  predicted: (n_b, 7) poses
        whose masses the problem has."""
        rotation = rotations_of(predicted)
        return lambda problem, guess: self._solved(problem, guess, rotation)

    def _solved(self, problem: Problem, guess: np.ndarray | None, rotation: np.ndarray) -> Solution | None:
        if not problem.row_count or problem.u_f is None or problem.before is None:
            return None
        made, asked, start = self.mechanism, asked_by(self.settings), perf_counter()
        reactions = np.zeros(problem.row_count) if guess is None else guess.copy()
        attempt = Attempt(problem)
        masses, free = (*made.masses[:2], rotation), (problem.u_f, problem.before, problem.free_velocity)
        rigid, out = problem.delassus.rigid.plain, (reactions, attempt.found)
        attempt.count = solve_reduced(made.tree, masses, rigid, free, problem.judged_by, tuple(asked), out, self.room)
        attempt.seconds = perf_counter() - start
        if not attempt.count or not attempt.is_within(*asked.tols):
            return None
        return AttemptedSolution(
            attempt=attempt,
            reactions=reactions,
            status=Status.CONVERGED,
            solver="prox-ssn",
            law=problem.law,
            tol=asked.tols[0],
            tol_velocity=asked.tols[1],
        )
