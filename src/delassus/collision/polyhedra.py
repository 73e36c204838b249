"""Corners and faces of hulls and mesh triangles, collected for the kernels."""

import numpy as np

from delassus.collision.mesh_edges import edge_directions
from delassus.shapes import Convex, Mesh


class Polyhedra:
    """Collects the fields of Geometry from `vertex` on, for n shapes added in order."""

    def __init__(self, n: int):
        self.vertex_count = np.zeros(n, np.int64)
        self.face_count = np.zeros(n, np.int64)
        self.triangle = np.full(n, -1, np.int64)
        self.vertices: list[np.ndarray] = []
        self.faces: list[np.ndarray] = []
        self.normals: list[np.ndarray] = []
        self.edges: list[np.ndarray] = []
        self.triangles = 0
        self.known: dict[int, tuple] = {}  # hulls by identity: many bodies may share one

    def add_hull(self, shape: Convex, s: int, parts) -> None:
        """Shape s: its corners about the middle of its bounds, which becomes its origin."""
        if id(shape) not in self.known:
            lo, hi = shape.bounds
            middle = 0.5 * (lo + hi)
            local = shape.vertices - middle
            self.known[id(shape)] = local, middle, hi - middle, np.array([_normal(local[f]) for f in shape.faces])
        local, middle, parts.half[s], normal = self.known[id(shape)]
        parts.radius[s] = np.linalg.norm(local, axis=1).max()
        parts.local_position[s] += parts.local_rotation[s] @ middle
        self.vertex_count[s], self.face_count[s] = len(local), len(shape.faces)
        self.vertices.append(local)
        self.faces += shape.faces
        self.normals.append(normal)

    def add_mesh(self, shape: Mesh, s: int, parts) -> None:
        """Shapes s … of a mesh: each triangle about the middle of its bounds."""
        m = len(shape.faces)
        rows = slice(s, s + m)
        corners = shape.vertices[shape.faces]
        middle = 0.5 * (corners.min(axis=1) + corners.max(axis=1))
        local = corners - middle[:, None]
        parts.half[rows] = np.abs(local).max(axis=1)
        parts.radius[rows] = np.linalg.norm(local, axis=2).max(axis=1)
        parts.local_position[rows] += middle @ parts.local_rotation[s].T
        self.vertex_count[rows] = 3
        self.triangle[rows] = self.triangles + np.arange(m)
        self.triangles += m
        self.vertices.append(local.reshape(-1, 3))
        self.edges.append(edge_directions(shape))

    def arrays(self) -> tuple:
        """The fields of Geometry from `vertex` on."""
        return (
            np.concatenate([np.zeros((0, 3)), *self.vertices]),
            _starts(self.vertex_count),
            np.concatenate([np.zeros(0, np.int64), *self.faces]),
            _starts(np.array([len(f) for f in self.faces], np.int64)),
            _starts(self.face_count),
            np.concatenate([np.zeros((0, 3)), *self.normals]),
            np.concatenate([np.zeros((0, 3, 4)), *self.edges]),
            self.triangle,
        )


def _starts(counts: np.ndarray) -> np.ndarray:
    start = np.zeros(len(counts) + 1, np.int64)
    counts.cumsum(out=start[1:])
    return start


def _normal(polygon: np.ndarray) -> np.ndarray:
    """Unit normal of a flat polygon, by its area vector."""
    a = polygon - polygon[0]
    n = np.cross(a[1:-1], a[2:]).sum(axis=0)
    return n / np.linalg.norm(n)
