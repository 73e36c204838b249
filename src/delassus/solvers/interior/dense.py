"""The phases on small problems of rigid bodies: compiled loops over the stages of `iteration` and `polish`, with the
dense system of `dense_system`. Arguments `rows` and `reduction` are those of `Reduced`.

Python does not know the tolerance, and a judgement costs a tenth of an iteration: the first batch goes to where most
tolerances are met, the judge's answer then says how far the rest has to go.
"""

import math

import numpy as np

from delassus.kernel import njit
from delassus.linalg.factor.envelope import factor
from delassus.problem import Problem
from delassus.residuals import RESIDUAL_COUNT
from delassus.solvers.interior.dense_system import assemble, dense_system, solve_system, sweep, velocity
from delassus.solvers.interior.infeasibility import Contradiction, Infeasibility
from delassus.solvers.interior.iteration import (
    BROKEN,
    CENTRED,
    CENTRING,
    DONE,
    FRACTION,
    LARGE,
    RUNNING,
    SLOPPY,
    STALLED,
    Aim,
    Outcome,
    Scaled,
    Work,
    begin_iteration,
    finish_iteration,
    first_tau,
    how_it_ended,
    natural_map,
    right_side,
    take_direction,
)
from delassus.solvers.interior.polish import Newton, begin_newton_step, first_rho, newton_of, settle, take_newton_step
from delassus.solvers.interior.reduced import FACTOR, NUMBERS, SOFT, SPEED, Q, Reduced, Rows, read, write
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.starts import best_multiple, carrying_pair
from delassus.solvers.interior.weights import WeightArrays
from delassus.solvers.parts.at_once import (
    MOST_JUDGEMENTS,
    Batches,
    Detailed,
    are_few_joints,
    finish_rigid,
    joints_at_once,
    known,
    room_for_judgements,
)
from delassus.solvers.parts.jordan import centrality, centred_pair
from delassus.solvers.settings import Settings

_MOST_VELOCITIES, _MOST_ROWS = 300, 3000  # beyond, sparse factors are faster
_QUICK_COLUMNS, _QUICK_ROWS = 120, 600  # of problems attempted at once: an iteration takes 0.1 ms at most, and
_QUICK_ITERATIONS = 60  # so many of them, since no time limit is looked at meanwhile
_FIRST_GOAL = 10.0  # times the tolerances: scaled residuals at which they may be met; the judge then says where
PATIENCE = 20  # polish steps without halving the residual, where there is nothing to go back to
_SWEEPS = 10
_CHECKED_TAU = 1e-4  # τ below which solves are checked and refined; above, the factor is accurate enough
_CONSISTENT = 1e-9  # inconsistent part of the joints' velocities, over all of them, that is rounding
_INTERIOR = ("tau", "step", "sigma", "correctors", "krylov", "primal")  # details of an iteration, and of a polish step
_POLISH = ("step", "inner", "outer", "krylov")
_NO_JOINTS, _NONE = np.zeros(1, np.int64), np.empty(0)
# lines of `Reduced.vectors` behind those of the problem: the pair and the velocity of x, η and the diagonal of S on the
# orthant, two for the linear systems, and the vectors of `Work`
_X, _Y, _V = range(NUMBERS, NUMBERS + 3)
_ETA, _DIAGONAL = _V + 1, _V + 2
_SCRATCH = slice(_DIAGONAL + 1, _DIAGONAL + 3)
_WORK = slice(_SCRATCH.stop, _SCRATCH.stop + len(Work._fields) - 6)
_POLISH_VELOCITY = _WORK.start  # of the point that the polish reached: the velocity of x stays


def is_small(problem: Problem) -> bool:
    """Few rigid bodies: a compiled batch on dense matrices is cheaper than anything else."""
    delassus = problem.delassus
    return delassus.has_bodies and delassus.velocity_count <= _MOST_VELOCITIES and problem.row_count <= _MOST_ROWS


