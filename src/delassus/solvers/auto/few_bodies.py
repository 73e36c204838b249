"""Few rigid bodies under exact friction: what `auto` begins with, with the least around it. Most steps of small
mechanisms end here, in ten microseconds; choosing among methods and asking each what it takes would be some more."""

from functools import cache

import numpy as np

from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.auto.islands import MANY_ROWS
from delassus.solvers.auto.stages import ALWAYS_LEAST, first_for_few_bodies
from delassus.solvers.driver import Limits
from delassus.solvers.newton.prox_ssn import ProxSsn
from delassus.solvers.newton.small import small_at_once
from delassus.solvers.parts.at_once import Attempt


def bodies_at_once(problem: Problem, guess: np.ndarray, limits: Limits) -> tuple[Attempt, np.ndarray, str] | None:
    """(attempt, reactions (m,), name of the solver): the first attempt of `auto`, bit by bit, within the tolerances or
    not; None where it makes none, or where there is more than few rigid bodies under exact friction.  guess: (m,),
    overwritten by the reactions."""
    rigid = problem.delassus.rigid
    if rigid is None or problem.row_count > ALWAYS_LEAST or problem.law is not Law.NCP or rigid.has_odd_masses():
        return None
    if problem.row_count > MANY_ROWS and guess.any():
        return None  # it may solve some islands already
    name, plain = _known()
    attempt, tols = Attempt(problem), (limits.tol, limits.tol_velocity)
    attempt.count = small_at_once(problem, plain, 1.0, guess, tols, limits.max_iter, attempt.found)
    attempt.is_least = True
    return (attempt, guess, name) if attempt.count else None


@cache
def _known() -> tuple[str, tuple[float, ...]]:
    """Name and settings of the method, in the form that is needed here."""
    line, settings = first_for_few_bodies()
    assert isinstance(settings, ProxSsn)
    return line.name, settings.plain
