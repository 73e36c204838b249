"""What a mesh triangle must know of its neighbours, computed once."""

import numpy as np

from delassus.shapes import Mesh


def edge_directions(mesh: Mesh) -> np.ndarray:
    """(m, 3, 4) per triangle and edge (from corner e to the next): the unit vector in the plane of the neighbour that
    points out of it across the edge, zero without one; then who reports: 1 if this triangle does for the edge, plus 2
    if it does for corner e. Each edge and corner has one triangle that reports, the lowest numbered."""
    faces, m = mesh.faces, len(mesh.faces)
    start, end = faces, np.roll(faces, -1, axis=1)
    corners = mesh.vertices[faces]
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
