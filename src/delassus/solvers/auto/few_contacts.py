"""Few contacts alone, from zero: what `auto` does with them, with the least around it. A solve takes two to ten
microseconds; choosing methods and passing forty arrays would take another ten."""

import numpy as np

from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.auto.stages import auto_line
from delassus.solvers.driver import Limits
from delassus.solvers.newton.prox_ssn import ProxSsn
from delassus.solvers.newton.small import MOST_ITERATIONS
from delassus.solvers.newton.swept import FEW_CONTACTS, scratch_of, sweep_contacts
from delassus.solvers.parts.at_once import Attempt

_known: dict[bool, tuple[str, int, int, list[int]]] = {}
"""Name of the solver, its first sweeps, its memory, and numbers of scratch by contacts; by whether the law is exact."""


def contacts_at_once(problem: Problem, limits: Limits) -> tuple[Attempt, np.ndarray, str] | None:
    """(attempt, reactions (m,), name of the solver): what the first attempt of `auto` finds, bit by bit; None where
    there is more than few contacts, or sweeps are not enough.  problem: `is_small`."""
    if 3 * problem.contact_count != problem.row_count:
        return None
    name, first, memory, scratch = _known.get(problem.law is Law.NCP) or _learned(problem)
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
    return _known.setdefault(problem.law is Law.NCP, out)
