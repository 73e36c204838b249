"""What `auto` does on a problem: which methods it tries, who goes on where double precision ends, and which of many
reactions it returns.

The policy, in one place:

1. Accelerated sweeps for as long as they are cheaper than factors, then proximal Newton (`prox-ssn`), under every law.
   Which of the two works when is decided by price and by the slope of the residual, in `parts/anderson/sweeps`. Under
   a convex law few rigid bodies get some iterations of Newton's method, and then, or where many faces touch at once,
   the interior point, which is compiled for them.
2. Where bodies share a load in many ways under exact friction, and in small problems and mechanisms, the path to the
   least reactions takes the place of the sweeps: there the motion depends on which reactions are taken.
3. Heaps of thousands of contacts, and more rows than factors are made for: sweeps with momentum (`ags`) first, to the
   accuracy that they reach sooner than factors do; heaps of round bodies from some hundred contacts on, to any
   accuracy: where momentum does not reach it, Newton's method needs fewer systems from where it ends. Under a convex
   law it yields to the interior point as soon as its rate promises little.
4. Where the first method ends without success, others go on from its best point: the interior point, which holds a
   proof where the convex law has no solution, and under exact friction Newton once more, but from zero and with a large
   weight, sweeps with joints eliminated, the interior point with De Saxcé's term and long accelerated sweeps. Among
   contacts alone, all with friction, paths of smoothed problems (`homotopy`) come before the last two, and before them
   Newton from its own end: what it gains there makes the path short.
5. Flexible bodies (a general H) begin with the path, too, and end with the interior point: sweeps would take tens of
   thousands of iterations there. Where D is too large to be formed, the interior point is all there is.
6. Of many reactions that give rigid bodies the same motion the least is returned (`newton/least_norm`).
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from delassus import residuals
from delassus.law import Law
from delassus.linalg.blas_threads import one_thread
from delassus.linalg.operators.delassus import FEW_ROWS
from delassus.problem import Problem
from delassus.solvers.double_double.settings import takes_pairs
from delassus.solvers.driver import Limits, Solver, clock
from delassus.solvers.interior.dense import is_small
from delassus.solvers.method import Method
from delassus.solvers.newton.least_norm import least_of
from delassus.solvers.newton.prox_ssn import are_joints_alone, least_at_once
from delassus.solvers.settings import Settings
from delassus.solvers.solution import Solution
from delassus.solvers.table import SOLVERS, find

_MOST_NEWTON = 3000  # sweeps and systems together, before an interior point that may prove that there is no solution
_MOST_EXACT = 20_000  # the same under exact friction, where what comes after seldom helps
_FEW_SYSTEMS = 40  # of Newton under a convex law: where it takes more, an interior point is several times faster
_ALPHA_ANEW = 1e-2  # first weight of Newton from zero, after it failed
_MOST_ANEW = 2000  # iterations of that: few help later
_MOST_ELIMINATED = 3000  # sweeps with joints eliminated: where friction is large they solve what Newton does not
_MOST_ONCE_MORE = 1000  # iterations of Newton from its own end, before paths
_MOST_PATHS = 5000  # systems along paths: of those known to end, one took 3 800
_MOST_CONVEX_PATH = 300  # of these to the convex problem: from a point nearby it takes some dozen, if it exists
_MOST_INTERIOR = 300  # iterations of it, with De Saxcé's term, before the last resort
_FEW_INTERIOR = 50  # the same where there are joints alone: its factors may give a digit more than those of others

_HEAP, _HEAP_TOL_EXACT = 2000, 1e-5  # contacts of a heap, and the accuracy that momentum reaches under exact friction
_ROUND_HEAP, _ROUND_HEAP_LOOSE = 800, 1200  # contacts of round bodies from which on it comes first; at that accuracy
_ROUND_CONVEX = 500  # the same under a convex law, where it yields early
_HEAP_CONVEX = (1e-4, 3000), (1e-6, 5000), (0.0, 15_000)  # (least tolerance, contacts) under a convex law
_MOST_MOMENTUM = 1500  # sweeps with momentum before Newton's method or an interior point
_MOST_FACTORED = 100_000  # rows up to which an interior point takes no longer than some thousand sweeps
_USUAL_TOL = 1e-6


ALWAYS_LEAST = 150
"""Rows up to which the least reactions cost next to nothing."""
MOST_CONVEX = 20
"""Iterations of Newton's method on few rigid bodies under a convex law: after more the interior point is faster."""
_FEW_CONVEX = 90  # rows of them up to which it always comes first
_MOST_LEAST = 1000  # rows up to which bodies that share several contacts get them, and not those of sweeps
_CONTACTS_PER_PAIR = 2.0  # contacts per pair of bodies from which on they touch by faces and edges

