"""Accelerated sweeps and proximal Newton on a small problem, begun, iterated and judged in one compiled call: the
batches of `ProxSsnMethod` would cost more than the work."""

from typing import Any

import numpy as np

from delassus.kernel import ADDRESSED, njit
from delassus.kernel.four_wide import PADDING
from delassus.kernel.memory import NO_REFCOUNT, folded
from delassus.linalg.dense_product import times_plus
from delassus.linalg.factor.dense_elimination import CARRY_ROWS
from delassus.linalg.operators.delassus import FEW_ROWS
from delassus.linalg.operators.rigid import body_count, rigid_velocities
from delassus.problem import Problem
from delassus.residuals import RESIDUAL_COUNT, measure_at
from delassus.solvers.newton import iteration
from delassus.solvers.newton.iteration import NEEDS_ORDER, order_members, phase_up_to
from delassus.solvers.newton.least_norm import least_of
from delassus.solvers.newton.swept import (
    BEST,
    FRICTION,
    ROWS,
    SPEED,
    UNITS,
    begin_small,
    end_small,
    few_of,
    place_small,
    record_in,
    sweep_contacts,
    sweep_small,
)
from delassus.solvers.parts.anderson import sweeps
from delassus.solvers.parts.at_once import (
    MOST_JUDGEMENTS,
    finish_dense,
    finish_rigid,
    joints_at_once,
    joints_room,
    judgements_in,
    known,
    solve_joints,
)
from delassus.solvers.parts.batch import Kernel, problem_of, room_of
from delassus.solvers.parts.threes import count_rigid, fill_dense, fill_rigid, rigid_scratch, triples_of

MOST_ROWS = 90
"""Up to which a problem is small: a factorisation then takes up to 60 µs."""
_RIGID_MORE = 2  # times as many rows of rigid bodies, among which D is sparse
_MOST_ITERATIONS_BEYOND = 24  # of those
MOST_JOINT_ROWS = 4 * MOST_ROWS
"""The same where most of them are of joints: a mechanism is nearly a tree, and 340 rows are factorised in 100 µs."""

MOST_ITERATIONS = 150
"""In one call, which looks at no clock: up to 10 ms."""

PATH_BEGIN = 1e-3
"""Weight at which the path to the least reactions begins, in scaled units."""

_NO_BODIES = np.empty((0, 2), np.int64), np.empty(0, np.int64), np.empty((0, 12)), np.empty((0, 12)), np.empty(0)
_NO_MATRIX = np.empty((0, 0))
_BODIES_ALONG_PATH = None  # in the place of D


def most_iterations(rows: int, bilateral: int, max_iter: int) -> int:
    """Iterations of an attempt: as many systems as take a hundredth of a second, were D full. Mechanisms, where it is
    not, may take more, and joints alone are solved by three or not at all.  bilateral: rows of joints."""
    is_cheap = rows <= MOST_ROWS or rows < 2 * bilateral < 2 * rows
    return min(max_iter, MOST_ITERATIONS if is_cheap else _MOST_ITERATIONS_BEYOND)


def is_small(problem: Problem, follows_path: bool) -> bool:
    """Are there few enough rows for `small_at_once`?  follows_path: is the path to the least reactions asked for?"""
    rows, bilateral = problem.row_count, problem.cone.bilateral_rows
    if not problem.delassus.has_bodies:
        return 0 < rows <= MOST_ROWS
    if 2 * bilateral > rows and (bilateral < rows or follows_path):
        return 0 < rows <= MOST_JOINT_ROWS
    return 0 < rows <= _RIGID_MORE * MOST_ROWS


def small_at_once(
    problem: Problem,
    plain: tuple[float, ...],
    takes_least: float,
    reactions: np.ndarray,
    tols: tuple[float, float],
    max_iter: int,
    found: np.ndarray,
) -> int:
    """How many judgements were made, none where others have to take over. The reactions are overwritten by the best
    point.  problem: see `is_small`; plain: of `ProxSsn`; takes_least, tols: of `solve_small`; found: of an
    `Attempt`."""
    delassus, rows, bilateral = problem.delassus, problem.row_count, problem.cone.bilateral_rows
    most = most_iterations(rows, bilateral, max_iter)
    if bilateral == rows:
        # a kernel of its own, so that a mechanism that touches nothing waits for no other
        count = joints_at_once(problem, None, reactions, tols, most, found)
        if count:
            return count
    if problem.is_small and plain[7] == 0.0 and 3 * problem.contact_count == rows and not np.count_nonzero(reactions):
        count = sweep_contacts(problem.packed, asked_of(tols, most, plain), reactions, found)
        if count:
            return count
    full: np.ndarray | None = _NO_MATRIX if plain[7] == 0.0 else _BODIES_ALONG_PATH
    rigid: tuple[np.ndarray, ...] = _NO_BODIES
    if delassus.has_bodies:
        rigid = delassus.rigid.plain
    else:
        full = delassus.full
    return solve_small(
        full,
        rigid,
        known(problem.u_f),
        problem.free_velocity,
        problem.data,
        tols,
        most,
        plain,
        takes_least,
        reactions,
        found,
    )


