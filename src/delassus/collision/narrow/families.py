"""One loop over the pairs per family of pairs, so that a scene compiles only what it contains: a heap of spheres never
waits for box–box.

Every family has the same form: share t of the first `count` pairs (p, 2), those dealt to it; contacts go into their
slots of `out`, their number into `dealt` (p, 3) (see layout.py), and the sum of these numbers is returned.
scratch: (threads, 5, rows, 4), see `scratch_rows`."""

import numpy as np
from numba import types

from delassus.collision.layout import (
    BOX,
    CAPSULE,
    CONVEX,
    COUNT,
    CYLINDER,
    FAMILY,
    KIND_COUNT,
    PLANE,
    SPHERE,
    SPHERE_PLANE,
    SPHERES,
    SUPPORT_ONLY,
    TRIANGLE,
    pair_at,
)
from delassus.collision.narrow.box import box_box
from delassus.collision.narrow.capsule import box_capsule, capsule_capsule
from delassus.collision.narrow.faces import RIM
from delassus.collision.narrow.patch import MOST
from delassus.collision.narrow.plane import HULL_POINTS, plane_box, plane_hull, plane_round, plane_support_only
from delassus.collision.narrow.solids import solid_solid
from delassus.collision.narrow.sphere import sphere_hull, sphere_solid, sphere_triangle
from delassus.collision.narrow.support_only import RING
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.addresses import kernel_address
from delassus.kernel.memory import NO_REFCOUNT

