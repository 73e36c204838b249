"""Symmetric systems by SciPy's SuperLU: everywhere, without MKL."""

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from delassus.linalg.symmetric import Pattern


class SuperLu:
    """LU in symmetric mode. The fill-reducing order of the first factorisation serves all later ones."""

    def __init__(self, pattern: Pattern):
        self.pattern = pattern
        self.order: np.ndarray | None = None
        self.lu: spla.SuperLU | None = None

    def factor(self, values: np.ndarray) -> bool:
        first = self.order is None
        if first:
            self._arrange(np.arange(self.pattern.size))
        self.A.data[:] = values.reshape(-1)[self.source]
        how = "MMD_AT_PLUS_A" if first else "NATURAL"
        try:
            self.lu = spla.splu(self.A, permc_spec=how, diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:  # exactly singular
            return False
        if first:
            self.order = np.argsort(self.lu.perm_c)
            self._arrange(self.lu.perm_c)
            self.A.data[:] = values.reshape(-1)[self.source]
            self.lu = spla.splu(self.A, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        return bool(np.isfinite(self.lu.U.diagonal()).all())

    def _arrange(self, number: np.ndarray) -> None:
        """Both triangles in compressed columns, row i of the pattern becoming row number[i]."""
        row, column, source = self.pattern.full()
        n = self.pattern.size
        A = sp.coo_array((source + 1.0, (number[row], number[column])), shape=(n, n)).tocsc()
        self.source = A.data.astype(np.int64) - 1
        self.A = A
        self.number = number

    def solve(self, right: np.ndarray, out: np.ndarray) -> None:
        assert self.lu is not None
        arranged = np.empty_like(right)
        arranged[self.number] = right
        out[:] = self.lu.solve(arranged)[self.number]

    def release(self) -> None:
        self.lu = None
