"""Contacts on the surfaces of flexible bodies at one configuration."""

from typing import Any

import numpy as np

from delassus.collision.arrays import ShapeArrays
from delassus.collision.contacts import Contacts
from delassus.collision.detect import bad_pose_error, too_few_error
from delassus.collision.layout import BOX, CONVEX, CYLINDER, PLANE, SUPPORT_ONLY, TRIANGLE
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
from delassus.collision.surface.nodes import nodes_on_shapes
from delassus.collision.surface.pairs import near_each_other, near_shapes
from delassus.collision.surface.rows import FEATURE_A, FEATURE_B, HEIGHT, REALS, WHOLES, make_contacts
from delassus.collision.surface.support_only import on_support_only, with_probes
from delassus.collision.surface.tree import DEEP, widen
from delassus.errors import ProblemError


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
    shape_reach: (n_s,) the same of each shape. The result does not depend on the number of threads."""
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
    reaches = np.zeros(shapes.count) if shape_reach is None else shape_reach
    placed = _placed(shapes, np.ascontiguousarray(q))
    pairs = _near(surface, nodes, grow, boxes, shapes, placed, reaches, threads)
    found, features = _on_shapes(surface, nodes, grow, boxes, normal, shapes, placed, pairs, reaches, threads)
    if surface.body_count > 1 or surface.self_contact.any():
        found += _each_other(surface, nodes, grow, boxes, normal, shapes.count, threads)
    return make_contacts(surface, shapes, features, *(np.concatenate(column) for column in zip(*found)))


def _on_shapes(
    surface: SurfaceArrays,
    nodes: np.ndarray,
    grow: np.ndarray,
    boxes: np.ndarray,
    normal: np.ndarray,
    shapes: ShapeArrays,
    placed: tuple[np.ndarray, np.ndarray, np.ndarray],
    pairs: np.ndarray,
    reach: np.ndarray,
    threads: int,
) -> tuple[list[tuple[np.ndarray, np.ndarray]], int]:
    """Rows of the contacts with shapes, and how many features a shape has at most: itself, corners, edges."""
    polyhedra = shapes.vertices
    posed = (placed[0], placed[1], shapes.size, shapes.kind, polyhedra.vertex, polyhedra.vertex_start, shapes.supports)
    geometry = (posed, tuple(polyhedra))
    mesh = (surface.triangles, surface.triangle_body, surface.material, normal)
    nodes_first, faces_first = len(surface.nodes), len(surface.nodes) + len(surface.edges)
    corners = scratch_rows(shapes.vertices.face_start)
    own: tuple[Any, ...] = (
        nodes, grow, surface.nodes, surface.owned, surface.triangles, surface.triangle_body, surface.material,
        surface.around, surface.around_start, normal,
    )  # fmt: skip
    on_nodes = _with_room(surface, nodes_on_shapes, threads, (pairs, own, geometry, reach))
    of = shapes.kind[pairs[:, 0]]
    solids = pairs[of != PLANE]  # planes meet nodes alone
    over = ((nodes, grow, *mesh, faces_first), (geometry, shapes.radius - shapes.surface[:, 0]))
    arguments: tuple[Any, ...] = (solids, np.empty((threads, corners + 1, 3)), *over, reach)
    on_faces = _inside(surface, nodes, boxes, *_with_room(surface, corners_on_faces, threads, arguments))
    keep = nearest_faces(*on_faces, on_faces[1][:, FEATURE_A])
    edges = (nodes, grow, surface.edges, surface.edge_faces, *mesh, surface.owned, nodes_first)
    arguments = (solids, corners + 2, edges, geometry, reach)
    on_edges = _inside(surface, nodes, boxes, *_with_room(surface, edges_on_shapes, threads, arguments))
    sharp = pairs[(of == BOX) | (of == CYLINDER) | (of == CONVEX)]
    nearest = _with_room(surface, corners_on_edges, threads, (sharp, *arguments[1:]))
    most = max(12, int(np.diff(polyhedra.shape_edge).max(initial=0)))
    of_meshes = _with_room(surface, mesh_corners_on_edges, threads, (pairs[of == TRIANGLE], *arguments[1:]))
    found = [on_nodes, (on_faces[0][keep], on_faces[1][keep]), on_edges, nearest, of_meshes]
    if (of == SUPPORT_ONLY).any():
        own = (
            nodes, grow, surface.nodes, surface.owned, surface.edges, surface.edge_faces, surface.triangles,
            surface.triangle_body, surface.around, surface.around_start, normal,
        )  # fmt: skip
        probed, scratch = with_probes(shapes, placed[0], placed[1], threads), np.empty((threads, WITNESS, 3))
        arguments = (pairs[of == SUPPORT_ONLY], corners + 2, own, probed, reach, scratch)
        found.append(_with_room(surface, on_support_only, threads, arguments))
    return found, corners + 2 + STRAIGHT + most


def _each_other(
    surface: SurfaceArrays,
    nodes: np.ndarray,
    grow: np.ndarray,
    boxes: np.ndarray,
    normal: np.ndarray,
    shapes: int,
    threads: int,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows of the contacts of surfaces with each other and with themselves."""
    triangles, body, owned, material = surface.triangles, surface.triangle_body, surface.owned, surface.material
    own = (nodes, triangles, body, surface.order, surface.levels, grow, normal)
    filters = (surface.group, surface.mask, surface.self_contact)
    pairs = _pairs(surface, 2, near_each_other, threads, (own, filters, boxes, surface.branch_body))
    faces_first = len(surface.nodes) + len(surface.edges)
    mesh: tuple[Any, ...] = (
        nodes, surface.rest, grow, surface.nodes, owned, triangles, body, material, surface.around,
        surface.around_start, normal, faces_first,
    )  # fmt: skip
    real, whole = _inside(surface, nodes, boxes, *_with_room(surface, nodes_on_faces, threads, (pairs, shapes, mesh)))
    node = np.where(whole[:, FEATURE_A] < faces_first, whole[:, FEATURE_A], whole[:, FEATURE_B])
    keep = nearest_faces(real, whole, node)
    mesh = (
        nodes, surface.rest, grow, surface.edges, surface.edge_faces, owned, triangles, body, material, normal,
        len(surface.nodes),
    )  # fmt: skip
    across = _with_room(surface, edges_on_edges, threads, (pairs, shapes, mesh))
    mesh = (
        nodes, grow, surface.nodes, surface.edges, surface.edge_faces, owned, triangles, body, surface.around,
        surface.around_start, normal,
    )  # fmt: skip
    ridges = _with_room(surface, nodes_on_ridges, threads, (pairs, shapes, mesh))
    return [(real[keep], whole[keep]), _inside(surface, nodes, boxes, *across), ridges]


