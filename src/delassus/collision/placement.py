"""Where the shapes are, body poses to shape poses and bounding boxes, and whether any moves far."""

import math

from delassus.collision.layout import CAPSULE, CYLINDER, PLANE, SPHERE, Placing, Polyhedra, PosedShapes
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

UNIT = 1e-6  # how far the square of a quaternion's length may be from one


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def bad_pose(t, threads, q):
    """The first body of share t whose pose is not finite or whose quaternion is not of unit length, or −1."""
    n = len(q)
    for b in range(n * t // threads, n * (t + 1) // threads):
        x, y, z = q[b, 0], q[b, 1], q[b, 2]
        q0, q1, q2, q3 = q[b, 3], q[b, 4], q[b, 5], q[b, 6]
        # also false for NaN; the bound keeps cell numbers within 64 bits
        if not (abs(x) < 1e15 and abs(y) < 1e15 and abs(z) < 1e15):
            return b
        if not abs(q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3 - 1.0) < UNIT:
            return b
    return -1


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def place(t, threads, shapes, q, position, rotation, extent):
    """World pose and half edges of the world-aligned bounding box (margin included) of share t of the shapes.  Returns
    the first body of the share with a bad pose, or −1.

    shapes: the fields of Placing; q: (n_b, 7) poses of the bodies; position (n, 8), rotation (layout.py), extent
    (n, 3): written."""
    placing = Placing(*shapes)
    kind, body, size, half, surface = placing.kind, placing.body, placing.size, placing.half, placing.surface
    local_position, local_rotation = placing.local_position, placing.local_rotation
    bad = bad_pose(t, threads, q)
    n = len(kind)
    for s in range(n * t // threads, n * (t + 1) // threads):
        b, k = body[s], kind[s]
        x, y, z = local_position[s, 0], local_position[s, 1], local_position[s, 2]
        if k == SPHERE:
            if b >= 0 and (x != 0.0 or y != 0.0 or z != 0.0):
                w, i, j, m = q[b, 3], q[b, 4], q[b, 5], q[b, 6]
                # x + 2 v × (v × x + w x)
                cx, cy, cz = j * z - m * y + w * x, m * x - i * z + w * y, i * y - j * x + w * z
                x, y, z = x + 2 * (j * cz - m * cy), y + 2 * (m * cx - i * cz), z + 2 * (i * cy - j * cx)
            e = size[s, 0] + surface[s, 0]
            extent[s, 0] = extent[s, 1] = extent[s, 2] = e
        elif b < 0:
            for r in range(3):
                for c in range(3):
                    rotation[s, r, c] = local_rotation[s, r, c]
            _extent(s, k, size, half, surface[s, 0], rotation, extent)
        else:
            w, i, j, m = q[b, 3], q[b, 4], q[b, 5], q[b, 6]
            r00, r01, r02 = 1 - 2 * (j * j + m * m), 2 * (i * j - w * m), 2 * (i * m + w * j)
            r10, r11, r12 = 2 * (i * j + w * m), 1 - 2 * (i * i + m * m), 2 * (j * m - w * i)
            r20, r21, r22 = 2 * (i * m - w * j), 2 * (j * m + w * i), 1 - 2 * (i * i + j * j)
            for c in range(3):
                l0, l1, l2 = local_rotation[s, 0, c], local_rotation[s, 1, c], local_rotation[s, 2, c]
                rotation[s, 0, c] = r00 * l0 + r01 * l1 + r02 * l2
                rotation[s, 1, c] = r10 * l0 + r11 * l1 + r12 * l2
                rotation[s, 2, c] = r20 * l0 + r21 * l1 + r22 * l2
            x, y, z = r00 * x + r01 * y + r02 * z, r10 * x + r11 * y + r12 * z, r20 * x + r21 * y + r22 * z
            _extent(s, k, size, half, surface[s, 0], rotation, extent)
        if b >= 0:
            x, y, z = x + q[b, 0], y + q[b, 1], z + q[b, 2]
        position[s, 0], position[s, 1], position[s, 2], position[s, 3] = x, y, z, size[s, 0]
        for c in range(4):
            position[s, 4 + c] = surface[s, c]
    return bad


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def posed(fixed, work):
    """The shapes of a detection where they are."""
    placing, polyhedra = Placing(*fixed.placing), Polyhedra(*fixed.polyhedra)
    placed = (work.position, work.rotation, placing.size, placing.kind)
    return PosedShapes(*placed, polyhedra.vertex, polyhedra.vertex_start, fixed.supports)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _extent(s, k, size, half, margin, R, extent):
    """Half edges of the bounding box of a shape that is no sphere."""
    for c in range(3):
        if k == CAPSULE:
            e = size[s, 0] + size[s, 1] * abs(R[s, c, 2])
        elif k == CYLINDER:
            a = abs(R[s, c, 2])
            e = size[s, 1] * a + size[s, 0] * math.sqrt(max(0.0, 1.0 - a * a))
        elif k == PLANE:
            e = math.inf
        else:  # box, hull, triangle: the box in the shape's frame, turned
            e = half[s, 0] * abs(R[s, c, 0]) + half[s, 1] * abs(R[s, c, 1]) + half[s, 2] * abs(R[s, c, 2])
        extent[s, c] = e + margin


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def moves_far(body, arm, least, u, bend, h):
    """Whether a shape moves further than `least` in a time h [s].  u: (n_b, 6); bend: what forces add to it [m]."""
    for s in range(len(body)):
        b = body[s]
        if b >= 0:
            v = math.sqrt(u[b, 0] ** 2 + u[b, 1] ** 2 + u[b, 2] ** 2)
            turn = math.sqrt(u[b, 3] ** 2 + u[b, 4] ** 2 + u[b, 5] ** 2)
            if h * v + bend + h * turn * arm[s] > least:
                return True
    return False
