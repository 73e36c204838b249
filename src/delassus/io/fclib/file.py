"""What an FCLIB file holds, as plain arrays.

Each contact has three rows, normal first. With nc contacts, m = 3 nc, n degrees of freedom and p bilateral rows:

    local    u = W r + V l + q,     0 = V' r + R l + s
             W (m x m), V (m x p), R (p x p), q (m), s (p)
    global   M v = H r + G l + f,   u = H' v + w,   0 = G' v + b
             M (n x n), H (n x m), G (n x p), f (n), w (m), b (p)

and for each contact  K* ∋ u + mu ||u_T|| e_N  ⊥  r ∈ K = {||r_T|| <= mu r_N}  (signs as documented in fclib.h, 3.1).
Impulses r, l [N s], velocities u, v [m/s] for a time step; forces and displacements for a quasi-static problem.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from delassus.errors import ProblemError, nearest

Form = Literal["local", "global"]
Storage = Literal["csr", "csc", "triplet"]
Vector = NDArray[np.float64]

CSC, CSR = -1, -2  # values of a matrix's `nz` that mean a compressed storage; nz >= 0 counts triplets

# Names in the file, the last ones (V, R, s and G, b) optional: the bilateral part.
MATRICES = {"local": ("W", "V", "R"), "global": ("M", "H", "G")}
VECTORS = {"local": ("q", "mu", "s"), "global": ("f", "w", "mu", "b")}
BILATERAL = {"local": ("V", "R", "s"), "global": ("G", "b")}
POINT = ("v", "u", "r", "l", "r_low", "l_low")


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


@dataclass(frozen=True)
class FclibInfo:
    """Free text stored with a problem; None where the file says nothing."""

    title: str | None = None
    description: str | None = None
    math_info: str | None = None


@dataclass(frozen=True, eq=False)
class FclibPoint:
    """A guess or a solution: v (n) velocities of the bodies, u (m) and r (m) at the contacts, l (p) multipliers.

    r_low (m), l_low (p): what r and l lack to a second double each, where velocities follow only so; other readers do
    not look at them.

    Each may be None. libfclib's own reader insists on every one that is not empty in the problem, so leave none
    out (no v in a local file, no l without bilateral rows) if others are to read the point.
    """

    v: Vector | None = None
    u: Vector | None = None
    r: Vector | None = None
    l: Vector | None = None  # noqa: E741 - the name in the file format
    r_low: Vector | None = None
    l_low: Vector | None = None


@dataclass(frozen=True, eq=False)
class FclibFile:
    """One problem with its guesses and solution; shapes and equations at the top of this module.

    Local: W, q, mu and, all or none, V, R, s. Global: M, H, f, w, mu and, both or neither, G, b. The rest is None.
    Not checked when built: `write_fclib` refuses what `read_fclib` would.
    """

    form: Form
    mu: Vector
    W: FclibMatrix | None = None
    V: FclibMatrix | None = None
    R: FclibMatrix | None = None
    q: Vector | None = None
    s: Vector | None = None
    M: FclibMatrix | None = None
    H: FclibMatrix | None = None
    G: FclibMatrix | None = None
    f: Vector | None = None
    w: Vector | None = None
    b: Vector | None = None
    spacedim: int = 3
    info: FclibInfo = FclibInfo()
    guesses: tuple[FclibPoint, ...] = ()
    solution: FclibPoint | None = None

    @property
    def contact_count(self) -> int:
        return len(self.mu)

    def matrices(self) -> dict[str, FclibMatrix]:
        """The matrices of this form that are present, by name."""
        found = {name: getattr(self, name) for name in MATRICES[self.form]}
        return {name: matrix for name, matrix in found.items() if matrix is not None}

    def vectors(self) -> dict[str, Vector]:
        """The vectors of this form that are present, by name."""
        found = {name: getattr(self, name) for name in VECTORS[self.form]}
        return {name: vector for name, vector in found.items() if vector is not None}

    def points(self) -> dict[str, FclibPoint]:
        """Guesses and solution by the path of their group in the file."""
        points = {f"guesses/{number}": guess for number, guess in enumerate(self.guesses, start=1)}
        return points if self.solution is None else {**points, "solution": self.solution}


def point_vectors(point: FclibPoint) -> dict[str, Vector]:
    """The vectors of a guess or solution that are present, by name."""
    found = {name: getattr(point, name) for name in POINT}
    return {name: vector for name, vector in found.items() if vector is not None}
