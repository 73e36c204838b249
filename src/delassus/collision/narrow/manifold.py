"""From the nearest points of two shapes to their contacts, for the pairs without a kernel (general.py).

The other points of a manifold come from clipping the two faces that look at each other, as for boxes; where they miss
the nearest point (a rim, an edge against an edge), that point is added."""

import math

import numpy as np

from delassus.collision.layout import (
    BOX,
    CONVEX,
    COUNT,
    CYLINDER,
    FAMILY,
    GIVEN,
    MARGIN,
    SLOT,
    TRIANGLE,
    pair_at,
    to_local,
    to_world,
)
from delassus.collision.narrow.faces import area, looking_face, support
from delassus.collision.narrow.families import GENERAL
from delassus.collision.narrow.gjk import WITNESS, signed_distance
from delassus.collision.narrow.patch import patch
from delassus.kernel import njit
from delassus.linalg.borrowed import BORROWED

ALMOST = 1.0 - 1e-6  # cosine between coal's normal and a face's below which they are different directions
TRUSTED = 1e-4  # of the shapes' reach: the depth EPA reports must be the overlap along its normal, this closely


@njit(cache=True, error_model="numpy", **BORROWED)
def choose(count, pairs, dealt, geometry, sure, corners, chosen):
    """Rows (shape of the lower kind, other shape, pair) of chosen for the GENERAL pairs that no simple axis separates
    by their margins and `sure` [m]: the line of centres, and the face of each that looks at the other.  Returns their
    number; the others have no contacts.  corners: (2, ·, 3) scratch."""
    position, R, size, kind, vertex, vertex_start, face, face_start, shape_face, face_normal, _, _, given = geometry
    n = 0
    for p in range(count):
        if dealt[p, FAMILY] != GENERAL:
            continue
        a, b, limit, _ = pair_at(position, kind, pairs, dealt, p)
        limit += sure
        x, y, z = position[b, 0] - position[a, 0], position[b, 1] - position[a, 1], position[b, 2] - position[a, 2]
        d = math.sqrt(x * x + y * y + z * z)
        far = False
        if d > 0.0:
            for axis in range(3):
                nx, ny, nz = x / d, y / d, z / d
                if axis:
                    s, sign = (a, 1.0) if axis == 1 else (b, -1.0)
                    m, _ = looking_face(
                        position, R, size, kind, vertex, vertex_start, face, face_start, shape_face, face_normal, given,
                        s, sign * nx, sign * ny, sign * nz, corners[0],
                    )  # fmt: skip
                    if m < 3:
                        continue
                    nx, ny, nz = area(corners[0])
                    length = sign * math.sqrt(nx * nx + ny * ny + nz * nz)
                    nx, ny, nz = nx / length, ny / length, nz / length
                gap = _along(position, R, size, kind, vertex, vertex_start, given, a, b, nx, ny, nz)
                if gap > limit:
                    far = True
                    break
        if not far:
            chosen[n, 0], chosen[n, 1], chosen[n, 2] = a, b, p
            n += 1
    return n


@njit(cache=True, error_model="numpy", **BORROWED)
def _along(position, R, size, kind, vertex, vertex_start, given, a, b, nx, ny, nz):
    """Distance of shapes a and b along the unit vector n from a to b: negative where they overlap [m]."""
    x, y, z = position[b, 0] - position[a, 0], position[b, 1] - position[a, 1], position[b, 2] - position[a, 2]
    reach = support(R, size, kind, vertex, vertex_start, given, a, nx, ny, nz)
    reach += support(R, size, kind, vertex, vertex_start, given, b, -nx, -ny, -nz)
    return nx * x + ny * y + nz * z - reach