def _inside(
    surface: SurfaceArrays, nodes: np.ndarray, boxes: np.ndarray, real: np.ndarray, whole: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows without those of points behind the surface that are not inside."""
    hidden, stack = np.empty(len(real), np.bool_), np.empty(DEEP, np.int64)
    if not (real[:, HEIGHT] < 0.0).any():
        return real, whole
    mark_hidden(real, nodes, surface.triangles, boxes, surface.order, surface.levels, stack, hidden)
    return real[~hidden], whole[~hidden]


def _placed(shapes: ShapeArrays, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(position, rotation, extent) of the shapes."""
    n = shapes.count
    position, rotation, extent = np.empty((n, 8)), np.tile(np.eye(3), (n, 1, 1)), np.empty((n, 3))
    bad = place(0, 1, shapes.placing, q, position, rotation, extent)
    if bad >= 0:
        raise bad_pose_error(bad, q)
    return position, rotation, extent


def _near(
    surface: SurfaceArrays,
    nodes: np.ndarray,
    grow: np.ndarray,
    boxes: np.ndarray,
    shapes: ShapeArrays,
    placed: tuple[np.ndarray, np.ndarray, np.ndarray],
    reach: np.ndarray,
    threads: int,
) -> np.ndarray:
    """(p, 2) pairs of a shape and a triangle that are near each other."""
    own = (nodes, surface.triangles, surface.triangle_body, surface.order, surface.levels, grow)
    filters = (surface.group, surface.mask, surface.excluded)
    others = (shapes.kind, shapes.owner, shapes.group, shapes.mask, *placed)
    return _pairs(surface, 0, near_shapes, threads, (own, filters, boxes, others, reach))


def _pairs(surface: SurfaceArrays, hint: int, kernel: Any, threads: int, arguments: tuple[Any, ...]) -> np.ndarray:
    """(p, 2) what kernel(t, threads, *arguments, scratch, found, counts) finds, with as much room as it takes."""
    scratch = (np.empty((threads, DEEP), np.int64), np.empty((threads, 6)))
    while True:
        found, counts = np.empty((threads, surface.hint[hint], 2), np.int64), np.zeros(threads, np.int64)
        share_out(kernel, threads, *arguments, scratch, found, counts)
        if counts.max() <= found.shape[1]:
            return np.concatenate([found[t, : counts[t]] for t in range(threads)])
        surface.hint[hint] = int(1.2 * counts.max())


def _with_room(
    surface: SurfaceArrays, kernel: Any, threads: int, arguments: tuple[Any, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """The rows that kernel(t, threads, *arguments, real, whole, counts) writes, with as much room as it takes.  The
    first argument: the pairs; without any, nothing has to be compiled."""
    if not len(arguments[0]):
        return np.empty((0, REALS)), np.empty((0, WHOLES), np.int64)
    while True:
        room = surface.hint[1]
        real, whole = np.empty((threads, room, REALS)), np.empty((threads, room, WHOLES), np.int64)
        counts = np.zeros(threads, np.int64)
        share_out(kernel, threads, *arguments, real, whole, counts)
        if counts.max() <= room:
            some = range(threads)
            return (
                np.concatenate([real[t, : counts[t]] for t in some]),
                np.concatenate([whole[t, : counts[t]] for t in some]),
            )
        surface.hint[1] = int(1.2 * counts.max())
