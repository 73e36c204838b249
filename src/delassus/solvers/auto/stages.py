"""What `auto` does on a problem: which methods it tries, and who goes on where double precision ends. Which of many
reactions it returns stands in `least_norm`.

The policy, in one place:

1. Accelerated sweeps for as long as they are cheaper than factors, then proximal Newton (`prox-ssn`), under every law.
   Which of the two works when is decided by price and by the slope of the residual, in `parts/anderson/sweeps`. Under
   a convex law few rigid bodies go to the interior point at once, which is compiled for them.
2. Where bodies share a load in many ways under exact friction, the path to the least reactions takes the place of the
   sweeps: there the motion depends on which reactions are taken.
3. Heaps of thousands of contacts, and more rows than factors are made for: sweeps with momentum (`ags`) first, to the
   accuracy that they reach sooner than factors do.
4. Where the first method ends without success, others go on from its best point: the interior point, which holds a
   proof where the convex law has no solution, and under exact friction sweeps with joints eliminated, the interior
   point with De Saxcé's term and long accelerated sweeps.
"""

import math
from dataclasses import replace
from functools import cache

from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.auto.least_norm import shares_loads
from delassus.solvers.double_double.settings import takes_pairs
from delassus.solvers.driver import Solver
from delassus.solvers.interior.dense import is_small
from delassus.solvers.newton.prox_ssn import least_at_once
from delassus.solvers.settings import Settings
from delassus.solvers.table import SOLVERS, find

_MOST_NEWTON = 3000  # sweeps and systems together, before an interior point that may prove that there is no solution
_MOST_EXACT = 20_000  # the same under exact friction, where what comes after seldom helps
_FEW_SYSTEMS = 40  # of Newton under a convex law: where it takes more, an interior point is several times faster
_MOST_ELIMINATED = 3000  # sweeps with joints eliminated: where friction is large they solve what Newton does not
_MOST_INTERIOR = 300  # iterations of it, with De Saxcé's term, before the last resort

_HEAP, _HEAP_TOL_EXACT = 2000, 1e-5  # contacts of a heap, and the accuracy that momentum reaches under exact friction
_HEAP_CONVEX = (1e-4, 3000), (1e-6, 5000), (0.0, 15_000)  # (least tolerance, contacts) under a convex law
_MOST_MOMENTUM = 2000  # sweeps with momentum before Newton's method or an interior point
_USUAL_TOL = 1e-6

Stages = tuple[tuple[Solver, Settings, int], ...]


def auto_stages(problem: Problem, tol: float = _USUAL_TOL) -> Stages:
    """What `solver="auto"` tries on this problem, one after the other, until one of them converges, with which settings
    and for how many iterations each; the last one has no bound.  tol: of the relative natural map."""
    is_heap = problem.contact_count >= _heap_from(problem.law, tol) and problem.delassus.rigid is not None
    if not SOLVERS["prox-ssn"].takes(problem):
        return _for_many_rows(problem.law)
    if problem.law is not Law.NCP and is_small(problem):
        return ((SOLVERS["ipm"], SOLVERS["ipm"].settings, 0),)
    is_exact, has_both = problem.law is Law.NCP, 0 < problem.cone.bilateral_rows < problem.row_count
    return _stages(problem.law, is_exact and shares_loads(problem), is_heap, is_exact and has_both)


def _heap_from(law: Law, tol: float) -> float:
    """Contacts of rigid bodies from which on sweeps with momentum come first: they never form D, and on heaps they are
    several times faster than anything else, to an accuracy that depends on the law."""
    if law is Law.NCP:
        return _HEAP if tol >= _HEAP_TOL_EXACT else math.inf
    return next((contacts for least, contacts in _HEAP_CONVEX if tol >= least), math.inf)


@cache
def _stages(law: Law, least: bool, is_heap: bool = False, eliminates: bool = False) -> Stages:
    """least: along the path to the least reactions first; eliminates: also try sweeps with joints eliminated."""
    if is_heap:
        momentum = SOLVERS["ags"]
        return ((momentum, momentum.settings, _MOST_MOMENTUM), *_stages(law, least, eliminates=eliminates))
    newton = SOLVERS["prox-ssn"]
    if least:
        newton = replace(newton, at_once=least_at_once, ends_least=True)
    first = newton, newton.settings.changed(least=least), _MOST_EXACT
    if law is not Law.NCP:
        few = newton, newton.settings.changed(least=least, systems=_FEW_SYSTEMS, yields=True), _MOST_NEWTON
        return few, (SOLVERS["ipm"], SOLVERS["ipm"].settings, 0)
    again = ((newton, newton.settings.changed(least=False), _MOST_EXACT),) if least else ()
    direct = ((*find("nbgs-direct"), _MOST_ELIMINATED),) if eliminates else ()
    return (first, *again, *direct, (*find("ipm+desaxce"), _MOST_INTERIOR), (*find("nbgs+anderson"), 0))


@cache
def _for_many_rows(law: Law) -> Stages:
    momentum = SOLVERS["ags"]
    last = find("nbgs+anderson") if law is Law.NCP else (SOLVERS["ipm"], SOLVERS["ipm"].settings)
    return (momentum, momentum.settings, 2 * _MOST_MOMENTUM), (*last, 0)


def auto_line(problem: Problem) -> tuple[Solver, Settings]:
    """The line that `auto` begins with on this problem, and its settings."""
    line, settings, _ = auto_stages(problem)[0]
    return line, settings


def default_solver(problem: Problem) -> str:
    """What `solver="auto"` begins with on this problem."""
    return auto_stages(problem)[0][0].name


def rescuer(problem: Problem) -> str | None:
    """What goes on where masses are so far apart (`has_odd_masses`) that reactions need two doubles, or None."""
    if not takes_pairs(problem):
        return None
    return "ipm-dd+desaxce" if problem.law is Law.NCP else "ipm-dd"
