"""ADMM on small problems: the start and every batch of iterations are one compiled call each, since on a dozen rows
putting the arrays together in Python takes ten times as long as the iterations. The arithmetic is that of `AdmmMethod`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.law import Law
from delassus.linalg.dense_product import dense_times, times_plus
from delassus.linalg.factor.dense_elimination import CARRY_ROWS, carry, subtract_carried
from delassus.linalg.operators.delassus import FEW_ROWS
from delassus.linalg.operators.rigid import form_dense
from delassus.linalg.operators.shifted_inverse import SMALL, invert_small
from delassus.problem import Problem
from delassus.problem.data import ProblemData
from delassus.residuals import measure_at
from delassus.solvers.admm.anderson import SCRATCH, STATUS_SIZE, clear_status, forget
from delassus.solvers.admm.iteration import (
    FACTORED,
    RHO,
    STATE_SIZE,
    Iterate,
    Rule,
    SplitCone,
    Terms,
    fill_state,
    iterate_dense,
    start_dual,
)
from delassus.solvers.admm.penalty import largest_eigenvalue_dense
from delassus.solvers.admm.reduced import scale_blocks
from delassus.solvers.method import Method
from delassus.solvers.parts.at_once import finish_dense, finish_rigid, judgements_in, known
from delassus.solvers.parts.batch import Batch, Kernel, problem_of, room_of

_AT_ONCE_ITERATIONS = 200  # at most, in one call: no time limit is looked at meanwhile
_FIRST_BATCH = 2  # iterations between the first judgements: each costs about one iteration


class PlainSettings(NamedTuple):
    """What compiled code needs of `Admm`; passed in as a plain tuple."""

    moves: bool  # does the penalty?
    is_spectral: bool  # by the spectral rule?
    rho: float
    eta: float
    omega: float
    ratio: float
    factor: float
    power: float
    power_step: float
    every: float
    patience: float
    moved: float
    depth: int  # of the extrapolation


class Task(NamedTuple):
    """One problem and how it is to be solved; passed in as a plain tuple."""

    v_f: np.ndarray  # (b + m,)
    block_start: np.ndarray  # (block_count + 1,)
    joint_rows: int  # b of them are eliminated
    is_scaled: bool
    cone: SplitCone  # of the other m
    settings: PlainSettings


class Limits(NamedTuple):
    """Where an attempt ends; passed in as a plain tuple."""

    tol: float
    tol_velocity: float
    most: int  # iterations


class Arrays(NamedTuple):
    """What the iteration keeps, (m,) each but where said."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    state: np.ndarray  # (STATE_SIZE,)
    v: np.ndarray  # free velocity, scaled
    scale: np.ndarray
    shift: np.ndarray  # η + ρ
    factor: np.ndarray  # (1,) of the penalty rule
    work: np.ndarray  # (3 m,)
    D: np.ndarray  # (m, m)
    inverse: np.ndarray  # (m, m)
    carried: np.ndarray  # (b, m + 1), see `carry`
    memory: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # of `anderson`


class SmallAdmm(Method):
    """At work on one problem of few rows.

    store: every array of the method, one behind the other; see `_views`; is_started: False where the joints' matrix is
    not symmetric, which is left to others."""

    is_compiled = True
    iterates_reactions = False

    def __init__(
        self, problem: Problem, plain: tuple[Any, ...], eliminates: bool, is_scaled: bool, reactions: np.ndarray
    ):
        cone = problem.cone
        self.reactions = reactions
        self.b = cone.bilateral_rows if eliminates else 0
        self.m = cone.row_count - self.b
        self.depth = plain[-1]
        self.task = _task(problem, plain, self.b, is_scaled)
        self.store = np.empty(_store_size(self.b, self.m, self.depth))
        self.is_started = _begin(problem.delassus.full, self.task, reactions, self.store)

    def advance(self, count: int) -> None:
        """`count` iterations."""
        _advance(count, self.task, self.reactions, self.store)
        self.finished = not self.m  # joints alone are one linear system

    @property
    def point(self) -> np.ndarray:
        """All that an iteration starts from: x of the proximal term, y and z, (3 m,)."""
        return self.store[: 3 * self.m].copy()

    def move_to(self, point: np.ndarray) -> None:
        """Go on from there; differences of the own acceleration no longer belong to it."""
        if self.m:
            _move(point, self.b, self.m, self.depth, self.store)

    @property
    def map_key(self) -> float:
        """The penalty, which makes the map what it is."""
        return float(self.store[3 * self.m + RHO]) if self.m else 0.0


