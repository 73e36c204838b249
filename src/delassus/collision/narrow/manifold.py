"""From the normal of two solids to their contacts.

The points of a manifold come from clipping the two faces that look at each other, as for boxes; where they miss the
nearest point (a rim, an edge against an edge), that point is added."""

import math

from delassus.collision.layout import TRIANGLE, to_local, to_world
from delassus.collision.narrow.axes import along, triangle_normal
from delassus.collision.narrow.faces import area, looking_face
from delassus.collision.narrow.patch import FacingSide, Touch, patch
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

ALMOST = 1.0 - 1e-6  # cosine between the normal computed and a face's below which they are different directions
_AS_GOOD = 1e-9  # of the shapes' sizes: so much less may a face separate them than the normal computed


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def manifold(geometry, pair, touch, scratch, out):
    """(contacts written, lowest gap of the patch of two faces) of solids a and b that touch so; the normal of `touch`
    may be turned a little.  scratch: SolidScratch."""
    shapes, a, b = geometry.shapes, pair.a, pair.b
    size, gap, n, corners = shapes.size, touch.gap, touch.normal, scratch.corners
    scale = size[a, 0] + size[a, 1] + size[b, 0] + size[b, 1]
    snapped = False
    if shapes.kind[b] == TRIANGLE:
        snapped, mx, my, mz = _face_side(shapes, geometry.mesh, b, n[0], n[1], n[2])
        if snapped:
            n[0], n[1], n[2] = mx, my, mz
            far = along(shapes, a, b, mx, my, mz)
            # what is separated does not penetrate: it is behind the triangle, or beside it
            if far > pair.limit or (gap > _AS_GOOD * scale and far < -_AS_GOOD * scale):
                return 0, gap
            gap = far
    one, flat_one = looking_face(shapes, geometry.faces, a, n[0], n[1], n[2], corners[0])
    two, flat_two = looking_face(shapes, geometry.faces, b, -n[0], -n[1], -n[2], corners[1])
    if not snapped:
        # Iterations end a little beside the normal of a face, and a body at rest on it would tremble: so take the
        # face's own, where the gap along it is as good.
        for side in range(2):
            if (flat_one if side == 0 else flat_two) > ALMOST and (one if side == 0 else two) > 2:
                mx, my, mz = area(corners[side], one if side == 0 else two)
                length = math.copysign(math.sqrt(mx * mx + my * my + mz * mz), 1.0 - 2.0 * side)
                mx, my, mz = mx / length, my / length, mz / length
                far = along(shapes, a, b, mx, my, mz)
                if far > gap - _AS_GOOD * scale:
                    n[0], n[1], n[2], gap = mx, my, mz, far
                    break
    side_one, side_two = FacingSide(corners[0, :one], flat_one), FacingSide(corners[1, :two], flat_two)
    return patch(side_one, side_two, Touch(gap, n, touch.point), not snapped, pair, out, scratch.polygons)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _face_side(shapes, mesh, t, nx, ny, nz):
    """(snapped, normal): where the direction from a solid to triangle t leans over an edge to a neighbour, or out of
    the back, the triangle's own normal is taken instead, so that bodies slide over a flat mesh without feeling its
    edges."""
    R, edge_normal, e = shapes.rotation, mesh.edge_normal, mesh.triangle[t]
    ox, oy, oz = triangle_normal(shapes.vertex, shapes.vertex_start[t])
    x, y, z = to_local(R, t, -nx, -ny, -nz)  # from the triangle to the solid, in its frame
    leans = x * ox + y * oy + z * oz
    inside = leans > 0.0
    for i in range(3):
        # zero rows are edges without a neighbour: nothing to lean over
        inside = inside and edge_normal[e, i, 0] * x + edge_normal[e, i, 1] * y + edge_normal[e, i, 2] * z > -1e-9
    if leans > 1.0 - 1e-9 or inside:
        return False, nx, ny, nz
    x, y, z = to_world(R, t, ox, oy, oz)
    return True, -x, -y, -z
