"""What a problem is like: sizes, densities, rank, conditioning, mass ratio. `delassus info` prints them."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from delassus.problem.partition import islands
from delassus.problem.problem import Problem
from delassus.problem.spectrum import Spectrum, rank_of, spectrum_of

CATEGORIES = (
    "independent joints",
    "redundant joints",
    "dense joints",
    "single contact",
    "sparse contacts",
    "dense contacts",
    "dense constraints",
)
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
    density_joints: float | None  # d_j = rows of joints / dofs; see `joint_rows`
    density_contacts: float | None  # d_c = 3 n_c / dofs
    density_total: float | None  # d_jc = rows of joints, limits and contacts / dofs
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
    cone, delassus = problem.cone, problem.delassus
    dofs = _dofs(problem)
    label = islands(problem)
    spectrum = spectrum_of(problem, np.repeat(label, np.diff(cone.block_start)))
    joints = int(joint_rows(problem).sum())
    counts = joints, 3 * cone.contact_count, joints + cone.unilateral + 3 * cone.contact_count
    density = [_ratio(n, dofs) for n in counts]
    return Description(
        form="local" if dofs is None else "global",
        storage=delassus.kind,
        rows=cone.row_count,
        contacts=cone.contact_count,
        bilateral_rows=cone.bilateral_rows,
        unilateral_rows=cone.unilateral,
        bodies=len(delassus.rigid.mass) if delassus.has_bodies else None,
        dofs=dofs,
        density_joints=density[0],
        density_contacts=density[1],
        density_total=density[2],
        category=category_of(problem),
        mass_ratio=delassus.mass_ratio(),
        asymmetry=_asymmetry(delassus.mass_matrix() if delassus.is_primal else delassus.matrix()),
        friction=(float(cone.mu.min()), float(cone.mu.max())) if cone.contact_count else None,
        islands=int(label.max(initial=-1)) + 1,
        spectrum=spectrum,
    )


def joint_rows(problem: Problem) -> np.ndarray:
    """Which bilateral rows count as joints, (bilateral rows,), where they are not named: those that do not give.
    Motors, dampers, springs and dry friction are bilateral rows with compliance, and constrain nothing."""
    delassus, count = problem.delassus, problem.cone.bilateral_rows
    if not delassus.has_bodies or delassus.compliance is None:
        return np.ones(count, bool)
    return delassus.compliance[:count] == 0.0


def category_of(problem: Problem, joints: np.ndarray | None = None) -> str | None:
    """One of CATEGORIES, or None where bodies are unknown (a dual problem) and they would decide. The rank, which
    decides only where nothing touches, is that of the rows of joints and limits.  joints: which bilateral rows belong
    to joints, (bilateral rows,); None: `joint_rows`."""
    cone = problem.cone
    joints = joint_rows(problem) if joints is None else joints
    rank, count = None, int(joints.sum())
    if cone.contact_count == 0 and count:
        kept = np.append(joints, np.ones(cone.unilateral, bool))
        rank = rank_of(problem, np.repeat(islands(problem), np.diff(cone.block_start)), kept)
    return category(count, cone.unilateral, cone.contact_count, _dofs(problem), rank)


def category(bilateral: int, unilateral: int, contacts: int, dofs: int | None, rank: int | None) -> str | None:
    """One of CATEGORIES, or None where the facts do not decide.  bilateral: rows of joints.

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
