"""Settings of the inexact interior-point method."""

import math
from dataclasses import dataclass
from typing import Annotated

from delassus.solvers.settings import Count, Fraction, OneOf, Positive, Range, Settings, require

Space = Annotated[str, OneOf("contact", "body")]
Linear = Annotated[str, OneOf("cg", "gmres", "bicgstab", "direct")]
Preconditioner = Annotated[str, OneOf("none", "jacobi", "ic0", "ilu0", "amg")]
Strategy = Annotated[str, OneOf("path-following", "potential-reduction", "adaptive")]
Poisson = Annotated[float, Range("(-1, 0.5]")]


@dataclass(frozen=True)
class IpmInexact(Settings):
    """Settings of the inexact interior-point method. The defaults are what Kleinert, Simeon and Obermayr (2014), whose
    sections and equations are named, found best."""

    space: Space = "contact"  # systems between contacts (as published), or between rigid bodies
    linear: Linear = "bicgstab"  # Krylov method, or "direct"; between bodies "cg" is the better choice
    preconditioner: Preconditioner = "ic0"  # "jacobi": diagonal blocks; "amg": multigrid between bodies, needs pyamg
    strategy: Strategy = "path-following"  # how τ falls: one of the two of §5.1, or "adaptive", by the last step
    accuracy: Positive = 0.3  # of a direction: what it leaves of the worst product x∘y, relative to its target
    krylov: Count = 500  # products with the matrix per direction, at most (§5.2.2)
    start: Positive = 10.0  # first x, this times the unit element; more in blocks whose own reaction is larger
    fraction: Fraction = 0.95  # of the way to the boundary
    regularisation: Positive = 1e-8  # softness of rows in the systems, over their block's mobility; less in weak blocks
    stiffness: float | tuple[float, ...] | None = None  # of contacts, h² k_n [kg], for all or each (eq. 32)
    poisson: Poisson = 0.3  # ν, which makes tangential softness of normal softness (eq. 33)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.preconditioner != "amg" or self.space == "body",
            "preconditioner 'amg' works between bodies: add space='body', or use 'ic0'",
        )
        given = self.stiffness if isinstance(self.stiffness, tuple) else (self.stiffness,)
        require(
            self.stiffness is None or all(math.isfinite(k) and k > 0.0 for k in given if k is not None),
            f"stiffness is {self.stiffness}: give h² k_n > 0 in kilograms, or none",
        )
