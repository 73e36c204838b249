"""Boxes against boxes: separating axes, then the manifold of two faces by clipping or of two edges by nearest points.

Penetrating boxes: the separating-axis theorem gives the shortest way out exactly, but for FACE_BIAS: an edge axis, or a
face of the second box, must be better by that much to win. Without it a box at rest on another would flip between
manifolds of four points and of one (ODE's `dBoxBox2` has a fudge factor for the same reason).
Separated boxes: where the clipped faces (or the edges) reach the separation, it is the Euclidean distance. Where they
do not, the nearest points are a corner and something, out by trying all corners."""

import math

import numpy as np

from delassus.collision.layout import put, to_local, to_world
from delassus.collision.narrow.axes import EdgeAxis
from delassus.collision.narrow.distance import Segment, point_box, segments_nearest
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

FACE_BIAS = 1e-4  # of the smallest half edge
CLIP_SLACK = 1e-6
"""Of the half edges: corners this far outside count as inside, so that aligned boxes keep their features."""
EDGES, CORNER = 1 << 14, 1 << 15  # feature bits


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def box_box(shapes, pair, out, scratch):
    """Boxes a and b.  Returns the number of contacts (≤ 8) written.  scratch: (≥ 2, ≥ 24, 4)."""
    position, R, size, a, b = shapes.position, shapes.rotation, shapes.size, pair.a, pair.b
    smallest = min(size[a, 0], size[a, 1], size[a, 2], size[b, 0], size[b, 1], size[b, 2])
    bias = FACE_BIAS * smallest
    tx, ty, tz = _centres(position, a, b)
    s_a, axis_a = _best_face(R, size, a, b, tx, ty, tz)
    s_b, axis_b = _best_face(R, size, b, a, -tx, -ty, -tz)
    across = _best_edges(R, size, a, b, tx, ty, tz)
    if max(s_a, s_b, across.distance) > pair.limit:
        return 0
    face = max(s_a, s_b)
    count, exact = 0, True
    if across.distance > face + bias:
        s, t, d = _edge_points(shapes, pair, across, scratch[0])
        exact = across.distance <= 0.0 or d <= across.distance + 1e-9 * smallest
        if exact:
            count = _put_edges(shapes, pair, across, s, t, out, scratch[0])
    else:
        flip = s_b > s_a + bias
        count, lowest = _faces(shapes, pair, axis_b if flip else axis_a, flip, out, scratch)
        exact = face <= 0.0 or lowest <= face + 1e-9 * smallest
    if not exact:
        count = _nearest_corner(shapes, pair, across, out, scratch[0])
    return count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _centres(position, a, b):
    """From the centre of a to that of b."""
    return position[b, 0] - position[a, 0], position[b, 1] - position[a, 1], position[b, 2] - position[a, 2]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _best_face(R, size, a, b, tx, ty, tz):
    """(separation, axis) of the face of box a that separates it most from box b at t = p_b − p_a."""
    best, axis = -math.inf, 0
    for i in range(3):
        ax, ay, az = R[a, 0, i], R[a, 1, i], R[a, 2, i]
        s = abs(ax * tx + ay * ty + az * tz) - size[a, i]
        for j in range(3):
            s -= abs(ax * R[b, 0, j] + ay * R[b, 1, j] + az * R[b, 2, j]) * size[b, j]
        if s > best:
            best, axis = s, i
    return best, axis


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _best_edges(R, size, a, b, tx, ty, tz):
    """The best axis across two edges; its edges are numbered by the axis they are along."""
    best, bi, bj = -math.inf, np.int64(0), np.int64(0)
    bx, by, bz = 0.0, 0.0, 1.0
    for i in range(3):
        for j in range(3):
            x = R[a, 1, i] * R[b, 2, j] - R[a, 2, i] * R[b, 1, j]
            y = R[a, 2, i] * R[b, 0, j] - R[a, 0, i] * R[b, 2, j]
            z = R[a, 0, i] * R[b, 1, j] - R[a, 1, i] * R[b, 0, j]
            length = math.sqrt(x * x + y * y + z * z)
            if length < 1e-6:
                continue  # parallel edges: a face axis does as well
            x, y, z = x / length, y / length, z / length
            s = x * tx + y * ty + z * tz
            if s < 0.0:
                x, y, z, s = -x, -y, -z, -s
            for m in range(3):
                s -= size[a, m] * abs(x * R[a, 0, m] + y * R[a, 1, m] + z * R[a, 2, m])
                s -= size[b, m] * abs(x * R[b, 0, m] + y * R[b, 1, m] + z * R[b, 2, m])
            if s > best:
                best, bi, bj = s, np.int64(i), np.int64(j)
                bx, by, bz = x, y, z
    return EdgeAxis(best, bx, by, bz, bi, bj)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _faces(shapes, pair, axis, flip, out, work):
    """Clip the face of box b that looks at face `axis` of box a to that face; flip: with the boxes exchanged.
    (contacts written, lowest gap).

    In the frame of a: u, v span its face, w points out of it. A corner of the result is where two lines meet, numbered
    0–3 for edges of b's face and 4–7 for sides of a's: that pair is its feature, the same from step to step."""
    position, R, size = shapes.position, shapes.rotation, shapes.size
    a, b, m = (pair.b, pair.a, -1.0) if flip else (pair.a, pair.b, 1.0)
    tx, ty, tz = _centres(position, pair.a, pair.b)
    tx, ty, tz = m * tx, m * ty, m * tz
    u, v = (axis + 1) % 3, (axis + 2) % 3
    hu, hv, hw = size[a, u], size[a, v], size[a, axis]
    sign = 1.0 if R[a, 0, axis] * tx + R[a, 1, axis] * ty + R[a, 2, axis] * tz >= 0.0 else -1.0
    nx, ny, nz = sign * R[a, 0, axis], sign * R[a, 1, axis], sign * R[a, 2, axis]
    facing, most = 0, -1.0
    for j in range(3):
        c = abs(nx * R[b, 0, j] + ny * R[b, 1, j] + nz * R[b, 2, j])
        if c > most + 1e-9:
            facing, most = j, c
    side = -1.0 if nx * R[b, 0, facing] + ny * R[b, 1, facing] + nz * R[b, 2, facing] > 0.0 else 1.0
    p, q = (facing + 1) % 3, (facing + 2) % 3
    polygon, other, count = work[0], work[1], np.int64(4)
    for corner in range(4):
        cp = size[b, p] if corner == 0 or corner == 3 else -size[b, p]
        cq = size[b, q] if corner < 2 else -size[b, q]
        cf = side * size[b, facing]
        x = tx + cp * R[b, 0, p] + cq * R[b, 0, q] + cf * R[b, 0, facing]
        y = ty + cp * R[b, 1, p] + cq * R[b, 1, q] + cf * R[b, 1, facing]
        z = tz + cp * R[b, 2, p] + cq * R[b, 2, q] + cf * R[b, 2, facing]
        polygon[corner, 0] = x * R[a, 0, u] + y * R[a, 1, u] + z * R[a, 2, u]
        polygon[corner, 1] = x * R[a, 0, v] + y * R[a, 1, v] + z * R[a, 2, v]
        polygon[corner, 2] = x * nx + y * ny + z * nz - hw
        polygon[corner, 3] = corner  # the line from this corner to the next
    for line in range(4):
        along = 0 if line < 2 else 1
        count = _clip(polygon, count, along, 1.0 if line % 2 else -1.0, hu if line < 2 else hv, 4.0 + line, other)
        polygon, other = other, polygon
    written, lowest = 0, math.inf
    px, py, pz = position[a, 0], position[a, 1], position[a, 2]
    for c in range(count):
        x, y, gap = polygon[c, 0], polygon[c, 1], polygon[c, 2]
        lowest = min(lowest, gap)
        if gap > pair.limit or written == 8:
            continue
        at = hw + 0.5 * gap
        # the two lines that meet here are this corner's own and the one before it
        one, two = int(polygon[c, 3]), int(polygon[c - 1 if c > 0 else count - 1, 3])
        feature = min(one, two) * 8 + max(one, two) + 64 * (axis + (3 if sign > 0.0 else 0)) + (512 if flip else 0)
        feature += 1024 * (facing + (3 if side > 0.0 else 0))
        point = (
            px + x * R[a, 0, u] + y * R[a, 0, v] + at * nx,
            py + x * R[a, 1, u] + y * R[a, 1, v] + at * ny,
            pz + x * R[a, 2, u] + y * R[a, 2, v] + at * nz,
        )
        put(out, pair.row + written, (m * nx, m * ny, m * nz), point, gap, feature)
        written += 1
    return written, lowest


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _clip(polygon, count, along, sign, half, line, out):
    """Keep the part of a polygon with sign · x[along] ≤ half (Sutherland–Hodgman).  Column 3: the line that starts at
    each corner.  Returns the number of corners of the result."""
    corners, limit = 0, half * (1.0 + CLIP_SLACK)
    for c in range(count):
        n = c + 1 if c + 1 < count else 0
        dc, dn = sign * polygon[c, along], sign * polygon[n, along]
        if dc <= limit:
            out[corners, 0], out[corners, 1], out[corners, 2] = polygon[c, 0], polygon[c, 1], polygon[c, 2]
            out[corners, 3] = polygon[c, 3]
            corners += 1
        if (dc <= limit) != (dn <= limit):
            f = min(max((half - dc) / (dn - dc), 0.0), 1.0)
            for i in range(3):
                out[corners, i] = polygon[c, i] + f * (polygon[n, i] - polygon[c, i])
            # leaving: the next line is the side; coming back: it is the rest of this edge
            out[corners, 3] = line if dc <= limit else polygon[c, 3]
            corners += 1
    return corners


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _edge_points(shapes, pair, across, work):
    """Nearest points of edge i of box a and edge j of box b, furthest along the axis: (s, t, distance); work rows 0 and
    1 receive the middles of the two edges, relative to p_a."""
    position, R, size, a, b = shapes.position, shapes.rotation, shapes.size, pair.a, pair.b
    ex, ey, ez = across.x, across.y, across.z
    i, j = across.one, across.two
    for c in range(3):
        work[0, c], work[1, c] = 0.0, position[b, c] - position[a, c]
    for m in range(3):
        if m != i:
            h = math.copysign(size[a, m], ex * R[a, 0, m] + ey * R[a, 1, m] + ez * R[a, 2, m])
            for c in range(3):
                work[0, c] += h * R[a, c, m]
        if m != j:
            h = math.copysign(size[b, m], ex * R[b, 0, m] + ey * R[b, 1, m] + ez * R[b, 2, m])
            for c in range(3):
                work[1, c] -= h * R[b, c, m]
    one = Segment(work[0, 0], work[0, 1], work[0, 2], R[a, 0, i], R[a, 1, i], R[a, 2, i], size[a, i])
    two = Segment(work[1, 0], work[1, 1], work[1, 2], R[b, 0, j], R[b, 1, j], R[b, 2, j], size[b, j])
    s, t = segments_nearest(one, two)
    square = 0.0
    for c in range(3):
        square += (work[1, c] + t * R[b, c, j] - work[0, c] - s * R[a, c, i]) ** 2
    return s, t, math.sqrt(square)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _put_edges(shapes, pair, across, s, t, out, work):
    """The contact of two edges, after _edge_points.  Returns the number of contacts written."""
    position, R, a, b = shapes.position, shapes.rotation, pair.a, pair.b
    ex, ey, ez = across.x, across.y, across.z
    i, j, gap = across.one, across.two, across.distance
    if gap > pair.limit:
        return 0
    feature, bit = EDGES + 3 * i + j, 16
    for m in range(3):
        if m != i:
            feature += bit if ex * R[a, 0, m] + ey * R[a, 1, m] + ez * R[a, 2, m] > 0.0 else 0
            bit *= 2
        if m != j:
            feature += bit if ex * R[b, 0, m] + ey * R[b, 1, m] + ez * R[b, 2, m] > 0.0 else 0
            bit *= 2
    x = position[a, 0] + 0.5 * (work[0, 0] + s * R[a, 0, i] + work[1, 0] + t * R[b, 0, j])
    y = position[a, 1] + 0.5 * (work[0, 1] + s * R[a, 1, i] + work[1, 1] + t * R[b, 1, j])
    z = position[a, 2] + 0.5 * (work[0, 2] + s * R[a, 2, i] + work[1, 2] + t * R[b, 2, j])
    put(out, pair.row, (ex, ey, ez), (x, y, z), gap, feature)
    return 1


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _nearest_corner(shapes, pair, across, out, work):
    """Separated boxes: the nearest of all corners to the other box, and of the best pair of edges.  Returns the number
    of contacts written."""
    position, R, size, a, b = shapes.position, shapes.rotation, shapes.size, pair.a, pair.b
    s, t, best = _edge_points(shapes, pair, across, work)
    feature = -1
    ox = oy = oz = cx = cy = cz = 0.0
    for swap in range(2):
        owner, other = (a, b) if swap else (b, a)
        tx, ty, tz = _centres(position, other, owner)
        for corner in range(8):
            hx = size[owner, 0] if corner & 1 else -size[owner, 0]
            hy = size[owner, 1] if corner & 2 else -size[owner, 1]
            hz = size[owner, 2] if corner & 4 else -size[owner, 2]
            wx, wy, wz = to_world(R, owner, hx, hy, hz)
            x, y, z = to_local(R, other, tx + wx, ty + wy, tz + wz)
            d, nx, ny, nz = point_box(x, y, z, size[other, 0], size[other, 1], size[other, 2])
            if d < best:
                best, feature = d, CORNER + 8 * swap + corner
                ox, oy, oz = to_world(R, other, nx, ny, nz)
                cx, cy, cz = position[owner, 0] + wx, position[owner, 1] + wy, position[owner, 2] + wz
    if best > pair.limit:
        return 0
    if feature < 0:
        # the segment between the two edges, which need not be along e when an end of an edge is nearest
        i, j = across.one, across.two
        x = work[1, 0] + t * R[b, 0, j] - work[0, 0] - s * R[a, 0, i]
        y = work[1, 1] + t * R[b, 1, j] - work[0, 1] - s * R[a, 1, i]
        z = work[1, 2] + t * R[b, 2, j] - work[0, 2] - s * R[a, 2, i]
        return _put_edges(shapes, pair, EdgeAxis(best, x / best, y / best, z / best, i, j), s, t, out, work)
    m = -1.0 if feature & 8 else 1.0
    point = (cx - 0.5 * best * ox, cy - 0.5 * best * oy, cz - 0.5 * best * oz)
    put(out, pair.row, (m * ox, m * oy, m * oz), point, best, np.int64(feature))
    return 1
