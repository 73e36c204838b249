"""The published method: Mehrotra's predictor-corrector on the problem as it is (Mangoni, thesis, §4.11, §4.14; Mangoni
and Tasora, §2).

Nesterov–Todd scaling, one factorisation for predictor and corrector, σ = (τ_p/τ)³, one step length for all variables
(Mangoni, thesis, eq. 4.12), and η = 0.9 + 0.1 exp(−τ n) of the way to the boundary (Mangoni, thesis, §4.12, where the
exponent's sign is lost). The bodies' velocities are eliminated, which does not change the iterates.
"""

import math

import numpy as np

from delassus.problem import Problem
from delassus.solvers.interior.iteration import RUNNING, Outcome
from delassus.solvers.interior.method import Explained
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.sparse_phases import Interior
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.starting_points import starting_point
from delassus.solvers.interior.systems import system_of

_INSIDE = 0.99  # largest η: with the published limit of one, steps end on the boundary and stay there
_NOTHING = np.empty((1, 0))
_STUCK_STEP, _STUCK_STEPS = 1e-6, 3  # so many steps in a row shorter than this: rounding has won


class Published(Interior):
    """An interior point that moves as the thesis says."""

    centring, sloppy, centred = 0.0, 0.0, 0.0

    def _fraction(self) -> float:
        return min(_INSIDE, 0.9 + 0.1 * math.exp(-self.tau * max(1, self.standard.cone.degree)))


class ThesisIpm(Explained):
    """One iteration of the driver is one of the method's."""

    def __init__(self, problem: Problem, settings: Ipm, reactions: np.ndarray):
        super().__init__(problem, settings, reactions)
        contradiction = self.infeasibility.find_contradiction() if problem.cone.bilateral.size else None
        if self.infeasibility.is_clear:
            self.finished = True
            return
        left_out = None if contradiction is None else contradiction.velocity
        self.standard = Standard(problem, scaled=False, contradiction=left_out)
        self.scaled = Standard(problem)  # to tell large reactions from ordinary ones
        self.system = system_of(self.standard, settings)
        free = self.standard.free
        mobility = float(problem.delassus.diagonal[:free].mean()) if free else 1.0
        joint = settings.joint / mobility if mobility > 0.0 else settings.joint
        x, y = starting_point(self.standard, self.system, settings, reactions, joint)
        self.interior = Published(self.standard, self.system, x, y, correctors=0, joint=joint, single_above=math.inf)
        self.stuck = 0

    def advance(self, count: int) -> None:
        """`count` iterations. Without limits and contacts each solves the linear system of the joints (Mangoni, thesis,
        §4.9), the second to remove what their penalty left."""
        for _ in range(count):
            if self.finished:
                return
            works, details = self.interior.step(), self.interior.details
            self.told.append((tuple(details), np.array([list(details.values())])))
            reactions = self.standard.reactions(self.interior.x)
            point = self.scaled.from_reactions(reactions)
            size = float(np.abs(point).max(initial=0.0))
            if self.may_offer(Outcome(1, RUNNING, point, size, *self.scaled.natural_map(point), (), _NOTHING)):
                self.reactions[:] = reactions
            self.stuck = self.stuck + 1 if details.get("step", 0.0) < _STUCK_STEP else 0
            if not works or self.stuck >= _STUCK_STEPS:
                self.finished = True

    def proofs(self) -> tuple[np.ndarray, ...]:
        return self.standard.reactions(self.interior.x), self.standard.reactions(self.interior.dx)
