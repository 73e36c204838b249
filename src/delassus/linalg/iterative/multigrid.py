"""Algebraic multigrid as a preconditioner, by the optional package pyamg (smoothed aggregation)."""

import numpy as np
import scipy.sparse as sp

from delassus.errors import SettingsError
from delassus.linalg.factor.symmetric import Pattern

_COARSEST = 300  # unknowns that are solved directly


class Multigrid:
    """One V-cycle for positive definite matrices of one pattern. Every place in a block is a field of its own."""

    shift = 0.0

    def __init__(self, pattern: Pattern):
        try:
            import pyamg
        except ImportError:
            raise SettingsError(
                "preconditioner 'amg' needs pyamg: pip install 'delassus[multigrid]', or use 'ic0'"
            ) from None
        self.pyamg, self.pattern = pyamg, pattern
        row, column, source = pattern.full()
        # row and column arrays are kept sorted by SciPy; the values then follow by one permutation
        A = sp.csr_matrix((source + 1.0, (row, column)), shape=(pattern.size, pattern.size))
        A.sort_indices()
        self.source = A.data.astype(np.int64) - 1
        self.A = A
        self.fields = np.tile(np.eye(pattern.block), (pattern.size // pattern.block, 1))

    def factor(self, values: np.ndarray) -> bool:
        """Build the levels for the matrix with these values."""
        self.A.data = values.reshape(-1)[self.source]
        A = self.A.tobsr((self.pattern.block, self.pattern.block))
        levels = self.pyamg.smoothed_aggregation_solver(A, B=self.fields, max_coarse=_COARSEST, coarse_solver="splu")
        self.cycle = levels.aspreconditioner()
        return True

    def solve(self, right: np.ndarray, out: np.ndarray) -> None:
        """out = one cycle from zero."""
        out[:] = self.cycle @ right
