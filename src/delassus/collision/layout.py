"""Layout that all collision kernels share: kinds by number, the arrays a kernel reads, the arrays it writes."""

from typing import NamedTuple

import numpy as np
from numba import njit

SPHERE, PLANE, BOX, CAPSULE, CYLINDER, CONVEX, TRIANGLE = range(7)
KIND_COUNT = 7
FEATURE_BITS = 16
"""Of a feature id: 24 bits for each of the two shapes, 16 for what touches (vertex, edge, face numbers)."""
SHAPES_MAX = 1 << 24


class Geometry(NamedTuple):
    """Shapes placed in the world, as kernels read them.  Every shape's origin is the centre of its bounding ball."""

    kind: np.ndarray  # (n,)
    size: np.ndarray  # (n, 3) [m] sphere: radius; box: half edges; capsule, cylinder: radius, half length
    position: np.ndarray  # (n, 4) [m], and size[:, 0] once more, so that spheres need only this
    rotation: np.ndarray  # (n, 3, 3) shape → world; a sphere's is never written; a plane's third column is its normal
    vertex: np.ndarray  # (v, 3) corners of hulls and triangles in their shape's frame [m]
    vertex_start: np.ndarray  # (n + 1,)
    face: np.ndarray  # corners of hull faces, one face after the other, numbered within their shape
    face_start: np.ndarray  # (faces + 1,) first corner of each face
    shape_face: np.ndarray  # (n + 1,) first face of each shape
    face_normal: np.ndarray  # (faces, 3) outward, in the shape's frame
    edge_normal: np.ndarray  # (n_t, 3, 4) per mesh triangle and edge, see mesh_edges.py
    triangle: np.ndarray  # (n,) number of a mesh triangle among them, or −1


class Found(NamedTuple):
    """What kernels write, one row per contact."""

    frame: np.ndarray  # (m, 3, 3) rows n, t1, t2; kernels write n
    point: np.ndarray  # (m, 3) [m]
    gap: np.ndarray  # (m,) [m]
    feature: np.ndarray  # (m,) what touches, within the pair


@njit(cache=True)
def put(found, k, nx, ny, nz, px, py, pz, gap, feature):
    """Write contact k: normal, point, gap, feature."""
    found.frame[k, 0, 0], found.frame[k, 0, 1], found.frame[k, 0, 2] = nx, ny, nz
    found.point[k, 0], found.point[k, 1], found.point[k, 2] = px, py, pz
    found.gap[k] = gap
    found.feature[k] = feature


@njit(cache=True)
def to_local(R, s, x, y, z):
    """Rᵀ d: a direction into the frame of shape s."""
    return (
        R[s, 0, 0] * x + R[s, 1, 0] * y + R[s, 2, 0] * z,
        R[s, 0, 1] * x + R[s, 1, 1] * y + R[s, 2, 1] * z,
        R[s, 0, 2] * x + R[s, 1, 2] * y + R[s, 2, 2] * z,
    )


@njit(cache=True)
def to_world(R, s, x, y, z):
    """R d: a direction out of the frame of shape s."""
    return (
        R[s, 0, 0] * x + R[s, 0, 1] * y + R[s, 0, 2] * z,
        R[s, 1, 0] * x + R[s, 1, 1] * y + R[s, 1, 2] * z,
        R[s, 2, 0] * x + R[s, 2, 1] * y + R[s, 2, 2] * z,
    )
