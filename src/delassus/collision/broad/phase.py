"""Broad phase: all pairs of shapes that may touch and whose bounding balls and boxes overlap.

Of two spheres, and of a sphere and a plane, this is the whole test: their gap is at most the sum of their margins."""

import math
from typing import TYPE_CHECKING

import numpy as np

from delassus.collision.broad.grid import COLUMNS, SLACK, build_grid, cell_of
from delassus.collision.broad.pairs import boxes_overlap, may_touch, over_plane, spheres_near
from delassus.collision.broad.partners import group
from delassus.collision.layout import PLANE, SPHERE
from delassus.collision.machine import share_out
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

if TYPE_CHECKING:
    from delassus.collision.arrays import ShapeArrays

RUNS = 20  # of items in a grid's table that may be near one: two for each of nine rows, and some


def find_pairs(
    arrays: "ShapeArrays", position: np.ndarray, rotation: np.ndarray, extent: np.ndarray, *, threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """(end (n,), partner (p,)): the pairs a < b by their first shape, see partners.py; the partners of a shape are not
    sorted yet.

    position, rotation, extent: of the shapes, as `place` writes them."""
    pool = arrays.pool
    filters = arrays.filters
    common = (arrays.common, arrays.is_common, arrays.kind, arrays.radius, position, rotation, extent)
    levels = (arrays.level_start, arrays.level_radius)
    runs, grid = np.empty((threads, RUNS, 3), np.int64), ()
    if len(arrays.gridded):
        grid = build_grid(arrays.gridded, *levels, position, arrays.radius, pool)
    while True:
        (found,) = pool.take(((threads, arrays.hint[0] // threads + 1, 2), np.int32))
        counts = np.zeros(threads, np.int64)
        if len(arrays.common):
            share_out(search_common, threads, common, filters, found, counts)
        if grid:
            share_out(search_grid, threads, levels, grid, arrays.kind, position, extent, filters, runs, found, counts)
        if counts.max() <= found.shape[1]:
            break
        # Some share ran out of room: it went on counting, so now we know how much it takes at most.
        arrays.hint[0] = int(1.2 * counts.max() + 1) * threads
    end, partner = pool.take(((arrays.count,), np.int32), ((counts.sum(),), np.int32))
    group(found, counts, end, partner)
    return end, partner


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def search_common(t, threads, common, filters, found, counts):
    """Share t of the pairs with planes and the like: (common shape, any other) where they are near."""
    which, is_common, kind, radius, position, rotation, extent = common
    plain, body, owner, group, mask, excluded = filters
    n, room = len(kind), found.shape[1]
    count = counts[t]
    for s in range(n * t // threads, n * (t + 1) // threads):
        for i in range(len(which)):
            c = which[i]
            # two common shapes meet once, at the lower number, two planes never
            if c == s or (is_common[s] and c < s) or (kind[c] == PLANE and kind[s] == PLANE):
                continue
            if kind[c] == PLANE or kind[s] == PLANE:
                plane, other = (c, s) if kind[c] == PLANE else (s, c)
                near = over_plane(position, rotation, radius, plane, other)
            elif kind[c] == SPHERE and kind[s] == SPHERE:
                near = spheres_near(position, c, s)
            else:
                near = boxes_overlap(position, extent, c, s)
            if near and (plain or may_touch(c, s, body, owner, group, mask, excluded)):
                if count < room:
                    found[t, count, 0], found[t, count, 1] = min(c, s), max(c, s)
                count += 1
    counts[t] = count


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def search_grid(t, threads, levels, grid, kind, position, extent, filters, runs, found, counts):
    """Share t of the pairs of shapes in the grids.  runs: (threads, RUNS, 3) scratch.

    Of the same size class, an item meets those behind it in its row and those in four of the eight rows around, so that
    every pair is seen once; of a coarser class, those in all nine rows. Of each row, only the columns that its ball,
    widened by the class's largest radius, reaches.

    Few of those tried are near, but too many for branches to be foretold: so every one is written down, and those that
    are not near are written over. They become pairs of shapes once an item is done."""
    level_start, level_radius = levels
    origin, inverse, shape, first, mask, start, item, ball = grid
    plain, body, owner, group, seen, excluded = filters
    m, room = len(item), found.shape[1]
    count = counts[t]
    runs = runs[t]  # to try: first item, one past the last, row
    for own in range(len(level_radius)):
        for p in range(max(m * t // threads, level_start[own]), min(m * (t + 1) // threads, level_start[own + 1])):
            x, y, z, r, begun = ball[p, 0], ball[p, 1], ball[p, 2], ball[p, 3], count
            for level in range(own, -1, -1):
                # as floats: the number of cells may be beyond 64 bits
                shared = 1.0 * shape[level, 0] * shape[level, 1] * shape[level, 2] > mask[level] + 1.0
                # in units of a row's width; a little more, since these roundings are not those of the test below
                w = inverse[level]
                reach = (r + level_radius[level]) * w + SLACK
                fx, fy, fz = (x - origin[level, 0]) * w, (y - origin[level, 1]) * w, (z - origin[level, 2]) * w
                nx, ny, nz = shape[level, 0], shape[level, 1], shape[level, 2]
                if level == own and not shared:
                    # what _rows does, without branches
                    c0, c1 = np.int64((fx - reach) * COLUMNS), np.int64((fx + reach) * COLUMNS)
                    j, k = np.int64(fy), np.int64(fz)
                    up, down, high, limit = j + 1 - fy, fy - j, k + 1 - fz, reach * reach
                    row = first[level] + (j + ny * k) * nx
                    runs[0, 0], runs[0, 1] = p + 1, start[row + c1 + 1]
                    n = 1
                    for i in range(4):
                        other = row + nx * (1 if i == 0 else ny + i - 2)
                        runs[n, 0], runs[n, 1] = start[other + c0], start[other + c1 + 1]
                        side = up if i == 0 or i == 3 else (down if i == 1 else 0.0)
                        n += side * side + (high * high if i else 0.0) <= limit
                else:
                    c0 = np.int64(min(max((fx - reach) * COLUMNS, 0.0), nx - 1.0))
                    c1 = np.int64(min((fx + reach) * COLUMNS, nx - 1.0))
                    after, column = (p + 1, np.int64(fx * COLUMNS)) if level == own else (-1, c0)
                    n = _rows(c0, c1, after, column, fy, fz, reach, nx, ny, nz, first[level], mask[level], start, runs)
                for i in range(n):
                    begin, end, here = runs[i, 0], runs[i, 1], count
                    if count + end - begin > room:
                        count += end - begin  # no room: go on counting, and never come back below
                        continue
                    for q in range(begin, end):
                        dx, dy, dz, s = ball[q, 0] - x, ball[q, 1] - y, ball[q, 2] - z, ball[q, 3] + r
                        found[t, count, 1] = q
                        count += dx * dx + dy * dy + dz * dz <= s * s
                    if shared:
                        count = _of_row(t, here, count, runs[i, 2], c0, c1, level, origin, inverse, shape, ball, found)
            if count > room:
                continue
            a, kept = np.int64(item[p]), begun
            for h in range(begun, count):
                b = np.int64(item[found[t, h, 1]])
                if not plain and not (
                    ((kind[a] == SPHERE and kind[b] == SPHERE) or boxes_overlap(position, extent, a, b))
                    and may_touch(a, b, body, owner, group, seen, excluded)
                ):
                    continue
                found[t, kept, 0], found[t, kept, 1] = min(a, b), max(a, b)
                kept += 1
            count = kept
    counts[t] = count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _rows(c0, c1, after, column, fy, fz, reach, nx, ny, nz, first, mask, start, runs):
    """The runs of columns c0 … c1 of all rows within reach of (fy, fz), in units of a row's width.  Returns how many.

    after, column: for an item's own class, the item behind it and its column, where half of the rows will do; else −1.
    A run that goes beyond the end of the table is two."""
    n = 0
    if c0 > c1 or not (-1.0 < fy < ny + 1.0 and -1.0 < fz < nz + 1.0):
        return n  # outside the bounds of a coarser class
    j0, k0 = np.int64(math.floor(fy)), np.int64(math.floor(fz))
    for dk in range(-1 if after < 0 else 0, 2):
        high = 0.0 if dk == 0 else (k0 + 1 - fz if dk > 0 else fz - k0)
        for dj in range(-1 if after < 0 or dk else 0, 2):
            side = 0.0 if dj == 0 else (j0 + 1 - fy if dj > 0 else fy - j0)
            j, k = j0 + dj, k0 + dk
            if side * side + high * high > reach * reach or not (0 <= j < ny and 0 <= k < nz):
                continue
            own = after >= 0 and dj == 0 and dk == 0
            lo = ((j + ny * k) * nx + (column if own else c0)) & mask
            hi = lo + c1 - (column if own else c0)
            runs[n, 0], runs[n, 2] = after if own else start[first + lo], j + ny * k
            runs[n, 1] = start[first + min(hi, mask) + 1]
            n += 1
            if hi > mask:
                runs[n, 0], runs[n, 1], runs[n, 2] = start[first], start[first + hi - mask], j + ny * k
                n += 1
    return n


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _of_row(t, begin, end, row, c0, c1, level, origin, inverse, shape, ball, found):
    """Drop the items noted from begin to end that are in other cells of the same buckets; returns the new end."""
    for h in range(begin, end):
        q = found[t, h, 1]
        column, other = cell_of(ball[q, 0], ball[q, 1], ball[q, 2], level, origin, inverse, shape)
        if other == row and c0 <= column <= c1:
            found[t, begin, 1] = q
            begin += 1
    return begin