Stages = tuple[tuple[Solver, Settings, int], ...]


def auto_stages(problem: Problem, tol: float = _USUAL_TOL) -> Stages:
    """What `solver="auto"` tries on this problem, one after the other, until one of them converges, with which settings
    and for how many iterations each; the last one has no bound.  tol: of the relative natural map."""
    is_exact, has_both = problem.law is Law.NCP, 0 < problem.cone.bilateral_rows < problem.row_count
    if is_exact and problem.row_count > 0 and are_joints_alone(problem):
        return _stages(Law.NCP, shares_loads(problem), joints_alone=True)
    if is_exact and problem.row_count <= ALWAYS_LEAST and problem.delassus.has_bodies:
        return _for_few_bodies(has_both)  # what follows comes to the same: most steps ask
    if _is_flexible(problem):
        return _for_flexible(problem.law, problem.delassus.has_matrix_at_hand, is_exact and has_both)
    is_heap = _is_heap(problem, tol)
    if not SOLVERS["prox-ssn"].takes(problem):
        return _for_many_rows(problem.law, problem.row_count <= _MOST_FACTORED)
    if problem.law is not Law.NCP and is_small(problem):
        return _for_few_convex(is_newtons(problem))
    if problem.law is not Law.NCP and _is_round_heap(problem, _ROUND_CONVEX):
        return _for_round_convex()
    least, paths = is_exact and shares_loads(problem), is_exact and _has_paths(problem)
    return _stages(problem.law, least, is_heap, is_exact and has_both, paths=paths)


def _has_paths(problem: Problem) -> bool:
    """Are paths of smoothed problems a last resort? Not of few rows, where whatever has a solution is solved before and
    steps that have none would take ten times as long, nor where reactions need two doubles."""
    if not ALWAYS_LEAST < problem.row_count == 3 * problem.contact_count or problem.delassus.has_odd_masses():
        return False
    return SOLVERS["homotopy"].takes(problem)


def _is_flexible(problem: Problem) -> bool:
    """Has it a general H, and more rows than sweeps are sure to do?"""
    return problem.delassus.is_flexible and problem.row_count > FEW_ROWS


def _is_heap(problem: Problem, tol: float) -> bool:
    """Do sweeps with momentum come first?"""
    has_bodies, contacts = problem.delassus.has_bodies, problem.contact_count
    if not has_bodies or contacts >= _heap_from(problem.law, tol):
        return has_bodies
    least = _ROUND_HEAP_LOOSE if tol >= _HEAP_TOL_EXACT else _ROUND_HEAP
    return problem.law is Law.NCP and _is_round_heap(problem, least)


def _is_round_heap(problem: Problem, least: int) -> bool:
    """Are these so many contacts of rigid bodies that touch in points, and no joints?"""
    if not problem.delassus.has_bodies or problem.contact_count < least or problem.cone.bilateral_rows:
        return False
    return not _touch_by_faces(problem)


def _heap_from(law: Law, tol: float) -> float:
    """Contacts of rigid bodies from which on sweeps with momentum come first: they never form D, and on heaps they are
    several times faster than anything else, to an accuracy that depends on the law."""
    if law is Law.NCP:
        return _HEAP if tol >= _HEAP_TOL_EXACT else math.inf
    return next((contacts for least, contacts in _HEAP_CONVEX if tol >= least), math.inf)


