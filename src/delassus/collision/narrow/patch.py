"""The contact points of two faces that look at each other."""

import math
from typing import NamedTuple

import numpy as np

from delassus.collision.narrow.faces import area
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

FLAT = 0.995  # cosine between a face and the normal (about 6 degrees) from which the other face is cut to it
MOST = 16  # contacts of a pair at most
NEAREST = 1 << 15  # feature of the nearest point, where no corner of the patch is it


class FacingSide(NamedTuple):
    """The face that a solid shows to the other."""

    corners: np.ndarray  # (·, 4), anticlockwise seen from the other solid [m]
    cosine: float  # between the face and the normal


class Touch(NamedTuple):
    """Where two solids are nearest."""

    gap: float  # their distance along the normal [m]
    normal: np.ndarray  # (3,) unit vector from the first to the second
    point: np.ndarray  # (3,) midway between their nearest points [m]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def patch(one, two, touch, add_nearest, pair, out, work):
    """Corners of the overlap of two faces seen along n, and the nearest point if none of them is it.

    one, two: FacingSide; touch: of them; add_nearest: whether the nearest point is added; work: (2, ·, 4) scratch, of
    as many corners as both faces have together. Returns (contacts written, lowest gap of the corners). A corner is
    where two lines meet, numbered from 0 for edges of the face that is cut and from 64 for sides of the face it is cut
    to: that pair is its feature."""
    n, gap, k = touch.normal, touch.gap, pair.row
    count, lowest = 0, math.inf
    cut_to_one = one.cosine >= two.cosine - 1e-5  # a slight preference, so that trembling does not change the features
    if max(one.cosine, two.cosine) >= FLAT:
        reference, incident, sign = (one.corners, two.corners, 1.0) if cut_to_one else (two.corners, one.corners, -1.0)
        which, corners = _cut(reference, incident, n, sign, work)
        polygon = work[which]
        for c in range(corners):
            # height over the reference face, along n
            h = _height(reference, n, sign, polygon, c)
            lowest = min(lowest, h)
            h = max(h, gap)  # a corner a little outside a face that leans may be lower
            if h > pair.limit or count >= MOST - 1:
                continue
            before = c - 1 if c > 0 else corners - 1
            # the ends of a segment have one line each
            low, high = int(polygon[c, 3]), 127 if len(incident) == 2 else int(polygon[before, 3])
            low, high = min(low, high), max(low, high)
            for i in range(3):
                out[k + count, i] = n[i]
                out[k + count, 3 + i] = polygon[c, i] - 0.5 * sign * h * n[i]
            out[k + count, 6], out[k + count, 7] = h, low * 128 + high + (1 << 14 if cut_to_one else 0)
            count += 1
    scale = _span(one.corners) + _span(two.corners) + abs(gap)
    if add_nearest and lowest > gap + 1e-6 * scale and gap <= pair.limit:
        for i in range(3):
            out[k + count, i], out[k + count, 3 + i] = n[i], touch.point[i]
        out[k + count, 6], out[k + count, 7] = gap, NEAREST
        count += 1
    return count, lowest


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _span(corners):
    """Largest coordinate of the corners seen from the first [m]."""
    most = 0.0
    for c in range(1, len(corners)):
        for i in range(3):
            most = max(most, abs(corners[c, i] - corners[0, i]))
    return most


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _height(reference, n, sign, polygon, c):
    """Distance along sign · n from the plane of the reference face to corner c."""
    mx, my, mz = area(reference, len(reference))
    x, y, z = polygon[c, 0] - reference[0, 0], polygon[c, 1] - reference[0, 1], polygon[c, 2] - reference[0, 2]
    return (mx * x + my * y + mz * z) / (sign * (mx * n[0] + my * n[1] + mz * n[2]))


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _cut(reference, incident, n, sign, work):
    """The part of the incident face above the reference face (Sutherland–Hodgman): (half of work it is in, corners).

    A segment is a polygon of two corners whose way back is the same line."""
    for c in range(len(incident)):
        for i in range(3):
            work[0, c, i] = incident[c, i]
        work[0, c, 3] = c
    count, which = len(incident), 0
    for line in range(len(reference)):
        after = line + 1 if line + 1 < len(reference) else 0
        ex = reference[after, 0] - reference[line, 0]
        ey = reference[after, 1] - reference[line, 1]
        ez = reference[after, 2] - reference[line, 2]
        # outward across this side: e × (sign n)
        ox = sign * (ey * n[2] - ez * n[1])
        oy = sign * (ez * n[0] - ex * n[2])
        oz = sign * (ex * n[1] - ey * n[0])
        length = math.sqrt(ox * ox + oy * oy + oz * oz)
        ox, oy, oz = ox / length, oy / length, oz / length
        limit = ox * reference[line, 0] + oy * reference[line, 1] + oz * reference[line, 2]
        slack = limit + 1e-6 * length
        polygon, out = work[which], work[1 - which]
        left = 0
        for c in range(count):
            nxt = c + 1 if c + 1 < count else 0
            dc = ox * polygon[c, 0] + oy * polygon[c, 1] + oz * polygon[c, 2]
            dn = ox * polygon[nxt, 0] + oy * polygon[nxt, 1] + oz * polygon[nxt, 2]
            if dc <= slack:
                for i in range(4):
                    out[left, i] = polygon[c, i]
                left += 1
            if (dc <= slack) != (dn <= slack) and not (count == 2 and c == 1):
                f = min(max((limit - dc) / (dn - dc), 0.0), 1.0)
                for i in range(3):
                    out[left, i] = polygon[c, i] + f * (polygon[nxt, i] - polygon[c, i])
                out[left, 3] = 64 + line if dc <= slack or count == 2 else polygon[c, 3]
                left += 1
        count, which = left, 1 - which
    return which, count