@njit(cache=True, error_model="numpy")
def measure_given(n, chosen, geometry, best, waiting):
    """Gap, normal and point midway of the pairs with a GIVEN shape, into best (n, 7); the others of the n pairs go to
    the front of waiting, for coal.  Returns their number."""
    position, R, size, kind, vertex, vertex_start, _, _, _, _, _, _, given = geometry
    others = 0
    P, Q, W = np.empty((2, 3)), np.empty((2, 3, 3)), np.zeros((WITNESS, 3))
    for k in range(n):
        if kind[chosen[k, 1]] != GIVEN:  # which is the highest kind
            waiting[others] = k
            others += 1
            continue
        for side in range(2):
            s = chosen[k, side]
            for i in range(3):
                P[side, i] = position[s, i]
                for j in range(3):
                    Q[side, i, j] = R[s, i, j]
        signed_distance(chosen[k, 0], chosen[k, 1], kind, size, vertex, vertex_start, given, P, Q, W, best[k])
    return others


@njit(cache=True, error_model="numpy", **BORROWED)
def judge(waiting, chosen, geometry, radius, asked, best):
    """Take coal's answers for the pairs waiting (rows of asked: gap, normal, nearest points) into best (n, 7): gap,
    normal, point midway. Pairs whose answer cannot be trusted go to the front of waiting; returns their number.

    Of penetrating shapes the gap is measured by us, along the normal found: if that is not the best one, the gap is
    still what it takes to separate them this way."""
    position, R, size, kind, vertex, vertex_start, _, _, _, _, _, _, given = geometry
    again = 0
    for w in range(len(waiting)):
        k = waiting[w]
        a, b = chosen[k, 0], chosen[k, 1]
        gap, better = asked[k, 0], True
        if not gap > 0.0:
            nx, ny, nz = asked[k, 1], asked[k, 2], asked[k, 3]
            along = _along(position, R, size, kind, vertex, vertex_start, given, a, b, nx, ny, nz)
            if not abs(along - gap) <= TRUSTED * (radius[a] + radius[b]):
                waiting[again] = k
                again += 1
            gap, better = along, math.isfinite(along) and not along <= best[k, 0]  # best is NaN at first
        if better:
            best[k, 0] = gap
            for i in range(3):
                best[k, 1 + i] = asked[k, 1 + i]
                best[k, 4 + i] = 0.5 * (asked[k, 4 + i] + asked[k, 7 + i])
    return again


@njit(cache=True, error_model="numpy", **BORROWED)
def try_faces(n, chosen, geometry, best):
    """Put the normal of a flat face in the place of coal's where solids overlap and it separates them by less.

    EPA has nothing to start from where two faces just touch: of hulls that overlap and tilt by 1e-12 … 1e-6 a third got
    a wrong normal and a depth of the size of the bodies, of cylinders end on end a half. Where two blocks of an arch
    shared an edge exactly it had no answer at all."""
    position, R, size, kind, vertex, vertex_start, _, _, shape_face, face_normal, _, _, given = geometry
    for k in range(n):
        a, b = chosen[k, 0], chosen[k, 1]
        if best[k, 0] > 0.0 or kind[b] == TRIANGLE:
            continue
        for side in range(2):
            s, sign = (a, 1.0) if side == 0 else (b, -1.0)
            sides = 6 if kind[s] == BOX else 2 if kind[s] == CYLINDER else shape_face[s + 1] - shape_face[s]
            for f in range(sides):  # none of a capsule
                if kind[s] != CONVEX:
                    axis, turn = f // 2 if kind[s] == BOX else 2, sign * (1.0 - 2.0 * (f % 2))
                    nx, ny, nz = turn * R[s, 0, axis], turn * R[s, 1, axis], turn * R[s, 2, axis]
                else:
                    own = face_normal[shape_face[s] + f]
                    nx, ny, nz = to_world(R, s, sign * own[0], sign * own[1], sign * own[2])
                along = _along(position, R, size, kind, vertex, vertex_start, given, a, b, nx, ny, nz)
                if not along <= best[k, 0]:  # NaN where coal found nothing
                    best[k, 0], best[k, 1], best[k, 2], best[k, 3] = along, nx, ny, nz


