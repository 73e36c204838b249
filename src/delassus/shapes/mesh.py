"""A surface of triangles: terrain, containers. Static only."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from delassus.arguments import points_of
from delassus.errors import ProblemError
from delassus.shapes.base import StaticShape
from delassus.shapes.polyhedron import triangle_points

THIN = 1e-9  # area of a triangle over the square of its longest edge below which it has no usable normal


@dataclass(frozen=True, eq=False)
class Mesh(StaticShape):
    """vertices: (n, 3) [m]; faces: (m, 3) vertex numbers, anticlockwise seen from the side bodies are on.

    Vertices at the same place are one, as in files that list three for every triangle: faces are numbered anew."""

    vertices: np.ndarray
    faces: np.ndarray
    kind: ClassVar[str] = "mesh"

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
        faces = _merged(vertices, faces.astype(np.int64))
        faces.flags.writeable = False
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", faces)

    @property
    def bounds(self) -> np.ndarray:
        used = self.vertices[np.unique(self.faces)]
        return np.array([used.min(axis=0), used.max(axis=0)])

    @property
    def bounding_radius(self) -> float:
        return float(np.linalg.norm(self.vertices[np.unique(self.faces)], axis=1).max())

    def surface_points(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return triangle_points(self.vertices, self.faces, count, rng)

    def edge_directions(self) -> np.ndarray:
        """What each triangle must know of its neighbours, (m, 3, 4) per triangle and edge (from corner e to the next):
        the unit vector in the plane of the neighbour that points out of it across the edge, zero without one; then who
        reports: 1 if this triangle does for the edge, plus 2 if it does for corner e. Each edge and corner has one
        triangle that reports, the lowest numbered."""
        faces, m = self.faces, len(self.faces)
        start, end = faces, np.roll(faces, -1, axis=1)
        corners = self.vertices[faces]
        along = np.roll(corners, -1, axis=1) - corners
        normal = np.cross(along[:, 0], along[:, 1])
        out = np.cross(along, normal[:, None, :])
        out /= np.linalg.norm(out, axis=2, keepdims=True)
        lower, higher = np.minimum(start, end).ravel(), np.maximum(start, end).ravel()
        order = np.lexsort((np.arange(3 * m), higher, lower))
        same = (lower[order][1:] == lower[order][:-1]) & (higher[order][1:] == higher[order][:-1])
        result = np.zeros((m, 3, 4))
        result[:, :, 3] = 1.0
        k = np.flatnonzero(same)
        # edges of three and more triangles have no inside: they stay without neighbours
        triple = np.zeros(len(order), bool)
        triple[k[1:][np.diff(k) == 1]] = triple[k[:-1][np.diff(k) == 1]] = True
        k = k[~triple[k]]
        a, b = order[k], order[k + 1]
        flat = result.reshape(3 * m, 4)
        flat[a, :3], flat[b, :3] = out.reshape(-1, 3)[b], out.reshape(-1, 3)[a]
        flat[b, 3] = 0.0
        _, first = np.unique(faces.ravel(), return_index=True)
        flat[first, 3] += 2.0
        return result

    def corner_directions(self) -> tuple[np.ndarray, np.ndarray]:
        """What a triangle that reports a corner must know of all that meet there: (rows (c, 3), count (m, 3) of them
        for each triangle and corner). First the normal, of the triangles weighted by their angles at the corner (its
        sign tells outside from inside for all that is nearest to the corner: Bærentzen and Aanæs 2005), then the unit
        vectors along the edges away from it. Corners that another triangle reports have none."""
        corners = self.vertices[self.faces]
        edges = np.stack([np.roll(corners, -1, axis=1), np.roll(corners, 1, axis=1)]) - corners
        ahead, back = edges / np.linalg.norm(edges, axis=3, keepdims=True)
        normal = np.cross(ahead, back)
        sine = np.linalg.norm(normal, axis=2, keepdims=True)
        normal *= np.arctan2(sine, (ahead * back).sum(axis=2, keepdims=True)) / sine
        _, first, which = np.unique(self.faces.ravel(), return_index=True, return_inverse=True)
        summed = np.stack([np.bincount(which, x) for x in normal.reshape(-1, 3).T], axis=1)
        length = np.linalg.norm(summed, axis=1, keepdims=True)
        normals = summed / np.where(length > 0.0, length, 1.0)
        # every edge once from each of its ends, in the order of the triangles that report these
        ends = np.concatenate([np.roll(self.faces, -1, axis=1), np.roll(self.faces, 1, axis=1)]).ravel()
        _, edge = np.unique(np.tile(which, 2) * len(self.vertices) + ends, return_index=True)
        at = first[np.tile(which, 2)[edge]]
        order = np.argsort(at, kind="stable")
        count = np.bincount(at, minlength=self.faces.size)
        count[first] += 1
        is_first = np.zeros(count.sum(), bool)
        is_first[(np.cumsum(count) - count)[first]] = True
        rows = np.empty((len(is_first), 3))
        rows[is_first] = normals[np.argsort(first)]
        rows[~is_first] = np.concatenate([ahead, back]).reshape(-1, 3)[edge[order]]
        return rows, count.reshape(-1, 3)


def _merged(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """The faces with one number for all vertices at the same place, without which bodies would feel the edges between
    them.  Where triangles then face opposite sides they are not of one surface, and stay as they were."""
    _, first, which = np.unique(vertices, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(vertices):
        return faces
    merged = first[which.ravel()][faces]
    try:
        _check_sides(merged)
    except ProblemError:
        return faces
    return merged


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
