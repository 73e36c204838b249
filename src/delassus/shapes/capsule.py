"""All points within a radius of a segment along z."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from delassus.arguments import positive
from delassus.shapes.base import Shape, directions


@dataclass(frozen=True)
class Capsule(Shape):
    """radius [m]; length of the cylindrical part, between the centres of the caps [m].  Axis z, centred."""

    radius: float
    length: float
    kind: ClassVar[str] = "capsule"

    def __post_init__(self) -> None:
        positive(self.kind, radius=self.radius, length=self.length)

    @property
    def numbers(self) -> tuple[float, ...]:
        """Radius and half length."""
        return self.radius, 0.5 * self.length

    @property
    def volume(self) -> float:
        return math.pi * self.radius**2 * (self.length + 4.0 / 3.0 * self.radius)

    @property
    def centre_of_mass(self) -> np.ndarray:
        return np.zeros(3)

    @property
    def inertia_per_density(self) -> np.ndarray:
        r, length = self.radius, self.length
        tube = math.pi * r * r * length
        caps = 4.0 / 3.0 * math.pi * r**3
        along = tube * r * r / 2 + caps * 0.4 * r * r
        # two half balls, each 3r/8 beyond its centre plane: 2/5 r² + (l/2)² + 2 (l/2)(3r/8) per mass
        across = tube * (r * r / 4 + length**2 / 12) + caps * (0.4 * r * r + length**2 / 4 + 3.0 / 8.0 * length * r)
        return np.diag([across, across, along])

    @property
    def bounds(self) -> np.ndarray:
        half = np.array([self.radius, self.radius, self.bounding_radius])
        return np.array([-half, half])

    @property
    def bounding_radius(self) -> float:
        return 0.5 * self.length + self.radius

    def surface_points(self, count: int, rng: np.random.Generator) -> np.ndarray:
        d = directions(count, rng)
        x = self.radius * d
        side = rng.random(count) < 0.5
        ring = d[side, :2] / np.linalg.norm(d[side, :2], axis=1, keepdims=True)
        x[side, :2] = self.radius * ring
        x[side, 2] = 0.5 * self.length * rng.uniform(-1, 1, side.sum())
        x[~side, 2] += 0.5 * self.length * np.sign(x[~side, 2])
        return x
