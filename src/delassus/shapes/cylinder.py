"""A cylinder about z with flat ends."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from delassus.arguments import positive
from delassus.shapes.base import Shape


@dataclass(frozen=True)
class Cylinder(Shape):
    """radius [m]; length from end to end [m].  Axis z, centred.

    On its end it touches along its rim: spinning there it is slowed by μ m g r, as a ring is. Where a disc's
    2/3 μ m g r matters, stand the body on a cylinder of two thirds of the radius (a `Compound` holds both)."""

    radius: float
    length: float
    kind: ClassVar[str] = "cylinder"

    def __post_init__(self) -> None:
        positive(self.kind, radius=self.radius, length=self.length)

    @property
    def numbers(self) -> tuple[float, ...]:
        """Radius and half length."""
        return self.radius, 0.5 * self.length

    @property
    def volume(self) -> float:
        return math.pi * self.radius**2 * self.length

    @property
    def centre_of_mass(self) -> np.ndarray:
        return np.zeros(3)

    @property
    def inertia_per_density(self) -> np.ndarray:
        r2, l2 = self.radius**2, self.length**2
        return self.volume * np.diag([r2 / 4 + l2 / 12, r2 / 4 + l2 / 12, r2 / 2])

    @property
    def bounds(self) -> np.ndarray:
        half = np.array([self.radius, self.radius, 0.5 * self.length])
        return np.array([-half, half])

    @property
    def bounding_radius(self) -> float:
        return math.hypot(self.radius, 0.5 * self.length)

    def surface_points(self, count: int, rng: np.random.Generator) -> np.ndarray:
        angle = rng.uniform(0, 2 * math.pi, count)
        z = rng.uniform(-1, 1, count)
        r = np.sqrt(rng.random(count))
        side = rng.random(count) < 0.5
        r[side] = 1.0
        z[~side] = np.sign(z[~side])
        return np.stack(
            [self.radius * r * np.cos(angle), self.radius * r * np.sin(angle), 0.5 * self.length * z], axis=1
        )
