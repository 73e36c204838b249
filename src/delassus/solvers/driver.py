"""The one loop behind every solver: its line in the table, limits, clock, batches, and the name of the outcome.

A `Method` advances; what the outcome is *called* is decided here, from `residuals.measure` on the iterate that is
returned.
"""

import math
import sys
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any, Literal

import numpy as np

from delassus import residuals
from delassus.arguments import shown, whole
from delassus.errors import SettingsError
from delassus.law import Law
from delassus.problem import Problem
from delassus.residuals import Measure
from delassus.solvers.method import Method
from delassus.solvers.parts.batch import Batch, Kernel
from delassus.solvers.settings import Settings
from delassus.status import Status
from delassus.waiting import clock as clock

BILATERAL, UNILATERAL, CONTACT = "bilateral", "unilateral", "contact"
ALL_ROWS = (BILATERAL, UNILATERAL, CONTACT)
"""Kinds of rows."""

VelocityTolerance = float | None | Literal["auto"]
"""Largest error of velocity, as a factor of the velocities of its island; None: not asked; "auto": follows `tol`."""

Evaluated = tuple[residuals.Residuals, np.ndarray, np.ndarray | None]
"""What `residuals.evaluate_with_velocities` gives."""

DEFAULT_TOL = 1e-6
DEFAULT_MAX_ITER = 1_000_000

_DIVERGED = 1e8  # growth of the residual over its best value that no convergent run has shown
_STALL_AFTER = 2000  # minimum iterations before `stalled`: Gauß–Seidel has long plateaus
_STALL_AFTER_COSTLY = 150  # the same for methods whose iterations solve linear systems
_STALL_GAIN = 0.98  # stalled: the last three quarters of all iterations gained less than 2 %
_GROWTH = 0.25  # a batch is at most this fraction of the iterations done: bounds overshoot, and checks to a logarithm
_BATCH_ROWS = 10_000_000  # a batch updates at most this many rows: about half a second, so that limits are kept
_AUTO_VELOCITY = 100.0  # times tol: costs few iterations on FCLIB files, and sees what a norm over all rows does not
_AUTO_VELOCITY_MOST = 0.1  # doing nothing is off by one: with 100 tol at tol = 0.01 that would have been converged
_LEAST_BATCH = 4  # a judgement costs about as much as a sweep
_FIRST_BATCH, _FIRST_ROWS = 8, 200  # the first batches of small problems: a sweep there costs less than a judgement


@dataclass(frozen=True)
class Solver:
    """A line of the table: what the method takes, where it comes from, when to use it, and how to start it."""

    settings: Settings  # its defaults; `settings.solver` is the solver's name
    laws: tuple[Law, ...]
    rows: tuple[str, ...]  # kinds of rows it takes: ALL_ROWS, or some of them
    paper: str  # author and year
    advice: str
    start: Callable[[Problem, Settings, np.ndarray], Method]  # a subclass of Method, or a function that picks one
    most_rows: int | None = None  # where the method's cost or memory would get out of hand
    forms_delassus: bool = False  # needs D as a matrix where bodies are flexible: refused where that is too large
    is_map: bool = False  # iterates one map on its reactions, or on the `point` it offers: can be accelerated
    ignores_guess: bool = False  # starts from a point of its own: see `Method`
    also: Callable[[Problem], bool] = lambda problem: True  # what else a problem must be for the method to take it
    at_once: Callable[[Problem, Settings, np.ndarray, tuple[float, float], int, np.ndarray], int] | None = None
    """A first attempt at small problems, started, iterated and judged in one compiled call, where the calls of the
    ordinary loop would take longer than the work: (problem, settings, reactions, (tol, tol_velocity), max_iter, found)
    -> how many judgements it made, none where it has to give up. Overwrites the reactions; in `found`, laid out by
    `parts/at_once.py`, it leaves its judgements and what the judge says of the reactions it returns."""
    fits_at_once: Callable[[Problem, Settings], bool] = lambda problem, settings: True
    """Is the problem one for that attempt?"""
    batch_at_once: Callable[[Batch, Settings, tuple[float, float], int], Kernel] | None = None
    """`at_once` for many problems in one call, of which each gets the bits that `at_once` gives it: (batch,
    settings, (tol, tol_velocity), max_iter) -> what `Batch.attempt` calls."""
    ends_least: bool = False  # does that attempt, of many reactions of rigid bodies, return the least?
    hands_on: Callable[[Settings], bool] | None = None  # may two doubles go on where masses are far apart? None: no

    @property
    def name(self) -> str:
        return self.settings.solver

    def attempts(self, problem: Problem, settings: Settings) -> bool:
        """Is there an attempt `at_once` at this problem?"""
        if self.at_once is None or settings.own_stop is not None:
            return False
        return self.fits_at_once(problem, settings) and self.takes(problem)

    def takes(self, problem: Problem) -> bool:
        """Does the method treat this law, these kinds of rows and this many of them?"""
        if self.most_rows is not None and problem.row_count > self.most_rows:
            return False
        if self.forms_delassus and not problem.delassus.has_matrix_at_hand:
            return False
        if self.rows is ALL_ROWS:
            return problem.law in self.laws and self.also(problem)
        cone = problem.cone
        present = [(BILATERAL, cone.bilateral.size), (UNILATERAL, cone.unilateral), (CONTACT, cone.contact_count)]
        return (
            problem.law in self.laws
            and self.also(problem)
            and all(kind in self.rows for kind, count in present if count)
        )

    def refusal(self, problem: Problem) -> str:
        """Why the method does not take this problem and what to do, where `takes` says no; empty where it does."""
        if self.takes(problem):
            return ""
        if problem.law not in self.laws:
            known = " and ".join(law.value for law in self.laws)
            return (
                f"{self.name} solves {known}, the problem asks for {problem.law.value}: give "
                f"law={self.laws[0].value!r}, or another solver (auto takes every law)"
            )
        if self.most_rows is not None and problem.row_count > self.most_rows:
            return (
                f"{self.name} takes at most {self.most_rows} rows, there are {problem.row_count}: take another solver"
            )
        if self.forms_delassus and not problem.delassus.has_matrix_at_hand:
            return (
                f"{self.name} needs D as a matrix, which so many rows of flexible bodies do not form: take ipm (ccp) "
                "or ipm+desaxce (ncp)"
            )
        cone = problem.cone
        present = [(BILATERAL, cone.bilateral.size), (UNILATERAL, cone.unilateral), (CONTACT, cone.contact_count)]
        odd = [kind for kind, count in present if count and kind not in self.rows]
        if odd:
            return f"{self.name} takes no {' and no '.join(odd)} rows: take another solver (auto takes all)"
        return f"{self.name} does not take this problem ({self.advice}): take another solver"


