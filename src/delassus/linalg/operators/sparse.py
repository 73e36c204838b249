"""D = J H⁻¹ Jᵀ + E with a general sparse H (flexible bodies), through one factorisation of H."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from delassus.kernel import njit
from delassus.linalg.dense_product import exact_times_plus
from delassus.linalg.factor.definite import Definite, definite_of
from delassus.linalg.factor.dense_factor import FullFactor
from delassus.linalg.factor.structural import structural_of
from delassus.linalg.operators.delassus import FEW_ROWS, Delassus
from delassus.linalg.operators.islands import islands_of_full, islands_of_velocities
from delassus.linalg.operators.matrix import csr_times, fill_blocks_of_full, scatter

_COLUMNS_AT_ONCE = 256  # right-hand sides solved together when D is formed: bounds memory to 256 n doubles
_ROWS_AT_ONCE = 2000  # of D where its diagonal blocks are found piece by piece: 32 MB, and half a minute saved
_DROP = 1e-15  # entries of D below this fraction of its largest are rounding noise of the triangular solves
_FEW_VELOCITIES = 300  # up to which SuperLU, called once, takes less time than an analysis by PARDISO

FULL_VELOCITIES = 200
"""Up to which H is factored in full: SciPy would take longer to look at it."""

ROUNDING = 1e-13
"""Of the largest entry of H: how far mirror images differ that were summed in another order."""

MOST_FULL = 6000
"""Rows up to which D is held in full where H is sparse: two thousand contacts, 288 MB."""


class Factor(Protocol):
    """A factorisation of H: SuperLU's own, `FullFactor` or `Definite`."""

    def solve(self, right: np.ndarray) -> np.ndarray:
        """H⁻¹ right, (n,) or (n, k)."""


