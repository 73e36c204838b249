"""Sparse LU factors as flat arrays, so that compiled loops can solve with them.

SuperLU behind Python costs tens of microseconds per call, more than the triangular solves of a problem of a thousand
rows. The factors are kept in panels of three neighbouring columns: those of a contact have the same pattern, so that
one index serves three entries, which halves the time of a solve.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from delassus.kernel import njit

_PANEL = 3
_NO_PANELS = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, _PANEL))


class Panels(NamedTuple):
    """Columns three by three.  start: (panels + 1,) first entry of each; row: of each entry; value: (entries, 3)."""

    start: np.ndarray
    row: np.ndarray
    value: np.ndarray


class LUFactors(NamedTuple):
    """row, column: (n,) the order of elimination; L, U: `Panels` as plain tuples; inverse: of U's diagonal."""

    row: np.ndarray
    column: np.ndarray
    L: tuple[np.ndarray, ...]
    U: tuple[np.ndarray, ...]
    inverse: np.ndarray


NO_LU = (np.zeros(0, np.int32), np.zeros(0, np.int32), _NO_PANELS, _NO_PANELS, np.zeros(0))
"""For compiled code that uses no factors."""


class SparseLU:
    """Factors of matrices of one pattern, each diagonally strong enough to need no pivoting for size (positive definite
    up to a small non-symmetric part). The order of elimination is found at the first factorisation and kept."""

    def __init__(self) -> None:
        self.order: np.ndarray | None = None
        self.plain: tuple[Any, ...] = NO_LU  # `LUFactors`

    def factor(self, A: sp.csc_array) -> None:
        """Factor A (n, n); `plain` then holds what `lu_solve` takes."""
        if self.order is None:
            self._factor(A, np.arange(A.shape[0], dtype=np.int32), "MMD_AT_PLUS_A")
            self.order = LUFactors(*self.plain).column
        else:
            self.factor_ordered(sp.csc_array(A[self.order][:, self.order]))

    def factor_ordered(self, A: sp.csc_array) -> None:
        """Factor a matrix whose rows and columns are in elimination order already: A[order][:, order]."""
        assert self.order is not None
        self._factor(A, self.order, "NATURAL")

    def _factor(self, A: sp.csc_array, order: np.ndarray, method: str) -> None:
        lu = spla.splu(A, permc_spec=method, diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        # Pr A Pc = L U with (Pr b)[perm_r] = b: entry k of the permuted right side is b[row[k]]
        row, column = np.empty_like(order), np.empty_like(order)
        row[lu.perm_r] = order
        column[lu.perm_c] = order
        inverse = np.ones(len(order) + -len(order) % _PANEL)
        inverse[: len(order)] = 1.0 / lu.U.diagonal()
        self.plain = tuple(LUFactors(row, column, _panels(lu.L), _panels(lu.U), inverse))


def lu_work_size(rows: int) -> int:
    """Length of the scratch that `lu_solve` needs."""
    return rows + -rows % _PANEL


def _panels(factor: sp.csc_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The fields of `Panels`. Columns of the identity make their number a multiple of three."""
    n = factor.shape[0]
    padding = -n % _PANEL
    pointer, index, data = factor.indptr, factor.indices, factor.data
    if padding:
        pointer = np.concatenate([pointer, pointer[-1] + np.arange(1, padding + 1, dtype=pointer.dtype)])
        index = np.concatenate([index, np.arange(n, n + padding, dtype=index.dtype)])
        data = np.concatenate([data, np.ones(padding)])
    size = n + padding
    transposed = sp.csr_array((data, index, pointer), shape=(size, size))  # the same arrays: columns become rows
    panels = transposed.tobsr(blocksize=(_PANEL, 1))
    panels.sort_indices()
    return panels.indptr, panels.indices, panels.data.reshape(-1, _PANEL)


@njit(cache=True, error_model="numpy")
def lu_solve(lu, b, x, work):
    """x = A⁻¹ b.  lu: `SparseLU.plain`; b, x: (n,), may be the same; work: scratch of `lu_work_size`."""
    lu = LUFactors(*lu)
    row, column, inverse = lu.row, lu.column, lu.inverse
    l_start, l_row, l_value = lu.L
    u_start, u_row, u_value = lu.U
    n = len(row)
    for i in range(n):
        work[i] = b[row[i]]
    for i in range(n, len(inverse)):
        work[i] = 0.0
    for k in range(len(l_start) - 1):
        j, p = _PANEL * k, l_start[k]  # the first three entries are the panel's own triangle
        v0 = work[j]
        v1 = work[j + 1] - l_value[p + 1, 0] * v0
        v2 = work[j + 2] - l_value[p + 2, 0] * v0 - l_value[p + 2, 1] * v1
        work[j + 1], work[j + 2] = v1, v2
        for q in range(p + 3, l_start[k + 1]):
            work[l_row[q]] -= l_value[q, 0] * v0 + l_value[q, 1] * v1 + l_value[q, 2] * v2
    for k in range(len(u_start) - 2, -1, -1):
        j, p = _PANEL * k, u_start[k + 1] - 3  # the last three are
        v2 = work[j + 2] * inverse[j + 2]
        v1 = (work[j + 1] - u_value[p + 1, 2] * v2) * inverse[j + 1]
        v0 = (work[j] - u_value[p, 2] * v2 - u_value[p, 1] * v1) * inverse[j]
        work[j], work[j + 1], work[j + 2] = v0, v1, v2
        for q in range(u_start[k], p):
            work[u_row[q]] -= u_value[q, 0] * v0 + u_value[q, 1] * v1 + u_value[q, 2] * v2
    for i in range(n):
        x[column[i]] = work[i]
