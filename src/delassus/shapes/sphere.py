"""A ball about the origin."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from delassus.arguments import positive
from delassus.shapes.base import Shape, directions


@dataclass(frozen=True)
class Sphere(Shape):
    """radius [m]"""

    radius: float
    kind: ClassVar[str] = "sphere"

    def __post_init__(self) -> None:
        positive(self.kind, radius=self.radius)

    @property
    def numbers(self) -> tuple[float, ...]:
        """Three radii."""
        return self.radius, self.radius, self.radius

    @property
    def volume(self) -> float:
        return 4.0 / 3.0 * math.pi * self.radius**3

    @property
    def centre_of_mass(self) -> np.ndarray:
        return np.zeros(3)

    @property
    def inertia_per_density(self) -> np.ndarray:
        return 0.4 * self.volume * self.radius**2 * np.eye(3)

    @property
    def bounds(self) -> np.ndarray:
        half = np.array(self.numbers, dtype=float)
        return np.array([-half, half])

    @property
    def bounding_radius(self) -> float:
        return self.radius

    def surface_points(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return self.radius * directions(count, rng)
