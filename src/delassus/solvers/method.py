"""What a solver is: its line in the table (`Solver`), itself at work on one problem (`Method`), and when it has to stop
(`Limits`). Whoever writes a solver needs this file, `settings` and `parts/`, and nothing else of this package."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from delassus.errors import SettingsError
from delassus.law import Law
from delassus.problem import Problem
from delassus.residuals import Measure
from delassus.solvers.settings import Settings
from delassus.status import Status

_AUTO_VELOCITY = 100.0  # times tol: costs few iterations on FCLIB files, and sees what a norm over all rows does not
_AUTO_VELOCITY_MOST = 0.1  # doing nothing is off by one: with 100 tol at tol = 0.01 that would have been converged

VelocityTolerance = float | None | Literal["auto"]
"""Largest error of velocity, as a factor of the velocities of its island; None: not asked; "auto": follows `tol`."""


class Method:
    """An iterative method at work on one problem. A subclass writes `advance`; everything else has a default.

    The driver calls `advance`, judges `reactions`, tells `judged` what was found, and decides when to stop and what the
    outcome is called. A method looks at no clock, no tolerance and no limit.

    >>> class Projected(Method):
    ...     def advance(self, count):
    ...         for _ in range(count):
    ...             v = self.problem.constraint_velocity(self.reactions)
    ...             self.reactions[:] = self.problem.cone.project(self.reactions - self.problem.step * v)
    """

    reactions: np.ndarray
    """λ (m,) [N s], where the method stands; another array after each `advance` if it likes."""

    finished: bool = False
    """Going on would change nothing."""

    is_costly: bool = False
    """One iteration costs far more than a judgement: judge after each, and call it stalled sooner."""

    is_compiled: bool = False
    """All arithmetic is in compiled code, which does not warn of overflow."""

    ignores_guess: bool = False
    """It starts far from where it was put, so a residual that grows at first says nothing."""

    batch_min: int = 1
    """Least iterations between two judgements; may change along the way."""

    reactions_low: np.ndarray | None = None
    """What the reactions lack to a second double each, (m,) [N s], where it knows."""

    details: dict[str, list[float]] | None = None
    """Lists with one number per iteration; they end up on the solution."""

    iterates_reactions: bool = True
    """The iteration is a map of `reactions` alone, read anew at each `advance`; otherwise a map of `point`."""

    def __init__(self, problem: Problem, settings: Settings, reactions: np.ndarray):
        """problem: to be solved; reactions: the starting point, (m,) [N s], which the method may overwrite."""
        self.problem = problem
        self.settings: Any = settings  # of the class that the solver's line names
        self.reactions = reactions

    def advance(self, count: int) -> int | None:
        """Do `count` iterations, in one compiled call where possible; or fewer, at least one, and say how many."""
        raise NotImplementedError(f"{type(self).__name__} has no advance(count): write one")

    def iterate(self, count: int) -> int:
        """Advance by at most `count` iterations; how many were done."""
        done = self.advance(count)
        return count if done is None else done

    def judged(self, excess: float) -> None:
        """Told what the judge found, as a factor over the tolerance; a method may adapt to it."""

    @property
    def verdict(self) -> Status | None:
        """What to call a finished run that did not converge (INFEASIBLE with a proof); None: stalled."""
        return None

    def repose(self, problem: Problem) -> bool:
        """Go on with a problem that differs in its free velocity only; False: start another method instead."""
        return False

    # What Anderson acceleration asks of methods whose line says `is_map`.

    @property
    def point(self) -> np.ndarray:
        """All that an iteration starts from, (n,), a copy."""
        return self.reactions.copy()

    def move_to(self, point: np.ndarray) -> None:
        """Go on from such a point."""
        self.reactions[:] = point

    @property
    def map_key(self) -> float | None:
        """Changes when the map does: a relaxation, a penalty."""
        return None

    @property
    def accelerated(self) -> Callable[..., tuple[int, int]] | None:
        """Iterations and acceleration in one compiled call, for methods whose iterations cost no more than a call:
        (count, left, stride, state, rule, cone, buffers) -> (iterations done, left of the map under way), as in
        `splitting.accelerated`; None: they are called one after the other."""
        return None


class Limits:
    """When to stop: tolerances, iterations, seconds. Validated here, once. tol_velocity "auto" is 100 tol, a tenth at
    most."""

    def __init__(self, tol: float, tol_velocity: VelocityTolerance, max_iter: int, time_limit: float | None):
        if not _is_positive(tol):
            raise SettingsError(f"tol is {tol!r}: give a positive number such as 1e-6")
        if tol_velocity == "auto":
            tol_velocity = min(_AUTO_VELOCITY * tol, _AUTO_VELOCITY_MOST)
        if tol_velocity is not None and not _is_positive(tol_velocity):
            raise SettingsError(
                f"tol_velocity is {tol_velocity!r}: give a positive factor of the velocities at hand such as 1e-4, "
                'None to leave it out, or "auto"'
            )
        if max_iter < 0:
            raise SettingsError(f"max_iter is {max_iter}: give zero or more")
        if time_limit is not None and not time_limit > 0:
            raise SettingsError(f"time_limit is {time_limit}: give a positive number of seconds, or None")
        self.tol = float(tol)
        self.tol_velocity = math.inf if tol_velocity is None else float(tol_velocity)
        self.max_iter = int(max_iter)
        self.time_limit = math.inf if time_limit is None else float(time_limit)

    def within(self, max_iter: int, spent: float, fine: float = 1.0) -> "Limits":
        """The same tolerances, times `fine`, with at most max_iter iterations and the time left after `spent` [s]."""
        tol_velocity = None if self.tol_velocity == math.inf else fine * self.tol_velocity
        left = None if self.time_limit == math.inf else max(self.time_limit - spent, 1e-9)
        return Limits(fine * self.tol, tol_velocity, min(max_iter, self.max_iter), left)

    def reached(self, measure: Measure) -> bool:
        """Does the judge's measure satisfy both tolerances?"""
        return measure.relative <= self.tol and measure.velocity <= self.tol_velocity

    def excess(self, measure: Measure) -> float:
        """How far above tolerance, as a factor: what `best` and progress are compared by."""
        return max(measure.relative / self.tol, measure.velocity / self.tol_velocity)


def _is_positive(value) -> bool:
    return isinstance(value, Real) and 0.0 < float(value) < math.inf


BILATERAL, UNILATERAL, CONTACT = "bilateral", "unilateral", "contact"
ALL_ROWS = (BILATERAL, UNILATERAL, CONTACT)


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
    is_map: bool = False  # iterates one map on its reactions, or on the `point` it offers: can be accelerated
    ignores_guess: bool = False  # starts from a point of its own: see `Method`
    also: Callable[[Problem], bool] = lambda problem: True  # what else a problem must be for the method to take it
    at_once: Callable[[Problem, Settings, np.ndarray, Limits], list[list[float]]] | None = None
    """A first attempt at small problems, begun, iterated and judged in one compiled call, where the calls of the
    ordinary loop would take longer than the work: overwrites the reactions, and returns (iterations, relative natural
    maps, relative worst velocities) of its judgements, or nothing where it makes no attempt."""

    @property
    def name(self) -> str:
        return self.settings.solver

    def takes(self, problem: Problem) -> bool:
        """Does the method treat this law, these kinds of rows and this many of them?"""
        if self.most_rows is not None and problem.row_count > self.most_rows:
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
