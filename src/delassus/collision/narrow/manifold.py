"""From the normal of two solids to their contacts.

The points of a manifold come from clipping the two faces that look at each other, as for boxes; where they miss the
nearest point (a rim, an edge against an edge), that point is added."""

import math

from delassus.collision.layout import TRIANGLE, to_local, to_world
from delassus.collision.narrow.axes import along, triangle_normal
from delassus.collision.narrow.faces import area, looking_face
from delassus.collision.narrow.patch import patch
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

ALMOST = 1.0 - 1e-6  # cosine between the normal found and a face's below which they are different directions
_AS_GOOD = 1e-9  # of the shapes' sizes: so much less may a face separate them than the normal found


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def manifold(
    position, R, size, kind, vertex, vertex_start, face, face_start, shape_face, face_normal, edges, triangle, supports,
    a, b, gap, limit, corners, work, n, nearest, out, k,
):  # fmt: skip
    """(contacts written into `out` from k on, lowest gap of the patch of two faces) of solids a and b.

    gap: their distance along the unit vector n (3,) from a to b, which may be turned a little; nearest: (3,) midway
    between their nearest points; limit: largest gap of a contact [m]; corners: (2, ·, 4), work: (2, ·, 4) scratch."""
    scale = size[a, 0] + size[a, 1] + size[b, 0] + size[b, 1]
    snapped = False
    if kind[b] == TRIANGLE:
        snapped, mx, my, mz = _face_side(R, vertex, vertex_start, edges, triangle, b, n[0], n[1], n[2])
        if snapped:
            n[0], n[1], n[2] = mx, my, mz
            far = along(position, R, size, kind, vertex, vertex_start, supports, a, b, mx, my, mz)
            # what is apart does not penetrate: it is behind the triangle, or beside it
            if far > limit or (gap > _AS_GOOD * scale and far < -_AS_GOOD * scale):
                return 0, gap
            gap = far
    one, flat_one = looking_face(
        position, R, size, kind, vertex, vertex_start, face, face_start, shape_face, face_normal, supports, a, n[0],
        n[1], n[2], corners[0],
    )  # fmt: skip
    two, flat_two = looking_face(
        position, R, size, kind, vertex, vertex_start, face, face_start, shape_face, face_normal, supports, b, -n[0],
        -n[1], -n[2], corners[1],
    )  # fmt: skip
    if not snapped:
        # Iterations end a little beside the normal of a face, and a body at rest on it would tremble: so take the
        # face's own, where the gap along it is as good.
        for side in range(2):
            if (flat_one if side == 0 else flat_two) > ALMOST and (one if side == 0 else two) > 2:
                mx, my, mz = area(corners[side], one if side == 0 else two)
                length = math.copysign(math.sqrt(mx * mx + my * my + mz * mz), 1.0 - 2.0 * side)
                mx, my, mz = mx / length, my / length, mz / length
                far = along(position, R, size, kind, vertex, vertex_start, supports, a, b, mx, my, mz)
                if far > gap - _AS_GOOD * scale:
                    n[0], n[1], n[2], gap = mx, my, mz, far
                    break
    span = _span(corners[0], one) + _span(corners[1], two) + abs(gap)
    return patch(
        corners[0, :one], corners[1, :two], flat_one, flat_two, n, nearest, gap, limit, span, not snapped, out, k, work
    )


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _span(corners, count):
    """Largest coordinate of the corners seen from the first [m]."""
    most = 0.0
    for c in range(1, count):
        for i in range(3):
            most = max(most, abs(corners[c, i] - corners[0, i]))
    return most


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _face_side(R, vertex, vertex_start, edges, triangle, t, nx, ny, nz):
    """(snapped, normal): where the direction from a solid to triangle t leans over an edge to a neighbour, or out of
    the back, the triangle's own normal is taken instead, so that bodies slide over a flat mesh without feeling its
    edges."""
    e = triangle[t]
    ox, oy, oz = triangle_normal(vertex, vertex_start[t])
    x, y, z = to_local(R, t, -nx, -ny, -nz)  # from the triangle to the solid, in its frame
    leans = x * ox + y * oy + z * oz
    inside = leans > 0.0
    for i in range(3):
        # zero rows are edges without a neighbour: nothing to lean over
        inside = inside and edges[e, i, 0] * x + edges[e, i, 1] * y + edges[e, i, 2] * z > -1e-9
    if leans > 1.0 - 1e-9 or inside:
        return False, nx, ny, nz
    x, y, z = to_world(R, t, ox, oy, oz)
    return True, -x, -y, -z
