"""Settings of the inexact interior-point method."""

from dataclasses import dataclass

from delassus.errors import nearest
from delassus.solvers.settings import Settings, require

SPACES = ("contact", "body")
LINEAR = ("cg", "gmres", "bicgstab", "direct")
PRECONDITIONERS = ("none", "jacobi", "ic0", "ilu0", "amg")
STRATEGIES = ("path-following", "potential-reduction", "adaptive")


@dataclass(frozen=True)
class IpmInexact(Settings):
    """Settings of the inexact interior-point method."""

    space: str = "contact"  # systems between contacts (004), or between bodies
    linear: str = "bicgstab"  # Krylov method, or "direct"
    preconditioner: str = "ic0"
    strategy: str = "path-following"  # how τ falls: the two of 004 §5.1, or by the last step
    accuracy: float = 0.3  # of a direction: error of the products x∘y it leads to, relative to their target
    krylov: int = 500  # iterations per direction, at most (004 §5.2.2)
    start: float = 10.0  # x = start e at the beginning, in scaled units
    fraction: float = 0.95  # of the way to the boundary
    regularisation: float = 1e-8  # softness of contacts in the systems, relative to their mobility
    stiffness: float | tuple[float, ...] | None = None  # h² k_n [kg] instead, for all contacts or each (004 eq. 32)
    poisson: float = 0.3  # ν, which makes k_t of k_n (004 eq. 33)

    def __post_init__(self):
        for name, known in (
            ("space", SPACES),
            ("linear", LINEAR),
            ("preconditioner", PRECONDITIONERS),
            ("strategy", STRATEGIES),
        ):
            value = getattr(self, name)
            require(value in known, f"unknown {name} {value!r}; {nearest(str(value), list(known))}")
