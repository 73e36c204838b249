"""Layout that all collision kernels share: kinds by number, the arrays a kernel reads, the array it writes."""

from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

SPHERE, PLANE, BOX, CAPSULE, CYLINDER, CONVEX, TRIANGLE, SUPPORT_ONLY = range(8)
"""Kinds by number; SUPPORT_ONLY: a solid known by its support function alone (narrow/support_only.py)."""
KIND_COUNT = 8
SHAPES_MAX = 1 << 24
"""A feature id has 24 bits for each of the two shapes and 16 for what touches (vertex, edge, face numbers)."""


class Polyhedra(NamedTuple):
    """Corners, faces and edges of n shapes, of those that are hulls or mesh triangles, in the shapes' frames."""

    vertex: np.ndarray  # (v, 3) corners of hulls and triangles [m]
    vertex_start: np.ndarray  # (n + 1,)
    face: np.ndarray  # corners of hull faces, one face after the other, numbered within their shape
    face_start: np.ndarray  # (faces + 1,) first corner of each face
    shape_face: np.ndarray  # (n + 1,) first face of each shape
    face_normal: np.ndarray  # (faces, 3) outward
    edge_normal: np.ndarray  # (n_t, 3, 4) per mesh triangle and edge, see Mesh.edge_directions
    triangle: np.ndarray  # (n,) number of a mesh triangle among them, or −1
    edge: np.ndarray  # (e, 11) of hulls and triangles: number of its first corner, unit vector u along it, u × p for
    # the unit vectors p across it into the two faces that meet there, length [m]
    shape_edge: np.ndarray  # (n + 1,) first edge of each shape
    corner: np.ndarray  # (c, 3) normals and edges of mesh corners, see Mesh.corner_directions
    corner_start: np.ndarray  # (3 n_t + 1,) first of them of each mesh triangle and corner


class Placing(NamedTuple):
    """Fields of ShapeArrays of which poses of shapes are made."""

    kind: np.ndarray
    body: np.ndarray
    size: np.ndarray
    half: np.ndarray
    surface: np.ndarray
    local_position: np.ndarray
    local_rotation: np.ndarray


class PosedShapes(NamedTuple):
    """Shapes placed in the world, and what their support functions read.  Every shape's origin is the centre of its
    bounding ball."""

    position: np.ndarray  # (n, 8) x, y, z [m], size[:, 0] and the four columns of ShapeArrays.surface: one cache line
    rotation: np.ndarray  # (n, 3, 3) shape → world; a sphere's is never written; a plane's third column is its normal
    size: np.ndarray  # (n, ≥ 3) Shape.numbers [m]; of hulls and triangles half the edges of the box that holds them
    kind: np.ndarray  # (n,)
    vertex: np.ndarray  # of Polyhedra, as the next
    vertex_start: np.ndarray
    supports: np.ndarray  # (n,) address of the support function of what is SUPPORT_ONLY, else 0


class Faces(NamedTuple):
    """Faces of hulls, of Polyhedra."""

    face: np.ndarray
    face_start: np.ndarray
    shape_face: np.ndarray
    face_normal: np.ndarray


class Edges(NamedTuple):
    """Edges of hulls and triangles, of Polyhedra."""

    edge: np.ndarray
    shape_edge: np.ndarray


class MeshTriangles(NamedTuple):
    """Mesh triangles and their neighbours, of Polyhedra."""

    edge_normal: np.ndarray
    triangle: np.ndarray
    corner: np.ndarray
    corner_start: np.ndarray


class Geometry(NamedTuple):
    """All that kernels of pairs read."""

    shapes: PosedShapes
    faces: Faces
    edges: Edges
    mesh: MeshTriangles


class Pair(NamedTuple):
    """Two shapes, the one of the lower kind first, and where their contacts go."""

    a: np.int64
    b: np.int64
    limit: float  # largest gap of a contact [m]
    row: np.int64  # first row of `out`


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def geometry_of(shapes, polyhedra):
    """PosedShapes and Polyhedra in groups."""
    return Geometry(
        shapes,
        Faces(polyhedra.face, polyhedra.face_start, polyhedra.shape_face, polyhedra.face_normal),
        Edges(polyhedra.edge, polyhedra.shape_edge),
        MeshTriangles(polyhedra.edge_normal, polyhedra.triangle, polyhedra.corner, polyhedra.corner_start),
    )


MARGIN, MU, RESTITUTION, BODY = 4, 5, 6, 7  # columns of PosedShapes.position
FAMILY, SLOT, COUNT = 0, 1, 2
"""Columns of `dealt` (p, 3): which kernel a pair goes to, its first row of `out`, number of contacts."""
SPHERES, SPHERE_PLANE = 0, 1
"""The two families (narrow/families.py has the others) that the broad phase decides: each pair is one contact, written
at once, without a kernel and rows of `out`."""


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def deal_pair(p, a, b, family, slot, pairs, dealt):
    """Write pair p of shapes a < b, its family and its first row of `out`; returns the number of contacts
    that are decided so."""
    direct = 1 if family <= SPHERE_PLANE else 0
    pairs[p, 0], pairs[p, 1] = a, b
    dealt[p, FAMILY], dealt[p, SLOT], dealt[p, COUNT] = family, slot, direct
    return direct


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def put(out, k, normal, point, gap, feature):
    """Write a contact into row k of out (m, 8): normal, point [m], gap [m], what touches within the pair."""
    out[k, 0], out[k, 1], out[k, 2] = normal
    out[k, 3], out[k, 4], out[k, 5] = point
    out[k, 6], out[k, 7] = gap, feature


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def to_local(R, s, x, y, z):
    """Rᵀ d: a direction into the frame of shape s."""
    return (
        R[s, 0, 0] * x + R[s, 1, 0] * y + R[s, 2, 0] * z,
        R[s, 0, 1] * x + R[s, 1, 1] * y + R[s, 2, 1] * z,
        R[s, 0, 2] * x + R[s, 1, 2] * y + R[s, 2, 2] * z,
    )


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def to_world(R, s, x, y, z):
    """R d: a direction out of the frame of shape s."""
    return (
        R[s, 0, 0] * x + R[s, 0, 1] * y + R[s, 0, 2] * z,
        R[s, 1, 0] * x + R[s, 1, 1] * y + R[s, 1, 2] * z,
        R[s, 2, 0] * x + R[s, 2, 1] * y + R[s, 2, 2] * z,
    )


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def pair_at(shapes, pairs, dealt, p):
    """Pair p.  All numbers leave here as 64 bits: a kernel compiles once for every type it is called with."""
    kind, position = shapes.kind, shapes.position
    a, b = np.int64(pairs[p, 0]), np.int64(pairs[p, 1])
    if kind[a] > kind[b]:
        a, b = b, a
    return Pair(a, b, position[a, MARGIN] + position[b, MARGIN], np.int64(dealt[p, SLOT]))
