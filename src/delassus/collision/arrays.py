"""Everything about the shapes that does not change from step to step, as flat arrays for the kernels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from delassus.collision.instances import ALL, FIXTURES, Instance
from delassus.collision.layout import (
    BOX,
    CAPSULE,
    CONVEX,
    CYLINDER,
    PLANE,
    SHAPES_MAX,
    SPHERE,
    TRIANGLE,
)
from delassus.collision.levels import size_classes
from delassus.collision.mesh_edges import edge_directions
from delassus.collision.pool import Pool
from delassus.errors import ProblemError, SettingsError, nearest
from delassus.shapes import Box, Capsule, Compound, Convex, Cylinder, Mesh, Plane, Sphere
from delassus.spatial import axis_frame, quaternion_multiply, quaternion_to_matrix

MIXING = {"geometric": 0, "min": 1, "max": 2, "average": 3, "product": 4}
"""Friction of a pair from that of its shapes; geometric is √(μ_a μ_b). Restitution is always the larger of the two."""


@dataclass(frozen=True, eq=False, repr=False)
class ShapeArrays:
    """Shapes with compounds and meshes taken apart, one row each; n rows, made by `shape_arrays`."""

    instance: np.ndarray  # (n,) which of the instances given
    kind: np.ndarray  # (n,) see layout.py
    body: np.ndarray  # (n,) −1 for the world
    owner: np.ndarray  # (n,) the body, or 2³¹ + fixture for the world: what exclusions are about
    size: np.ndarray  # (n, 3) [m]
    local_position: np.ndarray  # (n, 3) of the centre of the bounding ball, in the body's frame [m]
    local_rotation: np.ndarray  # (n, 3, 3) shape → body
    half: np.ndarray  # (n, 3) half edges of the box that holds the shape, in its frame [m]; planes: infinite
    radius: np.ndarray  # (n,) of the bounding ball, margin included [m]; planes: infinite
    margin: np.ndarray  # (n,) [m]
    mu: np.ndarray  # (n,)
    restitution: np.ndarray  # (n,)
    group: np.ndarray  # (n,) bits
    mask: np.ndarray  # (n,) bits
    mixing: int
    vertices: tuple  # the fields of Geometry from `vertex` on
    excluded: np.ndarray  # sorted keys of pairs of owners that never touch
    body_count: int  # bodies the arrays know of: one more than the largest index
    common: np.ndarray  # shapes tested against everything
    is_common: np.ndarray  # (n,)
    gridded: np.ndarray  # the others, by level, finest last
    level_start: np.ndarray  # (levels + 1,) first of each level in gridded
    level_radius: np.ndarray  # (levels,) largest bounding radius [m]
    hint: list[
        int
    ]  # room for pairs, from the last detection: never changes a result, only how often memory is asked for
    plain: bool  # only spheres and planes, all of which may touch
    pool: Pool
    peer_shapes: dict  # `coal`'s objects, made when first needed

    @cached_property
    def surface(self) -> np.ndarray:
        """(n, 4) margin, mu, restitution and body of each shape, side by side: one cache line instead of four."""
        return np.stack([self.margin, self.mu, self.restitution, self.body], axis=1)

    @cached_property
    def placing(self) -> tuple:
        """What `place` reads."""
        return (
            self.kind,
            self.body,
            self.size,
            self.half,
            self.margin,
            self.local_position,
            self.local_rotation,
        )

    @property
    def count(self) -> int:
        return len(self.kind)

    def __repr__(self) -> str:
        levels, given = len(self.level_radius), len(np.unique(self.instance))
        return (
            f"ShapeArrays({self.count} shapes of {given} instances on {self.body_count} bodies, "
            f"{len(self.common)} tested against all, {len(self.gridded)} in {levels} grid level{'s' * (levels != 1)})"
        )


def shape_arrays(
    instances: Iterable[Instance | Sequence],
    *,
    exclude: Iterable[tuple[int, int]] = (),
    exclude_fixed: Iterable[tuple[int, int]] = (),
    mixing: str = "geometric",
) -> ShapeArrays:
    """Build the arrays `detect` works on, once.

    instances: `Instance`s, or their fields in a row; exclude: pairs of body indices that never touch; exclude_fixed:
    pairs (body index, fixture) that never touch; mixing: how the friction coefficients of two shapes combine, one of
    `MIXING`."""
    if mixing not in MIXING:
        raise SettingsError(f"mixing is {mixing!r}: {nearest(mixing, list(MIXING))}")
    given = [x if isinstance(x, Instance) else Instance(*x) for x in instances]
    rows = [(k, *row) for k, x in enumerate(given) for row in _take_apart(x)]
    if len(rows) >= SHAPES_MAX:
        raise ProblemError(f"{len(rows)} shapes and triangles are too many, at most {SHAPES_MAX - 1} have feature ids")
    n = len(rows)
    of = np.array([row[0] for row in rows], dtype=np.int64)
    kind = np.array([row[1] for row in rows], dtype=np.int64)
    body = np.array([x.body for x in given], dtype=np.int64)[of]
    margin = np.array([x.margin for x in given], dtype=float)[of]
    radius = np.array([row[6] for row in rows], dtype=float) + margin
    body_count = int(body.max(initial=-1)) + 1
    group = np.array([x.group for x in given], dtype=np.uint32)[of]
    mask = np.array([x.mask for x in given], dtype=np.uint32)[of]
    fixture = np.array([x.fixture for x in given], dtype=np.int64)[of]
    owner = np.where(body >= 0, body, FIXTURES + fixture)
    excluded = _pair_keys(exclude, exclude_fixed)
    everybody_sees_everybody = bool((mask == ALL).all() and (group != 0).all() and not len(excluded))
    common, gridded, level_start, level_radius = size_classes(kind, radius)
    return ShapeArrays(
        instance=of,
        kind=kind,
        body=body,
        owner=owner,
        size=np.array([row[2] for row in rows], dtype=float).reshape(n, 3),
        local_position=np.array([row[3] for row in rows], dtype=float).reshape(n, 3),
        local_rotation=np.array([row[4] for row in rows], dtype=float).reshape(n, 3, 3),
        half=np.array([row[5] for row in rows], dtype=float).reshape(n, 3),
        radius=radius,
        margin=margin,
        mu=np.array([x.mu for x in given], dtype=float)[of],
        restitution=np.array([x.restitution for x in given], dtype=float)[of],
        group=group,
        mask=mask,
        mixing=MIXING[mixing],
        vertices=_vertices(rows),
        excluded=excluded,
        body_count=body_count,
        common=common,
        is_common=np.isin(np.arange(n), common),
        gridded=gridded,
        level_start=level_start,
        level_radius=level_radius,
        hint=[8 * n + 64],
        plain=everybody_sees_everybody and bool(np.isin(kind, (SPHERE, PLANE)).all()),
        pool=Pool(),
        peer_shapes={},
    )


def _take_apart(x: Instance):
    """Rows (kind, size, position, rotation, half, radius, hull or triangle) of one instance, in the body's frame."""
    R = quaternion_to_matrix(x.quaternion)
    if isinstance(x.shape, Compound):
        for shape, position, quaternion in x.shape.parts:
            yield _row(
                shape, x.position + R @ position, quaternion_to_matrix(quaternion_multiply(x.quaternion, quaternion))
            )
    elif isinstance(x.shape, Mesh):
        edges = edge_directions(x.shape)
        for k, corners in enumerate(x.shape.vertices[x.shape.faces]):
            middle = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
            local = corners - middle
            radius = np.linalg.norm(local, axis=1).max()
            half = np.abs(local).max(axis=0)
            yield TRIANGLE, np.zeros(3), x.position + R @ middle, R, half, radius, (local, edges[k])
    else:
        yield _row(x.shape, x.position, R)


