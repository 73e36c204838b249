"""The convex hull of points."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from delassus.arguments import points_of, positive
from delassus.errors import ProblemError
from delassus.shapes.base import Shape
from delassus.shapes.polyhedron import mass_properties, outward_triangles, triangle_points

FLAT = 1e-7  # of the hull's size: thinner hulls are refused
# Corners that are off a plane by less than this of the hull's size lie in it: files in single precision have seven
# digits, and a face that falls apart into slivers touches with one of them alone.
_ONE_FACE = 1e-6
_EVEN = 1e-10  # of the hull's size: heights over a plane that differ by less are the same


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
        positive(self.kind, size=float(np.ptp(points, axis=0).max()))
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
        """Corners of each flat face, convex and anticlockwise from outside: triangles in one plane merged. The first
        corner is the one furthest out."""
        vertices, triangles = self._hull
        a, b, c = np.moveaxis(vertices[triangles], 1, 0)
        normal = np.cross(b - a, c - a)
        area = np.linalg.norm(normal, axis=1)
        size = self.bounding_radius
        faces, done = [], area <= FLAT**2 * size**2  # slivers lie inside a neighbour's plane
        flat = _ONE_FACE * size
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
            on, middle, n = _plane(vertices, a[k], unit[k], flat)
            done |= np.isin(triangles, on).all(axis=1)
            done[k] = True
            x = vertices[on[0]] - middle
            y = np.cross(n, x)
            angle = np.arctan2((vertices[on] - middle) @ y, (vertices[on] - middle) @ x)
            around = on[np.argsort(angle)]
            around = around[_convex(vertices[around] - middle, n, flat)]
            corners = vertices[around] - middle
            across = np.cross(corners[:-1], corners[1:]).sum(axis=0) + np.cross(corners[-1], corners[0])
            height = np.round(corners @ across / (np.linalg.norm(across) * _EVEN * size))
            faces.append(np.roll(around, -int(height.argmax())))
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


def _plane(
    vertices: np.ndarray, at: np.ndarray, normal: np.ndarray, flat: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(numbers of the vertices in a plane, their middle, the plane's unit normal): from a triangle's plane, which is
    known no better than its corners are and leads away from others, to the one that fits all of them best."""
    on = np.flatnonzero(np.abs((vertices - at) @ normal) <= flat)
    while True:
        middle = vertices[on].mean(axis=0)
        fitted = np.linalg.svd(vertices[on] - middle)[2][2]
        normal = fitted if fitted @ normal > 0.0 else -fitted
        more = np.union1d(on, np.flatnonzero(np.abs((vertices - middle) @ normal) <= flat))
        if len(more) == len(on):
            return on, middle, normal
        on = more


def _convex(corners: np.ndarray, normal: np.ndarray, flat: float) -> np.ndarray:
    """Numbers of the corners that a convex polygon keeps, (k, 3) in anticlockwise order about the unit normal: those
    that stand out by more than `flat` [m] over the line between their neighbours."""
    kept = np.arange(len(corners))
    while len(kept) > 3:
        here, before, after = corners[kept], corners[np.roll(kept, 1)], corners[np.roll(kept, -1)]
        chord = after - before
        out = np.cross(here - before, chord) @ normal / np.linalg.norm(chord, axis=1)
        least = int(out.argmin())
        if out[least] > flat:
            break
        kept = np.delete(kept, least)
    return kept
