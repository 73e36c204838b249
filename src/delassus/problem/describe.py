"""What a problem is like: sizes, densities, rank, conditioning, mass ratio. `delassus info` prints them."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from delassus.problem.partition import islands
from delassus.problem.problem import Problem
from delassus.problem.spectrum import Spectrum, spectrum_of

CATEGORIES = (
    "independent joints", "redundant joints", "dense joints", "single contact", "sparse contacts", "dense contacts",
    "dense constraints",
)  # fmt: skip
"""Of Tsounis, Grandia and Bächer, §VII-C, from joints alone to everything at once."""


@dataclass(frozen=True)
class Description:
    """Facts about a problem; what is unknown (bodies of a dual problem) is None.

    Densities are rows per degree of freedom (Tsounis et al. 2025, §VII-C: 6 n_b for rigid bodies): above one, J cannot
    have full row rank.
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
    category: str | None  # sample category of Tsounis et al. 2025, §VII-C
    mass_ratio: float | None  # heaviest over lightest rigid body
    asymmetry: float  # max |A − Aᵀ| / max |A| of D (local) or H (global)
    friction: tuple[float, float] | None  # smallest and largest μ
    islands: int
    spectrum: Spectrum

    def as_dict(self) -> dict[str, Any]:
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
    """Measure a problem. Takes well below a second up to some thousand rows; spectrum.py says how."""
    cone, delassus, rigid = problem.cone, problem.delassus, problem.delassus.rigid
    dofs = _dofs(problem)
    label = islands(problem)
    spectrum = spectrum_of(problem, np.repeat(label, np.diff(cone.block_start)))
    density = [_ratio(n, dofs) for n in (cone.bilateral_rows, 3 * cone.contact_count, cone.row_count)]
    return Description(
        form="local" if dofs is None else "global",
        storage=delassus.kind,
        rows=cone.row_count,
        contacts=cone.contact_count,
        bilateral_rows=cone.bilateral_rows,
        unilateral_rows=cone.unilateral,
        bodies=None if rigid is None else len(rigid.mass),
        dofs=dofs,
        density_joints=density[0],
        density_contacts=density[1],
        density_total=density[2],
        category=category(cone.bilateral_rows, cone.unilateral, cone.contact_count, dofs, spectrum.rank),
        mass_ratio=delassus.mass_ratio(),
        asymmetry=_asymmetry(delassus.mass_matrix() if delassus.is_primal else delassus.matrix()),
        friction=(float(cone.mu.min()), float(cone.mu.max())) if cone.contact_count else None,
        islands=int(label.max(initial=-1)) + 1,
        spectrum=spectrum,
    )


def category_of(problem: Problem) -> str | None:
    """One of CATEGORIES, or None where bodies are unknown (a dual problem) and they would decide. The same as in its
    description, without the work that only the description needs: the rank decides only where nothing touches."""
    cone = problem.cone
    rank = None
    if cone.contact_count == 0 and cone.bilateral_rows:
        rank = spectrum_of(problem, np.repeat(islands(problem), np.diff(cone.block_start))).rank
    return category(cone.bilateral_rows, cone.unilateral, cone.contact_count, _dofs(problem), rank)


def category(bilateral: int, unilateral: int, contacts: int, dofs: int | None, rank: int | None) -> str | None:
    """One of CATEGORIES, or None where the facts do not decide.

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


def _dofs(problem: Problem) -> int | None:
    """Degrees of freedom of the bodies; None where only D is known."""
    return problem.delassus.velocity_count if problem.delassus.is_primal else None


def _ratio(count: int, dofs: int | None) -> float | None:
    return count / dofs if dofs else None


def _asymmetry(A: sp.csr_array) -> float:
    largest = float(np.abs(A.data).max(initial=0.0))
    return float(np.abs((A - A.T).data).max(initial=0.0)) / largest if largest else 0.0
