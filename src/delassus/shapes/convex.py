"""The convex hull of points."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from delassus.errors import ProblemError
from delassus.given import points_of
from delassus.shapes.base import Shape
from delassus.shapes.polyhedron import mass_properties, outward_triangles, triangle_points

FLAT = 1e-7  # of the hull's size: thinner hulls are refused, and facets whose planes differ by less are one face


@dataclass(frozen=True, eq=False)
class Convex(Shape):
    """points: (n, 3) [m], n ≥ 4 not in one plane; those inside the hull are dropped.

    vertices: (v, 3) corners of the hull; triangles: (f, 3) its surface, anticlockwise from outside."""

    points: np.ndarray
    kind: ClassVar[str] = "convex"

    def __post_init__(self) -> None:
        points = points_of(self.kind, "points", self.points)
        if len(points) < 4:
            raise ProblemError(f"convex: {len(points)} points span no volume, give at least four")
        spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
        if spread[2] <= FLAT * spread[0]:
            raise ProblemError(f"convex: the {len(points)} points lie in one plane, a hull needs volume")
        object.__setattr__(self, "points", points)

    @cached_property
    def _hull(self) -> tuple[np.ndarray, np.ndarray]:
        return outward_triangles(self.points)

    @property
    def vertices(self) -> np.ndarray:
        return self._hull[0]

    @property
    def triangles(self) -> np.ndarray:
        return self._hull[1]

    @cached_property
    def faces(self) -> list[np.ndarray]:
        """Corners of each flat face, anticlockwise from outside: coplanar triangles merged."""
        vertices, triangles = self._hull
        a, b, c = np.moveaxis(vertices[triangles], 1, 0)
        normal = np.cross(b - a, c - a)
        area = np.linalg.norm(normal, axis=1)
        size = self.bounding_radius
        faces, done = [], area <= FLAT**2 * size**2  # slivers lie inside a neighbour's plane
        flat = FLAT * size
        # most faces of a hull of many points are one triangle each: their planes pass no fourth corner
        unit = normal / np.where(done, 1.0, area)[:, None]
        alone = np.array([(np.abs((vertices - x) @ n) <= flat).sum() == 3 for x, n in zip(a, unit)])
        lowest = triangles.argmin(axis=1)
        turned = triangles[np.arange(len(triangles))[:, None], (lowest[:, None] + [-1, 0, 1]) % 3]
        for k in np.argsort(-area, kind="stable"):
            if done[k]:
                continue
            if alone[k]:
                faces.append(turned[k].astype(np.int64))
                done[k] = True
                continue
            n = unit[k]
            on = np.flatnonzero(np.abs((vertices - a[k]) @ n) <= flat)
            done |= np.isin(triangles, on).all(axis=1)
            middle = vertices[on].mean(axis=0)
            x = vertices[on[0]] - middle
            y = np.cross(n, x)
            angle = np.arctan2((vertices[on] - middle) @ y, (vertices[on] - middle) @ x)
            faces.append(on[np.argsort(angle)])
        return faces

    @cached_property
    def _mass(self) -> tuple[float, np.ndarray, np.ndarray]:
        return mass_properties(*self._hull)

    @property
    def bounds(self) -> np.ndarray:
        return np.array([self.points.min(axis=0), self.points.max(axis=0)])

    @property
    def bounding_radius(self) -> float:
        return float(np.linalg.norm(self.points, axis=1).max())

    def surface_points(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return triangle_points(*self._hull, count, rng)
