"""Joints by one factorisation, limits and contacts by Gauß–Seidel on what is left.

Gauß–Seidel carries a joint's reaction along a chain one body per sweep; a factorisation does it at once.
"""

from dataclasses import dataclass

import numpy as np

from delassus.problem import Problem
from delassus.solvers.method import Method
from delassus.solvers.parts.elimination import Elimination
from delassus.solvers.settings import Settings
from delassus.solvers.splitting.method import Splitting, SplittingMethod


@dataclass(frozen=True)
class Direct(Settings):
    """Settings of the method with eliminated joints: none of its own; contacts are swept as `nbgs` does."""


class DirectMethod(Method):
    """Eliminated joints at work on one problem."""

    def __init__(self, problem: Problem, reactions: np.ndarray, contacts: Splitting):
        self.reactions = reactions
        self.eliminated = Elimination(problem)
        self.inner = None
        if len(self.eliminated.v):
            behind = reactions[self.eliminated.joint_rows :].copy()
            self.inner = SplittingMethod(self.eliminated.problem(), contacts, behind)

    def advance(self, count: int) -> None:
        """`count` sweeps over limits and contacts, then the joints that go with them."""
        if self.inner is not None:
            self.inner.advance(count)
            self.reactions[self.eliminated.joint_rows :] = self.inner.reactions
        self.eliminated.write_joints(self.reactions)

    def judged(self, excess: float) -> None:
        if self.inner is not None:
            self.inner.judged(excess)
