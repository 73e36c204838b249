"""Surfaces of flexible bodies as polygons of a picture."""

import numpy as np

from delassus.fem import Elements

LIGHT = np.array([0.3, -0.5, 0.8]) / np.sqrt(0.98)

Polygon = tuple[float, np.ndarray, tuple[float, ...]]
"""How far away, corners (k, 2) in the picture, colour."""


def triangles_of(elements: Elements) -> tuple[np.ndarray, np.ndarray]:
    """All surfaces: triangles (F, 3) of nodes, anticlockwise seen from outside, and the body (F,) of each."""
    found = [mesh.surface + first for mesh, first in zip(elements.meshes, elements.node_start)]
    return np.concatenate(found), np.repeat(np.arange(len(found)), [len(f) for f in found])


def at_nodes(elements: Elements, values: np.ndarray) -> np.ndarray:
    """(n,) mean of the values (e,) of the elements around each node."""
    total, count = np.zeros(elements.node_count), np.zeros(elements.node_count)
    for mesh, first, start in zip(elements.meshes, elements.node_start, elements.element_start):
        corners = mesh.elements + first
        np.add.at(total, corners, values[start : start + len(corners), None])
        np.add.at(count, corners, 1.0)
    return total / np.maximum(count, 1.0)


def surface_polygons(
    triangles: np.ndarray, nodes: np.ndarray, camera: np.ndarray, colours: np.ndarray
) -> list[Polygon]:
    """What is seen of surfaces.  triangles: (F, 3); nodes: (n, 3); camera: (3, 3) rows right, up and towards the eye;
    colours: (F, 3) in plain light."""
    corners = nodes[triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    seen = np.flatnonzero(normal @ camera[2] > 0.0)
    shade = 0.75 + 0.25 * (normal[seen] @ LIGHT) / np.maximum(np.linalg.norm(normal[seen], axis=1), 1e-300)
    flat = corners[seen] @ camera.T
    paint = np.clip(shade[:, None] * colours[seen, :3], 0.0, 1.0)
    return [
        (float(depth), place, tuple(colour))
        for depth, place, colour in zip(flat[:, :, 2].mean(axis=1), flat[:, :, :2], paint.tolist())
    ]