class Limits:
    """When to stop: tolerances, iterations, seconds. Validated here, once. tol_velocity "auto" is 100 tol, a tenth at
    most."""

    def __init__(self, tol: float, tol_velocity: VelocityTolerance, max_iter: int, time_limit: float | None):
        if not _is_positive(tol):
            raise SettingsError(f"tol is {shown(tol)}: give a positive number such as 1e-6")
        if isinstance(tol_velocity, str) and tol_velocity == "auto":
            tol_velocity = min(_AUTO_VELOCITY * tol, _AUTO_VELOCITY_MOST)
        if tol_velocity is not None and not _is_positive(tol_velocity):
            raise SettingsError(
                f"tol_velocity is {shown(tol_velocity)}: give a positive factor of the velocities at hand such as "
                '1e-4, None to leave it out, or "auto"'
            )
        max_iter = whole(max_iter, "max_iter", error=SettingsError)
        is_endless = time_limit is None or (isinstance(time_limit, Real) and time_limit == math.inf)
        if not (is_endless or _is_positive(time_limit)):
            raise SettingsError(f"time_limit is {shown(time_limit)}: give a positive number of seconds, or None")
        self.tol = float(tol)
        self.tol_velocity = math.inf if tol_velocity is None else float(tol_velocity)
        self.max_iter = max_iter
        self.time_limit = math.inf if time_limit is None else float(time_limit)

    def within(self, max_iter: int, spent: float, fine: float = 1.0) -> "Limits":
        """These tolerances, times `fine`, with at most max_iter iterations and the time left after `spent` [s]."""
        out = copy(self)
        out.tol, out.tol_velocity = fine * self.tol, fine * self.tol_velocity
        out.max_iter, out.time_limit = min(max_iter, self.max_iter), max(self.time_limit - spent, 1e-9)
        return out

    def reached(self, measure: Measure) -> bool:
        """Does the judge's measure satisfy both tolerances?"""
        return measure.relative <= self.tol and measure.velocity <= self.tol_velocity

    def excess(self, measure: Measure) -> float:
        """How far above tolerance, as a factor: what `best` and progress are compared by."""
        return max(measure.relative / self.tol, measure.velocity / self.tol_velocity)


_limits = lru_cache(maxsize=64, typed=True)(Limits)


def limits_of(tol: float, tol_velocity: VelocityTolerance, max_iter: int, time_limit: float | None) -> Limits:
    """`Limits`, cached: most solves of a process ask for the same."""
    try:
        return _limits(tol, tol_velocity, max_iter, time_limit)
    except TypeError:  # what cannot be looked up is refused by name
        return Limits(tol, tol_velocity, max_iter, time_limit)


