"""Flush neighbours make one floor: shapes that a third one keeps apart meet along its axis.

A box that slides towards the joint of two flush tiles is nearest to the side of the next one, and a row along that
side's normal would stop it, although it never meets that side: the tile it is on holds it above both. Of separating
axes all are true, but only one will still separate the two when they get there. So where shape A touches a
neighbour of B, on the same body, along an axis that separates A from B as well, A and B meet along this axis: their gap
is what it says, and they never overlap. Neighbours on bodies of their own say nothing: a ball on a table does not keep
another one from falling beside it."""

import math

import numpy as np

from delassus.collision.broad.pairs import Filters
from delassus.collision.layout import (
    BOX,
    CAPSULE,
    CONVEX,
    COUNT,
    CYLINDER,
    FAMILY,
    PLANE,
    SLOT,
    SPHERE,
    SPHERE_PLANE,
    SUPPORT_ONLY,
    TRIANGLE,
    Placing,
    to_local,
    to_world,
)
from delassus.collision.narrow.axes import along
from delassus.collision.narrow.support_only import furthest
from delassus.collision.placement import posed
from delassus.collision.work import PAIRS, ShapeConstants, Work
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT

FLUSH = 3e-5
"""Of the smaller shape's radius: neighbours that stand out no further make one floor. Contacts at rest are closed to
about 1e-6 of a body's size, and a step that is meant to be one is larger."""
NONE = math.inf
"""Gap in `turned` where no neighbour speaks."""
SAME = 1.0 - 1e-13  # cosine from which two directions are one, and nothing is gained
BEHIND = -0.5  # cosine below which a neighbour presses from behind
_LEVEL = 1e-7  # sine below which a face lies across a direction


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def link_pairs(work):
    """Write which pairs touch at each shape, by shape and in order: `link`, from `link_start[s]` on."""
    pairs, dealt, start, link, count = work.pairs, work.dealt, work.link_start, work.link, work.counters[PAIRS]
    start[:] = 0
    for p in range(count):
        if dealt[p, COUNT] > 0:
            start[pairs[p, 0]] += 1
            start[pairs[p, 1]] += 1
    total = 0
    for s in range(len(start)):
        total, start[s] = total + start[s], total
    for p in range(count):
        if dealt[p, COUNT] > 0:
            for side in range(2):
                s = pairs[p, side]
                link[start[s]] = p
                start[s] += 1
    for s in range(len(start) - 1, 0, -1):
        start[s] = start[s - 1]
    start[0] = 0


