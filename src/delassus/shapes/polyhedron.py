"""Closed triangulated surfaces: convex hulls, and the exact volume, centre and inertia of what is inside."""

import numpy as np


def outward_triangles(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(vertices (v, 3), triangles (f, 3) anticlockwise from outside) of the convex hull of points (n, 3)."""
    from scipy.spatial import ConvexHull

    hull = ConvexHull(points)
    number = np.full(len(points), -1)
    number[hull.vertices] = np.arange(len(hull.vertices))
    triangles, vertices = number[hull.simplices], points[hull.vertices]
    a, b, c = np.moveaxis(vertices[triangles], 1, 0)
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    triangles[inward] = triangles[inward][:, ::-1]
    return vertices, triangles


def direction_triangles(rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """(unit vectors (v, 3), triangles (8 · 4^rounds, 3) anticlockwise from outside): an octahedron, its triangles cut
    into four so many times."""
    x = np.concatenate([np.eye(3), -np.eye(3)])
    triangles = np.array([(0, 1, 2), (1, 3, 2), (3, 4, 2), (4, 0, 2), (1, 0, 5), (3, 1, 5), (4, 3, 5), (0, 4, 5)])
    for _ in range(rounds):
        edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        edges, which = np.unique(edges, axis=0, return_inverse=True)
        middle = len(x) + which.reshape(-1, 3)  # of the edges of each triangle
        between = x[edges].sum(axis=1)
        x = np.concatenate([x, between / np.linalg.norm(between, axis=1, keepdims=True)])
        (a, b, c), (d, e, f) = triangles.T, middle.T
        triangles = np.concatenate([np.stack(t, axis=1) for t in ((a, d, f), (d, b, e), (f, e, c), (d, e, f))])
    return x, triangles


def mass_properties(vertices: np.ndarray, faces: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """(volume, centre of mass, inertia per density about it) of the solid inside triangles seen anticlockwise from
    outside, as a signed sum of tetrahedra (Tonon 2004).  vertices: (n, 3) [m], faces: (m, 3) → [m³], [m], [m⁵]."""
    shift = vertices.mean(axis=0)  # far from the origin the signed volumes would cancel
    a, b, c = np.moveaxis((vertices - shift)[faces], 1, 0)
    six = np.einsum("ij,ij->i", a, np.cross(b, c))
    volume = six.sum() / 6.0
    s = a + b + c
    centre = six @ s / 24.0 / volume
    # ∫ x xᵀ over the tetrahedron (0, a, b, c) = det/120 (s sᵀ + a aᵀ + b bᵀ + c cᵀ)
    second = sum(np.einsum("i,ij,ik->jk", six, x, x) for x in (s, a, b, c)) / 120.0
    second = second - volume * np.outer(centre, centre)
    return float(volume), centre + shift, np.trace(second) * np.eye(3) - second


def triangle_points(vertices: np.ndarray, faces: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """(count, 3) random points on the triangles."""
    w = rng.exponential(size=(count, 3))
    w /= w.sum(axis=1, keepdims=True)
    return np.einsum("ij,ijk->ik", w, vertices[faces[rng.integers(0, len(faces), count)]])
