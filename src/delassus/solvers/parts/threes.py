"""D cut into 3×3 blocks, for sweeps and factorisations in compiled code.

Every block of rows becomes one or more *triples*: a contact is one, a limit one with two empty rows, a joint as many as
its rows need, the last one padded. Rows of triples are numbered 0 … 3 n − 1; empty ones have no entries in D, no
velocity, and never get a reaction. What kind a triple is stands in its friction coefficient: μ ≥ 0 for contacts, zero
for limits, `BILATERAL` for joints.

Storage: blocks off the diagonal row by row of triples, `pointer` (n + 1,) and, for each, `column`, the first row of the
other triple, and nine numbers by columns in `value` (see `fours`); diagonal blocks apart, in `diagonal` (9 n,), row by
row.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.kernel.four_wide import PADDING, add_rows_product, row_times
from delassus.kernel.memory import NO_REFCOUNT

BILATERAL = -1.0
"""In place of a friction coefficient: the three rows belong to a joint."""


class Triples(NamedTuple):
    """A problem cut into triples. Python hands a plain tuple of these; kernels name it, which accepts either."""

    pointer: np.ndarray
    """(n + 1,) where the blocks of each triple begin."""
    column: np.ndarray
    """(blocks,) first row of the other triple."""
    value: np.ndarray
    """(9 blocks + padding,) by columns."""
    diagonal: np.ndarray
    """(9 n,) by rows."""
    v: np.ndarray
    """(3 n,) free velocity."""
    mu: np.ndarray
    """(n,) friction of contacts, 0 for limits, `BILATERAL` for joints."""
    convex: float
    """1.0 for the ccp law, else 0.0."""


_UNEVEN = 1e3  # largest over smallest diagonal of D above which every triple gets a unit of its own


@njit(cache=True, **NO_REFCOUNT)
def _at(place):
    """A place in an array, without a sign: of others each would be tested for it."""
    return np.uint64(place)


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def place_rows(block_start, joints, limits, mu, place, friction):
    """Where each row goes, `place` (m,), and μ of each triple, `friction`, long enough for all of them; the number of
    triples. block_start: of joints, limits, contacts in this order."""
    count = 0
    for k in range(len(block_start) - 1):
        size = block_start[k + 1] - block_start[k]
        for i in range(size):
            place[block_start[k] + i] = 3 * count + i
        for _ in range((size + 2) // 3):
            friction[count] = BILATERAL if k < joints else 0.0 if k < joints + limits else mu[k - joints - limits]
            count += 1
    return count


@njit(cache=True, **NO_REFCOUNT)
def triples_of(block_start):
    """How many triples the blocks of rows make."""
    count = 0
    for k in range(len(block_start) - 1):
        count += (block_start[k + 1] - block_start[k] + 2) // 3
    return count


@njit(cache=True, error_model="numpy")
def cut_matrix(indptr, indices, data, place, n):
    """(pointer, column, value, diagonal) of D in compressed rows, sorted or not. Where the three rows of a triple have
    their entries in the same whole blocks, as contacts have among contacts, these are copied without a search."""
    pointer, seen, is_whole = np.zeros(n + 1, np.int64), np.full(n, -1, np.int64), np.empty(n, np.bool_)
    row_of = np.full(3 * n, -1, np.int64)
    for i in range(len(place)):
        row_of[place[i]] = i
    for k in range(n):
        i = row_of[3 * k]
        is_whole[k] = i >= 0 and row_of[3 * k + 1] == i + 1 and row_of[3 * k + 2] == i + 2
        count = 0
        if is_whole[k]:
            first, length = indptr[i], indptr[i + 1] - indptr[i]
            if indptr[i + 2] - indptr[i + 1] != length or indptr[i + 3] - indptr[i + 2] != length or length % 3 != 0:
                is_whole[k] = False
                length = 0
            for p in range(first, first + length, 3):
                j, q, s = int(indices[_at(p)]), p + length, p + 2 * length
                other = place[_at(j)] // 3
                if not (
                    indices[_at(p + 1)] == j + 1
                    and indices[_at(p + 2)] == j + 2
                    and indices[_at(q)] == j
                    and indices[_at(q + 1)] == j + 1
                    and indices[_at(q + 2)] == j + 2
                    and indices[_at(s)] == j
                    and indices[_at(s + 1)] == j + 1
                    and indices[_at(s + 2)] == j + 2
                    and place[_at(j)] == 3 * other
                    and place[_at(j + 2)] == 3 * other + 2
                ):
                    is_whole[k] = False
                    break
                count += other != k
        if not is_whole[k]:
            count = 0
            for a in range(3 * k, 3 * k + 3):
                i = row_of[a]
                if i >= 0:
                    for p in range(indptr[i], indptr[i + 1]):
                        other = place[indices[p]] // 3
                        if other != k and seen[other] != k:
                            seen[other] = k
                            count += 1
        pointer[k + 1] = pointer[k] + count
    column, value, diagonal = np.empty(pointer[n], np.int64), np.empty(9 * pointer[n] + PADDING), np.zeros(9 * n)
    value[9 * pointer[n] :] = 0.0
    seen[:] = -1
    for k in range(n):
        end = pointer[k]
        if is_whole[k]:
            i = row_of[3 * k]
            length = indptr[i + 1] - indptr[i]
            for p in range(indptr[i], indptr[i] + length, 3):
                j = place[_at(indices[_at(p)])]
                if j == 3 * k:
                    for a in range(3):
                        for b in range(3):
                            diagonal[9 * k + 3 * a + b] += data[p + a * length + b]
                    continue
                column[_at(end)] = j
                for b in range(3):
                    for a in range(3):
                        value[_at(9 * end + 3 * b + a)] = data[_at(p + a * length + b)]
                end += 1
            continue
        value[9 * pointer[k] : 9 * pointer[k + 1]] = 0.0
        for a in range(3):
            i = row_of[3 * k + a]
            if i < 0:
                continue
            for p in range(indptr[i], indptr[i + 1]):
                j = place[indices[p]]
                other = j // 3
                b = j - 3 * other
                if other == k:
                    diagonal[9 * k + 3 * a + b] += data[p]
                    continue
                at = seen[other]
                if at < pointer[k]:
                    at = end
                    seen[other] = at
                    column[at] = 3 * other
                    end += 1
                value[9 * at + 3 * b + a] += data[p]
    return pointer, column, value, diagonal


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def fill_dense(D, place, n, row_of, pointer, column, value, diagonal):
    """Blocks of D in full, but those of zeros, into arrays that are long enough for all; how many blocks there
    are.  row_of: (3 n,) scratch."""
    for i in range(3 * n):
        row_of[i] = -1
    for i in range(len(place)):
        row_of[place[i]] = i
    pointer[0] = at = 0
    for k in range(n):
        for other in range(n):
            any_there, out, o, row, col = False, value, 9 * at, 1, 3
            if other == k:
                out, o, row, col = diagonal, 9 * k, 3, 1
            first, start = row_of[_at(3 * k)], row_of[_at(3 * other)]
            if row_of[_at(3 * k + 2)] == first + 2 and row_of[_at(3 * other + 2)] == start + 2:  # two contacts
                size = 0.0
                for a in range(3):
                    i, to = _at(first + a), o + row * a
                    x, y, z = D[i, _at(start)], D[i, _at(start + 1)], D[i, _at(start + 2)]
                    out[_at(to)], out[_at(to + col)], out[_at(to + 2 * col)] = x, y, z
                    size += abs(x) + (abs(y) + abs(z))
                any_there = size != 0.0
            else:
                for a in range(3):
                    i = row_of[3 * k + a]
                    for b in range(3):
                        j = row_of[3 * other + b]
                        x = D[i, j] if i >= 0 and j >= 0 else 0.0
                        out[o + row * a + col * b] = x
                        any_there = any_there or x != 0.0
            if any_there and other != k:
                column[at] = 3 * other
                at += 1
        pointer[k + 1] = at
    for t in range(9 * at, 9 * at + PADDING):
        value[t] = 0.0
    return at


@njit(cache=True, error_model="numpy")
def cut_rigid(rigid, body_count, place, n):
    """(pointer, column, value, diagonal) of rigid bodies, D_kl = Σ over common bodies of
    rows_k response_lᵀ.  rigid: `RigidDelassus.plain`."""
    pointer, scratch = np.empty(n + 1, np.int64), np.empty(rigid_scratch(len(rigid[0]), body_count), np.int64)
    count = count_rigid(rigid, body_count, place, pointer, scratch)
    column, value, diagonal = np.empty(count, np.int64), np.empty(9 * count + PADDING), np.empty(9 * n)
    fill_rigid(rigid, body_count, place, scratch, np.empty(48), pointer, column, value, diagonal)
    return pointer, column, value, diagonal


@njit(cache=True, **NO_REFCOUNT)
def rigid_scratch(blocks, body_count):
    """Integers that `count_rigid` and `fill_rigid` need as scratch: of each body where its blocks begin in the list of
    (block, side), and where that list ends so far; the list; a mark for each block."""
    return 2 * (body_count + 1) + 3 * blocks


@njit(cache=True, **NO_REFCOUNT)
def _bodies_in(scratch, blocks, body_count):
    """(first, end so far, list, marks), views."""
    at, end = body_count + 1, 2 * (body_count + 1)
    return scratch[:at], scratch[at:end], scratch[end : end + 2 * blocks], scratch[end + 2 * blocks :]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def count_rigid(rigid, body_count, place, pointer, scratch):
    """pointer: (n + 1,), written, and how many blocks there are off the diagonal; scratch: read by `fill_rigid`."""
    bodies, start = rigid[0], rigid[1]
    first, at, touching, seen = _bodies_in(scratch, len(bodies), body_count)
    for b in range(body_count + 1):
        first[b] = 0
    for k in range(len(bodies)):
        seen[k] = -1
        for side in range(2):
            if bodies[k, side] >= 0:
                first[bodies[k, side] + 1] += 1
    for b in range(body_count):
        first[b + 1] += first[b]
        at[b] = first[b]
    for k in range(len(bodies)):
        for side in range(2):
            b = bodies[k, side]
            if b >= 0:
                touching[at[b]] = 2 * k + side
                at[b] += 1
    pointer[0] = 0
    for k in range(len(bodies)):
        size = (start[k + 1] - start[k] + 2) // 3
        count, seen[k] = size, k  # itself, even where it is between the world and the world
        for side in range(2):
            b = bodies[k, side]
            if b >= 0:
                for p in range(first[b], first[b + 1]):
                    other = touching[p] // 2
                    if seen[other] != k:
                        seen[other] = k
                        count += (start[other + 1] - start[other] + 2) // 3
        own = place[start[k]] // 3
        for t in range(own, own + size):
            pointer[t + 1] = pointer[t] + count - 1
    return pointer[len(pointer) - 1]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def fill_rigid(rigid, body_count, place, scratch, left, pointer, column, value, diagonal):
    """The blocks that `count_rigid` counted.  scratch: from there; left: (48,), scratch: the rows of the triple at
    hand, by columns of four, zeros where there are less than three."""
    bodies, start, rows, response, compliance = rigid
    first, _, touching, seen = _bodies_in(scratch, len(bodies), body_count)
    for i in range(len(value)):
        value[i] = 0.0
    for i in range(len(diagonal)):
        diagonal[i] = 0.0
    for i in range(48):
        left[i] = 0.0
    for k in range(len(bodies)):
        seen[k] = -1
    for k in range(len(bodies)):
        own, size = place[start[k]] // 3, (start[k + 1] - start[k] + 2) // 3
        base, end = pointer[own], 0  # blocks of the first triple, and how many of them there are so far
        if size > 1:  # the triples of a joint among themselves come first
            end = size - 1
            for t in range(size):
                spot = pointer[own + t]
                for s in range(size):
                    if s != t:
                        column[spot] = 3 * (own + s)
                        spot += 1
        for t in range(size):
            i, height = start[k] + 3 * t, min(3, start[k + 1] - start[k] - 3 * t)
            for e in range(12):
                for a in range(3):
                    left[4 * e + a] = rows[i + a, e] if a < height else 0.0
            for side in range(2):
                b = bodies[k, side]
                if b < 0:
                    continue
                for p in range(first[b], first[b + 1]):
                    other, far = touching[p] // 2, touching[p] % 2
                    theirs, width = place[start[other]] // 3, (start[other + 1] - start[other] + 2) // 3
                    if other != k and seen[other] < base:
                        seen[other] = base + end
                        for u in range(size):
                            for s in range(width):
                                column[pointer[own + u] + end + s] = 3 * (theirs + s)
                        end += width
                    spot = pointer[own + t] + seen[other] - base
                    for s in range(width):
                        j, wide = start[other] + 3 * s, min(3, start[other + 1] - start[other] - 3 * s)
                        if other == k and s == t:
                            for a in range(height):
                                for c in range(height):
                                    x = diagonal[9 * (own + t) + 3 * a + c]
                                    for e in range(6):
                                        x += rows[i + a, 6 * side + e] * response[i + c, 6 * far + e]
                                    diagonal[9 * (own + t) + 3 * a + c] = x
                            continue
                        at = 9 * (spot + s if other != k else pointer[own + t] + (s if s < t else s - 1))
                        if wide == 3:
                            add_rows_product(left, 24 * side, response, 12 * j + 6 * far, value, at)
                            continue
                        for c in range(wide):
                            for a in range(height):
                                x = value[at + 3 * c + a]
                                for e in range(6):
                                    x += rows[i + a, 6 * side + e] * response[j + c, 6 * far + e]
                                value[at + 3 * c + a] = x
    for i in range(len(compliance)):
        diagonal[9 * (place[i] // 3) + 4 * (place[i] % 3)] += compliance[i]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def scale_threes(pointer, column, value, diagonal, v, unit_r, unit_v):
    """D and v in units where the mean diagonal of D and the rms of v are one, in place: λ = unit_r r, velocities unit_v
    times those of the scaled problem, both (3 n,) and written. Where mobilities are uneven each triple is scaled by its
    own first, so that mass ratios do not matter to the proximal term."""
    n = len(pointer) - 1
    low, high, rows = math.inf, 0.0, 0
    for i in range(3 * n):
        x = diagonal[9 * (i // 3) + 4 * (i % 3)]
        if x > 0.0:
            low, high, rows = min(low, x), max(high, x), rows + 1
    uneven = high > _UNEVEN * low
    mean = square = 0.0
    for k in range(n):
        trace = diagonal[9 * k] + diagonal[9 * k + 4] + diagonal[9 * k + 8]
        count = 0
        for a in range(3):
            count += diagonal[9 * k + 4 * a] > 0.0
        s = math.sqrt(count / trace) if uneven and trace > 0.0 else 1.0
        unit_r[3 * k] = s
        mean += s * s * trace
        for a in range(3):
            square += (s * v[3 * k + a]) ** 2
    mean, rms = mean / max(rows, 1), math.sqrt(square / max(rows, 1))
    mean, rms = mean if mean > 0.0 else 1.0, rms if rms > 0.0 else 1.0
    for k in range(n):
        s = unit_r[3 * k]
        factor = s / mean
        for t in range(9):
            diagonal[9 * k + t] *= s * factor
        for p in range(pointer[k], pointer[k + 1]):
            both = factor * unit_r[column[p]] if uneven else factor
            for t in range(9 * p, 9 * p + 9):
                value[_at(t)] *= both
    for k in range(n):  # not before: blocks above read the factors of other triples
        s = unit_r[3 * k]
        for a in range(3):
            v[3 * k + a] *= s / rms
            unit_r[3 * k + a] = s * rms / mean
            unit_v[3 * k + a] = rms / s


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def pose(pointer, column, value, diagonal, v_f, reactions, place, v, unit_r, unit_v, r):
    """The problem in units of `scale_threes`, D in place, and a guess in them.  v_f, reactions, place: (m,), of the
    problem; v, unit_r, unit_v, r: (3 n,), written."""
    for i in range(len(v)):
        v[i] = r[i] = 0.0
    for i in range(len(place)):
        v[_at(place[i])] = v_f[i]
    scale_threes(pointer, column, value, diagonal, v, unit_r, unit_v)
    for i in range(len(place)):
        at = _at(place[i])
        r[at] = reactions[i] / unit_r[at]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def unpose(unit_r, r, place, reactions):
    """Reactions in units of the problem, (m,), written."""
    for i in range(len(place)):
        at = _at(place[i])
        reactions[i] = unit_r[at] * r[at]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def velocity(pointer, column, value, diagonal, v, r, out):
    """out = D r + v, (3 n,)."""
    for k in range(len(pointer) - 1):
        i = 3 * k
        q0, q1, q2 = row_times(pointer[k], pointer[k + 1], column, value, r)
        x, y, z, o = r[i], r[i + 1], r[i + 2], 9 * k
        out[i] = q0 + v[i] + diagonal[o] * x + diagonal[o + 1] * y + diagonal[o + 2] * z
        out[i + 1] = q1 + v[i + 1] + diagonal[o + 3] * x + diagonal[o + 4] * y + diagonal[o + 5] * z
        out[i + 2] = q2 + v[i + 2] + diagonal[o + 6] * x + diagonal[o + 7] * y + diagonal[o + 8] * z


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def velocity_of(triples, v, r, out):
    """out = D r + v, (3 n,).  triples: `Triples`."""
    velocity(triples.pointer, triples.column, triples.value, triples.diagonal, v, r, out)
