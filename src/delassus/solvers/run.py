"""Run a plan: its stages one after the other, each an attempt in one compiled call where there is one, then its loop.

What a point is called is what the judge finds of it, on the very point that is returned.
"""

from collections.abc import Callable

import numpy as np

from delassus import residuals
from delassus.linalg.blas_threads import one_thread
from delassus.problem import Problem
from delassus.solvers.auto.island_loop import WHOLE
from delassus.solvers.auto.islands import attempt_resting, solve_islands
from delassus.solvers.auto.least import take_least_reactions
from delassus.solvers.auto.stages import Stage
from delassus.solvers.driver import Limits, Run, clock, drive
from delassus.solvers.parts.at_once import Attempt
from delassus.solvers.plan import LONGEST_CALL, MOST_FINER, Plan, plan_of
from delassus.solvers.solution import AttemptedSolution, Solution, Trace
from delassus.solvers.table import SOLVERS
from delassus.status import Status

Tracer = bool | Callable[[int, float, float, float], None]
"""What `solve` takes as its trace."""

_FINAL = (Status.CONVERGED, Status.INFEASIBLE, Status.UNSUPPORTED, Status.TIME_LIMIT)  # no other method would help


def run_plan(
    problem: Problem, plan: Plan, point: np.ndarray, limits: Limits, trace: Tracer = True, threads: int = 1
) -> Solution:
    """The best point that the plan finds.  point: where it begins, (m,) or (2, m) [N s], overwritten; trace, threads:
    of `solve`."""
    whole = _solve_by_islands(problem, plan, point, limits, trace, threads) if plan.by_islands else None
    solution, last = whole, len(plan.stages) - 1
    for k, stage in enumerate(plan.stages):
        most, left, finer = limits.max_iter if k == last else stage.most, limits, 1.0 if k == last else plan.finer
        if solution is None:
            if most < limits.max_iter and finer < 1.0:
                left = limits.within(most, 0.0, finer)
            solution = _run_stage(problem, stage, point, left, most, trace)
            continue
        if solution.status in _FINAL or solution.iterations >= limits.max_iter:
            break
        spent, seconds = solution.iterations, solution.seconds
        if plan.finer < 1.0 and limits.reached(solution.residuals.measure):
            most = min(most, MOST_FINER)  # good enough already: more digits are tried for, not insisted on
        left = limits.within(limits.max_iter - spent, seconds, finer)
        found = _run_stage(problem, stage, solution.point.copy(), left, most, _continued(trace, spent, seconds))
        solution = found.after(solution)
    assert solution is not None
    solution.tol, solution.tol_velocity = limits.tol, limits.tol_velocity
    if solution.status not in _FINAL and limits.reached(solution.residuals.measure):
        solution.status = Status.CONVERGED
    if plan.takes_least and whole is None and not solution.is_least:
        take_least_reactions(problem, solution, limits)
    return solution


def _run_stage(problem: Problem, stage: Stage, point: np.ndarray, limits: Limits, most: int, trace: Tracer) -> Solution:
    """One method from one starting point, (m,) or (2, m), which is overwritten.  most: iterations, within the limits'
    own."""
    most = min(most, limits.max_iter)
    first = _attempt(problem, stage, point if point.ndim == 1 else point[0], limits, most, trace)
    if first is None:
        return _drive(problem, stage, point, limits.within(most, 0.0), trace)
    if first.status is Status.CONVERGED or stage.is_one_call or first.iterations >= most:
        return first
    return _drive(problem, stage, point, limits.within(most - first.iterations, 0.0), trace, first)


def _attempt(
    problem: Problem, stage: Stage, point: np.ndarray, limits: Limits, most: int, trace: Tracer
) -> AttemptedSolution | None:
    """What the method's compiled call finds from this point, which is left as it is; None where there is none."""
    line, settings = stage.line, stage.settings
    if not limits.time_limit > LONGEST_CALL or not line.attempts(problem, settings):
        return None
    assert line.at_once is not None
    start, reactions, attempt = clock(), point.copy(), Attempt(problem, is_least=line.ends_least)
    tols = limits.tol, limits.tol_velocity
    attempt.count = line.at_once(problem, settings, reactions, tols, most, attempt.found)
    if not attempt.count:
        return None
    return _attempted(attempt, reactions, line.name, limits, trace, clock() - start)


def _attempted(
    attempt: Attempt, reactions: np.ndarray, solver: str, limits: Limits, trace: Tracer, seconds: float
) -> AttemptedSolution:
    """The solution of an attempt, called what the judge found in it."""
    status = Status.CONVERGED if attempt.is_within(limits.tol, limits.tol_velocity) else Status.MAX_ITERATIONS
    attempt.seconds, attempt.is_traced = seconds, trace is True
    if trace is not True and callable(trace):
        for row in zip(*attempt.judgements()):
            trace(*row)
    return AttemptedSolution(
        attempt=attempt,
        reactions=reactions,
        status=status,
        solver=solver,
        law=attempt.problem.law,
        tol=limits.tol,
        tol_velocity=limits.tol_velocity,
    )


