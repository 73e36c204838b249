"""`ipm-dd`: the convex law where masses are so far apart that reactions need two doubles.

An interior point runs until its worst velocity is small enough to hand over to the polish. Where the polish makes no
progress, the interior point goes on from where it was left to a hundredth of that velocity, and so on. One iteration is
one factorisation of either; the last one may take a few.
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

_POLISHED = 1e-6  # worst velocity, relative, below which a polish is taken on to rounding …
_EXTRA_STEPS = 4  # … by at most so many Newton steps …
_QUADRATIC = 0.1  # … as long as each reduces it by this factor: beyond, rounding is reached
_RESTART_ABOVE = 1e-3  # worst velocity, relative, after a change of bias above which the interior point starts anew
_STEPS_AFTER_REPOSE = 8  # of the polish after a change of bias, before the interior point starts anew
_HAND_OVER_FACTOR = 0.01  # between the worst velocities at which the interior point hands over, where a polish failed
_HAND_OVER_MIN = 1e-13  # below, the interior point itself has no digits left


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
        if residuals.measure(problem, self.reactions, self.reactions_low).velocity > _RESTART_ABOVE:
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
        if works and self.polished < (_STEPS_AFTER_REPOSE if self.is_stale else self.settings.polish_steps):
            return
        if self.is_stale:
            self._begin()
        elif self.is_stuck or self.hand_over <= _HAND_OVER_MIN:
            self.finished = True
        else:
            self.polish, self.hand_over = None, _HAND_OVER_FACTOR * self.hand_over

    def _last_digits(self) -> bool:
        """Take a polish that is nearly done on to rounding: one or two systems more, since it converges quadratically.
        A heavy body multiplies in the next step what is left of an error in the light body that carries it."""
        assert self.polish is not None
        worst = residuals.measure(self.problem, self.reactions, self.reactions_low).velocity
        for _ in range(_EXTRA_STEPS):
            if not worst <= _POLISHED:
                break
            works = self.polish.step()
            pairs = self.polish.reactions
            now = residuals.measure(self.problem, pairs[:, 0].copy(), pairs[:, 1].copy()).velocity
            if not (works and now < worst):
                return works
            self._write(pairs)
            if now > _QUADRATIC * worst:
                break
            worst = now
        return True

    def _write(self, pairs: np.ndarray) -> None:
        self.reactions[:], self.reactions_low[:] = pairs[:, 0], pairs[:, 1]
