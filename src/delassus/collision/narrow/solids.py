"""Solids without a kernel of their own: cylinders, hulls, mesh triangles and SUPPORT_ONLY shapes, against each other
and against boxes and capsules.

Separating axes come first (axes.py): they give the shortest way out of polyhedra, and separate most pairs. Round
sides overlap less a little beside an axis, which `descend` finds. Where solids are separated and no patch of two faces
reaches the distance along the axis, their distance is that of GJK."""

import math

from delassus.collision.layout import CAPSULE, CYLINDER, SUPPORT_ONLY, TRIANGLE, to_world
from delassus.collision.narrow.axes import along, best_edges, best_face, edge_of, has_many_edges
from delassus.collision.narrow.between_faces import between_faces
from delassus.collision.narrow.distance import segments_nearest
from delassus.collision.narrow.faces import looking_face
from delassus.collision.narrow.gjk import CLOSE, WITNESS, core_distance, core_point, descend, signed_distance, skin
from delassus.collision.narrow.manifold import manifold
from delassus.collision.narrow.patch import Touch
from delassus.collision.narrow.scratch import solid_scratch
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_NEAR = 1e-6  # of the solids' sizes: cores nearer than this are separated by axes, GJK's direction is rounding
_EXACT = 1e-9  # of the solids' sizes: a patch this near to the distance along an axis shows that it is the distance
_BIAS = 1e-5  # of the solids' sizes: so much better must a face of the second one, or a pair of edges, be
_SHALLOW = 1e-4  # of the solids' sizes: no deeper, round ones get the first way out that is the shortest near by
_STARTS, _ELSEWHERE = 5, 0.85  # directions tried, and the cosine between them from which they count as close together
_GRID = 5  # directions along each edge of a cube all around
_ROUGHLY = 1e-4  # of the squared distance: where GJK stops to choose one way out of several


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def solid_solid(geometry, pair, out, scratch):
    """Solids a and b, no sphere or plane, a of the lower kind.  Returns the number of contacts (≤ MOST) written.
    scratch: (BLOCKS, ·, 4), see scratch.py."""
    shapes, edges, work = geometry.shapes, geometry.edges, solid_scratch(scratch)
    a, b, limit = pair.a, pair.b, pair.limit
    size, kind, n, nearest = shapes.size, shapes.kind, work.normal, work.point
    if _far_by_centres(shapes, pair):
        return 0
    scale = size[a, 0] + size[a, 1] + size[b, 0] + size[b, 1]
    bias = _BIAS * scale
    is_round = kind[a] == CYLINDER or kind[b] == CYLINDER or has_many_edges(kind, edges.shape_edge, a, b)
    gap, is_known = 0.0, False
    if kind[b] == SUPPORT_ONLY:
        gap, n[0], n[1], n[2] = signed_distance(shapes, a, b, work.simplex)
        _between(shapes, a, gap, work)
        is_known = True
    elif kind[a] == CAPSULE:
        gap = _separation(shapes, pair, work)
        is_known = gap > _NEAR * scale - size[a, 0]
    for attempt in range(3):
        if is_known:
            pass
        elif attempt == 0:
            gap, n[0], n[1], n[2] = best_face(shapes, geometry.faces, a, b, bias, limit)
            x, y, z = core_point(shapes, b, b, -n[0], -n[1], -n[2])
            nearest[0], nearest[1], nearest[2] = x - 0.5 * gap * n[0], y - 0.5 * gap * n[1], z - 0.5 * gap * n[2]
            if gap < -(_SHALLOW * scale if is_round else bias) or kind[b] == TRIANGLE:
                continue  # edges may be better; the sides of a triangle need the direction of the distance
        elif attempt == 1:
            across = best_edges(shapes, edges, a, b, gap + bias, limit)
            if across.distance > gap + bias:
                gap, n[0], n[1], n[2] = across.distance, across.x, across.y, across.z
                if gap > limit:
                    return 0
                is_known = (gap >= -_SHALLOW * scale or not is_round) and _edges_cross(
                    shapes, edges, pair, across, work
                )
                if not is_known:
                    continue
            elif gap > 0.0 or is_round:
                continue  # these are all axes that polyhedra have, but of what is round only some
            else:
                # A patch that is less deep than its axis says is not where hulls touch: theirs has several faces, or
                # another axis is as good. The faces of triangles are as flat as they say.
                is_known = kind[b] == TRIANGLE
        else:
            gap = _exact_gap(geometry, pair, gap, is_round, work)
            is_known = True
        if gap > limit:
            return 0
        count, lowest = manifold(geometry, pair, Touch(gap, n, nearest), work, out)
        if is_known or abs(lowest - gap) <= _EXACT * scale:
            return count
    return 0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _edges_cross(shapes, edges, pair, across, work):
    """Whether the two edges of an axis are nearest within their lengths: then the distance along it is that of the
    solids, or their least overlap near it.  The point of `work` is written."""
    if across.one < 0:
        return False
    n, nearest = work.normal, work.point
    p = edge_of(shapes, edges, pair.a, across.one, n[0], n[1], n[2])
    q = edge_of(shapes, edges, pair.b, across.two, -n[0], -n[1], -n[2])
    s, t = segments_nearest(p, q)
    nearest[0] = 0.5 * (p.cx + s * p.ux + q.cx + t * q.ux)
    nearest[1] = 0.5 * (p.cy + s * p.uy + q.cy + t * q.uy)
    nearest[2] = 0.5 * (p.cz + s * p.uz + q.cz + t * q.uz)
    return abs(s) < p.half and abs(t) < q.half


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _exact_gap(geometry, pair, gap, is_round, work):
    """The gap of solids a and b, and normal and point of `work`, from the axis that separates them best."""
    shapes, a, b, n = geometry.shapes, pair.a, pair.b, work.normal
    if gap <= 0.0:
        if is_round:
            _look_around(shapes, pair, work)
        gap, n[0], n[1], n[2] = descend(shapes, a, b, n[0], n[1], n[2], CLOSE, work.simplex)
        gap -= skin(a, shapes.kind, shapes.size)
        _between(shapes, a, gap, work)
    if gap > 0.0:
        work.point[0] = math.nan
        gap = max(gap, _separation(shapes, pair, work))
        if math.isnan(work.point[0]):  # too near for GJK to tell a direction: the axis has to do
            one, _ = looking_face(shapes, geometry.faces, a, n[0], n[1], n[2], work.corners[0])
            two, _ = looking_face(shapes, geometry.faces, b, -n[0], -n[1], -n[2], work.corners[1])
            between_faces(work.corners[0, :one], work.corners[1, :two], n, work.point)
    return gap


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _far_by_centres(shapes, pair):
    """Whether the line of centres separates solids a and b by more than the limit."""
    position, a, b = shapes.position, pair.a, pair.b
    x, y, z = position[b, 0] - position[a, 0], position[b, 1] - position[a, 1], position[b, 2] - position[a, 2]
    d = math.sqrt(x * x + y * y + z * z)
    return d > 0.0 and along(shapes, a, b, x / d, y / d, z / d) > pair.limit


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _look_around(shapes, pair, work):
    """Replace the normal by the best direction that `descend` finds, roughly, from it and from those all around along
    which round solids overlap least, no two of them close together."""
    R, a, b, n = shapes.rotation, pair.a, pair.b, work.normal
    tried, far = work.polygons[0], work.polygons[1]
    for k in range(_GRID**3):
        x, y, z = _on_cube(k)
        if x != 0.0 or y != 0.0 or z != 0.0:
            x, y, z = to_world(R, b, x, y, z)
            far[k // 4, k % 4] = along(shapes, a, b, x, y, z)
    best, x, y, z = -math.inf, n[0], n[1], n[2]
    mx, my, mz = x, y, z
    for start in range(_STARTS):
        tried[start, 0], tried[start, 1], tried[start, 2] = x, y, z
        d, x, y, z = descend(shapes, a, b, x, y, z, _ROUGHLY, work.simplex)
        if d > best:
            best, mx, my, mz = d, x, y, z
        most, x, y, z = -math.inf, 0.0, 0.0, 0.0
        for k in range(_GRID**3):
            cx, cy, cz = _on_cube(k)
            if (cx != 0.0 or cy != 0.0 or cz != 0.0) and far[k // 4, k % 4] > most:
                cx, cy, cz = to_world(R, b, cx, cy, cz)
                is_new = True
                for i in range(start + 1):
                    is_new = is_new and cx * tried[i, 0] + cy * tried[i, 1] + cz * tried[i, 2] < _ELSEWHERE
                if is_new:
                    most, x, y, z = far[k // 4, k % 4], cx, cy, cz
        if most == -math.inf:
            break
    n[0], n[1], n[2] = mx, my, mz


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _on_cube(k):
    """Unit vector towards point k of a grid on the surface of a cube; zero for points inside."""
    x, y, z = k // (_GRID * _GRID), k // _GRID % _GRID, k % _GRID
    half = 0.5 * (_GRID - 1)
    x, y, z = x / half - 1.0, y / half - 1.0, z / half - 1.0
    if max(abs(x), abs(y), abs(z)) < 1.0:
        return 0.0, 0.0, 0.0
    length = math.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _separation(shapes, pair, work):
    """Distance of solids a and b; normal and point of `work` are written where their cores are separated."""
    a, b, n = pair.a, pair.b, work.normal
    d, x, y, z = core_distance(shapes, a, b, (a, b), (0.0, 0.0, 0.0), CLOSE, work.simplex)
    gap = d - skin(a, shapes.kind, shapes.size)
    if x != 0.0 or y != 0.0 or z != 0.0:
        n[0], n[1], n[2] = x, y, z
        _between(shapes, a, gap, work)
    return gap


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _between(shapes, a, gap, work):
    """The point midway between the nearest points, from that of the core of a."""
    out = skin(a, shapes.kind, shapes.size) + 0.5 * gap
    for i in range(3):
        work.point[i] = work.simplex[WITNESS - 1, i] + out * work.normal[i]
