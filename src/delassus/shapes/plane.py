"""A half-space: ground, walls. Static only."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from delassus.arguments import numbers, positive
from delassus.errors import ProblemError
from delassus.shapes.base import StaticShape


@dataclass(frozen=True)
class Plane(StaticShape):
    """The solid half-space normal·x ≤ offset.  normal: outward, normalised here; offset [m] along the unit normal."""

    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    offset: float = 0.0
    kind: ClassVar[str] = "plane"

    def __post_init__(self) -> None:
        normal = numbers(self.normal)
        if normal.shape != (3,):
            raise ProblemError(f"plane: normal is {self.normal!r}, expected (x, y, z)")
        length = float(np.linalg.norm(normal))
        positive(self.kind, **{"the length of normal": length})
        offset = numbers(self.offset)
        if offset.shape != () or not math.isfinite(offset):
            raise ProblemError(f"plane: offset is {self.offset!r}, it must be one finite number, along the normal [m]")
        object.__setattr__(self, "normal", tuple((normal / length).tolist()))

    @property
    def bounds(self) -> np.ndarray:
        return np.array([[-np.inf] * 3, [np.inf] * 3])

    @property
    def bounding_radius(self) -> float:
        return math.inf

    def surface_points(self, count: int, rng: np.random.Generator) -> np.ndarray:
        n = np.array(self.normal)
        x = rng.uniform(-1, 1, (count, 3))
        return x + np.outer(self.offset - x @ n, n)
