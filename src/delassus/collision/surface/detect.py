"""Contacts on the surfaces of flexible bodies at one configuration."""

from typing import Any, NamedTuple

import numpy as np

from delassus.collision.arrays import ShapeArrays
from delassus.collision.contacts import Contacts
from delassus.collision.detect import bad_pose_error, too_few_error
from delassus.collision.layout import BOX, CONVEX, CYLINDER, PLANE, SUPPORT_ONLY, TRIANGLE, PosedShapes
from delassus.collision.machine import share_out
from delassus.collision.narrow.gjk import WITNESS
from delassus.collision.narrow.scratch import scratch_rows
from delassus.collision.placement import place
from delassus.collision.surface.arrays import SurfaceArrays
from delassus.collision.surface.between import edges_on_edges, nodes_on_faces, nodes_on_ridges
from delassus.collision.surface.corners import corners_on_edges, mesh_corners_on_edges
from delassus.collision.surface.edges import STRAIGHT, edges_on_shapes
from delassus.collision.surface.faces import corners_on_faces
from delassus.collision.surface.hidden import mark_hidden, nearest_faces
from delassus.collision.surface.neighbours import turn_rows
from delassus.collision.surface.nodes import nodes_on_shapes
from delassus.collision.surface.pairs import BodyFilters, NearShapes, near_each_other, near_shapes
from delassus.collision.surface.posed import PosedSurface, SurfaceTree
from delassus.collision.surface.rows import FEATURE_A, FEATURE_B, HEIGHT, REALS, SIDE_A, WHOLES, make_contacts
from delassus.collision.surface.support_only import on_support_only, with_probes
from delassus.collision.surface.tree import DEEP, widen
from delassus.errors import ProblemError

_RealWhole = tuple[np.ndarray, np.ndarray]  # contacts, as kernels write them (rows.py)


def detect_surface(
    surface: SurfaceArrays,
    nodes: np.ndarray,
    shapes: ShapeArrays,
    q: np.ndarray,
    *,
    reach: float | np.ndarray = 0.0,
    shape_reach: np.ndarray | None = None,
    threads: int = 1,
) -> Contacts:
    """All contacts of the flexible bodies' surfaces with shapes and with each other whose gap is at most the sum of the
    two margins and the two reaches.

    nodes: (n, 3) all nodes [m]; q: (n_b, 7) poses of the rigid bodies; reach: how far a node may move against what it
    meets before the next detection [m], a number or (n,): what is further away than that cannot be passed through;
    shape_reach: (n_s,) how far each shape may move [m]. The result does not depend on the number of threads."""
    nodes = np.ascontiguousarray(nodes, dtype=float)
    if nodes.shape != (surface.node_count, 3):
        raise ProblemError(f"nodes are of shape {nodes.shape}, but the surfaces know {surface.node_count}: give (n, 3)")
    if len(q) < shapes.body_count:
        raise too_few_error(shapes, len(q), len(q))
    grow = np.zeros(surface.node_count)
    grow[surface.nodes] = surface.margin[surface.node_body]
    grow += reach
    boxes, normal = np.empty((2 << surface.levels, 6)), np.empty((len(surface.triangles), 3))
    bad = widen(nodes, surface.triangles, surface.order, surface.levels, grow, boxes, normal)
    if bad >= 0:
        raise ProblemError(f"node {bad} is at {nodes[bad].tolist()}: it must be finite, and not beyond 1e15 m")
    scene = _Scene(
        surface,
        _posed(surface, nodes, grow, normal),
        SurfaceTree(surface.order, surface.levels, boxes, surface.branch_body),
        BodyFilters(surface.group, surface.mask, surface.excluded, surface.self_contact),
        shapes,
        _placed(shapes, np.ascontiguousarray(q)),
        np.zeros(shapes.count) if shape_reach is None else shape_reach,
        threads,
    )
    rows, features = _on_shapes(scene)
    if surface.body_count > 1 or surface.self_contact.any():
        rows += _each_other(scene)
    real, whole = (np.concatenate(column) for column in zip(*rows))
    if len(np.unique(whole[whole[:, SIDE_A] < shapes.count, SIDE_A])) > 1:
        turn_rows(_posed_shapes(scene), (shapes.radius, shapes.body, shapes.owner), nodes, real, whole)
    return make_contacts(surface, shapes, features, real, whole)


class _Scene(NamedTuple):
    """Surfaces and shapes at one configuration."""

    surface: SurfaceArrays
    posed: PosedSurface
    tree: SurfaceTree
    filters: BodyFilters
    shapes: ShapeArrays
    placed: tuple[np.ndarray, np.ndarray, np.ndarray]  # (position, rotation, extent) of the shapes
    reach: np.ndarray  # (n_s,) [m]
    threads: int


def _posed(surface: SurfaceArrays, nodes: np.ndarray, grow: np.ndarray, normal: np.ndarray) -> PosedSurface:
    return PosedSurface(
        nodes,
        grow,
        normal,
        surface.rest,
        surface.nodes,
        surface.edges,
        surface.edge_faces,
        surface.triangles,
        surface.triangle_body,
        surface.material,
        surface.around,
        surface.around_start,
        surface.owned,
    )


def _posed_shapes(scene: _Scene) -> PosedShapes:
    shapes, polyhedra, (position, rotation, _) = scene.shapes, scene.shapes.vertices, scene.placed
    vertex, start = polyhedra.vertex, polyhedra.vertex_start
    return PosedShapes(position, rotation, shapes.size, shapes.kind, vertex, start, shapes.supports)


