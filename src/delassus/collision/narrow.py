"""Narrow phase: the contacts of every pair, by the kernel of its two kinds.

Kernels come in families, each with its own loop over the pairs, so that a scene compiles only what it contains: a heap
of spheres never waits for box–box."""

import math

import numpy as np
from numba import njit

from delassus.collision.box import box_box
from delassus.collision.capsule import box_capsule, capsule_capsule
from delassus.collision.frames import fill_tangents
from delassus.collision.layout import (
    BOX,
    CAPSULE,
    CONVEX,
    CYLINDER,
    KIND_COUNT,
    PLANE,
    SPHERE,
    TRIANGLE,
    Found,
    Geometry,
)
from delassus.collision.plane import HULL_POINTS, plane_hull, plane_primitive
from delassus.collision.sphere import sphere_polyhedron, sphere_primitive, sphere_sphere

NEVER, GENERAL = -2, -1


@njit(cache=True, error_model="numpy", nogil=True)
def spheres(t, threads, pairs, family, position, surface, mixing, found_fields, owners, slots, counts):
    """Spheres against spheres, finished at once: there may be very many, and memory is what they wait for."""
    frame, point, gap, feature = found_fields
    bodies, shapes, mu, restitution = owners
    n = len(pairs)
    for p in range(n * t // threads, n * (t + 1) // threads):
        if family[p] == 0:
            a, b, k = pairs[p, 0], pairs[p, 1], slots[p]
            limit = surface[a, 0] + surface[b, 0]
            counts[p] = sphere_sphere(position, a, b, limit, frame, point, gap, feature, k)
            if counts[p]:
                fill_tangents(frame, k)
                _own(k, a, b, surface, mixing, feature, bodies, shapes, mu, restitution)


@njit(cache=True, error_model="numpy", nogil=True)
def _sphere_primitive(t, threads, pairs, family, geometry, margin, found_fields, slots, counts):
    g, found, n = Geometry(*geometry), Found(*found_fields), len(pairs)
    for p in range(n * t // threads, n * (t + 1) // threads):
        if family[p] == 1:
            a, b = in_order(g.kind, pairs, p)
            counts[p] = sphere_primitive(g, a, b, margin[a] + margin[b], found, slots[p])


@njit(cache=True, error_model="numpy", nogil=True)
def _sphere_polyhedron(t, threads, pairs, family, geometry, margin, found_fields, slots, counts):
    g, found, n = Geometry(*geometry), Found(*found_fields), len(pairs)
    for p in range(n * t // threads, n * (t + 1) // threads):
        if family[p] == 2:
            a, b = in_order(g.kind, pairs, p)
            counts[p] = sphere_polyhedron(g, a, b, margin[a] + margin[b], found, slots[p])


@njit(cache=True, error_model="numpy", nogil=True)
def _plane_primitive(t, threads, pairs, family, geometry, margin, found_fields, slots, counts):
    g, found, n = Geometry(*geometry), Found(*found_fields), len(pairs)
    for p in range(n * t // threads, n * (t + 1) // threads):
        if family[p] == 3:
            a, b = in_order(g.kind, pairs, p)
            counts[p] = plane_primitive(g, a, b, margin[a] + margin[b], found, slots[p])


@njit(cache=True, error_model="numpy", nogil=True)
def _plane_hull(t, threads, pairs, family, geometry, margin, found_fields, slots, counts):
    g, found, n = Geometry(*geometry), Found(*found_fields), len(pairs)
    work = np.empty(HULL_POINTS, np.int64)
    for p in range(n * t // threads, n * (t + 1) // threads):
        if family[p] == 4:
            a, b = in_order(g.kind, pairs, p)
            counts[p] = plane_hull(g, a, b, margin[a] + margin[b], found, slots[p], work)


@njit(cache=True, error_model="numpy", nogil=True)
def _box_box(t, threads, pairs, family, geometry, margin, found_fields, slots, counts):
    g, found, n = Geometry(*geometry), Found(*found_fields), len(pairs)
    work = np.empty((2, 24, 4))
    for p in range(n * t // threads, n * (t + 1) // threads):
        if family[p] == 5:
            a, b = pairs[p, 0], pairs[p, 1]
            counts[p] = box_box(g, a, b, margin[a] + margin[b], found, slots[p], work)


@njit(cache=True, error_model="numpy", nogil=True)
def _box_capsule(t, threads, pairs, family, geometry, margin, found_fields, slots, counts):
    g, found, n = Geometry(*geometry), Found(*found_fields), len(pairs)
    for p in range(n * t // threads, n * (t + 1) // threads):
        if family[p] == 6:
            a, b = in_order(g.kind, pairs, p)
            counts[p] = box_capsule(g, a, b, margin[a] + margin[b], found, slots[p])


@njit(cache=True, error_model="numpy", nogil=True)
def _capsule_capsule(t, threads, pairs, family, geometry, margin, found_fields, slots, counts):
    g, found, n = Geometry(*geometry), Found(*found_fields), len(pairs)
    for p in range(n * t // threads, n * (t + 1) // threads):
        if family[p] == 7:
            a, b = pairs[p, 0], pairs[p, 1]
            counts[p] = capsule_capsule(g, a, b, margin[a] + margin[b], found, slots[p])


FAMILIES = {
    1: _sphere_primitive,
    2: _sphere_polyhedron,
    3: _plane_primitive,
    4: _plane_hull,
    5: _box_box,
    6: _box_capsule,
    7: _capsule_capsule,
}


def _tables() -> tuple[np.ndarray, np.ndarray]:
    """(kinds, kinds) family of a pair, and its most contacts; GENERAL where there is no kernel (see general.py), NEVER
    where both kinds are static."""
    family = np.full((KIND_COUNT, KIND_COUNT), GENERAL, dtype=np.int64)
    points = np.zeros((KIND_COUNT, KIND_COUNT), dtype=np.int64)

    def line(a, b, number, most):
        family[a, b] = family[b, a] = number
        points[a, b] = points[b, a] = most

    line(SPHERE, SPHERE, 0, 1)
    line(SPHERE, [PLANE, BOX, CAPSULE, CYLINDER], 1, 1)
    line(SPHERE, [CONVEX, TRIANGLE], 2, 1)
    line(PLANE, [BOX, CAPSULE, CYLINDER], 3, [4, 2, 4])
    line(PLANE, CONVEX, 4, HULL_POINTS)
    line(BOX, BOX, 5, 8)
    line(BOX, CAPSULE, 6, 2)
    line(CAPSULE, CAPSULE, 7, 3)
    line(PLANE, [PLANE, TRIANGLE], NEVER, 0)
    line(TRIANGLE, TRIANGLE, NEVER, 0)
    return family, points


FAMILY, POINTS = _tables()


@njit(cache=True, error_model="numpy")
def deal(pairs, kind, families, points, family, slots):
    """Family of each pair and rows it needs at most, summed up in slots (p + 1,).  Returns (rows, bits of the families
    that occur, pairs without a kernel)."""
    slots[0] = 0
    bits, general = 0, 0
    for p in range(len(pairs)):
        one, two = kind[pairs[p, 0]], kind[pairs[p, 1]]
        family[p] = families[one, two]
        if family[p] >= 0:
            bits |= 1 << family[p]
        elif family[p] == GENERAL:
            general += 1
        slots[p + 1] = slots[p] + points[one, two]
    return slots[len(pairs)], bits, general


@njit(cache=True, error_model="numpy")
def in_order(kind, pairs, p):
    """The shapes of pair p, the one with the lower kind first."""
    a, b = pairs[p, 0], pairs[p, 1]
    if kind[a] > kind[b]:
        return b, a
    return a, b


@njit(cache=True, error_model="numpy")
def mix(mixing, a, b):
    """Friction coefficient of a pair; numbers as in arrays.MIXING."""
    if mixing == 0:
        return math.sqrt(a * b)
    if mixing == 1:
        return min(a, b)
    if mixing == 2:
        return max(a, b)
    if mixing == 3:
        return 0.5 * (a + b)
    return a * b


@njit(cache=True, error_model="numpy", nogil=True)
def finish(t, threads, pairs, family, kind, surface, mixing, found_fields, owners, slots, counts):
    """What all contacts need alike: normals from the lower numbered shape to the other, tangents, bodies, materials,
    and the pair in the feature."""
    frame, _, _, feature = found_fields
    bodies, shapes, mu, restitution = owners
    n = len(pairs)
    for p in range(n * t // threads, n * (t + 1) // threads):
        if family[p] <= 0:
            continue
        a, b = pairs[p, 0], pairs[p, 1]
        swapped = kind[a] > kind[b]
        for c in range(slots[p], slots[p] + counts[p]):
            if swapped:
                for i in range(3):
                    frame[c, 0, i] = -frame[c, 0, i]
            fill_tangents(frame, c)
            _own(c, a, b, surface, mixing, feature, bodies, shapes, mu, restitution)


@njit(cache=True, error_model="numpy", forceinline=True)
def _own(c, a, b, surface, mixing, feature, bodies, shapes, mu, restitution):
    """Bodies, shapes and material of contact c, and the pair into its feature."""
    bodies[c, 0], bodies[c, 1] = np.int64(surface[a, 3]), np.int64(surface[b, 3])
    shapes[c, 0], shapes[c, 1] = a, b
    mu[c] = mix(mixing, surface[a, 1], surface[b, 1])
    restitution[c] = max(surface[a, 2], surface[b, 2])
    feature[c] = feature[c] | (np.uint64(a) << np.uint64(40)) | (np.uint64(b) << np.uint64(16))


@njit(cache=True, error_model="numpy")
def compact(found_fields, owners, slots, counts):
    """Close the gaps behind pairs that have fewer contacts than room; returns the number of contacts."""
    frame, point, gap, feature = found_fields
    bodies, shape, friction, bounce = owners
    at = 0
    for p in range(len(counts)):
        if at == slots[p]:
            at += counts[p]
            continue
        for c in range(slots[p], slots[p] + counts[p]):
            for i in range(3):
                point[at, i] = point[c, i]
                for j in range(3):
                    frame[at, i, j] = frame[c, i, j]
            gap[at], feature[at], friction[at], bounce[at] = gap[c], feature[c], friction[c], bounce[c]
            for i in range(2):
                bodies[at, i], shape[at, i] = bodies[c, i], shape[c, i]
            at += 1
    return at
