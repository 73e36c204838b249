"""Everything about the surfaces of flexible bodies that does not change from step to step."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from delassus.collision.instances import FIXTURES
from delassus.collision.surface.skin import Skin
from delassus.collision.surface.tree import branch_bodies, grow_tree
from delassus.errors import ProblemError


@dataclass(frozen=True, eq=False, repr=False)
class SurfaceArrays:
    """The surfaces of all flexible bodies: S surface nodes, E edges, F triangles; made by `surface_arrays`.

    A node and an edge belong to several triangles; each is looked at together with one of them alone (`owned`), so that
    nothing is found twice (Curtis, Tamstorf, Manocha 2008)."""

    node_count: int  # of all nodes, those inside the bodies included
    rest: np.ndarray  # (n, 3) where the nodes are at rest [m]
    triangles: np.ndarray  # (F, 3) nodes, anticlockwise seen from outside
    triangle_body: np.ndarray  # (F,) flexible body
    nodes: np.ndarray  # (S,) nodes of the surface, by body and ascending
    node_body: np.ndarray  # (S,)
    edges: np.ndarray  # (E, 2) nodes
    edge_body: np.ndarray  # (E,)
    edge_faces: np.ndarray  # (E, 2) triangles on both sides; the second is −1 at the rim of an open surface
    around: np.ndarray  # triangles around each surface node, one node after the other
    around_start: np.ndarray  # (S + 1,)
    owned: np.ndarray  # (F, 6) the surface nodes and the edges looked at with a triangle, −1: none
    order: np.ndarray  # (F,) of the triangles in the leaves of the tree (tree.py)
    levels: int
    branch_body: np.ndarray  # (2^(levels + 1),) the body of all triangles of a branch, −1: several
    material: np.ndarray  # (bodies, 4) margin [m], mu, restitution, mean length of an edge [m]: no deeper is inside
    group: np.ndarray  # (bodies,) bits
    mask: np.ndarray  # (bodies,) bits
    self_contact: np.ndarray  # (bodies,)
    excluded: np.ndarray  # sorted keys of pairs (flexible body, owner of shapes) that never touch
    names: tuple[str, ...]
    hint: list[int]  # room for pairs with shapes, contacts, pairs of triangles, as it was needed; changes no result

    @property
    def body_count(self) -> int:
        return len(self.material)

    @property
    def feature_count(self) -> int:
        """Nodes, edges and triangles, which are numbered in this order."""
        return len(self.nodes) + len(self.edges) + len(self.triangles)

    @property
    def margin(self) -> np.ndarray:
        """(bodies,) [m]"""
        return self.material[:, 0]

    def __repr__(self) -> str:
        bodies = f"{self.body_count} flexible bod{'y' if self.body_count == 1 else 'ies'}"
        return f"SurfaceArrays({len(self.triangles)} triangles, {len(self.nodes)} nodes on the surface of {bodies})"


def surface_arrays(
    rest: np.ndarray,
    skins: Sequence[Skin],
    *,
    exclude: Iterable[tuple[int, int]] = (),
    exclude_fixed: Iterable[tuple[int, int]] = (),
) -> SurfaceArrays:
    """Build the arrays `detect_surface` works on, once.

    rest: (n, 3) all nodes at rest [m]; skins: one per flexible body, at least one; exclude: pairs (flexible body, rigid
    body) that never touch; exclude_fixed: pairs (flexible body, fixture)."""
    rest = np.ascontiguousarray(rest, dtype=float).reshape(-1, 3)
    if not len(skins):
        raise ProblemError("surface_arrays: no surfaces: give one Skin per flexible body")
    body = np.repeat(np.arange(len(skins)), [len(skin.triangles) for skin in skins])
    triangles = np.concatenate([skin.triangles for skin in skins])
    _refuse_missing(triangles, body, len(rest), skins)
    nodes, node_body = _nodes(triangles, body, skins)
    edges, faces, on = _edges(triangles, body, skins)
    rank = np.full(len(rest), -1)
    rank[nodes] = np.arange(len(nodes))
    order, levels = grow_tree(rest, triangles)
    around_start = np.zeros(len(nodes) + 1, np.int64)
    np.cumsum(np.bincount(rank[triangles].ravel(), minlength=len(nodes)), out=around_start[1:])
    length = np.linalg.norm(rest[edges[:, 0]] - rest[edges[:, 1]], axis=1)
    deep = np.bincount(body[faces[:, 0]], length) / np.bincount(body[faces[:, 0]])
    return SurfaceArrays(
        node_count=len(rest),
        rest=rest,
        triangles=triangles,
        triangle_body=body,
        nodes=nodes,
        node_body=node_body,
        edges=edges,
        edge_body=body[faces[:, 0]],
        edge_faces=faces,
        around=np.argsort(rank[triangles].ravel(), kind="stable") // 3,
        around_start=around_start,
        owned=np.concatenate([_first_of(rank[triangles]), _first_of(on)], axis=1),
        order=order,
        levels=levels,
        branch_body=branch_bodies(order, levels, body),
        material=np.column_stack([[(skin.margin, skin.mu, skin.restitution) for skin in skins], deep]),
        group=np.array([skin.group for skin in skins], np.uint32),
        mask=np.array([skin.mask for skin in skins], np.uint32),
        self_contact=np.array([skin.self_contact for skin in skins], np.bool_),
        excluded=_excluded(exclude, exclude_fixed, len(skins)),
        names=tuple(skin.name for skin in skins),
        hint=[len(triangles) // 8 + 256, len(triangles) // 64 + 256, len(triangles) // 8 + 256],
    )


def _first_of(numbers: np.ndarray) -> np.ndarray:
    """The numbers where they occur first, −1 elsewhere."""
    first = np.unique(numbers, return_index=True)[1]
    result = np.full(numbers.size, -1)
    result[first] = numbers.ravel()[first]
    return result.reshape(numbers.shape)


def _refuse_missing(triangles: np.ndarray, body: np.ndarray, count: int, skins: Sequence[Skin]) -> None:
    missing = ((triangles < 0) | (triangles >= count)).any(axis=1)
    if missing.any():
        t = int(missing.argmax())
        raise ProblemError(
            f"{skins[body[t]].called}: a triangle has corners {triangles[t].tolist()}, but there are {count} nodes"
        )


def _nodes(triangles: np.ndarray, body: np.ndarray, skins: Sequence[Skin]) -> tuple[np.ndarray, np.ndarray]:
    """(nodes (S,), the flexible body of each), by body."""
    both = np.unique(np.stack([np.repeat(body, 3), triangles.ravel()], axis=1), axis=0)
    numbers, counts = np.unique(both[:, 1], return_counts=True)
    if (counts > 1).any():
        v = int(numbers[counts > 1][0])
        one, two = both[both[:, 1] == v][:2, 0]
        raise ProblemError(
            f"{skins[one].called} and {skins[two].called} share node {v}: every body has nodes of its own"
        )
    return both[:, 1].copy(), both[:, 0].copy()


def _edges(triangles: np.ndarray, body: np.ndarray, skins: Sequence[Skin]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(edges (E, 2), the triangles on both sides (E, 2), the edges of each triangle (F, 3))."""
    run = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)
    edges, first, which = np.unique(np.sort(run, axis=1), axis=0, return_index=True, return_inverse=True)
    which = which.ravel()
    last = np.empty_like(first)
    last[which] = np.arange(len(run))
    counts = np.bincount(which)
    same = (counts == 2) & (run[first] == run[last]).all(axis=1)
    if same.any():
        e = int(same.argmax())
        one, two = first[e] // 3, last[e] // 3
        raise ProblemError(
            f"{skins[body[one]].called}: triangles {triangles[one].tolist()} and {triangles[two].tolist()} run along "
            "their common edge in the same direction: list corners anticlockwise seen from outside"
        )
    faces = np.stack([first // 3, np.where(counts > 1, last // 3, -1)], axis=1)
    return edges, faces, which.reshape(-1, 3)


def _excluded(exclude: Iterable[tuple[int, int]], exclude_fixed: Iterable[tuple[int, int]], count: int) -> np.ndarray:
    """Sorted keys flexible body · 2³² + owner, see ShapeArrays.owner."""
    pairs = []
    for name, listed, first in (("exclude", exclude, 0), ("exclude_fixed", exclude_fixed, FIXTURES)):
        for pair in listed:
            flexible, other = (int(x) for x in pair)
            if not (0 <= flexible < count and 0 <= other < FIXTURES):
                raise ProblemError(
                    f"{name} holds {list(pair)}: give pairs of a flexible body, of which there are {count}, and the "
                    "number of a rigid one"
                )
            pairs.append((flexible << 32) + first + other)
    return np.unique(np.array(pairs, np.int64))
