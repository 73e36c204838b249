"""The phases on small problems of rigid bodies: compiled loops over the stages of `iteration` and `polish`, with the
dense system of `dense_system`.

Python does not know the tolerance, and a judgement costs a tenth of an iteration: the first batch goes to where most
tolerances are met, the judge's answer then says how far the rest has to go.
"""

import math

import numpy as np
from numba import njit

from delassus.problem import Problem
from delassus.solvers.interior.dense_system import assemble, factor, solve_system, sweep, velocity
from delassus.solvers.interior.infeasibility import Contradiction, Infeasibility
from delassus.solvers.interior.iteration import (
    BROKEN,
    CENTRED,
    CENTRING,
    DONE,
    FRACTION,
    RUNNING,
    SLOPPY,
    STALLED,
    Outcome,
    Work,
    begin_iteration,
    finish_iteration,
    first_tau,
    how_it_ended,
    natural_map,
    right_side,
    take_direction,
    work_of,
)
from delassus.solvers.interior.polish import Newton, aim, first_rho, newton_of, settle, take_newton_step
from delassus.solvers.interior.reduced import Reduced
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.starts import carrying_pair
from delassus.solvers.parts.jordan import centrality, centred_pair

_MOST_VELOCITIES, _MOST_ROWS = 300, 3000  # beyond, sparse factors are faster
_SWEEPS = 10
_CHECKED_TAU = 1e-4  # τ below which solves are checked and refined; above, the factor is accurate enough
_CONSISTENT = 1e-9  # inconsistent part of the joints' velocities, over all of them, that is rounding
_INTERIOR = ("tau", "step", "sigma", "correctors", "krylov", "primal")  # what is told of an iteration
_POLISH = ("step", "inner", "outer", "krylov")
_NO_JOINTS, _NO_ROOTS = np.zeros(1, np.int64), np.zeros((0, 3, 3))


def is_small(problem: Problem) -> bool:
    """Few rigid bodies: a compiled batch on dense matrices is cheaper than anything else."""
    rigid = problem.delassus.rigid
    return rigid is not None and 6 * len(rigid.mass) <= _MOST_VELOCITIES and problem.row_count <= _MOST_ROWS