def small_batch(plain: tuple[float, ...], tols: tuple[float, float], max_iter: int) -> Kernel:
    """`small_at_once` for the problems of a batch."""
    most = min(max_iter, MOST_ITERATIONS)

    def kernel(*given: Any) -> None:
        _batch_at_once(*given, _NO_BODIES, known(None), plain, tols, most, asked_of(tols, most, plain))  # type: ignore[call-arg]

    return kernel


def asked_of(tols: tuple[float, float], max_iter: int, plain: tuple[float, ...]) -> np.ndarray:
    """What `sweep_contacts` is asked for."""
    return np.array([*tols, min(max_iter, MOST_ITERATIONS), plain[5], plain[6]])


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
    count = 0
    if full is not None and len(full) == 0 and judged_by[3] == len(v_f) <= CARRY_ROWS:
        room, order = np.empty(joints_room(len(v_f))), np.empty(len(v_f), np.int64)
        count = solve_joints(rigid, v_f, judged_by, tols, most, reactions, found, room, order)
    if count == 0:
        count = _judged_guess(full, rigid, v_f, judged_by, tols, most, reactions, found)
    if count == 0:
        count = solve_at_once(full, rigid, v_f, judged_by, tols, most, plain, reactions, judgements_in(found))
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
    error = _error_to_keep(rigid, v_f, tols, count, reactions, found)
    if error < 0.0:
        return False
    least = np.empty(len(v_f))
    v = found[RESIDUAL_COUNT : RESIDUAL_COUNT + len(v_f)]
    if not least_of(rigid, judged_by, reactions, v, error, least):
        return False
    finish_rigid(rigid, v_f, u_f, least, judged_by, found)
    if not (found[0] <= tols[0] and found[RESIDUAL_COUNT - 1] <= tols[1]):
        return False
    for i in range(len(least)):
        reactions[i] = least[i]
    return True


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _error_to_keep(rigid, v_f, tols, count, reactions, found):
    """Relative error of the velocities of a solution, and the velocities in `found`; −1 where it is none, or has been
    taken as it was."""
    judgements = judgements_in(found)
    relative, velocity = judgements[1, count - 1], judgements[2, count - 1]
    if judgements[0, count - 1] == 0.0 or not (relative <= tols[0] and velocity <= tols[1]):
        return -1.0
    _velocities_into(rigid, v_f, reactions, found)
    return velocity


@njit(cache=True, **NO_REFCOUNT)
def _velocities_into(rigid, v_f, reactions, found):
    """v of rigid bodies to its place in `found`; that of u is for room alone."""
    at = RESIDUAL_COUNT + len(v_f)
    u = found[at : len(found) - 3 * MOST_JUDGEMENTS]
    rigid_velocities(rigid, reactions, v_f, u, found[RESIDUAL_COUNT:at])


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _judged_guess(full, rigid, v_f, judged_by, tols, most, reactions, found):
    """1 where nothing needs to be done: the guess is well within the tolerances, or nothing may be done. Where D is in
    full, zero reactions are not looked at, unless nothing moves: a sweep finds out as well."""
    judgements, is_zero, is_full = judgements_in(found), True, full is not None and len(full) > 0
    for i in range(len(reactions)):
        is_zero = is_zero and reactions[i] == 0.0
    if is_zero and is_full and most > 0 and judged_by[9] > 0.0:
        return 0
    v = found[RESIDUAL_COUNT : RESIDUAL_COUNT + len(v_f)]
    if is_zero:
        for i in range(len(v_f)):
            v[i] = v_f[i]
    elif full is not None and len(full) > 0:
        times_plus(full, reactions, v_f, v)
    else:
        _velocities_into(rigid, v_f, reactions, found)
    relative, velocity = measure_at(reactions, v, judged_by)
    judgements[0, 0], judgements[1, 0], judgements[2, 0] = 0.0, relative, velocity
    is_good = relative <= iteration.UNTOUCHED * tols[0] and velocity <= iteration.UNTOUCHED * tols[1]
    return 1 if most <= 0 or is_good else 0


