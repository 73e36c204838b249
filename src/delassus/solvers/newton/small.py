"""Accelerated sweeps and proximal Newton on a small problem, begun, iterated and judged in one compiled call: the
batches of `ProxSsnMethod` would cost more than the work."""

from typing import Any

import numpy as np

from delassus.kernel import ADDRESSED, njit
from delassus.linalg.borrowed import BORROWED
from delassus.linalg.dense_product import times_plus
from delassus.linalg.factor.dense_elimination import CARRY_ROWS
from delassus.linalg.operators.delassus import FEW_ROWS
from delassus.linalg.operators.rigid import body_count, form_dense, rigid_velocities
from delassus.problem import Problem
from delassus.residuals import RESIDUAL_COUNT, measure_at
from delassus.solvers.newton import iteration
from delassus.solvers.newton.iteration import proximal_phase
from delassus.solvers.newton.least_norm import least_of
from delassus.solvers.newton.swept import (
    BEST,
    FEW_CONTACTS,
    FRICTION,
    ROWS,
    SPEED,
    UNITS,
    begin_small,
    end_small,
    few_of,
    place_small,
    record_in,
    scratch_of,
    sweep_contacts,
    sweep_small,
)
from delassus.solvers.parts.anderson import sweeps
from delassus.solvers.parts.at_once import (
    finish_dense,
    finish_rigid,
    joints_at_once,
    judgements_in,
    known,
    solve_joints,
)
from delassus.solvers.parts.batch import Kernel, problem_of, room_of
from delassus.solvers.parts.threes import cut_dense, cut_rigid, triples_of

MOST_ROWS = 90
"""Up to which a problem is small: a factorisation then takes up to 60 µs."""
_RIGID_MORE = 2  # times as many rows of rigid bodies, among which D is sparse
_MOST_ITERATIONS_BEYOND = 24  # of those

MOST_ITERATIONS = 150
"""In one call, which looks at no clock: up to 10 ms."""

PATH_BEGIN = 1e-3
"""Weight at which the path to the least reactions begins, in scaled units."""

_NO_BODIES = np.empty((0, 2), np.int64), np.empty(0, np.int64), np.empty((0, 12)), np.empty((0, 12)), np.empty(0)
_NO_MATRIX = np.empty((0, 0))
_BODIES_ALONG_PATH = None  # in the place of D


def most_iterations(rows: int, max_iter: int) -> int:
    """Iterations of an attempt: as many systems as take a hundredth of a second, were D full."""
    return min(max_iter, MOST_ITERATIONS if rows <= MOST_ROWS else _MOST_ITERATIONS_BEYOND)


def small_at_once(
    problem: Problem,
    plain: tuple[float, ...],
    takes_least: float,
    reactions: np.ndarray,
    tols: tuple[float, float],
    max_iter: int,
    found: np.ndarray,
) -> int:
    """How many judgements were made, none where the problem is larger. The reactions are overwritten by the best point.
    plain: of `ProxSsn`; takes_least, tols: of `solve_small`; found: of an `Attempt`."""
    rigid, rows = problem.delassus.rigid, problem.row_count
    if not 0 < rows <= (MOST_ROWS if rigid is None else _RIGID_MORE * MOST_ROWS):
        return 0
    most = most_iterations(rows, max_iter)
    if problem.cone.bilateral_rows == rows:
        # a kernel of its own, so that a mechanism that touches nothing waits for no other
        count = joints_at_once(problem, None, reactions, tols, most, found)
        if count:
            return count
    full = problem.delassus.full if rigid is None else _NO_MATRIX if plain[7] == 0.0 else _BODIES_ALONG_PATH
    return solve_small(
        full, _NO_BODIES if rigid is None else rigid.plain, known(problem.u_f), problem.free_velocity,
        problem.judged_by, tols, most, plain, takes_least, reactions, found,
    )  # fmt: skip


def small_batch(plain: tuple[float, ...], tols: tuple[float, float], max_iter: int) -> Kernel:
    """`small_at_once` for the problems of a batch."""
    most = min(max_iter, MOST_ITERATIONS)

    def kernel(*given: Any) -> None:
        scratch = np.empty(scratch_of(FEW_CONTACTS, int(plain[6])))
        _batch_at_once(*given, _NO_BODIES, known(None), plain, tols, most, scratch)  # type: ignore[call-arg]

    return kernel


