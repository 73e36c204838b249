"""The one loop behind every solver: batches, limits, trace, and the name of the outcome.

A `Method` advances; what the outcome is *called* is decided here, from `residuals.measure` on the iterate that is
returned.
"""

import math
from collections.abc import Callable

import numpy as np

from delassus import residuals
from delassus.problem import Problem
from delassus.solvers.clock import clock
from delassus.solvers.method import Limits, Method
from delassus.solvers.solution import Trace
from delassus.status import Status

_DIVERGED = 1e8  # growth of the residual over its best value that no convergent run has shown
_STALL_AFTER = 2000  # iterations before which nobody is called stalled: Gauß–Seidel has long plateaus
_STALL_AFTER_COSTLY = 150  # the same for methods whose iterations solve linear systems
_STALL_GAIN = 0.98  # stalled: the last three quarters of all iterations gained less than 2 %
_GROWTH = 0.25  # a batch is at most this fraction of the iterations done: bounds overshoot, and checks to a logarithm
_BATCH_ROWS = 10_000_000  # a batch updates at most this many rows: about half a second, so that limits are kept
_LEAST_BATCH = 4  # a judgement costs about as much as a sweep
_FIRST_BATCH, _FIRST_ROWS = 8, 200  # the first batches of small problems: a sweep there costs less than a judgement


class Run:
    """State of one drive: the best iterate, the trace and the clock."""

    def __init__(self, problem: Problem, limits: Limits, start: float, trace: bool | Callable = True):
        self.problem = problem
        self.limits = limits
        self.start = start
        self.trace = Trace()
        self.record = self.trace.add if trace is True else trace or None
        self.rows = problem.row_count
        self.best: np.ndarray = np.zeros(self.rows)
        self.best_low: np.ndarray | None = None  # its second doubles, from methods that have them
        self.best_excess = math.inf
        self.history: list[tuple[int, float]] = []  # (iterations, best excess so far)
        self.seconds = 0.0  # spent judging

    def judge(self, iteration: int, reactions: np.ndarray, low: np.ndarray | None = None) -> float:
        """Measure the iterate, remember it if it is the best, and return its excess over the tolerance."""
        before = clock()
        measure = residuals.measure(self.problem, reactions, low)
        excess = self.limits.excess(measure)
        if not math.isfinite(excess):
            excess = math.inf
        if excess < self.best_excess:
            self.best_excess = excess
            self.best[:] = reactions
            self.best_low = None if low is None else low.copy()
        now = clock()
        if self.record is not None:
            self.record(iteration, now - self.start, measure.relative, measure.velocity)
        self.history.append((iteration, self.best_excess))
        self.seconds += now - before
        return excess

    def elapsed(self) -> float:
        return clock() - self.start

    def stalled(self, iteration: int, is_costly: bool) -> bool:
        """Did the last three quarters of the iterations gain next to nothing?"""
        if iteration < (_STALL_AFTER_COSTLY if is_costly else _STALL_AFTER):
            return False
        past = next((best for i, best in reversed(self.history) if i <= iteration // 4), math.inf)
        return self.best_excess > _STALL_GAIN * past

    def next_batch(self, iteration: int, is_costly: bool, batch_min: int = 1) -> int:
        """Iterations to do before the next judgement; at least batch_min, for a method that knows when to ask for one.

        Few at first, then in proportion to those done, and no more than half of what the recent rate of convergence
        predicts is missing. Apart from the last seconds before a time limit nothing here depends on the clock: where a
        batch ends may influence a method, and the same input must give the same bits.
        """
        if is_costly:
            return 1
        rows = max(1, self.rows)
        least = max(_LEAST_BATCH, min(_FIRST_BATCH, _FIRST_ROWS // rows), min(batch_min, _BATCH_ROWS // rows))
        count = max(least, min(int(_GROWTH * iteration), _BATCH_ROWS // rows))
        if len(self.history) >= 2:
            (i0, e0), (i1, e1) = self.history[-2], self.history[-1]
            if 1.0 < e1 < e0 < math.inf:
                missing = (i1 - i0) * math.log(e1) / math.log(e0 / e1)
                count = min(count, max(least, int(0.5 * missing + 1)))
        if iteration and self.limits.time_limit < math.inf:
            spent = self.elapsed()
            left = (self.limits.time_limit - spent) * iteration / max(spent, 1e-9)
            count = min(count, max(1, int(left)))
        return min(count, self.limits.max_iter - iteration)


def drive(run: Run, method: Method, first: float) -> tuple[Status, int]:
    """`_drive` without warnings: a diverging iterate overflows, and that is data."""
    if method.is_compiled:
        return _drive(run, method, first)
    with np.errstate(over="ignore", invalid="ignore"):
        return _drive(run, method, first)


def _drive(run: Run, method: Method, first: float) -> tuple[Status, int]:
    """Advance the method until something stops it; (status, iterations). `run.best` holds the point to return.

    first: excess of the starting point, judged already."""
    limits = run.limits
    iteration, excess = 0, first
    ordinary = math.inf if method.ignores_guess else max(first, 1.0)
    while excess > 1.0:
        if iteration >= limits.max_iter:
            return Status.MAX_ITERATIONS, iteration
        if run.elapsed() >= limits.time_limit:
            return Status.TIME_LIMIT, iteration
        if method.finished or run.stalled(iteration, method.is_costly):
            return method.verdict or Status.STALLED, iteration
        count = run.next_batch(iteration, method.is_costly, method.batch_min)
        iteration += method.iterate(count)
        excess = run.judge(iteration, method.reactions, method.reactions_low)
        if excess == math.inf and not np.isfinite(method.reactions).all():
            return Status.DIVERGED, iteration
        method.judged(excess)
        if excess > _DIVERGED * max(run.best_excess, ordinary):
            return Status.DIVERGED, iteration
    return Status.CONVERGED, iteration
