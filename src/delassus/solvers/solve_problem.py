"""solve(): the front door."""

import math
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import numbers
from delassus.errors import ProblemError, SolveError
from delassus.problem import Problem
from delassus.solvers.driver import (
    DEFAULT_MAX_ITER,
    DEFAULT_TOL,
    VelocityTolerance,
    check_threads,
    limits_of,
)
from delassus.solvers.plan import plan_of
from delassus.solvers.run import Tracer, run_plan
from delassus.solvers.settings import Settings
from delassus.solvers.solution import Solution


def solve(
    problem: Problem,
    solver: str | Settings = "auto",
    guess: ArrayLike | None = None,
    *,
    tol: float = DEFAULT_TOL,
    tol_velocity: VelocityTolerance = "auto",
    max_iter: int = DEFAULT_MAX_ITER,
    time_limit: float | None = None,
    trace: Tracer = True,
    throw: bool = False,
    threads: int = 1,
) -> Solution:
    """Solve one step's problem under its own law to a stated accuracy.

    solver: a name of the SOLVERS table, its settings object, or "auto"; guess: reactions to start from, (m,) [N s],
    or (2, m) with their second doubles (`Solution.point`);
    tol: relative natural map [-]; tol_velocity: largest error of velocity, as a factor of the free velocities of its
    island [-], None: not asked, "auto": 100 tol, 0.1 at most; time_limit [s], compilation not counted;
    trace: keep the residual over iterations, or a function called with (iteration, seconds, relative natural map,
    relative worst velocity) at each judgement; throw: raise `SolveError` unless converged;
    threads: how many of them `auto` solves islands in; it changes no result.
    `converged` is claimed only for a returned point that `residuals` found within both tolerances.
    """
    if not isinstance(problem, Problem):
        raise ProblemError(
            f"solve: {type(problem).__name__} is no Problem: make one with Problem.dual, .rigid or .primal, or load one"
        )
    check_threads(threads)
    limits = limits_of(tol, tol_velocity, max_iter, time_limit)
    point = start_point(problem, guess)
    plan = plan_of(problem, solver, None if guess is None else point, limits)
    solution = run_plan(problem, plan, point, limits, trace, threads)
    if trace is True:
        solution.note_plan(partial(plan.words, problem))
    if throw and not solution.converged:
        raise SolveError(solution.message)
    return solution


def start_point(problem: Problem, guess: ArrayLike | None) -> np.ndarray:
    """The guess as a fresh array, (m,) or (2, m), or zeros."""
    if guess is None:
        return np.zeros(problem.row_count)
    out, rows = numbers(guess), problem.row_count
    if out.shape != (rows,) and out.shape != (2, rows):
        raise ProblemError(f"guess has shape {out.shape}, expected ({rows},): one reaction per row")
    point = out if out.ndim == 1 else out.ravel()
    if not point.dot(point) < math.inf and not np.isfinite(out).all():  # the first is cheap
        raise ProblemError("guess holds NaN or Inf: leave it out to start from zero")
    # where nothing moves no reaction is needed, and against velocities of zero nothing else would be small
    if not problem.free_speed or (not problem.delassus.has_blocks_at_hand and problem.is_free):
        return np.zeros(problem.row_count)  # nor where flexible bodies touch nothing: to judge others D would be formed
    return out