class SparseDelassus(Delassus):
    """H: (n, n) [kg], positive definite up to a small non-symmetric part, in compressed rows, or in blocks of them;
    J: (m, n) in compressed rows; compliance: (m,) or None; factor: a factorisation of this H, or None to make one when
    it is needed. Where a `Definite` is factored anew for another H, this D makes a factorisation of its own if it is
    asked again: H must stay what it was.

    D is held in full up to MOST_FULL rows, formed at the first question about it: a product then takes a fifth of the
    time of a solve with H, and the judge finds the same figures whoever asked before. Beyond, the judge's diagonal
    blocks are found piece by piece, and D is formed only for methods that ask for its matrix."""

    kind = "sparse"
    is_primal = True

    def __init__(
        self,
        H: sp.csr_array | sp.bsr_array,
        J: sp.csr_array,
        compliance: np.ndarray | None = None,
        factor: Factor | None = None,
    ):
        self.given = H
        self.J = J
        self.compliance = compliance
        self.row_count, self.velocity_count = J.shape
        self.has_blocks_at_hand = self.row_count <= FEW_ROWS
        self.has_matrix_at_hand = self.row_count <= MOST_FULL
        if factor is not None:
            self.factor = factor
            self.number = getattr(factor, "number", 0)

    number = 0  # of the factorisation at hand: see `Definite`

    @cached_property
    def H(self) -> sp.csr_array:
        """H in compressed rows."""
        return self.given if self.given.format == "csr" else sp.csr_array(self.given)

    @cached_property
    def factor(self) -> Factor:
        """H factored."""
        return mass_factor(self.H)

    def mass_solve(self, momentum: np.ndarray) -> np.ndarray:
        """H⁻¹ p, (n,) [m/s], or of many, (n, k)."""
        return self._own_factor().solve(momentum)

    def _own_factor(self) -> Any:
        """The factorisation, made anew where the one given has gone on to another H."""
        if self.number and getattr(self.factor, "number", 0) != self.number:
            self.factor, self.number = mass_factor(self.H), 0
        return self.factor

    def body_velocity(self, reactions: np.ndarray) -> np.ndarray:
        pushed = np.zeros(self.velocity_count)
        _add_transposed_times(self.J.indptr, self.J.indices, self.J.data, reactions, pushed)
        return self.mass_solve(pushed)

    def rows_times(self, u: np.ndarray) -> np.ndarray:
        return csr_times(self.J, u)

    def product(self, reactions: np.ndarray) -> np.ndarray:
        if self.has_matrix_at_hand:
            return self.velocity(reactions, np.zeros(self.row_count))
        v = self.rows_times(self.body_velocity(reactions))
        if self.compliance is not None:
            v += self.compliance * reactions
        return v

    def velocity(self, reactions: np.ndarray, free: np.ndarray) -> np.ndarray:
        if self.row_count > FEW_ROWS and not reactions.any():
            return free.copy()  # D is not worth forming where nothing pushes
        if not self.has_matrix_at_hand:
            return super().velocity(reactions, free)
        v = np.empty(self.row_count)
        exact_times_plus(self.full, reactions, free, v)
        return v

    def velocities(
        self, reactions: np.ndarray, free: np.ndarray, u_f: np.ndarray | None, bias: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        if self.row_count > FEW_ROWS and not reactions.any():
            return free.copy(), None if u_f is None else u_f.copy()
        if not self.has_matrix_at_hand:
            return super().velocities(reactions, free, u_f, bias)
        return self.velocity(reactions, free), None if u_f is None else u_f + self.body_velocity(reactions)

    def dense(self) -> np.ndarray:
        return self.full.copy() if self.row_count <= MOST_FULL else super().dense()

    @cached_property
    def full(self) -> np.ndarray:
        if self.row_count > MOST_FULL:
            return super().dense()
        out = self._between(self.J)
        if self.compliance is not None:
            out.flat[:: self.row_count + 1] += self.compliance
        return out

    def _between(self, J: sp.csr_array) -> np.ndarray:
        """J H⁻¹ Jᵀ in full, of all rows or some, without what is rounding noise."""
        factor, count = self._own_factor(), J.shape[0]
        if count <= FEW_ROWS:
            columns, out = np.zeros((self.velocity_count, count), order="F"), np.empty((count, count))
            _scatter_transposed(J.indptr, J.indices, J.data, columns)
            _fill_full(J.indptr, J.indices, J.data, factor.solve(columns), out)
            return out
        if isinstance(factor, Definite):
            out = factor.between(J)
            _drop(out)
            return out
        return np.concatenate(list(self._columns(J)), axis=1)

    def _columns(self, J: sp.csr_array) -> Iterator[np.ndarray]:
        """J H⁻¹ Jᵀ, some columns after the other."""
        transposed = sp.csc_array(J.T)
        for first in range(0, J.shape[0], _COLUMNS_AT_ONCE):
            block = J @ self.mass_solve(transposed[:, first : first + _COLUMNS_AT_ONCE].toarray())
            block[np.abs(block) < _DROP * np.abs(block).max(initial=0.0)] = 0.0
            yield block

    @property
    def _shares_full(self) -> bool:
        """Do related operators take D from this one? Of few rows they form their own."""
        return FEW_ROWS < self.row_count <= MOST_FULL

    @cached_property
    def diagonal(self) -> np.ndarray:
        return self.diagonal_blocks(np.arange(self.row_count + 1))

    def diagonal_blocks(self, block_start: np.ndarray) -> np.ndarray:
        sizes = np.diff(block_start)
        out = np.zeros(int((sizes * sizes).sum()))
        if self.row_count <= MOST_FULL:
            fill_blocks_of_full(self.full, block_start, out)
            return out
        diagonal, at, k = np.zeros(self.row_count), 0, 0
        while k < len(sizes):
            end = max(k + 1, int(np.searchsorted(block_start, block_start[k] + _ROWS_AT_ONCE, side="right")) - 1)
            first, last = int(block_start[k]), int(block_start[end])
            piece = self._between(sp.csr_array(self.J[first:last]))
            if self.compliance is not None:
                piece.flat[:: last - first + 1] += self.compliance[first:last]
            at += fill_blocks_of_full(piece, block_start[k : end + 1] - first, out[at:])
            diagonal[first:last], k = piece.diagonal(), end
        self.diagonal = diagonal
        return out

    @property
    def stored_entries(self) -> int:
        return int(np.count_nonzero(self.full)) if self._shares_full and "full" in self.__dict__ else 0

    def matrix(self) -> sp.csr_array:
        """D as a sparse matrix, (m, m); formed once."""
        return self._matrix

    @cached_property
    def _matrix(self) -> sp.csr_array:
        if self.row_count <= MOST_FULL:
            full = self.full
            pointer = np.zeros(len(full) + 1, np.int32)
            _count_entries(full, pointer)
            index, data = np.empty(pointer[-1], np.int32), np.empty(pointer[-1])
            _compress(full, index, data)
            return sp.csr_array((data, index, pointer), shape=full.shape)
        D = sp.hstack([sp.csc_array(block) for block in self._columns(self.J)])
        if self.compliance is not None:
            D = D + sp.diags_array(self.compliance)
        D = sp.csr_array(D)
        D.sum_duplicates()
        return D

    def jacobian(self) -> sp.csr_array:
        return self.J

    def mass_matrix(self) -> sp.csr_array:
        return self.H

    @cached_property
    def mass_symmetric(self) -> tuple[sp.csr_array, bool]:
        if self.number and isinstance(self.factor, Definite):  # given as such by whoever assembled H
            return self.H, True
        return super().mass_symmetric

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
        out = SparseDelassus(self.H, sp.csr_array(self.J[rows]), compliance, self._own_factor())
        if self._shares_full:
            out.full = self.full[np.ix_(rows, rows)]
        return out, np.arange(self.velocity_count)

    def scaled(self, row: np.ndarray, unit: float) -> "SparseDelassus":
        compliance = None if self.compliance is None else row * row * self.compliance / unit
        J, factor = sp.csr_array(sp.diags_array(row) @ self.J), None
        if self.velocity_count > _FEW_VELOCITIES:
            factor = Multiple(self._own_factor(), unit)
        out = SparseDelassus(self.H * unit, J, compliance, factor)
        if self._shares_full:
            out.full = row[:, None] * self.full * (row / unit)
        return out

    def softened(self, by: float | np.ndarray) -> "SparseDelassus":
        compliance = np.zeros(self.row_count) if self.compliance is None else self.compliance
        factor = self._own_factor() if "factor" in self.__dict__ else None
        out = SparseDelassus(self.given, self.J, compliance + by, factor)
        if self._shares_full:
            out.full = self.full.copy()
            out.full.flat[:: self.row_count + 1] += by
        return out

    def with_unit_masses(self) -> "SparseDelassus":
        soft = None if self.compliance is None else np.where(self.compliance > 0.0, 1.0, 0.0)
        return SparseDelassus(sp.csr_array(sp.eye_array(self.velocity_count)), self.J, soft)

    def __repr__(self) -> str:
        return f"SparseDelassus({self.H.shape[0]} velocities, {self.row_count} rows)"


class Multiple:
    """A factorisation of `unit` times the matrix that `factor` is of."""

    def __init__(self, factor: Factor, unit: float):
        self.factor, self.unit = factor, unit

    def solve(self, right: np.ndarray) -> np.ndarray:
        """(unit H)⁻¹ right, (n,) or (n, k)."""
        return self.factor.solve(right) / self.unit


def mass_factor(H: sp.csr_array) -> Factor:
    """H factored, which is definite up to a small non-symmetric part; raises RuntimeError where it is singular."""
    if H.shape[0] <= FULL_VELOCITIES:
        full = np.zeros(H.shape)
        scatter(H.indptr, H.indices, H.data, full)
        eliminated = FullFactor.general(full)
        if eliminated is None:
            raise RuntimeError("H is singular")
        return eliminated
    if H.shape[0] <= _FEW_VELOCITIES:
        return _lu(sp.csc_array(H))
    skew, largest = skew_part(H.indptr, H.indices, H.data)
    if skew > ROUNDING * largest:
        return structural_of(H)
    factor = definite_of(H)
    if factor is None:
        raise RuntimeError("H is not positive definite")
    return factor


def definite_factor(H: sp.csr_array, *, is_exact: bool) -> Factor | None:
    """H factored, which is symmetric; None where it is not positive definite.  is_exact: symmetric to the last bit?"""
    if H.shape[0] > _FEW_VELOCITIES:
        return definite_of(H)
    try:  # compressed rows of what is symmetric are its compressed columns
        factor = _lu(sp.csc_array((H.data, H.indices, H.indptr), H.shape) if is_exact else sp.csc_array(H))
    except RuntimeError:
        return None
    is_definite = np.array_equal(factor.perm_r, factor.perm_c) and not (factor.U.diagonal() <= 0).any()
    return factor if is_definite else None


def _lu(H: sp.csc_array) -> spla.SuperLU:
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
    for j in range(len(out)):
        for i in range(len(out)):
            value = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                value += data[p] * solved[indices[p], j]
            out[i, j] = value
    _drop(out)


@njit(cache=True)
def _drop(D):
    """Set to zero what is rounding noise."""
    largest = 0.0
    for i in range(len(D)):
        for j in range(len(D)):
            largest = max(largest, abs(D[i, j]))
    for i in range(len(D)):
        for j in range(len(D)):
            if abs(D[i, j]) < _DROP * largest:
                D[i, j] = 0.0


@njit(cache=True)
def skew_part(indptr, indices, data):
    """(largest |H_ij − H_ji|, largest |H_ij|) of a square matrix in compressed, sorted rows."""
    skew = largest = 0.0
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            row = indices[indptr[indices[p]] : indptr[indices[p] + 1]]
            at = np.searchsorted(row, i)
            mirror = data[indptr[indices[p]] + at] if at < len(row) and row[at] == i else 0.0
            skew, largest = max(skew, abs(data[p] - mirror)), max(largest, abs(data[p]))
    return skew, largest


@njit(cache=True)
def _count_entries(D, pointer):
    """pointer: (m + 1,) first entry of each row of D in compressed rows."""
    for i in range(len(D)):
        count = 0
        for j in range(len(D)):
            count += D[i, j] != 0.0
        pointer[i + 1] = pointer[i] + count


@njit(cache=True)
def _compress(D, index, data):
    at = 0
    for i in range(len(D)):
        for j in range(len(D)):
            if D[i, j] != 0.0:
                index[at], data[at] = j, D[i, j]
                at += 1
