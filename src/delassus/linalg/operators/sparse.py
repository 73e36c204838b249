"""D = J H⁻¹ Jᵀ + E with a general sparse H (flexible bodies), through one factorisation of H."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from delassus.linalg.operators.matrix import csr_times, diagonal_blocks_of

_COLUMNS_AT_ONCE = 256  # right-hand sides solved together when D is formed: bounds memory to 256 n doubles
_DROP = 1e-15  # entries of D below this fraction of its largest are rounding noise of the triangular solves


class SparseDelassus:
    """H: (n, n) [kg], positive definite up to a small non-symmetric part; J: (m, n); compliance: (m,) or None."""

    kind = "sparse"

    def __init__(self, H: sp.csr_array, J: sp.csr_array, compliance=None):
        self.H = H
        self.J = J
        self.compliance = compliance

    @property
    def row_count(self) -> int:
        return self.J.shape[0]

    @cached_property
    def factor(self) -> spla.SuperLU:
        """LU of H; without pivoting for size, which a positive definite matrix does not need."""
        return spla.splu(
            sp.csc_array(self.H), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )

    def body_velocity(self, reactions: np.ndarray) -> np.ndarray:
        """H⁻¹ Jᵀ λ, (n,)."""
        return self.factor.solve(csr_times(self.J_transposed, reactions))

    @cached_property
    def J_transposed(self) -> sp.csr_array:
        """Jᵀ by rows, (n, m)."""
        return sp.csr_array(self.J.T)

    def rows_times(self, u: np.ndarray) -> np.ndarray:
        """J u, (m,)."""
        return csr_times(self.J, u)

    def product(self, reactions: np.ndarray) -> np.ndarray:
        """D λ, (m,)."""
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

    def dense(self) -> np.ndarray:
        """D as a full matrix, (m, m)."""
        return self.matrix().toarray()

    def jacobian(self) -> sp.csr_array:
        """J, (m, n)."""
        return self.J

    def mass_matrix(self) -> sp.csr_array:
        """H, (n, n)."""
        return self.H

    def diagonal_blocks(self, block_start: np.ndarray) -> np.ndarray:
        """The diagonal blocks D_kk one after the other, each row by row."""
        return diagonal_blocks_of(self.matrix(), block_start)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """diag D, (m,)."""
        return self.matrix().diagonal()

    def __repr__(self) -> str:
        return f"SparseDelassus({self.H.shape[0]} velocities, {self.row_count} rows)"
