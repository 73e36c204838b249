"""The phases on large problems: Python loops over the compiled stages of `iteration` and `polish`, with sparse systems.

`dense` has the compiled loops over the same stages, for small problems.
"""

from typing import Protocol

import numpy as np

from delassus.solvers.interior.iteration import (
    BROKEN,
    CENTRED,
    CENTRING,
    FRACTION,
    RUNNING,
    SLOPPY,
    STALLED,
    Aim,
    begin_iteration,
    finish_iteration,
    how_it_ended,
    right_side,
    take_direction,
    work_of,
)
from delassus.solvers.interior.polish import begin_newton_step, newton_of, settle, take_newton_step
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.weights import Weights, inverse_roots
from delassus.solvers.parts.jordan import centrality
from delassus.waiting import clock

_STIFFEST = 1e10  # penalty of joints: 1e-16 of it is lost in the rest of the matrix
_STIFFER, _LONG_STEP, _LEFT_OPEN = 30.0, 0.8, 0.03  # it is raised by this where so long a step leaves this much open


class System(Protocol):
    """(I + S D) dx = right in one of its forms."""

    krylov: int  # iterations of the last solve
    needs_roots: bool  # does it work with F, S = F Fᵀ?

    @property
    def is_single(self) -> bool:
        """Is the present factor of single precision?"""

    def factor(self, weights: Weights, single: bool) -> bool:
        """Factor the system of these weights; False where that fails."""

    def solve(self, right: np.ndarray, dx: np.ndarray, image: np.ndarray, goal: float) -> bool:
        """dx and image = D dx (compliance left out), to a residual of `goal`; False where that broke down."""


class Interior:
    """x, y: (m',) bilateral rows first, changed in place; correctors: Gondzio's, at most; joint: penalty of bilateral
    rows; single_above: τ down to which the factor may have single precision."""

    centring, sloppy, centred = CENTRING, SLOPPY, CENTRED

    def __init__(
        self,
        standard: Standard,
        system: System,
        point: tuple[np.ndarray, np.ndarray],
        *,
        correctors: int,
        joint: float,
        single_above: float,
    ):
        self.standard, self.system = standard, system
        self.x, self.y = x, y = point
        self.correctors, self.joint, self.single_above = correctors, joint, single_above
        self.weights = Weights(standard.free, standard.limits, standard.cones, system.needs_roots)
        self.work = work_of(standard.limits, self.weights.arrays, x, y)
        self.tau, _ = centrality(standard.limits, x[standard.free :], y[standard.free :])
        self.short_steps = 0
        self.details: dict[str, float] = {}

    @property
    def dx(self) -> np.ndarray:
        """The last direction, (m',)."""
        return self.work.dx

    def step(self) -> bool:
        """One iteration: one factorisation, two solves and one per corrector tried; False where it broke down."""
        standard, free, work = self.standard, self.standard.free, tuple(self.work)
        scaled = standard.scaled
        v = self._velocity()
        largest, size = begin_iteration(scaled, self.joint, v, work)
        if len(self.work.roots):
            inverse_roots(standard.limits, self.work.eta, self.work.w[free:], standard.soft[free:], self.work.roots)
        # what a solve leaves over becomes primal residual; it should stay well below the velocities of closed contacts
        goal = self.sloppy * self.tau / size
        begin = clock()
        if not self.system.factor(self.weights, self.tau > self.single_above):
            return False
        factored = clock()
        stage, krylov, goes_on = -1, 0, True
        aim = Aim(self.tau, 0.0, 0.0, 0.0)
        while goes_on:
            stage += 1
            rough = right_side(stage, scaled, tuple(aim), work)
            if not self.system.solve(self.work.right, self.work.more_dx, self.work.image, rough * goal):
                if stage < 2:
                    return False
                break
            krylov += self.system.krylov
            goes_on, next_aim = take_direction(stage, scaled, self.correctors, self.centring, tuple(aim), work)
            aim = self._aimed(Aim(*next_aim)) if stage == 0 else Aim(*next_aim)
        step, self.tau, self.short_steps = self._move(aim.longest)
        self._stiffen(step, v[:free])
        self.details = {
            "tau": self.tau,
            "step": step,
            "sigma": aim.sigma,
            "correctors": float(max(0, stage - 1)),
            "krylov": float(krylov),
            "primal": largest,
            "joint": float(np.abs(v[:free]).max(initial=0.0)),
            "factor": factored - begin,
            "solve": clock() - factored,
            "single": float(self.system.is_single),
        }
        return step > 0.0

    def advance(self, goal: float, goal_velocity: float) -> tuple[int, float, float]:
        """One iteration; (how it ended, natural map of x)."""
        works = self.step()
        reached = self.standard.natural_map(self.x)
        if not works:
            return BROKEN, *reached
        step, sigma = self.details["step"], self.details["sigma"]
        end = how_it_ended(step, self.short_steps, sigma, self.tau, reached, (goal, goal_velocity))
        return end, *reached

    def _velocity(self) -> np.ndarray:
        """D x + q, (m',)."""
        self.standard.correct(self.x)
        return self.standard.velocity(self.x)

    def _aimed(self, aim: Aim) -> Aim:
        """What the corrector aims at, from what the predictor's step says."""
        return aim

    def _move(self, longest: float) -> tuple[float, float, int]:
        """Step; (its length, the new τ, short steps in a row)."""
        work, fraction = tuple(self.work), self._fraction()
        return finish_iteration(self.standard.scaled, fraction, self.centred, longest, self.short_steps, work)

    def _fraction(self) -> float:
        """How much of the way to the boundary is taken."""
        return FRACTION

    def _stiffen(self, step: float, before: np.ndarray) -> None:
        """Raise the penalty of joints where a nearly full step did not close them: other constraints leave them little
        mobility then."""
        free = self.standard.free
        if free and step > _LONG_STEP and np.abs(self.dx[:free]).max() > _LEFT_OPEN * self.joint * np.abs(before).max():
            self.joint = min(_STIFFER * self.joint, max(self.joint, _STIFFEST))


