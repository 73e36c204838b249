"""One FCLIB sparse matrix, exactly as stored, and its way to and from SciPy."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from delassus.errors import ProblemError, nearest

Storage = Literal["csr", "csc", "triplet"]

CSC, CSR = -1, -2  # values of `nz` that mean a compressed storage; nz >= 0 counts triplets


@dataclass(frozen=True)
class FclibMatrixInfo:
    """What the writer of a file knew about a matrix. Not checked and not used; NaN or inf are legal here."""

    conditioning: float
    determinant: float
    rank: int
    comment: str | None = None


@dataclass(frozen=True, eq=False)
class FclibMatrix:
    """An m x n sparse matrix in one of FCLIB's three storages, told apart by `nz`.

    nz = -2  compressed rows:    p (m+1) row pointers,    i (entries) column indices
    nz = -1  compressed columns: p (n+1) column pointers, i (entries) row indices
    nz >= 0  triplets:           p (nz) **column** indices, i (nz) **row** indices (CSparse's order, which data and
                                 writers follow; the comment in fclib.h has it the other way round)

    x holds the entries, float64. `nzmax` is the room the writer had, at least the number of entries. Duplicates add up.
    """

    m: int
    n: int
    nz: int
    nzmax: int
    p: NDArray[Any]
    i: NDArray[Any]
    x: NDArray[np.float64]
    info: FclibMatrixInfo | None = None

    @property
    def storage(self) -> Storage:
        if self.nz == CSR:
            return "csr"
        return "csc" if self.nz == CSC else "triplet"

    @property
    def entry_count(self) -> int:
        """Number of stored entries, duplicates counted one by one."""
        return self.nz if self.nz >= 0 else int(self.p[-1])

    def trimmed(self) -> "FclibMatrix":
        """The same matrix without the unused tail that room for `nzmax` entries may have left in the arrays."""
        count = self.entry_count
        p = self.p[:count] if self.nz >= 0 else self.p
        return replace(self, p=p, i=self.i[:count], x=self.x[:count])

    def to_csr(self) -> sp.csr_array:
        """Compressed rows (m x n), duplicates summed, column indices sorted. Always a copy."""
        part = self.trimmed()
        shape = (self.m, self.n)
        if self.storage == "triplet":
            matrix = sp.coo_array((part.x, (part.i, part.p)), shape=shape).tocsr()
        elif self.storage == "csc":
            matrix = sp.csc_array((part.x, part.i, part.p), shape=shape).tocsr()
        else:
            matrix = sp.csr_array((part.x, part.i, part.p), shape=shape, copy=True)
        matrix.sum_duplicates()
        return matrix

    @classmethod
    def from_sparse(
        cls, matrix: Any, *, storage: Storage = "csr", info: FclibMatrixInfo | None = None
    ) -> "FclibMatrix":
        """Copy a SciPy sparse matrix or array (or a dense 2-D one); explicit zeros and duplicates are kept."""
        if storage not in ("csr", "csc", "triplet"):
            raise ProblemError(f"storage is {storage!r}: {nearest(str(storage), ['csr', 'csc', 'triplet'])}")
        source = sp.coo_array(matrix) if storage == "triplet" or not sp.issparse(matrix) else matrix
        if source.ndim != 2 or source.dtype.kind not in "biuf":
            raise ProblemError(f"matrix has {source.ndim} dimensions and dtype {source.dtype}, expected 2 and real")
        m, n = (int(size) for size in source.shape)
        if storage == "triplet":
            row, column = source.coords
            p, i, nz = column, row, int(source.nnz)
        else:
            source = sp.csr_array(source) if storage == "csr" else sp.csc_array(source)
            p, i, nz = source.indptr, source.indices, CSR if storage == "csr" else CSC
        index = np.int32 if max(m, n, source.nnz) <= np.iinfo(np.int32).max else np.int64
        x = np.array(source.data, dtype=np.float64)
        return cls(m, n, nz, int(source.nnz), np.array(p, dtype=index), np.array(i, dtype=index), x, info)
