"""Accelerated sweeps and proximal Newton on a small problem: started, iterated and judged in one compiled call: the
batches of `ProxSsnMethod` would cost more than the work."""

from typing import Any, NamedTuple

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
from delassus.solvers.newton.iteration import NEEDS_ORDER, Newton, Rule, System, order_members, phase_up_to
from delassus.solvers.newton.least_norm import least_of
from delassus.solvers.newton.swept import (
    BEST,
    FRICTION,
    ROWS,
    begin_small,
    end_small,
    few_of,
    judge_in,
    place_small,
    sweep_contacts,
    sweep_small,
    triples_in,
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
"""Up to which it is small where most rows are of joints: a mechanism is nearly a tree, and 340 rows are factorised in
100 µs."""

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
    """Solve a small problem; called by compiled code. Returns the number of judgements, 0 where another method is
    needed. It has converged where the residuals in `found` are within the tolerances.

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
    """Replace the reactions by the least with their motion, finished, where others would do it too and the judge finds
    the tolerances met; else False. A guess that was taken as it is has been through this before."""
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
    together; plain: fields of `Rule`; judgements: (3, k).

    Everything is cut out of a few arrays by functions that borrow them: on a few contacts, allocating forty and
    counting references to them takes longer than the work."""
    n, bodies, rule = triples_of(judged_by[1]), 0, Rule(*plain)
    if full is None or len(full) == 0:
        bodies = body_count(rigid[0])
    numbers = np.empty(len(v_f) + n + 1 + max(3 * n, rigid_scratch(len(rigid[0]), bodies)), np.int64)
    store = Store(rule, n, len(v_f), numbers, np.empty(_room_of(n, int(rule.memory))))
    blocks = _place(full, rigid, judged_by, bodies, store)
    index, value = np.empty(blocks + iteration.index_size(n, blocks), np.int64), np.empty(9 * blocks + PADDING)
    _pose(full, rigid, bodies, v_f, reactions, store, index, value)
    end = float(sweeps.TOO_DEAR)
    if full is not None:
        while rule.follows_path == 0.0:
            end = _sweep(most, tols, judged_by, store, index, value)
            if end != sweeps.NEEDS_PRICE:
                break
            pointer, room, at = numbers[len(v_f) : len(v_f) + n + 1], store.room, 3 * n * (ROWS + 2 * int(rule.memory))
            table = room[:at].reshape(at // (3 * n), 3 * n)
            price = sweeps.factor_price(table[FRICTION][:n], table[BEST], pointer, index[: pointer[n]])
            room[at + sweeps.FACTOR_PRICE] = price
    if end == sweeps.TOO_DEAR or (end == sweeps.CONVERGED and judged_by[2] > 0):
        systems, factors = _begin_newton(most, store, index), store.room[:0]
        while _newton(systems, tols, judged_by, store, index, value, factors) == NEEDS_ORDER:
            factors = np.empty(_order(store, index))
    return _end(tols, store, reactions, judgements)


class Store(NamedTuple):
    """Where everything of a solve is: two arrays that `_cut_out` takes apart."""

    rule: Rule
    n: int
    """Triples."""
    rows: int
    numbers: np.ndarray
    room: np.ndarray


class Pieces(NamedTuple):
    """Views of a `Store`."""

    place: np.ndarray
    """(m,) where each row goes."""
    pointer: np.ndarray
    """(n + 1,)."""
    scratch: np.ndarray
    """Whole numbers that are left."""
    table: np.ndarray
    """`room` of `swept`."""
    few: np.ndarray
    """Of `swept`."""
    diagonal: np.ndarray
    """(9 n,)."""
    rest: np.ndarray
    """For Newton's method."""


@njit(cache=True, **NO_REFCOUNT)
def _room_of(n, memory):
    """Numbers that n triples need: see `_cut_out`."""
    return 3 * n * (ROWS + 2 * memory) + few_of(memory) + n * (9 + _NEWTON) + iteration.STATE_SIZE + _LEFT


_NEWTON = 3 * iteration.VECTORS + 9 + iteration.SCRATCH  # numbers per triple
_LEFT = 48  # numbers of scratch of `fill_rigid`


@njit(cache=True, **NO_REFCOUNT)
def _cut_out(store):
    """`Pieces`."""
    n, rows, numbers, room, memory = store.n, store.rows, store.numbers, store.room, int(store.rule.memory)
    width = ROWS + 2 * memory
    at = 3 * n * width
    middle = at + few_of(memory)
    table, end, first = folded(room, width, 3 * n), middle + 9 * n, rows + n + 1
    return Pieces(
        numbers[:rows], numbers[rows:first], numbers[first:], table, room[at:middle], room[middle:end], room[end:]
    )


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _place(full, rigid, data, bodies, store):
    """Where rows go and which blocks D has; how many these are, at most."""
    own = _cut_out(store)
    for i in range(len(own.few)):
        own.few[i] = 0.0
    place_small(data, own.place, own.table)
    if full is not None and len(full) > 0:
        return store.n * (store.n - 1)
    return count_rigid(rigid, bodies, own.place, own.pointer, own.scratch)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _pose(full, rigid, bodies, v_f, reactions, store, index, value):
    """D in triples, and everything in scaled units."""
    own = _cut_out(store)
    place, pointer, diagonal = own.place, own.pointer, own.diagonal
    if full is not None and len(full) > 0:
        fill_dense(full, place, store.n, own.scratch, pointer, index, value, diagonal)
    else:
        fill_rigid(rigid, bodies, place, own.scratch, own.rest, pointer, index[: pointer[store.n]], value, diagonal)
    triples = triples_in((pointer, index[: pointer[store.n]], value, diagonal), 0.0, own.table)
    begin_small(store.rule, triples, v_f, reactions, place, own.table, own.few)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _sweep(most, tols, data, store, index, value):
    """How accelerated sweeps end."""
    own, convex = _cut_out(store), 0.0 if data[7] else 1.0
    triples = triples_in((own.pointer, index[: own.pointer[store.n]], value, own.diagonal), convex, own.table)
    judge = judge_in(tols, own.place, data, own.table, own.few)
    return float(sweep_small(most, int(store.rule.memory), triples, judge, own.table, own.few))


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _begin_newton(most, store, index):
    """The proximal iteration at the best point; how many systems it may solve."""
    own, n, rule = _cut_out(store), store.n, store.rule
    best, state = own.table[BEST], own.rest[: iteration.STATE_SIZE]
    centre = own.rest[iteration.STATE_SIZE + 3 * n * iteration.CENTRE :]
    for i in range(3 * n):
        centre[i] = best[i]
    iteration.begin(state, PATH_BEGIN if rule.follows_path > 0.0 else rule.alpha, rule.follows_path)
    iteration.forget_members(index[own.pointer[n] :], n)
    done = own.few[sweeps.DONE] if rule.follows_path == 0.0 else 0.0
    return iteration.before_exact(most - done, state, own.table[FRICTION][:n])


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _newton(systems, tols, data, store, index, value, factors):
    """How the proximal iteration ends."""
    own, n, rest, convex = _cut_out(store), store.n, _cut_out(store).rest, 0.0 if data[7] else 1.0
    at, blocks = iteration.STATE_SIZE, own.pointer[n]
    middle, done = at + 3 * n * iteration.VECTORS, own.few[sweeps.DONE] if store.rule.follows_path == 0.0 else 0.0
    vectors, A = folded(rest[at:], iteration.VECTORS, 3 * n), folded(rest[middle:], 3 * n, 3)
    newton = Newton(rest[:at], vectors, A, own.table[BEST], done, 0.0)
    system = System(index[blocks:], factors, rest[middle + 9 * n :])
    triples = triples_in((own.pointer, index[:blocks], value, own.diagonal), convex, own.table)
    judge = judge_in(tols, own.place, data, own.table, own.few)
    return phase_up_to(systems, store.rule, newton, system, triples, judge)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _order(store, index):
    """Order the system anew; numbers that its factors take."""
    pointer = _cut_out(store).pointer
    return order_members(index[pointer[store.n] :], pointer, index[: pointer[store.n]])


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _end(tols, store, reactions, judgements):
    """The best point; how many judgements there are."""
    own = _cut_out(store)
    return end_small(tols, own.place, own.table, own.few, reactions, judgements)
