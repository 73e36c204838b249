"""Bodies that move far within a step: which pairs of shapes meet on the way, and when.

Contacts are found at one configuration. A body that moves by more than a part of its thickness may be through a plate
by then, or beside a corner that it never touches. So its path is followed: along it two shapes advance by their
distance over the speed at which they can close it (conservative advancement, Mirtich 1996): never too far."""

import math
from typing import NamedTuple

import numpy as np

from delassus.collision.arrays import ShapeArrays
from delassus.collision.layout import PLANE, SPHERE, TRIANGLE, PosedShapes
from delassus.collision.narrow.gjk import shape_distance
from delassus.collision.placement import place
from delassus.collision.sweep.swept import find_swept, swept_pairs
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT

MISS, TOUCH, HIT, OVERLAP, APART, GRAZE = range(6)
"""What becomes of a pair: it passes by; it touches without closing fast; it hits; it overlaps from the start; it is not
near and does not move fast against each other; it passes by from so near that a small force makes it touch."""

_NEAR = 1e-7  # of the distance that counts as fast: shapes this near touch
_STARTS = 1e-5  # … and from the start, where solving leaves gaps of its own
_GRAZES = 1e-3  # … and at the start of what only just passes
_SOON = 0.05  # of the path: over this time the speed of closing is measured where shapes touch from the start
_ROUNDS = 64  # distances asked per pair; where they do not suffice the pair is taken to meet there


class Sweep(NamedTuple):
    """Pairs of shapes that come near each other fast."""

    pairs: np.ndarray  # (p, 2) shapes a < b, sorted
    verdict: np.ndarray  # (p,)
    time: np.ndarray  # (p,) when they meet, as a fraction of the path
    limit: np.ndarray  # (p,) relative motion that counts as fast [m]

    @property
    def keys(self) -> np.ndarray:
        """(p,) of the pairs, ascending."""
        return pair_keys(self.pairs)

    def where(self, chosen: np.ndarray) -> "Sweep":
        """Some of them, by mask (p,)."""
        return Sweep(*(column[chosen] for column in self))


_NOTHING = Sweep(np.empty((0, 2), np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))


def pair_keys(shapes: np.ndarray) -> np.ndarray:
    """One number for each pair of shapes (p, 2)."""
    return (shapes[:, 0].astype(np.int64) << 32) + shapes[:, 1]


def sweep(
    arrays: ShapeArrays, q: np.ndarray, path: np.ndarray, *, horizon: float = 1.0, known: np.ndarray | None = None
) -> Sweep:
    """Follow the pairs that move far against each other.

    q: (n_b, 7) poses at the start; path: (n_b, 9), with a time τ from 0 to 1 a body's centre moves by path[:3] τ +
    path[6:] τ² [m] while it turns by path[3:6] τ [rad]; horizon: what touches until then without closing fast touches,
    too; known: keys of pairs to leave out, ascending."""
    position, rotation, extent = _start(arrays, q)
    pairs, limit = swept_pairs(arrays, path, position, rotation, extent)
    if not len(pairs):
        return _NOTHING
    by_key = np.argsort(pair_keys(pairs), kind="stable")
    pairs, limit = pairs[by_key], limit[by_key]
    if known is not None and len(known):
        keys = pair_keys(pairs)
        new = known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] != keys
        pairs, limit = pairs[new], limit[new]
    return _judged(arrays, q, path, position, rotation, pairs, limit, horizon)


def follow(arrays: ShapeArrays, q: np.ndarray, path: np.ndarray, pairs: np.ndarray, horizon: float) -> Sweep:
    """The same for these pairs (p, 2) of shapes a < b, sorted, however fast they are."""
    thin, margin = arrays.pace.thin, arrays.surface[:, 0]
    position, rotation, _ = _start(arrays, q)
    limit = np.minimum(margin[pairs].sum(axis=1), thin[pairs].min(axis=1))
    return _judged(arrays, q, path, position, rotation, pairs, limit, horizon)


