"""A plane against everything solid: a contact at each corner or end that is near enough."""

import math

import numpy as np

from delassus.collision.layout import CAPSULE, put, to_local
from delassus.collision.narrow.support_only import furthest, support_face
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

STANDING = 1e-4  # sine of the tilt below which a cylinder stands on its end
HULL_POINTS = 8  # most contacts of a hull on a plane


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def plane_box(shapes, pair, out, scratch):
    """Plane a against box b: the four deepest corners, those of one face (the one facing the plane most), where they
    are near enough.  Returns the number of contacts written; so do the others."""
    size, b = shapes.size, pair.b
    nx, ny, nz, d = _height(shapes, pair)
    lx, ly, lz = to_local(shapes.rotation, b, nx, ny, nz)
    hx, hy, hz = size[b, 0], size[b, 1], size[b, 2]
    # Changing the axis with the largest |n_i| h_i costs the most height: fix it, and the other four are the deepest.
    wx, wy, wz = abs(lx) * hx, abs(ly) * hy, abs(lz) * hz
    fixed = 0 if wx >= wy and wx >= wz else (1 if wy >= wz else 2)
    count = 0
    for corner in range(8):
        sx = hx if corner & 1 else -hx
        sy = hy if corner & 2 else -hy
        sz = hz if corner & 4 else -hz
        if (
            (fixed == 0 and (sx > 0.0) == (lx > 0.0))
            or (fixed == 1 and (sy > 0.0) == (ly > 0.0))
            or (fixed == 2 and (sz > 0.0) == (lz > 0.0))
        ):
            continue
        gap = d + sx * lx + sy * ly + sz * lz
        if gap > pair.limit:
            continue
        _put_corner(shapes, b, (sx, sy, sz), (nx, ny, nz), gap, corner, out, pair.row + count)
        count += 1
    return count


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def plane_round(shapes, pair, out, scratch):
    """Plane a against capsule or cylinder b."""
    if shapes.kind[pair.b] == CAPSULE:
        return _capsule(shapes, pair, out)
    return _cylinder(shapes, pair, out)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _capsule(shapes, pair, out):
    """The lowest point under each end of the axis."""
    position, R, size, b = shapes.position, shapes.rotation, shapes.size, pair.b
    nx, ny, nz, d = _height(shapes, pair)
    ax, ay, az = R[b, 0, 2], R[b, 1, 2], R[b, 2, 2]
    cx, cy, cz = position[b, 0], position[b, 1], position[b, 2]
    r, count = size[b, 0], 0
    for end in range(2):
        h = size[b, 1] if end else -size[b, 1]
        gap = d + h * (nx * ax + ny * ay + nz * az) - r
        if gap <= pair.limit:
            at = r + 0.5 * gap
            point = (cx + h * ax - at * nx, cy + h * ay - at * ny, cz + h * az - at * nz)
            put(out, pair.row + count, (nx, ny, nz), point, gap, end)
            count += 1
    return count


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _cylinder(shapes, pair, out):
    """Standing: four points of the rim, fixed to the body so that they do not wander. Otherwise the lowest point of
    each rim and two more of the lower one, 120 degrees away."""
    b = pair.b
    nx, ny, nz, d = _height(shapes, pair)
    r, h = shapes.size[b, 0], shapes.size[b, 1]
    lx, ly, lz = to_local(shapes.rotation, b, nx, ny, nz)
    low = -h if lz > 0.0 else h
    tilt = math.sqrt(lx * lx + ly * ly)
    standing = tilt < STANDING
    if standing:
        ux, uy = 1.0, 0.0
    else:
        ux, uy = -lx / tilt, -ly / tilt
    count = 0
    for i in range(4):
        z, end = low, 0
        if standing:
            c, s = (1.0, 0.0) if i == 0 else ((0.0, 1.0) if i == 1 else ((-1.0, 0.0) if i == 2 else (0.0, -1.0)))
            feature = 8 + i
        else:
            c, s = (1.0, 0.0) if i < 2 else (-0.5, math.sqrt(0.75) if i == 2 else -math.sqrt(0.75))
            feature = i
            if i == 1:
                z = -low
        if z > 0.0:
            end = 16
        x, y = r * (c * ux - s * uy), r * (s * ux + c * uy)
        gap = d + x * lx + y * ly + z * lz
        if gap > pair.limit:
            continue
        _put_corner(shapes, b, (x, y, z), (nx, ny, nz), gap, feature + end, out, pair.row + count)
        count += 1
    return count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def plane_hull(shapes, pair, out, scratch):
    """Plane a against hull b: all near corners when they are few; otherwise the deepest and the outermost in directions
    fixed to the body. Which are chosen stands in their rows of out until they are written."""
    vertex, b, limit, k = shapes.vertex, pair.b, pair.limit, pair.row
    nx, ny, nz, d = _height(shapes, pair)
    lx, ly, lz = to_local(shapes.rotation, b, nx, ny, nz)
    first, last = shapes.vertex_start[b], shapes.vertex_start[b + 1]
    near, deepest, lowest = 0, first, math.inf
    for v in range(first, last):
        gap = d + lx * vertex[v, 0] + ly * vertex[v, 1] + lz * vertex[v, 2]
        if gap <= limit:
            if near < HULL_POINTS:
                out[k + near, 7] = v
            near += 1
        if gap < lowest:
            deepest, lowest = v, gap
    if near > HULL_POINTS:
        out[k, 7] = deepest
        near = 1
        for direction in range(HULL_POINTS - 1):
            v = _outermost(vertex, first, last, lx, ly, lz, limit - d, direction)
            is_there = False
            for i in range(near):
                is_there = is_there or out[k + i, 7] == v
            if not is_there:
                out[k + near, 7] = v
                near += 1
    for i in range(near):
        corner = np.int64(out[k + i, 7])
        x, y, z = vertex[corner, 0], vertex[corner, 1], vertex[corner, 2]
        gap = d + lx * x + ly * y + lz * z
        _put_corner(shapes, b, (x, y, z), (nx, ny, nz), gap, corner - first, out, k + i)
    return near


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _outermost(vertex, first, last, lx, ly, lz, height, direction):
    """The corner below `height` that lies furthest in one of seven directions across the normal."""
    # an axis of the body that is not along the normal spans the tangent plane with it
    ax, ay, az = (0.0, -lz, ly) if abs(lx) < 0.6 else (lz, 0.0, -lx)
    bx, by, bz = ly * az - lz * ay, lz * ax - lx * az, lx * ay - ly * ax
    angle = 2.0 * math.pi * direction / (HULL_POINTS - 1)
    c, s = math.cos(angle), math.sin(angle)
    ux, uy, uz = c * ax + s * bx, c * ay + s * by, c * az + s * bz
    best, value = first, -math.inf
    for v in range(first, last):
        x, y, z = vertex[v, 0], vertex[v, 1], vertex[v, 2]
        if lx * x + ly * y + lz * z <= height and ux * x + uy * y + uz * z > value:
            best, value = v, ux * x + uy * y + uz * z
    return best


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _height(shapes, pair):
    """(normal of plane a, distance of the origin of shape b from it)."""
    position, R, a, b = shapes.position, shapes.rotation, pair.a, pair.b
    nx, ny, nz = R[a, 0, 2], R[a, 1, 2], R[a, 2, 2]
    x, y, z = position[b, 0] - position[a, 0], position[b, 1] - position[a, 1], position[b, 2] - position[a, 2]
    return nx, ny, nz, nx * x + ny * y + nz * z


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def plane_support_only(shapes, pair, out, scratch):
    """Plane a against SUPPORT_ONLY shape b: the corners of the face that looks at it, and the deepest point where
    none of them is it.  scratch: (≥ 1, ≥ RING, ≥ 3)."""
    size, corners, b, limit, k = shapes.size, scratch[0], pair.b, pair.limit, pair.row
    support = shapes.supports[b]
    nx, ny, nz, d = _height(shapes, pair)
    lx, ly, lz = to_local(shapes.rotation, b, nx, ny, nz)
    number, _ = support_face(support, size, b, -lx, -ly, -lz, corners)
    x, y, z = furthest(support, size, b, -lx, -ly, -lz)
    deepest, lowest, count = d + lx * x + ly * y + lz * z, math.inf, 0
    for c in range(number):
        gap = d + lx * corners[c, 0] + ly * corners[c, 1] + lz * corners[c, 2]
        lowest = min(lowest, gap)
        if gap <= limit:
            corner = (corners[c, 0], corners[c, 1], corners[c, 2])
            _put_corner(shapes, b, corner, (nx, ny, nz), gap, c, out, k + count)
            count += 1
    if deepest < lowest - 1e-6 * abs(d - deepest) and deepest <= limit:
        _put_corner(shapes, b, (x, y, z), (nx, ny, nz), deepest, number, out, k + count)
        count += 1
    return count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _put_corner(shapes, b, point, normal, gap, feature, out, k):
    """The contact of a point of shape b, in its frame, that is `gap` above a plane."""
    position, R, (x, y, z), (nx, ny, nz) = shapes.position, shapes.rotation, point, normal
    px = position[b, 0] + R[b, 0, 0] * x + R[b, 0, 1] * y + R[b, 0, 2] * z - 0.5 * gap * nx
    py = position[b, 1] + R[b, 1, 0] * x + R[b, 1, 1] * y + R[b, 1, 2] * z - 0.5 * gap * ny
    pz = position[b, 2] + R[b, 2, 0] * x + R[b, 2, 1] * y + R[b, 2, 2] * z - 0.5 * gap * nz
    put(out, k, normal, (px, py, pz), gap, feature)
