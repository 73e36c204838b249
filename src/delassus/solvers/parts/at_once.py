"""An attempt at a small problem in one compiled call: started, iterated, judged along the way, and judged at its end.

A family brings the iteration, which overwrites the reactions and writes down its judgements. At the end of the same
call `finish_dense` or `finish_rigid` lets `residuals` judge the point that is returned. All of it goes into one
array, `found`, since allocating, passing and slicing each costs more than a sweep of one contact:

| entries | |
|---|---|
| RESIDUAL_COUNT | every residual of the returned point, in the order of `Residuals` |
| m | its velocities v [m/s] |
| n | velocities u of rigid bodies, where there are any, otherwise m: the point itself, λ [N s] |
| 3 MOST_JUDGEMENTS | iterations, relative natural maps and relative worst velocities of the judgements |

Without rigid bodies, `finish_dense` writes only those residuals that a solve is called by; the others, which take as
long again, are evaluated when they are read.

The attempt that several families share is here too: mechanisms that touch nothing, whose step is one linear system.
"""

import math

import numpy as np

from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT, folded
from delassus.linalg.dense_product import times_plus
from delassus.linalg.factor.dense_elimination import CARRY_ROWS, carry_in, carry_room
from delassus.linalg.operators.rigid import form_dense
from delassus.problem import Problem
from delassus.residuals import (
    RESIDUAL_COUNT,
    Residuals,
    evaluate_with_velocities,
    judge_rigid,
    measure_at,
    measure_dense,
)
from delassus.solvers.settings import Settings

MOST_JUDGEMENTS = 24  # in one call
APART = RESIDUAL_COUNT + 3 * MOST_JUDGEMENTS
"""Entries of `found` beside velocities and the point."""
Batches = list[tuple[tuple[str, ...], np.ndarray]]
"""What iterations tell: for every batch of them names, and values (iterations, names)."""
_NONE = np.empty(0)


class Attempt:
    """An attempt and what it found; everything but the array itself is read out of it when asked for.

    found: as above, made here where it is None; count: of judgements; seconds: taken; is_traced: are the judgements
    kept? is_least: are its reactions the least of many?"""

    __slots__ = ("count", "found", "is_least", "is_traced", "problem", "seconds")

    def __init__(self, problem: Problem, found: np.ndarray | None = None, count: int = 0, is_least: bool = False):
        self.problem = problem
        if found is None:
            beside = problem.delassus.velocity_count if problem.delassus.has_bodies else problem.row_count
            found = np.empty(APART + problem.row_count + beside)
        self.found, self.count, self.is_least = found, count, is_least
        self.seconds, self.is_traced = 0.0, True

    def is_within(self, tol: float, tol_velocity: float) -> bool:
        """Do the residuals of the returned point satisfy both tolerances?"""
        found = self.found
        return found.item(0) <= tol and found.item(RESIDUAL_COUNT - 1) <= tol_velocity

    @property
    def iterations(self) -> int:
        return int(self.found[self.count - 1 - 3 * MOST_JUDGEMENTS])

    @property
    def residuals(self) -> Residuals:
        found = Residuals(*self.found[:RESIDUAL_COUNT].tolist())
        if math.isnan(found.natural_map) and not self.problem.delassus.has_bodies:
            return evaluate_with_velocities(self.problem, self._beside)[0]  # velocities may have been written to
        return found

    @property
    def velocities(self) -> np.ndarray:
        """v, (m,) [m/s]."""
        return self.found[RESIDUAL_COUNT : RESIDUAL_COUNT + self.problem.row_count]

    @property
    def body_velocities(self) -> np.ndarray | None:
        """u, (n,) [m/s, rad/s]; None for dual problems."""
        if self.problem.u_f is None:
            return None
        return self._beside if self.problem.delassus.has_bodies else self.problem.body_velocity(self._beside)

    @property
    def _beside(self) -> np.ndarray:
        """Velocities of rigid bodies, or the point itself."""
        return self.found[RESIDUAL_COUNT + self.problem.row_count : -3 * MOST_JUDGEMENTS]

    @property
    def details(self) -> dict[str, list[float]]:
        """What the method told of every iteration, where it did."""
        return details_of(self.count.batches) if isinstance(self.count, Detailed) else {}

    @property
    def words(self) -> list[str]:
        """What was done, in a sentence."""
        return [f"an attempt in one compiled call: {self.iterations} iterations"]

    def judgements(self) -> tuple[list[int], list[float], list[float], list[float]]:
        """Iterations, seconds, relative natural maps and relative worst velocities. A compiled call has no clock: times
        are spread by iterations."""
        done, relative, velocity = judgements_in(self.found)[:, : self.count].tolist()
        each = self.seconds / max(done[-1], 1.0)
        return [int(k) for k in done], [each * k for k in done], relative, velocity


class Detailed(int):
    """A number of judgements, from a method that also tells what its iterations did."""

    batches: Batches

    @classmethod
    def of(cls, count: int, batches: Batches) -> "Detailed":
        out = cls(count)
        out.batches = batches
        return out


