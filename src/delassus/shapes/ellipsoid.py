"""An ellipsoid about the origin, its axes along those of its frame. Collision reads its support function."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from delassus.arguments import positive
from delassus.shapes.base import Shape, directions


@dataclass(frozen=True)
class Ellipsoid(Shape):
    """x, y, z: half axes [m]"""

    x: float
    y: float
    z: float
    kind: ClassVar[str] = "ellipsoid"

    def __post_init__(self) -> None:
        positive(self.kind, x=self.x, y=self.y, z=self.z)

    @property
    def numbers(self) -> tuple[float, ...]:
        return self.x, self.y, self.z

    @staticmethod
    def support(numbers: Sequence[float], x: float, y: float, z: float) -> tuple[float, float, float]:
        x, y, z = numbers[0] * x, numbers[1] * y, numbers[2] * z
        d = math.sqrt(x * x + y * y + z * z)
        return numbers[0] * x / d, numbers[1] * y / d, numbers[2] * z / d

    @property
    def volume(self) -> float:
        return 4.0 / 3.0 * math.pi * self.x * self.y * self.z

    @property
    def centre_of_mass(self) -> np.ndarray:
        return np.zeros(3)

    @property
    def inertia_per_density(self) -> np.ndarray:
        x, y, z = self.x**2, self.y**2, self.z**2
        return 0.2 * self.volume * np.diag([y + z, x + z, x + y])

    @property
    def bounds(self) -> np.ndarray:
        half = np.array(self.numbers, dtype=float)
        return np.array([-half, half])

    @property
    def bounding_radius(self) -> float:
        return max(self.numbers)

    def surface_points(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return np.array(self.numbers) * directions(count, rng)
