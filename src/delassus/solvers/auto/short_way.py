"""Small problems: the first attempt of `auto`, bit by bit, with the least around it. Few contacts from zero take two to
ten microseconds, few rigid bodies under exact friction, which most steps of small mechanisms are, ten; choosing among
methods, asking each what it takes and passing forty arrays would take another ten."""

from functools import cache

import numpy as np

from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.auto.islands import MANY_ROWS
from delassus.solvers.auto.stages import ALWAYS_LEAST, MOST_CONVEX, auto_line, first_for_few_bodies, is_newtons
from delassus.solvers.driver import Limits
from delassus.solvers.newton import small
from delassus.solvers.newton.prox_ssn import ProxSsn
from delassus.solvers.newton.small import MOST_ITERATIONS, small_at_once
from delassus.solvers.newton.swept import FEW_CONTACTS, scratch_of, sweep_contacts
from delassus.solvers.parts.at_once import Attempt

_method_of_contacts: dict[bool, tuple[str, int, int, list[int]]] = {}
"""Name of the solver, its first sweeps, its memory, and numbers of scratch by contacts; by whether the law is exact."""


def contacts_at_once(problem: Problem, limits: Limits) -> tuple[Attempt, np.ndarray, str] | None:
    """(attempt, reactions (m,), name of the solver): what the first attempt of `auto` finds, bit by bit; None where
    there is more than few contacts, or sweeps are not enough.  problem: `is_small`."""
    if 3 * problem.contact_count != problem.row_count:
        return None
    name, first, memory, scratch = _method_of_contacts.get(problem.law is Law.NCP) or _learned(problem)
    attempt, reactions = Attempt(problem), np.zeros(problem.row_count)
    most, room = min(limits.max_iter, MOST_ITERATIONS), np.empty(scratch[problem.contact_count])
    attempt.count = sweep_contacts(
        problem.packed, limits.tol, limits.tol_velocity, most, first, memory, reactions, attempt.found, room
    )
    return (attempt, reactions, name) if attempt.count else None


def _learned(problem: Problem) -> tuple[str, int, int, list[int]]:
    """What `auto` begins with on such problems, in the form that is needed here, remembered."""
    line, settings = auto_line(problem)
    assert isinstance(settings, ProxSsn)
    *_, first, memory, follows = settings.plain
    assert not follows
    memory = int(memory)
    out = line.name, int(first), memory, [scratch_of(count, memory) for count in range(FEW_CONTACTS + 1)]
    return _method_of_contacts.setdefault(problem.law is Law.NCP, out)


def bodies_at_once(problem: Problem, guess: np.ndarray, limits: Limits) -> tuple[Attempt, np.ndarray, str] | None:
    """(attempt, reactions (m,), name of the solver): the first attempt of `auto`, bit by bit, within the tolerances or
    not; None where it makes none, or where there is more than few rigid bodies.  guess: (m,), overwritten by the
    reactions."""
    rigid, most, rows = problem.delassus.rigid, limits.max_iter, problem.row_count
    if rigid is None or rows > ALWAYS_LEAST:
        return None
    if problem.law is not Law.NCP:
        if not is_newtons(problem):
            return None
        most = min(most, MOST_CONVEX)
    if rows > MANY_ROWS and guess.any():
        return None  # it may solve some islands already
    packed, attempt = problem.packed_bodies, Attempt(problem)
    name, plain = _method_of_bodies()
    if packed is not None:
        attempt.count = small.bodies_at_once(
            packed, _asked(limits.tol, limits.tol_velocity, most), guess, attempt.found
        )
    elif not rigid.has_odd_masses():
        tols = limits.tol, limits.tol_velocity
        attempt.count = small_at_once(problem, plain, 1.0, guess, tols, most, attempt.found)
    attempt.is_least = True
    return (attempt, guess, name) if attempt.count else None


@cache
def _asked(tol: float, tol_velocity: float, most: int) -> np.ndarray:
    """What is asked of the kernel."""
    return small.asked_of_bodies((tol, tol_velocity), most, _method_of_bodies()[1])


@cache
def _method_of_bodies() -> tuple[str, tuple[float, ...]]:
    """Name and settings of the method, in the form that is needed here."""
    line, settings = first_for_few_bodies()
    assert isinstance(settings, ProxSsn)
    return line.name, settings.plain
