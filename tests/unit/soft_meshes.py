"""Surfaces to touch, and how far they are from things, by trying everything: for tests of flexible bodies."""

import numpy as np

from delassus.shapes import Box, Capsule, Compound, Convex, Cylinder, Ellipsoid, Mesh, Plane, Sphere
from delassus.spatial import quaternion_to_matrix


def sheet(cells, size):
    """Nodes (n, 3) and triangles (F, 3) of a flat rectangle at z = 0 that looks up."""
    (n, m), (a, b) = cells, size
    x, y = np.meshgrid(np.linspace(0, a, n + 1), np.linspace(0, b, m + 1), indexing="ij")
    i = (np.arange(n)[:, None] * (m + 1) + np.arange(m)).ravel()
    corners = np.stack([i, i + m + 1, i + m + 2, i, i + m + 2, i + 1], axis=1)
    return np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1), corners.reshape(-1, 3)


def lump(cells, warp, seed=0):
    """Nodes and triangles of the surface of a unit cube about the origin, bent out of shape."""
    nodes, triangles, seen = [], [], 0
    flat, corners = sheet((cells, cells), (1.0, 1.0))
    for axis in range(3):
        for up in (0.0, 1.0):
            side = np.roll(flat + [0, 0, up], axis, axis=1)
            nodes.append(side)
            triangles.append((corners if up else corners[:, ::-1]) + seen)
            seen += len(side)
    nodes, which = np.unique(np.round(np.concatenate(nodes) * cells).astype(int), axis=0, return_inverse=True)
    nodes = nodes / cells - 0.5
    bend = np.random.default_rng(seed).uniform(0, 6, 3)
    return nodes + warp * np.sin(3 * nodes[:, [1, 2, 0]] + bend), which.ravel()[np.concatenate(triangles)]


def signed_distance(shape, x):
    """Of points (n, 3) to a shape in its frame, negative inside; of hulls and meshes only outside."""
    if isinstance(shape, Plane):
        return x @ shape.normal - shape.offset
    if isinstance(shape, Sphere):
        return np.linalg.norm(x, axis=1) - shape.radius
    if isinstance(shape, Capsule):
        z = np.clip(x[:, 2], -shape.length / 2, shape.length / 2)
        return np.hypot(np.hypot(x[:, 0], x[:, 1]), x[:, 2] - z) - shape.radius
    if isinstance(shape, (Box, Cylinder)):
        if isinstance(shape, Box):
            d = np.abs(x) - np.array(shape.size) / 2
        else:
            d = np.stack([np.hypot(x[:, 0], x[:, 1]) - shape.radius, np.abs(x[:, 2]) - shape.length / 2], axis=1)
        return np.linalg.norm(np.maximum(d, 0), axis=1) + np.minimum(d.max(axis=1), 0)
    if isinstance(shape, Ellipsoid):
        square, low, high = (
            np.array(shape.numbers) ** 2,
            np.zeros(len(x)),
            np.linalg.norm(x, axis=1) * max(shape.numbers),
        )
        for _ in range(80):  # the nearest point is square x / (square + t), with t such that it is on the surface
            t = 0.5 * (low + high)
            outside = (square * (x / (square + t[:, None])) ** 2).sum(axis=1) > 1
            low, high = np.where(outside, t, low), np.where(outside, high, t)
        off = np.linalg.norm(x * t[:, None] / (square + t[:, None]), axis=1)
        return np.where((x * x / square).sum(axis=1) > 1, off, -1e-3)  # how deep does not matter here
    if isinstance(shape, Compound):
        turned = ((x - p) @ quaternion_to_matrix(q) for _, p, q in shape.parts)
        return np.min([signed_distance(s, y) for (s, _, _), y in zip(shape.parts, turned)], axis=0)
    assert isinstance(shape, (Convex, Mesh))
    return points_to_triangles(x, shape.vertices[shape.triangles if isinstance(shape, Convex) else shape.faces])


def points_to_triangles(x, corners):
    """(n,) distance of points (n, 3) to the nearest of triangles (m, 3, 3)."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    least = np.full(len(x), np.inf)
    for (a, b, c), n in zip(corners, normal):
        inside, d = np.ones(len(x), bool), np.full(len(x), np.inf)
        for p, q in ((a, b), (b, c), (c, a)):
            u, w = q - p, x - p
            inside &= w @ np.cross(n, u) >= 0
            off = w - np.clip(w @ u / (u @ u), 0, 1)[:, None] * u
            d = np.minimum(d, np.sqrt((off * off).sum(axis=1)))
        least = np.minimum(least, np.where(inside, np.abs((x - a) @ n), d))
    return least


def edges_of(triangles):
    """(E, 2) each once."""
    return np.unique(np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)


def surface_distance(a, triangles_a, b, triangles_b):
    """Between two surfaces that do not cut each other: nodes to faces, edges to edges."""
    least = min(points_to_triangles(a, b[triangles_b]).min(), points_to_triangles(b, a[triangles_a]).min())
    i, j = edges_of(triangles_a), edges_of(triangles_b)
    Q, V = b[j[:, 0]], b[j[:, 1]] - b[j[:, 0]]
    for p, end in zip(a[i[:, 0]], a[i[:, 1]]):
        u, r = end - p, p - Q
        a1, e, f, c, d = u @ u, (V * V).sum(axis=1), (V * r).sum(axis=1), r @ u, V @ u
        det = a1 * e - d * d
        s = np.where(det > 1e-14, np.clip((d * f - c * e) / np.where(det > 1e-14, det, 1), 0, 1), 0)
        t = (d * s + f) / e
        s = np.where(t < 0, np.clip(-c / a1, 0, 1), np.where(t > 1, np.clip((d - c) / a1, 0, 1), s))
        least = min(least, np.linalg.norm(r + s[:, None] * u - np.clip(t, 0, 1)[:, None] * V, axis=1).min())
    return least


def sampled(nodes, triangles, count=8):
    """(m, 3) points all over a surface."""
    grid = np.array([(i, j, count - i - j) for i in range(count + 1) for j in range(count + 1 - i)]) / count
    return np.einsum("gk,fkc->fgc", grid, nodes[triangles]).reshape(-1, 3)