@njit(cache=True, error_model="numpy", nogil=True)
def _batch_at_once(batch, first, last, reactions, found, counts, no_bodies, no_u_f, plain, tols, most, asked):
    """counts: judgements of each problem from `first` to before `last`, none where no attempt is made.  asked: of
    `sweep_contacts`."""
    blocks = np.empty(FEW_ROWS**2)
    for q in range(first, last):
        own, room = room_of(batch, q, reactions, found)
        if len(own) > 0:
            counts[q] = _sweep_contacts_of(batch, q, plain, asked, own, room)
            if counts[q] == 0:
                D, v_f, judged_by = problem_of(batch, q, blocks)
                counts[q] = solve_small(D, no_bodies, no_u_f, v_f, judged_by, tols, most, plain, 0.0, own, room)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _sweep_contacts_of(batch, q, plain, asked, reactions, found):
    """`sweep_contacts` on one problem of a batch; nothing is done where there is a guess, or a path."""
    packed, _, _, at, _ = batch
    if plain[7] != 0.0:
        return 0
    for i in range(len(reactions)):
        if reactions[i] != 0.0:
            return 0
    return sweep_contacts(packed[at[3, q] : at[3, q + 1]], asked, reactions, found)


@njit(cache=True, error_model="numpy")
def solve_at_once(full, rigid, v_f, judged_by, tols, most, plain, reactions, judgements):
    """How many judgements were made. The reactions are those of a guess, and overwritten by the best point.

    full, rigid: of `solve_small`; v_f: (m,); judged_by: of the `Problem`; most: iterations, sweeps and systems
    together; plain: (ρ, first weight, least weight, Newton steps, sweeps before the path at most, first sweeps, memory,
    follow the path?); judgements: (3, k).

    Everything is cut out of a few arrays by functions that borrow them: on a few contacts, allocating forty and
    counting references to them takes longer than the work."""
    n, bodies = triples_of(judged_by[1]), 0
    if full is None or len(full) == 0:
        bodies = body_count(rigid[0])
    numbers = np.empty(len(v_f) + n + 1 + max(3 * n, rigid_scratch(len(rigid[0]), bodies)), np.int64)
    room = np.empty(_room_of(n, int(plain[6])))
    blocks = _place(full, rigid, judged_by, bodies, n, plain, numbers, room)
    index, value = np.empty(blocks + iteration.index_size(n, blocks), np.int64), np.empty(9 * blocks + PADDING)
    _pose(full, rigid, v_f, judged_by, bodies, n, plain, reactions, numbers, room, index, value)
    end = float(sweeps.TOO_DEAR)
    if full is not None:
        while plain[7] == 0.0:
            end = _sweep(most, tols, judged_by, n, plain, numbers, room, index, value)
            if end != sweeps.NEEDS_PRICE:
                break
            pointer, at = numbers[len(v_f) : len(v_f) + n + 1], 3 * n * (ROWS + 2 * int(plain[6]))
            table = room[:at].reshape(at // (3 * n), 3 * n)
            price = sweeps.factor_price(table[FRICTION][:n], table[BEST], pointer, index[: pointer[n]])
            room[at + sweeps.FACTOR_PRICE] = price
    if end == sweeps.TOO_DEAR or (end == sweeps.CONVERGED and judged_by[2] > 0):
        systems, factors = _begin_newton(most, n, len(v_f), plain, numbers, room, index), room[:0]
        while _newton(systems, tols, judged_by, n, plain, numbers, room, index, value, factors) == NEEDS_ORDER:
            factors = np.empty(_order(n, len(v_f), plain, numbers, room, index))
    return _end(tols, n, plain, numbers, room, reactions, judgements)


@njit(cache=True, **NO_REFCOUNT)
def _room_of(n, memory):
    """Numbers that n triples need: see `_cut_out`."""
    return 3 * n * (ROWS + 2 * memory) + few_of(memory) + n * (9 + _NEWTON) + iteration.STATE_SIZE + _LEFT


_NEWTON = 3 * iteration.VECTORS + 9 + iteration.SCRATCH  # numbers per triple
_LEFT = 48  # numbers of scratch of `fill_rigid`


@njit(cache=True, **NO_REFCOUNT)
def _cut_out(n, rows, plain, numbers, room):
    """(place, pointer, room and few of `swept`, diagonal, what is left for Newton's method), views."""
    memory = int(plain[6])
    width = ROWS + 2 * memory
    at = 3 * n * width
    middle = at + few_of(memory)
    table, end = folded(room, width, 3 * n), middle + 9 * n
    return numbers[:rows], numbers[rows : rows + n + 1], table, room[at:middle], room[middle:end], room[end:]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _place(full, rigid, judged_by, bodies, n, plain, numbers, room):
    """Where rows go and which blocks D has; how many these are, at most."""
    rows = judged_by[1][len(judged_by[1]) - 1]
    place, pointer, table, few, _, _ = _cut_out(n, rows, plain, numbers, room)
    for i in range(len(few)):
        few[i] = 0.0
    place_small(judged_by, place, table)
    if full is not None and len(full) > 0:
        return n * (n - 1)
    return count_rigid(rigid, bodies, place, pointer, numbers[rows + n + 1 :])


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _pose(full, rigid, v_f, judged_by, bodies, n, plain, reactions, numbers, room, index, value):
    """D in triples, and everything in scaled units."""
    place, pointer, table, few, diagonal, rest = _cut_out(n, len(v_f), plain, numbers, room)
    scratch = numbers[len(v_f) + n + 1 :]
    if full is not None and len(full) > 0:
        fill_dense(full, place, n, scratch, pointer, index, value, diagonal)
    else:
        fill_rigid(rigid, bodies, place, scratch, rest, pointer, index[: pointer[n]], value, diagonal)
    begin_small(plain, pointer, index[: pointer[n]], value, diagonal, v_f, reactions, place, table, few)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _sweep(most, tols, judged_by, n, plain, numbers, room, index, value):
    """How accelerated sweeps end."""
    rows, convex = judged_by[1][len(judged_by[1]) - 1], 0.0 if judged_by[7] else 1.0
    place, pointer, table, few, diagonal, _ = _cut_out(n, rows, plain, numbers, room)
    column = index[: pointer[n]]
    return float(
        sweep_small(
            most, int(plain[6]), pointer, column, value, diagonal, convex, tols, place, judged_by, table, few
        )
    )  # fmt: skip


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _begin_newton(most, n, rows, plain, numbers, room, index):
    """The proximal iteration at the best point; how many systems it may solve."""
    _, pointer, table, few, _, rest = _cut_out(n, rows, plain, numbers, room)
    best, state = table[BEST], rest[: iteration.STATE_SIZE]
    centre = rest[iteration.STATE_SIZE + 3 * n * iteration.CENTRE :]
    for i in range(3 * n):
        centre[i] = best[i]
    iteration.begin(state, PATH_BEGIN if plain[7] > 0.0 else plain[1], plain[7])
    iteration.forget_members(index[pointer[n] :], n)
    return iteration.before_exact(most - (few[sweeps.DONE] if plain[7] == 0.0 else 0.0), state, table[FRICTION][:n])


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _newton(systems, tols, judged_by, n, plain, numbers, room, index, value, factors):
    """How the proximal iteration ends."""
    rows, convex = judged_by[1][len(judged_by[1]) - 1], 0.0 if judged_by[7] else 1.0
    place, pointer, table, few, diagonal, rest = _cut_out(n, rows, plain, numbers, room)
    at = iteration.STATE_SIZE
    state, middle = rest[:at], at + 3 * n * iteration.VECTORS
    vectors, A = folded(rest[at:], iteration.VECTORS, 3 * n), folded(rest[middle:], 3 * n, 3)
    return phase_up_to(
        systems, plain, 0.0, state, vectors, A, index[pointer[n] :], factors, rest[middle + 9 * n :], pointer,
        index[: pointer[n]], value, diagonal, table[SPEED], table[FRICTION][:n], convex, table[BEST], tols,
        table[UNITS : UNITS + 2], place, judged_by, record_in(few), few[sweeps.DONE] if plain[7] == 0.0 else 0.0,
    )  # fmt: skip


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _order(n, rows, plain, numbers, room, index):
    """Order the system anew; numbers that its factors take."""
    pointer = _cut_out(n, rows, plain, numbers, room)[1]
    return order_members(index[pointer[n] :], pointer, index[: pointer[n]])


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _end(tols, n, plain, numbers, room, reactions, judgements):
    """The best point; how many judgements there are."""
    place, _, table, few, _, _ = _cut_out(n, len(reactions), plain, numbers, room)
    return end_small(tols, place, table, few, reactions, judgements)
