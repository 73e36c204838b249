"""What the iteration sees of a problem: joints out of the way where asked, blocks scaled to unit mobility, and
(D + σ I)⁻¹ in the storage that suits its size."""

from functools import cached_property
from typing import Any

import numpy as np

from delassus.kernel import njit
from delassus.linalg.factor.dense_elimination import Elimination
from delassus.linalg.operators.shifted_inverse import (
    ShiftedBodies,
    ShiftedDense,
    ShiftedRows,
    shifted_inverse,
    touched_bodies,
)
from delassus.problem import Problem
from delassus.solvers.admm.iteration import iterate_dense, iterate_sparse
from delassus.solvers.admm.penalty import largest_eigenvalue, largest_eigenvalue_dense, power_start

_DENSE_ROWS = 250  # rows up to which a full inverse of D + σ I costs less than sparse factors
_DENSE_FLEXIBLE = 2000  # the same between flexible bodies, where D is full and their nodes are many more than rows
_BODY_ROWS = 60  # rows from which solving for the bodies' velocities instead may cost less
_LOCKED = 1e-12  # a block whose mobility falls below this fraction when joints are eliminated is locked by them


class DenseReduced:
    """A small problem: D in full, joints eliminated unless they are split.

    free: how many bilateral rows the iteration sees; exact: how many of these are not split."""

    exact = 0

    def __init__(self, problem: Problem, eliminates: bool, is_scaled: bool):
        cone = problem.cone
        b = self.joint_rows = cone.bilateral_rows if eliminates else 0
        self.free = cone.bilateral_rows - b
        D = problem.delassus.dense()
        self.diagonal = D.diagonal().copy()
        self.eliminated = Elimination(D, problem.free_velocity, b)
        self.D, self.v = np.ascontiguousarray(self.eliminated.D), self.eliminated.v.copy()
        self.scale = np.ones(len(self.v))
        if is_scaled:
            scale_blocks(self.D, self.v, cone.block_start, b, self.diagonal, self.scale)

    @cached_property
    def inverse(self) -> ShiftedDense:
        return ShiftedDense(self.D)

    def iterate(self, count: int, *arguments: Any) -> int:
        """At most `count` iterations; see `iteration`."""
        return iterate_dense(count, self.inverse.inverse, self.D, *arguments)

    def largest_eigenvalue(self) -> float:
        """Of D, by power iteration."""
        x = power_start(len(self.v))
        return largest_eigenvalue_dense(self.D, x, np.empty_like(x))

    def velocity(self, x: np.ndarray) -> np.ndarray:
        """D x + v_f, (m,)."""
        return self.D @ x + self.v

    def read(self, reactions: np.ndarray) -> np.ndarray:
        """The reactions of the rows the iteration sees, scaled."""
        return reactions[self.joint_rows :] / self.scale

    def write(self, y: np.ndarray, reactions: np.ndarray) -> None:
        """All reactions that go with the scaled ones y."""
        np.multiply(self.scale, y, out=reactions[self.joint_rows :])
        self.eliminated.write_leading(reactions)


class SparseReduced:
    """A larger problem, joints kept; where they are not split, the first `exact` rows only feel the proximal term."""

    def __init__(self, problem: Problem, keeps_exact: bool, is_scaled: bool):
        self.problem = problem
        self.free = problem.cone.bilateral_rows
        self.exact = self.free if keeps_exact else 0
        self.scale = np.ones(problem.row_count)
        if is_scaled:
            _block_scale(problem.diagonal_blocks, problem.cone.block_start, self.scale)
        self.v = self.scale * problem.free_velocity

    @cached_property
    def inverse(self) -> ShiftedRows | ShiftedBodies:
        return shifted_inverse(self.problem.delassus, self.scale)

    def iterate(self, count: int, *arguments: Any) -> int:
        """At most `count` iterations; see `iteration`."""
        return iterate_sparse(count, self.inverse.kind, self.inverse.plain, *arguments)

    def largest_eigenvalue(self) -> float:
        """Of S D S, by power iteration."""
        return largest_eigenvalue(lambda x: self.scale * self.problem.delassus.product(self.scale * x), len(self.v))

    def velocity(self, x: np.ndarray) -> np.ndarray:
        """S (D S x + v_f), (m,)."""
        return self.scale * self.problem.constraint_velocity(self.scale * x)

    def read(self, reactions: np.ndarray) -> np.ndarray:
        """The reactions, scaled."""
        return reactions / self.scale

    def write(self, y: np.ndarray, reactions: np.ndarray) -> None:
        """The reactions from the scaled ones y."""
        np.multiply(self.scale, y, out=reactions)


def reduced(problem: Problem, joints: str, is_scaled: bool) -> DenseReduced | SparseReduced:
    """The problem as the iteration sees it; joints: "exact" or "split"."""
    most = _DENSE_FLEXIBLE if problem.delassus.is_flexible else _DENSE_ROWS
    if problem.row_count <= most and not _has_few_bodies(problem):
        return DenseReduced(problem, joints == "exact", is_scaled)
    return SparseReduced(problem, joints == "exact", is_scaled)


def _has_few_bodies(problem: Problem) -> bool:
    """Are there so many more rows than velocities that the system is better solved for the latter? Not with joints,
    which are eliminated from the rows."""
    if problem.row_count < _BODY_ROWS or problem.cone.bilateral_rows or not problem.delassus.has_bodies:
        return False
    return 12 * len(touched_bodies(problem.delassus.rigid)) < problem.row_count


@njit(cache=True, error_model="numpy")
def _block_scale(diagonal_blocks, block_start, scale):
    """scale: S, (m,), with which every diagonal block of S D S has a mean diagonal of one."""
    at = 0
    for k in range(len(block_start) - 1):
        a, b = block_start[k], block_start[k + 1]
        size = b - a
        trace = 0.0
        for i in range(size):
            trace += diagonal_blocks[at + i * (size + 1)]
        at += size * size
        for i in range(a, b):
            scale[i] = 1.0 / np.sqrt(trace / size) if trace > 0.0 else 1.0


@njit(cache=True, error_model="numpy")
def scale_blocks(D, v, block_start, first_row, diagonal, scale):
    """D ← S D S and v ← S v with S = `scale`, the same for the rows from first_row on, whose D is given: (m, m).
    diagonal: of D before elimination, for blocks that joints have locked and that have no mobility left."""
    for k in range(len(block_start) - 1):
        a, b = block_start[k] - first_row, block_start[k + 1] - first_row
        if a < 0:
            continue
        trace, before = 0.0, 0.0
        for i in range(a, b):
            trace += D[i, i]
            before += diagonal[first_row + i]
        if trace <= _LOCKED * before:
            trace = before
        for i in range(a, b):
            scale[i] = 1.0 / np.sqrt(trace / (b - a)) if trace > 0.0 else 1.0
    for i in range(len(v)):
        v[i] *= scale[i]
        for j in range(len(v)):
            D[i, j] *= scale[i] * scale[j]
