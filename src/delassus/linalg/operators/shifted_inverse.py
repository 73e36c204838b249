"""x = (S D S + diag σ)⁻¹ r inside compiled loops, for a diagonal scaling S; D is never formed where bodies are few.

| storage | what is factored |
|---|---|
| dense | the inverse itself: for small problems a product costs less than two triangular solves |
| rows | D + diag σ, by sparse LU |
| bodies | H + Jᵀ W J with W = (E + diag σ)⁻¹; by Woodbury (D + diag σ)⁻¹ = W − W J (H + Jᵀ W J)⁻¹ Jᵀ W |

D and H are factored as they are, so that a small non-symmetric part (gyroscopic terms) needs no correction. One
symmetric eigendecomposition would make every σ free, but costs as much as three to five inversions and doubles each
product; few solves change σ that often.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack

from delassus.kernel import njit
from delassus.linalg.blas_threads import threads_for
from delassus.linalg.dense_product import dense_times
from delassus.linalg.factor.sparse_lu import SparseLU, lu_solve, lu_work_size
from delassus.linalg.operators.delassus import Delassus
from delassus.linalg.operators.rigid import RigidDelassus

ROWS, BODIES, FEW_BODIES = 0, 1, 2
SMALL = 48  # rows up to which `invert_small` beats LAPACK behind Python
_FEW = 150  # velocities up to which a full inverse of H + Jᵀ S J beats its sparse factors
_NO_INDEX, _NO_VALUE, _NO_MATRIX = np.zeros(0, np.int32), np.zeros(0), np.zeros((0, 0))
_NO_ROWS = _NO_INDEX, _NO_INDEX, _NO_VALUE
_NO_BODIES = _NO_VALUE, _NO_ROWS, _NO_ROWS


class ShiftedDense:
    """(D + diag σ)⁻¹ as a full matrix, stored transposed.  D: (m, m)."""

    work_size = 0

    def __init__(self, D: np.ndarray):
        self.D = D
        self.inverse = np.empty(D.shape)

    def factor(self, shift: np.ndarray) -> None:
        """Invert for a new σ, (m,)."""
        if len(shift) <= SMALL:
            invert_small(self.D, shift, self.inverse)
        else:
            A = self.D.T.copy()
            A[np.diag_indices(len(A))] += shift
            self.inverse = _inverse(A)


class ShiftedRows:
    """(S D S + diag σ)⁻¹ by a sparse factorisation of that matrix.  D: (m, m); scale: S, (m,)."""

    kind = ROWS

    def __init__(self, D: sp.csr_array, scale: np.ndarray):
        # a factor per entry costs less than two sparse products
        data = D.data * np.repeat(scale, np.diff(D.indptr)) * scale[D.indices]
        self.D = sp.csc_array(sp.csr_array((data, D.indices, D.indptr), shape=D.shape))
        self.lu = SparseLU()
        self.work_size = lu_work_size(D.shape[0])

    def factor(self, shift: np.ndarray) -> None:
        """Factor for a new σ, (m,)."""
        if self.lu.order is None:
            A = sp.csc_array(self.D + sp.diags_array(shift))
            self.lu.factor(A)
            self._keep(A, shift)
        else:
            self.ordered.data[:] = self.unshifted
            self.ordered.data[self.diagonal_at] += shift[self.lu.order]
            self.lu.factor_ordered(self.ordered)

    def _keep(self, A: sp.csc_array, shift: np.ndarray) -> None:
        """The matrix in elimination order, so that another σ is written onto its diagonal and nothing else is done."""
        order = self.lu.order
        self.ordered = sp.csc_array(A[order][:, order])
        self.ordered.sort_indices()
        column = np.repeat(np.arange(A.shape[0]), np.diff(self.ordered.indptr))
        self.diagonal_at = np.flatnonzero(self.ordered.indices == column)
        self.unshifted = self.ordered.data.copy()
        self.unshifted[self.diagonal_at] -= shift[order]

    @property
    def plain(self) -> tuple[Any, ...]:
        """What `solve_shifted` takes."""
        return _NO_MATRIX, self.lu.plain, _NO_BODIES


class ShiftedBodies:
    """(S D S + diag σ)⁻¹ through H + Jᵀ W J, with the rows of J scaled already.  H: (n, n), J: (m, n); compliance: (m,)
    or None, scaled too. With few velocities H + Jᵀ W J is inverted, with many it is factored."""

    def __init__(self, H: sp.csr_array, J: sp.csr_array, compliance: np.ndarray | None):
        m, n = J.shape
        self.H, self.J, self.J_transposed, self.compliance = H, J, sp.csr_array(J.T), compliance
        self.kind = FEW_BODIES if n <= _FEW else BODIES
        if self.kind == FEW_BODIES:
            self.H_full, self.J_full = H.toarray(), J.toarray()
        self.inverse, self.lu = _NO_MATRIX, SparseLU()
        self.weight = np.zeros(m)
        self.work_size = 2 * n + lu_work_size(n) + m

    def factor(self, shift: np.ndarray) -> None:
        """Factor for a new σ, (m,), positive."""
        self.weight = 1.0 / (shift if self.compliance is None else shift + self.compliance)
        if self.kind == FEW_BODIES:
            K = self.H_full + (self.J_full.T * self.weight) @ self.J_full
            self.inverse = _inverse(K.T.copy())
        else:
            weighted = sp.diags_array(self.weight) @ self.J
            self.lu.factor(sp.csc_array(self.H + self.J_transposed @ weighted))

    @property
    def plain(self) -> tuple[Any, ...]:
        """What `solve_shifted` takes."""
        J, Jt = self.J, self.J_transposed
        bodies = self.weight, (J.indptr, J.indices, J.data), (Jt.indptr, Jt.indices, Jt.data)
        return self.inverse, self.lu.plain, bodies


def shifted_inverse(delassus: Delassus, scale: np.ndarray) -> ShiftedRows | ShiftedBodies:
    """The sparse storage whose system is the smaller one.  scale: S, (m,)."""
    if not delassus.is_primal:
        return ShiftedRows(delassus.matrix(), scale)
    compliance = None if delassus.compliance is None else scale * scale * delassus.compliance
    if not delassus.has_bodies:
        J = delassus.jacobian()
        data = J.data * np.repeat(scale, np.diff(J.indptr))
        return ShiftedBodies(
            delassus.mass_matrix(), sp.csr_array((data, J.indices, J.indptr), shape=J.shape), compliance
        )
    rigid = delassus.rigid
    touched = touched_bodies(rigid)
    if 6 * len(touched) >= delassus.row_count:
        return ShiftedRows(delassus.matrix(), scale)
    return ShiftedBodies(*_touched_system(rigid, touched, scale), compliance)


def touched_bodies(delassus: RigidDelassus) -> np.ndarray:
    """Numbers of the bodies that some row acts on, ascending."""
    is_touched = np.zeros(len(delassus.mass) + 1, np.bool_)
    is_touched[delassus.bodies] = True  # the world, −1, is the last entry
    return np.flatnonzero(is_touched[:-1])


def _touched_system(
    delassus: RigidDelassus, touched: np.ndarray, scale: np.ndarray
) -> tuple[sp.csr_array, sp.csr_array]:
    """H and S J of the touched bodies alone, built block by block."""
    count, rows = len(touched), delassus.row_count
    local = np.full(len(delassus.mass) + 1, -1)
    local[touched] = np.arange(count)
    pair = np.repeat(local[delassus.bodies], np.diff(delassus.block_start), axis=0)  # of each row
    present = np.repeat(pair >= 0, 6, axis=1)
    column = (6 * pair[:, :, None] + np.arange(6)).reshape(rows, 12)
    pointer = np.zeros(rows + 1, np.int32)
    np.cumsum(present.sum(axis=1), out=pointer[1:])
    data = (scale[:, None] * delassus.rows)[present]
    J = sp.csr_array((data, column[present].astype(np.int32), pointer), shape=(rows, 6 * count))
    blocks = sp.bsr_array(
        (delassus.mass[touched], np.arange(count), np.arange(count + 1)), shape=(6 * count, 6 * count)
    )
    return sp.csr_array(blocks), J


def _inverse(A: np.ndarray) -> np.ndarray:
    """A⁻¹ by LAPACK, by rows like A.  A: (n, n), overwritten."""
    with threads_for(len(A)):  # LAPACK takes rows for columns: it inverts the transpose
        lu, pivots, _ = lapack.dgetrf(A.T, overwrite_a=True)
        return lapack.dgetri(lu, pivots, overwrite_lu=True)[0].T


@njit(cache=True, error_model="numpy")
def invert_small(D, shift, inverse):
    """inverse = (D + diag shift)⁻ᵀ by Gauß–Jordan elimination; positive definite up to a small non-symmetric part, the
    matrix needs no pivoting."""
    m = len(D)
    for i in range(m):
        for j in range(m):
            inverse[i, j] = D[j, i]
        inverse[i, i] += shift[i]
    for k in range(m):
        pivot = 1.0 / inverse[k, k]
        inverse[k, k] = 1.0
        for j in range(m):
            inverse[k, j] *= pivot
        for i in range(m):
            if i != k:
                f = inverse[i, k]
                inverse[i, k] = 0.0
                for j in range(m):
                    inverse[i, j] -= f * inverse[k, j]


@njit(cache=True)
def solve_shifted(kind, inverse, lu, bodies, r, x, work):
    """x = (D + diag σ)⁻¹ r with sparse factors.  bodies: (W, J, Jᵀ), the matrices in compressed rows; r, x: (m,),
    different arrays; work: scratch of `work_size`."""
    if kind == ROWS:
        lu_solve(lu, r, x, work)
    else:
        W, J, J_transposed = bodies
        j_pointer, j_index, j_data = J
        t_pointer, t_index, t_data = J_transposed
        n, m = len(t_pointer) - 1, len(r)
        push, moved, weighted, scratch = work[:n], work[n : 2 * n], work[2 * n : 2 * n + m], work[2 * n + m :]
        for i in range(m):
            weighted[i] = W[i] * r[i]
        for i in range(n):
            value = 0.0
            for p in range(t_pointer[i], t_pointer[i + 1]):
                value += t_data[p] * weighted[t_index[p]]
            push[i] = value
        if kind == BODIES:
            lu_solve(lu, push, moved, scratch)
        else:
            dense_times(inverse, push, moved)
        for i in range(m):
            value = r[i]
            for p in range(j_pointer[i], j_pointer[i + 1]):
                value -= j_data[p] * moved[j_index[p]]
            x[i] = W[i] * value
