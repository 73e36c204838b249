"""LU of matrices whose pattern is symmetric and whose values are not.

PARDISO where MKL is installed, with its analysis kept while the pattern lasts, SuperLU elsewhere. Both take pivots from
the diagonal as they come: off it they would cost several times the fill, and callers regularise.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from delassus.linalg.mkl import ANALYSE, FACTOR, SOLVE, PardisoHandle, mkl

_STRUCTURALLY_SYMMETRIC = 1


def structural_factor(pointer: np.ndarray, column: np.ndarray, *, threads: int = 1) -> "PardisoLu | SuperLu":
    """A factorisation for one pattern in compressed rows: pointer (n + 1,), column (entries,), sorted, diagonal too."""
    return SuperLu(pointer, column) if mkl() is None else PardisoLu(pointer, column, threads)


class SuperLu:
    """SciPy's SuperLU, which knows no analysis to keep."""

    keeps_analysis = False

    def __init__(self, pointer, column):
        self.pointer, self.column = pointer, column
        self.values = np.empty(len(column))

    def factor(self) -> bool:
        """Factor `values`; False where the matrix is singular."""
        n = len(self.pointer) - 1
        # compressed rows read as compressed columns are the transpose, which is solved with transposed factors
        transposed = sp.csc_array((self.values, self.column, self.pointer), shape=(n, n))
        try:
            self.lu = splu(
                transposed, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )
        except RuntimeError:  # exactly singular
            return False
        return True

    def solve(self, right: np.ndarray) -> np.ndarray:
        return self.lu.solve(right, trans="T")


class PardisoLu:
    """PARDISO for structurally symmetric matrices."""

    keeps_analysis = True

    def __init__(self, pointer, column, threads: int):
        n = len(pointer) - 1
        self.values, self.right, self.left = np.empty(len(column)), np.empty(n), np.empty(n)
        options = np.zeros(64, np.int32)
        options[0], options[1], options[34] = 1, 2, 1  # own options, nested dissection, counted from zero
        options[9] = 13  # pivots below 1e-13 of the norm replaced; refined only then
        self.handle = PardisoHandle(
            _STRUCTURALLY_SYMMETRIC, pointer, column, self.values, self.right, self.left, options, threads
        )
        self.analysed = False

    def factor(self) -> bool:
        """Factor `values`; False where the matrix is singular."""
        self.analysed = self.analysed or self.handle.call(ANALYSE)
        return self.analysed and self.handle.call(FACTOR)

    def solve(self, right: np.ndarray) -> np.ndarray:
        self.right[:] = right
        self.handle.call(SOLVE)
        return self.left.copy()