@njit(cache=True, error_model="numpy", **BORROWED)
def write_manifolds(n, chosen, geometry, best, tolerance, corners, work, dealt, out):
    """The contacts of the n pairs chosen, into their slots of `out`; returns their number.

    tolerance: of coal [m]; corners: (2, ·, 3) and work: (2, ·, 4) scratch for the corners of a face and of two."""
    position, R, size, kind, vertex, vertex_start, face, face_start, shape_face, face_normal, edges, triangle, given = (
        geometry
    )
    total = 0
    for k in range(n):
        a, b, p = chosen[k, 0], chosen[k, 1], chosen[k, 2]
        gap, nx, ny, nz = best[k, 0], best[k, 1], best[k, 2], best[k, 3]
        limit = position[a, MARGIN] + position[b, MARGIN]
        if gap > limit:
            continue
        snapped = False
        if kind[b] == TRIANGLE:
            snapped, mx, my, mz = _face_side(R, vertex, vertex_start, edges, triangle, b, nx, ny, nz)
            if snapped:
                nx, ny, nz = mx, my, mz
                along = _along(position, R, size, kind, vertex, vertex_start, given, a, b, nx, ny, nz)
                # what is apart does not penetrate: it is behind the triangle, or beside it
                if along > limit or (gap > tolerance and along < -tolerance):
                    continue
                gap = along
        one, flat_one = looking_face(
            position, R, size, kind, vertex, vertex_start, face, face_start, shape_face, face_normal, given, a, nx, ny,
            nz, corners[0],
        )  # fmt: skip
        two, flat_two = looking_face(
            position, R, size, kind, vertex, vertex_start, face, face_start, shape_face, face_normal, given, b, -nx,
            -ny, -nz, corners[1],
        )  # fmt: skip
        if not snapped:
            # Iterations end a little beside the normal of a face, and a body at rest on it would tremble: so take the
            # face's own, where the gap along it is as good.
            for side in range(2):
                if (flat_one if side == 0 else flat_two) > ALMOST and (one if side == 0 else two) > 2:
                    mx, my, mz = area(corners[side])
                    length = math.copysign(math.sqrt(mx * mx + my * my + mz * mz), 1.0 - 2.0 * side)
                    mx, my, mz = mx / length, my / length, mz / length
                    along = _along(position, R, size, kind, vertex, vertex_start, given, a, b, mx, my, mz)
                    if along > gap - tolerance:
                        nx, ny, nz, gap = mx, my, mz, along
                        break
        best[k, 1], best[k, 2], best[k, 3] = nx, ny, nz
        scale = _span(corners[0], one) + _span(corners[1], two) + abs(gap)
        found = patch(
            corners[0, :one], corners[1, :two], flat_one, flat_two, best[k, 1:4], best[k, 4:7], gap, limit, scale,
            not snapped, out, dealt[p, SLOT], work,
        )  # fmt: skip
        dealt[p, COUNT] = found
        total += found
    return total


@njit(cache=True, error_model="numpy", **BORROWED)
def _span(corners, count):
    """Largest coordinate of the corners seen from the first [m]."""
    most = 0.0
    for c in range(1, count):
        for i in range(3):
            most = max(most, abs(corners[c, i] - corners[0, i]))
    return most


@njit(cache=True, error_model="numpy", **BORROWED)
def _face_side(R, vertex, vertex_start, edges, triangle, t, nx, ny, nz):
    """(snapped, normal): where the direction from a solid to triangle t leans over an edge to a neighbour, or out of
    the back, the triangle's own normal is taken instead, so that bodies slide over a flat mesh without feeling its
    edges."""
    v, e = vertex_start[t], triangle[t]
    ox, oy, oz = area(vertex[v : v + 3])
    length = math.sqrt(ox * ox + oy * oy + oz * oz)
    ox, oy, oz = ox / length, oy / length, oz / length
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
