"""A box about the origin, edges along the axes."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from delassus.arguments import numbers, positive
from delassus.errors import ProblemError
from delassus.shapes.base import Shape


@dataclass(frozen=True)
class Box(Shape):
    """size: lengths of the edges along x, y, z [m] (whole lengths, not halves)"""

    size: tuple[float, float, float]
    kind: ClassVar[str] = "box"

    def __post_init__(self) -> None:
        size = numbers(self.size)
        if size.shape != (3,):
            raise ProblemError(f"box: size is {self.size!r}, expected three edge lengths (x, y, z)")
        positive(self.kind, **{f"size[{i}]": s for i, s in enumerate(size.tolist())})
        object.__setattr__(self, "size", tuple(size.tolist()))

    @property
    def numbers(self) -> tuple[float, ...]:
        """Half edges."""
        x, y, z = self.size
        return 0.5 * x, 0.5 * y, 0.5 * z

    @property
    def volume(self) -> float:
        return math.prod(self.size)

    @property
    def centre_of_mass(self) -> np.ndarray:
        return np.zeros(3)

    @property
    def inertia_per_density(self) -> np.ndarray:
        x, y, z = (s * s for s in self.size)
        return self.volume / 12.0 * np.diag([y + z, x + z, x + y])

    @property
    def bounds(self) -> np.ndarray:
        half = np.array(self.numbers)
        return np.array([-half, half])

    @property
    def bounding_radius(self) -> float:
        return 0.5 * math.hypot(*self.size)

    def surface_points(self, count: int, rng: np.random.Generator) -> np.ndarray:
        x = rng.uniform(-1, 1, (count, 3))
        x[np.arange(count), rng.integers(0, 3, count)] = rng.choice([-1.0, 1.0], count)
        return 0.5 * x * self.size
