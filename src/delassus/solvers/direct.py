"""Joints by one factorisation, limits and contacts by Gauß–Seidel on what is left.

Gauß–Seidel carries a joint's reaction along a chain one body per sweep; a dense factorisation of the bilateral block
D_bb does it at once. With λ_b = −D_bb⁻¹ (D_bc λ_c + v_b) eliminated, the contacts see D_cc − D_cb D_bb⁻¹ D_bc, a
smaller problem of the same kind. Redundant joints make D_bb singular: the pseudo-inverse then gives the smallest
reactions.
"""

from dataclasses import dataclass

import numpy as np

from delassus.cones import ProductCone
from delassus.linalg.dense_inverse import DenseInverse
from delassus.problem import Problem
from delassus.solvers.settings import Settings, require
from delassus.solvers.splitting import Splitting, SplittingMethod


@dataclass(frozen=True)
class Direct(Settings):
    """Settings of the method with eliminated joints."""

    refinements: int = 1  # corrections of the joint reactions after each batch of sweeps

    def __post_init__(self):
        require(self.refinements >= 0, f"refinements is {self.refinements}: give zero or more")


class DirectMethod:
    """Eliminated joints at work on one problem."""

    def __init__(self, problem: Problem, settings: Direct, reactions: np.ndarray, contacts: Splitting):
        self.settings = settings
        self.reactions = reactions
        self.joints = problem.cone.bilateral_rows
        b, D, v = self.joints, problem.delassus.dense(), problem.free_velocity
        self.D_joint, self.coupling, self.v_joint = D[:b, :b], D[:b, b:], v[:b]
        self.inverse = DenseInverse(self.D_joint)
        self.finished = False
        self.inner = None
        if b < problem.row_count:
            carried = self.inverse.solve(np.column_stack([self.coupling, self.v_joint]))
            rest = D[b:, b:] - D[b:, :b] @ carried[:, :-1]
            free = v[b:] - D[b:, :b] @ carried[:, -1]
            cone = ProductCone((), problem.cone.unilateral, problem.cone.mu)
            self.inner = SplittingMethod(
                Problem.dual(rest, free, cone=cone, law=problem.law), contacts, reactions[b:].copy()
            )

    def advance(self, count: int) -> None:
        """`count` sweeps over limits and contacts, then the joints that go with them."""
        b = self.joints
        if self.inner is not None:
            self.inner.advance(count)
            self.reactions[b:] = self.inner.reactions
        if b:
            push = self.coupling @ self.reactions[b:] + self.v_joint
            for _ in range(1 + self.settings.refinements):
                self.reactions[:b] -= self.inverse.solve(self.D_joint @ self.reactions[:b] + push)

    def judged(self, excess: float) -> None:
        if self.inner is not None:
            self.inner.judged(excess)