class DenseSpace:
    """reduced: the problem with symmetric masses and joints eliminated."""

    is_costly, batch_min = False, 100
    goal = 3e-7  # scaled residual at which the judge is asked first: a third of it costs loose tolerances 7 % more
    polishes_when_done = False  # an iteration costs as little as one of the polish, and needs no more of them

    def __init__(self, reduced: Reduced, settings: Ipm):
        self.reduced, self.correctors = reduced, settings.correctors
        self.newton: Newton | None = None
        self.is_empty = not reduced.row_count  # joints alone: solved when they were eliminated
        self.is_solved, self.x = False, np.empty(0)
        self.restarts = [] if self.is_empty else [self.carry]  # ways to begin again, each to be used once

    def contradiction(self, infeasibility: Infeasibility) -> Contradiction | None:
        """The inconsistent part of the joints' velocities, if that is more than rounding."""
        return infeasibility.given_contradiction(self.reduced.contradiction, _CONSISTENT)

    def enter(self, reactions: np.ndarray, contradiction: Contradiction | None) -> None:
        """Room for everything, and a centred pair near the point that sweeps reach from the guess."""
        del contradiction  # left out when joints were eliminated
        reduced = self.reduced
        if self.is_empty:
            return
        m, n = reduced.row_count, reduced.size
        self.x = reduced.from_reactions(reactions)
        self.y, self.v = np.empty(m), np.empty(m)
        self.work = work_of(reduced.limits, np.empty(reduced.limits), np.empty((reduced.cones, 3, 3)), _NO_ROOTS)
        self.bodies, self.A, self.scratch = np.zeros((3, n + 6)), np.zeros((n + 6, n + 6)), np.empty((2, m))
        self.is_soft = bool(reduced.soft.any())
        self.short_steps = 0
        _start(reduced.rows, reduced.numbers, self.x, self.y, self.v, self.bodies, self.scratch)

    def carry(self, x: np.ndarray) -> None:
        """Start from reactions that carry everything that moves, stopped at once.

        No contact need carry more, and from there the number of iterations does not depend on masses. On 120 stacks of
        masses far apart it converges on 115 in 18 iterations, from the sweeps' point on 75 in 38; on ordinary problems
        that one is nearer."""
        del x
        reduced, self.newton, self.short_steps = self.reduced, None, 0
        reactions, speeds = carrying_pair(reduced.problem)
        self.x[:] = reduced.from_reactions(reactions)
        self.y[:] = reduced.from_reactions(speeds) * reduced.factor**2
        velocity(reduced.rows, reduced.q, reduced.soft, self.x, self.bodies[0], self.v)

    def interior(self, count: int, goal: float, goal_velocity: float) -> Outcome:
        """At most `count` iterations, until the natural map is below the goals."""
        reduced, values = self.reduced, np.empty((count, len(_INTERIOR)))
        if self.is_empty:
            end, self.is_solved = STALLED if self.is_solved else DONE, True
            return Outcome(1, end, self.x, 0.0, 0.0, (), np.empty((1, 0)))
        done, end, norm, worst, self.short_steps = _interior_batch(
            reduced.rows, reduced.numbers, self.is_soft, self.x, self.y, self.v, self.work, self.scratch, self.bodies,
            self.A, self.A.ravel(), self.correctors, goal, goal_velocity, self.short_steps, values,
        )  # fmt: skip
        return Outcome(done, end, self.x, norm, worst, _INTERIOR, values[:done])

    def begin_polish(self) -> None:
        """Go on by `polish`."""
        reduced, work = self.reduced, Work(*self.work)
        self.newton = newton_of(0, reduced.limits, reduced.soft, self.x, first_rho(reduced.limits, work.eta),
                                work.diagonal, work.blocks, work.roots)  # fmt: skip
        np.subtract(self.v, reduced.q + reduced.soft * self.x, out=self.newton.t)

    def polish(self, count: int, goal: float, goal_velocity: float, patience: int) -> Outcome:
        """At most `count` Newton steps, until the natural map is below the goals or was not halved for `patience`."""
        assert self.newton is not None
        reduced, values = self.reduced, np.empty((count, len(_POLISH)))
        done, end, norm, worst = _polish_batch(
            reduced.rows, reduced.numbers, tuple(self.newton), self.v, self.scratch, self.bodies, self.A,
            self.A.ravel(), goal, goal_velocity, patience, values,
        )  # fmt: skip
        return Outcome(done, end, self.newton.best, norm, worst, _POLISH, values[:done])

    def write_reactions(self, x: np.ndarray, out: np.ndarray) -> None:
        """out (m,) = λ [N s] of x (m',)."""
        self.reduced.write_reactions(x, out)

    def proofs(self) -> tuple[np.ndarray, ...]:
        """Reactions (m,) that may prove that nothing can satisfy the constraints."""
        return (self.reduced.balanced(self.x if self.newton is None else self.newton.best),) if len(self.x) else ()


def dense_space(problem: Problem, settings: Ipm) -> DenseSpace | None:
    """Where this is a small problem of rigid bodies with symmetric masses, and nothing else is asked for."""
    if settings.linear != "auto" or settings.backend != "auto" or not is_small(problem):
        return None
    reduced = Reduced(problem)
    return DenseSpace(reduced, settings) if reduced.is_symmetric else None


@njit(cache=True, error_model="numpy")
def _start(rows, numbers, x, y, v, bodies, scratch):
    """Sweep, and find the centred pair with x − y as there; v becomes the velocity of x."""
    limits, q, soft, speed = rows[0], numbers[0], numbers[1], numbers[2]
    difference = scratch[0]
    for stage in range(3):  # in one place: every call of a kernel is compiled anew
        velocity(rows, q, soft, x, bodies[0], v)
        if stage == 0:
            sweep(rows, q, soft, _SWEEPS, x, bodies[0])
        elif stage == 1:
            norm, _ = natural_map(_NO_JOINTS, limits, x, v, q, speed)
            mean = 0.0
            for i in range(len(x)):
                difference[i] = x[i] - v[i]
                mean += difference[i] * difference[i] / len(x)
            centred_pair(limits, difference, first_tau(mean, norm, 0.0), x, y)


