"""One kernel per family of pairs, so that a scene compiles only what it contains: a heap of spheres never waits for
box–box.

A family is a function of one pair: of its shapes (or all of their geometry), the pair, `out` and scratch. It writes
contacts into `out` from the pair's row on, and returns their number."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

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
    Edges,
    Faces,
    Geometry,
    MeshTriangles,
    PosedShapes,
    pair_at,
)
from delassus.collision.narrow.box import box_box
from delassus.collision.narrow.capsule import box_capsule, capsule_capsule
from delassus.collision.narrow.patch import MOST
from delassus.collision.narrow.plane import HULL_POINTS, plane_box, plane_hull, plane_round, plane_support_only
from delassus.collision.narrow.solids import solid_solid
from delassus.collision.narrow.sphere import sphere_hull, sphere_solid, sphere_triangle
from delassus.collision.narrow.support_only import RING
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.addresses import kernel_address
from delassus.kernel.memory import NO_REFCOUNT

_FIRST = SPHERE_PLANE + 1
SPHERE_SOLID, SPHERE_HULL, SPHERE_TRIANGLE = range(_FIRST, _FIRST + 3)
PLANE_BOX, PLANE_ROUND, PLANE_HULL = range(_FIRST + 3, _FIRST + 6)
BOXES, BOX_CAPSULE, CAPSULES, SOLIDS, PLANE_SUPPORT_ONLY = range(_FIRST + 6, _FIRST + 11)


def _named(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a function a name of its own, `PAIRS.` and this, by which the cache of machine code knows it."""

    def rename(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__name__, function.__qualname__ = name, f"PAIRS.{name}"
        return function

    return rename


def _family_kernel(number: int, contacts_of: Any, reads_all: bool) -> Callable[..., int]:
    """The loop over the pairs of one family.

    number: of the family; contacts_of(shapes or geometry, pair, out, scratch): contacts of a pair that it has written;
    reads_all: it reads Geometry, and not PosedShapes alone."""

    @njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT, **ADDRESSED)
    @_named(contacts_of.__name__)
    def contacts_of_share(t, threads, count, pairs, dealt, geometry, out, scratch):
        """Contacts of share t of the first `count` pairs (p, 2): into `out`, their numbers into `dealt` (p, 3), see
        layout.py.  Returns the sum of these.  scratch: (threads, BLOCKS, ·, 4)."""
        shapes = geometry.shapes if reads_all else geometry
        total = 0
        for p in range(count * t // threads, count * (t + 1) // threads):
            if dealt[p, FAMILY] == number:
                n = contacts_of(geometry, pair_at(shapes, pairs, dealt, p), out, scratch[t])
                dealt[p, COUNT] = n
                total += n
        return total

    return contacts_of_share


_READ_SHAPES = {
    SPHERE_SOLID: sphere_solid,
    PLANE_BOX: plane_box,
    PLANE_ROUND: plane_round,
    PLANE_HULL: plane_hull,
    BOXES: box_box,
    BOX_CAPSULE: box_capsule,
    CAPSULES: capsule_capsule,
    PLANE_SUPPORT_ONLY: plane_support_only,
}
_READ_ALL = {SPHERE_HULL: sphere_hull, SPHERE_TRIANGLE: sphere_triangle, SOLIDS: solid_solid}
READS_ALL = sum(1 << family for family in _READ_ALL)
"""Bits of the families that read all of Geometry; the others get PosedShapes, since every argument costs time."""
KERNELS = {
    number: _family_kernel(number, contacts_of, bool(READS_ALL >> number & 1))
    for number, contacts_of in sorted((_READ_SHAPES | _READ_ALL).items())
}
PAIRS = SimpleNamespace(**{kernel.__name__: kernel for kernel in KERNELS.values()})
"""Kernels of families by the names of their functions of one pair."""


def family_address(family: int) -> int:
    """Of the kernel of a family, compiled now or before."""
    number, index = types.float64, types.int64
    numbers, cubes, pairs, several = number[:, ::1], number[:, :, ::1], types.int32[:, ::1], index[::1]

    def named(kind: Any, *fields: Any) -> Any:
        return types.BaseTuple.from_types(fields, kind)

    shapes = named(PosedShapes, numbers, cubes, numbers, types.int8[::1], numbers, several, several)
    faces, edges = named(Faces, several, several, several, numbers), named(Edges, numbers, several)
    mesh = named(MeshTriangles, cubes, several, numbers, several)
    read = named(Geometry, shapes, faces, edges, mesh) if READS_ALL >> family & 1 else shapes
    return kernel_address(KERNELS[family], (index, index, index, pairs, pairs, read, numbers, number[:, :, :, ::1]))


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
