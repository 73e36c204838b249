"""Bodies that move far within a step: which pairs of shapes meet on the way, and when.

Contacts are found at one configuration. A body that moves by more than a part of its thickness may be through a plate
by then, or beside a corner that it never touches. So its path is followed: along it two shapes advance by their
distance over the speed at which they can close it (conservative advancement, Mirtich 1996): never too far."""

import math
from typing import NamedTuple

import numpy as np

from delassus.collision.arrays import ShapeArrays
from delassus.collision.detect import detect_at
from delassus.collision.layout import PLANE, SPHERE, TRIANGLE, Placing, PosedShapes
from delassus.collision.narrow.gjk import shape_distance
from delassus.collision.narrow.neighbours import mark_kept_apart
from delassus.collision.placement import place
from delassus.collision.sweep.swept import SweptShapes, SweptWork, find_swept, swept_pairs
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT

MISS, TOUCH, HIT, OVERLAP, APART, GRAZE = range(6)
"""What becomes of a pair: it passes by; it touches without closing fast; it hits; it overlaps from the start; it is not
near and does not move fast against each other; it passes by from so near that a small force makes it touch."""

_NEAR = 1e-7  # of the distance that counts as fast: shapes this near touch
_STARTS = 1e-5  # … and from the start, where solving leaves gaps of its own
_GRAZES = 1e-3  # … and at the start of what only just passes
_SOON = 0.05  # of the path: over this time the speed of closing is measured where shapes touch from the start
_ROUNDS = 64  # distances computed per pair; where they do not suffice the pair is taken to meet there


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


class Solids(NamedTuple):
    """Shapes whose paths are followed, fields of ShapeArrays, Pace and Polyhedra."""

    kind: np.ndarray
    body: np.ndarray
    size: np.ndarray
    arm: np.ndarray
    radius: np.ndarray
    vertex: np.ndarray
    vertex_start: np.ndarray
    supports: np.ndarray


class Motion(NamedTuple):
    """Where bodies and shapes are at the start, and how they move."""

    q: np.ndarray  # (n_b, 7)
    path: np.ndarray  # (n_b, 9), see `sweep`
    position: np.ndarray  # (n, 8) of the shapes at the start
    rotation: np.ndarray  # (n, 3, 3)
    horizon: float  # at least 1, see `sweep`
    end: float  # from when on a hit is none: what comes after the step is met in the next


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
    return _judged(arrays, Motion(q, path, position, rotation, horizon, 1.0), pairs, limit)


def follow(arrays: ShapeArrays, q: np.ndarray, path: np.ndarray, pairs: np.ndarray, horizon: float) -> Sweep:
    """`sweep` for these pairs (p, 2) of shapes a < b, sorted, however fast they are."""
    thin, margin = arrays.pace.thin, arrays.surface[:, 0]
    position, rotation, _ = _start(arrays, q)
    limit = np.minimum(margin[pairs].sum(axis=1), thin[pairs].min(axis=1))
    return _judged(arrays, Motion(q, path, position, rotation, horizon, horizon), pairs, limit)


