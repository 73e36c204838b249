"""D = J H⁻¹ Jᵀ + E with a general sparse H (flexible bodies), through one factorisation of H."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from delassus.kernel import njit
from delassus.linalg.dense_product import exact_times_plus
from delassus.linalg.operators.delassus import FEW_ROWS, Delassus
from delassus.linalg.operators.islands import islands_of_full, islands_of_velocities
from delassus.linalg.operators.matrix import csr_times

_COLUMNS_AT_ONCE = 256  # right-hand sides solved together when D is formed: bounds memory to 256 n doubles
_DROP = 1e-15  # entries of D below this fraction of its largest are rounding noise of the triangular solves


class SparseDelassus(Delassus):
    """H: (n, n) [kg], positive definite up to a small non-symmetric part; J: (m, n); compliance: (m,) or None."""

    kind = "sparse"
    is_primal = True

    def __init__(self, H: sp.csr_array, J: sp.csr_array, compliance: np.ndarray | None = None):
        self.H = H
        self.J = J
        self.compliance = compliance
        self.row_count, self.velocity_count = J.shape
        self.has_blocks_at_hand = self.row_count <= FEW_ROWS

    @cached_property
    def factor(self) -> spla.SuperLU:
        """LU of H; without pivoting for size, which a positive definite matrix does not need."""
        return factor_definite(sp.csc_array(self.H))

    def body_velocity(self, reactions: np.ndarray) -> np.ndarray:
        pushed = np.zeros(self.velocity_count)
        _add_transposed_times(self.J.indptr, self.J.indices, self.J.data, reactions, pushed)
        return self.factor.solve(pushed)

    def rows_times(self, u: np.ndarray) -> np.ndarray:
        return csr_times(self.J, u)

    def product(self, reactions: np.ndarray) -> np.ndarray:
        if self.row_count <= FEW_ROWS:
            return self.velocity(reactions, np.zeros(self.row_count))
        v = self.rows_times(self.body_velocity(reactions))
        if self.compliance is not None:
            v += self.compliance * reactions
        return v

    def velocity(self, reactions: np.ndarray, free: np.ndarray) -> np.ndarray:
        if self.row_count > FEW_ROWS:
            return super().velocity(reactions, free)
        v = np.empty(self.row_count)
        exact_times_plus(self.full, reactions, free, v)
        return v

    def velocities(
        self, reactions: np.ndarray, free: np.ndarray, u_f: np.ndarray | None, bias: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        if self.row_count > FEW_ROWS:
            return super().velocities(reactions, free, u_f, bias)
        return self.velocity(reactions, free), None if u_f is None else u_f + self.body_velocity(reactions)

    def dense(self) -> np.ndarray:
        return self.full.copy() if self.row_count <= FEW_ROWS else super().dense()

    @cached_property
    def full(self) -> np.ndarray:
        if self.row_count > FEW_ROWS:
            return super().dense()
        J = self.J
        columns, out = np.zeros((self.velocity_count, self.row_count), order="F"), np.empty((self.row_count,) * 2)
        _scatter_transposed(J.indptr, J.indices, J.data, columns)
        _fill_full(J.indptr, J.indices, J.data, self.factor.solve(columns), out)
        if self.compliance is not None:
            out.flat[:: self.row_count + 1] += self.compliance
        return out

    def matrix(self) -> sp.csr_array:
        """D as a sparse matrix, (m, m); formed once."""
        return self._matrix

    @cached_property
    def _matrix(self) -> sp.csr_array:
        if self.row_count <= FEW_ROWS:
            return sp.csr_array(self.full)
        columns = sp.csc_array(self.J.T)
        parts = []
        for first in range(0, self.row_count, _COLUMNS_AT_ONCE):
            block = self.J @ self.factor.solve(columns[:, first : first + _COLUMNS_AT_ONCE].toarray())
            block[np.abs(block) < _DROP * np.abs(block).max(initial=0.0)] = 0.0
            parts.append(sp.csc_array(block))
        D = sp.hstack(parts) if parts else sp.csc_array((0, 0))
        if self.compliance is not None:
            D = D + sp.diags_array(self.compliance)
        D = sp.csr_array(D)
        D.sum_duplicates()
        return D

    def jacobian(self) -> sp.csr_array:
        return self.J

    def mass_matrix(self) -> sp.csr_array:
        return self.H

    def mass_solve(self, momentum: np.ndarray) -> np.ndarray:
        return self.factor.solve(momentum)

    def islands(self, block_start: np.ndarray) -> np.ndarray:
        if self.row_count <= FEW_ROWS:  # D itself says which blocks it couples; going through H takes longer than it
            return islands_of_full(self.full, block_start)
        return islands_of_velocities(self.H, self.J, block_start)

    def part(
        self, blocks: np.ndarray, rows: np.ndarray, block_start: np.ndarray
    ) -> tuple["SparseDelassus", np.ndarray]:
        # the mass matrix stays whole: cutting it would need its factorisation anew and saves nothing here
        del blocks, block_start
        compliance = None if self.compliance is None else self.compliance[rows]
        return SparseDelassus(self.H, sp.csr_array(self.J[rows]), compliance), np.arange(self.velocity_count)

    def scaled(self, row: np.ndarray, unit: float) -> "SparseDelassus":
        compliance = None if self.compliance is None else row * row * self.compliance / unit
        return SparseDelassus(self.H * unit, sp.csr_array(sp.diags_array(row) @ self.J), compliance)

    def softened(self, by: float | np.ndarray) -> "SparseDelassus":
        compliance = np.zeros(self.row_count) if self.compliance is None else self.compliance
        out = SparseDelassus(self.H, self.J, compliance + by)
        if "factor" in self.__dict__:
            out.factor = self.factor
        return out

    def with_unit_masses(self) -> "SparseDelassus":
        soft = None if self.compliance is None else np.where(self.compliance > 0.0, 1.0, 0.0)
        return SparseDelassus(sp.csr_array(sp.eye_array(self.velocity_count)), self.J, soft)

    def __repr__(self) -> str:
        return f"SparseDelassus({self.H.shape[0]} velocities, {self.row_count} rows)"


def factor_definite(H: sp.csc_array) -> spla.SuperLU:
    """LU in an order for symmetric patterns, without pivoting for size; raises RuntimeError where H is singular."""
    return spla.splu(H, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})


@njit(cache=True)
def _add_transposed_times(indptr, indices, data, x, out):
    """out += Jᵀ x, from the compressed rows of J."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            out[indices[p]] += data[p] * x[i]


@njit(cache=True)
def _scatter_transposed(indptr, indices, data, out):
    """out = Jᵀ in full, (n, m) by columns, from the compressed rows of J; zeros before."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            out[indices[p], i] += data[p]


@njit(cache=True)
def _fill_full(indptr, indices, data, solved, out):
    """out = J X for X = H⁻¹ Jᵀ, (n, m) by columns, without what is rounding noise."""
    largest = 0.0
    for j in range(len(out)):
        for i in range(len(out)):
            value = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                value += data[p] * solved[indices[p], j]
            out[i, j] = value
            largest = max(largest, abs(value))
    for i in range(len(out)):
        for j in range(len(out)):
            if abs(out[i, j]) < _DROP * largest:
                out[i, j] = 0.0
