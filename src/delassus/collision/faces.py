"""The face of a solid that looks in a direction: a polygon, or a segment along a round side."""

import math

import numpy as np

from delassus.collision.layout import BOX, CAPSULE, CYLINDER, TRIANGLE, Geometry

RIM = 8  # corners that stand for the rim of a cylinder's end


def looking_face(g: Geometry, s: int, direction: np.ndarray) -> tuple[np.ndarray, float]:
    """(corners (k, 3) in the world, anticlockwise seen against the direction, cosine between the face and it).

    k = 2 for the sides of capsules and cylinders, whose cosine is 0: a segment is never the face others are cut to."""
    R, d = g.rotation[s], g.rotation[s].T @ direction
    kind, size = g.kind[s], g.size[s]
    if kind == BOX:
        local, cosine = _box(size, d)
    elif kind in (CAPSULE, CYLINDER):
        local, cosine = _round(kind, size, d)
    elif kind == TRIANGLE:
        local = g.vertex[g.vertex_start[s] : g.vertex_start[s + 1]]
        normal = np.cross(local[1] - local[0], local[2] - local[0])
        cosine = float(normal @ d) / float(np.linalg.norm(normal))
    else:
        first, last = g.shape_face[s], g.shape_face[s + 1]
        cosines = g.face_normal[first:last] @ d
        f = first + int(np.argmax(cosines))
        local = g.vertex[g.vertex_start[s] + g.face[g.face_start[f] : g.face_start[f + 1]]]
        cosine = float(cosines.max())
    return np.ascontiguousarray(g.position[s, :3] + local @ R.T), cosine


def _box(half: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, float]:
    i = int(np.argmax(np.abs(d)))
    sign = math.copysign(1.0, d[i])
    corners = np.empty((4, 3))
    corners[:, i] = sign * half[i]
    corners[:, (i + 1) % 3] = half[(i + 1) % 3] * np.array([1, -sign, -1, sign])
    corners[:, (i + 2) % 3] = half[(i + 2) % 3] * np.array([1, sign, -1, -sign])
    return corners, abs(float(d[i]))


def _round(kind: int, size: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, float]:
    """Side of a capsule or cylinder, or end of a cylinder."""
    r, h = size[0], size[1]
    if kind == CAPSULE:
        return r * d + np.array([[0, 0, -h], [0, 0, h]]), 0.0
    if abs(d[2]) > 0.7071:
        sign = math.copysign(1.0, d[2])
        angle = sign * 2 * math.pi / RIM * np.arange(RIM)
        rim = np.stack([r * np.cos(angle), r * np.sin(angle), np.full(RIM, sign * h)], axis=1)
        return rim, abs(float(d[2]))
    across = r * d[:2] / math.hypot(d[0], d[1])
    return np.array([[*across, -h], [*across, h]]), 0.0