def details_of(batches: Batches) -> dict[str, list[float]]:
    """One list per name, with an entry for every iteration; NaN where a batch has none."""
    names = list(dict.fromkeys(name for batch, _ in batches for name in batch))
    out: dict[str, list[float]] = {name: [] for name in names}
    for batch, values in batches:
        for name, series in out.items():
            series.extend(values[:, batch.index(name)].tolist() if name in batch else [math.nan] * len(values))
    return out


def known(u_f: np.ndarray | None) -> np.ndarray:
    """The free velocities as compiled code takes them: empty where they are not known."""
    return _NONE if u_f is None else u_f


def room_for_judgements(found: np.ndarray) -> np.ndarray:
    """Where `found` has room for judgements: (3, MOST_JUDGEMENTS), a view."""
    return found[len(found) - 3 * MOST_JUDGEMENTS :].reshape(3, MOST_JUDGEMENTS)


judgements_in = njit(cache=True, inline="always")(room_for_judgements)
"""`room_for_judgements` for compiled code; an array that it returns to Python takes longer to make than NumPy's."""


@njit(cache=True, forceinline=True, **NO_REFCOUNT)
def finish_dense(D, v_f, reactions, judged_by, found):
    """Let the judge write what it says of the returned point, and its velocities.  D: (m, m) as it was given,
    v_f: (m,)."""
    m = len(v_f)
    at = RESIDUAL_COUNT + m
    for i in range(m):
        found[at + i] = reactions[i]
    measure_dense(D, v_f, reactions, judged_by, found[RESIDUAL_COUNT:at], found[:RESIDUAL_COUNT])


@njit(cache=True, **NO_REFCOUNT)
def finish_rigid(rigid, v_f, u_f, reactions, judged_by, found):
    """`finish_dense` for rigid bodies, whose velocities are written too.  rigid: `RigidDelassus.plain`; u_f: (n,), or
    empty where it is not known."""
    at = RESIDUAL_COUNT + len(v_f)
    u, v = found[at : len(found) - 3 * MOST_JUDGEMENTS], found[RESIDUAL_COUNT:at]
    judge_rigid(rigid, v_f, u_f, reactions, judged_by, u, v, found[:RESIDUAL_COUNT])


def are_few_joints(problem: Problem, settings: Settings | None = None) -> bool:
    """Are there few joints of rigid bodies, and nothing else?"""
    del settings
    rows = problem.row_count
    return problem.cone.bilateral_rows == rows and 0 < rows <= CARRY_ROWS and problem.delassus.has_bodies


def joints_at_once(
    problem: Problem,
    settings: Settings | None,
    reactions: np.ndarray,
    tols: tuple[float, float],
    max_iter: int,
    found: np.ndarray,
) -> int:
    """Few joints and nothing else. How many judgements there are: of the guess and, where that is not good enough, of
    the solution, with which the reactions are overwritten; none where there is more than joints, or too many.  tols:
    (tol, tol_velocity); found: of an `Attempt`."""
    if not are_few_joints(problem, settings):
        return 0
    rigid, free, u_f = problem.delassus.rigid.plain, problem.free_velocity, known(problem.u_f)
    return solve_alone(rigid, free, u_f, problem.data, tols, max_iter, reactions, found)


@njit(cache=True, error_model="numpy", nogil=True, **ADDRESSED)
def solve_alone(rigid, v_f, u_f, judged_by, tols, most, reactions, found):
    """`joints_at_once`, called by compiled code."""
    room, order = np.empty(joints_room(len(v_f))), np.empty(len(v_f), np.int64)
    count = solve_joints(rigid, v_f, judged_by, tols, most, reactions, found, room, order)
    if count > 0:
        finish_rigid(rigid, v_f, u_f, reactions, judged_by, found)
    return np.int64(count)


@njit(cache=True, **NO_REFCOUNT)
def joints_room(rows):
    """Numbers that `solve_joints` needs: D, v, reactions, and what `carry` takes."""
    return rows * rows + 2 * rows + carry_room(rows, 1)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def solve_joints(rigid, v_f, judged_by, tols, most, reactions, found, room, order):
    """How many judgements there are; none where D is not symmetric. One iteration is one solve.  v_f: (m,), of at most
    CARRY_ROWS rows of joints; room: of `joints_room`, order: (m,), scratch."""
    m, judgements = len(v_f), judgements_in(found)
    at = m * m
    D, v, carried = folded(room, m, m), room[at : at + m], folded(room[at + m :], m, 1)
    form_dense(rigid, False, D)
    for k in range(2):
        times_plus(D, reactions, v_f, v)
        relative, velocity = measure_at(reactions, v, judged_by)
        judgements[0, k], judgements[1, k], judgements[2, k] = k, relative, velocity
        if k >= min(1, most) or (relative <= tols[0] and velocity <= tols[1]):
            return k + 1
        if not carry_in(D, v_f, carried, room[at + 2 * m :], order):
            return 0
        for i in range(m):
            reactions[i] = -carried[i, 0]
    return 0
