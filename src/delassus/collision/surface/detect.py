"""Contacts on the surfaces of flexible bodies at one configuration."""

from typing import Any

import numpy as np

from delassus.collision.arrays import ShapeArrays
from delassus.collision.contacts import Contacts
from delassus.collision.detect import bad_pose_error, too_few_error
from delassus.collision.machine import share_out
from delassus.collision.placement import place
from delassus.collision.surface.arrays import SurfaceArrays
from delassus.collision.surface.nodes import nodes_on_shapes
from delassus.collision.surface.pairs import near_shapes
from delassus.collision.surface.rows import REALS, WHOLES, make_contacts
from delassus.collision.surface.tree import widen
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
    own = (
        nodes, grow, surface.nodes, surface.owned, surface.triangle_body, surface.material, surface.around,
        surface.around_start, normal,
    )  # fmt: skip
    geometry = (placed[0], placed[1], shapes.size, shapes.kind, *shapes.vertices, shapes.given)
    real, whole = _with_room(surface, nodes_on_shapes, threads, (pairs, own, geometry, reaches))
    return make_contacts(surface, shapes, 1, real, whole)


def _placed(shapes: ShapeArrays, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(position, rotation, extent) of the shapes."""
    n = shapes.count
    position, rotation, extent = np.empty((n, 8)), np.zeros((n, 3, 3)), np.empty((n, 3))
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
    while True:
        found, counts = np.empty((threads, surface.hint[0], 2), np.int64), np.zeros(threads, np.int64)
        share_out(near_shapes, threads, own, filters, (boxes,), others, reach, found, counts)
        if counts.max() <= found.shape[1]:
            return np.concatenate([found[t, : counts[t]] for t in range(threads)])
        surface.hint[0] = int(1.2 * counts.max())


def _with_room(
    surface: SurfaceArrays, kernel: Any, threads: int, arguments: tuple[Any, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """The rows that kernel(t, threads, *arguments, real, whole, counts) writes, with as much room as it takes."""
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
