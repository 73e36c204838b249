"""Meshes of simple solids."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from delassus.arguments import number, vector
from delassus.errors import ProblemError
from delassus.fem.check import bounded
from delassus.fem.mesh import Mesh

_EACH_CELL = 6  # tetrahedra
# Corners of a cube, added up along its edges in the six orders of the axes (Kuhn): every tetrahedron has the diagonal.
_KUHN = np.array(
    [
        [[0, 0, 0], np.eye(3, dtype=int)[a], 1 - np.eye(3, dtype=int)[3 - a - b], [1, 1, 1]]
        for a in range(3)
        for b in range(3)
        if a != b
    ]
)


def block(
    size: ArrayLike = (1.0, 1.0, 1.0), cells: ArrayLike = (1, 1, 1), position: ArrayLike = (0.0, 0.0, 0.0)
) -> Mesh:
    """A box of edges size (3,) [m] with its centre at position, divided into cells (3,) of six tetrahedra each.
    Neighbour cells are mirror images, so that an even number of them makes a symmetric mesh. Sets of nodes: its sides
    "x-", "x+", "y-", "y+", "z-", "z+"."""
    edges = vector(size, "fem.block: size", 3)
    if not (edges > 0.0).all():
        raise ProblemError(f"fem.block: size is {size!r}, all three edges must be positive [m]")
    count = _counts(cells, "fem.block: cells", 3)
    bounded("fem.block", _EACH_CELL * int(np.prod(count, dtype=float)))
    axes = [np.linspace(-0.5 * edges[i], 0.5 * edges[i], count[i] + 1) for i in range(3)]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    cell = np.stack(np.meshgrid(*(np.arange(n) for n in count), indexing="ij"), axis=-1).reshape(-1, 1, 1, 3)
    corner = cell + np.where(cell % 2 == 1, 1 - _KUHN, _KUHN)  # (cells, 6, 4, 3)
    stride = np.array([(count[1] + 1) * (count[2] + 1), count[2] + 1, 1])
    elements = (corner @ stride).reshape(-1, 4)
    sets = {}
    for i, name in enumerate("xyz"):
        sets[name + "-"] = np.flatnonzero(nodes[:, i] == axes[i][0])
        sets[name + "+"] = np.flatnonzero(nodes[:, i] == axes[i][-1])
    return Mesh(nodes + vector(position, "fem.block: position", 3), elements, sets, orient=True)


def cylinder(
    radius: float = 0.5,
    length: float = 1.0,
    cells: ArrayLike = (3, 6),
    position: ArrayLike = (0.0, 0.0, 0.0),
) -> Mesh:
    """A cylinder about z with its centre at position; radius and length [m]; cells: (rings, layers). Ring k has 6 k
    nodes, on a circle; triangles between rings become prisms between layers, of three tetrahedra each. Its volume is
    that of the polygon inside the circle. Sets of nodes: "z-", "z+" (ends), "side"."""
    r = number(radius, "fem.cylinder: radius", "m", positive=True)
    height = number(length, "fem.cylinder: length", "m", positive=True)
    rings, layers = (int(n) for n in _counts(cells, "fem.cylinder: cells", 2))
    bounded("fem.cylinder", 3 * 6 * rings**2 * layers)
    disc, triangles = _disc(rings)
    n = len(disc)
    z = np.linspace(-0.5 * height, 0.5 * height, layers + 1)
    nodes = np.concatenate([np.tile(r * disc, (layers + 1, 1)), np.repeat(z, n)[:, None]], axis=1)
    a, b, c = np.sort(triangles, axis=1).T  # by number: prisms that share a side divide it by the same diagonal
    prism = np.stack(
        [np.stack(t, axis=1) for t in ((a, b, c, c + n), (a, b, b + n, c + n), (a, a + n, b + n, c + n))], axis=1
    )
    elements = (prism[None] + n * np.arange(layers)[:, None, None, None]).reshape(-1, 4)
    outermost = np.arange(n - 6 * rings, n)
    sets = {
        "z-": np.arange(n),
        "z+": n * layers + np.arange(n),
        "side": (outermost + n * np.arange(layers + 1)[:, None]).ravel(),
    }
    return Mesh(nodes + vector(position, "fem.cylinder: position", 3), elements, sets, orient=True)


def _disc(rings: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (n, 2) of a disc of radius 1, and its triangles (6 rings², 3): node 0 in the middle, then ring by ring.
    Each sixth of ring k has k nodes and, towards ring k − 1, 2k − 1 triangles."""
    nodes, triangles = [np.zeros((1, 2))], []
    for k in range(1, rings + 1):
        angle = 2.0 * np.pi * np.arange(6 * k) / (6 * k)
        nodes.append(k / rings * np.stack([np.cos(angle), np.sin(angle)], axis=1))
        outer, inner = 1 + 3 * k * (k - 1), 1 + 3 * (k - 1) * (k - 2) if k > 1 else 0
        for sixth in range(6):
            for i in range(k):
                o = outer + (sixth * k + i) % (6 * k)
                after = outer + (sixth * k + i + 1) % (6 * k)
                below = inner + (sixth * (k - 1) + i) % max(6 * (k - 1), 1)
                triangles.append((o, after, below))
                if i > 0:
                    before = inner + (sixth * (k - 1) + i - 1) % (6 * (k - 1))
                    triangles.append((o, below, before))
    return np.concatenate(nodes), np.array(triangles)


def _counts(given: Any, what: str, count: int) -> np.ndarray:
    """So many whole numbers, each at least 1."""
    out = np.array(given)
    if out.shape != (count,) or not np.issubdtype(out.dtype, np.integer) or not (out >= 1).all():
        raise ProblemError(f"{what} is {given!r}: give {count} whole numbers of at least 1")
    return out.astype(np.int64)
