"""Joints eliminated by one dense factorisation.

With λ_b = −D_bb⁻¹ (D_bc λ_c + v_b), limits and contacts see D_cc − D_cb D_bb⁻¹ D_bc, a smaller problem of the same
kind. Redundant joints make D_bb singular: the pseudo-inverse then gives the smallest reactions.
"""

import numpy as np

from delassus.cones import ProductCone
from delassus.linalg.factor.dense_inverse import DenseInverse
from delassus.problem import Problem

_HELD = (
    1e-10  # mobility left of a row's own below which it is rounding: 1e-16 to 4e-11 were seen, and 1e-9 that was not
)


class Elimination:
    """D: (m, m) and v: (m,) of limits and contacts alone [1/kg, m/s]; `write_joints` gives the rest back."""

    def __init__(self, problem: Problem):
        b = self.joint_rows = problem.cone.bilateral_rows
        D, v = problem.delassus.dense(), problem.free_velocity
        self.whole = problem
        self.D, self.v = D, v
        if b:
            self.D_joint, self.coupling, self.v_joint = np.ascontiguousarray(D[:b, :b]), D[:b, b:], v[:b]
            self.inverse = DenseInverse(self.D_joint)
            self.D, self.v = D[b:, b:], v[b:]
        if b and len(self.v):
            carried = self.inverse.solve(np.column_stack([self.coupling, self.v_joint]))
            self.D = self.D - D[b:, :b] @ carried[:, :-1]
            self.v = self.v - D[b:, :b] @ carried[:, -1]
            # rows that the joints hold keep nothing but rounding, of either sign
            held = self.D.diagonal() <= _HELD * D.diagonal()[b:]
            self.D[held], self.D[:, held] = 0.0, 0.0

    def write_joints(self, reactions: np.ndarray) -> None:
        """Fill reactions[:joint_rows] with what goes with the limits and contacts behind them; refined once."""
        b = self.joint_rows
        if b:
            push = self.coupling @ reactions[b:] + self.v_joint if len(self.v) else self.v_joint
            reactions[:b] = 0.0  # what a guess holds in redundant directions could not be removed again
            for _ in range(2):
                reactions[:b] -= self.inverse.solve(self.D_joint @ reactions[:b] + push)

    def problem(self) -> Problem:
        """The problem of limits and contacts."""
        cone = ProductCone((), self.whole.cone.unilateral, self.whole.cone.mu)
        return Problem.dual(self.D, self.v, cone=cone, law=self.whole.law)
