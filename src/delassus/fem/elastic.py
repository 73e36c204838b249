"""What a flexible body is made of."""

from dataclasses import dataclass

from delassus.arguments import number, numbers
from delassus.errors import ProblemError
from delassus.fem.laws import LAWS

_LEAST, _MOST = -1.0, 0.5  # Poisson's ratio: there the shear, and the bulk modulus, would be infinite


@dataclass(frozen=True)
class Elastic:
    """young: Young's modulus [Pa]; poisson: Poisson's ratio, between −1 and ½ (quadratic elements above 0.45, linear
    ones lock there); density [kg/m³]; law: a name of `fem.LAWS`; damping: Rayleigh's (α [1/s] of the mass, β [s] of the
    stiffness): a mode of angular frequency ω is damped by the ratio α/(2ω) + βω/2."""

    young: float
    poisson: float = 0.3
    density: float = 1000.0
    law: str = "corotational"
    damping: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        number(self.young, "Elastic: young", "Pa", positive=True)
        number(self.density, "Elastic: density", "kg/m³", positive=True)
        ratio = numbers(self.poisson)
        if ratio.shape != () or not _LEAST < ratio < _MOST:
            raise ProblemError(
                f"Elastic: poisson is {self.poisson!r}, it must be above −1 and below 0.5: for incompressible material "
                "take 0.49 and quadratic elements"
            )
        LAWS.find(self.law)
        if numbers(self.damping).shape != (2,):
            raise ProblemError(
                f"Elastic: damping is {self.damping!r}, expected two numbers (α [1/s] of the mass, β [s] of the "
                "stiffness)"
            )
        mass = number(self.damping[0], "Elastic: damping of the mass", "1/s")
        stiffness = number(self.damping[1], "Elastic: damping of the stiffness", "s")
        # plain numbers, so that the same material reads the same, and a model made of it has the same hash
        for name in ("young", "poisson", "density"):
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "damping", (mass, stiffness))

    @property
    def shear_modulus(self) -> float:
        """μ [Pa], Lamé's second constant."""
        return self.young / (2.0 * (1.0 + self.poisson))

    @property
    def lame(self) -> float:
        """λ [Pa], Lamé's first constant."""
        return self.young * self.poisson / ((1.0 + self.poisson) * (1.0 - 2.0 * self.poisson))
