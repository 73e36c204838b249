"""Direct solution of symmetric sparse systems: one interface, three libraries behind it.

The pattern is fixed when a factorisation is built; `factor` may then be called with any number of values on it. All
back ends give the same answers up to rounding, and the same bits for the same number of threads.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from delassus.errors import SettingsError, nearest

BACKENDS = ("auto", "pardiso", "superlu", "dense")
_DENSE = 120  # unknowns up to which LAPACK on the full matrix beats anything sparse


@dataclass(frozen=True, eq=False)
class Pattern:
    """Upper triangle of a symmetric matrix in block compressed rows, columns sorted, every diagonal block present.

    indptr: (n + 1,), indices: (blocks,), both int32; block: side of the square blocks, 1 for plain compressed rows.
    Values are given as (blocks, block, block), diagonal blocks in full, or (blocks,) for block = 1."""

    indptr: np.ndarray
    indices: np.ndarray
    block: int = 1

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return (len(self.indptr) - 1) * self.block

    def values(self) -> np.ndarray:
        """Zeros in the shape `factor` takes."""
        return np.zeros(len(self.indices) if self.block == 1 else (len(self.indices), self.block, self.block))

    def entries(self) -> tuple["Pattern", np.ndarray]:
        """(the same matrix in plain compressed rows, (entries,) where each of its values stands in the flattened
        ones)."""
        b, n = self.block, len(self.indptr) - 1
        row, column, source = (part[: len(self.indices) * b * b] for part in self.full())
        upper = row <= column
        row, column, source = row[upper], column[upper], source[upper]
        order = np.lexsort((column, row))
        indptr = np.zeros(b * n + 1, np.int32)
        np.cumsum(np.bincount(row, minlength=b * n), out=indptr[1:])
        return Pattern(indptr, column[order].astype(np.int32)), source[order]

    def full(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(row, column, source) of all entries of both triangles; source: position in the flattened values."""
        b = self.block
        block_row = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        a, c = np.divmod(np.arange(b * b), b)
        row = (b * block_row[:, None] + a).ravel()
        column = (b * self.indices[:, None].astype(np.int64) + c).ravel()
        source = np.arange(len(row))
        off = np.repeat(block_row != self.indices, b * b)
        return (
            np.concatenate([row, column[off]]),
            np.concatenate([column, row[off]]),
            np.concatenate([source, source[off]]),
        )


class Factorisation(Protocol):
    """A factored matrix."""

    def factor(self, values: np.ndarray) -> bool:
        """Factor the matrix with these values; False where it is singular, or not positive definite though asked."""

    def solve(self, right: np.ndarray, out: np.ndarray) -> None:
        """out = A⁻¹ right, both (n,) and different arrays; NaN where the library fails."""

    def solve_many(self, right: np.ndarray) -> np.ndarray:
        """(k, n), row i the solution for row i of `right`, (k, n); NaN where the library fails."""

    def release(self) -> None:
        """Give the memory of the factors back; `factor` may be called again."""


def factorisation(
    pattern: Pattern,
    *,
    backend: str = "auto",
    definite: bool = True,
    single: bool = False,
    threads: int = 1,
    like: Factorisation | None = None,
) -> Factorisation:
    """The factorisation of a pattern.

    backend: a name of BACKENDS; definite: positive definite, else any symmetric matrix; single: factor in single
    precision where the back end can (PARDISO): half the time and memory, six digits; like: another factorisation of the
    same pattern, whose fill-reducing order may be used again."""
    from delassus.linalg.factor.dense_factor import DenseFactor
    from delassus.linalg.factor.pardiso import Pardiso, pardiso_is_there
    from delassus.linalg.factor.superlu import SuperLu

    if backend not in BACKENDS:
        raise SettingsError(f"unknown back end {backend!r}; {nearest(backend, list(BACKENDS))}")
    if backend == "auto":
        backend = "dense" if pattern.size <= _DENSE else "pardiso" if pardiso_is_there() else "superlu"
    if backend == "dense":
        return DenseFactor(pattern, definite)
    if backend == "superlu":
        return SuperLu(pattern, definite=definite)
    if not pardiso_is_there():
        raise SettingsError("back end 'pardiso' needs MKL: pip install 'delassus[mkl]', or use 'superlu'")
    order = like.order if isinstance(like, Pardiso) else None
    return Pardiso(pattern, definite=definite, single=single, threads=threads, order=order)


def pattern_of(A: sp.csr_array) -> tuple[Pattern, np.ndarray]:
    """Pattern (block 1) of a structurally symmetric sparse matrix, diagonal added, and the positions in A.data of its
    values, −1 where A has no entry."""
    A = sp.csr_array(A)
    n = A.shape[0]
    row = np.repeat(np.arange(n), np.diff(A.indptr))
    upper = np.flatnonzero(A.indices > row)
    diagonal = np.full(n, -1)
    on = np.flatnonzero(A.indices == row)
    diagonal[row[on]] = on
    rows = np.concatenate([row[upper], np.arange(n)])
    columns = np.concatenate([A.indices[upper], np.arange(n)])
    source = np.concatenate([upper, diagonal])
    order = np.lexsort((columns, rows))
    indptr = np.zeros(n + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=n), out=indptr[1:])
    return Pattern(indptr, columns[order].astype(np.int32)), source[order]