@njit(cache=True, error_model="numpy", nogil=True, **ADDRESSED)
def solve_small(full, rigid, u_f, v_f, judged_by, tols, most, plain, takes_least, reactions, found):
    """A whole solve, for whoever is compiled too: how many judgements were made, none where others have to take over.
    Converged is what `found` says is within the tolerances.

    full: (m, m) D, empty for rigid bodies, and None for rigid bodies that are more than joints and whose path is
    followed, which is what steps ask for: by the type Numba knows what need not be compiled (a fifth of a first solve);
    rigid: `RigidDelassus.plain`, of empty arrays for matrices (two kernels would compile everything twice); u_f: (n,)
    or empty; v_f: (m,); judged_by: of the `Problem`; tols: (tol, tol_velocity); most: iterations; plain: of `ProxSsn`;
    takes_least: 1.0 where of many reactions that give the motion of rigid bodies the least are wanted, else 0.0;
    reactions: (m,) a guess, overwritten by the best point; found: of an `Attempt`, written."""
    count, judgements = 0, judgements_in(found)
    if full is not None and len(full) == 0 and judged_by[3] == len(v_f) <= CARRY_ROWS:
        D = np.empty((len(v_f), len(v_f)))
        form_dense(rigid, False, D)
        count = solve_joints(D, v_f, judged_by, tols, most, reactions, judgements)
    if count == 0:
        count = _judged_guess(full, rigid, v_f, judged_by, tols, most, reactions, found)
    if count == 0:
        count = solve_at_once(full, rigid, v_f, judged_by, tols, most, plain, reactions, judgements)
    if count == 0:
        return np.int64(0)
    if full is not None and len(full) > 0:
        finish_dense(full, v_f, reactions, judged_by, found)
    elif not (takes_least > 0.0 and _take_least(rigid, v_f, u_f, judged_by, tols, count, reactions, found)):
        finish_rigid(rigid, v_f, u_f, reactions, judged_by, found)
    return np.int64(count)


@njit(cache=True, error_model="numpy")
def _take_least(rigid, v_f, u_f, judged_by, tols, count, reactions, found):
    """The same motion by the least reactions, finished, where others would do it too and the judge finds the tolerances
    kept; else False. A guess that was taken as it is has been through this before."""
    judgements = judgements_in(found)
    relative, velocity = judgements[1, count - 1], judgements[2, count - 1]
    if judgements[0, count - 1] == 0.0 or not (relative <= tols[0] and velocity <= tols[1]):
        return False
    v, least, at = np.empty(len(v_f)), np.empty(len(v_f)), RESIDUAL_COUNT + len(v_f)
    rigid_velocities(rigid, reactions, v_f, found[at : len(found) - judgements.size], v)  # of bodies: for room alone
    if not least_of(rigid, judged_by, reactions, v, velocity, least):
        return False
    finish_rigid(rigid, v_f, u_f, least, judged_by, found)
    if not (found[0] <= tols[0] and found[RESIDUAL_COUNT - 1] <= tols[1]):
        return False
    for i in range(len(least)):
        reactions[i] = least[i]
    return True


@njit(cache=True, error_model="numpy", inline="always")
def _judged_guess(full, rigid, v_f, judged_by, tols, most, reactions, found):
    """1 where nothing needs to be done: the guess is well within the tolerances, or nothing may be done. Zero reactions
    are not looked at, unless nothing moves: a sweep finds out as well."""
    judgements, is_zero = judgements_in(found), True
    for i in range(len(reactions)):
        is_zero = is_zero and reactions[i] == 0.0
    if is_zero and most > 0 and judged_by[9] > 0.0:
        return 0
    v = np.empty(len(v_f))
    if full is not None and len(full) > 0:
        times_plus(full, reactions, v_f, v)
    else:
        at = RESIDUAL_COUNT + len(v_f)
        rigid_velocities(rigid, reactions, v_f, found[at : len(found) - judgements.size], v)
    relative, velocity = measure_at(reactions, v, judged_by)
    judgements[0, 0], judgements[1, 0], judgements[2, 0] = 0.0, relative, velocity
    is_good = relative <= iteration.UNTOUCHED * tols[0] and velocity <= iteration.UNTOUCHED * tols[1]
    return 1 if most <= 0 or is_good else 0


