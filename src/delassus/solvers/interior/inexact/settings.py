"""Settings of the inexact interior-point method."""

import math
from dataclasses import dataclass

from delassus.errors import nearest
from delassus.solvers.settings import Settings, require

SPACES = ("contact", "body")
LINEAR = ("cg", "gmres", "bicgstab", "direct")
PRECONDITIONERS = ("none", "jacobi", "ic0", "ilu0", "amg")
STRATEGIES = ("path-following", "potential-reduction", "adaptive")


@dataclass(frozen=True)
class IpmInexact(Settings):
    """Settings of the inexact interior-point method. The defaults are what 004 found best."""

    space: str = "contact"  # systems between contacts (004), or between rigid bodies
    linear: str = "bicgstab"  # Krylov method, or "direct"; between bodies "cg" is the better choice
    preconditioner: str = "ic0"  # "jacobi": blocks of the diagonal; "amg": multigrid between bodies, needs pyamg
    strategy: str = "path-following"  # how τ falls: one of the two of 004 §5.1, or "adaptive", by the last step
    accuracy: float = 0.3  # of a direction: what it leaves of the worst product x∘y, relative to its target
    krylov: int = 500  # products with the matrix per direction, at most (004 §5.2.2)
    start: float = 10.0  # first x, this times the unit element; more in blocks whose own reaction is larger
    fraction: float = 0.95  # of the way to the boundary
    regularisation: float = 1e-8  # softness of rows in the systems, over their block's mobility; less in weak blocks
    stiffness: float | tuple[float, ...] | None = None  # of contacts, h² k_n [kg], for all or each: 004 eq. 32
    poisson: float = 0.3  # ν, which makes tangential softness of normal softness (004 eq. 33)

    def __post_init__(self):
        for name, known in (
            ("space", SPACES),
            ("linear", LINEAR),
            ("preconditioner", PRECONDITIONERS),
            ("strategy", STRATEGIES),
        ):
            value = getattr(self, name)
            require(value in known, f"unknown {name} {value!r}; {nearest(str(value), list(known))}")
        require(
            self.preconditioner != "amg" or self.space == "body",
            "preconditioner 'amg' works between bodies: add space='body', or use 'ic0'",
        )
        for name in ("accuracy", "start", "regularisation"):
            value = getattr(self, name)
            require(math.isfinite(value) and value > 0.0, f"{name} is {value}: give a positive number")
        require(self.krylov >= 1, f"krylov is {self.krylov}: give at least one")
        require(0.0 < self.fraction < 1.0, f"fraction is {self.fraction}: give a number between 0 and 1")
        require(-1.0 < self.poisson <= 0.5, f"poisson is {self.poisson}: give a number in (-1, 0.5]")
        given = self.stiffness if isinstance(self.stiffness, tuple) else (self.stiffness,)
        require(
            self.stiffness is None or all(math.isfinite(k) and k > 0.0 for k in given if k is not None),
            f"stiffness is {self.stiffness}: give h² k_n > 0 in kilograms, or none",
        )
