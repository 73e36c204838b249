"""What a solid shows in a direction: the face that looks there (a polygon, or a segment along a round side), and how
far it reaches."""

import math

from delassus.collision.layout import BOX, CAPSULE, CYLINDER, SPHERE, SUPPORT_ONLY, TRIANGLE, to_local, to_world
from delassus.collision.narrow.support_only import furthest, support_face
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

RIM = 8  # corners that stand for the rim of a cylinder's end


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def looking_face(shapes, faces, s, nx, ny, nz, corners):
    """Write the face of shape s that looks along n into corners (·, 3), in the world, anticlockwise seen against n.
    Returns (corners written, cosine between the face and n).

    One corner for a sphere, and two for the sides of capsules and cylinders, whose cosine is 0: neither is ever the
    face others are cut to."""
    position, R, size, kind = shapes.position, shapes.rotation, shapes.size, shapes.kind
    vertex, vertex_start = shapes.vertex, shapes.vertex_start
    x, y, z = to_local(R, s, nx, ny, nz)
    if kind[s] == BOX:
        count, cosine = _box(size[s, 0], size[s, 1], size[s, 2], x, y, z, corners)
    elif kind[s] == CAPSULE:
        r, h = size[s, 0], size[s, 1]
        count, cosine = _segment(r * x, r * y, r * z, h, corners), 0.0
    elif kind[s] == CYLINDER:
        count, cosine = _cylinder(size[s, 0], size[s, 1], x, y, z, corners)
    elif kind[s] == TRIANGLE:
        first, count = vertex_start[s], 3
        for c in range(3):
            for i in range(3):
                corners[c, i] = vertex[first + c, i]
        mx, my, mz = area(corners, 3)
        cosine = (mx * x + my * y + mz * z) / math.sqrt(mx * mx + my * my + mz * mz)
    elif kind[s] == SUPPORT_ONLY:
        count, cosine = support_face(shapes.supports[s], size, s, x, y, z, corners)
    elif kind[s] == SPHERE:
        r, count, cosine = size[s, 0], 1, 0.0
        corners[0, 0], corners[0, 1], corners[0, 2] = r * x, r * y, r * z
    else:
        face, face_start, shape_face, face_normal = faces.face, faces.face_start, faces.shape_face, faces.face_normal
        best, cosine = shape_face[s], -2.0
        for f in range(shape_face[s], shape_face[s + 1]):
            c = face_normal[f, 0] * x + face_normal[f, 1] * y + face_normal[f, 2] * z
            if c > cosine:
                best, cosine = f, c
        first, count = vertex_start[s], face_start[best + 1] - face_start[best]
        for c in range(count):
            v = first + face[face_start[best] + c]
            corners[c, 0], corners[c, 1], corners[c, 2] = vertex[v, 0], vertex[v, 1], vertex[v, 2]
    for c in range(count):
        wx, wy, wz = to_world(R, s, corners[c, 0], corners[c, 1], corners[c, 2])
        corners[c, 0], corners[c, 1], corners[c, 2] = position[s, 0] + wx, position[s, 1] + wy, position[s, 2] + wz
    return count, cosine


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def area(corners, count):
    """Twice the area vector of a triangle of three of so many corners, across the face: not of neighbours, since faces
    are flat to so many digits only."""
    i, j = count // 3, 2 * count // 3
    ax, ay, az = corners[i, 0] - corners[0, 0], corners[i, 1] - corners[0, 1], corners[i, 2] - corners[0, 2]
    bx, by, bz = corners[j, 0] - corners[0, 0], corners[j, 1] - corners[0, 1], corners[j, 2] - corners[0, 2]
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _box(hx, hy, hz, x, y, z, corners):
    i = 0 if abs(x) >= abs(y) and abs(x) >= abs(z) else (1 if abs(y) >= abs(z) else 2)
    d = x if i == 0 else (y if i == 1 else z)
    sign = math.copysign(1.0, d)
    for c in range(4):
        one = 1.0 if c == 0 else (-sign if c == 1 else (-1.0 if c == 2 else sign))
        two = 1.0 if c == 0 else (sign if c == 1 else (-1.0 if c == 2 else -sign))
        corners[c, i] = sign * (hx if i == 0 else (hy if i == 1 else hz))
        corners[c, (i + 1) % 3] = one * (hy if i == 0 else (hz if i == 1 else hx))
        corners[c, (i + 2) % 3] = two * (hz if i == 0 else (hx if i == 1 else hy))
    return 4, abs(d)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _segment(x, y, z, h, corners):
    corners[0, 0], corners[0, 1], corners[0, 2] = x, y, z - h
    corners[1, 0], corners[1, 1], corners[1, 2] = x, y, z + h
    return 2


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _cylinder(r, h, x, y, z, corners):
    """Side or end."""
    if abs(z) > 0.7071:
        sign = math.copysign(1.0, z)
        for c in range(RIM):
            angle = sign * 2.0 * math.pi / RIM * c
            corners[c, 0], corners[c, 1], corners[c, 2] = r * math.cos(angle), r * math.sin(angle), sign * h
        return RIM, abs(z)
    across = math.hypot(x, y)
    return _segment(r * x / across, r * y / across, 0.0, h, corners), 0.0


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def support(shapes, s, nx, ny, nz):
    """How far solid or triangle s reaches from its origin along n, a unit vector [m]."""
    size, kind, vertex, vertex_start = shapes.size, shapes.kind, shapes.vertex, shapes.vertex_start
    x, y, z = to_local(shapes.rotation, s, nx, ny, nz)
    if kind[s] == BOX:
        return abs(x) * size[s, 0] + abs(y) * size[s, 1] + abs(z) * size[s, 2]
    if kind[s] == CAPSULE:
        return size[s, 0] + size[s, 1] * abs(z)
    if kind[s] == CYLINDER:
        return size[s, 0] * math.hypot(x, y) + size[s, 1] * abs(z)
    if kind[s] == SUPPORT_ONLY:
        px, py, pz = furthest(shapes.supports[s], size, s, x, y, z)
        return px * x + py * y + pz * z
    if kind[s] == SPHERE:
        return size[s, 0]
    most = -math.inf
    for v in range(vertex_start[s], vertex_start[s + 1]):
        most = max(most, x * vertex[v, 0] + y * vertex[v, 1] + z * vertex[v, 2])
    return most