@njit(cache=True, error_model="numpy", nogil=True)
def _batch_at_once(batch, first, last, reactions, found, counts, no_bodies, no_u_f, plain, tols, most, scratch):
    """counts: judgements of each problem from `first` to before `last`, none where no attempt is made.  scratch: of
    `sweep_contacts`."""
    blocks = np.empty(FEW_ROWS**2)
    for q in range(first, last):
        own, room = room_of(batch, q, reactions, found)
        if len(own) > 0:
            counts[q] = _sweep_contacts_of(batch, q, tols, most, plain, own, room, scratch)
            if counts[q] == 0:
                D, v_f, judged_by = problem_of(batch, q, blocks)
                counts[q] = solve_small(D, no_bodies, no_u_f, v_f, judged_by, tols, most, plain, 0.0, own, room)


@njit(cache=True, error_model="numpy", **BORROWED)
def _sweep_contacts_of(batch, q, tols, most, plain, reactions, found, scratch):
    """`sweep_contacts` on one problem of a batch; nothing is done where there is more than contacts, or a path."""
    packed, _, numbers, at, _ = batch
    if len(numbers) > 1 or numbers[0, 0] + numbers[0, 2] > 0 or plain[7] != 0.0:
        return 0
    own = packed[at[3, q] : at[3, q + 1]]
    return sweep_contacts(own, tols[0], tols[1], most, int(plain[5]), int(plain[6]), reactions, found, scratch)


@njit(cache=True, error_model="numpy")
def solve_at_once(full, rigid, v_f, judged_by, tols, most, plain, reactions, judgements):
    """How many judgements were made. The reactions are those of a guess, and overwritten by the best point.

    full, rigid: of `solve_small`; v_f: (m,); judged_by: of the `Problem`; most: iterations, sweeps and systems
    together; plain: (ρ, first weight, least weight, Newton steps, sweeps before the path at most, first sweeps, memory,
    follow the path?); judgements: (3, k)."""
    n, memory = triples_of(judged_by[1]), int(plain[6])
    place = np.empty(len(v_f), np.int64)
    # two arrays for all that is needed: on a few contacts, allocating twenty takes longer than the sweeps
    room, few = np.empty((ROWS + 2 * memory, 3 * n)), np.zeros(few_of(memory))
    place_small(judged_by, place, room)
    pointer, column, value, diagonal = _cut(full, rigid, place, n)
    begin_small(plain, pointer, column, value, diagonal, v_f, reactions, place, room, few)
    convex, end = 0.0 if judged_by[7] else 1.0, sweeps.TOO_DEAR
    if full is not None:
        while plain[7] == 0.0:
            end = sweep_small(most, memory, pointer, column, value, diagonal, convex, tols, place, judged_by, room, few)
            if end != sweeps.NEEDS_PRICE:
                break
            few[sweeps.FACTOR_PRICE] = sweeps.factor_price(room[FRICTION][:n], room[BEST], pointer, column)
    if end == sweeps.TOO_DEAR or (end == sweeps.CONVERGED and judged_by[2] > 0):
        _newton(most, plain, pointer, column, value, diagonal, convex, tols, place, judged_by, room, few)
    return end_small(tols, place, room, few, reactions, judgements)


@njit(cache=True, error_model="numpy")
def _cut(full, rigid, place, n):
    """D in triples."""
    if full is not None and len(full) > 0:
        return cut_dense(full, place, n)
    return cut_rigid(rigid, body_count(rigid[0]), place, n)


@njit(cache=True, error_model="numpy")
def _newton(most, plain, pointer, column, value, diagonal, convex, tols, place, judged_by, room, few):
    """The proximal iteration from the best point."""
    n, done, best = room.shape[1] // 3, few[sweeps.DONE] if plain[7] == 0.0 else 0.0, room[BEST]
    mu, state = room[FRICTION][:n], np.empty(iteration.STATE_SIZE)
    vectors, A = np.empty((iteration.VECTORS, 3 * n)), np.empty((3 * n, 3))
    for i in range(3 * n):
        vectors[iteration.CENTRE, i] = best[i]
    iteration.begin(state, PATH_BEGIN if plain[7] > 0.0 else plain[1], plain[7])
    proximal_phase(
        iteration.before_exact(most - done, state, mu), plain, 0.0, state, vectors, A, pointer, column, value,
        diagonal, room[SPEED], mu, convex, best, tols, room[UNITS : UNITS + 2], place, judged_by,
        record_in(few), done,
    )  # fmt: skip