class Polish:
    """x: (m',) the reactions to start from; rho: (m',) the weights of rows, equal within a contact, in scaled units."""

    def __init__(self, standard: Standard, system: System, x: np.ndarray, rho: np.ndarray):
        self.standard, self.system = standard, system
        self.weights = Weights(standard.free, standard.limits, standard.cones, system.needs_roots)
        self.newton = newton_of(standard.scaled, x, rho, self.weights.arrays)
        self.best, self.dx = self.newton.best, self.newton.dx
        self.details: dict[str, float] = {}
        standard.correct(x)
        self.newton.t[:] = standard.operator.product(x)

    def advance(self, patience: float) -> tuple[int, float, float]:
        """One Newton step, and a new centre where the inner problem is solved; (how it ended, natural map of best).

        patience: steps without halving the natural map that count as stalled."""
        standard, newton, scaled = self.standard, self.newton, self.standard.scaled
        begin_newton_step(scaled, standard.offset, tuple(newton))
        begin = clock()
        if not self.system.factor(self.weights, False):
            return self._broken()
        factored = clock()
        if not self.system.solve(newton.right, newton.dx, newton.image, 0.0):
            return self._broken()
        solved = clock()
        length = take_newton_step(scaled, tuple(newton))
        if length == 0.0:
            return self._broken()
        v = standard.velocity(newton.best)
        reached = standard.natural_map_at(newton.best, v)
        inner, outer, moved = settle(scaled, standard.offset, length, v, reached, tuple(newton))
        if moved:
            standard.correct(newton.x)
        self.details = {
            "step": length,
            "inner": inner,
            "outer": outer,
            "krylov": float(self.system.krylov),
            "factor": factored - begin,
            "solve": solved - factored,
            "single": 0.0,
        }
        return STALLED if newton.counts[3] >= patience else RUNNING, *reached

    def _broken(self) -> tuple[int, float, float]:
        return BROKEN, *self.standard.natural_map(self.best)
