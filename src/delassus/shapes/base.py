"""What every shape answers: volume, centre of mass, inertia, bounds, points on its surface."""

import math
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from delassus.errors import ProblemError
from delassus.given import numbers


class Shape(Protocol):
    """A shape in its own frame [m].  Planes and meshes are static only: volume, centre and inertia are None."""

    kind: ClassVar[str]
    static_only: ClassVar[bool]

    @property
    def volume(self) -> float | None:
        """[m³]"""

    @property
    def centre_of_mass(self) -> np.ndarray | None:
        """(3,) [m]"""

    @property
    def inertia_per_density(self) -> np.ndarray | None:
        """(3, 3) about the centre of mass, in the shape's axes [m⁵]: times a density [kg/m³] it is the inertia."""

    @property
    def bounds(self) -> np.ndarray:
        """(2, 3) lowest and highest corner of the box along the axes that holds the shape [m]; infinite for a plane."""

    @property
    def bounding_radius(self) -> float:
        """Of a ball about the shape's origin that holds it [m]."""

    def surface_points(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """(count, 3) points on the surface, for tests; not uniform."""


def positive(kind: str, **sizes: float) -> None:
    """Refuse sizes that are not finite and positive, naming the first bad one."""
    for name, value in sizes.items():
        x = numbers(value)
        if x.shape != () or not (math.isfinite(x) and x > 0):
            raise ProblemError(f"{kind}: {name} is {value!r}, it must be finite and positive")


def points_of(kind: str, name: str, value: ArrayLike) -> np.ndarray:
    """Points as a read-only (n, 3) array, or an error that says what is wrong with them."""
    x = numbers(value)
    if x.ndim != 2 or x.shape[1] != 3:
        raise ProblemError(f"{kind}: {name} has shape {x.shape}, expected (n, 3)")
    bad = ~np.isfinite(x).all(axis=1)
    if bad.any():
        raise ProblemError(f"{kind}: {name}[{int(np.argmax(bad))}] is not finite")
    x.flags.writeable = False
    return x


def directions(count: int, rng: np.random.Generator) -> np.ndarray:
    """(count, 3) unit vectors, uniform on the sphere."""
    d = rng.standard_normal((count, 3))
    return d / np.linalg.norm(d, axis=1, keepdims=True)


def symmetric_bounds(x: float, y: float, z: float) -> np.ndarray:
    return np.array([[-x, -y, -z], [x, y, z]])
