"""The published method: Mehrotra's predictor-corrector on the problem as it is (000 §4.11, §4.14; 001 §2).

Nesterov–Todd scaling, one factorisation for predictor and corrector, σ = (τ_p/τ)³, one step length for all variables
(000 eq. 4.12), and η = 0.9 + 0.1 exp(−τ n) of the way to the boundary (000 §4.12, where the exponent's sign is lost).
The bodies' velocities are eliminated, which does not change the iterates.
"""

import math

import numpy as np

from delassus.problem import Problem
from delassus.solvers.interior.certificate import Certificate
from delassus.solvers.interior.interior import Interior
from delassus.solvers.interior.joint_contradiction import is_hopeless, joint_contradiction
from delassus.solvers.interior.natural_map import LARGE, is_suspicious
from delassus.solvers.interior.phase_one import finds_proof
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.starting_points import starting_point
from delassus.solvers.interior.systems import system_of
from delassus.solvers.method import Method
from delassus.status import Status

_INSIDE = 0.99  # largest η: with the published limit of one, steps end on the boundary and stay there
_STUCK, _STUCKS = 1e-6, 3  # so many steps in a row shorter than this: rounding has won


class Published(Interior):
    """An interior point that moves as the thesis says."""

    centring, sloppy, centred = 0.0, 0.0, 0.0

    def _fraction(self) -> float:
        return min(_INSIDE, 0.9 + 0.1 * math.exp(-self.tau * max(1, self.standard.cone.degree)))


class ThesisIpm(Method):
    """One iteration of the driver is one of the method's."""

    def __init__(self, problem: Problem, settings: Ipm, reactions: np.ndarray):
        self.settings, self.reactions = settings, reactions
        self.finished, self.is_costly = False, True
        self.details: dict[str, list[float]] = {}
        self.certificate = Certificate(problem)
        self.contradiction = joint_contradiction(problem, settings, self.certificate)
        if is_hopeless(self.contradiction, self.certificate):
            self.finished = True
            return
        vain = self.contradiction and self.contradiction.velocity
        self.standard = Standard(problem, scaled=False, contradiction=vain)
        self.scaled = Standard(problem)  # to tell large reactions from ordinary ones
        self.system = system_of(self.standard, settings)
        free = self.standard.free
        mobility = float(problem.delassus.diagonal[:free].mean()) if free else 1.0
        joint = settings.joint / mobility if mobility > 0.0 else settings.joint
        x, y = starting_point(self.standard, self.system, settings, reactions, joint)
        self.interior = Published(self.standard, self.system, x, y, correctors=0, joint=joint, single_above=math.inf)
        self.stuck = 0

    def advance(self, count: int) -> None:
        """`count` iterations. Without limits and contacts each solves the linear system of the joints (000 §4.9), the
        second to remove what their penalty left."""
        for _ in range(count):
            if self.finished:
                return
            works = self.interior.step()
            for name, value in self.interior.details.items():
                self.details.setdefault(name, []).append(value)
            reactions = self.standard.reactions(self.interior.x)
            point = self.scaled.from_reactions(reactions)
            if np.abs(point).max(initial=0.0) >= LARGE and self._hopeless():
                return
            if not is_suspicious(self.scaled, point):
                self.reactions[:] = reactions
            self.stuck = self.stuck + 1 if self.interior.details.get("step", 0.0) < _STUCK else 0
            if not works or self.stuck >= _STUCKS:
                self.finished = True

    @property
    def verdict(self) -> Status | None:
        """What to call the run if it ends here, unless the judge is content."""
        certificate = self.certificate
        if certificate.is_proven or self._hopeless(purify=True) or finds_proof(certificate, self.settings):
            return Status.INFEASIBLE
        return None

    def _hopeless(self, purify: bool = False) -> bool:
        """Do the present reactions, or their last change, prove that nothing can satisfy the constraints?"""
        x, dx = self.standard.reactions(self.interior.x), self.standard.reactions(self.interior.dx)
        proven = self.certificate.proves(x, dx, purify=purify)
        self.finished = self.finished or proven
        return proven
