"""Rank of J and extreme singular values of D.

They are found island by island, because D is block diagonal over the islands. A small island is
decomposed densely (exact up to rounding); a large one is counted by Sylvester's law of inertia on a sparse LDLᵀ of
D − τ I, and its extreme eigenvalues are Ritz values (estimated, good to three digits); a huge one is left out.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from delassus.problem.problem import Problem

_DENSE_ROWS = 500  # an island up to this size is decomposed densely: half a second at most
_SPARSE_ROWS = 20_000  # beyond this the sparse factorisation may take minutes
_SPARSE_ENTRIES = 5_000_000  # and beyond this number of entries of D, gigabytes
_SHIFT = 1e-10  # eigenvalues below this fraction of the largest count as zero in the sparse estimate


@dataclass(frozen=True)
class Spectrum:
    """Rank of J and extreme singular values of D. Every number is None where `method` is "skipped"."""

    method: str  # "exact", "estimated" or "skipped"
    rank: int | None  # of J; of D where only D is known
    full_rank: bool | None  # is D invertible?
    largest: float | None  # singular value of D [1/kg]
    smallest_nonzero: float | None  # singular value of D [1/kg]

    @property
    def condition(self) -> float | None:
        """σ_max / σ_min of D, infinite when D is rank deficient."""
        return math.inf if self.full_rank is False else self.condition_nonzero

    @property
    def condition_nonzero(self) -> float | None:
        """σ_max / smallest nonzero σ of D."""
        if self.largest is None or not self.smallest_nonzero:
            return None
        return self.largest / self.smallest_nonzero


def spectrum_of(problem: Problem, label: np.ndarray) -> Spectrum:
    """Rank of J and extreme singular values of D, island by island.  label: (m,) island of each row."""
    rows = problem.row_count
    if rows == 0:
        return Spectrum("exact", 0, True, None, None)
    order = np.argsort(label, kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(label))])
    if np.diff(edges).max() > _SPARSE_ROWS or problem.delassus.entry_bound(problem.cone.block_start) > _SPARSE_ENTRIES:
        return Spectrum("skipped", None, None, None, None)
    delassus = problem.delassus
    D = sp.csr_array(delassus.matrix()[order][:, order])
    J = sp.csr_array(delassus.jacobian()[order]) if delassus.is_primal else None
    rank = rank_D = 0
    extremes = []
    for first, last in zip(edges[:-1], edges[1:]):
        part = _dense_part if last - first <= _DENSE_ROWS else _sparse_part
        found = part(D[first:last, first:last])
        if found is None:
            return Spectrum("skipped", None, None, None, None)
        count, largest, smallest = found
        rank_D += count
        extremes += [largest, smallest]
        rank += count if J is None else _rank_of_rows(J[first:last], count)
    method = "exact" if np.diff(edges).max() <= _DENSE_ROWS else "estimated"
    nonzero = [value for value in extremes if value > 0.0]
    return Spectrum(method, rank, rank_D == rows, max(nonzero, default=None), min(nonzero, default=None))


def rank_of(problem: Problem, label: np.ndarray, kept: np.ndarray) -> int | None:
    """Rank of some rows of J, of D where only that is known, island by island; None where that would take too long.
    label: (m,) island of each row; kept: (m,) which rows."""
    delassus = problem.delassus
    if np.bincount(label[kept]).max(initial=0) > _SPARSE_ROWS:
        return None
    if delassus.entry_bound(problem.cone.block_start) > _SPARSE_ENTRIES:
        return None
    rows = sp.csr_array(delassus.jacobian() if delassus.is_primal else delassus.matrix())
    rank = 0
    for island in np.unique(label[kept]):
        mine = np.flatnonzero(kept & (label == island))
        part = sp.csr_array(rows[mine])
        if not delassus.is_primal:
            part = sp.csr_array(part[:, mine])
        found = _rank_of_rows(part, -1)
        if found < 0:
            return None
        rank += found
    return rank


def _dense_part(D: sp.csr_array) -> tuple[int, float, float]:
    """(rank, largest, smallest nonzero singular value) by a dense decomposition, NumPy's convention for zero."""
    values = scipy.linalg.svdvals(D.toarray())
    rank = _rank(values, D.shape)
    return rank, float(values[0]), float(values[rank - 1]) if rank else 0.0


def _rank(values: np.ndarray, shape: tuple[int, int]) -> int:
    return int((values > values[0] * max(shape) * np.finfo(float).eps).sum())


def _rank_of_rows(J: sp.csr_array, rank_D: int) -> int:
    """Rank of one island's rows of J; of its own singular values where small, for those of D spread with the masses."""
    used = np.unique(J.indices)
    if J.shape[0] <= _DENSE_ROWS and len(used):
        dense = J[:, used].toarray()
        return _rank(scipy.linalg.svdvals(dense), dense.shape)
    found = _sparse_part(sp.csr_array(J @ J.T)) if len(used) else (0, 0.0, 0.0)
    return rank_D if found is None else found[0]


def _sparse_part(D: sp.csr_array) -> tuple[int, float, float] | None:
    """(rank, largest, smallest nonzero eigenvalue) of the symmetric part of a large sparse island, estimated.

    The signs of the pivots of D − τ I count the eigenvalues above τ; the same factor turns the search for the smallest
    of them into one for the largest of (D − τ I)⁻¹. None when a pivot breaks down or Lanczos does not settle.
    """
    size = D.shape[0]
    half = sp.csc_array(0.5 * (D + D.T))
    start = np.random.default_rng(0).standard_normal(size)  # fixed: the same file gives the same figures
    options = {"return_eigenvectors": False, "tol": 1e-4, "v0": start}
    try:
        largest = float(spla.eigsh(half, 1, which="LA", **options)[0])
        shift = _SHIFT * largest
        factor = spla.splu(
            sp.csc_array(half - shift * sp.eye_array(size)),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        inverse = spla.LinearOperator((size, size), matvec=factor.solve, dtype=float)
        smallest = float(spla.eigsh(half, 1, sigma=shift, which="LA", OPinv=inverse, **options)[0])
    except (RuntimeError, spla.ArpackError):
        return None
    if not np.array_equal(factor.perm_r, factor.perm_c):
        return None
    return int((factor.U.diagonal() > 0.0).sum()), largest, smallest
