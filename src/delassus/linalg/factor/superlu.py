"""Symmetric systems by SciPy's SuperLU: everywhere, without MKL."""

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from delassus.linalg.factor.symmetric import Pattern


class SuperLu:
    """LU in symmetric mode. The fill-reducing order of the first factorisation serves all later ones.

    definite: refuse matrices that are not positive definite. Pivots taken from the diagonal are those of LDLᵀ, so that
    their signs tell."""

    def __init__(self, pattern: Pattern, *, definite: bool):
        self.pattern, self.definite = pattern, definite
        self.order: np.ndarray | None = None
        self.lu: spla.SuperLU | None = None

    def factor(self, values: np.ndarray) -> bool:
        try:
            if self.order is None:
                self._arrange(np.arange(self.pattern.size))
                first = self._lu(values, "MMD_AT_PLUS_A")
                self.order = np.argsort(first.perm_c)
                self._arrange(first.perm_c)
            self.lu = self._lu(values, "NATURAL")
        except RuntimeError:  # exactly singular
            return False
        pivots = self.lu.U.diagonal()
        if not np.isfinite(pivots).all():
            return False
        return not self.definite or bool((pivots > 0.0).all() and np.array_equal(self.lu.perm_r, self.lu.perm_c))

    def _lu(self, values: np.ndarray, order: str) -> spla.SuperLU:
        self.A.data[:] = values.reshape(-1)[self.source]
        return spla.splu(self.A, permc_spec=order, diag_pivot_thresh=0.0, options={"SymmetricMode": True})

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

    def solve_many(self, right: np.ndarray) -> np.ndarray:
        assert self.lu is not None
        arranged = np.empty(right.shape[::-1])
        arranged[self.number] = right.T
        return np.ascontiguousarray(self.lu.solve(arranged)[self.number].T)

    def release(self) -> None:
        self.lu = None