def _on_shapes(scene: _Scene) -> tuple[list[_RealWhole], int]:
    """Rows of the contacts with shapes, and the most features that a shape may have: itself, corners, edges."""
    shapes, polyhedra, (position, rotation, extent) = scene.shapes, scene.shapes.vertices, scene.placed
    near = NearShapes(shapes.kind, shapes.owner, shapes.group, shapes.mask, position, rotation, extent, scene.reach)
    pairs = _pairs(scene, 0, near_shapes, tuple(near))
    posed = tuple(_posed_shapes(scene))
    radius = shapes.radius - shapes.surface[:, 0]
    own, obstacles = tuple(scene.posed), (posed, tuple(polyhedra), scene.reach, radius)
    corners, of = scratch_rows(polyhedra.face_start), shapes.kind[pairs[:, 0]]
    on_nodes = _rows(scene, nodes_on_shapes, pairs, own, obstacles)
    solids = pairs[of != PLANE]  # planes meet nodes alone
    scratch = np.empty((scene.threads, corners + 1, 3))
    on_faces = _inside(scene, *_rows(scene, corners_on_faces, solids, scratch, own, obstacles))
    keep = nearest_faces(*on_faces, on_faces[1][:, FEATURE_A])
    on_edges = _inside(scene, *_rows(scene, edges_on_shapes, solids, corners + 2, own, obstacles))
    sharp = pairs[(of == BOX) | (of == CYLINDER) | (of == CONVEX)]
    nearest = _rows(scene, corners_on_edges, sharp, corners + 2, own, obstacles)
    of_meshes = _rows(scene, mesh_corners_on_edges, pairs[of == TRIANGLE], corners + 2, own, obstacles)
    rows = [on_nodes, (on_faces[0][keep], on_faces[1][keep]), on_edges, nearest, of_meshes]
    if (of == SUPPORT_ONLY).any():
        probed = (with_probes(shapes, position, rotation, scene.threads), *obstacles[1:])
        simplex = np.empty((scene.threads, WITNESS, 3))
        rows.append(_rows(scene, on_support_only, pairs[of == SUPPORT_ONLY], corners + 2, own, probed, simplex))
    most = max(12, int(np.diff(polyhedra.shape_edge).max(initial=0)))
    return rows, corners + 2 + STRAIGHT + most


def _each_other(scene: _Scene) -> list[_RealWhole]:
    """Rows of the contacts of surfaces with each other and with themselves."""
    surface, own, shapes = scene.surface, tuple(scene.posed), scene.shapes.count
    pairs = _pairs(scene, 2, near_each_other)
    real, whole = _inside(scene, *_rows(scene, nodes_on_faces, pairs, shapes, own))
    faces_first = len(surface.nodes) + len(surface.edges)
    node = np.where(whole[:, FEATURE_A] < faces_first, whole[:, FEATURE_A], whole[:, FEATURE_B])
    keep = nearest_faces(real, whole, node)
    across = _inside(scene, *_rows(scene, edges_on_edges, pairs, shapes, own))
    ridges = _rows(scene, nodes_on_ridges, pairs, shapes, own)
    return [(real[keep], whole[keep]), across, ridges]


def _inside(scene: _Scene, real: np.ndarray, whole: np.ndarray) -> _RealWhole:
    """Rows without those of points behind the surface that are not inside."""
    hidden, stack = np.empty(len(real), np.bool_), np.empty(DEEP, np.int64)
    if not (real[:, HEIGHT] < 0.0).any():
        return real, whole
    mark_hidden(real, tuple(scene.posed), tuple(scene.tree), stack, hidden)
    return real[~hidden], whole[~hidden]


def _placed(shapes: ShapeArrays, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(position, rotation, extent) of the shapes."""
    n = shapes.count
    position, rotation, extent = np.empty((n, 8)), np.tile(np.eye(3), (n, 1, 1)), np.empty((n, 3))
    bad = place(0, 1, shapes.placing, q, position, rotation, extent)
    if bad >= 0:
        raise bad_pose_error(bad, q)
    return position, rotation, extent


def _pairs(scene: _Scene, hint: int, kernel: Any, *arguments: Any) -> np.ndarray:
    """(p, 2) pairs that kernel(t, threads, surface, tree, filters, *arguments, search) finds, with as many rows as it
    takes."""
    threads, hints = scene.threads, scene.surface.hint
    stack, box = np.empty((threads, DEEP), np.int64), np.empty((threads, 6))
    fixed = tuple(scene.posed), tuple(scene.tree), tuple(scene.filters)
    while True:
        pairs, counts = np.empty((threads, hints[hint], 2), np.int64), np.zeros(threads, np.int64)
        share_out(kernel, threads, *fixed, *arguments, (stack, box, pairs, counts))
        if counts.max() <= pairs.shape[1]:
            return np.concatenate([pairs[t, : counts[t]] for t in range(threads)])
        hints[hint] = int(1.2 * counts.max())


def _rows(scene: _Scene, kernel: Any, pairs: np.ndarray, *arguments: Any) -> _RealWhole:
    """The rows that kernel(t, threads, pairs, *arguments, out) writes, with as many as it takes; without pairs, nothing
    has to be compiled."""
    threads, hints = scene.threads, scene.surface.hint
    if not len(pairs):
        return np.empty((0, REALS)), np.empty((0, WHOLES), np.int64)
    while True:
        most = hints[1]
        real, whole = np.empty((threads, most, REALS)), np.empty((threads, most, WHOLES), np.int64)
        counts = np.zeros(threads, np.int64)
        share_out(kernel, threads, pairs, *arguments, (real, whole, counts))
        if counts.max() <= most:
            return (
                np.concatenate([real[t, : counts[t]] for t in range(threads)]),
                np.concatenate([whole[t, : counts[t]] for t in range(threads)]),
            )
        hints[1] = int(1.2 * counts.max())
