"""Solids without a kernel of their own: cylinders, hulls, mesh triangles and SUPPORT_ONLY shapes, against each other
and against boxes and capsules.

Separating axes come first (axes.py): they tell the shortest way out of polyhedra, and most pairs that are apart. Round
sides overlap less a little beside an axis, which `descend` finds. Where solids are apart and no patch of two faces
reaches the distance along the axis, their distance is that of GJK."""

import math

from delassus.collision.layout import CAPSULE, CYLINDER, SUPPORT_ONLY, TRIANGLE, to_world
from delassus.collision.narrow.axes import along, best_edges, best_face, edge_of, has_many_edges
from delassus.collision.narrow.distance import segments_nearest
from delassus.collision.narrow.gjk import CLOSE, WITNESS, core_distance, core_point, descend, signed_distance, skin
from delassus.collision.narrow.manifold import manifold
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_NEAR = 1e-6  # of the solids' sizes: cores nearer than this are told apart by axes, GJK's direction is rounding
_EXACT = 1e-9  # of the solids' sizes: a patch this near to the distance along an axis shows that it is the distance
_BIAS = 1e-5  # of the solids' sizes: so much better must a face of the second one, or a pair of edges, be
_SHALLOW = 1e-4  # of the solids' sizes: no deeper, round ones get the first way out that is the shortest near by
_STARTS, _ELSEWHERE = 5, 0.85  # directions tried, and the cosine between them from which they count as close together
_GRID = 5  # directions along each edge of a cube all around
_ROUGHLY = 1e-4  # of the squared distance: where GJK stops to tell one way out from another
NORMAL, POINT = WITNESS, WITNESS + 1  # rows of W


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def solid_solid(
    position, R, size, kind, vertex, vertex_start, face, face_start, shape_face, face_normal, edges, triangle, edge,
    shape_edge, supports, a, b, limit, out, k, scratch,
):  # fmt: skip
    """Solids a and b, no sphere or plane, a of the lower kind.  Returns the number of contacts (≤ MOST) written from k
    on.  scratch: (5, ·, 4), see families.py."""
    work, corners, W = scratch[0:2], scratch[2:4], scratch[4]
    n, nearest = W[NORMAL], W[POINT]
    if _far_by_centres(position, R, size, kind, vertex, vertex_start, supports, a, b, limit):
        return 0
    scale = size[a, 0] + size[a, 1] + size[b, 0] + size[b, 1]
    bias = _BIAS * scale
    is_round = kind[a] == CYLINDER or kind[b] == CYLINDER or has_many_edges(kind, shape_edge, a, b)
    gap, known = 0.0, False
    if kind[b] == SUPPORT_ONLY:
        gap, n[0], n[1], n[2] = signed_distance(a, b, kind, size, vertex, vertex_start, supports, position, R, W)
        _between(size, kind, a, b, gap, n, W, nearest)
        known = True
    elif kind[a] == CAPSULE:
        gap = _apart(position, R, size, kind, vertex, vertex_start, supports, a, b, W, n, nearest)
        known = gap > _NEAR * scale - size[a, 0]
    for attempt in range(3):
        if known:
            pass
        elif attempt == 0:
            gap, n[0], n[1], n[2] = best_face(
                position, R, size, kind, vertex, vertex_start, face, face_start, shape_face, face_normal, supports, a,
                b, bias, limit,
            )  # fmt: skip
            x, y, z = core_point(b, b, kind, size, vertex, vertex_start, supports, position, R, -n[0], -n[1], -n[2])
            nearest[0], nearest[1], nearest[2] = x - 0.5 * gap * n[0], y - 0.5 * gap * n[1], z - 0.5 * gap * n[2]
            if gap < -(_SHALLOW * scale if is_round else bias) or kind[b] == TRIANGLE:
                continue  # edges may be better; the sides of a triangle ask for the direction of the distance
        elif attempt == 1:
            far, x, y, z, one, two = best_edges(
                position, R, size, kind, vertex, vertex_start, supports, edge, shape_edge, a, b, gap + bias, limit
            )
            if far > gap + bias:
                gap, n[0], n[1], n[2] = far, x, y, z
                if gap > limit:
                    return 0
                known = (gap >= -_SHALLOW * scale or not is_round) and _edges_cross(
                    position, R, size, kind, vertex, vertex_start, edge, a, b, one, two, n, nearest
                )
                if not known:
                    continue
            elif gap > 0.0 or is_round:
                continue  # these are all axes that polyhedra have, but of what is round only some
            else:
                # A patch that is less deep than its axis says is not where hulls touch: theirs has several faces, or
                # another axis is as good. The faces of triangles are as flat as they say.
                known = kind[b] == TRIANGLE
        else:
            gap = _exactly(
                position, R, size, kind, vertex, vertex_start, supports, a, b, gap, is_round, W, n, nearest, work
            )
            known = True
        if gap > limit:
            return 0
        count, lowest = manifold(
            position, R, size, kind, vertex, vertex_start, face, face_start, shape_face, face_normal, edges, triangle,
            supports, a, b, gap, limit, corners, work, n, nearest, out, k,
        )  # fmt: skip
        if known or abs(lowest - gap) <= _EXACT * scale:
            return count
    return 0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _edges_cross(position, R, size, kind, vertex, vertex_start, edge, a, b, one, two, n, nearest):
    """Whether two edges, across which n is, are nearest within their lengths: then the distance along n is that of the
    solids, or their least overlap near n.  nearest is written."""
    if one < 0:
        return False
    px, py, pz, ux, uy, uz, half = edge_of(
        position, R, size, kind, vertex, vertex_start, edge, a, one, n[0], n[1], n[2]
    )
    qx, qy, qz, vx, vy, vz, other = edge_of(
        position, R, size, kind, vertex, vertex_start, edge, b, two, -n[0], -n[1], -n[2]
    )
    s, t = segments_nearest(px, py, pz, ux, uy, uz, half, qx, qy, qz, vx, vy, vz, other)
    nearest[0] = 0.5 * (px + s * ux + qx + t * vx)
    nearest[1] = 0.5 * (py + s * uy + qy + t * vy)
    nearest[2] = 0.5 * (pz + s * uz + qz + t * vz)
    return abs(s) < half and abs(t) < other


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _exactly(position, R, size, kind, vertex, vertex_start, supports, a, b, gap, is_round, W, n, nearest, work):
    """The gap of solids a and b, and n and nearest, from the axis n that separates them best."""
    if gap <= 0.0:
        if is_round:
            _look_around(position, R, size, kind, vertex, vertex_start, supports, a, b, W, n, work)
        gap, n[0], n[1], n[2] = descend(
            a, b, kind, size, vertex, vertex_start, supports, position, R, n[0], n[1], n[2], CLOSE, W
        )
        gap -= skin(a, kind, size)
        _between(size, kind, a, b, gap, n, W, nearest)
    if gap > 0.0:
        gap = max(gap, _apart(position, R, size, kind, vertex, vertex_start, supports, a, b, W, n, nearest))
    return gap


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _far_by_centres(position, R, size, kind, vertex, vertex_start, supports, a, b, limit):
    """Whether the line of centres separates solids a and b by more than `limit`."""
    x, y, z = position[b, 0] - position[a, 0], position[b, 1] - position[a, 1], position[b, 2] - position[a, 2]
    d = math.sqrt(x * x + y * y + z * z)
    return d > 0.0 and along(position, R, size, kind, vertex, vertex_start, supports, a, b, x / d, y / d, z / d) > limit


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _look_around(position, R, size, kind, vertex, vertex_start, supports, a, b, W, n, work):
    """Replace n by the best direction that `descend` finds, roughly, from n and from those all around along which round
    solids overlap least, no two of them close together.  work: (2, ≥ STARTS + 26, 4) scratch."""
    tried, far = work[0], work[1]
    for k in range(_GRID**3):
        x, y, z = _on_cube(k)
        if x != 0.0 or y != 0.0 or z != 0.0:
            x, y, z = to_world(R, b, x, y, z)
            far[k // 4, k % 4] = along(position, R, size, kind, vertex, vertex_start, supports, a, b, x, y, z)
    mx, my, mz, best, x, y, z = n[0], n[1], n[2], -math.inf, n[0], n[1], n[2]
    for start in range(_STARTS):
        tried[start, 0], tried[start, 1], tried[start, 2] = x, y, z
        d, x, y, z = descend(a, b, kind, size, vertex, vertex_start, supports, position, R, x, y, z, _ROUGHLY, W)
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
def _apart(position, R, size, kind, vertex, vertex_start, supports, a, b, W, n, nearest):
    """Distance of solids a and b; n and nearest are written where their cores are apart."""
    d, x, y, z = core_distance(
        a, b, a, b, kind, size, vertex, vertex_start, supports, position, R, 0.0, 0.0, 0.0, CLOSE, W
    )
    gap = d - skin(a, kind, size)
    if x != 0.0 or y != 0.0 or z != 0.0:
        n[0], n[1], n[2] = x, y, z
        _between(size, kind, a, b, gap, n, W, nearest)
    return gap


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _between(size, kind, a, b, gap, n, W, nearest):
    """The point midway between the nearest points, from that of the core of a in W[8]."""
    out = skin(a, kind, size) + 0.5 * gap
    for i in range(3):
        nearest[i] = W[8, i] + out * n[i]