def small_at_once(
    problem: Problem,
    plain: tuple[Any, ...],
    eliminates: bool,
    is_scaled: bool,
    reactions: np.ndarray,
    tols: tuple[float, float],
    max_iter: int,
    found: np.ndarray,
) -> int:
    """Begin, iterate and judge in one compiled call, while that takes few iterations: how many judgements there are,
    the last of which is that of the reactions, which are overwritten.  tols: (tol, tol_velocity); found: of an
    `Attempt`."""
    b = problem.cone.bilateral_rows if eliminates else 0
    task, limits = _task(problem, plain, b, is_scaled), (*tols, min(max_iter, _AT_ONCE_ITERATIONS))
    store = np.empty(_store_size(b, len(reactions) - b, plain[-1]))
    arguments = task, problem.judged_by, limits, reactions, store, found
    if problem.delassus.has_bodies:
        return _at_once_rigid(problem.delassus.rigid.plain, known(problem.u_f), *arguments)
    return _at_once_dense(problem.delassus.full, *arguments)


def small_batch(
    batch: Batch, plain: tuple[Any, ...], eliminates: bool, is_scaled: bool, tols: tuple[float, float], max_iter: int
) -> Kernel:
    """`small_at_once` for the problems of a batch."""
    limits = (*tols, min(max_iter, _AT_ONCE_ITERATIONS))
    size = _store_size(batch.most_joints, batch.most_rows, plain[-1])

    def kernel(*given: Any) -> None:
        _batch_at_once(*given, (eliminates, is_scaled, plain, limits), np.empty(size))  # type: ignore[call-arg]

    return kernel


def is_small(problem: Problem, eliminates: bool) -> bool:
    """Few enough rows to be split, and few enough joints to be eliminated, in compiled loops?"""
    joints = problem.cone.bilateral_rows if eliminates else 0
    return joints <= CARRY_ROWS and problem.row_count - joints <= SMALL


def _task(problem: Problem, plain: tuple[Any, ...], b: int, is_scaled: bool) -> tuple[Any, ...]:
    """A `Task` as a plain tuple."""
    cone = problem.cone
    split = (cone.bilateral_rows - b, 0, cone.unilateral, problem.mu, problem.law is Law.NCP)
    return problem.free_velocity, cone.block_start, b, is_scaled, split, plain


def _store_size(b: int, m: int, depth: int) -> int:
    fixed = 9 * m + STATE_SIZE + STATUS_SIZE + 1
    return fixed + 2 * m * m + b * (m + 1) + ((2 * depth + 4) * m if depth else 0) + (2 * depth + SCRATCH) * depth


@njit(cache=True)
def _views(store, b, m, depth):
    """The arrays that the store holds one behind the other.  m: rows the iteration sees; b: joint rows eliminated."""
    x, y, z, at = store[:m], store[m : 2 * m], store[2 * m : 3 * m], 3 * m
    state, at = store[at : at + STATE_SIZE], at + STATE_SIZE
    v, scale, shift, at = store[at : at + m], store[at + m : at + 2 * m], store[at + 2 * m : at + 3 * m], at + 3 * m
    work, at = store[at : at + 3 * m], at + 3 * m
    factor, at = store[at : at + 1], at + 1
    D, at = store[at : at + m * m].reshape(m, m), at + m * m
    inverse, at = store[at : at + m * m].reshape(m, m), at + m * m
    carried, at = store[at : at + b * (m + 1)].reshape(b, m + 1), at + b * (m + 1)
    status, at = store[at : at + STATUS_SIZE], at + STATUS_SIZE
    lines = 2 * depth + 4 if depth else 0
    vectors, at = store[at : at + lines * m].reshape(lines, m), at + lines * m
    matrices, at = store[at : at + 2 * depth * depth].reshape(2, depth, depth), at + 2 * depth * depth
    memory = vectors, matrices, store[at : at + SCRATCH * depth].reshape(SCRATCH, depth), status
    return Arrays(x, y, z, state, v, scale, shift, factor, work, D, inverse, carried, memory)


@njit(cache=True, error_model="numpy")
def _begin(full, task, reactions, store):
    """Lines 1–2 of Algorithm 6 with z⁰ = P_K*(v + Γ(v)) for the v of the starting reactions; False where the joints'
    matrix is not symmetric, which is left to others."""
    given = Task(*task)
    settings, v_f, b = PlainSettings(*given.settings), given.v_f, given.joint_rows
    m, rho, eta = len(v_f) - b, settings.rho, settings.eta
    own = _views(store, b, m, settings.depth)
    if b and not carry(full, v_f, own.carried):
        return False
    subtract_carried(full, v_f, own.carried, own.D, own.v)
    x, y, scale, velocity = own.x, own.y, own.scale, own.work[:m]
    for i in range(m):
        scale[i] = 1.0
    if given.is_scaled:
        diagonal = np.empty(b + m)
        for i in range(b + m):
            diagonal[i] = full[i, i]
        scale_blocks(own.D, own.v, given.block_start, b, diagonal, scale)
    own.factor[0] = settings.factor
    if settings.is_spectral:
        for i in range(m):
            velocity[i] = math.cos(i)
        L = largest_eigenvalue_dense(own.D, velocity, own.work[m : 2 * m])
        rho, own.factor[0] = math.sqrt(L * eta) * (L / eta) ** settings.power, (L / eta) ** settings.power_step
    fill_state(own.state, rho, settings.every)
    for i in range(m):
        own.shift[i] = eta + rho
        x[i] = y[i] = reactions[b + i] / scale[i]
    dense_times(own.D, x, velocity)  # of Dᵀ: a start need not be exact
    for i in range(m):
        velocity[i] += own.v[i]
    start_dual(given.cone, velocity, own.z)
    clear_status(own.memory[3])
    forget(own.memory, rho, y, own.z)
    return True