def _row(shape, position, R):
    """The row of one simple shape at a pose in the body's frame."""
    lo, hi = shape.bounds
    if isinstance(shape, Sphere):
        return SPHERE, [shape.radius] * 3, position, R, hi, shape.radius, None
    if isinstance(shape, Box):
        return BOX, hi, position, R, hi, shape.bounding_radius, None
    if isinstance(shape, Capsule):
        return CAPSULE, [shape.radius, 0.5 * shape.length, 0], position, R, hi, shape.bounding_radius, None
    if isinstance(shape, Cylinder):
        return CYLINDER, [shape.radius, 0.5 * shape.length, 0], position, R, hi, shape.bounding_radius, None
    if isinstance(shape, Plane):
        normal = R @ shape.normal
        return PLANE, np.zeros(3), position + shape.offset * normal, axis_frame(normal), hi, np.inf, None
    if isinstance(shape, Convex):
        middle = 0.5 * (lo + hi)
        local = shape.vertices - middle
        radius = np.linalg.norm(local, axis=1).max()
        return CONVEX, np.zeros(3), position + R @ middle, R, hi - middle, radius, (local, shape.faces)
    raise ProblemError(f"{shape!r} is no shape that collision knows")


def _vertices(rows) -> tuple:
    """The fields of Geometry from `vertex` on: corners and faces of hulls, corners and edge normals of triangles."""
    vertex: list = []
    face: list = []
    normal: list = []
    edges: list = []
    vertex_start, face_start, shape_face = [0], [0], [0]
    triangle = np.full(len(rows), -1, dtype=np.int64)
    for k, row in enumerate(rows):
        extra = row[7]
        if extra is not None:
            local = extra[0]
            vertex.extend(local)
            if row[1] == CONVEX:
                for corners in extra[1]:
                    face.extend(corners)
                    face_start.append(len(face))
                    normal.append(_normal(local[corners]))
            else:
                triangle[k] = len(edges)
                edges.append(extra[1])
        vertex_start.append(len(vertex))
        shape_face.append(len(normal))
    return (
        np.array(vertex, dtype=float).reshape(-1, 3),
        np.array(vertex_start, dtype=np.int64),
        np.array(face, dtype=np.int64),
        np.array(face_start, dtype=np.int64),
        np.array(shape_face, dtype=np.int64),
        np.array(normal, dtype=float).reshape(-1, 3),
        np.array(edges, dtype=float).reshape(-1, 3, 4),
        triangle,
    )


def _normal(polygon: np.ndarray) -> np.ndarray:
    """Unit normal of a flat polygon, by its area vector."""
    a = polygon - polygon[0]
    n = np.cross(a[1:-1], a[2:]).sum(axis=0)
    return n / np.linalg.norm(n)


def _pair_keys(exclude, exclude_fixed) -> np.ndarray:
    """Sorted keys lower · 2³² + higher of owners."""
    bodies, fixtures = (np.array(list(x), dtype=np.int64).reshape(-1, 2) for x in (exclude, exclude_fixed))
    for name, pairs in (("exclude", bodies), ("exclude_fixed", fixtures)):
        if len(pairs) and (pairs < 0).any():
            wrong = pairs[(pairs < 0).any(axis=1)][0].tolist()
            raise ProblemError(f"{name} holds {wrong}: give pairs of body indices ≥ 0")
    pairs = np.concatenate([bodies, fixtures + (0, FIXTURES)])
    return np.unique((pairs.min(axis=1, initial=2**31) << 32) + pairs.max(axis=1, initial=0))
