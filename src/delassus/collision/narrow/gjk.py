"""Distance of two convex shapes of any kind (Gilbert, Johnson and Keerthi 1988): one routine for all pairs.

It serves the sweep of fast bodies, which needs the distance of two shapes along their path, and the contacts of solids
without a kernel of their own (solids.py). Spheres and capsules are points and segments with a radius around them, so
that shallow overlaps of theirs still have a distance and a direction."""

import math

import numpy as np

from delassus.collision.layout import BOX, CAPSULE, CYLINDER, PLANE, SPHERE, SUPPORT_ONLY, to_local, to_world
from delassus.collision.narrow.support_only import furthest
from delassus.collision.narrow.triangle import nearest_barycentric
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

_ROUNDS = 64
_STUCK = 3  # rounds without progress: on round sides simplices become flat, and rounding has the say
_FEW_ROUNDS = 8  # where the result is a start for more
CLOSE = 1e-12  # of the squared distance: no point of the difference is nearer than this says
_ROUNDING = 4e-16  # of the size: more digits the distance of a point does not have
_INSIDE = 1e-24  # of the squared size: the origin lies in the simplex
_CLEAR = 1e-2  # of their sizes: overlapping shapes are separated by this much more than they overlap
_CLEARER = 0.1  # … and at last by so much more
_BETTER = 1e-12  # of their sizes: a direction that separates shapes by less is no better
WITNESS = 9
"""Rows of scratch W with which nearest points are computed, too: the corners of the simplex, the points of the first
shape they come from, and its nearest point."""


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def shape_distance(shapes, a, b, W):
    """(distance, nx, ny, nz): of shapes a and b [m], and the unit vector from a to b; at most zero where they overlap,
    with a zero vector where the direction is not known.

    shapes: with positions (2, ≥ 3) and rotations (2, 3, 3) of a and b alone; W: (4, 3) or (≥ WITNESS, 3) scratch. A
    plane stands first."""
    P, R, size, kind = shapes.position, shapes.rotation, shapes.size, shapes.kind
    one, two = np.int64(0), np.int64(1)  # literals would be types of their own
    if kind[a] == PLANE:
        nx, ny, nz = R[0, 0, 2], R[0, 1, 2], R[0, 2, 2]
        x, y, z = core_point(shapes, b, two, -nx, -ny, -nz)
        d = nx * (x - P[0, 0]) + ny * (y - P[0, 1]) + nz * (z - P[0, 2])
        return d - skin(b, kind, size), nx, ny, nz
    d, nx, ny, nz = core_distance(shapes, a, b, (one, two), (0.0, 0.0, 0.0), CLOSE, W)
    return d - skin(a, kind, size) - skin(b, kind, size), nx, ny, nz


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def signed_distance(shapes, a, b, W):
    """(gap, unit normal from a to b) of solids that may overlap; the nearest point of the core of a is in W[8].  W:
    (≥ WITNESS, 3) scratch."""
    P, size, kind = shapes.position, shapes.size, shapes.kind
    d, nx, ny, nz = core_distance(shapes, a, b, (a, b), (0.0, 0.0, 0.0), CLOSE, W)
    if nx == 0.0 and ny == 0.0 and nz == 0.0:
        nx, ny, nz = P[b, 0] - P[a, 0], P[b, 1] - P[a, 1], P[b, 2] - P[a, 2]
        length = math.sqrt(nx * nx + ny * ny + nz * nz)
        nx, ny, nz = (nx / length, ny / length, nz / length) if length > 0.0 else (0.0, 0.0, 1.0)
        d, nx, ny, nz = descend(shapes, a, b, nx, ny, nz, CLOSE, W)
    return d - skin(a, kind, size) - skin(b, kind, size), nx, ny, nz


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def descend(shapes, a, b, nx, ny, nz, close, W):
    """(distance of the cores, unit normal) along a direction that separates overlapping cores by as little as any near
    n does; the nearest point of the core of a is in W[8].

    The cores are separated along n by a little more than they overlap along it; where they are nearest then is the
    next direction, as long as it separates them by less. The least overlap stays where it is: faces and pairs of edges
    are found in one round, on round sides the error shrinks by the overlap over the radii each time."""
    d, reach = _core_gap(shapes, a, b, nx, ny, nz)
    clear = _CLEAR
    for _ in range(_ROUNDS if close <= CLOSE else _FEW_ROUNDS):
        shift = max(-d, 0.0) + clear * reach
        moved = (shift * nx, shift * ny, shift * nz)
        _, mx, my, mz = core_distance(shapes, a, b, (a, b), moved, close, W)
        if mx == 0.0 and my == 0.0 and mz == 0.0:
            break
        less, _ = _core_gap(shapes, a, b, mx, my, mz)
        if less > d + max(_BETTER, close) * reach:
            d, nx, ny, nz = less, mx, my, mz
        elif clear == _CLEAR and close <= CLOSE:
            clear = _CLEARER  # directions between more distant cores have more digits
        else:
            break
    return d, nx, ny, nz


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _core_gap(shapes, a, b, nx, ny, nz):
    """(distance of the cores of a and b along the unit vector n from a to b, sum of their extents along it) [m]."""
    P = shapes.position
    x, y, z = core_point(shapes, b, b, -nx, -ny, -nz)
    ox, oy, oz = core_point(shapes, a, a, nx, ny, nz)
    gap = nx * (x - ox) + ny * (y - oy) + nz * (z - oz)
    return gap, abs(gap) + abs(nx * (P[b, 0] - P[a, 0]) + ny * (P[b, 1] - P[a, 1]) + nz * (P[b, 2] - P[a, 2]))


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def skin(s, kind, size):
    """Radius around the core of shape s [m]."""
    return size[s, 0] if kind[s] == SPHERE or kind[s] == CAPSULE else 0.0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def core_point(shapes, s, at, dx, dy, dz):
    """The point of the core of shape s, placed at pose number `at`, that is furthest along d."""
    P, R, size, kind = shapes.position, shapes.rotation, shapes.size, shapes.kind
    vertex, vertex_start = shapes.vertex, shapes.vertex_start
    if kind[s] == SPHERE:
        return P[at, 0], P[at, 1], P[at, 2]
    lx, ly, lz = to_local(R, at, dx, dy, dz)
    x, y, z = 0.0, 0.0, 0.0
    if kind[s] == BOX:
        x, y, z = math.copysign(size[s, 0], lx), math.copysign(size[s, 1], ly), math.copysign(size[s, 2], lz)
    elif kind[s] == CAPSULE:
        z = math.copysign(size[s, 1], lz)
    elif kind[s] == CYLINDER:
        z = math.copysign(size[s, 1], lz)
        across = math.hypot(lx, ly)
        if across > 0.0:
            x, y = size[s, 0] * lx / across, size[s, 0] * ly / across
    elif kind[s] == SUPPORT_ONLY:
        x, y, z = furthest(shapes.supports[s], size, s, lx, ly, lz)
    else:  # hull, triangle
        most = -math.inf
        for v in range(vertex_start[s], vertex_start[s + 1]):
            reach = lx * vertex[v, 0] + ly * vertex[v, 1] + lz * vertex[v, 2]
            if reach > most:
                most, x, y, z = reach, vertex[v, 0], vertex[v, 1], vertex[v, 2]
    x, y, z = to_world(R, at, x, y, z)
    return P[at, 0] + x, P[at, 1] + y, P[at, 2] + z


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def core_distance(shapes, a, b, at, moved, close, W):
    """(distance, unit vector) of the cores of a and of b, placed at the two poses `at`, b moved by `moved` (3 numbers):
    the point of the difference B − A nearest to the origin, by simplices W of its points.  The distance is the largest
    lower bound seen, so that advancing by it never goes too far; close: of its square, where to stop."""
    P, (at_a, at_b), (sx, sy, sz) = shapes.position, at, moved
    vx, vy, vz = P[at_b, 0] - P[at_a, 0] + sx, P[at_b, 1] - P[at_a, 1] + sy, P[at_b, 2] - P[at_a, 2] + sz
    if vx == 0.0 and vy == 0.0 and vz == 0.0:
        vx = 1.0
    count, stuck, scale = 0, 0, 0.0
    bound, bx, by, bz = 0.0, 0.0, 0.0, 0.0
    for _ in range(_ROUNDS):
        x, y, z = core_point(shapes, b, at_b, -vx, -vy, -vz)
        ox, oy, oz = core_point(shapes, a, at_a, vx, vy, vz)
        x, y, z = x + sx - ox, y + sy - oy, z + sz - oz
        square, along = vx * vx + vy * vy + vz * vz, vx * x + vy * y + vz * z
        scale = max(scale, x * x + y * y + z * z)
        length = math.sqrt(square)
        if along > bound * length:
            bound, bx, by, bz = along / length, vx / length, vy / length, vz / length
        if count and square - along <= close * square + _ROUNDING * length * math.sqrt(scale):
            break
        for k in range(count):
            if W[k, 0] == x and W[k, 1] == y and W[k, 2] == z:
                return bound, bx, by, bz
        W[count, 0], W[count, 1], W[count, 2] = x, y, z
        if len(W) >= WITNESS:
            W[4 + count, 0], W[4 + count, 1], W[4 + count, 2] = ox, oy, oz
        count, vx, vy, vz = _nearest(count + 1, W)
        if count > 1 and vx * vx + vy * vy + vz * vz >= square:
            stuck += 1
            if stuck == _STUCK:
                break
        if vx * vx + vy * vy + vz * vz <= _INSIDE * scale:
            # a bound above rounding is a proof: then the simplex is flat and its inside an error
            if bound * bound > _INSIDE * scale:
                break
            return 0.0, 0.0, 0.0, 0.0
    return bound, bx, by, bz


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _nearest(count, W):
    """(corners left, x, y, z): the point of the simplex W[:count] nearest to the origin; W keeps what it needs."""
    if count == 4:
        return _nearest_of_four(W)
    l0, l1, l2 = 1.0, 0.0, 0.0
    i, j, k = np.int64(0), np.int64(1), np.int64(2)  # literals would be types of their own, and compile once more
    if count == 2:
        ux, uy, uz = W[1, 0] - W[0, 0], W[1, 1] - W[0, 1], W[1, 2] - W[0, 2]
        square = ux * ux + uy * uy + uz * uz
        t = -(W[0, 0] * ux + W[0, 1] * uy + W[0, 2] * uz) / square if square > 0.0 else 0.0
        l1 = min(max(t, 0.0), 1.0)
        l0 = 1.0 - l1
    elif count == 3:
        l0, l1, l2 = _weights(W, i, j, k)
    return _keep(W, l0, l1, l2, i, j, k)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _weights(W, i, j, k):
    """Barycentric weights of the point of triangle (i, j, k) nearest to the origin."""
    u = (W[j, 0] - W[i, 0], W[j, 1] - W[i, 1], W[j, 2] - W[i, 2])
    w = (W[k, 0] - W[i, 0], W[k, 1] - W[i, 1], W[k, 2] - W[i, 2])
    return nearest_barycentric((-W[i, 0], -W[i, 1], -W[i, 2]), u, w)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _keep(W, l0, l1, l2, i, j, k):
    """Corners i < j < k with positive weights moved to the front of W: (their number, the weighted point)."""
    x = y = z = 0.0
    left = 0
    for n in range(3):
        c, weight = (i, l0) if n == 0 else ((j, l1) if n == 1 else (k, l2))
        if weight > 0.0:
            x, y, z = x + weight * W[c, 0], y + weight * W[c, 1], z + weight * W[c, 2]
            W[left, 0], W[left, 1], W[left, 2] = W[c, 0], W[c, 1], W[c, 2]
            if len(W) >= WITNESS:
                for m in range(3):
                    W[8, m] = weight * W[4 + c, m] + (W[8, m] if left else 0.0)
                    W[4 + left, m] = W[4 + c, m]
            left += 1
    return left, x, y, z


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _nearest_of_four(W):
    """A tetrahedron: inside it, or the nearest of its faces."""
    inside = True
    best, m0, m1, m2 = math.inf, 1.0, 0.0, 0.0
    bi, bj, bk = np.int64(0), np.int64(1), np.int64(2)
    for f in range(4):
        i, j, k = (1 if f == 0 else 0), (2 if f <= 1 else 1), (3 if f <= 2 else 2)
        ux, uy, uz = W[j, 0] - W[i, 0], W[j, 1] - W[i, 1], W[j, 2] - W[i, 2]
        wx, wy, wz = W[k, 0] - W[i, 0], W[k, 1] - W[i, 1], W[k, 2] - W[i, 2]
        nx, ny, nz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
        own = nx * (W[f, 0] - W[i, 0]) + ny * (W[f, 1] - W[i, 1]) + nz * (W[f, 2] - W[i, 2])
        origin = -(nx * W[i, 0] + ny * W[i, 1] + nz * W[i, 2])
        inside = inside and own * origin > 0.0
        l0, l1, l2 = _weights(W, i, j, k)
        x = l0 * W[i, 0] + l1 * W[j, 0] + l2 * W[k, 0]
        y = l0 * W[i, 1] + l1 * W[j, 1] + l2 * W[k, 1]
        z = l0 * W[i, 2] + l1 * W[j, 2] + l2 * W[k, 2]
        if x * x + y * y + z * z < best:
            best, m0, m1, m2 = x * x + y * y + z * z, l0, l1, l2
            bi, bj, bk = np.int64(i), np.int64(j), np.int64(k)
    if inside:
        return 4, 0.0, 0.0, 0.0
    return _keep(W, m0, m1, m2, bi, bj, bk)
