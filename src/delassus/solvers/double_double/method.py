"""`ipm-dd`: the convex law where masses are so far apart that reactions need two doubles.

An interior point as far as a polish can go on from, and the polish; where that gets stuck, the interior point goes on
from where it was left, to a hundredth, and so on. One iteration is one factorisation of either, the last one a few.
"""

import numpy as np

from delassus import residuals
from delassus.linalg.operators.rigid_pairs import pair_velocities
from delassus.problem import Problem
from delassus.solvers.double_double.bodies import Bodies
from delassus.solvers.double_double.interior import Interior
from delassus.solvers.double_double.polish import Polish
from delassus.solvers.double_double.settings import DoubleDoubleIpm
from delassus.solvers.method import Method

_ARRIVED, _QUICK, _MOST_EXTRA = 1e-6, 0.1, 4  # relative velocity, its fall in a step, and steps beyond the last one
_FAR, _STALE_STEPS = 1e-3, 8  # after another bias: relative velocity from which it begins anew, and steps until then
_NEARER = 0.01  # what the next hand-over is to the last
_LEAST = 1e-13  # hand-over below which the interior point itself has reached the end of its digits


class DoubleDoubleMethod(Method):
    """reactions, reactions_low: (m,) each, λ = reactions + reactions_low [N s]."""

    ignores_guess = True

    def __init__(self, problem: Problem, settings: DoubleDoubleIpm, reactions: np.ndarray):
        self.problem, self.settings = problem, settings
        self.reactions = reactions
        self.reactions_low: np.ndarray = np.zeros_like(reactions)
        self.finished, self.is_costly = False, True
        self.bodies = Bodies(problem)
        self._begin()

    def _begin(self) -> None:
        self.interior = Interior(self.bodies)
        self.polish: Polish | None = None
        self.polished = 0  # steps of the present polish
        self.hand_over = self.settings.hand_over
        self.is_stuck = self.is_stale = False  # the interior point: nothing moves it; made for another bias

    def advance(self, count: int) -> None:
        """`count` factorisations."""
        for _ in range(count):
            if not self.finished:
                self._interior_step() if self.polish is None else self._polish_step()

    def repose(self, problem: Problem) -> bool:
        """Go on with another bias, the problem being the same otherwise."""
        self.problem, self.is_stale = problem, True
        self.bodies.repose(problem)
        if residuals.measure(problem, self.reactions, self.reactions_low).velocity > _FAR:
            self._begin()
        elif self.polish is not None:
            self._begin_polish()
        return True

    def _interior_step(self) -> None:
        works = self.interior.step()
        self._write(self.interior.reactions)
        worst = residuals.measure(self.problem, self.reactions, self.reactions_low).velocity
        if not works or worst <= self.hand_over:
            self.is_stuck = not works
            self._begin_polish()

    def _begin_polish(self) -> None:
        rigid, u_f = self.problem.delassus.rigid, self.problem.u_f
        assert rigid is not None
        _, u = pair_velocities(rigid, u_f, self.problem.bias, self.reactions, self.reactions_low)
        self.polish = Polish(self.bodies, np.column_stack([self.reactions, self.reactions_low]), u)
        self.polished = 0

    def _polish_step(self) -> None:
        assert self.polish is not None
        works = self.polish.step()
        self.polished += 1
        self._write(self.polish.reactions)
        if works:
            works = self._last_digits()
        if works and self.polished < (_STALE_STEPS if self.is_stale else self.settings.polish_steps):
            return
        if self.is_stale:
            self._begin()
        elif self.is_stuck or self.hand_over <= _LEAST:
            self.finished = True
        else:
            self.polish, self.hand_over = None, _NEARER * self.hand_over

    def _last_digits(self) -> bool:
        """Take a polish that has arrived on to rounding: one or two systems more, since it converges quadratically.
        What a light body keeps of an error, what it carries multiplies in the next step."""
        assert self.polish is not None
        worst = residuals.measure(self.problem, self.reactions, self.reactions_low).velocity
        for _ in range(_MOST_EXTRA):
            if not worst <= _ARRIVED:
                break
            works = self.polish.step()
            pairs = self.polish.reactions
            now = residuals.measure(self.problem, pairs[:, 0].copy(), pairs[:, 1].copy()).velocity
            if not (works and now < worst):
                return works
            self._write(pairs)
            if now > _QUICK * worst:
                break
            worst = now
        return True

    def _write(self, pairs: np.ndarray) -> None:
        self.reactions[:], self.reactions_low[:] = pairs[:, 0], pairs[:, 1]
