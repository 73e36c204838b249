"""Several shapes fixed to each other."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from delassus.arguments import numbers
from delassus.errors import ProblemError
from delassus.shapes.base import Shape
from delassus.spatial import quaternion_to_matrix

UNIT = 1e-6  # how far a quaternion's length may be from one


@dataclass(frozen=True, eq=False)
class Compound(Shape):
    """parts: a shape, or (shape, position (3,) [m], quaternion (4,) or None), each.  Masses add up: overlaps count
    twice."""

    parts: tuple[Any, ...]
    kind: ClassVar[str] = "compound"

    def __post_init__(self) -> None:
        if not isinstance(self.parts, (list, tuple)) or len(self.parts) == 0:
            what = "no parts given" if self.parts in ((), []) else f"parts is {self.parts!r}"
            raise ProblemError(f"compound: {what}: give a list of at least one shape")
        parts = [part if isinstance(part, tuple) else (part,) for part in self.parts]
        object.__setattr__(self, "parts", tuple(_part(k, *part) for k, part in enumerate(parts)))

    @property
    def volume(self) -> float:
        return sum(shape.volume for shape, _, _ in self.parts)

    @property
    def centre_of_mass(self) -> np.ndarray:
        weighted = [s.volume * (p + quaternion_to_matrix(q) @ s.centre_of_mass) for s, p, q in self.parts]
        return np.sum(weighted, axis=0) / self.volume

    @property
    def inertia_per_density(self) -> np.ndarray:
        centre, total = self.centre_of_mass, np.zeros((3, 3))
        for shape, position, quaternion in self.parts:
            R = quaternion_to_matrix(quaternion)
            d = position + R @ shape.centre_of_mass - centre
            total += R @ shape.inertia_per_density @ R.T + shape.volume * (d @ d * np.eye(3) - np.outer(d, d))
        return total

    @property
    def bounds(self) -> np.ndarray:
        boxes = []
        for shape, position, quaternion in self.parts:
            R, (lo, hi) = quaternion_to_matrix(quaternion), shape.bounds
            middle, half = position + R @ (lo + hi) / 2, np.abs(R) @ (hi - lo) / 2
            boxes.append((middle - half, middle + half))
        return np.array([np.min([b[0] for b in boxes], axis=0), np.max([b[1] for b in boxes], axis=0)])

    @property
    def bounding_radius(self) -> float:
        return max(float(np.linalg.norm(p)) + s.bounding_radius for s, p, _ in self.parts)

    def surface_points(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Points on the parts' surfaces, those inside other parts included."""
        which = rng.integers(0, len(self.parts), count)
        found = []
        for k, (shape, position, quaternion) in enumerate(self.parts):
            x = shape.surface_points(int((which == k).sum()), rng)
            found.append(position + x @ quaternion_to_matrix(quaternion).T)
        return np.concatenate(found)


def _part(
    k: int, shape: Shape, position: Any = (0.0, 0.0, 0.0), quaternion: Any = None
) -> tuple[Shape, np.ndarray, np.ndarray]:
    """One part with its pose as arrays, or an error that says what is wrong with it."""
    if not hasattr(shape, "static_only") or isinstance(shape, type):
        raise ProblemError(f"compound: parts[{k}] is {shape!r}, give a shape, or (shape, position, quaternion)")
    if shape.static_only or shape.kind == "compound":
        raise ProblemError(f"compound: parts[{k}] is a {shape.kind}, parts must be solid shapes")
    p = numbers(position)
    q = numbers([1.0, 0, 0, 0] if quaternion is None else quaternion)
    if p.shape != (3,) or not np.isfinite(p).all():
        raise ProblemError(f"compound: parts[{k}] has position {position}, expected three finite numbers")
    if q.shape != (4,) or not abs(np.linalg.norm(q) - 1) <= UNIT:
        raise ProblemError(f"compound: parts[{k}] has quaternion {quaternion}, expected a unit (w, x, y, z)")
    return shape, p, q
