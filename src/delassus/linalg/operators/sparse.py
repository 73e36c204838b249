"""D = J H⁻¹ Jᵀ + E with a general sparse H (flexible bodies), through one factorisation of H."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from delassus.linalg.operators.delassus import Delassus
from delassus.linalg.operators.islands import islands_of_velocities
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

    @cached_property
    def factor(self) -> spla.SuperLU:
        """LU of H; without pivoting for size, which a positive definite matrix does not need."""
        return spla.splu(
            sp.csc_array(self.H), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )

    def body_velocity(self, reactions: np.ndarray) -> np.ndarray:
        return self.factor.solve(csr_times(self.J_transposed, reactions))

    @cached_property
    def J_transposed(self) -> sp.csr_array:
        """Jᵀ by rows, (n, m)."""
        return sp.csr_array(self.J.T)

    def rows_times(self, u: np.ndarray) -> np.ndarray:
        return csr_times(self.J, u)

    def product(self, reactions: np.ndarray) -> np.ndarray:
        v = self.rows_times(self.body_velocity(reactions))
        if self.compliance is not None:
            v += self.compliance * reactions
        return v

    def matrix(self) -> sp.csr_array:
        """D as a sparse matrix, (m, m); formed once."""
        return self._matrix

    @cached_property
    def _matrix(self) -> sp.csr_array:
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