@cache
def _stages(
    law: Law,
    least: bool,
    is_heap: bool = False,
    eliminates: bool = False,
    joints_alone: bool = False,
    paths: bool = False,
) -> Stages:
    """least: along the path to the least reactions first; eliminates: also try sweeps with joints eliminated;
    joints_alone: one linear system, whose last digits sweeps would not find; paths: also try those of `homotopy`."""
    if is_heap:
        momentum, (first, *others) = SOLVERS["ags"], _stages(law, least, eliminates=eliminates, paths=paths)
        if law is Law.NCP:  # what other sweeps would find is found
            first = first[0], first[1].changed(warm_up=0), first[2]
        return ((momentum, momentum.settings, _MOST_MOMENTUM), first, *others)
    newton = SOLVERS["prox-ssn"]
    if least:
        newton = replace(newton, at_once=least_at_once, ends_least=True)
    if joints_alone:
        first = newton, newton.settings.changed(least=least), _MOST_EXACT
        return first, (*find("ipm+desaxce"), _FEW_INTERIOR), (*first[:2], 0)
    first = newton, newton.settings.changed(least=least), _MOST_EXACT
    if law is not Law.NCP:
        few = newton, newton.settings.changed(least=least, systems=_FEW_SYSTEMS, yields=True), _MOST_NEWTON
        return few, (SOLVERS["ipm"], SOLVERS["ipm"].settings, 0)
    again = ((newton, newton.settings.changed(least=False), _MOST_EXACT),) if least else ()
    line = replace(newton, at_once=None, ends_least=False, start=_from_zero(newton.start))
    anew = line, newton.settings.changed(least=False, alpha=_ALPHA_ANEW), _MOST_ANEW
    direct = ((*find("nbgs-direct"), _MOST_ELIMINATED),) if eliminates else ()
    line, settings = find("homotopy")
    path = line, settings.changed(systems_convex=_MOST_CONVEX_PATH), _MOST_PATHS
    more = (newton, newton.settings.changed(least=False), _MOST_ONCE_MORE), path
    last = (*find("ipm+desaxce"), _MOST_INTERIOR), (*find("nbgs+anderson"), 0)
    return (first, *again, anew, *direct, *(more if paths else ()), *last)


def _from_zero(start: Callable[[Problem, Settings, np.ndarray], Method]) -> Callable[..., Method]:
    """The same method from zero: what led the one before it astray may have been where it began."""
    return lambda problem, settings, reactions: start(problem, settings, np.zeros_like(reactions))


@cache
def _for_few_bodies(eliminates: bool) -> Stages:
    """Of few rigid bodies under exact friction."""
    return _stages(Law.NCP, True, eliminates=eliminates)


def is_newtons(problem: Problem) -> bool:
    """Does Newton's method come before the interior point on these few rigid bodies under a convex law? With the least
    reactions, which it ends with, it takes half of the time, but not where many faces and edges touch."""
    has_bodies, rows = problem.delassus.has_bodies, problem.row_count
    if not has_bodies or rows <= _FEW_CONVEX or 2 * problem.cone.bilateral_rows >= rows:
        return has_bodies
    return not _touch_by_faces(problem)


@cache
def _for_few_convex(with_newton: bool) -> Stages:
    """Of few rigid bodies under a convex law."""
    ipm, newton = SOLVERS["ipm"], replace(SOLVERS["prox-ssn"], at_once=least_at_once, ends_least=True)
    first = ((newton, newton.settings.changed(least=True), MOST_CONVEX),) if with_newton else ()
    return (*first, (ipm, ipm.settings, 0))


@cache
def _for_round_convex() -> Stages:
    """Of heaps of round bodies under a convex law. While they fall momentum gets to any accuracy, several times faster
    than factors; at rest it hardly passes 1e-5, and Newton's method takes ten times as long as an interior point."""
    momentum, ipm = SOLVERS["ags"], SOLVERS["ipm"]
    return (momentum, momentum.settings.changed(yields=True), _MOST_MOMENTUM), (ipm, ipm.settings, 0)