class DenseSpace:
    """reduced: the problem with joints eliminated, of use where masses are symmetric; x, y: (m',) the interior point;
    v: (m',) the velocity of x."""

    is_costly, batch_min = False, 100
    goal = 3e-7  # scaled residual at which the judge is asked first: a third of it costs loose tolerances 7 % more
    polishes_when_done = False  # an iteration costs as little as one of the polish, and needs no more of them

    def __init__(self, problem: Problem, settings: Ipm):
        self.reduced, self.correctors = Reduced(problem, _WORK.stop), settings.correctors
        self.newton: Newton | None = None
        self.is_empty = not self.reduced.row_count  # joints alone: solved when they were eliminated
        self.is_solved = False
        vectors = self.reduced.vectors
        self.x, self.y, self.v = vectors[_X], vectors[_Y], vectors[_V]
        self.restarts = [] if self.is_empty else ["carry"]  # ways to begin again, each to be used once

    @property
    def may_contradict(self) -> bool:
        """Is the inconsistent part of the joints' velocities more than rounding?"""
        return self.reduced.inconsistency > _CONSISTENT

    def contradiction(self, infeasibility: Infeasibility) -> Contradiction | None:
        """The inconsistent part of the joints' velocities."""
        return infeasibility.given_contradiction(self.reduced.contradiction)

    def enter(self, reactions: np.ndarray, contradiction: Contradiction | None) -> None:
        """A centred pair near the point that sweeps reach from the guess."""
        del contradiction  # left out when joints were eliminated
        reduced, self.short_steps = self.reduced, 0
        if not self.is_empty:
            _start(reduced.rows, reduced.vectors, reduced.reduction, reduced.start, reactions)

    def carry(self, x: np.ndarray) -> None:
        """Start from reactions that carry everything that moves, stopped at once.

        No contact need carry more, and from there the number of iterations does not depend on masses. On 120 stacks of
        masses far apart it converges on 115 in 18 iterations, from the sweeps' point on 75 in 38; on ordinary problems
        that one is nearer."""
        del x
        reduced, self.newton, self.short_steps = self.reduced, None, 0
        vectors, scratch = reduced.vectors, np.empty(reduced.size + 6)
        reactions, speeds = carrying_pair(reduced.problem)
        self.x[:] = reduced.from_reactions(reactions)
        self.y[:] = reduced.from_reactions(speeds) * vectors[FACTOR] ** 2
        velocity(reduced.rows, vectors[Q], vectors[SOFT], self.x, scratch, self.v)

    def interior(self, count: int, goal: float, goal_velocity: float) -> Outcome:
        """At most `count` iterations, until the natural map is below the goals."""
        reduced, values = self.reduced, np.empty((count, len(_INTERIOR)))
        if self.is_empty:
            end, self.is_solved = STALLED if self.is_solved else DONE, True
            return Outcome(1, end, self.x, 0.0, 0.0, 0.0, (), np.empty((1, 0)))
        (done, end, self.short_steps), size, (norm, worst) = _interior_batch(
            reduced.rows, reduced.vectors, self.correctors, (goal, goal_velocity), self.short_steps, values
        )
        return Outcome(done, end, self.x, size, norm, worst, _INTERIOR, values[:done])

    def begin_polish(self) -> None:
        """Go on by `polish`."""
        vectors, limits = self.reduced.vectors, self.reduced.limits
        rho, cones = np.empty(len(self.x)), (len(self.x) - limits) // 3
        first_rho(limits, vectors[_ETA], rho)
        weights = WeightArrays(vectors[_DIAGONAL, :limits], np.empty((cones, 3, 3)), np.empty((0, 3, 3)))
        self.newton = newton_of(tuple(_scaled(limits, vectors)), self.x, rho, weights)
        np.subtract(self.v, vectors[Q] + vectors[SOFT] * self.x, out=self.newton.t)

    def polish(self, count: int, goal: float, goal_velocity: float, patience: int) -> Outcome:
        """At most `count` Newton steps, until the natural map is below the goals or was not halved for `patience`."""
        assert self.newton is not None
        reduced, values = self.reduced, np.empty((count, len(_POLISH)))
        (done, end), size, (norm, worst) = _polish_batch(
            reduced.rows, reduced.vectors, tuple(self.newton), (goal, goal_velocity), patience, values
        )
        return Outcome(done, end, self.newton.best, size, norm, worst, _POLISH, values[:done])

    def write_reactions(self, x: np.ndarray, out: np.ndarray) -> None:
        """out (m,) = λ [N s] of x (m',)."""
        self.reduced.write_reactions(x, out)

    def judge(self, x: np.ndarray, out: np.ndarray, found: np.ndarray) -> None:
        """`write_reactions`, unless x is empty, and what the judge says of them.  found: of an `Attempt`."""
        reduced, problem = self.reduced, self.reduced.problem
        free = problem.free_velocity, known(problem.u_f)
        _write_and_judge(x, reduced.reduction, reduced.groups, reduced.rigid, free, problem.judged_by, (out, found))

    def proofs(self) -> tuple[np.ndarray, ...]:
        """Reactions (m,) that may prove that nothing can satisfy the constraints."""
        return (self.reduced.balanced(self.x if self.newton is None else self.newton.best),) if len(self.x) else ()


def fits_dense(problem: Problem, settings: Settings) -> bool:
    """Is the problem one for `dense_at_once`?"""
    assert isinstance(settings, Ipm)
    if problem.cone.bilateral_rows == problem.row_count:
        return are_few_joints(problem, settings)
    if not problem.delassus.has_bodies or problem.row_count > _QUICK_ROWS:
        return False
    # independent joints take one column each
    if problem.delassus.velocity_count - problem.cone.bilateral_rows > _QUICK_COLUMNS:
        return False
    return settings.polish and not problem.delassus.has_odd_masses()


