"""The plan of a solve: which methods are tried, one after the other, with which settings and for how long.

Every number that decides which way a solve goes stands here. `delassus info` prints a plan; `Trace.plan` holds it.

`auto`, in one place:

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
6. From a guess that may solve some islands already, problems of many rows go island by island first (`auto/islands`).
7. Of many reactions that give rigid bodies the same motion the least is returned (`newton/least_norm`).
8. Where masses are so far apart that reactions need two doubles, `ipm-dd` comes after a short try of the others, and
   all but the last are asked for more digits: heavy bodies amplify what light ones lack.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.law import Law
from delassus.linalg.operators.delassus import FEW_ROWS
from delassus.problem import Problem
from delassus.solvers.auto.islands import has_islands
from delassus.solvers.auto.stages import (
    Stage,
    for_few_convex,
    for_flexible,
    for_many_rows,
    for_round_convex,
    stages_of,
)
from delassus.solvers.double_double.settings import takes_pairs
from delassus.solvers.driver import DEFAULT_MAX_ITER, DEFAULT_TOL, Limits, Solver, limits_of
from delassus.solvers.interior.dense import is_small
from delassus.solvers.newton.prox_ssn import are_joints_alone
from delassus.solvers.newton.small import MOST_JOINT_ROWS
from delassus.solvers.settings import Settings
from delassus.solvers.table import SOLVERS, find

LONGEST_CALL = 0.01
"""Seconds that one compiled call takes at most. It looks at no clock: shorter time limits leave it out."""
MANY_ROWS = 90
"""From here on a guess is looked at island by island: up to here one call for all takes less than finding islands."""
ALWAYS_LEAST = 150
"""Rows up to which the least reactions cost next to nothing."""
MOST_FINER = 40
"""Iterations of a method before `ipm-dd` (few succeed later), and of any that is asked for more digits than needed."""

_MOST_FIRST = 400  # before `ipm-dd`, of the first method of `auto`, most of whose iterations are sweeps of microseconds
_MOST_PAIRS = 300  # iterations of `ipm-dd`
_FINER = 1e-4  # of the tolerances, where masses are far apart

_HEAP, _HEAP_TOL_EXACT = 2000, 1e-5  # contacts of a heap, and the accuracy that momentum reaches under exact friction
_ROUND_HEAP, _ROUND_HEAP_LOOSE = 800, 1200  # contacts of round bodies from which on it comes first; at that accuracy
_ROUND_CONVEX = 500  # contacts of round bodies under a convex law, where momentum yields early
_HEAP_CONVEX = (1e-4, 3000), (1e-6, 5000), (0.0, 15_000)  # (least tolerance, contacts) under a convex law
_MOST_FACTORED = 100_000  # rows up to which an interior point takes no longer than some thousand sweeps

_FEW_CONVEX = 90  # rows of rigid bodies up to which Newton's method comes first under a convex law
_MOST_LEAST = 1000  # rows up to which bodies that share several contacts get them, and not those of sweeps
_CONTACTS_PER_PAIR = 2.0  # contacts per pair of bodies from which on they touch by faces and edges


class Plan(NamedTuple):
    """What a solve does: its stages, of which each begins at the best point of those before, until one converges."""

    stages: tuple[Stage, ...]
    by_islands: bool = False
    """Is each island that the guess does not solve tried alone before all stages?"""
    takes_least: bool = False
    """Are the least of many reactions taken in the end?"""
    finer: float = 1.0
    """What the tolerances of all stages but the last are multiplied by."""

    def words(self, problem: Problem) -> list[str]:
        """The plan for this problem, a line for each stage."""
        words = ["islands that the guess does not solve, each alone"] if self.by_islands else []
        words += [stage.words(problem) for stage in self.stages]
        if self.finer < 1.0:
            words[:-1] = [f"{each}, asked for {self.finer:g} of the tolerances" for each in words[:-1]]
        return words + (["the least reactions that give the same motion"] if self.takes_least else [])


def plan_of(
    problem: Problem,
    solver: str | Settings = "auto",
    guess: np.ndarray | None = None,
    limits: Limits | None = None,
    is_part: bool = False,
) -> Plan:
    """What `solve` does with this problem.  guess: (m,) [N s], or (2, m) with second doubles; None: zero; limits: None:
    those of `solve` unless told otherwise; is_part: is it an island of another problem?"""
    limits = limits_of(DEFAULT_TOL, "auto", DEFAULT_MAX_ITER, None) if limits is None else limits
    has_pairs = guess is not None and guess.ndim == 2
    if not (isinstance(solver, str) and solver == "auto"):
        stage = Stage(*_line_of(solver), 0)
        hands_on = stage.line.hands_on
        rescue = rescuer(problem) if hands_on is not None and hands_on(stage.settings) else None
        return Plan((stage,)) if rescue is None else _with_pairs((stage,), rescue, has_pairs, MOST_FINER)
    rescue = rescuer(problem)
    if rescue is not None:
        plan = _with_pairs(auto_stages(problem, limits.tol), rescue, has_pairs, _MOST_FIRST)
        return plan._replace(takes_least=shares_loads(problem))
    by_islands = guess is not None and not has_pairs and not is_part and _goes_by_islands(problem, guess)
    return Plan(auto_stages(problem, limits.tol, is_part or by_islands), by_islands, shares_loads(problem))


def _line_of(solver: str | Settings) -> tuple[Solver, Settings]:
    if isinstance(solver, str) and dict.__contains__(SOLVERS, solver):  # without a look at plug-ins
        return SOLVERS[solver], SOLVERS[solver].settings
    return find(solver)


def _with_pairs(stages: tuple[Stage, ...], rescue: str, has_pairs: bool, most_first: int) -> Plan:
    """With reactions of two doubles where masses are far apart. A guess of two doubles comes from a step that needed
    them; where two doubles fail, all go on."""
    before = () if has_pairs else tuple(stage._replace(most=MOST_FINER) for stage in stages)
    if before:
        before = (before[0]._replace(most=min(most_first, stages[0].most or most_first)), *before[1:])
    return Plan((*before, Stage(*find(rescue), _MOST_PAIRS), *stages), finer=_FINER)


def _goes_by_islands(problem: Problem, guess: np.ndarray) -> bool:
    """May the guess (m,) solve some islands already? Few rigid bodies that are one island are tried as a whole."""
    if problem.row_count <= MANY_ROWS or not guess.any():
        return False
    return not _are_few_bodies(problem) or problem.before is not None or has_islands(problem)


def auto_stages(problem: Problem, tol: float = DEFAULT_TOL, is_part: bool = False) -> tuple[Stage, ...]:
    """What `solver="auto"` tries on this problem, one after the other, until one of them converges; the last one has no
    bound.  tol: of the relative natural map; is_part: is it an island, or has it been tried island by island?"""
    is_exact, has_both = problem.law is Law.NCP, 0 < problem.cone.bilateral_rows < problem.row_count
    is_few = not is_part and _are_few_bodies(problem)
    if is_exact and problem.row_count > 0 and are_joints_alone(problem):
        return stages_of(Law.NCP, is_few or shares_loads(problem), joints_alone=True)
    if is_exact and problem.delassus.has_bodies and (is_few or problem.row_count <= ALWAYS_LEAST):
        return stages_of(Law.NCP, True, eliminates=has_both)  # what follows comes to the same: most steps ask
    if problem.is_small:
        return stages_of(problem.law, False, eliminates=is_exact and has_both)
    if _is_flexible(problem):
        return for_flexible(problem.law, problem.delassus.has_matrix_at_hand, is_exact and has_both)
    is_heap = _is_heap(problem, tol)
    if not SOLVERS["prox-ssn"].takes(problem):
        return for_many_rows(problem.law, problem.row_count <= _MOST_FACTORED)
    if not is_exact and (is_small(problem) or (is_few and is_newtons(problem))):
        return for_few_convex(is_newtons(problem))
    if not is_exact and _is_round_heap(problem, _ROUND_CONVEX):
        return for_round_convex()
    least, paths = is_exact and shares_loads(problem), is_exact and _has_paths(problem)
    return stages_of(problem.law, least, is_heap, is_exact and has_both, paths=paths)


def _are_few_bodies(problem: Problem) -> bool:
    """Are there few rows of rigid bodies, or somewhat more that are joints for the most part?"""
    rows = problem.row_count
    if not problem.delassus.has_bodies or rows <= ALWAYS_LEAST:
        return problem.delassus.has_bodies
    return 2 * problem.cone.bilateral_rows > rows <= MOST_JOINT_ROWS


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


def is_newtons(problem: Problem) -> bool:
    """Does Newton's method come before the interior point on these few rigid bodies under a convex law? With the least
    reactions, which it ends with, it takes half of the time, but not where many faces and edges touch."""
    has_bodies, rows = problem.delassus.has_bodies, problem.row_count
    if not has_bodies or rows <= _FEW_CONVEX or 2 * problem.cone.bilateral_rows >= rows:
        return has_bodies
    return not _touch_by_faces(problem)


def default_solver(problem: Problem) -> str:
    """What `solver="auto"` begins with on this problem."""
    return auto_stages(problem)[0].line.name


def rescuer(problem: Problem) -> str | None:
    """What goes on where masses are so far apart that reactions need two doubles, or None where one will do."""
    if not problem.delassus.has_odd_masses() or not takes_pairs(problem):
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
