"""solve(): the front door."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from delassus import residuals
from delassus.arguments import numbers
from delassus.errors import ProblemError, SolveError
from delassus.law import Law
from delassus.linalg.blas_threads import one_thread
from delassus.problem import Problem
from delassus.solvers.auto.island_loop import WHOLE
from delassus.solvers.auto.islands import MANY_ROWS, rest_at_once, solve_islands
from delassus.solvers.auto.short_way import bodies_at_once, contacts_at_once
from delassus.solvers.auto.stages import auto_line, auto_stages, rescuer, take_least_reactions
from delassus.solvers.driver import (
    Evaluated,
    Limits,
    Run,
    Solver,
    VelocityTolerance,
    check_threads,
    clock,
    drive,
    limits_of,
)
from delassus.solvers.parts.at_once import Attempt
from delassus.solvers.settings import Settings
from delassus.solvers.solution import Solution, Trace
from delassus.solvers.table import SOLVERS, find
from delassus.status import Status

DEFAULT_TOL = 1e-6
DEFAULT_MAX_ITER = 1_000_000
LONGEST_ATTEMPT = 0.01  # seconds: an attempt in one compiled call, which looks at no clock, takes less
_TRY_ONE_DOUBLE = 40  # iterations of every method before `ipm-dd` where masses are far apart: few succeed later
_TRY_FIRST = 400  # of the first method of `auto`, most of whose iterations are sweeps of microseconds
_TRY_TWO_DOUBLES = 300  # iterations of `ipm-dd`, at most
_FINER = 1e-4  # of the tolerances, asked for where masses are far apart: heavy bodies amplify what light ones lack
_FINAL = (Status.CONVERGED, Status.INFEASIBLE, Status.UNSUPPORTED, Status.TIME_LIMIT)  # no other method would help

Stages = tuple[tuple[Solver, Settings, int], ...]


def solve(
    problem: Problem,
    solver: str | Settings = "auto",
    guess: ArrayLike | None = None,
    *,
    tol: float = DEFAULT_TOL,
    tol_velocity: VelocityTolerance = "auto",
    max_iter: int = DEFAULT_MAX_ITER,
    time_limit: float | None = None,
    trace: bool | Callable[[int, float, float, float], None] = True,
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
    limits = limits_of(tol, tol_velocity, max_iter, time_limit)
    if not isinstance(solver, (str, Settings)):
        find(solver)  # says what it is
    if threads != 1 or threads is True:
        check_threads(threads)
    few, first = problem.few_contacts, None
    if few is not None and guess is None and solver == "auto" and limits.time_limit > LONGEST_ATTEMPT:
        first = contacts_at_once(problem, few, limits, trace)
        if first is not None and first.status is Status.CONVERGED:
            return first
    point, begun = start_point(problem, guess), None
    if first is None and solver == "auto" and point.ndim == 1 and limits.time_limit > LONGEST_ATTEMPT:
        first = bodies_at_once(problem, point, limits, trace)
        if first is not None:
            if first.status is Status.CONVERGED:
                return first
            if problem.law is Law.NCP:
                point = start_point(problem, guess)  # others begin there again
            else:
                begun, first = first, None  # the interior point goes on from there
    stages, fine = _stages(problem, solver, point.ndim == 2, limits.tol)
    is_apart = False
    if begun is not None:
        stages = stages[1:]  # the first is what was attempted
    elif first is None and fine == 1.0 and point.ndim == 1:
        if solver == "auto" and problem.row_count > MANY_ROWS:
            begun = _island_by_island(problem, point, limits, trace, threads)
            is_apart = begun is not None
        if begun is None:  # most problems end here, and the loop over methods would take longer than a small one
            line, settings, most = stages[0]
            most = min(most, limits.max_iter) if len(stages) > 1 else limits.max_iter
            first = _first_attempt(problem, line, settings, point, most, limits, trace)
            if first is not None and first.status is Status.CONVERGED:
                if solver == "auto":
                    take_least_reactions(problem, first, limits)
                return first
    if begun is None:
        solution = _portfolio(problem, stages, point, limits, trace, fine, first)
    elif begun.converged or begun.iterations >= limits.max_iter:
        solution = begun
    else:
        left = limits.within(limits.max_iter - begun.iterations, begun.seconds)
        again = _continued(trace, begun.iterations, begun.seconds)
        solution = _portfolio(problem, stages, begun.reactions.copy(), left, again, fine).after(begun)
    if solver == "auto" and not is_apart:
        take_least_reactions(problem, solution, limits)
    if throw and not solution.converged:
        raise SolveError(solution.message)
    return solution


@one_thread
def _island_by_island(
    problem: Problem, point: np.ndarray, limits: Limits, trace: bool | Callable[..., object], threads: int
) -> Solution | None:
    """What `auto` makes of the islands, each alone, judged as a whole; None where that does not pay."""
    start = clock()
    if threads == 1:
        quick = rest_at_once(problem, point, limits)
        if quick is not None:
            return None if quick.count == WHOLE else _of_attempt(quick, point, "prox-ssn", limits, trace, start)

    def alone(part: Problem, guess: np.ndarray, inside: Limits) -> Solution:
        stages, _ = _stages(part, "auto", False, inside.tol)
        found = _portfolio(part, stages, guess, inside, True, 1.0)
        take_least_reactions(part, found, inside)
        return found

    found = solve_islands(problem, point, limits, threads, alone)
    if found is None:
        return None
    line, times = auto_line(problem)[0], {"setup": 0.0, "iterate": 0.0, "judge": 0.0, "total": 0.0}
    solution = _named(
        problem, line, found.reactions, limits, Status.STALLED, found.iterations, times, Trace(words=found.words)
    )
    times["total"] = times["iterate"] = clock() - start
    rows = [(0, 0.0, *found.guess)]
    if found.iterations:
        rows.append((found.iterations, times["total"], *solution.residuals.measure))
    if trace is True:
        for row in rows:
            solution.trace.add(*row)
    elif callable(trace):
        for row in rows:
            trace(*row)
    return solution


def _stages(problem: Problem, solver: str | Settings, is_of_pairs: bool, tol: float) -> tuple[Stages, float]:
    """Which methods to try one after the other, each for how many iterations (the last one has no bound of its own),
    and what factor on the tolerances all but the last are asked for.  is_of_pairs: the guess has two doubles per
    reaction."""
    stages: Stages
    if solver == "auto":
        stages = auto_stages(problem, tol)
    elif isinstance(solver, str) and dict.__contains__(SOLVERS, solver):  # without a look at plug-ins
        stages = ((SOLVERS[solver], SOLVERS[solver].settings, 0),)
    else:
        stages = ((*find(solver), 0),)
    if not problem.delassus.has_odd_masses():
        return stages, 1.0
    line, settings, _ = stages[-1]
    hands_on = (lambda settings: True) if solver == "auto" else line.hands_on
    needs = hands_on is not None and hands_on(settings)
    rescue = rescuer(problem) if needs else None
    if rescue is None:
        return stages, 1.0
    # a guess of two doubles comes from a step that needed them; where two doubles fail, all go on
    before = [] if is_of_pairs else [(line, settings, _TRY_ONE_DOUBLE) for line, settings, _ in stages]
    if before and solver == "auto":
        before[0] = *before[0][:2], min(_TRY_FIRST, stages[0][2] or _TRY_FIRST)
    return (*before, (*find(rescue), _TRY_TWO_DOUBLES), *stages), _FINER


def _solve(
    problem: Problem,
    line: Solver,
    settings: Settings,
    point: np.ndarray,
    limits: Limits,
    trace: bool | Callable[..., object],
    quick: Solution | None = None,
) -> Solution:
    """One method from one starting point, (m,) or (2, m), which is overwritten.  quick: what its attempt at once found,
    if that has been made."""
    start = clock() if quick is None else clock() - quick.seconds
    reactions, low = (point, None) if point.ndim == 1 else (point[0], point[1])
    spent, rows = 0, []
    words: list[str] = []
    if quick is None:
        quick = _first_attempt(problem, line, settings, reactions, limits.max_iter, limits, trace)
    if quick is not None:
        if quick.status is Status.CONVERGED or quick.iterations >= limits.max_iter:
            return quick
        spent, of, words = quick.iterations, quick.trace, quick.trace.words
        rows = [*zip(of.iterations, of.seconds, of.natural_map_relative, of.worst_velocity_relative)]
        limits = limits.within(limits.max_iter - spent, 0.0)
    own_stop = settings.own_stop
    run = Run(problem, limits, start, _continued(trace, spent, 0.0), own_stop)
    setup, status, iterations = 0.0, Status.CONVERGED, 0
    details: dict[str, list[float]] = {}
    excess = run.judge(0, reactions, low)
    if not line.takes(problem):
        status = Status.UNSUPPORTED
        words.append(line.refusal(problem))
    elif excess > 1.0 or own_stop is not None:
        before = clock()
        method = line.start(problem, settings, reactions)
        setup = clock() - before
        status, iterations = drive(run, method, excess)
        details = method.details or {}
        words += [f"{line.name}: {sentence}" for sentence in method.words]
    times = {"setup": setup, "iterate": 0.0, "judge": run.seconds, "total": 0.0}
    rows += [(spent + count, at, relative, worst) for count, at, relative, worst in run.judgements]
    kept = Trace(*map(list, zip(*rows)))
    kept.words = words
    solution = _named(
        problem, line, run.best, limits, status, spent + iterations, times, kept, run.best_low, run.best_velocities,
        run.best_evaluated,
    )  # fmt: skip
    solution.details = details
    times["total"] = clock() - start
    times["iterate"] = times["total"] - setup - run.seconds
    return solution


def _first_attempt(
    problem: Problem,
    line: Solver,
    settings: Settings,
    point: np.ndarray,
    most: int,
    limits: Limits,
    trace: bool | Callable[..., object],
) -> Solution | None:
    """The attempt of methods that have a compiled call for small problems; None where they make none. What it is
    called is what the judge found, in that call, of the point it returns.  most: iterations."""
    if line.at_once is None or settings.own_stop is not None or not limits.time_limit > LONGEST_ATTEMPT:
        return None
    if not line.attempts(problem):
        return None
    start, reactions, attempt = clock(), point.copy(), Attempt(problem)
    tols = limits.tol, limits.tol_velocity
    attempt.count = line.at_once(problem, settings, reactions, tols, most, attempt.found)
    if not attempt.count:
        return None
    attempt.is_least = line.ends_least
    return _of_attempt(attempt, reactions, line.settings.solver, limits, trace, start)


def _of_attempt(
    attempt: Attempt,
    reactions: np.ndarray,
    solver: str,
    limits: Limits,
    trace: bool | Callable[..., object],
    start: float,
) -> Solution:
    """The solution that an attempt found, called what the judge found of it."""
    status = Status.CONVERGED if attempt.is_within(limits.tol, limits.tol_velocity) else Status.MAX_ITERATIONS
    solution = Solution.of_attempt(attempt, reactions, status, solver, limits.tol, limits.tol_velocity)
    attempt.seconds, attempt.is_traced = clock() - start, trace is True
    if callable(trace):
        for row in zip(*attempt.judgements()):
            trace(*row)
    return solution


def _named(
    problem: Problem,
    line: Solver,
    reactions: np.ndarray,
    limits: Limits,
    status: Status,
    iterations: int,
    times: dict[str, float],
    trace: Trace,
    low: np.ndarray | None = None,
    known: np.ndarray | None = None,
    evaluated: Evaluated | None = None,
) -> Solution:
    """The solution, called what the judge finds this very point to be: one that meets the tolerance is converged,
    however the run ended. Second doubles are kept only where the first ones do not do.  known: v (m,), evaluated: all
    that the judge says of this point, where it has found them already."""
    if low is not None and limits.reached(residuals.measure(problem, reactions)):
        low = None
    if evaluated is None:
        evaluated = residuals.evaluate_with_velocities(problem, reactions, low, known)
    judged, velocities, body_velocities = evaluated
    if status is not Status.UNSUPPORTED and limits.reached(judged.measure):
        status = Status.CONVERGED
    elif status is Status.CONVERGED:
        status = Status.STALLED
    return Solution(
        reactions, velocities, body_velocities, status, judged, iterations, line.settings.solver, problem.law,
        limits.tol, limits.tol_velocity, times, trace, reactions_low=low,
    )  # fmt: skip


@one_thread
def _portfolio(
    problem: Problem,
    stages: Stages,
    point: np.ndarray,
    limits: Limits,
    trace: bool | Callable[..., object],
    fine: float,
    first: Solution | None = None,
) -> Solution:
    """Methods one after the other until one converges, each from the best point so far; point: (m,) or (2, m),
    overwritten; stages, fine: see `_stages`; first: what the attempt at once of the first of them found, if it has been
    made."""
    solution: Solution | None = None
    last = len(stages) - 1
    for k, (line, settings, most) in enumerate(stages):
        spent, seconds = (0, 0.0) if solution is None else (solution.iterations, solution.seconds)
        left = limits
        if k == last:
            most = limits.max_iter
        if solution is not None or most < limits.max_iter:
            if fine < 1.0 and solution is not None and limits.reached(solution.residuals.measure):
                most = min(most, _TRY_ONE_DOUBLE)  # good enough already: finer is tried, not insisted on
            left = limits.within(min(most, limits.max_iter - spent), seconds, fine if k < last else 1.0)
        begin = point if solution is None else solution.point.copy()
        found = _solve(problem, line, settings, begin, left, _continued(trace, spent, seconds), first)
        first = None
        solution = found if solution is None else found.after(solution)
        if solution.status in _FINAL or solution.iterations >= limits.max_iter:
            break
    assert solution is not None
    solution.tol, solution.tol_velocity = limits.tol, limits.tol_velocity
    if solution.status not in _FINAL and limits.reached(solution.residuals.measure):
        solution.status = Status.CONVERGED
    return solution


def _continued(trace: bool | Callable[..., object], iterations: int, seconds: float) -> bool | Callable[..., object]:
    """The same trace after this many iterations and seconds: one count and one clock over all parts."""
    if not callable(trace) or not iterations:
        return trace
    return lambda iteration, time, *measure: trace(iterations + iteration, seconds + time, *measure)


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
