"""What a problem is like: sizes, densities, rank, conditioning, mass ratio. Numbers only; `delassus info` prints them.

Rank and condition number are found island by island, because D is block diagonal over the islands. A small island is
decomposed densely (exact up to rounding); a large one is counted by Sylvester's law of inertia on a sparse LDLᵀ of
D − τ I, and its extreme eigenvalues are Ritz values (estimated, good to three digits); a huge one is left out.
"""

import math
from dataclasses import asdict, dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from delassus.linalg.operators.matrix import MatrixDelassus
from delassus.linalg.operators.rigid import RigidDelassus
from delassus.problem.partition import islands
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


@dataclass(frozen=True)
class Description:
    """Facts about a problem; what the file does not tell (bodies of a dual problem) is None.

    Densities are rows per degree of freedom (paper 003 §VII-C: 6 n_b for rigid bodies): above one, J cannot have full
    row rank.
    """

    form: str  # "local" (only D is known) or "global" (H and J are)
    storage: str  # "matrix", "rigid" or "sparse"
    rows: int
    contacts: int
    bilateral_rows: int
    unilateral_rows: int
    bodies: int | None  # rigid bodies
    dofs: int | None
    density_joints: float | None  # d_j = bilateral rows / dofs
    density_contacts: float | None  # d_c = 3 n_c / dofs
    density_total: float | None  # d_jc = all rows / dofs
    category: str | None  # sample category of paper 003 §VII-C
    mass_ratio: float | None  # heaviest over lightest rigid body
    asymmetry: float  # max |A − Aᵀ| / max |A| of D (local) or H (global)
    friction: tuple[float, float] | None  # smallest and largest μ
    islands: int
    spectrum: Spectrum

    def as_dict(self) -> dict:
        """Plain dictionary; the spectrum's numbers are lifted to the top."""
        out = asdict(self)
        spectrum = out.pop("spectrum")
        return out | {
            "rank": spectrum["rank"],
            "full_rank": spectrum["full_rank"],
            "condition": self.spectrum.condition,
            "condition_nonzero": self.spectrum.condition_nonzero,
            "spectrum": spectrum["method"],
        }


def describe(problem: Problem) -> Description:
    """Measure a problem. Takes well below a second up to some thousand rows; see the module's text for how."""
    cone, delassus = problem.cone, problem.delassus
    dofs = None if isinstance(delassus, MatrixDelassus) else delassus.mass_matrix().shape[0]
    label = islands(problem)
    spectrum = _spectrum(problem, np.repeat(label, np.diff(cone.block_start)))
    density = [_ratio(n, dofs) for n in (cone.bilateral_rows, 3 * cone.contact_count, cone.row_count)]
    return Description(
        form="local" if dofs is None else "global",
        storage=delassus.kind,
        rows=cone.row_count,
        contacts=cone.contact_count,
        bilateral_rows=cone.bilateral_rows,
        unilateral_rows=cone.unilateral,
        bodies=len(delassus.mass) if isinstance(delassus, RigidDelassus) else None,
        dofs=dofs,
        density_joints=density[0],
        density_contacts=density[1],
        density_total=density[2],
        category=category(cone.bilateral_rows, cone.unilateral, cone.contact_count, dofs, spectrum.rank),
        mass_ratio=_mass_ratio(problem),
        asymmetry=_asymmetry(delassus.D if isinstance(delassus, MatrixDelassus) else delassus.mass_matrix()),
        friction=(float(cone.mu.min()), float(cone.mu.max())) if cone.contact_count else None,
        islands=int(label.max(initial=-1)) + 1,
        spectrum=spectrum,
    )


def category(bilateral: int, unilateral: int, contacts: int, dofs: int | None, rank: int | None) -> str | None:
    """Sample category of paper 003 §VII-C, or None where the facts do not decide.

    The paper's definitions overlap once joints and contacts meet; a single contact is then called that, as the paper
    treats it as a case of its own, and more contacts are called dense constraints when all rows together exceed dofs.
    """
    rows = bilateral + unilateral + 3 * contacts
    if contacts == 1:
        return "single contact"
    if contacts == 0:
        if bilateral == 0 or rank is None:
            return None
        if rank == rows:
            return "independent joints"
        return None if dofs is None else "redundant joints" if bilateral < dofs else "dense joints"
    if dofs is None:
        return None
    if bilateral and rows > dofs:
        return "dense constraints"
    return "dense contacts" if 3 * contacts > dofs else "sparse contacts"


def _ratio(count: int, dofs: int | None) -> float | None:
    return count / dofs if dofs else None


def _mass_ratio(problem: Problem) -> float | None:
    if not isinstance(problem.delassus, RigidDelassus) or not len(problem.delassus.mass):
        return None
    # the mean over the three directions is the body's mass; gyroscopic terms only touch the rotational block
    mass = np.trace(problem.delassus.mass[:, :3, :3], axis1=1, axis2=2)
    return float(mass.max() / mass.min())


def _asymmetry(A: sp.csr_array) -> float:
    largest = float(np.abs(A.data).max(initial=0.0))
    return float(np.abs((A - A.T).data).max(initial=0.0)) / largest if largest else 0.0


# -- rank and conditioning ---------------------------------------------------------------------------------------------


def _spectrum(problem: Problem, label: np.ndarray) -> Spectrum:
    """Rank of J and extreme singular values of D, island by island.  label: (m,) island of each row."""
    rows = problem.row_count
    if rows == 0:
        return Spectrum("exact", 0, True, None, None)
    order = np.argsort(label, kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(label))])
    if np.diff(edges).max() > _SPARSE_ROWS or _entry_bound(problem, edges) > _SPARSE_ENTRIES:
        return Spectrum("skipped", None, None, None, None)
    delassus = problem.delassus
    D = sp.csr_array(delassus.matrix()[order][:, order])
    J = None if isinstance(delassus, MatrixDelassus) else sp.csr_array(delassus.jacobian()[order])
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


def _entry_bound(problem: Problem, edges: np.ndarray) -> int:
    """At most so many entries has D, known without forming it."""
    delassus = problem.delassus
    if isinstance(delassus, MatrixDelassus):
        return delassus.D.nnz
    if isinstance(delassus, RigidDelassus):  # all rows of a body meet
        pair, sizes = delassus.bodies, np.diff(delassus.block_start)
        held = np.bincount((pair + 1).ravel(), weights=np.repeat(sizes, 2), minlength=len(delassus.mass) + 1)
        return int((held[1:] ** 2).sum())
    return int((np.diff(edges) ** 2).sum())


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
