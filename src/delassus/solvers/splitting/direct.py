"""Joints by one factorisation, limits and contacts by Gauß–Seidel on what is left.

Gauß–Seidel carries a joint's reaction along a chain one body per sweep; a factorisation does it at once.
"""

from dataclasses import dataclass

import numpy as np

from delassus.cones import ProductCone
from delassus.linalg.factor.dense_elimination import Elimination
from delassus.problem import Problem
from delassus.solvers.method import Method
from delassus.solvers.settings import Settings
from delassus.solvers.splitting.method import Splitting, SplittingMethod


@dataclass(frozen=True)
class Direct(Settings):
    """Settings of the method with eliminated joints: none of its own; contacts are swept as `nbgs` does."""


class DirectMethod(Method):
    """Eliminated joints at work on one problem."""

    def __init__(self, problem: Problem, reactions: np.ndarray, contacts: Splitting):
        self.reactions = reactions
        self.eliminated = Elimination(problem.delassus.dense(), problem.free_velocity, problem.cone.bilateral_rows)
        self.inner = None
        if len(self.eliminated.v):
            cone = ProductCone((), problem.cone.unilateral, problem.cone.mu)
            behind = Problem.dual(self.eliminated.D, self.eliminated.v, cone=cone, law=problem.law)
            self.inner = SplittingMethod(behind, contacts, reactions[self.eliminated.count :].copy())

    def advance(self, count: int) -> None:
        """`count` sweeps over limits and contacts, then the joints that go with them."""
        if self.inner is not None:
            self.inner.advance(count)
            self.reactions[self.eliminated.count :] = self.inner.reactions
        self.eliminated.write_leading(self.reactions)

    def judged(self, excess: float) -> None:
        if self.inner is not None:
            self.inner.judged(excess)
