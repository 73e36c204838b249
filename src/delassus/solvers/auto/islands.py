"""Island by island: what no reaction couples is judged, kept or solved apart, and the whole is judged at the end.

One judgement of the guess tells which islands it solves already. In a step of a simulation only islands at rest are
kept (`rest`): they sleep, and are judged all the same. Of the others the small ones are attempted in one compiled loop,
in threads where asked for; large ones, and what those attempts leave, are problems of their own for the stages of
`auto`. Where one large island is most of what moves, or where there is no guess, one method for the whole is faster: on
the FCLIB files up to two times.

Tolerances: with every island within tol/√2 of max(ρ‖v_f‖ √(m_i/m), ‖λ_i‖) the whole is within tol, since the squares
add up to no more than tol² max(ρ‖v_f‖, ‖λ‖)²; errors of velocity are those of an island anyway.
"""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

import numpy as np

from delassus import residuals
from delassus.law import Law
from delassus.linalg.operators.islands import fill_islands_of_bodies
from delassus.problem import Problem, islands
from delassus.problem.partition import part_of
from delassus.solvers.auto.island_loop import RULE, SHARE, SMALL, solve_each, solve_resting
from delassus.solvers.auto.rest import FINISHED, ITERATIONS, KEPT, LEFT, ROWS, SOLVED, group, judge_guess, motion_of
from delassus.solvers.driver import Limits, clock
from delassus.solvers.newton.prox_ssn import ProxSsn
from delassus.solvers.parts.at_once import Attempt
from delassus.solvers.solution import Solution
from delassus.solvers.table import SOLVERS

_MOST_FINISHING_ALONE, _FINE_ALONE = 150, 3e-6  # for islands about to rest that are too large for the compiled loop
_LONGEST = 0.01  # seconds that an attempt at an island may take: it looks at no clock
_CHUNK = 8  # islands that a thread takes at a time: fixed, though it changes no bit
_NONE, _NO_ROWS = np.empty(0), np.empty((0, 12))
_NO_BODIES = np.empty((0, 2), np.int64), np.empty(0, np.int64), _NO_ROWS, _NO_ROWS, _NONE
_NO_MATRIX = np.zeros(1, np.int64), np.empty(0, np.int64), _NONE

Apart = Callable[[Problem, np.ndarray, Limits], Solution]
"""(problem, guess, limits) → what the stages of `auto` make of an island alone."""


class Found(NamedTuple):
    """What became of the islands: reactions (m,), iterations (the most of any island), what was done, in words, and
    the measure of the guess."""

    reactions: np.ndarray
    iterations: int
    words: list[str]
    guess: residuals.Measure


class Resting(Attempt):
    """An attempt at bodies most of which rest.  counts: (4,) of islands, see `solve_resting`."""

    __slots__ = ("counts",)
    counts: np.ndarray

    @property
    def words(self) -> list[str]:
        count, kept, small, finished = self.counts.tolist()
        return [_sentence(count, kept, small, finished, self.iterations)]


def has_islands(problem: Problem) -> bool:
    """Have rigid bodies more than one island?"""
    rigid = problem.delassus.rigid
    return fill_islands_of_bodies(rigid.bodies, len(rigid.mass), np.empty(len(rigid.bodies), np.int64)) > 1


def attempt_resting(problem: Problem, guess: np.ndarray, limits: Limits) -> Resting | None:
    """An attempt in one compiled call at rigid bodies that rest but for a few small islands, or None. Its count is
    `WHOLE` where one island is most of what moves. The guess, (m,) [N s], is overwritten by what was found; where there
    is nothing it is as it was."""
    if not problem.delassus.has_bodies or problem.u_f is None or not guess.any():
        return None
    if limits.max_iter == 0 or limits.time_limit < math.inf:
        return None
    rigid = problem.delassus.rigid
    attempt, is_step, least = Resting(problem), problem.before is not None, problem.law is Law.NCP
    attempt.counts = np.empty(4, np.int64)
    step = (problem.bias, problem.before) if is_step else (_NONE, _NONE)
    how = (limits.tol, limits.tol_velocity), limits.max_iter, RULE, _newton(least), float(least)
    free, out = (problem.u_f, problem.free_velocity), (guess, attempt.found)
    attempt.count = solve_resting(rigid.plain, len(rigid.mass), free, step, problem.data, how, out, attempt.counts)
    return attempt if attempt.count else None


def solve_islands(problem: Problem, guess: np.ndarray, limits: Limits, threads: int, apart: Apart) -> Found | None:
    """The islands of a problem of many rows, or None where one of them is most of what moves, or where D would have to
    be formed.  guess: (m,) [N s], overwritten."""
    if limits.max_iter == 0 or not guess.any():
        return None
    if problem.delassus.is_flexible:
        return None
    label = islands(problem)
    count = int(label.max(initial=-1)) + 1
    if count == 0 or (count == 1 and problem.before is None) or limits.time_limit <= _LONGEST * count:
        return None
    found = _Islands(problem, label, count, guess, limits)
    if problem.before is None and limits.reached(found.measure):
        found.action[:] = KEPT
    rows = found.table[:, ROWS]
    if rows[(found.action == SOLVED) & (rows > RULE[SMALL])].sum() > RULE[SHARE] * problem.row_count:
        return None
    left = found.attempt_small(threads)
    words = [found.sentence()]
    for solution in found.solve_alone(left, apart, threads):
        words += [f"an island of {len(solution.reactions)} rows: {each}" for each in solution.trace.words]
    return Found(guess, int(found.table[:, ITERATIONS].max()), words, found.measure)


