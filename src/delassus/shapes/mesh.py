"""A surface of triangles: terrain, containers. Static only."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from delassus.errors import ProblemError
from delassus.shapes.base import points_of
from delassus.shapes.polyhedron import triangle_points

THIN = 1e-9  # area of a triangle over the square of its longest edge below which it has no usable normal


@dataclass(frozen=True, eq=False)
class Mesh:
    """vertices: (n, 3) [m]; faces: (m, 3) vertex numbers, anticlockwise seen from the side bodies are on."""

    vertices: np.ndarray
    faces: np.ndarray
    kind: ClassVar[str] = "mesh"
    static_only: ClassVar[bool] = True

    def __post_init__(self) -> None:
        vertices = points_of(self.kind, "vertices", self.vertices)
        faces = np.array(self.faces)
        if faces.ndim != 2 or faces.shape[1] != 3 or len(faces) == 0 or not np.issubdtype(faces.dtype, np.integer):
            raise ProblemError(f"mesh: faces has shape {faces.shape} of {faces.dtype}, expected (m, 3) integers, m ≥ 1")
        bad = ((faces < 0) | (faces >= len(vertices))).any(axis=1)
        if bad.any():
            k = int(np.argmax(bad))
            raise ProblemError(f"mesh: faces[{k}] is {faces[k].tolist()}, but there are {len(vertices)} vertices")
        a, b, c = np.moveaxis(vertices[faces], 1, 0)
        area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
        edge = np.max([np.linalg.norm(x, axis=1) for x in (b - a, c - b, a - c)], axis=0)
        bad = ~(area > THIN * edge**2)
        if bad.any():
            raise ProblemError(
                f"mesh: faces[{int(np.argmax(bad))}] is degenerate (its corners lie on one line), remove such triangles"
            )
        _check_sides(faces)
        faces = faces.astype(np.int64)
        faces.flags.writeable = False
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", faces)

    @property
    def volume(self) -> None:
        return None

    @property
    def centre_of_mass(self) -> None:
        return None

    @property
    def inertia_per_density(self) -> None:
        return None

    @property
    def bounds(self) -> np.ndarray:
        used = self.vertices[np.unique(self.faces)]
        return np.array([used.min(axis=0), used.max(axis=0)])

    @property
    def bounding_radius(self) -> float:
        return float(np.linalg.norm(self.vertices[np.unique(self.faces)], axis=1).max())

    def surface_points(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return triangle_points(self.vertices, self.faces, count, rng)


def _check_sides(faces: np.ndarray) -> None:
    """Refuse neighbours that face opposite sides: triangles carry on one side only, bodies would fall through. Two that
    share an edge with no third must run along it in opposite directions."""
    edges = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    ascending = edges[:, 0] < edges[:, 1]
    _, where, count = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True, return_counts=True)
    forward = np.bincount(where.ravel(), weights=ascending, minlength=len(count))
    wrong = np.flatnonzero((count == 2) & (forward != 1))
    if len(wrong):
        first, second = np.flatnonzero(where.ravel() == wrong[0]) // 3
        raise ProblemError(
            f"mesh: faces[{first}] and faces[{second}] are neighbours that face opposite sides: reverse the corners of "
            "one (anticlockwise seen from the side bodies are on)"
        )
