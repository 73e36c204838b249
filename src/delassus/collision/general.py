"""Pairs without a kernel of their own (cylinders, hulls, mesh triangles against solids): gap and normal by `coal`.

`coal` (the collision library of Pinocchio) finds the nearest points by GJK and EPA. The other points of a manifold come
from clipping the two faces that look at each other, as for boxes; where they miss the nearest point (a rim, an edge
against an edge), that point is added."""

from dataclasses import fields
from functools import lru_cache

import numpy as np

from delassus.collision.arrays import ShapeArrays
from delassus.collision.contacts import Contacts
from delassus.collision.faces import looking_face
from delassus.collision.layout import BOX, CAPSULE, CYLINDER, TRIANGLE, Geometry
from delassus.collision.narrow import finish
from delassus.collision.patch import MOST, patch
from delassus.errors import DelassusError, ProblemError

TOLERANCES = (1e-6, 1e-5, 1e-4, 1e-3)
"""Of GJK and EPA, tried in turn. Tighter ones are no better: at 1e-8 EPA loses its way on round shapes once in a
hundred penetrating pairs, at 1e-9 it returned depths larger than the shapes."""
ALMOST = 1.0 - 1e-6  # cosine between coal's normal and a face's below which they are different directions
TRUSTED = 1e-4  # of the shapes' reach: the depth EPA reports must be the overlap along its normal, this closely


class MissingPackageError(DelassusError, ImportError):
    """An optional package is needed that is not installed."""


def add_general(arrays: ShapeArrays, geometry: tuple, pairs: np.ndarray, contacts: Contacts) -> Contacts:
    """The contacts found so far together with those of the pairs given, sorted by pair."""
    g, n = Geometry(*geometry), len(pairs)
    rows = MOST * n
    found = (np.empty((rows, 3, 3)), np.empty((rows, 3)), np.empty(rows), np.empty(rows, np.uint64))
    owners = (np.empty((rows, 2), np.int64), np.empty((rows, 2), np.int32), np.empty(rows), np.empty(rows))
    counts = np.zeros(n, np.int64)
    peer = _Peer(arrays)
    for p, (a, b) in enumerate(pairs.tolist()):
        first, second = (b, a) if arrays.kind[a] > arrays.kind[b] else (a, b)
        counts[p] = _one(g, first, second, arrays.margin[a] + arrays.margin[b], peer, found, MOST * p)
    slots, family = MOST * np.arange(n + 1), np.ones(n, np.int8)
    finish(0, 1, pairs, family, arrays.kind, arrays.surface, arrays.mixing, found, owners, slots, counts)
    kept = np.flatnonzero(np.arange(rows) % MOST < np.repeat(counts, MOST))
    frame, point, gap, feature = (x[kept] for x in found)
    new = (*(x[kept] for x in owners[:2]), point, frame, gap, *(x[kept] for x in owners[2:]), feature)
    both = [np.concatenate([getattr(contacts, f.name), x]) for f, x in zip(fields(Contacts), new)]
    order = np.lexsort((both[1][:, 1], both[1][:, 0]))  # stable: the order within a pair stays
    return Contacts(*(x[order] for x in both))


def _one(g: Geometry, a: int, b: int, limit: float, peer: "_Peer", found: tuple, k: int) -> int:
    """Contacts of one pair (kind a ≤ kind b), written from row k on; returns their number."""
    gap, normal, on_a, on_b = peer.nearest(g, a, b)
    if gap > limit:
        return 0
    nearest = 0.5 * (on_a + on_b)
    if g.kind[b] == TRIANGLE:
        normal, gap, snapped = _face_side(g, a, b, normal, gap)
        if gap > limit:
            return 0
    else:
        snapped = False
    face_a, flat_a = looking_face(g, a, normal)
    face_b, flat_b = looking_face(g, b, -normal)
    if not snapped:
        normal, gap = _polished(g, a, b, normal, gap, ((face_a, flat_a, 1.0), (face_b, flat_b, -1.0)))
    scale = float(np.abs(face_a - face_a[0]).max() + np.abs(face_b - face_b[0]).max()) + abs(gap)
    return patch(face_a, face_b, (flat_a, flat_b), normal, nearest, gap, limit, scale, not snapped, found, k)


def _polished(g: Geometry, a: int, b: int, normal: np.ndarray, gap: float, faces) -> tuple[np.ndarray, float]:
    """The normal of a face that coal's normal almost is, and the gap along it, if that is as good: iterations end a
    little beside it, and a body at rest on its face would tremble."""
    for face, cosine, sign in faces:
        if cosine > ALMOST and len(face) > 2:
            n = np.cross(face[1] - face[0], face[2] - face[0])
            n *= sign / np.linalg.norm(n)
            along = float(n @ (lowest(g, b, n) - lowest(g, a, -n)))
            if along > gap - TOLERANCES[0]:
                return n, along
    return normal, gap


