"""Pairs without a kernel of their own: gap and normal by `coal`, or by our own GJK where a shape is GIVEN by its
support function; then the manifold, for all alike.

`coal` (the collision library of Pinocchio) finds the nearest points of cylinders, hulls, mesh triangles and other
solids by GJK and EPA, one Python call per pair; all else is compiled and done for all pairs at once, in manifold.py.
Pairs that a simple axis separates are not asked about."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.collision.layout import BOX, CAPSULE, CYLINDER, TRIANGLE, Geometry
from delassus.collision.narrow.faces import RIM
from delassus.collision.narrow.given import AROUND
from delassus.collision.narrow.manifold import choose, judge, measure_given, try_faces, write_manifolds
from delassus.errors import DelassusError, ProblemError

if TYPE_CHECKING:
    from delassus.collision.arrays import ShapeArrays

TOLERANCES = (1e-6, 1e-5, 1e-4, 1e-3)
"""Of GJK and EPA [m], tried in turn. Tighter ones are no better: at 1e-8 EPA loses its way on round shapes once in a
hundred penetrating pairs, at 1e-9 it returned depths larger than the shapes."""
SURE = 10 * TOLERANCES[0]  # pairs further apart than their margins by this much have no contact, whatever coal's error


class MissingPackageError(DelassusError, ImportError):
    """An optional package is needed that is not installed."""


def find_general(
    arrays: "ShapeArrays", geometry: tuple[Any, ...], count: int, pairs: np.ndarray, dealt: np.ndarray, out: np.ndarray
) -> int:
    """Write the contacts of those of the first `count` pairs that are GENERAL; returns their number.

    geometry: the fields of Geometry; pairs, dealt, out: as in layout.py."""
    chosen = np.empty((count, 3), np.int64)
    longest = int(np.diff(geometry[7]).max(initial=max(RIM, AROUND)))  # corners of a face
    corners, work = np.empty((2, longest, 3)), np.empty((2, 2 * longest + 2, 4))
    n = choose(count, pairs, dealt, geometry, SURE, corners, chosen)
    if not n:
        return 0
    asked, best = np.empty((n, 10)), np.full((n, 7), np.nan)
    waiting = np.arange(n)
    if arrays.given_kinds:
        waiting = waiting[: measure_given(n, chosen, geometry, best, waiting)]
    if len(waiting):
        peer = _Peer(arrays, Geometry(*geometry), chosen[:n], waiting)
        for tolerance in TOLERANCES:
            peer.ask(waiting.tolist(), tolerance, asked)
            waiting = waiting[: judge(waiting, chosen, geometry, arrays.radius, asked, best)]
            if not len(waiting):
                break
    lost = np.isnan(best[:, 0])
    if lost.any():
        best[lost, 4:] = geometry[0][chosen[:n][lost, :2], :3].mean(axis=1)
    try_faces(n, chosen, geometry, best)
    lost = np.flatnonzero(np.isnan(best[:, 0]))
    if len(lost):
        a, b = chosen[lost[0], :2].tolist()
        raise ProblemError(f"coal finds no distance between shapes {a} and {b}: are they degenerate?")
    return write_manifolds(n, chosen, geometry, best, TOLERANCES[0], corners, work, dealt, out)


class _Peer:
    """`coal`, with its objects for each shape kept and the poses of this configuration.

    chosen: (n, ≥ 2) shapes of the pairs; waiting: which of them are asked about."""

    def __init__(self, arrays: "ShapeArrays", g: Geometry, chosen: np.ndarray, waiting: np.ndarray):
        self.coal = coal = _import_coal()
        known = arrays.peer_shapes
        solids = {}
        for s in np.unique(chosen[waiting, :2]).tolist():
            if s not in known:
                known[s] = _build(coal, g, s)
            solids[s] = known[s], coal.Transform3s(g.rotation[s], g.position[s, :3])
        self.pairs = {k: (*solids[a], *solids[b]) for k, (a, b) in zip(waiting.tolist(), chosen[waiting, :2].tolist())}
        self.request = coal.DistanceRequest()
        self.request.enable_signed_distance = True
        self.request.gjk_max_iterations = self.request.epa_max_iterations = 256

    def ask(self, which: list[int], tolerance: float, asked: np.ndarray) -> None:
        """Rows of asked (n, 10): gap, normal from the first to the second shape, nearest points on both."""
        request, distance, result = self.request, self.coal.distance, self.coal.DistanceResult()
        request.gjk_tolerance = request.epa_tolerance = tolerance
        for k in which:
            result.clear()
            row = asked[k]
            row[0] = distance(*self.pairs[k], request, result)
            row[1:4] = result.normal
            row[4:7] = result.getNearestPoint1()
            row[7:10] = result.getNearestPoint2()


def _build(coal: Any, g: Geometry, s: int) -> Any:
    """coal's object for shape s."""
    size, kind = g.size[s], g.kind[s]
    if kind == BOX:
        return coal.Box(*(2 * size))
    if kind == CAPSULE:
        return coal.Capsule(size[0], 2 * size[1])
    if kind == CYLINDER:
        return coal.Cylinder(size[0], 2 * size[1])
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for x in g.vertex[g.vertex_start[s] : g.vertex_start[s + 1]]:
        points.append(x)
    if kind == TRIANGLE:  # a hull without thickness: coal has no distances to its own triangles
        triangles.append(coal.Triangle(0, 1, 2))
        triangles.append(coal.Triangle(0, 2, 1))
    for f in range(g.shape_face[s], g.shape_face[s + 1]):
        face = g.face[g.face_start[f] : g.face_start[f + 1]].tolist()
        for i in range(1, len(face) - 1):
            triangles.append(coal.Triangle(face[0], face[i], face[i + 1]))
    return coal.Convex(points, triangles)


@lru_cache(maxsize=1)
def _import_coal() -> Any:
    try:
        import coal
    except ImportError as error:
        raise MissingPackageError(
            "contacts of cylinders, hulls and meshes with solids need the package coal: pip install coal "
            "(on Windows, for which pip has none: conda install -c conda-forge coal)"
        ) from error
    return coal
