"""The least of many reactions that give rigid bodies the same motion."""

import numpy as np

from delassus import residuals
from delassus.linalg.blas_threads import one_thread
from delassus.problem import Problem
from delassus.solvers.driver import Limits, clock
from delassus.solvers.newton.least_norm import least_of
from delassus.solvers.solution import Solution


def least_reactions(problem: Problem, reactions: np.ndarray, velocities: np.ndarray, error: float) -> np.ndarray | None:
    """λ' (m,) [N s], the least with the motion of λ; None where λ is the only one, or none was found.  reactions,
    velocities: a solution, (m,) each; error: of its velocities, relative to those of their island."""
    if not problem.delassus.has_bodies:
        return None
    rigid = problem.delassus.rigid
    out = np.empty_like(reactions)
    return out if least_of(rigid.plain, problem.data, reactions, velocities, error, out) else None


def take_least_reactions(problem: Problem, solution: Solution, limits: Limits) -> None:
    """Give the solution the least reactions, where the judge finds the tolerances met by them too. A guess that was
    returned as it is has been through this before."""
    if not (solution.converged and solution.iterations) or solution.reactions_low is not None:
        return
    with one_thread:
        start, error = clock(), solution.residuals.worst_velocity_relative
        reactions = least_reactions(problem, solution.reactions, solution.velocities, error)
        if reactions is not None:
            judged, velocities, body_velocities = residuals.evaluate_with_velocities(problem, reactions)
            if limits.reached(judged.measure):
                solution.reactions, solution.velocities, solution.residuals = reactions, velocities, judged
                solution.body_velocities = body_velocities
        spent = clock() - start
    solution.times["iterate"] += spent
    solution.times["total"] += spent
