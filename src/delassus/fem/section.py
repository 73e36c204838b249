"""Cross sections of beams, and the stiffness of a piece of beam between two nodes."""

import math
from dataclasses import dataclass

import numpy as np

from delassus.arguments import number
from delassus.fem.elastic import Elastic

_ROUND, _RECTANGULAR = 0.9, 5.0 / 6.0  # shares of the area that carry shear (Cowper 1966, Poisson's ratio zero)


@dataclass(frozen=True)
class Section:
    """A section in the plane of y and z, x along the beam. area [m²]; about_y = ∫z² dA and about_z = ∫y² dA [m⁴];
    torsion: Saint-Venant's constant [m⁴]; shear: share of the area that carries shear; sizes: (radius,) of a round one,
    (width along y, height along z) of a rectangular one [m], () where nothing shall touch it."""

    area: float
    about_y: float
    about_z: float
    torsion: float
    shear: float = 1.0
    sizes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name, unit in (("area", "m²"), ("about_y", "m⁴"), ("about_z", "m⁴"), ("torsion", "m⁴"), ("shear", "1")):
            number(getattr(self, name), f"Section: {name}", unit, positive=True)

    @classmethod
    def circle(cls, radius: float) -> "Section":
        """A round bar."""
        r = number(radius, "Section.circle: radius", "m", positive=True)
        inertia = math.pi * r**4 / 4.0
        return cls(math.pi * r**2, inertia, inertia, 2.0 * inertia, _ROUND, (r,))

    @classmethod
    def rectangle(cls, width: float, height: float) -> "Section":
        """width along y, height along z [m]."""
        w = number(width, "Section.rectangle: width", "m", positive=True)
        h = number(height, "Section.rectangle: height", "m", positive=True)
        a, b = max(w, h), min(w, h)
        torsion = a * b**3 * (1.0 / 3.0 - 0.21 * b / a * (1.0 - b**4 / (12.0 * a**4)))  # Roark, to 4 %
        return cls(w * h, w * h**3 / 12.0, w**3 * h / 12.0, torsion, _RECTANGULAR, (w, h))

    def stiffness(self, elastic: Elastic, length: float) -> np.ndarray:
        """(6,) [N/m, N m/rad] along and about x, y, z of a straight piece of that length [m], between frames on its two
        ends that meet in its middle: there, and only there, displacements and rotations of a beam with shear
        (Timoshenko) do not mix."""
        E, G = elastic.young, elastic.shear_modulus
        slide = length / (G * self.shear * self.area)  # of a unit force across, by shear
        across = [1.0 / (slide + length**3 / (12.0 * E * inertia)) for inertia in (self.about_z, self.about_y)]
        turns = [G * self.torsion / length, E * self.about_y / length, E * self.about_z / length]
        return np.array([E * self.area / length, *across, *turns])

    def inertia(self, density: float, length: float) -> np.ndarray:
        """(3, 3) [kg m²] about the end of a straight piece of that length, in the axes of the section."""
        bar = self.area * length**3 / 3.0
        turned = (self.about_y + self.about_z, self.about_y + bar / length, self.about_z + bar / length)
        return density * length * np.diag(turned)
