"""Capsules against capsules and boxes."""

import math

import numpy as np

from delassus.collision.layout import put, to_local, to_world
from delassus.collision.narrow.distance import TINY, Segment, segments_nearest
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

PARALLEL = 0.02  # sine of the angle below which two capsules touch along a line and get a contact at each of its ends
CLOSER = 1e-6  # of the radii: the crossing of two such capsules is a third contact only where it is this much closer


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def capsule_capsule(shapes, pair, out, scratch):
    """One contact at the nearest points of the two segments; near parallel, one at each end of the overlap. Returns the
    number of contacts written."""
    position, R, size, a, b = shapes.position, shapes.rotation, shapes.size, pair.a, pair.b
    ux, uy, uz = R[a, 0, 2], R[a, 1, 2], R[a, 2, 2]
    vx, vy, vz = R[b, 0, 2], R[b, 1, 2], R[b, 2, 2]
    p, q = position[a], position[b]
    ra, rb, ha, hb = size[a, 0], size[b, 0], size[a, 1], size[b, 1]
    s, t = segments_nearest(Segment(p[0], p[1], p[2], ux, uy, uz, ha), Segment(q[0], q[1], q[2], vx, vy, vz, hb))
    count, nearest = 0, math.inf
    cosine = ux * vx + uy * vy + uz * vz
    if 1.0 - cosine * cosine < PARALLEL * PARALLEL:
        middle = ux * (q[0] - p[0]) + uy * (q[1] - p[1]) + uz * (q[2] - p[2])
        lo, hi = max(-ha, middle - hb), min(ha, middle + hb)
        if hi - lo > 1e-3 * min(ha, hb):
            for end in range(2):
                at = hi if end else lo
                x, y, z = p[0] + at * ux - q[0], p[1] + at * uy - q[1], p[2] + at * uz - q[2]
                along = min(max(vx * x + vy * y + vz * z, -hb), hb)
                gap, written = _ball_pair(shapes, pair, at, along, out, pair.row + count, 1 + end)
                nearest = min(nearest, gap)
                count += written
    gap = _gap(position, R, a, b, s, t) - ra - rb
    if gap < nearest - CLOSER * (ra + rb):
        _, written = _ball_pair(shapes, pair, s, t, out, pair.row + count, np.int64(0))
        count += written
    return count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _gap(position, R, a, b, s, t):
    """Distance of two points on the axes."""
    x = position[b, 0] + t * R[b, 0, 2] - position[a, 0] - s * R[a, 0, 2]
    y = position[b, 1] + t * R[b, 1, 2] - position[a, 1] - s * R[a, 1, 2]
    z = position[b, 2] + t * R[b, 2, 2] - position[a, 2] - s * R[a, 2, 2]
    return math.sqrt(x * x + y * y + z * z)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _ball_pair(shapes, pair, s, t, out, k, feature):
    """The contact of the balls at two points on the axes, written when near enough: (gap, contacts written)."""
    position, R, size, a, b = shapes.position, shapes.rotation, shapes.size, pair.a, pair.b
    ra, rb = size[a, 0], size[b, 0]
    cx = position[a, 0] + s * R[a, 0, 2]
    cy = position[a, 1] + s * R[a, 1, 2]
    cz = position[a, 2] + s * R[a, 2, 2]
    x = position[b, 0] + t * R[b, 0, 2] - cx
    y = position[b, 1] + t * R[b, 1, 2] - cy
    z = position[b, 2] + t * R[b, 2, 2] - cz
    square = x * x + y * y + z * z
    if square > TINY:
        d = math.sqrt(square)
        x, y, z = x / d, y / d, z / d
    else:
        # crossing axes: push apart across both
        d = 0.0
        x = R[a, 1, 2] * R[b, 2, 2] - R[a, 2, 2] * R[b, 1, 2]
        y = R[a, 2, 2] * R[b, 0, 2] - R[a, 0, 2] * R[b, 2, 2]
        z = R[a, 0, 2] * R[b, 1, 2] - R[a, 1, 2] * R[b, 0, 2]
        f = math.sqrt(x * x + y * y + z * z)
        if f > 1e-12:
            x, y, z = x / f, y / f, z / f
        else:
            x, y, z = R[a, 0, 0], R[a, 1, 0], R[a, 2, 0]
    gap = d - ra - rb
    if gap > pair.limit:
        return gap, 0
    at = 0.5 * (d + ra - rb)
    put(out, k, (x, y, z), (cx + at * x, cy + at * y, cz + at * z), gap, feature)
    return gap, 1


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def box_capsule(shapes, pair, out, scratch):
    """Box a, capsule b: over a face, one contact at each end of the axis as far as it is above it; else the nearest.
    Returns the number of contacts written."""
    position, R, size, a, b = shapes.position, shapes.rotation, shapes.size, pair.a, pair.b
    r, h = size[b, 0], size[b, 1]
    hx, hy, hz = size[a, 0], size[a, 1], size[a, 2]
    cx, cy, cz = to_local(
        R,
        a,
        position[b, 0] - position[a, 0],
        position[b, 1] - position[a, 1],
        position[b, 2] - position[a, 2],
    )
    ux, uy, uz = to_local(R, a, R[b, 0, 2], R[b, 1, 2], R[b, 2, 2])
    segment, half_edges = Segment(cx, cy, cz, ux, uy, uz, h), (hx, hy, hz)
    t = _nearest_on_segment(segment, half_edges)
    x, y, z = cx + t * ux, cy + t * uy, cz + t * uz
    ox, oy, oz = x - min(max(x, -hx), hx), y - min(max(y, -hy), hy), z - min(max(z, -hz), hz)
    d = math.sqrt(ox * ox + oy * oy + oz * oz)
    if d > 1e-9 * max(hx, hy, hz):
        ox, oy, oz = ox / d, oy / d, oz / d
    else:
        d, ox, oy, oz, t = _segment_inside(segment, half_edges)
    if d - r > pair.limit:
        return 0
    axis = 0 if abs(ox) > 1.0 - 1e-12 else (1 if abs(oy) > 1.0 - 1e-12 else (2 if abs(oz) > 1.0 - 1e-12 else 3))
    lo, hi = -h, h
    for i in range(3):
        c, u, half = (cx, ux, hx) if i == 0 else ((cy, uy, hy) if i == 1 else (cz, uz, hz))
        if i != axis and abs(u) > 1e-12:
            lo = max(lo, min((-half - c) / u, (half - c) / u))
            hi = min(hi, max((-half - c) / u, (half - c) / u))
    nx, ny, nz = to_world(R, a, ox, oy, oz)
    if axis == 3 or hi - lo < 1e-3 * h:
        lo = hi = t
    count = 0
    for end in range(2 if hi > lo else 1):
        at = hi if end else lo
        x, y, z = cx + at * ux, cy + at * uy, cz + at * uz
        if axis == 3 or hi == lo:
            gap, feature = d - r, 0
        else:
            half = hx if axis == 0 else (hy if axis == 1 else hz)
            gap = ox * x + oy * y + oz * z - half - r
            feature = 1 + 2 * axis + end + (8 if ox + oy + oz > 0.0 else 0)
        if gap <= pair.limit:
            x, y, z = to_world(R, a, x - (r + 0.5 * gap) * ox, y - (r + 0.5 * gap) * oy, z - (r + 0.5 * gap) * oz)
            point = (position[a, 0] + x, position[a, 1] + y, position[a, 2] + z)
            put(out, pair.row + count, (nx, ny, nz), point, gap, feature)
            count += 1
    return count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _slope(t, segment, half_edges):
    """Half the derivative of the squared distance to the box along the segment: grows with t, linear between kinks."""
    ux, uy, uz, (hx, hy, hz) = segment.ux, segment.uy, segment.uz, half_edges
    x, y, z = segment.cx + t * ux, segment.cy + t * uy, segment.cz + t * uz
    return ux * (x - min(max(x, -hx), hx)) + uy * (y - min(max(y, -hy), hy)) + uz * (z - min(max(z, -hz), hz))


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _nearest_on_segment(segment, half_edges):
    """The parameter |t| ≤ h of the point c + t u nearest to the box: bracket the root of the slope between its kinks,
    where the segment crosses the planes of the faces, then interpolate, which is exact."""
    lo, hi = -segment.half, segment.half
    s_lo = _slope(lo, segment, half_edges)
    if s_lo >= 0.0:
        return lo if s_lo > 0.0 else _middle(lo, segment, half_edges)
    s_hi = _slope(hi, segment, half_edges)
    if s_hi <= 0.0:
        return hi
    for i in range(6):
        c, u, half = _along_axis(segment, half_edges, i // 2)
        if u == 0.0:
            continue
        t = ((half if i % 2 else -half) - c) / u
        if lo < t < hi:
            s = _slope(t, segment, half_edges)
            if s < 0.0:
                lo, s_lo = t, s
            elif s > 0.0:
                hi, s_hi = t, s
            else:
                return t
    return lo + (hi - lo) * (-s_lo / (s_hi - s_lo))


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _along_axis(segment, half_edges, i):
    """(middle, direction, half edge of the box) along axis i."""
    if i == 0:
        return segment.cx, segment.ux, half_edges[0]
    if i == 1:
        return segment.cy, segment.uy, half_edges[1]
    return segment.cz, segment.uz, half_edges[2]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _middle(lo, segment, half_edges):
    """Where the slope is zero from the start (parallel to a face, or inside), the middle of that stretch."""
    hi = segment.half
    for i in range(6):
        c, u, half = _along_axis(segment, half_edges, i // 2)
        if u != 0.0:
            t = ((half if i % 2 else -half) - c) / u
            if lo < t < hi and _slope(0.5 * (t + hi), segment, half_edges) > 0.0:
                hi = t
    return 0.5 * (lo + hi)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _segment_inside(segment, half_edges):
    """A segment that cuts the box: the shortest way out, over the six faces and the three axes across segment and edge.

    Returns (−depth, outward direction, parameter of the deepest point)."""
    cx, cy, cz = segment.cx, segment.cy, segment.cz
    ux, uy, uz = segment.ux, segment.uy, segment.uz
    h, (hx, hy, hz) = segment.half, half_edges
    best, ox, oy, oz, at = math.inf, 1.0, 0.0, 0.0, 0.0
    for i in range(3):
        c, u, half = _along_axis(segment, half_edges, i)
        for side in range(2):
            sign = 1.0 if side else -1.0
            depth = half - sign * c + h * abs(u)
            if depth < best:
                best, at = depth, -math.copysign(h, sign * u)
                ox = sign if i == 0 else 0.0
                oy = sign if i == 1 else 0.0
                oz = sign if i == 2 else 0.0
    for i in range(3):
        wx, wy, wz = (0.0, -uz, uy) if i == 0 else ((uz, 0.0, -ux) if i == 1 else (-uy, ux, 0.0))
        length = math.sqrt(wx * wx + wy * wy + wz * wz)
        if length < 1e-6:
            continue
        wx, wy, wz = wx / length, wy / length, wz / length
        s = wx * cx + wy * cy + wz * cz
        depth = hx * abs(wx) + hy * abs(wy) + hz * abs(wz) - abs(s)
        if depth < best - 1e-9 * (hx + hy + hz):
            sign = math.copysign(1.0, s)
            best, ox, oy, oz = depth, sign * wx, sign * wy, sign * wz
            # the edge that points along axis i and lies furthest out; nearest point of the segment to it
            ex = 0.0 if i == 0 else math.copysign(hx, ox)
            ey = 0.0 if i == 1 else math.copysign(hy, oy)
            ez = 0.0 if i == 2 else math.copysign(hz, oz)
            ax, ay, az = (1.0, 0.0, 0.0) if i == 0 else ((0.0, 1.0, 0.0) if i == 1 else (0.0, 0.0, 1.0))
            half = hx if i == 0 else (hy if i == 1 else hz)
            at, _ = segments_nearest(segment, Segment(ex, ey, ez, ax, ay, az, half))
    return -best, ox, oy, oz, at
