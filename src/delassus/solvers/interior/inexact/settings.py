"""Settings of the inexact interior-point method."""

import math
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from numpy.typing import ArrayLike

from delassus.solvers.settings import Count, CountOrNone, Fraction, OneOf, Positive, Range, Settings, require

Space = Annotated[str, OneOf("contact", "body")]
Linear = Annotated[str, OneOf("cg", "gmres", "bicgstab", "direct")]
Preconditioner = Annotated[str, OneOf("none", "jacobi", "ic0", "ilu0", "ilu1", "amg")]
Strategy = Annotated[str, OneOf("path-following", "potential-reduction", "adaptive")]
Poisson = Annotated[float, Range("(-1, 0.5]")]


@dataclass(frozen=True)
class IpmInexact(Settings):
    """Settings of the inexact interior-point method of Kleinert, Simeon and Obermayr (2014), whose sections and
    equations are named. Krylov method, preconditioner and strategy are what they found best; `ipm-kleinert` has the
    other settings as published, too."""

    space: Space = "contact"  # systems between contacts (as published), or between rigid bodies
    linear: Linear = "bicgstab"  # Krylov method, or "direct"; between bodies "cg" is the better choice
    preconditioner: Preconditioner = "ic0"  # "jacobi": diagonal blocks; "amg": multigrid between bodies, needs pyamg
    strategy: Strategy = "path-following"  # how τ falls: one of the two of §5.1, or "adaptive", by the last step
    stop: Annotated[str, OneOf("cone", "euclidean")] = "cone"  # a direction: on the worst product x∘y, or on ‖r‖/‖b‖
    accuracy: Positive = 0.3  # of a direction: what it leaves of the worst product over its target; or ‖r‖/‖b‖
    krylov: Count = 500  # iterations of the Krylov method per direction, at most (§5.2.2); BiCGstab's are two products
    scalar: bool = False  # incomplete factors of single entries (as published), not of the 3×3 blocks of contacts
    order: Annotated[str, OneOf("banded", "natural")] = "banded"  # of elimination; "natural": as contacts are numbered
    scaled: bool = True  # every block made of unit mobility first, and velocities of size one; published: SI units
    start: Positive = 10.0  # first x, this times the unit element; more in blocks whose own reaction is larger
    first: Positive | None = None  # first μ λ_n of every contact [N s], in the place of `start`; 0.1 in §5.1
    pgj: CountOrNone = (
        0  # iterations of projected Gauß–Jacobi before, at most: until the error no longer falls as 1/k (§6)
    )
    fraction: Fraction = 0.95  # of the way to the boundary
    regularisation: Positive = 1e-8  # softness of rows in the systems, over their block's mobility; less in weak blocks
    stiffness: float | tuple[float, ...] | None = None  # of contacts, h² k_n [kg], for all or each (eq. 32)
    young: Positive | None = (
        None  # in a simulation, of the material [Pa]: stiffness of each contact from its size (eq. 33)
    )
    poisson: Poisson = 0.3  # ν, which makes tangential softness of normal softness (eq. 33)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.preconditioner != "amg" or self.space == "body",
            "preconditioner 'amg' works between bodies: add space='body', or use 'ic0'",
        )
        require(
            self.young is None or self.stiffness is None,
            "stiffness and young are both given: give h² k_n, or the material it follows from",
        )
        given = self.stiffness if isinstance(self.stiffness, tuple) else (self.stiffness,)
        require(
            self.stiffness is None or all(math.isfinite(k) and k > 0.0 for k in given if k is not None),
            f"stiffness is {self.stiffness}: give h² k_n > 0 in kilograms, or none",
        )

    @property
    def follows_contacts(self) -> bool:
        return self.young is not None

    def in_step(self, h: float, lengths: np.ndarray) -> Self:
        """With the stiffness of these contacts, where the material is known."""
        if self.young is None:
            return self
        require(bool((lengths > 0.0).all()), "young is for contacts of rigid bodies: give stiffness, or neither")
        return self.changed(young=None, stiffness=tuple((h * h * contact_stiffness(self.young, lengths)).tolist()))


def contact_stiffness(young: float, radii: ArrayLike) -> np.ndarray:
    """k_n = π/4 E (r_A + r_B) [N/m], the stiffness of an elastic rod between the centres (Kleinert et al. 2014, eq.
    33).

    young: E [Pa]; radii: sum of the radii of the two bodies [m], any shape."""
    return 0.25 * math.pi * young * np.asarray(radii)
