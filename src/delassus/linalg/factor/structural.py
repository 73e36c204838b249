"""LU of matrices whose pattern is symmetric and whose values are not.

PARDISO where MKL is installed, SuperLU elsewhere; the analysis of a pattern is done once. Both take pivots from the
diagonal as they come: off it they would cost several times the fill, and callers regularise. What has hardly a zero is
factored in full by LAPACK, which takes a third of the time and analyses nothing.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack
from scipy.sparse.linalg import splu

from delassus.linalg.blas_threads import threads_for
from delassus.linalg.factor.mkl import ANALYSE, FACTOR, SOLVE, PardisoHandle, mkl

_STRUCTURALLY_SYMMETRIC = 1


def structural_factor(pointer: np.ndarray, column: np.ndarray, *, threads: int = 1) -> "PardisoLu | SuperLu":
    """A factorisation for one pattern in compressed rows: pointer (n + 1,), column (entries,), sorted, diagonal too."""
    return SuperLu(pointer, column) if mkl() is None else PardisoLu(pointer, column, threads)


def structural_of(A: sp.csr_array) -> "PardisoLu | SuperLu":
    """A factored.  A: (n, n), whose pattern is made symmetric; raises RuntimeError where it is singular."""
    row, n = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), np.arange(A.shape[0])
    rows, columns = np.concatenate([row, A.indices, n]), np.concatenate([A.indices, row, n])
    data = np.concatenate([A.data, np.zeros(A.nnz + len(n))])  # zeros for mirror images and the diagonal
    whole = sp.coo_array((data, (rows, columns)), shape=A.shape).tocsr()
    out = structural_factor(whole.indptr, whole.indices)
    out.values[:] = whole.data
    if not out.factor():
        raise RuntimeError("matrix is singular")
    return out


class FullLu:
    """LAPACK's, for a matrix of so many unknowns in full. `values`: (size²,), by rows, zeros before."""

    def __init__(self, size: int):
        self.size, self.values = size, np.zeros(size * size)

    def factor(self) -> bool:
        """Factor `values`; False where the matrix is singular."""
        with threads_for(self.size):  # rows read as columns are the transpose
            self.lu, self.pivots, info = lapack.dgetrf(self.values.reshape(self.size, self.size).T)
        return bool(info == 0)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """A⁻¹ right, (n,) or (n, k)."""
        return lapack.dgetrs(self.lu, self.pivots, right, trans=1)[0]


class SuperLu:
    """SciPy's SuperLU. The fill-reducing order of the first factorisation serves all later ones."""

    def __init__(self, pointer: np.ndarray, column: np.ndarray):
        self.pointer, self.column = pointer, column
        self.values = np.empty(len(column))
        self.number: np.ndarray | None = None  # place of every unknown in the order

    def factor(self) -> bool:
        """Factor `values`; False where the matrix is singular."""
        try:
            if self.number is None:
                # compressed rows read as compressed columns are the transpose, which is solved with transposed factors
                n = len(self.pointer) - 1
                first = _lu(sp.csc_array((self.values, self.column, self.pointer), shape=(n, n)), "MMD_AT_PLUS_A")
                self._arrange(first.perm_c)
            self.arranged.data[:] = self.values[self.source]
            self.lu = _lu(self.arranged, "NATURAL")
        except RuntimeError:  # exactly singular
            return False
        return True

    def solve(self, right: np.ndarray) -> np.ndarray:
        """A⁻¹ right, (n,) or (n, k)."""
        arranged = np.empty_like(right)
        arranged[self.number] = right
        return self.lu.solve(arranged, trans="T")[self.number]

    def _arrange(self, number: np.ndarray) -> None:
        """Let unknown i be number[i]."""
        row, column = self.column, np.repeat(np.arange(len(number)), np.diff(self.pointer))
        counted = np.arange(1.0, len(row) + 1.0)
        self.arranged = sp.coo_array((counted, (number[row], number[column])), shape=(len(number),) * 2).tocsc()
        self.source = self.arranged.data.astype(np.int64) - 1
        self.number = number


def _lu(A: sp.csc_array, order: str) -> Any:
    return splu(A, permc_spec=order, diag_pivot_thresh=0.0, options={"SymmetricMode": True})


class PardisoLu:
    """PARDISO for structurally symmetric matrices."""

    def __init__(self, pointer: np.ndarray, column: np.ndarray, threads: int):
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
        """A⁻¹ right, (n,) or (n, k); NaN where PARDISO fails."""
        if right.ndim == 2:
            found = self.handle.solve_many(right.T)
            return np.full(right.shape, np.nan) if found is None else found.T
        self.right[:] = right
        return self.left.copy() if self.handle.call(SOLVE) else np.full_like(self.left, np.nan)
