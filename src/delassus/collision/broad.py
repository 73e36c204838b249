"""Broad phase: all pairs of shapes whose bounding balls and boxes overlap and that may touch, in order."""

import numpy as np
from numba import njit

from delassus.collision.arrays import ShapeArrays
from delassus.collision.filters import may_touch
from delassus.collision.grid import build_grid, cell_of
from delassus.collision.layout import PLANE, SPHERE
from delassus.collision.threads import share_out


def find_pairs(arrays: ShapeArrays, position, rotation, extent, *, threads: int = 1) -> np.ndarray:
    """(p, 2) shapes a < b that may be in contact, sorted.

    position, rotation, extent: of the shapes, as `place` writes them; spheres are tested exactly."""
    grid = ()
    if len(arrays.gridded):
        grid = build_grid(arrays.gridded, arrays.level_start, arrays.level_radius, position, arrays.radius, arrays.pool)
    shapes = (arrays.kind, arrays.body, arrays.owner, arrays.group, arrays.mask, arrays.excluded)
    common = (
        arrays.common,
        arrays.is_common,
        arrays.kind,
        arrays.body,
        arrays.radius,
        arrays.margin,
        position,
        rotation,
        extent,
    )
    levels = (arrays.level_start, arrays.level_radius)
    while True:
        (found,) = arrays.pool.take(((threads, arrays.hint[0] // threads + 1, 2), np.int32))
        counts = np.zeros(threads, np.int64)
        if len(arrays.common):
            share_out(_search_common, threads, common, found, counts)
        if grid:
            share_out(_search_grid, threads, levels, arrays.body, grid, found, counts)
        if counts.max() <= found.shape[1]:
            break
        # Some share ran out of room: it went on counting, so now we know how much it takes.
        arrays.hint[0] = int(1.2 * counts.max() + 1) * threads
    pairs, start, end = arrays.pool.take(
        ((counts.sum(), 2), np.int32), ((arrays.count + 1,), np.int64), ((arrays.count,), np.int64)
    )
    return pairs[: _sort_pairs(found, counts, arrays.plain, shapes, position, extent, pairs, start, end)]


@njit(cache=True, error_model="numpy", nogil=True)
def _search_common(t, threads, common, found, counts):
    """Share t of the pairs with planes and the like: (common shape, any other) where they are near."""
    which, is_common, kind, body, radius, margin, position, rotation, extent = common
    n = len(kind)
    for s in range(n * t // threads, n * (t + 1) // threads):
        for c in which:
            # two common shapes meet once, at the lower number
            if c == s or (is_common[s] and c < s) or body[c] == body[s]:
                continue
            if kind[c] == PLANE or kind[s] == PLANE:
                plane, other = (c, s) if kind[c] == PLANE else (s, c)
                d = 0.0
                for k in range(3):
                    d += rotation[plane, k, 2] * (position[other, k] - position[plane, k])
                near = d <= radius[other] + margin[plane]
            else:
                near = _boxes_overlap(c, s, position, extent)
            if near:
                _note(t, c, s, found, counts)


@njit(cache=True, error_model="numpy", nogil=True)
def _search_grid(t, threads, levels, body, grid, found, counts):
    """Share t of the pairs of shapes in the grids: those whose balls overlap.

    Of the same size class, an item meets those behind it in half of the 27 cells around; of a coarser class, those in
    the cells that its ball, widened by the class's largest radius, reaches. One long function over plain arrays: taking
    them out of a tuple in a callee costs more than the test of a pair."""
    level_start, level_radius = levels
    origin, inverse, shape, first, mask, start, item, ball = grid
    m, room = len(item), found.shape[1]
    count = counts[t]
    runs = np.empty((32, 4), np.int64)  # rows of cells to scan: row, first bucket, number of cells, column or −1
    for own in range(len(level_radius)):
        for p in range(max(m * t // threads, level_start[own]), min(m * (t + 1) // threads, level_start[own + 1])):
            x, y, z, r, owner = ball[p, 0], ball[p, 1], ball[p, 2], ball[p, 3], body[item[p]]
            for level in range(own + 1):
                # as floats: the number of cells may be beyond 64 bits
                shared = 1.0 * shape[level, 0] * shape[level, 1] * shape[level, 2] > mask[level] + 1.0
                if level == own:
                    column, row = cell_of(x, y, z, own, origin, inverse, shape)
                    n = _own_runs(column, row, shape[own, 0], shape[own, 1], runs)
                else:
                    n = _coarser_runs(x, y, z, r + level_radius[level], level, origin, inverse, shape, runs)
                for k in range(n):
                    lo, cells = runs[k, 1] & mask[level], runs[k, 2]
                    over = max(0, lo + cells - mask[level] - 1)  # cells beyond the end of the table: from its start
                    for part in range(2 if over else 1):
                        base = first[level]
                        begin = start[base] if part else start[base + lo]
                        end = start[base + over] if part else start[base + lo + cells - over]
                        if level == own and k == 0:
                            begin = p + 1
                        for q in range(begin, end):
                            dx, dy, dz, reach = ball[q, 0] - x, ball[q, 1] - y, ball[q, 2] - z, ball[q, 3] + r
                            if dx * dx + dy * dy + dz * dz > reach * reach:
                                continue
                            if shared:
                                column, row = cell_of(ball[q, 0], ball[q, 1], ball[q, 2], level, origin, inverse, shape)
                                if row != runs[k, 0] or (runs[k, 3] >= 0 and column != runs[k, 3]):
                                    continue  # another cell of the same bucket
                            if body[item[q]] == owner:
                                continue
                            if count < room:
                                found[t, count, 0] = min(item[p], item[q])
                                found[t, count, 1] = max(item[p], item[q])
                            count += 1
    counts[t] = count


@njit(cache=True, error_model="numpy", forceinline=True)
def _own_runs(x, row, nx, ny, runs):
    """The rest of a cell, the next one along x, and four rows of three cells."""
    for k in range(2):
        runs[k, 0], runs[k, 1], runs[k, 2], runs[k, 3] = row, row * nx + x + k, 1, x + k
    for k in range(4):
        other = row + (1 if k == 0 else ny + k - 2)
        runs[2 + k, 0], runs[2 + k, 1], runs[2 + k, 2], runs[2 + k, 3] = other, other * nx + x - 1, 3, -1
    return 6


@njit(cache=True, error_model="numpy")
def _coarser_runs(x, y, z, reach, level, origin, inverse, shape, runs):
    """The rows of cells of a level that a box of half edge `reach` touches."""
    x0, x1 = _cells(x - origin[level, 0], reach, inverse[level], shape[level, 0])
    y0, y1 = _cells(y - origin[level, 1], reach, inverse[level], shape[level, 1])
    z0, z1 = _cells(z - origin[level, 2], reach, inverse[level], shape[level, 2])
    n = 0
    if x0 > x1:
        return n
    for k in range(z0, z1 + 1):
        for j in range(y0, y1 + 1):
            row = j + shape[level, 1] * k
            runs[n, 0], runs[n, 1], runs[n, 2], runs[n, 3] = row, row * shape[level, 0] + x0, x1 - x0 + 1, -1
            n += 1
    return n


@njit(cache=True, error_model="numpy")
def _cells(x, reach, inverse, n):
    """First and last cell that [x − reach, x + reach] touches, of the n − 2 inner ones."""
    lo, hi = (x - reach) * inverse - 1e-9, (x + reach) * inverse + 1e-9
    if hi < 1.0 or lo >= n - 1:
        return 1, 0
    return np.int64(max(lo, 1.0)), np.int64(min(hi, n - 2.0))


@njit(cache=True, error_model="numpy")
def _boxes_overlap(i, j, position, extent):
    return (
        abs(position[i, 0] - position[j, 0]) <= extent[i, 0] + extent[j, 0]
        and abs(position[i, 1] - position[j, 1]) <= extent[i, 1] + extent[j, 1]
        and abs(position[i, 2] - position[j, 2]) <= extent[i, 2] + extent[j, 2]
    )


@njit(cache=True, error_model="numpy")
def _note(t, i, j, found, counts):
    """Keep the pair; without room, only count it."""
    k = counts[t]
    if k < found.shape[1]:
        found[t, k, 0], found[t, k, 1] = min(i, j), max(i, j)
    counts[t] = k + 1


@njit(cache=True, error_model="numpy")
def _sort_pairs(found, counts, plain, shapes, position, extent, pairs, start, end):
    """The pairs that may touch and whose boxes overlap, from all shares, sorted: counting by the first shape, insertion
    by the second.  Returns their number.  plain: nothing but spheres and planes that all may touch."""
    kind, body, owner, group, mask, excluded = shapes
    n = len(kind)
    start[:] = 0
    for t in range(len(counts)):
        for k in range(counts[t]):
            a, b = found[t, k, 0], found[t, k, 1]
            if plain:
                start[a + 1] += 1
                continue
            balls = kind[a] == SPHERE and kind[b] == SPHERE
            near = balls or _boxes_overlap(a, b, position, extent)
            if near and may_touch(a, b, body, owner, group, mask, excluded):
                start[a + 1] += 1
            else:
                found[t, k, 0] = -1
    for s in range(n):
        start[s + 1] += start[s]
        end[s] = start[s]
    for t in range(len(counts)):
        for k in range(counts[t]):
            a, b = found[t, k, 0], found[t, k, 1]
            if a < 0:
                continue
            at = end[a]
            end[a] = at + 1
            while at > start[a] and pairs[at - 1, 1] > b:
                pairs[at, 0], pairs[at, 1] = a, pairs[at - 1, 1]
                at -= 1
            pairs[at, 0], pairs[at, 1] = a, b
    return start[n]