def dense_at_once(
    problem: Problem,
    settings: Settings,
    reactions: np.ndarray,
    tols: tuple[float, float],
    max_iter: int,
    found: np.ndarray,
) -> int:
    """Both phases at a small problem of rigid bodies, without the driver's loop, which takes longer than they do. How
    many judgements there are, none where it needs another space. The attempt ends where the tolerances are met, or
    where more is needed than these phases: a proof, another start, the sparse space.  problem: see `fits_dense`; tols:
    (tol, tol_velocity); found: of an `Attempt`."""
    assert isinstance(settings, Ipm)
    done, count = 0, 1
    batches: Batches = []
    if problem.cone.bilateral_rows == problem.row_count:
        return joints_at_once(problem, settings, reactions, tols, max_iter, found)
    space = dense_space(problem, settings)
    if space is None or space.may_contradict:
        return 0
    judgements = room_for_judgements(found)
    space.judge(_NONE, reactions, found)
    judgements[:, 0] = 0, found[0], found[RESIDUAL_COUNT - 1]
    if (found[0] <= tols[0] and found[RESIDUAL_COUNT - 1] <= tols[1]) or not max_iter:
        return 1
    space.enter(best_multiple(problem, reactions) if reactions.any() else reactions, None)
    goal, goal_velocity = _FIRST_GOAL * tols[0], _FIRST_GOAL * tols[1]
    while count < MOST_JUDGEMENTS and done < min(max_iter, _QUICK_ITERATIONS):
        left = min(max_iter, _QUICK_ITERATIONS) - done
        if space.newton is None:
            outcome = space.interior(left, goal, goal_velocity)
        else:
            outcome = space.polish(left, goal, goal_velocity, PATIENCE)
        batches.append((outcome.names, outcome.values))
        if outcome.is_suspicious:
            break
        done += max(1, outcome.done)
        space.judge(outcome.x, reactions, found)
        relative, velocity = found[0], found[RESIDUAL_COUNT - 1]
        judgements[:, count] = done, relative, velocity
        count += 1
        if relative <= tols[0] and velocity <= tols[1]:
            break
        if outcome.is_stuck:
            if space.newton is not None or outcome.is_far or outcome.size >= LARGE:
                break
            space.begin_polish()
        goal, goal_velocity = outcome.closer(max(relative / tols[0], velocity / tols[1]), goal, goal_velocity)
    return Detailed.of(count, batches)


def dense_space(problem: Problem, settings: Ipm) -> DenseSpace | None:
    """Where this is a small problem of rigid bodies with symmetric masses, and nothing else is asked for."""
    if settings.linear != "auto" or settings.backend != "auto" or not is_small(problem):
        return None
    space = DenseSpace(problem, settings)
    return space if space.reduced.is_symmetric else None


@njit(cache=True, error_model="numpy", inline="always")
def _scaled(limits, vectors):
    """The problem's numbers by name."""
    soft, is_soft = vectors[SOFT], False
    for i in range(len(soft)):
        is_soft = is_soft or soft[i] > 0.0
    return Scaled(_NO_JOINTS, 0, limits, vectors[Q], soft, is_soft, vectors[SPEED])


@njit(cache=True, error_model="numpy")
def _start(rows, vectors, reduction, start, reactions):
    """Sweep from the reactions (m,), and find the centred pair with x − y as there; v becomes the velocity of x."""
    rows = Rows(*rows)
    limits, problem = rows.limits, _scaled(rows.limits, vectors)
    q, soft, x, v = problem.q, problem.soft, vectors[_X], vectors[_V]
    difference, u = vectors[_SCRATCH][0], np.empty(len(rows.end) + 6)
    read(reactions, reduction, start, x)
    for stage in range(3):  # in one place: every call of a kernel is compiled anew
        velocity(rows, q, soft, x, u, v)
        if stage == 0:
            sweep(rows, q, soft, _SWEEPS, x, u)
        elif stage == 1:
            norm, _ = natural_map(problem, x, v)
            mean = 0.0
            for i in range(len(x)):
                difference[i] = x[i] - v[i]
                mean += difference[i] * difference[i] / len(x)
            centred_pair(limits, difference, first_tau(mean, norm, 0.0), x, vectors[_Y])