def _face_side(g: Geometry, a: int, t: int, normal: np.ndarray, gap: float) -> tuple[np.ndarray, float, bool]:
    """Normal and gap of solid a against triangle t: where the direction leans over an edge to a neighbour, or out of
    the back, it is the triangle's own normal instead, so that bodies slide over a flat mesh without feeling its
    edges."""
    corners = g.vertex[g.vertex_start[t] : g.vertex_start[t + 1]]
    R, edges = g.rotation[t], g.edge_normal[g.triangle[t]]
    own = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    own /= np.linalg.norm(own)
    up = -(R.T @ normal)  # from the triangle to the solid, in its frame
    leans = up @ own
    # zero rows are edges without a neighbour: nothing to lean over
    if leans > 1.0 - 1e-9 or (leans > 0.0 and (edges[:, :3] @ up > -1e-9).all()):
        return normal, gap, False
    world = R @ own
    height = world @ (lowest(g, a, world) - (g.position[t, :3] + R @ corners[0]))
    return -world, float(height), True


def lowest(g: Geometry, s: int, direction: np.ndarray) -> np.ndarray:
    """The point of solid s that lies least far in a direction."""
    R, size = g.rotation[s], g.size[s]
    d = -(R.T @ direction)
    kind = g.kind[s]
    if kind == BOX:
        x = np.copysign(size, d)
    elif kind == CAPSULE:
        x = size[0] * d + np.array([0, 0, np.copysign(size[1], d[2])])
    elif kind == CYLINDER:
        across = np.hypot(d[0], d[1])
        x = np.array([0, 0, np.copysign(size[1], d[2])])
        if across > 1e-12:
            x[:2] = size[0] * d[:2] / across
    else:
        corners = g.vertex[g.vertex_start[s] : g.vertex_start[s + 1]]
        x = corners[np.argmax(corners @ d)]
    return g.position[s, :3] + R @ x


class _Peer:
    """`coal` with its objects for each shape kept."""

    def __init__(self, arrays: ShapeArrays):
        self.coal = _import_coal()
        self.shapes: dict = arrays.peer_shapes
        self.reach = arrays.radius
        self.request = self.coal.DistanceRequest()
        self.request.enable_signed_distance = True
        self.request.gjk_max_iterations = self.request.epa_max_iterations = 256

    def nearest(self, g: Geometry, a: int, b: int) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """(gap, normal from a to b, nearest points on a and b); of penetrating shapes the gap is measured by us, along
        the normal found: if that is not the best one, the gap is still what it takes to separate them this way."""
        best = None
        for tolerance in TOLERANCES:
            gap, normal, on_a, on_b = self.ask(g, a, b, tolerance)
            if gap > 0.0:
                return gap, normal, on_a, on_b
            along = float(normal @ (lowest(g, b, normal) - lowest(g, a, -normal)))
            if not np.isfinite(along):
                continue
            if best is None or along > best[0]:
                best = (along, normal, on_a, on_b)
            if abs(along - gap) <= TRUSTED * self.reach[[a, b]].sum():
                break
        if best is None:
            raise ProblemError(f"coal finds no distance between shapes {a} and {b}: are they degenerate?")
        return best

    def ask(self, g: Geometry, a: int, b: int, tolerance: float) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """What coal says, at one tolerance."""
        self.request.gjk_tolerance = self.request.epa_tolerance = tolerance
        result = self.coal.DistanceResult()
        gap = self.coal.distance(
            self.shape(g, a), self.pose(g, a), self.shape(g, b), self.pose(g, b), self.request, result
        )
        return gap, np.array(result.normal), np.array(result.getNearestPoint1()), np.array(result.getNearestPoint2())

    def pose(self, g: Geometry, s: int):
        return self.coal.Transform3s(g.rotation[s], g.position[s, :3])

    def shape(self, g: Geometry, s: int):
        if s not in self.shapes:
            self.shapes[s] = self.build(g, s)
        return self.shapes[s]

    def build(self, g: Geometry, s: int):
        size, kind = g.size[s], g.kind[s]
        if kind == BOX:
            return self.coal.Box(*(2 * size))
        if kind == CAPSULE:
            return self.coal.Capsule(size[0], 2 * size[1])
        if kind == CYLINDER:
            return self.coal.Cylinder(size[0], 2 * size[1])
        corners = g.vertex[g.vertex_start[s] : g.vertex_start[s + 1]]
        points, triangles = self.coal.StdVec_Vec3s(), self.coal.StdVec_Triangle()
        for x in corners:
            points.append(x)
        if kind == TRIANGLE:  # a hull without thickness: coal has no distances to its own triangles
            triangles.append(self.coal.Triangle(0, 1, 2))
            triangles.append(self.coal.Triangle(0, 2, 1))
        for f in range(g.shape_face[s], g.shape_face[s + 1]):
            face = g.face[g.face_start[f] : g.face_start[f + 1]]
            for i in range(1, len(face) - 1):
                triangles.append(self.coal.Triangle(int(face[0]), int(face[i]), int(face[i + 1])))
        return self.coal.Convex(points, triangles)


@lru_cache(maxsize=1)
def _import_coal():
    try:
        import coal
    except ImportError as error:
        raise MissingPackageError(
            "contacts of cylinders, hulls and meshes with solids need the package coal: pip install coal"
        ) from error
    return coal