@njit(cache=True, error_model="numpy")
def _interior_batch(rows, numbers, is_soft, x, y, v, work, scratch, bodies, A, flat, correctors, goal, goal_velocity,
                    short_steps, values):  # fmt: skip
    """At most len(values) iterations; (iterations, how it ended, norm, worst, short steps in a row).

    numbers: (4, m') q, compliance, speed; v: (m',) the velocity of x, kept; scratch: (2, m'); bodies: (3, size + 6);
    values: (count, len(_INTERIOR)) out."""
    limits, segments, at, J, _, end, paired = rows
    q, soft, speed = numbers[0], numbers[1], numbers[2]
    s, T = Work(*work), np.empty((3, 12 if paired else len(A)))
    norm, worst = natural_map(_NO_JOINTS, limits, x, v, q, speed)
    tau, _ = centrality(limits, x, y)
    for done in range(len(values)):
        largest, size = begin_iteration(0, limits, soft, is_soft, 0.0, x, y, v, work)
        assemble(limits, segments, at, J, end, paired, s.diagonal, s.blocks, T, A, flat)
        if not factor(A, end):
            return done, BROKEN, norm, worst, short_steps
        accuracy = math.inf if tau > _CHECKED_TAU else SLOPPY * tau / size
        stage, krylov, goes_on = -1, 0, True
        sigma, target, longest = 0.0, 0.0, 0.0
        while goes_on:  # in one place: every call of a kernel is compiled anew
            stage += 1
            rough = right_side(stage, 0, limits, is_soft, tau, target, longest, work)
            used = solve_system(rows, s.diagonal, s.blocks, A, s.right, s.more_dx, s.image, rough * accuracy, scratch,
                                bodies)  # fmt: skip
            if used < 0:
                if stage < 2:
                    return done, BROKEN, norm, worst, short_steps
                break
            krylov += used
            goes_on, sigma, target, longest = take_direction(
                stage, 0, limits, correctors, CENTRING, soft, x, y, tau, sigma, target, longest, work
            )
        step, tau, short_steps = finish_iteration(0, limits, FRACTION, CENTRED, longest, short_steps, x, y, work)
        velocity(rows, q, soft, x, bodies[0], v)
        norm, worst = natural_map(_NO_JOINTS, limits, x, v, q, speed)
        values[done, 0], values[done, 1], values[done, 2] = tau, step, sigma
        values[done, 3], values[done, 4], values[done, 5] = max(0, stage - 1), krylov, largest
        how = how_it_ended(step, short_steps, sigma, tau, norm, worst, goal, goal_velocity)
        if how != RUNNING:
            return done + 1, how, norm, worst, short_steps
    return len(values), RUNNING, norm, worst, short_steps


@njit(cache=True, error_model="numpy")
def _polish_batch(rows, numbers, newton, v, scratch, bodies, A, flat, goal, goal_velocity, patience, values):
    """At most len(values) Newton steps; (steps, how it ended, norm, worst).  v: (m',) scratch; the rest as above."""
    limits, segments, at, J, _, end, paired = rows
    q, soft, speed = numbers[0], numbers[1], numbers[2]
    s, T = Newton(*newton), np.empty((3, 12 if paired else len(A)))
    norm, worst = math.inf, math.inf
    for done in range(len(values)):
        aim(0, limits, q, soft, newton)
        assemble(limits, segments, at, J, end, paired, s.diagonal, s.blocks, T, A, flat)
        if not factor(A, end):
            return done, BROKEN, norm, worst
        krylov = solve_system(rows, s.diagonal, s.blocks, A, s.right, s.dx, s.image, 0.0, scratch, bodies)
        length = take_newton_step(0, limits, newton) if krylov >= 0 else 0.0
        if length == 0.0:
            return done, BROKEN, norm, worst
        velocity(rows, q, soft, s.best, bodies[0], v)
        norm, worst = natural_map(_NO_JOINTS, limits, s.best, v, q, speed)
        inner, outer, _ = settle(0, limits, length, q, soft, speed, v, norm, worst, newton)
        values[done, 0], values[done, 1], values[done, 2], values[done, 3] = length, inner, outer, krylov
        if norm <= goal and worst <= goal_velocity:
            return done + 1, DONE, norm, worst
        if s.counts[3] >= patience:
            return done + 1, STALLED, norm, worst
    return len(values), RUNNING, norm, worst