(SPHERE_SOLID, SPHERE_HULL, SPHERE_TRIANGLE, PLANE_BOX, PLANE_ROUND, PLANE_HULL, BOXES, BOX_CAPSULE, CAPSULES, SOLIDS,
 PLANE_SUPPORT_ONLY) = range(SPHERE_PLANE + 1, SPHERE_PLANE + 12)  # fmt: skip


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT, **ADDRESSED)
def _sphere_solid(t, threads, count, pairs, dealt, geometry, out, scratch):
    position, R, size, kind = geometry
    total = 0
    for p in range(count * t // threads, count * (t + 1) // threads):
        if dealt[p, FAMILY] == SPHERE_SOLID:
            a, b, limit, slot = pair_at(position, kind, pairs, dealt, p)
            n = sphere_solid(position, R, size, kind, a, b, limit, out, slot)
            dealt[p, COUNT] = n
            total += n
    return total


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT, **ADDRESSED)
def _sphere_hull(t, threads, count, pairs, dealt, geometry, out, scratch):
    position, R, _, kind, vertex, vertex_start, face, face_start, shape_face, face_normal = geometry[:10]
    total = 0
    for p in range(count * t // threads, count * (t + 1) // threads):
        if dealt[p, FAMILY] == SPHERE_HULL:
            a, b, limit, slot = pair_at(position, kind, pairs, dealt, p)
            n = sphere_hull(
                position, R, vertex, vertex_start, face, face_start, shape_face, face_normal, a, b, limit, out, slot
            )  # fmt: skip
            dealt[p, COUNT] = n
            total += n
    return total


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT, **ADDRESSED)
def _sphere_triangle(t, threads, count, pairs, dealt, geometry, out, scratch):
    (position, R, _, kind, vertex, vertex_start, _, _, _, _, edge_normal, triangle, _, _, corner, corner_start,
     _) = geometry  # fmt: skip
    total = 0
    for p in range(count * t // threads, count * (t + 1) // threads):
        if dealt[p, FAMILY] == SPHERE_TRIANGLE:
            a, b, limit, slot = pair_at(position, kind, pairs, dealt, p)
            n = sphere_triangle(
                position, R, vertex, vertex_start, edge_normal, triangle, corner, corner_start, a, b, limit, out, slot
            )
            dealt[p, COUNT] = n
            total += n
    return total


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT, **ADDRESSED)
def _plane_box(t, threads, count, pairs, dealt, geometry, out, scratch):
    position, R, size, kind = geometry
    total = 0
    for p in range(count * t // threads, count * (t + 1) // threads):
        if dealt[p, FAMILY] == PLANE_BOX:
            a, b, limit, slot = pair_at(position, kind, pairs, dealt, p)
            n = plane_box(position, R, size, a, b, limit, out, slot)
            dealt[p, COUNT] = n
            total += n
    return total


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT, **ADDRESSED)
def _plane_round(t, threads, count, pairs, dealt, geometry, out, scratch):
    position, R, size, kind = geometry
    total = 0
    for p in range(count * t // threads, count * (t + 1) // threads):
        if dealt[p, FAMILY] == PLANE_ROUND:
            a, b, limit, slot = pair_at(position, kind, pairs, dealt, p)
            n = plane_round(position, R, size, kind, a, b, limit, out, slot)
            dealt[p, COUNT] = n
            total += n
    return total


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT, **ADDRESSED)
def _plane_hull(t, threads, count, pairs, dealt, geometry, out, scratch):
    position, R, _, kind, vertex, vertex_start = geometry[:6]
    total = 0
    for p in range(count * t // threads, count * (t + 1) // threads):
        if dealt[p, FAMILY] == PLANE_HULL:
            a, b, limit, slot = pair_at(position, kind, pairs, dealt, p)
            n = plane_hull(position, R, vertex, vertex_start, a, b, limit, out, slot)
            dealt[p, COUNT] = n
            total += n
    return total


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT, **ADDRESSED)
def _boxes(t, threads, count, pairs, dealt, geometry, out, scratch):
    position, R, size, kind = geometry
    work = scratch[t]
    total = 0
    for p in range(count * t // threads, count * (t + 1) // threads):
        if dealt[p, FAMILY] == BOXES:
            a, b, limit, slot = pair_at(position, kind, pairs, dealt, p)
            n = box_box(position, R, size, a, b, limit, out, slot, work)
            dealt[p, COUNT] = n
            total += n
    return total


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT, **ADDRESSED)
def _box_capsule(t, threads, count, pairs, dealt, geometry, out, scratch):
    position, R, size, kind = geometry
    total = 0
    for p in range(count * t // threads, count * (t + 1) // threads):
        if dealt[p, FAMILY] == BOX_CAPSULE:
            a, b, limit, slot = pair_at(position, kind, pairs, dealt, p)
            n = box_capsule(position, R, size, a, b, limit, out, slot)
            dealt[p, COUNT] = n
            total += n
    return total


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT, **ADDRESSED)
def _capsules(t, threads, count, pairs, dealt, geometry, out, scratch):
    position, R, size, kind = geometry
    total = 0
    for p in range(count * t // threads, count * (t + 1) // threads):
        if dealt[p, FAMILY] == CAPSULES:
            a, b, limit, slot = pair_at(position, kind, pairs, dealt, p)
            n = capsule_capsule(position, R, size, a, b, limit, out, slot)
            dealt[p, COUNT] = n
            total += n
    return total


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT, **ADDRESSED)
def _plane_support_only(t, threads, count, pairs, dealt, geometry, out, scratch):
    position, R, size, kind = geometry[:4]
    supports = geometry[-1]
    corners = scratch[t, 0]
    total = 0
    for p in range(count * t // threads, count * (t + 1) // threads):
        if dealt[p, FAMILY] == PLANE_SUPPORT_ONLY:
            a, b, limit, slot = pair_at(position, kind, pairs, dealt, p)
            n = plane_support_only(position, R, size, supports, a, b, limit, out, slot, corners)
            dealt[p, COUNT] = n
            total += n
    return total


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT, **ADDRESSED)
def _solids(t, threads, count, pairs, dealt, geometry, out, scratch):
    (position, R, size, kind, vertex, vertex_start, face, face_start, shape_face, face_normal, edges, triangle, edge,
     shape_edge, _, _, supports) = geometry  # fmt: skip
    total = 0
    for p in range(count * t // threads, count * (t + 1) // threads):
        if dealt[p, FAMILY] == SOLIDS:
            a, b, limit, slot = pair_at(position, kind, pairs, dealt, p)
            n = solid_solid(
                position, R, size, kind, vertex, vertex_start, face, face_start, shape_face, face_normal, edges,
                triangle, edge, shape_edge, supports, a, b, limit, out, slot, scratch[t],
            )  # fmt: skip
            dealt[p, COUNT] = n
            total += n
    return total


KERNELS = {
    SPHERE_SOLID: _sphere_solid,
    SPHERE_HULL: _sphere_hull,
    SPHERE_TRIANGLE: _sphere_triangle,
    PLANE_BOX: _plane_box,
    PLANE_ROUND: _plane_round,
    PLANE_HULL: _plane_hull,
    BOXES: _boxes,
    BOX_CAPSULE: _box_capsule,
    CAPSULES: _capsules,
    SOLIDS: _solids,
    PLANE_SUPPORT_ONLY: _plane_support_only,
}
POLYHEDRAL = (SPHERE_HULL, SPHERE_TRIANGLE, PLANE_HULL, SOLIDS, PLANE_SUPPORT_ONLY)
"""Families that read all of Geometry; the others get its first four arrays, since every argument costs time."""
READS_ALL = sum(1 << family for family in POLYHEDRAL)  # their bits


def family_address(family: int) -> int:
    """Of the kernel of a family, compiled now or before."""
    number, index = types.float64, types.int64
    numbers, cubes, pairs = number[:, ::1], number[:, :, ::1], types.int32[:, ::1]
    geometry = [numbers, cubes, numbers, types.int8[::1]]
    if family in POLYHEDRAL:
        several = index[::1]
        geometry += [numbers, several, several, several, several, numbers, cubes, several, numbers, several]
        geometry += [numbers, several, several]
    return kernel_address(
        KERNELS[family],
        (index, index, index, pairs, pairs, types.Tuple(geometry), numbers, number[:, :, :, ::1]),
    )


def scratch_rows(face_start: np.ndarray) -> int:
    """Rows of four numbers of each of the five blocks of scratch that a thread needs: for the corners of two faces and
    of what is left of them cut to each other, and for GJK.  face_start: of Geometry."""
    longest = int(np.diff(face_start).max(initial=max(RIM, RING)))
    return max(32, 2 * longest + 2)


def _tables() -> tuple[np.ndarray, np.ndarray]:
    """(kinds, kinds) family of a pair, and rows of `out` it may need."""
    family = np.full((KIND_COUNT, KIND_COUNT), SOLIDS, dtype=np.int32)
    points = np.full((KIND_COUNT, KIND_COUNT), MOST, dtype=np.int32)

    def line(a: int, b: int | list[int], number: int, most: int | list[int]) -> None:
        family[a, b] = family[b, a] = number
        points[a, b] = points[b, a] = most

    line(SPHERE, SPHERE, SPHERES, 0)
    for static in (PLANE, TRIANGLE):  # which never meet: a family without a kernel
        line(static, [PLANE, TRIANGLE], SPHERES, 0)
    line(SPHERE, PLANE, SPHERE_PLANE, 0)
    line(SPHERE, [BOX, CAPSULE, CYLINDER], SPHERE_SOLID, 1)
    line(SPHERE, CONVEX, SPHERE_HULL, 1)
    line(SPHERE, TRIANGLE, SPHERE_TRIANGLE, 1)
    line(PLANE, BOX, PLANE_BOX, 4)
    line(PLANE, [CAPSULE, CYLINDER], PLANE_ROUND, [2, 4])
    line(PLANE, CONVEX, PLANE_HULL, HULL_POINTS)
    line(PLANE, SUPPORT_ONLY, PLANE_SUPPORT_ONLY, RING + 1)
    line(BOX, BOX, BOXES, 8)
    line(BOX, CAPSULE, BOX_CAPSULE, 2)
    line(CAPSULE, CAPSULE, CAPSULES, 3)
    return family, points


FAMILIES, POINTS = _tables()