def first_for_few_bodies() -> tuple[Solver, Settings]:
    """The line that `auto` begins with on few rigid bodies under exact friction, and its settings."""
    line, settings, _ = _for_few_bodies(False)[0]
    return line, settings


@cache
def _for_flexible(law: Law, has_matrix: bool, eliminates: bool) -> Stages:
    """Of flexible bodies, where every contact feels every other one. Sweeps are no last resort: a bent beam takes
    84 000 of them. Where D is too large to be formed, an interior point goes through the nodes."""
    ipm, exact = (SOLVERS["ipm"], SOLVERS["ipm"].settings, 0), (*find("ipm+desaxce"), 0)
    if not has_matrix:
        return (exact,) if law is Law.NCP else (ipm,)
    if law is not Law.NCP:
        return _stages(law, False)
    newton = SOLVERS["prox-ssn"]
    # along the path, which costs a twelfth more: rigid bodies beside flexible ones may share a load in many ways
    path, plain = (newton, newton.settings, _MOST_EXACT), (newton, newton.settings.changed(least=False), _MOST_EXACT)
    return (path, plain, *(((*find("nbgs-direct"), _MOST_ELIMINATED),) if eliminates else ()), exact)


@cache
def _for_many_rows(law: Law, yields: bool) -> Stages:
    """yields: sweeps, early, to an interior point."""
    momentum = SOLVERS["ags"]
    if law is Law.NCP:
        return (momentum, momentum.settings, 2 * _MOST_MOMENTUM), (*find("nbgs+anderson"), 0)
    ipm = SOLVERS["ipm"], SOLVERS["ipm"].settings, 0
    return (momentum, momentum.settings.changed(yields=yields), 2 * _MOST_MOMENTUM), ipm


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


def shares_loads(problem: Problem) -> bool:
    """Are the least of many reactions worth finding? Among rigid bodies: in small problems, and in larger ones where
    bodies touch by faces and edges, whose contacts can share a load in many ways. In piles of round ones it would cost
    more than the sweeps that solve them."""
    if problem.row_count <= ALWAYS_LEAST or problem.row_count > _MOST_LEAST or not problem.delassus.has_bodies:
        return problem.delassus.has_bodies and problem.row_count <= ALWAYS_LEAST
    return _touch_by_faces(problem)


def _touch_by_faces(problem: Problem) -> bool:
    """Have pairs of bodies several contacts? Round ones have one."""
    contacts, blocks = problem.contact_count, problem.cone.block_count
    return 0 < contacts >= _CONTACTS_PER_PAIR * problem.delassus.pair_count(blocks - contacts)


def least_reactions(problem: Problem, reactions: np.ndarray, velocities: np.ndarray, error: float) -> np.ndarray | None:
    """λ' (m,) [N s], the least with the motion of λ; None where λ is the only one, or none was found.  reactions,
    velocities: a solution, (m,) each; error: of its velocities, relative to those of their island."""
    if not problem.delassus.has_bodies or problem.row_count > _MOST_LEAST:
        return None
    rigid = problem.delassus.rigid
    out = np.empty_like(reactions)
    return out if least_of(rigid.plain, problem.judged_by, reactions, velocities, error, out) else None


@one_thread
def take_least_reactions(problem: Problem, solution: Solution, limits: Limits) -> None:
    """The same motion by the least reactions, where others would do it too and the judge finds the tolerance kept. A
    guess that was taken as it is has been through this before, and so have attempts that end with it."""
    if solution.is_least or not (solution.converged and solution.iterations) or solution.reactions_low is not None:
        return
    if not shares_loads(problem):
        return
    start, error = clock(), solution.residuals.worst_velocity_relative
    reactions = least_reactions(problem, solution.reactions, solution.velocities, error)
    if reactions is not None:
        judged, velocities, body_velocities = residuals.evaluate_with_velocities(problem, reactions)
        if limits.reached(judged.measure):
            solution.reactions, solution.velocities, solution.residuals = reactions, velocities, judged
            solution.body_velocities = body_velocities
    spent = clock() - start
    solution.times["iterate"] += spent
    solution.times["total"] += spent