@njit(cache=True, error_model="numpy", nogil=True, **ADDRESSED, **NO_REFCOUNT)
def turn_to_neighbours(t, threads, shapes, work):
    """Write for share t of the pairs the normal and gap that a neighbour gives their contacts, `turned` (p, 4), and
    where they are then; an infinite gap where none does.  0."""
    fixed, own = ShapeConstants(*shapes), Work(*work)
    placed, body, count = posed(fixed, own), Placing(*fixed.placing).body, own.counters[PAIRS]
    owner = Filters(*fixed.filters).owner
    for p in range(count * t // threads, count * (t + 1) // threads):
        own.turned[p, 3] = NONE
        if own.dealt[p, FAMILY] <= SPHERE_PLANE or own.dealt[p, COUNT] == 0:
            continue
        nearest = NONE
        for side in range(2):
            a, b = np.int64(own.pairs[p, side]), np.int64(own.pairs[p, 1 - side])
            if not is_polyhedron(placed.kind[b]) or own.link_start[a + 1] - own.link_start[a] < 2:
                continue
            flush = FLUSH * min(fixed.radius[a], fixed.radius[b])
            gap = _ask_neighbours(placed, own, p, (a, b, body, owner), flush, nearest)
            if gap < nearest:
                nearest = gap
                _move_points(placed, own, p, (a, b), fixed.radius[a])
    return np.int64(0)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def is_polyhedron(kind):
    """Whether shapes of this kind may be pieces of a floor."""
    return kind in (BOX, CONVEX, TRIANGLE)


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def _ask_neighbours(shapes, work, p, pair, flush, nearest):
    """Let the neighbours of shape a, nearer than `nearest` [m], say along which axis a and b of pair p meet.  Returns
    the gap to the neighbour that did, or `nearest`.  pair: (a, b, body (n,), owner (n,) of
    the shapes: triangles of one mesh know their neighbours)."""
    (a, b, body, owner), kind, R = pair, shapes.kind, shapes.rotation
    pairs, dealt, out, turned = work.pairs, work.dealt, work.out, work.turned
    slot, towards = dealt[p, SLOT], _sign(kind, a, b)
    if out[slot, 6] < -flush:
        return nearest  # the best axis of all does not separate them
    nx, ny, nz = towards * out[slot, 0], towards * out[slot, 1], towards * out[slot, 2]
    for h in range(work.link_start[a], work.link_start[a + 1]):
        q = np.int64(work.link[h])
        c = np.int64(pairs[q, 0]) if pairs[q, 1] == a else np.int64(pairs[q, 1])
        if q == p or dealt[q, FAMILY] < SPHERE_PLANE or (dealt[q, FAMILY] == SPHERE_PLANE and kind[c] != PLANE):
            continue  # spheres bound no floor
        if body[b] != body[c] or (kind[b] == TRIANGLE and kind[c] == TRIANGLE and owner[b] == owner[c]):
            continue
        sign, before = _sign(kind, a, c), NONE
        for row in range(dealt[q, SLOT], dealt[q, SLOT] + dealt[q, COUNT]):
            if dealt[q, FAMILY] == SPHERE_PLANE:
                mx, my, mz, gap = R[c, 0, 2], R[c, 1, 2], R[c, 2, 2], 0.0
            else:
                mx, my, mz, gap = sign * out[row, 0], sign * out[row, 1], sign * out[row, 2], out[row, 6]
            cosine = mx * nx + my * ny + mz * nz
            if cosine == before:
                continue  # one more contact of the same two faces
            before = cosine
            if gap >= nearest or not BEHIND < cosine < SAME:
                continue
            far = along(shapes, b, a, mx, my, mz)
            if far >= -flush:
                nearest = gap
                far = max(far, min(gap, 0.0))  # what stands out less than `flush`, or leans, is not in the way
                turned[p, 0], turned[p, 1], turned[p, 2], turned[p, 3] = towards * mx, towards * my, towards * mz, far
    return nearest


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _sign(kind, a, b):
    """Of the normal in `out` where it is to point from shape b to shape a: there it leads from the lower kind, or
    number, to the other."""
    if kind[a] != kind[b]:
        return 1.0 if kind[a] > kind[b] else -1.0
    return 1.0 if a > b else -1.0


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def _move_points(shapes, work, p, pair, radius):
    """Put the contacts of a turned pair where its gap is, at shape a: beside the lowest point of a wheel its surface
    moves up or down.  pair: (a, b); radius: of a [m]."""
    (a, b), slot, out = pair, work.dealt[p, SLOT], work.out
    sign, gap = -_sign(shapes.kind, a, b), work.turned[p, 3]  # towards b
    nx, ny, nz = sign * work.turned[p, 0], sign * work.turned[p, 1], sign * work.turned[p, 2]
    for row in range(slot, slot + work.dealt[p, COUNT]):
        x, y, z = _furthest_near(shapes, a, (nx, ny, nz), (out[row, 3], out[row, 4], out[row, 5]), radius)
        out[row, 3], out[row, 4], out[row, 5] = x + 0.5 * gap * nx, y + 0.5 * gap * ny, z + 0.5 * gap * nz


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def _furthest_near(shapes, s, direction, point, radius):
    """The point of solid s that is furthest along a unit vector; of several the one nearest to `point`, all in the
    world."""
    size, kind, position, R = shapes.size, shapes.kind, shapes.position, shapes.rotation
    cx, cy, cz = position[s, 0], position[s, 1], position[s, 2]
    dx, dy, dz = direction
    if kind[s] == SPHERE:
        return cx + size[s, 0] * dx, cy + size[s, 0] * dy, cz + size[s, 0] * dz
    x, y, z = to_local(R, s, dx, dy, dz)
    px, py, pz = to_local(R, s, point[0] - cx, point[1] - cy, point[2] - cz)
    if kind[s] == BOX:
        px, py, pz = _of_side(x, px, size[s, 0]), _of_side(y, py, size[s, 1]), _of_side(z, pz, size[s, 2])
    elif kind[s] == CAPSULE:
        r = size[s, 0]
        px, py, pz = r * x, r * y, r * z + _of_side(z, pz, size[s, 1])
    elif kind[s] == CYLINDER:
        across = math.hypot(x, y)
        pz = _of_side(z, pz, size[s, 1])
        if across > _LEVEL:
            px, py = size[s, 0] * x / across, size[s, 0] * y / across
    elif kind[s] == SUPPORT_ONLY:
        px, py, pz = furthest(shapes.supports[s], size, s, x, y, z)
    else:
        vertex, start = shapes.vertex, shapes.vertex_start
        best, most = start[s], -math.inf
        for v in range(start[s], start[s + 1]):
            reach = x * vertex[v, 0] + y * vertex[v, 1] + z * vertex[v, 2]
            if reach > most:
                best, most = v, reach
        if most - (x * px + y * py + z * pz) > _LEVEL * radius:
            px, py, pz = vertex[best, 0], vertex[best, 1], vertex[best, 2]
    px, py, pz = to_world(R, s, px, py, pz)
    return cx + px, cy + py, cz + pz


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _of_side(direction, place, half):
    """One coordinate of the furthest point of an interval ± half: where it lies across the direction, the nearest."""
    if abs(direction) > _LEVEL:
        return math.copysign(half, direction)
    return min(max(place, -half), half)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def mark_kept_apart(shapes, of, contacts, pairs, apart):
    """Mark which of these pairs (p, 2) of shapes, however far from each other, a closed contact of one of the two keeps
    apart.  shapes: PosedShapes; radius: (n,); contacts: (shapes (n_c, 2), normals (n_c, 3), gaps (n_c,)); apart: (p,),
    written."""
    (touching, normal, gap), (radius, body) = contacts, of
    for p in range(len(pairs)):
        apart[p] = False
        for c in range(len(gap)):
            for side in range(2):
                for end in range(2):
                    a, b = pairs[p, side], pairs[p, 1 - side]
                    other = touching[c, 1 - end]
                    if (
                        touching[c, end] != a
                        or other == b
                        or body[other] != body[b]
                        or not is_polyhedron(shapes.kind[b])
                    ):
                        continue
                    flush, sign = FLUSH * min(radius[a], radius[b]), 2.0 * end - 1.0  # normals lead to the second
                    nx, ny, nz = sign * normal[c, 0], sign * normal[c, 1], sign * normal[c, 2]
                    apart[p] |= gap[c] <= flush and along(shapes, b, a, nx, ny, nz) >= -flush
