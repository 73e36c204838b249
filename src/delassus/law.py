"""The contact law is data: which complementarity problem a point is judged against."""

from enum import Enum

from delassus.errors import SettingsError, nearest


class Law(Enum):
    """K* ∋ v + Γ(v) ⊥ λ ∈ K, with

    - NCP: Γ adds μ‖v_t‖ to each contact normal (De Saxcé): exact Coulomb friction, non-convex;
    - CCP: Γ = 0: the convex relaxation, a cone quadratic program; sliding contacts separate at μ‖v_t‖;
    - FRICTIONLESS: μ taken as zero: a bound-constrained quadratic program.
    """

    NCP = "ncp"
    CCP = "ccp"
    FRICTIONLESS = "frictionless"

    @classmethod
    def of(cls, name: "Law | str") -> "Law":
        """The law of that name; a `Law` passes through."""
        if isinstance(name, cls):
            return name
        try:
            return cls(name.lower() if isinstance(name, str) else name)
        except ValueError:
            raise SettingsError(
                f"unknown law {name!r}; {nearest(str(name)[:100], [law.value for law in cls])} (ncp is exact Coulomb "
                "friction, ccp its convex relaxation)"
            ) from None
