"""What kernels read of surfaces and shapes at one configuration.

From Python these come as plain tuples of their fields, which costs less."""

from typing import Any, NamedTuple

import numpy as np


class PosedSurface(NamedTuple):
    """The surfaces of all flexible bodies; see SurfaceArrays for what does not move."""

    nodes: np.ndarray  # (n, 3) all nodes [m]
    grow: np.ndarray  # (n,) how much further than a node contacts are looked for [m]
    normal: np.ndarray  # (F, 3) of the triangles, outward
    rest: np.ndarray  # (n, 3)
    numbers: np.ndarray  # (S,) nodes of the surface
    edges: np.ndarray  # (E, 2)
    edge_faces: np.ndarray  # (E, 2)
    triangles: np.ndarray  # (F, 3)
    body: np.ndarray  # (F,) flexible body
    material: np.ndarray  # (bodies, 4)
    around: np.ndarray
    around_start: np.ndarray  # (S + 1,)
    owned: np.ndarray  # (F, 6)


class SurfaceTree(NamedTuple):
    """The tree of boxes over all triangles (tree.py)."""

    order: np.ndarray  # (F,)
    levels: int
    boxes: np.ndarray  # (2^(levels + 1), 6) [m]
    branch_body: np.ndarray  # (2^(levels + 1),)


class Obstacles(NamedTuple):
    """The shapes that surfaces meet."""

    shapes: tuple[Any, ...]  # the fields of PosedShapes
    polyhedra: tuple[Any, ...]  # the fields of Polyhedra
    reach: np.ndarray  # (n_s,) how much further contacts are looked for [m]
    radius: np.ndarray  # (n_s,) of the bounding balls, without margin [m]