@cache
def _newton(least: bool) -> tuple[float, ...]:
    """Settings of Newton's method for compiled code."""
    settings = SOLVERS["prox-ssn"].settings
    assert isinstance(settings, ProxSsn)
    return settings.changed(least=least).plain


def _sentence(count: int, kept: int, small: int, finished: int, most: int) -> str:
    """What was done, in a sentence."""
    words = f"{count} islands: {kept} kept as they were"
    if small:
        words += f", {small} solved in one compiled loop, at most {most} iterations"
    return words + (f", {finished} about to rest" if finished else "")


class _Islands:
    """Islands, what the guess is worth in each, and what is done about it.

    first, members: blocks of each, see `group`; action, table: (islands,) and (islands, 4), see `rest`."""

    def __init__(self, problem: Problem, label: np.ndarray, count: int, reactions: np.ndarray, limits: Limits):
        self.problem, self.label, self.reactions, self.limits = problem, label, reactions, limits
        self.tols = limits.tol / math.sqrt(2.0), limits.tol_velocity
        self.first, self.members = np.empty(count + 1, np.int64), np.empty(len(label), np.int64)
        self.action, self.table = np.empty(count, np.int64), np.empty((count, 4))
        group(label, problem.cone.block_start, self.first, self.members, self.table)
        v = problem.constraint_velocity(reactions)
        motion = _motion(problem, reactions, v)
        self.measure = residuals.Measure(
            *judge_guess(label, v, reactions, problem.data, self.tols, motion, self.table, self.action)
        )

    def attempt_small(self, threads: int) -> np.ndarray:
        """Attempt the small islands in one compiled loop; the islands that are left to solve."""
        todo = np.flatnonzero(self.action != KEPT)
        is_small = self.table[todo, ROWS] <= RULE[SMALL]
        self.small = small = todo[is_small]
        if not len(small):
            return todo
        problem, delassus = self.problem, self.problem.delassus
        if delassus.has_bodies:
            rigid = delassus.rigid
            bodies, count, matrix = rigid.plain, len(rigid.mass), _NO_MATRIX
        else:
            D = delassus.matrix()
            bodies, count = _NO_BODIES, 0
            matrix = D.indptr.astype(np.int64), D.indices.astype(np.int64), D.data
        least = delassus.has_bodies and problem.law is Law.NCP
        islands = self.label, self.first, self.members, self.table, self.action
        operator = bodies, count, matrix, problem.free_velocity
        how = self.tols, self.limits.max_iter, RULE, _newton(least), float(least)
        arguments = islands, operator, problem.data, how, self.reactions
        if threads == 1 or len(small) <= _CHUNK:
            solve_each(small, *arguments)
        else:
            chunks = [small[k : k + _CHUNK] for k in range(0, len(small), _CHUNK)]
            with ThreadPoolExecutor(threads) as team:
                list(team.map(lambda chosen: solve_each(chosen, *arguments), chunks))
        return np.concatenate([todo[~is_small], small[self.table[small, LEFT] > 1.0]])

    def solve_alone(self, chosen: np.ndarray, apart: Apart, threads: int) -> list[Solution]:
        """These islands as problems of their own, by the stages of `auto`."""
        begin = clock()

        def one(g: int) -> Solution:
            return self._solve_one(g, apart, begin)

        if threads == 1 or len(chosen) <= 1:
            return [one(g) for g in chosen.tolist()]
        with ThreadPoolExecutor(threads) as team:
            return list(team.map(one, chosen.tolist()))

    def _solve_one(self, g: int, apart: Apart, begin: float) -> Solution:
        limits, table = self.limits, self.table
        rows, part = np.arange(self.problem.row_count), self.problem
        if len(self.action) > 1:
            rows, part = part_of(self.problem, self.members[self.first[g] : self.first[g + 1]])
        if self.action[g] == FINISHED:
            inside = limits.within(min(_MOST_FINISHING_ALONE, limits.max_iter), clock() - begin, _FINE_ALONE)
            solution = apart(part, self.reactions[rows], inside)
        else:
            inside = limits.within(limits.max_iter, clock() - begin)
            inside.tol = self.tols[0]
            solution = apart(part, self.reactions[rows], inside)
        self.reactions[rows] = solution.reactions
        table[g, ITERATIONS] = max(table[g, ITERATIONS], solution.iterations)
        return solution

    def sentence(self) -> str:
        """What was done in the compiled loop, in a sentence."""
        kept, finished = int((self.action == KEPT).sum()), int((self.action == FINISHED).sum())
        most = int(self.table[self.small, ITERATIONS].max(initial=0.0))
        return _sentence(len(self.action), kept, len(self.small), finished, most)


def _motion(problem: Problem, reactions: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of `judge_guess`; empty where no step is taken."""
    if not problem.delassus.has_bodies or problem.before is None:
        return _NONE, _NONE
    rigid = problem.delassus.rigid
    speed, gain = np.empty(len(v)), np.empty(len(v))
    motion_of(rigid.plain, problem.bias, problem.before, reactions, v, speed, gain)
    return speed, gain
