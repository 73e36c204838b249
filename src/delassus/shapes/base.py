"""What every shape answers: volume, centre of mass, inertia, bounds, points on its surface, and what collision reads.

A kind is a class in a file of its own and a line of `SHAPES`. Those with kernels of their own (collision/narrow/) say
everything by formulas. Any other convex solid says its `numbers` and its `support` function; the rest has defaults:

    @dataclass(frozen=True)
    class Egg(Shape):
        x: float
        y: float
        z: float
        kind: ClassVar[str] = "egg"

        @property
        def numbers(self):
            return self.x, self.y, self.z

        @staticmethod
        def support(numbers, x, y, z):
            x, y, z = numbers[0] * x, numbers[1] * y, numbers[2] * z
            d = math.sqrt(x * x + y * y + z * z)
            return numbers[0] * x / d, numbers[1] * y / d, numbers[2] * z / d
"""

import math
from collections.abc import Callable
from functools import cached_property
from typing import ClassVar

import numpy as np

from delassus.errors import ProblemError
from delassus.shapes.polyhedron import direction_triangles, mass_properties

_ROUNDS = 5
"""Of `direction_triangles`, 4 098 directions in which the support function is asked for the defaults of mass: those of
ellipsoids come out right to 1e-4, of solids with edges to 1e-3."""
_COMPARED = 200
"""Support points held against each other, at most: a mistake in a formula shows at a few."""
_NEARER = 1e-6
"""Of the size, by which a support point may lie nearer than another one: rounding, and solids built of single ones."""


class Shape:
    """A shape in its own frame [m].  Planes and meshes are static only: volume, centre and inertia are None."""

    kind: ClassVar[str]
    static_only: ClassVar[bool] = False
    support: ClassVar[Callable[..., tuple[float, float, float]] | None] = None
    """support(numbers, x, y, z): the point (x, y, z) of the solid that is furthest along a direction, of any length but
    zero.  A static method that Numba can compile.  None: collision has kernels for this kind."""

    @property
    def numbers(self) -> tuple[float, ...]:
        """What says how large the shape is, for kernels and `support` [m]."""
        return ()

    @property
    def volume(self) -> float | None:
        """[m³]; by default, as what follows, that of a polyhedron of `support` points."""
        return self._mass[0]

    @property
    def centre_of_mass(self) -> np.ndarray | None:
        """(3,) [m]"""
        return self._mass[1]

    @property
    def inertia_per_density(self) -> np.ndarray | None:
        """(3, 3) about the centre of mass, in the shape's axes [m⁵]: times a density [kg/m³] it is the inertia."""
        return self._mass[2]

    @property
    def bounds(self) -> np.ndarray:
        """(2, 3) lowest and highest corner of the box along the axes that holds the shape [m]; infinite for a plane."""
        return np.array([np.diag(self._furthest(-np.eye(3))), np.diag(self._furthest(np.eye(3)))])

    @property
    def bounding_radius(self) -> float:
        """Of a ball about the shape's origin that holds it [m]."""
        return float(np.linalg.norm(np.abs(self.bounds).max(axis=0)))

    def surface_points(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """(count, 3) points on the surface, for tests; not uniform."""
        return self._furthest(directions(count, rng))

    def _furthest(self, along: np.ndarray) -> np.ndarray:
        """(n, 3) points furthest along directions (n, 3)."""
        if self.support is None:
            raise ProblemError(f"{type(self).__name__} has no support function: give it one, or every property")
        given = np.array(self.numbers, dtype=float)
        answers = [self.support(given, *d) for d in along.tolist()]
        for answer, d in zip(answers, along.tolist()):
            if not _is_point(answer):
                where = ", ".join(f"{x:.3g}" for x in d)
                raise ProblemError(
                    f"{type(self).__name__}.support({given.tolist()}, {where}) is {answer!r}: give the point furthest "
                    "along that direction, three finite numbers [m]"
                )
        points = np.array(answers, dtype=float)
        self._refuse_nearer(points, along)
        return points

    def _refuse_nearer(self, points: np.ndarray, along: np.ndarray) -> None:
        """Some of the points that `support` gave, held against each other: none lies further along another's direction
        than that other does, or the solid is not convex, or not where its support function says."""
        some = np.unique(np.linspace(0, len(points) - 1, _COMPARED).astype(int))
        points, along = points[some], along[some]
        reach = along @ points.T  # [direction, point]
        lack = reach.max(axis=1) - np.diag(reach)
        k = int(lack.argmax())
        if lack[k] > _NEARER * np.abs(points).max():
            x, y, z = along[k]
            raise ProblemError(
                f"{type(self).__name__}.support is no support function: along ({x:.3g}, {y:.3g}, {z:.3g}) a point that "
                f"it gave for another direction is {lack[k]:.3g} m further"
            )

    @cached_property
    def _mass(self) -> tuple[float, np.ndarray, np.ndarray]:
        both = []
        for rounds in (_ROUNDS - 1, _ROUNDS):
            along, triangles = direction_triangles(rounds)
            both.append(mass_properties(self._furthest(along), triangles))
        (v, x, theta), (volume, centre, inertia) = both
        # four times as many triangles, a quarter of the error: what is left of it after extrapolation is far smaller
        return (4 * volume - v) / 3, (4 * centre - x) / 3, (4 * inertia - theta) / 3


def _is_point(answer: object) -> bool:
    return isinstance(answer, (tuple, list, np.ndarray)) and len(answer) == 3 and all(map(math.isfinite, answer))


class StaticShape(Shape):
    """What cannot move needs no mass."""

    static_only: ClassVar[bool] = True

    @property
    def volume(self) -> None:
        return None

    @property
    def centre_of_mass(self) -> None:
        return None

    @property
    def inertia_per_density(self) -> None:
        return None


def directions(count: int, rng: np.random.Generator) -> np.ndarray:
    """(count, 3) unit vectors, uniform on the sphere."""
    d = rng.standard_normal((count, 3))
    return d / np.linalg.norm(d, axis=1, keepdims=True)