@one_thread
def _drive(
    problem: Problem,
    stage: Stage,
    point: np.ndarray,
    limits: Limits,
    trace: Tracer,
    first: Solution | None = None,
) -> Solution:
    """The method's loop from one starting point, (m,) or (2, m), which is overwritten.  first: what its compiled call
    found from there; counts, clock and trace go on from it."""
    line, own_stop = stage.line, stage.settings.own_stop
    reactions, low = (point, None) if point.ndim == 1 else (point[0], point[1])
    start, spent, kept = clock(), 0, Trace()
    if first is not None:
        start, spent, kept = start - first.seconds, first.iterations, first.trace
    run = Run(problem, limits, start, _continued(trace, spent, 0.0), own_stop)
    setup, status, iterations = 0.0, Status.CONVERGED, 0
    details: dict[str, list[float]] = {}
    excess = run.judge(0, reactions, low)
    if not line.takes(problem):
        status = Status.UNSUPPORTED
        kept.words.append(line.refusal(problem))
    elif excess > 1.0 or own_stop is not None:
        before = clock()
        method = line.start(problem, stage.settings, reactions)
        setup = clock() - before
        status, iterations = drive(run, method, excess)
        details = method.details or {}
        kept.words += [f"{line.name}: {sentence}" for sentence in method.words]
    for count, at, relative, worst in run.judgements:
        kept.add(spent + count, at, relative, worst)
    times = {"setup": setup, "iterate": 0.0, "judge": run.seconds, "total": 0.0}
    solution = _judged(run, line.name, status, spent + iterations, times, kept)
    solution.details = details
    times["total"] = clock() - start
    times["iterate"] = times["total"] - setup - run.seconds
    return solution


def _judged(run: Run, solver: str, status: Status, iterations: int, times: dict[str, float], trace: Trace) -> Solution:
    """The best point of a run, called what the judge finds this very point to be: one that meets the tolerance is
    converged, however the run ended. Second doubles are kept only where the first ones do not do."""
    problem, limits, reactions, low = run.problem, run.limits, run.best, run.best_low
    if low is not None and limits.reached(residuals.measure(problem, reactions)):
        low = None
    evaluated = run.best_evaluated
    if evaluated is None:
        evaluated = residuals.evaluate_with_velocities(problem, reactions, low, run.best_velocities)
    judged, velocities, body_velocities = evaluated
    if status is not Status.UNSUPPORTED and limits.reached(judged.measure):
        status = Status.CONVERGED
    elif status is Status.CONVERGED:
        status = Status.STALLED
    return Solution(
        reactions,
        velocities,
        body_velocities,
        status,
        judged,
        iterations,
        solver,
        problem.law,
        limits.tol,
        limits.tol_velocity,
        times,
        trace,
        reactions_low=low,
    )


@one_thread
def _solve_by_islands(
    problem: Problem, plan: Plan, point: np.ndarray, limits: Limits, trace: Tracer, threads: int
) -> Solution | None:
    """What becomes of the islands, each alone, judged as a whole; None where that does not pay."""
    start, newton = clock(), SOLVERS["prox-ssn"].name
    if threads == 1:
        attempt = attempt_resting(problem, point, limits)
        if attempt is not None:
            if attempt.count == WHOLE:
                return None
            return _attempted(attempt, point, newton, limits, trace, clock() - start)

    def alone(part: Problem, guess: np.ndarray, inside: Limits) -> Solution:
        return run_plan(part, plan_of(part, limits=inside, is_part=True), guess, inside)

    found = solve_islands(problem, point, limits, threads, alone)
    if found is None:
        return None
    times = {"setup": 0.0, "iterate": 0.0, "judge": 0.0, "total": 0.0}
    run = Run(problem, limits, start, False)
    run.best = found.reactions
    solution = _judged(run, plan.stages[0].line.name, Status.STALLED, found.iterations, times, Trace(words=found.words))
    times["total"] = times["iterate"] = clock() - start
    rows = [(0, 0.0, *found.guess)]
    if found.iterations:
        rows.append((found.iterations, times["total"], *solution.residuals.measure))
    for row in rows:
        if trace is True:
            solution.trace.add(*row)
        elif callable(trace):
            trace(*row)
    return solution


def _continued(trace: Tracer, iterations: int, seconds: float) -> Tracer:
    """The trace from this many iterations and seconds on: one count and one clock over all stages."""
    if not callable(trace) or not iterations:
        return trace
    return lambda iteration, time, *measure: trace(iterations + iteration, seconds + time, *measure)