@njit(cache=True, error_model="numpy", inline="always")
def _work(limits, vectors):
    """The arrays of an iteration by name."""
    x, cones, lines = vectors[_X], (vectors.shape[1] - limits) // 3, vectors[_WORK]
    eta, diagonal = vectors[_ETA, : limits + cones], vectors[_DIAGONAL, :limits]
    blocks, roots = np.empty((cones, 3, 3)), np.empty((0, 3, 3))
    w, z, primal, carried = lines[0], lines[1], lines[2], lines[3]
    dx, dy, a, b = lines[4], lines[5], lines[6], lines[7]
    c, right, more_dx, image = lines[8], lines[9], lines[10], lines[11]
    point = x, vectors[_Y]
    return Work(*point, eta, diagonal, blocks, roots, w, z, primal, carried, dx, dy, a, b, c, right, more_dx, image)


@njit(cache=True, error_model="numpy")
def _interior_batch(rows, vectors, correctors, goals, short_steps, values):
    """At most len(values) iterations; ((iterations, how it ended, short steps in a row), largest x, natural map).

    vectors: of `Reduced`, with x, y and the velocity of x; values: (count, len(_INTERIOR)) out."""
    rows = Rows(*rows)
    problem, s = _scaled(rows.limits, vectors), _work(rows.limits, vectors)
    x, v, largest_x = s.x, vectors[_V], 0.0
    system = dense_system(rows, s.diagonal, s.blocks, vectors[_SCRATCH])
    reached = natural_map(problem, x, v)
    tau, _ = centrality(rows.limits, x, s.y)
    done, how = 0, RUNNING
    while done < len(values) and how == RUNNING:
        largest, size = begin_iteration(problem, 0.0, v, s)
        assemble(system)
        if not factor(system.A, rows.end):
            how = BROKEN
            break
        accuracy = math.inf if tau > _CHECKED_TAU else SLOPPY * tau / size
        stage, krylov, goes_on = -1, 0, True
        aim = tau, 0.0, 0.0, 0.0
        while goes_on:  # in one place: every call of a kernel is compiled anew
            stage += 1
            rough = right_side(stage, problem, aim, s)
            used = solve_system(system, s.right, s.more_dx, s.image, rough * accuracy)
            if used < 0:
                how = BROKEN if stage < 2 else RUNNING
                break
            krylov += used
            goes_on, aim = take_direction(stage, problem, correctors, CENTRING, aim, s)
        if how == BROKEN:
            break
        last = Aim(*aim)
        step, tau, short_steps = finish_iteration(problem, FRACTION, CENTRED, last.longest, short_steps, s)
        velocity(rows, problem.q, problem.soft, x, system.bodies[0], v)
        reached = natural_map(problem, x, v)
        values[done, 0], values[done, 1], values[done, 2] = tau, step, last.sigma
        values[done, 3], values[done, 4], values[done, 5] = max(0, stage - 1), krylov, largest
        how = how_it_ended(step, short_steps, last.sigma, tau, reached, goals)
        done += 1
    for i in range(len(x)):
        largest_x = max(largest_x, abs(x[i]))
    return (done, how, short_steps), largest_x, reached


@njit(cache=True, error_model="numpy")
def _polish_batch(rows, vectors, newton, goals, patience, values):
    """At most len(values) Newton steps; ((steps, how it ended), largest reaction, natural map)."""
    rows, s = Rows(*rows), Newton(*newton)
    problem, v, largest_x = _scaled(rows.limits, vectors), vectors[_POLISH_VELOCITY], 0.0
    system = dense_system(rows, s.diagonal, s.blocks, vectors[_SCRATCH])
    reached = math.inf, math.inf
    done, how = 0, RUNNING
    while done < len(values) and how == RUNNING:
        begin_newton_step(problem, problem.q, newton)
        assemble(system)
        if not factor(system.A, rows.end):
            how = BROKEN
            break
        krylov = solve_system(system, s.right, s.dx, s.image, 0.0)
        length = take_newton_step(problem, newton) if krylov >= 0 else 0.0
        if length == 0.0:
            how = BROKEN
            break
        velocity(rows, problem.q, problem.soft, s.best, system.bodies[0], v)
        reached = natural_map(problem, s.best, v)
        inner, outer, _ = settle(problem, problem.q, length, v, reached, newton)
        values[done, 0], values[done, 1], values[done, 2], values[done, 3] = length, inner, outer, krylov
        done += 1
        if reached[0] <= goals[0] and reached[1] <= goals[1]:
            how = DONE
        elif s.counts[3] >= patience:
            how = STALLED
    for i in range(len(v)):
        largest_x = max(largest_x, abs(s.best[i]))
    return (done, how), largest_x, reached


@njit(cache=True, error_model="numpy")
def _write_and_judge(x, reduction, groups, rigid, free, judged_by, out):
    """free: (v_f, u_f); out: (reactions, `found`)."""
    reactions, found = out
    if len(x):
        write(x, reduction, groups, rigid, reactions)
    finish_rigid(rigid, free[0], free[1], reactions, judged_by, found)
