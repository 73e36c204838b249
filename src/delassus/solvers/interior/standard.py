"""The problem as the interior-point method sees it: standard cones, scaled, in contact space.

    y = D x + q,    C ∋ x ⊥ y ∈ C    (bilateral rows: y = 0)

with λ = β F x and y = F v / β: F holds the cone map T of `jordan` and one factor per block that gives D unit diagonal
on average, β makes the rms of q one. D is symmetric here. Where the problem's own D is not (gyroscopic terms), its skew
part acts through `offset`, which `correct` renews: v_f ← v_f + N λ.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from delassus.kernel import njit
from delassus.linalg.dense_product import dense_times
from delassus.linalg.iterative.conjugate_gradients import dot
from delassus.linalg.operators.delassus import Delassus
from delassus.linalg.operators.matrix import csr_times
from delassus.linalg.operators.rigid import RigidDelassus, add_response, multiply_rows, unit_mass_rows
from delassus.linalg.operators.sparse import SparseDelassus
from delassus.problem import Problem
from delassus.solvers.interior.iteration import Scaled, natural_map
from delassus.solvers.parts.jordan import StandardCone, standard_cone

_SYMMETRIC = 1e-12  # relative skew part below which a matrix is taken as symmetric


class Standard:
    """kept: (block_count,) bool, the blocks to keep (joints always), or None for all; scaled: False leaves the problem
    in its own units (the published method); contradiction: (m_e,) velocities of bilateral rows to leave out."""

    def __init__(
        self,
        problem: Problem,
        kept: np.ndarray | None = None,
        *,
        scaled: bool = True,
        contradiction: np.ndarray | None = None,
    ):
        self.problem = problem
        self.cone: StandardCone = standard_cone(problem, kept)
        cone = self.cone
        self.free, self.limits, self.cones = cone.free, cone.limits, cone.cones
        self.row_count = len(cone.rows)
        joints = problem.cone.bilateral.size
        sizes = np.concatenate(
            [problem.cone.bilateral, np.ones(cone.limits, np.int64), np.full(cone.cones, 3, np.int64)]
        )
        self.start = np.concatenate([[0], np.cumsum(sizes)])
        self.joints = joints
        scale = np.ones(self.row_count)
        if scaled:
            scale = _block_scale(cone.factor**2 * problem.delassus.diagonal[cone.rows], self.start)
        self.factor = cone.factor * scale
        velocity = self.factor * problem.free_velocity[cone.rows]
        size = _rms(velocity)
        self.unit = size if scaled and size > 0.0 else 1.0
        self.q = velocity / self.unit
        self.left_out = np.zeros(self.free)
        if contradiction is not None:
            self.left_out = self.factor[: self.free] * contradiction / self.unit
            self.q[: self.free] -= self.left_out
        # what the rms of free velocities is in scaled units, per row: large where heavy bodies touch
        speed = _rms(cone.factor * problem.free_velocity[cone.rows])
        self.speed = scale * speed / self.unit if scaled and speed > 0.0 else np.ones(self.row_count)
        self.offset = self.q  # q plus what the model of D leaves out
        delassus = problem.delassus
        compliance = delassus.compliance
        self.compliance = None if compliance is None else self.factor**2 * compliance[cone.rows]
        self.is_soft = self.compliance is not None
        self.soft = np.zeros(self.row_count) if self.compliance is None else self.compliance
        self.scaled = tuple(
            Scaled(self.start[: joints + 1], self.free, self.limits, self.q, self.soft, self.is_soft, self.speed)
        )
        self.is_exact = True  # is D below the problem's own?
        self.operator: RigidRows | SparseRows | MatrixRows
        if delassus.has_bodies:
            self.operator = RigidRows(delassus.rigid, self)
        elif delassus.is_primal:
            self.operator = SparseRows(delassus, self)
        else:
            self.operator = MatrixRows(delassus.matrix(), self)

    def product(self, x: np.ndarray) -> np.ndarray:
        """D x, compliance included, (m',)."""
        out = self.operator.product(x)
        if self.compliance is not None:
            out += self.compliance * x
        return out

    def velocity(self, x: np.ndarray) -> np.ndarray:
        """D x + q, (m',)."""
        out = self.product(x)
        out += self.offset
        return out

    def natural_map(self, x: np.ndarray) -> tuple[float, float]:
        """See `natural_map`, of x (m',)."""
        return self.natural_map_at(x, self.velocity(x))

    def natural_map_at(self, x: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """The natural map of x (m') with the velocity v (m')."""
        return natural_map(self.scaled, x, v)

    def correct(self, x: np.ndarray) -> None:
        """Renew `offset` so that D x + offset is the problem's own velocity at this x."""
        if not self.is_exact:
            true = self.problem.constraint_velocity(self.reactions(x))
            self.offset = self.factor * true[self.cone.rows] / self.unit - self.product(x)
            self.offset[: self.free] -= self.left_out

    def reactions(self, x: np.ndarray) -> np.ndarray:
        """λ (m,) [N s] of x (m',); zero on rows left out."""
        out = np.zeros(self.problem.row_count)
        out[self.cone.rows] = self.unit * self.factor * x
        return out

    def from_reactions(self, reactions: np.ndarray) -> np.ndarray:
        """x (m',) of λ (m,)."""
        return reactions[self.cone.rows] / (self.unit * self.factor)


class UnitRows(NamedTuple):
    """bodies: (blocks, 2), −1 for the world; start: (blocks + 1,) first row of each block; rows: (m', 12) J over unit
    masses, six columns for each of the two bodies."""

    bodies: np.ndarray
    start: np.ndarray
    rows: np.ndarray


class RigidRows:
    """D = J Jᵀ with unit masses: J holds L⁻¹ of every body's mass L Lᵀ. Twelve numbers per row, two bodies a block."""

    def __init__(self, delassus: RigidDelassus, standard: Standard):
        cone = standard.cone
        mass = delassus.mass
        if not _is_symmetric(mass):
            inverse = delassus.mass_inverse
            mass = np.linalg.inv(0.5 * (inverse + inverse.transpose(0, 2, 1)))
            mass = 0.5 * (mass + mass.transpose(0, 2, 1))
            standard.is_exact = False
        self.body_count = len(mass)
        self.bodies = delassus.bodies[cone.block]
        self.start = standard.start
        self.rows = np.empty((standard.row_count, 12))
        root = np.linalg.cholesky(mass) if len(mass) else mass
        unit_mass_rows(root, self.bodies, self.start, delassus.rows[cone.rows], standard.factor, self.rows)
        self.unit_rows = tuple(UnitRows(self.bodies, self.start, self.rows))

    def product(self, x: np.ndarray) -> np.ndarray:
        u = np.zeros(6 * self.body_count)
        add_response(self.bodies, self.start, self.rows, x, u)
        out = np.empty(len(x))
        multiply_rows(self.bodies, self.start, self.rows, u, out)
        return out

    def jacobian(self) -> sp.csr_array:
        """J, (m', 6 n_b)."""
        unit = np.broadcast_to(np.eye(6), (self.body_count, 6, 6))
        return RigidDelassus(unit, self.bodies, self.rows, self.start, mass_inverse=unit).jacobian()

    def matrix(self) -> sp.csr_array:
        """D without compliance, (m', m')."""
        J = self.jacobian()
        D = sp.csr_array(J @ J.T)
        D.sort_indices()
        return D


class SparseRows:
    """D = J H⁻¹ Jᵀ with a general sparse H, whose own factorisation serves products."""

    def __init__(self, delassus: Delassus, standard: Standard):
        cone = standard.cone
        self.delassus = delassus
        self.factor, self.rows = standard.factor, cone.rows
        self.J = sp.csr_array(sp.diags_array(standard.factor) @ delassus.jacobian()[cone.rows])
        self.J.sum_duplicates()
        self.J_transposed = sp.csr_array(self.J.T)
        self.H, is_all = delassus.mass_symmetric
        self.own = None  # factorisation of the symmetric part, where H is not symmetric
        if not is_all:
            standard.is_exact = False
            self.own = SparseDelassus(self.H, self.J)
        self.D: np.ndarray | None = None  # in full, once it was needed

    def product(self, x: np.ndarray) -> np.ndarray:
        if self.D is not None:
            out = np.empty_like(x)
            dense_times(self.D, x, out)
            return out
        masses = self.own or self.delassus
        return csr_times(self.J, masses.mass_solve(csr_times(self.J_transposed, x)))

    def full(self) -> np.ndarray:
        """D without compliance as a full matrix, (m', m'), which serves products from now on."""
        out = np.empty((len(self.rows), len(self.rows)))
        if self.own is not None:
            _fill_scaled(self.own.full, np.arange(len(out)), np.ones(len(out)), out)
        else:
            _fill_scaled(self.delassus.full, self.rows, self.factor, out)
            if self.delassus.compliance is not None:
                out.flat[:: len(out) + 1] -= self.factor**2 * self.delassus.compliance[self.rows]
        self.D = out
        return out

    def matrix(self) -> sp.csr_array:
        """D without compliance, (m', m')."""
        if self.own is not None:
            return self.own.matrix()
        D = self.delassus.matrix()[self.rows][:, self.rows]
        if self.delassus.compliance is not None:
            D = D - sp.diags_array(self.delassus.compliance[self.rows])
        scale = sp.diags_array(self.factor)
        D = sp.csr_array(scale @ D @ scale)
        return sp.csr_array(0.5 * (D + D.T))


class MatrixRows:
    """D as a sparse matrix, made symmetric."""

    def __init__(self, D: sp.csr_array, standard: Standard):
        rows = standard.cone.rows
        scale = sp.diags_array(standard.factor)
        part = sp.csr_array(scale @ D[rows][:, rows] @ scale)
        self.D = sp.csr_array(0.5 * (part + part.T))
        self.D.sort_indices()
        if part.nnz and abs(part - self.D).max() > _SYMMETRIC * abs(self.D).max():  # nothing: no contact was kept
            standard.is_exact = False

    def product(self, x: np.ndarray) -> np.ndarray:
        return csr_times(self.D, x)

    def matrix(self) -> sp.csr_array:
        """D, (m', m')."""
        return self.D


@njit(cache=True)
def _fill_scaled(D, rows, factor, out):
    """out = F D F on some rows, made symmetric."""
    for i in range(len(rows)):
        for j in range(i + 1):
            mean = 0.5 * (D[rows[i], rows[j]] + D[rows[j], rows[i]])
            out[i, j] = out[j, i] = factor[i] * mean * factor[j]


def _rms(x: np.ndarray) -> float:
    return math.sqrt(dot(x, x) / max(1, len(x)))


def _block_scale(diagonal: np.ndarray, start: np.ndarray) -> np.ndarray:
    """One factor per block, repeated over its rows: 1/√(mean diagonal)."""
    if not len(diagonal):
        return diagonal
    sizes = np.diff(start)
    mean = np.add.reduceat(diagonal, start[:-1]) / sizes
    return np.repeat(1.0 / np.sqrt(np.where(mean > 0.0, mean, 1.0)), sizes)


def _is_symmetric(blocks: np.ndarray) -> bool:
    if not len(blocks):
        return True
    skew = np.abs(blocks - blocks.transpose(0, 2, 1)).max(axis=(1, 2))
    return bool((skew <= _SYMMETRIC * np.abs(blocks).max(axis=(1, 2))).all())
