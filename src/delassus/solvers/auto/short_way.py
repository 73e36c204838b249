"""Small problems: the first attempt of `auto`, bit by bit, with the least around it. Few contacts from zero take a
microsecond to five, few rigid bodies under exact friction, which most steps of small mechanisms are, ten; choosing
among methods, asking each what it takes and passing forty arrays would take another ten."""

from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

from delassus.kernel import entrance
from delassus.law import Law
from delassus.problem import Problem
from delassus.residuals import RESIDUAL_COUNT
from delassus.solvers.auto.islands import MANY_ROWS, is_apart
from delassus.solvers.auto.stages import ALWAYS_LEAST, MOST_CONVEX, auto_line, first_for_few_bodies, is_newtons, rescuer
from delassus.solvers.driver import Limits, clock
from delassus.solvers.newton import swept
from delassus.solvers.newton.prox_ssn import ProxSsn
from delassus.solvers.newton.small import MOST_JOINT_ROWS, asked_of, small_at_once
from delassus.solvers.parts.at_once import APART, Attempt
from delassus.solvers.settings import Settings
from delassus.solvers.solution import Solution
from delassus.status import Status

_empty, _solution = np.empty, object.__new__
_CONVERGED, _NCP = Status.CONVERGED, Law.NCP
_VELOCITY = RESIDUAL_COUNT - 1  # place of the worst velocity among the residuals

solve_contacts: Callable[[np.ndarray, np.ndarray, np.ndarray], int] = swept.solve_contacts
"""The kernel of few contacts; once it is compiled, its entrance."""


def contacts_at_once(
    problem: Problem,
    few: tuple[np.ndarray, int, bool],
    limits: Limits,
    trace: bool | Callable[[int, float, float, float], None],
) -> Solution | None:
    """The first attempt of `auto` from zero, bit by bit, within the tolerances or not; None where it makes none.  few:
    `few_contacts` of the problem; trace: of `solve`.

    Every line counts here: a name looked up in a module or a class, an array and a call take a tenth of what the kernel
    takes with one contact."""
    packed, rows, is_exact = few
    asked, name = limits.learned[is_exact] or _learned(problem, few, limits)
    start, both = perf_counter(), _empty(APART + 3 * rows)
    count, status = solve_contacts(packed, asked, both), _CONVERGED
    if not count:  # sweeps are not enough
        settings, both[:rows], begin, spent = auto_line(problem)[1], 0.0, clock(), perf_counter() - start
        count, status = _go_on(problem, settings, limits, both[:rows], both[rows:])
        if not count:
            return None
        start = perf_counter() - (clock() - begin) - spent  # compiling does not count
    out: Any = _solution(Solution)
    out.status = status
    out._later = Attempt, problem, both, count, perf_counter() - start, trace is True, False, name, limits
    if trace is not True and callable(trace):
        for row in zip(*out._attempt.judgements()):
            trace(*row)
    return out


def _go_on(
    problem: Problem, settings: Settings, limits: Limits, reactions: np.ndarray, found: np.ndarray
) -> tuple[int, Status]:
    """The rest of that attempt, which sweeps again in the units of Newton's method and counts those sweeps alone: how
    many judgements were made, and what comes of it."""
    assert isinstance(settings, ProxSsn)
    tols = limits.tol, limits.tol_velocity
    count = small_at_once(problem, settings.plain, 0.0, reactions, tols, limits.max_iter, found, has_swept=True)
    is_within = found.item(0) <= tols[0] and found.item(_VELOCITY) <= tols[1]
    return count, _CONVERGED if is_within else Status.MAX_ITERATIONS


def _learned(problem: Problem, few: tuple[np.ndarray, int, bool], limits: Limits) -> tuple[np.ndarray, str]:
    """What is asked of the kernel, and the name of the solver, remembered. The kernel is called once, where it has
    nothing to do: it is compiled then, and no clock has to stop for it."""
    line, settings = auto_line(problem)
    assert isinstance(settings, ProxSsn)
    assert not settings.least
    global solve_contacts
    nothing = asked_of((limits.tol, limits.tol_velocity), 0, settings.plain)
    swept.solve_contacts(few[0].copy(), nothing, np.empty(APART + 3 * few[1]))  # a copy may be written to
    solve_contacts = entrance(swept.solve_contacts)
    asked = asked_of((limits.tol, limits.tol_velocity), limits.max_iter, settings.plain)
    out = limits.learned[few[2]] = asked, line.name
    return out


def bodies_at_once(
    problem: Problem, guess: np.ndarray, limits: Limits, trace: bool | Callable[[int, float, float, float], None] = True
) -> Solution | None:
    """The first attempt of `auto`, bit by bit, within the tolerances or not; None where it makes none, or where there
    is more than few rigid bodies or a mechanism.  guess: (m,), overwritten by the reactions; trace: of `solve`."""
    rows, tol, tol_velocity = problem.row_count, limits.tol, limits.tol_velocity
    delassus, most, bilateral = problem.delassus, limits.max_iter, problem.cone.bilateral_rows
    if not delassus.has_bodies or (rows > ALWAYS_LEAST and not (2 * bilateral > rows <= MOST_JOINT_ROWS)):
        return None
    if problem.law is not _NCP:
        if not is_newtons(problem):
            return None
        most = min(most, MOST_CONVEX)
    if rows > MANY_ROWS and guess.any() and (problem.before is not None or is_apart(problem)):
        return None  # it may solve some islands already
    start, found = clock(), _empty(APART + rows + delassus.velocity_count)
    name, plain = _method_of_bodies()
    can = not delassus.has_odd_masses() or rescuer(problem) is None
    count = small_at_once(problem, plain, 1.0, guess, (tol, tol_velocity), most, found) if can else 0
    if not count:
        return None
    is_within = found.item(0) <= tol and found.item(_VELOCITY) <= tol_velocity
    out: Any = _solution(Solution)
    out.reactions, out.status = guess, _CONVERGED if is_within else Status.MAX_ITERATIONS
    out._later = Attempt, problem, found, count, clock() - start, trace is True, True, name, limits
    if trace is not True and callable(trace):
        for row in zip(*out._attempt.judgements()):
            trace(*row)
    return out


@cache
def _method_of_bodies() -> tuple[str, tuple[float, ...]]:
    """Name and settings of the method, in the form that is needed here."""
    line, settings = first_for_few_bodies()
    assert isinstance(settings, ProxSsn)
    return line.name, settings.plain