def kept_apart(arrays: ShapeArrays, q: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Which of these pairs (p, 2) of shapes a flush neighbour of one of them keeps apart at poses q (n_b, 7), see
    narrow/neighbours.py."""
    contacts, (position, rotation, _) = detect_at(arrays, q), _start(arrays, q)
    vertex, start = arrays.vertices.vertex, arrays.vertices.vertex_start
    shapes = PosedShapes(position, rotation, arrays.size, arrays.kind, vertex, start, arrays.supports)
    apart = np.empty(len(pairs), np.bool_)
    touching = contacts.shapes.astype(np.int64), np.ascontiguousarray(contacts.normal), contacts.gap
    mark_kept_apart(shapes, (arrays.radius, arrays.body), touching, np.ascontiguousarray(pairs, np.int64), apart)
    return apart


def _start(arrays: ShapeArrays, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(position, rotation, extent) of the shapes at poses q (n_b, 7), see `place`."""
    n = arrays.count
    placed = np.empty((n, 8)), np.empty((n, 3, 3)), np.empty((n, 3))
    place(0, 1, arrays.placing, np.ascontiguousarray(q), *placed)
    return placed


def _judged(arrays: ShapeArrays, motion: Motion, pairs: np.ndarray, limit: np.ndarray) -> Sweep:
    """Verdict and time of pairs."""
    p = arrays.vertices
    size, arm, radius = arrays.size, arrays.pace.arm, arrays.radius
    solids = Solids(arrays.kind, arrays.body, size, arm, radius, p.vertex, p.vertex_start, arrays.supports)
    sweep = Sweep(pairs, np.empty(len(pairs), np.int64), np.empty(len(pairs)), limit)
    _follow(tuple(solids), tuple(motion), tuple(sweep))
    return sweep


@njit(cache=True, error_model="numpy", nogil=True, **ADDRESSED)
def follow_few(shapes, solids, q, path, horizon, placed, work):
    """`sweep` among few shapes, for compiled code: the number of pairs that come near each other fast, with shapes and
    verdicts in `work`; −1 where these are more than `work` has rows for.

    shapes, work: `few_swept`; solids: (size, vertex, vertex_start, supports) of `ShapeArrays`; placed: (position,
    rotation, extent) of the shapes, written; the others as in `sweep`."""
    near, swept, space = find_swept(shapes, q, path, placed, work), SweptShapes(*shapes), SweptWork(*work)
    if near > len(space.limit):
        return -1
    if near:
        placing, (size, vertex, vertex_start, supports) = Placing(*swept.placing), solids
        own = Solids(placing.kind, placing.body, size, swept.arm, swept.radius, vertex, vertex_start, supports)
        pairs = Sweep(space.pairs[:near], space.verdict, space.time, space.limit)
        _follow(own, Motion(q, path, placed[0], placed[1], horizon, 1.0), pairs)
    return near


@njit(cache=True, error_model="numpy")
def _follow(solids, motion, sweep):
    """Verdict and time of every pair.  solids, motion, sweep: fields of Solids, Motion and Sweep."""
    solids, motion, sweep = Solids(*solids), Motion(*motion), Sweep(*sweep)
    pairs, limit, kind = sweep.pairs, sweep.limit, solids.kind
    position, path, horizon = motion.position, motion.path, motion.horizon
    R, W, M = np.empty((2, 3, 3)), np.empty((4, 3)), np.empty((3, 3))
    poses = PosedShapes(np.empty((2, 3)), R, solids.size, kind, solids.vertex, solids.vertex_start, solids.supports)
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
        if kind[b] != PLANE:
            enough = max(near, _GRAZES * limit[p]) if limit[p] > 0.0 else -limit[p]
            if _stay_apart(solids, motion, a, b, enough + 1e-13 * reach, horizon if limit[p] > 0.0 else 0.0):
                sweep.verdict[p], sweep.time[p] = MISS if limit[p] > 0.0 else APART, horizon
                continue
        t, verdict, since, before, begins = 0.0, HIT, 0.0, 0.0, 0.0
        for rounds in range(_ROUNDS):
            _pose(solids, motion, a, one, t, poses, M)
            _pose(solids, motion, b, two, t, poses, M)
            d, nx, ny, nz = shape_distance(poses, a, b, W)
            if nx == 0.0 and ny == 0.0 and nz == 0.0:
                verdict = OVERLAP if rounds == 0 else HIT
                break
            if limit[p] < 0.0:
                verdict = TOUCH if d <= -limit[p] else APART
                break
            most = _closing(solids, path, a, b, nx, ny, nz, t)
            if d <= (_STARTS * limit[p] if rounds == 0 else near):
                if rounds > 0:
                    most = (before - d) / (t - since)  # how fast they closed on the way, not how fast they could have
                else:
                    _pose(solids, motion, a, one, _SOON, poses, M)
                    _pose(solids, motion, b, two, _SOON, poses, M)
                    then, x, y, z = shape_distance(poses, a, b, W)
                    if x != 0.0 or y != 0.0 or z != 0.0:
                        most = (d - then) / _SOON
                # a triangle has one side only
                behind = kind[b] == TRIANGLE and _leans(R[1], solids.vertex, solids.vertex_start[b], nx, ny, nz) > 1e-6
                verdict = TOUCH if most <= limit[p] or behind else HIT
                break
            most = max(most, _closing(solids, path, a, b, nx, ny, nz, horizon))
            if rounds == 0:
                begins = d
            if most <= 0.0 or t + (d - 0.5 * near) / most > horizon:
                verdict = MISS if begins > _GRAZES * limit[p] else GRAZE
                break
            since, before = t, d
            t += (d - 0.5 * near) / most
        if t > motion.end and verdict == HIT:
            verdict = MISS
        sweep.verdict[p], sweep.time[p] = verdict, t


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _stay_apart(solids, motion, a, b, enough, horizon):
    """Do the balls around shapes a and b stay so far from each other [m] until the horizon? Most that fly by do."""
    start, along, speed, bend, turn = 0.0, 0.0, 0.0, 0.0, 0.0
    body, path, position = solids.body, motion.path, motion.position
    for k in range(3):
        x, v, w = position[b, k] - position[a, k], 0.0, 0.0
        if body[a] >= 0:
            v, w = v - path[body[a], k], w - path[body[a], 6 + k]
        if body[b] >= 0:
            v, w = v + path[body[b], k], w + path[body[b], 6 + k]
        start, along, speed, bend = start + x * x, along + x * v, speed + v * v, bend + w * w
    for s in (a, b):
        if body[s] >= 0:
            w = path[body[s]]
            turn += solids.arm[s] * math.sqrt(w[3] * w[3] + w[4] * w[4] + w[5] * w[5])
    nearest = min(max(-along / speed, 0.0), horizon) if speed > 0.0 else 0.0
    square = start + nearest * (2.0 * along + nearest * speed)
    slack = horizon * (horizon * math.sqrt(bend) + turn) + solids.radius[a] + solids.radius[b] + enough
    return square > slack * slack * (1.0 + 1e-9)


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _pose(solids, motion, s, side, t, poses, M):
    """Where shape s is at time t, into pose `side`.  M: (3, 3) scratch."""
    q, path, position, rotation = motion.q, motion.path, motion.position, motion.rotation
    P, R, b = poses.position, poses.rotation, solids.body[s]
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
        if solids.kind[s] != SPHERE:  # whose rotation is never written
            for j in range(3):
                R[side, i, j] = M[i, 0] * rotation[s, 0, j] + M[i, 1] * rotation[s, 1, j] + M[i, 2] * rotation[s, 2, j]


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def _closing(solids, path, a, b, nx, ny, nz, t):
    """How fast points of shapes a and b can approach each other along n, from a to b, at time t [m per path]."""
    out, body, arm = 0.0, solids.body, solids.arm
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
