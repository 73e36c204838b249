"""Solids known by their support function alone: any shape of `SHAPES` without kernels of its own.

The function is compiled once per process and called through its address, so that the kernels that call it are compiled
once for all shapes. A face is computed from support points around a direction."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cfunc, types
from numba.core import cgutils, config
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.shapes import Shape

RING = 8  # directions whose support points are the corners of a face
_TILT = 0.02  # of these directions against the normal [rad]: faces that lean by less count
_FINE = 1e-3  # … and around the normal of such a face [rad]
_POINT = 0.1  # of half the shape's width across: corners nearer to each other than this are one point
_NARROW = 0.05  # of a face's length: narrower faces are segments
_WIDTHS = 200  # directions in which the thickness is measured

_functions: dict[type[Shape], Any] = {}  # compiled functions, which must outlive their addresses
_interpreted: dict[int, Callable[..., tuple[float, float, float]]] = {}  # support functions where nothing is compiled


def support_address(shape: type[Shape]) -> int:
    """Of the compiled support function of a class of shapes."""
    function = shape.support
    assert function is not None  # which the table checks
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        _interpreted[id(function)] = function
        return id(function)
    if shape not in _functions:
        _functions[shape] = _compiled(njit(error_model="numpy")(function))
    return int(_functions[shape].address)


def _compiled(function: Any) -> Any:
    pointer, number = types.CPointer(types.float64), types.float64

    @cfunc(types.void(pointer, types.int64, number, number, number, pointer))
    def answer(numbers, count, x, y, z, out):
        x, y, z = function(carray(numbers, (count,)), x, y, z)
        point = carray(out, (3,))
        point[0], point[1], point[2] = x, y, z

    return answer


@intrinsic
def _call(typing, address, size, s, x, y, z):
    """support(size[s], x, y, z) of the function at an address."""

    def generate(context, builder, signature, arguments):
        double, whole = ir.DoubleType(), ir.IntType(64)
        at, rows, index, *along = arguments
        data = context.make_array(signature.args[1])(context, builder, rows)
        stride, count = builder.extract_value(data.strides, 0), builder.extract_value(data.shape, 1)
        row = builder.add(builder.ptrtoint(data.data, stride.type), builder.mul(stride, index))
        out = cgutils.alloca_once(builder, double, size=ir.Constant(whole, 3))
        kind = ir.FunctionType(ir.VoidType(), [double.as_pointer(), whole, double, double, double, double.as_pointer()])
        function = builder.inttoptr(at, kind.as_pointer())
        builder.call(function, [builder.inttoptr(row, double.as_pointer()), count, *along, out])
        point = [builder.load(builder.gep(out, [ir.Constant(whole, i)])) for i in range(3)]
        return context.make_tuple(builder, signature.return_type, point)

    number = types.float64
    return types.UniTuple(number, 3)(types.int64, size, types.int64, number, number, number), generate


def _call_interpreted(
    address: int, size: np.ndarray, s: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """`_call` where nothing is compiled."""
    return _interpreted[address](size[s], x, y, z)


furthest: Any = _call_interpreted if config.DISABLE_JIT else _call  # type: ignore[attr-defined]
"""furthest(address, size, s, x, y, z): the point of SUPPORT_ONLY shape s, in its frame, furthest along (x, y, z)."""


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def support_face(address, size, s, x, y, z, corners):
    """Write the face of SUPPORT_ONLY shape s that looks along the unit vector (x, y, z) into corners (≥ RING, 3), in
    its frame, anticlockwise seen against it.  Returns (corners written, cosine between the face and the direction): a
    polygon, a segment or a point; the cosine of the last two is 0, so that others are never cut to them.

    The support points of directions a little beside the normal are the corners of a flat face, and close together on a
    round one. Rounded edges make them a little too high: so a face is computed again, closely around its own normal."""
    count = _ring(address, size, s, x, y, z, _TILT, corners)
    if count >= 3:
        ax, ay, az = _area(corners, count)
        area = math.sqrt(ax * ax + ay * ay + az * az)
        far, one, two = _longest(corners, count)
        if area <= 2.0 * _NARROW * far:
            for i in range(3):
                first, second = corners[one, i], corners[two, i]
                corners[0, i], corners[1, i] = first, second
            count = 2
        else:
            count = _ring(address, size, s, ax / area, ay / area, az / area, _FINE, corners)
            if count >= 3:
                ax, ay, az = _area(corners, count)
                return count, (ax * x + ay * y + az * z) / math.sqrt(ax * ax + ay * ay + az * az)
    if count != 2:
        corners[0, 0], corners[0, 1], corners[0, 2] = furthest(address, size, s, x, y, z)
        count = 1
    return count, 0.0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _ring(address, size, s, x, y, z, tilt, corners):
    """Support points of RING directions that lean by `tilt` [rad] against a unit vector, those close together once:
    the number written into corners."""
    # tangents, from the axis of the shape that is least along the direction: they turn with it smoothly
    ux, uy, uz = (0.0, -z, y) if abs(x) < 0.6 else (z, 0.0, -x)
    length = math.sqrt(ux * ux + uy * uy + uz * uz)
    ux, uy, uz = ux / length, uy / length, uz / length
    vx, vy, vz = y * uz - z * uy, z * ux - x * uz, x * uy - y * ux
    across = max(_half_width(address, size, s, ux, uy, uz), _half_width(address, size, s, vx, vy, vz))
    count = 0
    for k in range(RING):
        angle = 2.0 * math.pi * k / RING
        c, d = tilt * math.cos(angle), tilt * math.sin(angle)
        px, py, pz = furthest(address, size, s, x + c * ux + d * vx, y + c * uy + d * vy, z + c * uz + d * vz)
        is_there = False
        for i in range(count):
            is_there = is_there or _square(corners, i, px, py, pz) <= (_POINT * across) ** 2
        if not is_there:
            corners[count, 0], corners[count, 1], corners[count, 2] = px, py, pz
            count += 1
    return count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _area(corners, count):
    """Twice the area vector of a polygon."""
    ax, ay, az = 0.0, 0.0, 0.0
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        ax += corners[i, 1] * corners[j, 2] - corners[i, 2] * corners[j, 1]
        ay += corners[i, 2] * corners[j, 0] - corners[i, 0] * corners[j, 2]
        az += corners[i, 0] * corners[j, 1] - corners[i, 1] * corners[j, 0]
    return ax, ay, az


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _longest(corners, count):
    """(squared distance, i, j) of the two corners that are furthest from each other."""
    far, one, two = 0.0, 0, 1
    for i in range(count):
        for k in range(i):
            square = _square(corners, k, corners[i, 0], corners[i, 1], corners[i, 2])
            if square > far:
                far, one, two = square, k, i
    return far, one, two


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _square(corners, i, x, y, z):
    """Squared distance of a point from corner i."""
    return (corners[i, 0] - x) ** 2 + (corners[i, 1] - y) ** 2 + (corners[i, 2] - z) ** 2


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def least_half_width(size, s, address):
    """Half the least of many widths of SUPPORT_ONLY shape s [m]."""
    least = math.inf
    for k in range(_WIDTHS):
        z, angle = 1.0 - (k + 0.5) / _WIDTHS, math.pi * (1.0 + math.sqrt(5.0)) * k
        r = math.sqrt(1.0 - z * z)
        least = min(least, _half_width(address, size, s, r * math.cos(angle), r * math.sin(angle), z))
    return least


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _half_width(address, size, s, x, y, z):
    """Along a unit vector [m]."""
    px, py, pz = furthest(address, size, s, x, y, z)
    qx, qy, qz = furthest(address, size, s, -x, -y, -z)
    return 0.5 * ((px - qx) * x + (py - qy) * y + (pz - qz) * z)