def _start(arrays: ShapeArrays, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(position, rotation, extent) of the shapes at poses q (n_b, 7), see `place`."""
    n = arrays.count
    placed = np.empty((n, 8)), np.empty((n, 3, 3)), np.empty((n, 3))
    place(0, 1, arrays.placing, np.ascontiguousarray(q), *placed)
    return placed


def _judged(
    arrays: ShapeArrays,
    q: np.ndarray,
    path: np.ndarray,
    position: np.ndarray,
    rotation: np.ndarray,
    pairs: np.ndarray,
    limit: np.ndarray,
    horizon: float,
) -> Sweep:
    verdict, time, vertices = np.empty(len(pairs), np.int64), np.empty(len(pairs)), arrays.vertices
    _follow(pairs, limit, arrays.kind, arrays.size, vertices[0], vertices[1], arrays.supports, arrays.body,
            arrays.pace.arm, q, path, position, rotation, horizon, verdict, time)  # fmt: skip
    return Sweep(pairs, verdict, time, limit)


@njit(cache=True, error_model="numpy", nogil=True, **ADDRESSED)
def follow_few(shapes, solids, q, path, horizon, placed, work):
    """`sweep` among few shapes, for compiled code: how many pairs come near each other fast; shapes and verdicts are in
    work[4] and work[6]; −1 where there is no room for so many.

    shapes, work: `few_swept`; solids: (size, vertex, vertex_start, supports) of `ShapeArrays`; placed: (position,
    rotation, extent) of the shapes, written; the others as in `sweep`."""
    near, found, limit, verdict, time = find_swept(shapes, q, path, placed, work), work[4], work[5], work[6], work[7]
    if near > len(limit):
        return -1
    if near:
        size, vertex, vertex_start, supports = solids
        _follow(
            found[:near], limit, shapes[0][0], size, vertex, vertex_start, supports, shapes[5][0], shapes[1], q, path,
            placed[0], placed[1], horizon, verdict, time,
        )  # fmt: skip
    return near


@njit(cache=True, error_model="numpy")
def _follow(
    pairs, limit, kind, size, vertex, vertex_start, supports, body, arm, q, path, position, rotation, horizon, verdict,
    time,
):  # fmt: skip
    """Verdict and time of every pair.  horizon: at least 1, see sweep."""
    P, R, W, M = np.empty((2, 3)), np.empty((2, 3, 3)), np.empty((4, 3)), np.empty((3, 3))
    poses = PosedShapes(P, R, size, kind, vertex, vertex_start, supports)
    one, two = np.int64(0), np.int64(1)  # literal sides would be types of their own, and `_pose` compiled for each
    for p in range(len(pairs)):
        a, b = pairs[p, 0], pairs[p, 1]
        if kind[a] > kind[b]:
            a, b = b, a
        if kind[b] == PLANE:
            a, b = b, a
        reach = 1.0
        for k in range(3):
            for s in (a, b):
                if kind[s] != PLANE:
                    reach = max(reach, abs(position[s, k]))
        near = max(_NEAR * abs(limit[p]), 1e-13 * reach)
        t, said, since, before, begins = 0.0, HIT, 0.0, 0.0, 0.0
        for rounds in range(_ROUNDS):
            _pose(a, one, t, kind, body, q, path, position, rotation, P, R, M)
            _pose(b, two, t, kind, body, q, path, position, rotation, P, R, M)
            d, nx, ny, nz = shape_distance(poses, a, b, W)
            if nx == 0.0 and ny == 0.0 and nz == 0.0:
                said = OVERLAP if rounds == 0 else HIT
                break
            if limit[p] < 0.0:
                said = TOUCH if d <= -limit[p] else APART
                break
            most = _closing(a, b, body, arm, path, nx, ny, nz, t)
            if d <= (_STARTS * limit[p] if rounds == 0 else near):
                if rounds > 0:
                    most = (before - d) / (t - since)  # how fast they closed on the way, not how fast they could have
                else:
                    _pose(a, one, _SOON, kind, body, q, path, position, rotation, P, R, M)
                    _pose(b, two, _SOON, kind, body, q, path, position, rotation, P, R, M)
                    then, x, y, z = shape_distance(poses, a, b, W)
                    if x != 0.0 or y != 0.0 or z != 0.0:
                        most = (d - then) / _SOON
                # a triangle has one side only
                behind = kind[b] == TRIANGLE and _leans(R[1], vertex, vertex_start[b], nx, ny, nz) > 1e-6
                said = TOUCH if most <= limit[p] or behind else HIT
                break
            most = max(most, _closing(a, b, body, arm, path, nx, ny, nz, horizon))
            if rounds == 0:
                begins = d
            if most <= 0.0 or t + (d - 0.5 * near) / most > horizon:
                said = MISS if begins > _GRAZES * limit[p] else GRAZE
                break
            since, before = t, d
            t += (d - 0.5 * near) / most
        if t > 1.0 and said == HIT:
            said = MISS
        verdict[p], time[p] = said, t


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _pose(s, side, t, kind, body, q, path, position, rotation, P, R, M):
    """Where shape s is at time t, into P[side] and R[side]."""
    b = body[s]
    if b < 0:
        for i in range(3):
            P[side, i] = position[s, i]
            for j in range(3):
                R[side, i, j] = rotation[s, i, j]
        return
    x, y, z = t * path[b, 3], t * path[b, 4], t * path[b, 5]
    angle = math.sqrt(x * x + y * y + z * z)
    one = math.sin(angle) / angle if angle > 1e-8 else 1.0
    half = math.sin(0.5 * angle) / (0.5 * angle) if angle > 1e-8 else 1.0
    two, c = 0.5 * half * half, math.cos(angle)  # Rodrigues: c I + one [w]× + two w wᵀ
    M[0, 0], M[0, 1], M[0, 2] = c + two * x * x, two * x * y - one * z, two * x * z + one * y
    M[1, 0], M[1, 1], M[1, 2] = two * x * y + one * z, c + two * y * y, two * y * z - one * x
    M[2, 0], M[2, 1], M[2, 2] = two * x * z - one * y, two * y * z + one * x, c + two * z * z
    for i in range(3):
        P[side, i] = q[b, i] + t * (path[b, i] + t * path[b, 6 + i])
        for k in range(3):
            P[side, i] += M[i, k] * (position[s, k] - q[b, k])
        if kind[s] != SPHERE:  # whose rotation is never written
            for j in range(3):
                R[side, i, j] = M[i, 0] * rotation[s, 0, j] + M[i, 1] * rotation[s, 1, j] + M[i, 2] * rotation[s, 2, j]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _closing(a, b, body, arm, path, nx, ny, nz, t):
    """How fast points of shapes a and b can approach each other along n, from a to b, at time t [m per path]."""
    out = 0.0
    for side in range(2):
        s, sign = (a, 1.0) if side == 0 else (b, -1.0)
        m = body[s]
        if m >= 0:
            w = path[m]
            out += sign * (nx * (w[0] + 2.0 * t * w[6]) + ny * (w[1] + 2.0 * t * w[7]) + nz * (w[2] + 2.0 * t * w[8]))
            x, y, z = ny * w[5] - nz * w[4], nz * w[3] - nx * w[5], nx * w[4] - ny * w[3]
            out += arm[s] * math.sqrt(x * x + y * y + z * z)
    return out


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _leans(R, vertex, v, nx, ny, nz):
    """Cosine between n and the normal of the triangle with corners v, v + 1, v + 2."""
    ux, uy, uz = vertex[v + 1, 0] - vertex[v, 0], vertex[v + 1, 1] - vertex[v, 1], vertex[v + 1, 2] - vertex[v, 2]
    wx, wy, wz = vertex[v + 2, 0] - vertex[v, 0], vertex[v + 2, 1] - vertex[v, 1], vertex[v + 2, 2] - vertex[v, 2]
    mx, my, mz = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    x = R[0, 0] * mx + R[0, 1] * my + R[0, 2] * mz
    y = R[1, 0] * mx + R[1, 1] * my + R[1, 2] * mz
    z = R[2, 0] * mx + R[2, 1] * my + R[2, 2] * mz
    return (x * nx + y * ny + z * nz) / math.sqrt(mx * mx + my * my + mz * mz)