@njit(cache=True, error_model="numpy")
def _advance(count, task, reactions, store):
    """`count` iterations, then the reactions that go with them."""
    given = Task(*task)
    settings, b = PlainSettings(*given.settings), given.joint_rows
    m = len(reactions) - b
    own = _views(store, b, m, settings.depth)
    state, y, scale, carried = own.state, own.y, own.scale, own.carried
    if m:
        if state[FACTORED] != state[RHO]:
            invert_small(own.D, own.shift, own.inverse)
            state[FACTORED] = state[RHO]
        rule = Rule(settings.moves, settings.ratio, own.factor[0], settings.patience, settings.moved)
        terms = Terms(given.cone, own.v, settings.eta, settings.omega, rule)
        iterate = Iterate(own.x, y, own.z, state, own.memory, own.shift, own.work)
        iterate_dense(count, own.inverse, own.D, terms, iterate)
    for i in range(m):
        reactions[b + i] = scale[i] * y[i]
    for i in range(b):
        value = -carried[i, m]
        for j in range(m):
            value -= carried[i, j] * reactions[b + j]
        reactions[i] = value


@njit(cache=True, error_model="numpy")
def _at_once(full, task, judged_by, limits, reactions, store, judgements):
    """How many judgements there are; the last one is within the tolerances, or the attempt is given up. judgements:
    (3, most), written."""
    given, limit = Task(*task), Limits(*limits)
    v_f, most = given.v_f, limit.most
    n, done = len(v_f), 0
    v = np.empty(n)
    for k in range(judgements.shape[1]):
        times_plus(full, reactions, v_f, v)
        relative, velocity = measure_at(reactions, v, judged_by)
        judgements[0, k], judgements[1, k], judgements[2, k] = done, relative, velocity
        reached = relative <= limit.tol and velocity <= limit.tol_velocity
        if reached or done >= most or (k and given.joint_rows == n):
            return k + 1
        if k == 0 and not _begin(full, task, reactions, store):
            return 1
        count = min(most - done, max(_FIRST_BATCH, done // 4))
        _advance(count, task, reactions, store)
        done += count
    return judgements.shape[1]


@njit(cache=True, error_model="numpy")
def _at_once_dense(full, task, judged_by, limits, reactions, store, found):
    count = _at_once(full, task, judged_by, limits, reactions, store, judgements_in(found))
    finish_dense(full, Task(*task).v_f, reactions, judged_by, found)
    return count


@njit(cache=True, error_model="numpy")
def _at_once_rigid(rigid, u_f, task, judged_by, limits, reactions, store, found):
    v_f = Task(*task).v_f
    full = np.empty((len(v_f), len(v_f)))
    form_dense(rigid, False, full)
    count = _at_once(full, task, judged_by, limits, reactions, store, judgements_in(found))
    finish_rigid(rigid, v_f, u_f, reactions, judged_by, found)
    return count


@njit(cache=True, error_model="numpy", nogil=True)
def _batch_at_once(batch, first, last, reactions, found, counts, options, store):
    """counts: judgements of each problem from `first` to before `last`; none where it is not small.

    options: (are joints eliminated?, are blocks scaled?, settings, limits), plain."""
    eliminates, is_scaled, plain, limits = options
    blocks = np.empty(FEW_ROWS**2)
    for q in range(first, last):
        D, v_f, judged_by = problem_of(batch, q, blocks)
        law = ProblemData(*judged_by)
        b = law.bilateral_rows if eliminates else 0
        if b > CARRY_ROWS or len(v_f) - b > SMALL:
            continue
        own, room = room_of(batch, q, reactions, found)
        cone = (law.bilateral_rows - b, 0, law.limit_count, law.mu, law.is_exact)
        task = v_f, law.block_start, b, is_scaled, cone, plain
        counts[q] = _at_once_dense(D, task, judged_by, limits, own, store, room)


@njit(cache=True, error_model="numpy")
def _move(point, b, m, depth, store):
    """Let the iteration go on from x, y and z in `point`."""
    own = _views(store, b, m, depth)
    for i in range(m):
        own.x[i], own.y[i], own.z[i] = point[i], point[m + i], point[2 * m + i]
    forget(own.memory, own.state[RHO], own.y, own.z)
