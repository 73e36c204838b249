"""Instances as simple shapes: a row for every solid and plane, part of a compound, triangle of a mesh."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from delassus.collision.instances import Instance
from delassus.collision.layout import (
    BOX,
    CAPSULE,
    CONVEX,
    CYLINDER,
    KIND_COUNT,
    PLANE,
    SHAPES_MAX,
    SPHERE,
    SUPPORT_ONLY,
    TRIANGLE,
    Polyhedra,
)
from delassus.errors import ProblemError
from delassus.shapes import SHAPES, Compound, Convex, Mesh, Plane, Shape
from delassus.spatial import axis_frame, quaternion_multiply, quaternion_to_matrix

KINDS = {
    "sphere": SPHERE,
    "plane": PLANE,
    "box": BOX,
    "capsule": CAPSULE,
    "cylinder": CYLINDER,
    "convex": CONVEX,
}
"""Shapes with kernels of their own (narrow/families.py); of any other collision knows the support function alone."""


class SimpleShapes(NamedTuple):
    """n simple shapes; arrays as in ShapeArrays, but the radius is without margin."""

    instance: np.ndarray
    kind: np.ndarray
    size: np.ndarray
    local_position: np.ndarray
    local_rotation: np.ndarray
    half: np.ndarray
    radius: np.ndarray
    vertices: Polyhedra
    support_only_kinds: tuple[str, ...]


def simple_shapes(instances: Sequence[Instance]) -> SimpleShapes:
    """The simple shapes of all instances, one after the other.

    There may be very many: so poses are turned into matrices, and sizes are filled in, for all of a kind at once."""
    instance, shapes, position, quaternion = _list(instances)
    n = len(shapes)
    if n >= SHAPES_MAX:
        raise ProblemError(f"{n} shapes and triangles are too many, at most {SHAPES_MAX - 1} have feature ids")
    kinds = [TRIANGLE if type(shape) is int else _kind(shape) for shape in shapes]
    rows: dict[int, list[int]] = {k: [] for k in range(KIND_COUNT)}
    for s, k in enumerate(kinds):
        rows[k].append(s)
    solids = {k: rows[k] for k in (SPHERE, BOX, CAPSULE, CYLINDER, SUPPORT_ONLY) if rows[k]}
    width = max([3, *(len(shapes[s].numbers) for s in rows[SUPPORT_ONLY])])
    parts = SimpleShapes(
        np.array(instance, np.int64),
        np.array(kinds, np.int8),
        size=np.zeros((n, width)),
        local_position=np.array(position, dtype=float).reshape(n, 3),
        local_rotation=quaternion_to_matrix(np.array(quaternion, dtype=float).reshape(n, 4)),
        half=np.empty((n, 3)),
        radius=np.empty(n),
        vertices=_PolyhedraBuilder(0).arrays(),
        support_only_kinds=tuple([shapes[s].kind for s in rows[SUPPORT_ONLY]]),
    )
    for of in solids.values():
        _put_solids([shapes[s] for s in of], of, parts)
    for s in rows[PLANE]:
        _put_plane(shapes[s], s, parts)
    polyhedra = _PolyhedraBuilder(n)
    for s in sorted(rows[CONVEX] + [s for s in rows[TRIANGLE] if shapes[s] == 0]):
        if kinds[s] == CONVEX:
            polyhedra.add_hull(shapes[s], s, parts)
        else:
            polyhedra.add_mesh(instances[instance[s]].shape, s, parts)
    return parts._replace(vertices=polyhedra.arrays())


def _list(instances: Sequence[Instance]) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """(instance, shape, position, quaternion) of the simple shapes; in place of a mesh's triangles stand their
    numbers."""
    instance: list[int] = []
    shapes: list[Shape | int] = []
    position: list[Any] = []
    quaternion: list[Any] = []
    for k, x in enumerate(instances):
        whole = x.shape
        if isinstance(whole, Compound):
            R = quaternion_to_matrix(x.quaternion)
            for shape, p, q in whole.parts:
                instance.append(k)
                shapes.append(shape)
                position.append(x.position + R @ p)
                quaternion.append(quaternion_multiply(x.quaternion, q))
        elif isinstance(whole, Mesh):
            m = len(whole.faces)
            instance += [k] * m
            shapes += range(m)
            position += [x.position] * m
            quaternion += [x.quaternion] * m
        else:
            instance.append(k)
            shapes.append(whole)
            position.append(x.position)
            quaternion.append(x.quaternion)
    return instance, shapes, position, quaternion


def _kind(shape: Shape) -> int:
    number = KINDS.get(shape.kind, SUPPORT_ONLY)
    if number == SUPPORT_ONLY and SHAPES.get(shape.kind) is not type(shape):
        raise ProblemError(
            f"{shape.kind} is no shape that collision knows: call delassus.register with its class, and do so once"
        )
    return number


def _put_solids(shapes: list[Shape], of: list[int], parts: SimpleShapes) -> None:
    """Sizes of solids of one kind, rows `of`."""
    if len({len(shape.numbers) for shape in shapes}) == 1:
        numbers = np.array([shape.numbers for shape in shapes], dtype=float)
        parts.size[of, : numbers.shape[1]] = numbers
    else:
        for s, shape in zip(of, shapes):
            parts.size[s, : len(shape.numbers)] = shape.numbers
    parts.half[of] = np.abs(np.array([shape.bounds for shape in shapes])).max(axis=1)
    parts.radius[of] = [shape.bounding_radius for shape in shapes]


def _put_plane(shape: Plane, s: int, parts: SimpleShapes) -> None:
    normal = parts.local_rotation[s] @ shape.normal
    parts.local_position[s] += shape.offset * normal
    parts.local_rotation[s] = axis_frame(normal)
    parts.half[s] = parts.radius[s] = np.inf


class _PolyhedraBuilder:
    """Collects corners, edges and faces of hulls and mesh triangles, for n shapes added in order."""

    def __init__(self, n: int):
        self.vertex_count = np.zeros(n, np.int64)
        self.face_count = np.zeros(n, np.int64)
        self.triangle = np.full(n, -1, np.int64)
        self.vertices: list[np.ndarray] = []
        self.faces: list[np.ndarray] = []
        self.normals: list[np.ndarray] = []
        self.edges: list[np.ndarray] = []
        self.lines: list[np.ndarray] = []
        self.line_count = np.zeros(n, np.int64)
        self.corners: list[np.ndarray] = []
        self.corner_counts: list[np.ndarray] = []
        self.triangles = 0
        self.hulls: dict[int, tuple[Any, ...]] = {}  # hulls by identity: many bodies may share one

    def add_hull(self, shape: Convex, s: int, parts: "SimpleShapes") -> None:
        """Shape s: its corners about the middle of its bounds, which becomes its origin."""
        if id(shape) not in self.hulls:
            lo, hi = shape.bounds
            middle = 0.5 * (lo + hi)
            local = shape.vertices - middle
            normal = _normals(local, shape.faces)
            self.hulls[id(shape)] = local, middle, hi - middle, normal, _edges(local, shape.faces, normal)
        local, middle, parts.half[s], normal, lines = self.hulls[id(shape)]
        parts.size[s, :3] = parts.half[s]
        parts.radius[s] = np.linalg.norm(local, axis=1).max()
        parts.local_position[s] += parts.local_rotation[s] @ middle
        self.vertex_count[s], self.face_count[s] = len(local), len(shape.faces)
        self.vertices.append(local)
        self.faces += shape.faces
        self.normals.append(normal)
        self.lines.append(lines)
        self.line_count[s] = len(lines)

    def add_mesh(self, shape: Mesh, s: int, parts: "SimpleShapes") -> None:
        """Shapes s … of a mesh: each triangle about the middle of its bounds."""
        m = len(shape.faces)
        rows = slice(s, s + m)
        corners = shape.vertices[shape.faces]
        middle = 0.5 * (corners.min(axis=1) + corners.max(axis=1))
        local = corners - middle[:, None]
        parts.half[rows] = parts.size[rows, :3] = np.abs(local).max(axis=1)
        parts.radius[rows] = np.linalg.norm(local, axis=2).max(axis=1)
        parts.local_position[rows] += middle @ parts.local_rotation[s].T
        self.vertex_count[rows] = 3
        self.triangle[rows] = self.triangles + np.arange(m)
        self.triangles += m
        self.vertices.append(local.reshape(-1, 3))
        self.edges.append(shape.edge_directions())
        at_corners, counts = shape.corner_directions()
        self.corners.append(at_corners)
        self.corner_counts.append(counts.ravel())
        self.lines.append(_triangle_edges(local))
        self.line_count[rows] = 3

    def arrays(self) -> Polyhedra:
        """Of all of them."""
        return Polyhedra(
            np.concatenate([np.zeros((0, 3)), *self.vertices]),
            _starts(self.vertex_count),
            np.concatenate([np.zeros(0, np.int64), *self.faces]),
            _starts(np.array([len(f) for f in self.faces], np.int64)),
            _starts(self.face_count),
            np.concatenate([np.zeros((0, 3)), *self.normals]),
            np.concatenate([np.zeros((0, 3, 4)), *self.edges]),
            self.triangle,
            np.concatenate([np.zeros((0, 11)), *self.lines]),
            _starts(self.line_count),
            np.concatenate([np.zeros((0, 3)), *self.corners]),
            _starts(np.concatenate([np.zeros(0, np.int64), *self.corner_counts])),
        )


def _starts(counts: np.ndarray) -> np.ndarray:
    start = np.zeros(len(counts) + 1, np.int64)
    counts.cumsum(out=start[1:])
    return start


def _normals(vertices: np.ndarray, faces: list[np.ndarray]) -> np.ndarray:
    """(n, 3) unit normals of flat polygons, by their area vectors."""
    out = np.empty((len(faces), 3))
    sizes = np.array([len(f) for f in faces])
    for size in np.unique(sizes):
        which = np.flatnonzero(sizes == size)
        corners = vertices[np.array([faces[k] for k in which])]
        a = corners - corners[:, :1]
        out[which] = np.cross(a[:, 1:-1], a[:, 2:]).sum(axis=1)
    # one by one: with axis=1 the last bit differs, and hashes of models with it
    return np.array([n / np.linalg.norm(n) for n in out])


def _edges(vertices: np.ndarray, faces: list[np.ndarray], normal: np.ndarray) -> np.ndarray:
    """(e, 11) edges of a hull, see Polyhedra.edge."""
    start, end = np.concatenate(faces), np.concatenate([np.roll(f, -1) for f in faces])
    length = np.linalg.norm(vertices[end] - vertices[start], axis=1, keepdims=True)
    across = np.repeat(normal, [len(f) for f in faces], axis=0)  # u × (n × u) = n
    _, first, which = np.unique(np.sort([start, end], axis=0).T, axis=0, return_index=True, return_inverse=True)
    other = first.copy()
    other[which.ravel()] = np.arange(len(start))  # the last of them, which runs the other way
    second = np.where((other == first)[:, None], across[first], -across[other])
    along = (vertices[end] - vertices[start]) / length
    return np.concatenate([start[first][:, None], along[first], across[first], second, length[first]], axis=1)


def _triangle_edges(corners: np.ndarray) -> np.ndarray:
    """(3 m, 11) edges of triangles (m, 3, 3), see Polyhedra.edge."""
    along = np.roll(corners, -1, axis=1) - corners
    length = np.linalg.norm(along, axis=2, keepdims=True)
    normal = np.cross(along[:, 0], along[:, 1])
    normal = np.repeat((normal / np.linalg.norm(normal, axis=1, keepdims=True))[:, None], 3, axis=1)
    number = np.broadcast_to([[0], [1], [2]], length.shape)
    return np.concatenate([number, along / length, normal, normal, length], axis=2).reshape(-1, 11)
