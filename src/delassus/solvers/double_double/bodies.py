"""The problem of rigid bodies as the methods in pairs see it, and the linear system they share."""

from functools import cached_property

import numpy as np

from delassus.linalg.factor.envelope_pairs import factor_pairs, solve_factored_pairs
from delassus.linalg.operators.rigid_pairs import add_pushes, add_soft, times_rows
from delassus.linalg.pairs import add_multiple, div, pair_array
from delassus.problem import Problem
from delassus.solvers.double_double.jordan import CONE, JOINT, NONE, ORTHANT
from delassus.solvers.double_double.system import assemble, momentum_error, skyline


class Bodies:
    """kind: (m,) as in `jordan`; up, down: (m, 2) T and T⁻¹, with λ = T x and y = T v on standard cones, zero for rows
    without a reaction; bias: (m, 2), u_f: (n, 2); speed: what moves, at most [m/s]; mass: all of it [kg];
    ordinary: (block_count,) 1 / mean diagonal of D_kk [kg]."""

    def __init__(self, problem: Problem):
        rigid, cone = problem.delassus.rigid, problem.cone
        assert problem.u_f is not None
        self.masses = 0.5 * (rigid.mass + rigid.mass.transpose(0, 2, 1))
        self.blocks, self.start, self.rows = rigid.bodies, np.asarray(cone.block_start), rigid.rows
        self.joints, self.limits, self.mu = cone.bilateral.size, cone.unilateral, problem.mu
        self.row_count, self.size = problem.row_count, 6 * len(self.masses)
        self.soft = np.zeros(self.row_count) if rigid.compliance is None else rigid.compliance
        self.u_f = pair_array(problem.u_f)
        self.repose(problem)
        first = cone.contact_start + 3 * np.arange(cone.contact_count)
        rough = self.mu > 0.0
        self.kind = np.full(self.row_count, NONE)
        self.kind[: cone.bilateral_rows] = JOINT
        self.kind[cone.bilateral_rows : cone.contact_start] = ORTHANT
        self.kind[first] = np.where(rough, CONE, ORTHANT)
        self.down = pair_array(np.ones(self.row_count))
        self.up = self.down.copy()
        for k, i in enumerate(first):
            if rough[k]:
                self.down[i] = self.mu[k], 0.0
                self.up[i] = div((1.0, 0.0), (self.mu[k], 0.0))
            else:
                self.up[i + 1 : i + 3] = self.down[i + 1 : i + 3] = 0.0
        linear = np.trace(self.masses[:, :3, :3], axis1=1, axis2=2) / 3.0
        self.mass = float(linear.sum())
        self.ordinary = _ordinary(problem)
        self.first = skyline(self.blocks, len(self.masses))
        self.S = np.zeros((self.row_count, 3, 2))

    def repose(self, problem: Problem) -> None:
        """A copy with another bias."""
        self.bias = pair_array(problem.bias)
        self.speed = float(problem.velocity_scale.max(initial=0.0)) or 1.0

    @cached_property
    def matrix(self) -> np.ndarray:
        return np.zeros((self.size, self.size, 2))

    def velocity(self, u: np.ndarray, reactions: np.ndarray | None = None) -> np.ndarray:
        """J u + b, and E λ where reactions are given, (m, 2)."""
        out = self.times(u)
        add_multiple(1.0, self.bias, out)
        if reactions is not None:
            add_soft(self.soft, reactions, out)
        return out

    def times(self, u: np.ndarray) -> np.ndarray:
        """J u, (m, 2)."""
        out = np.empty((self.row_count, 2))
        times_rows(self.blocks, self.start, self.rows, u, out)
        return out

    def momentum_error(self, u: np.ndarray, reactions: np.ndarray) -> np.ndarray:
        """H (u − u_f) − Jᵀ λ, (n, 2)."""
        pushed, out = np.zeros((self.size, 2)), np.empty((self.size, 2))
        add_pushes(self.blocks, self.start, self.rows, reactions, pushed)
        momentum_error(self.masses, u, self.u_f, pushed, out)
        return out

    def factor(self) -> bool:
        """H + Jᵀ S J with the present weights; False where it is not positive definite."""
        assemble(self.masses, self.blocks, self.start, self.rows, self.joints, self.S, self.first, self.matrix)
        return factor_pairs(self.matrix, self.first)

    def solve(self, right: np.ndarray, pushes: np.ndarray | None = None) -> np.ndarray:
        """du of (H + Jᵀ S J) du = right + Jᵀ pushes, (n, 2)."""
        out = right.copy()
        if pushes is not None:
            add_pushes(self.blocks, self.start, self.rows, pushes, out)
        solve_factored_pairs(self.matrix, self.first, out)
        return out


def _ordinary(problem: Problem) -> np.ndarray:
    """1 / mean diagonal of D_kk, (block_count,); one where that is zero."""
    start = np.asarray(problem.cone.block_start)
    size = np.diff(start)
    if not len(size):
        return np.zeros(0)
    trace = np.add.reduceat(problem.delassus.diagonal, start[:-1])
    return np.where(trace > 0.0, size / np.where(trace > 0.0, trace, 1.0), 1.0)
