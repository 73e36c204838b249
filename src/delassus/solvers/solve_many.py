"""solve_batch(): many small problems at once."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import shown
from delassus.errors import ProblemError, SolveError
from delassus.problem import Problem
from delassus.solvers.driver import (
    DEFAULT_MAX_ITER,
    DEFAULT_TOL,
    Limits,
    Solver,
    VelocityTolerance,
    check_threads,
    clock,
    limits_of,
)
from delassus.solvers.parts.batch import Batch, kinds_of
from delassus.solvers.plan import LONGEST_CALL, plan_of
from delassus.solvers.settings import Settings
from delassus.solvers.solution import AttemptedSolution, Solution
from delassus.solvers.solve_problem import solve, start_point
from delassus.status import Status


class Solutions(Sequence[Solution]):
    """What `solve_batch` returns: a `Solution` for each problem, in their order, made when it is looked at.

    converged: (count,) bool, what the judge says of each; seconds: wall time of the whole call [s]."""

    def __init__(self, count: int):
        self.converged = np.zeros(count, bool)
        self.seconds = 0.0
        self._makers: list[Any] = [None] * count  # a Solution, or the part of the batch that it is made of

    def __len__(self) -> int:
        return len(self._makers)

    @overload
    def __getitem__(self, index: int) -> Solution: ...
    @overload
    def __getitem__(self, index: slice) -> list[Solution]: ...
    def __getitem__(self, index: int | slice) -> Solution | list[Solution]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        made = self._makers[index]
        if not isinstance(made, Solution):
            made = self._makers[index] = made.solution(index % len(self))
        return made

    def __iter__(self) -> Iterator[Solution]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"Solutions({len(self)}, {int(self.converged.sum())} converged, {1e3 * self.seconds:.3g} ms)"


class _Part:
    """Problems that one line attempts at once, and what came of it.  places: theirs among all problems."""

    def __init__(self, line: Solver, settings: Settings, batch: Batch, places: np.ndarray, limits: Limits):
        self.line, self.settings, self.limits = line, settings, limits
        self.batch, self.places = batch, places

    def attempt(self, guesses: list[np.ndarray | None] | None, threads: int) -> np.ndarray:
        """Attempt all of them; which did the judge find within the tolerances?"""
        assert self.line.batch_at_once is not None
        start, tols = clock(), (self.limits.tol, self.limits.tol_velocity)
        self.reactions = np.zeros(self.batch.row_start[-1])
        if guesses is not None:
            for q, k in enumerate(self.places):
                guess = guesses[k]
                if guess is not None:
                    self.reactions[self.batch.row_start[q] : self.batch.row_start[q + 1]] = guess
        kernel = self.line.batch_at_once(self.batch, self.settings, tols, self.limits.max_iter)
        self.found, self.counts = self.batch.attempt(kernel, self.reactions, threads)
        self.each = (clock() - start) / max(len(self.counts), 1)
        return self.batch.within(self.found, self.counts, *tols)

    def solution(self, place: int) -> Solution:
        """Of the problem at that place; a call for all of them has one clock, so each has its share."""
        q = int(np.searchsorted(self.places, place))
        attempt = self.batch.one(q, self.found, int(self.counts[q]))
        reactions = self.reactions[self.batch.row_start[q] : self.batch.row_start[q + 1]]
        attempt.seconds = self.each
        return AttemptedSolution(
            attempt=attempt,
            reactions=reactions,
            status=Status.CONVERGED,
            solver=self.line.name,
            law=attempt.problem.law,
            tol=self.limits.tol,
            tol_velocity=self.limits.tol_velocity,
        )


def solve_batch(
    problems: Iterable[Problem],
    solver: str | Settings = "auto",
    guesses: Sequence[ArrayLike | None] | None = None,
    *,
    tol: float = DEFAULT_TOL,
    tol_velocity: VelocityTolerance = "auto",
    max_iter: int = DEFAULT_MAX_ITER,
    time_limit: float | None = None,
    threads: int = 1,
    throw: bool = False,
) -> Solutions:
    """Solve many problems, each under its own law and to the same accuracy: the reactions that `solve` finds for one
    after the other, bit by bit, without its cost per call where problems have few rows.

    problems: of any kinds and sizes; guesses: reactions to start from, one array (m,) or None for each problem;
    time_limit: for each problem [s]; threads: how many attempt problems side by side; it changes no result;
    throw: raise `SolveError` unless all converged. The rest is as in `solve`.

    Problems of at most twenty contacts that are no rigid bodies are attempted in one compiled call, if the solver has
    one for them, and judged in it; what that leaves unsolved, and all others, go to `solve`.
    """
    problems, limits = _listed(problems), limits_of(tol, tol_velocity, max_iter, time_limit)
    check_threads(threads)
    points = None if guesses is None else _points(problems, guesses)
    start, out = clock(), Solutions(len(problems))
    for part in _parts(problems, solver, points, limits):
        solved = part.places[part.attempt(points, threads)]
        out.converged[solved] = True
        for k in solved.tolist():
            out._makers[k] = part
    for k in np.flatnonzero(~out.converged).tolist():
        guess = None if points is None else points[k]
        out._makers[k] = found = solve(
            problems[k], solver, guess, tol=tol, tol_velocity=tol_velocity, max_iter=max_iter, time_limit=time_limit
        )
        out.converged[k] = found.converged
    out.seconds = clock() - start
    if throw and not out.converged.all():
        k = int(np.argmin(out.converged))
        raise SolveError(f"problems[{k}]: {out[k].message}")
    return out


def _parts(
    problems: list[Problem], solver: str | Settings, points: list[np.ndarray | None] | None, limits: Limits
) -> Iterator[_Part]:
    """Problems that can be attempted at once, by the line that attempts them. Of few rows without bodies `auto` asks
    for their law and their kinds of rows alone."""
    try:
        packed: list[np.ndarray | None] = [problem.packed for problem in problems]
    except AttributeError:
        k = next(k for k, problem in enumerate(problems) if not isinstance(problem, Problem))
        kind = type(problems[k]).__name__
        raise ProblemError(f"problems[{k}]: {kind} is no Problem: make one with Problem.dual, …") from None
    for k, point in enumerate(points or ()):
        if point is not None and point.ndim == 2:  # two doubles per reaction: for another method
            packed[k] = None
    if limits.time_limit <= LONGEST_CALL:
        return
    places = np.array([k for k, each in enumerate(packed) if each is not None], np.int64)
    small = [each for each in packed if each is not None]
    kinds = kinds_of(small)
    for kind in np.unique(kinds):
        own, mine = places, small
        if (kinds != kind).any():
            own, mine = places[kinds == kind], [each for each, its in zip(small, kinds) if its == kind]
        first = problems[own[0]]
        line, settings, *_ = plan_of(first, solver, limits=limits).stages[0]
        if line.batch_at_once is not None and settings.own_stop is None and line.takes(first):
            yield _Part(line, settings, Batch([problems[k] for k in own.tolist()], mine), own, limits)


def _listed(problems: Iterable[Problem]) -> list[Problem]:
    if isinstance(problems, Problem):
        raise ProblemError("solve_batch takes many problems, and was given one: use solve, or a list of it")
    try:
        return list(problems)
    except TypeError:
        raise ProblemError(f"solve_batch: {type(problems).__name__} is no list of problems") from None


def _points(problems: list[Problem], guesses: Sequence[ArrayLike | None]) -> list[np.ndarray | None]:
    """Starting points as `solve` would make them, None where there is no guess."""
    try:
        guesses = list(guesses)
    except TypeError:
        raise ProblemError(f"guesses is {shown(guesses)}: give one, or None, for each problem, in a list") from None
    if len(guesses) != len(problems):
        raise ProblemError(f"{len(guesses)} guesses for {len(problems)} problems: give one, or None, for each")
    out = []
    for k, (problem, guess) in enumerate(zip(problems, guesses)):
        try:
            out.append(None if guess is None or not isinstance(problem, Problem) else start_point(problem, guess))
        except ProblemError as error:
            raise ProblemError(f"guesses[{k}]: {error}") from None
    return out
