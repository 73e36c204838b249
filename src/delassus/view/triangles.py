"""Every kind of shape as triangles, in its own frame: what both the renderer and the page draw.

A line of TRIANGLES per kind that collision knows by name (collision/layout.py); whatever is given by its support
function alone is drawn by that function, so that a shape of one's own needs nothing here."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from delassus.collision.arrays import ShapeArrays
from delassus.collision.layout import BOX, CAPSULE, CONVEX, CYLINDER, SPHERE, SUPPORT_ONLY, TRIANGLE
from delassus.shapes import SHAPES
from delassus.shapes.polyhedron import direction_triangles

ROUND = 24
"""Corners of a circle."""
_SPHERE_ROUNDS = 2  # 128 triangles, as a unit sphere is cut for spheres
_FEW_SPHERES = 60  # up to as many are drawn with four times the triangles: they may be large in the picture
_MANY_SPHERES = 2000  # from as many on they are drawn with a quarter of the triangles,
_MOST_SPHERES = 5000  # and from as many on as icosahedra, with 20
_SMOOTH = 0.75  # cosine of 41 degrees: surfaces that meet at more have an edge there
_GIVEN_ROUNDS = 4  # 2048 triangles, whose corners lie in the surface: flat ellipsoids keep 96 % of their volume
_BOX = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
_BOX_FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))


class Triangles(NamedTuple):
    """vertices: (v, 3) [m]; faces: (f, 3), anticlockwise seen from outside; smooth: cosine of the angle from which
    on two of them meet in an edge, −1 where none is one."""

    vertices: np.ndarray
    faces: np.ndarray
    smooth: float = _SMOOTH

    def scaled(self, factor: np.ndarray) -> "Triangles":
        """Stretched along its axes by (3,)."""
        return self._replace(vertices=self.vertices * factor)


class Shaded(NamedTuple):
    """Triangles with corners of their own wherever the surface has an edge.  vertices, normals: (v, 3); faces:
    (f, 3)."""

    vertices: np.ndarray
    normals: np.ndarray
    faces: np.ndarray


def shaded(triangles: Triangles) -> Shaded:
    """With unit normals that change smoothly, except over edges: each corner of a triangle has the mean of the normals
    of those triangles around it that meet its own without an edge, weighted by their areas."""
    from scipy.sparse import csr_array

    vertices, faces, smooth = triangles
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    area = np.cross(b - a, c - a)
    unit = area / np.maximum(np.linalg.norm(area, axis=1, keepdims=True), 1e-300)
    corner = faces.ravel()
    at = csr_array((np.ones(len(corner)), (np.arange(len(corner)), corner)), shape=(len(corner), len(vertices)))
    pairs = (at @ at.T).tocoo()
    one, two = pairs.row // 3, pairs.col // 3
    near = np.einsum("ij,ij->i", unit[one], unit[two]) > smooth
    normals = np.zeros((len(corner), 3))
    np.add.at(normals, pairs.row[near], area[two[near]])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    key = np.column_stack([corner, np.round(normals, 6)])
    _, first, which = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return Shaded(vertices[corner[first]], normals[first], which.reshape(-1, 3))


def fan(polygons: "list[np.ndarray] | tuple[tuple[int, ...], ...]") -> np.ndarray:
    """(f, 3) triangles of convex polygons, each given by its corners in order."""
    return np.array([(p[0], p[i], p[i + 1]) for p in polygons for i in range(1, len(p) - 1)], np.int64).reshape(-1, 3)


def lathe(radius: np.ndarray, z: np.ndarray) -> Triangles:
    """The surface of revolution about z of a line from a point of the axis to another, (k,) each [m]."""
    turn = np.linspace(0.0, 2.0 * math.pi, ROUND, endpoint=False)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    rings = [np.column_stack([r * ring, np.full(ROUND, height)]) for r, height in zip(radius[1:-1], z[1:-1])]
    vertices = np.concatenate([*rings, [(0.0, 0.0, z[0])], [(0.0, 0.0, z[-1])]])
    here = np.arange(ROUND)
    next_ = np.roll(here, -1)
    low, high, faces = len(rings) * ROUND, len(rings) * ROUND + 1, []
    for k in range(len(rings) - 1):
        a, b = k * ROUND, (k + 1) * ROUND
        faces += [np.stack([a + here, a + next_, b + next_], 1), np.stack([a + here, b + next_, b + here], 1)]
    last = (len(rings) - 1) * ROUND
    faces.append(np.stack([np.full(ROUND, low), next_, here], 1))
    faces.append(np.stack([np.full(ROUND, high), last + here, last + next_], 1))
    return Triangles(vertices, np.concatenate(faces))


def unit_sphere(count: int = 1) -> Triangles:
    """Of radius 1; its corners lie a little outside, so that what it encloses is as large as a ball.  count: how many
    are drawn."""
    vertices, faces = direction_triangles(_SPHERE_ROUNDS + (count <= _FEW_SPHERES) - (count > _MANY_SPHERES))
    if count > _MOST_SPHERES:
        vertices, faces = _icosahedron()
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    return Triangles(vertices * (4.0 / 3.0 * math.pi / volume) ** (1.0 / 3.0), faces, -1.0)


def _icosahedron() -> tuple[np.ndarray, np.ndarray]:
    """Corners (12, 3) and faces (20, 3)."""
    from scipy.spatial import ConvexHull

    golden = 0.5 * (1.0 + math.sqrt(5.0))
    flat = np.array([(0.0, a, b * golden) for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
    corners = np.concatenate([np.roll(flat, k, axis=1) for k in range(3)])
    faces = ConvexHull(corners).simplices
    a, b, c = np.moveaxis(corners[faces], 1, 0)
    is_inward = np.einsum("ij,ij->i", a, np.cross(b, c)) < 0.0
    return corners, np.where(is_inward[:, None], faces[:, ::-1], faces)


def unit_box(count: int = 1) -> Triangles:
    """With half edges of 1."""
    return Triangles(_BOX, fan(_BOX_FACES))


def unit_cylinder(count: int = 1) -> Triangles:
    """Of radius 1 and half length 1."""
    return lathe(np.array([0.0, 1.0, 1.0, 0.0]), np.array([-1.0, -1.0, 1.0, 1.0]))


def capsule(shapes: ShapeArrays, s: int) -> Triangles:
    """Two half spheres and what is between them."""
    radius, half = shapes.size[s, :2]
    angle = np.linspace(0.0, 0.5 * math.pi, ROUND // 4 + 1)
    r = radius * np.concatenate([np.sin(angle), np.sin(angle)[::-1]])
    z = np.concatenate([-half - radius * np.cos(angle), half + radius * np.cos(angle)[::-1]])
    return lathe(r, z)


def hull(shapes: ShapeArrays, s: int) -> Triangles:
    """Corners and faces as collision has them."""
    vertex, start, face, face_start, shape_face, *_ = shapes.vertices
    own = range(int(shape_face[s]), int(shape_face[s + 1]))
    polygons = [face[face_start[f] : face_start[f + 1]] for f in own]
    return Triangles(vertex[start[s] : start[s + 1]], fan(polygons))


def given(shapes: ShapeArrays, s: int) -> Triangles:
    """A solid by its support function; the box that holds it where its class is not registered here."""
    number = int((shapes.kind[:s] == SUPPORT_ONLY).sum())
    kind = SHAPES.get(shapes.support_only_kinds[number])
    if kind is None or kind.support is None:
        return unit_box().scaled(shapes.half[s])
    along, faces = direction_triangles(_GIVEN_ROUNDS)
    return Triangles(np.array([kind.support(shapes.size[s], *d) for d in along.tolist()]), faces)


def mesh(shapes: ShapeArrays, rows: np.ndarray) -> Triangles:
    """The triangles of a mesh, one row each, in the frame of their body (of the world)."""
    vertex, start = shapes.vertices[:2]
    local = np.stack([vertex[start[s] : start[s + 1]] for s in rows])
    placed = np.einsum("fij,fkj->fki", shapes.local_rotation[rows], local) + shapes.local_position[rows][:, None]
    return Triangles(placed.reshape(-1, 3), np.arange(3 * len(rows)).reshape(-1, 3))


UNIT: dict[int, tuple[Callable[[int], Triangles], Callable[[np.ndarray], np.ndarray]]] = {
    SPHERE: (unit_sphere, lambda size: size[:, [0, 0, 0]]),
    BOX: (unit_box, lambda size: size[:, :3]),
    CYLINDER: (unit_cylinder, lambda size: size[:, [0, 0, 1]]),
}
"""Kinds that are one solid, stretched: the solid, as it is drawn if there are so many, and (k, 3) by how much, of
sizes (k, ≥ 3)."""
EACH: dict[int, Callable[[ShapeArrays, int], Triangles]] = {CAPSULE: capsule, CONVEX: hull, SUPPORT_ONLY: given}
"""Kinds whose shapes are drawn one by one; equal ones share their triangles."""
TOGETHER: dict[int, Callable[[ShapeArrays, np.ndarray], Triangles]] = {TRIANGLE: mesh}
"""Kinds of which many rows are one surface."""
