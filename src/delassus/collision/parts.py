"""Instances taken apart into simple shapes: a row for every solid and plane, part of a compound, triangle of a mesh."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from delassus.collision.instances import Instance
from delassus.collision.layout import BOX, CAPSULE, CONVEX, CYLINDER, KIND_COUNT, PLANE, SHAPES_MAX, SPHERE, TRIANGLE
from delassus.collision.polyhedra import Polyhedra
from delassus.errors import ProblemError
from delassus.shapes import Compound, Mesh, Plane, Shape
from delassus.spatial import axis_frame, quaternion_multiply, quaternion_to_matrix

KINDS = {
    "sphere": SPHERE, "plane": PLANE, "box": BOX, "capsule": CAPSULE, "cylinder": CYLINDER, "convex": CONVEX,
}  # fmt: skip


class Parts(NamedTuple):
    """n simple shapes; arrays as in ShapeArrays, but the radius is without margin."""

    instance: np.ndarray
    kind: np.ndarray
    size: np.ndarray
    local_position: np.ndarray
    local_rotation: np.ndarray
    half: np.ndarray
    radius: np.ndarray
    vertices: tuple


def take_apart(given: Sequence[Instance]) -> Parts:
    """The simple shapes of all instances, one after the other.

    There may be very many: so poses are turned into matrices, and sizes are filled in, for all of a kind at once."""
    instance, shapes, position, quaternion = _list(given)
    n = len(shapes)
    if n >= SHAPES_MAX:
        raise ProblemError(f"{n} shapes and triangles are too many, at most {SHAPES_MAX - 1} have feature ids")
    kinds = [TRIANGLE if type(shape) is int else _kind(shape) for shape in shapes]
    rows: dict[int, list[int]] = {k: [] for k in range(KIND_COUNT)}
    for s, k in enumerate(kinds):
        rows[k].append(s)
    parts = Parts(
        np.array(instance, np.int64), np.array(kinds, np.int8), np.zeros((n, 3)),
        np.array(position, dtype=float).reshape(n, 3),
        quaternion_to_matrix(np.array(quaternion, dtype=float).reshape(n, 4)), np.empty((n, 3)), np.empty(n), (),
    )  # fmt: skip
    for k in (SPHERE, BOX, CAPSULE, CYLINDER):
        if of := rows[k]:
            parts.size[of], parts.half[of], parts.radius[of] = _sizes(k, [shapes[s] for s in of])
    for s in rows[PLANE]:
        _put_plane(shapes[s], s, parts)
    polyhedra = Polyhedra(n)
    for s in sorted(rows[CONVEX] + [s for s in rows[TRIANGLE] if shapes[s] == 0]):
        if kinds[s] == CONVEX:
            polyhedra.add_hull(shapes[s], s, parts)
        else:
            polyhedra.add_mesh(given[instance[s]].shape, s, parts)
    return parts._replace(vertices=polyhedra.arrays())


def _list(given: Sequence[Instance]) -> tuple[list, list, list, list]:
    """(instance, shape, position, quaternion) of the simple shapes; in place of a mesh's triangles stand their
    numbers."""
    instance: list[int] = []
    shapes: list[Shape | int] = []
    position: list = []
    quaternion: list = []
    for k, x in enumerate(given):
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
    try:
        return KINDS[shape.kind]
    except KeyError:
        raise ProblemError(f"{shape!r} is no shape that collision knows") from None


def _sizes(kind: int, shapes: list) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(size, half edges of the box, radius of the ball) of shapes of one kind about their origins."""
    if kind == SPHERE:
        r = np.array([shape.radius for shape in shapes], dtype=float)
        cube = np.repeat(r[:, None], 3, axis=1)
        return cube, cube, r
    radius = np.array([shape.bounding_radius for shape in shapes])
    if kind == BOX:
        half = 0.5 * np.array([shape.size for shape in shapes])
        return half, half, radius
    r, h = np.array([(shape.radius, 0.5 * shape.length) for shape in shapes], dtype=float).T
    size = np.stack([r, h, 0 * r], axis=1)
    return size, np.stack([r, r, h + r if kind == CAPSULE else h], axis=1), radius


def _put_plane(shape: Plane, s: int, parts: Parts) -> None:
    normal = parts.local_rotation[s] @ shape.normal
    parts.local_position[s] += shape.offset * normal
    parts.local_rotation[s] = axis_frame(normal)
    parts.half[s] = parts.radius[s] = np.inf