def check_threads(threads: int) -> None:
    """Refuse what is no number of threads."""
    if type(threads) is not int or threads < 1:
        raise SettingsError(f"threads is {threads!r}: give a whole number of at least 1")


def _is_positive(value: Any) -> bool:
    number: Any = value if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    return bool(0.0 < number <= sys.float_info.max)


class Run:
    """State of one drive: the best iterate, what was judged, and the clock.

    trace: keep every judgement, or a function called with each: (iteration, seconds, relative natural map, relative
    worst velocity); own_stop: of the settings, see there."""

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        start: float,
        trace: bool | Callable[..., object] = True,
        own_stop: tuple[float, float, float] | None = None,
    ):
        self.problem = problem
        self.own_stop = own_stop
        self.limits = limits
        self.start = start
        self.judgements: list[tuple[int, float, float, float]] = []
        self.trace = trace
        self.rows = problem.row_count
        self.best: np.ndarray = np.zeros(self.rows)
        self.best_low: np.ndarray | None = None  # its second doubles, from methods that have them
        self.best_velocities: np.ndarray | None = None  # its v, where the judge had it at hand
        self.best_evaluated: Evaluated | None = None  # and all else, where that was asked for
        self.best_excess = math.inf
        self.history: list[tuple[int, float]] = []  # (iterations, best excess so far)
        self.seconds = 0.0  # spent judging

    def judge(
        self, iteration: int, reactions: np.ndarray, low: np.ndarray | None = None, wants_all: bool = False
    ) -> float:
        """Measure the iterate, remember it if it is the best, and return its excess over the tolerance.  wants_all:
        every residual, since it is likely to be the one that is returned."""
        before = clock()
        evaluated: Evaluated | None = None
        if wants_all and low is None:
            evaluated = residuals.evaluate_with_velocities(self.problem, reactions)
            measure, velocities = evaluated[0].measure, None
        else:
            measure, velocities = residuals.measure_with_velocities(self.problem, reactions, low)
        excess = self.limits.excess(measure)
        if not math.isfinite(excess):
            excess = math.inf
        if excess < self.best_excess:
            self.best_excess = excess
            self.best[:] = reactions
            self.best_low, self.best_velocities = None if low is None else low.copy(), velocities
            self.best_evaluated = evaluated
        now = clock()
        if self.trace:
            row = iteration, now - self.start, measure.relative, measure.velocity
            self.judgements.append(row) if self.trace is True else self.trace(*row)
        self.history.append((iteration, self.best_excess))
        self.seconds += now - before
        return excess

    def is_done(self, excess: float, reactions: np.ndarray) -> bool:
        """Is this iterate the one to return? With a stop of its own, that is what `best` becomes then."""
        if self.own_stop is None:
            return excess <= 1.0
        found = residuals.evaluate(self.problem, reactions)
        if not all(r < eps for r, eps in zip((found.primal, found.dual, found.complementarity), self.own_stop)):
            return False
        self.best[:], self.best_low, self.best_velocities, self.best_evaluated = reactions, None, None, None
        return True

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
    method.tols = limits.tol, limits.tol_velocity
    iteration, excess = 0, first
    ordinary = math.inf if method.ignores_guess else max(first, 1.0)
    while not run.is_done(excess, method.reactions):
        if iteration >= limits.max_iter:
            return Status.MAX_ITERATIONS, iteration
        if run.elapsed() >= limits.time_limit:
            return Status.TIME_LIMIT, iteration
        if method.finished or (not method.follows_path and run.stalled(iteration, method.is_costly)):
            return method.verdict or Status.STALLED, iteration
        count = 1 if run.own_stop else run.next_batch(iteration, method.is_costly, method.batch_min)
        iteration += advanced(method, count, run.rows)
        excess = run.judge(iteration, method.reactions, method.reactions_low, method.expects_end)
        if excess == math.inf and not np.isfinite(method.reactions).all():
            return Status.DIVERGED, iteration
        method.judged(excess)
        if excess > _DIVERGED * max(run.best_excess, ordinary):
            return Status.DIVERGED, iteration
    return Status.CONVERGED, iteration


def advanced(method: Method, count: int, rows: int) -> int:
    """`count` iterations of a method, or fewer; how many. The judge's kernels read as many reactions as there are rows,
    and a count below zero would never reach its limit: a method that breaks its promise is refused here."""
    done = method.advance(count)
    if done is not None and done < 0:
        raise SettingsError(f"{type(method).__name__}.advance returned {done}: give the iterations done, or None")
    if np.shape(method.reactions) != (rows,):
        shape = np.shape(method.reactions)
        raise SettingsError(f"{type(method).__name__}.reactions has shape {shape} after advance, expected ({rows},)")
    return done or count
