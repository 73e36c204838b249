"""Broad phase: all pairs of shapes that may touch and whose bounding balls and boxes overlap.

Of two spheres, and of a sphere and a plane, this is the whole test: their gap is at most the sum of their margins."""

import math

import numpy as np

from delassus.collision.broad.grid import COLUMNS, SLACK, Grid, cell_of, fill_grid, size_up
from delassus.collision.broad.pairs import Filters, boxes_overlap, may_touch, over_plane, spheres_near
from delassus.collision.broad.partners import deal, group
from delassus.collision.layout import PLANE, SPHERE, SPHERES, Placing, deal_pair
from delassus.collision.work import DIRECT, ENTRIES, FAMILIES, OUT_ROWS, PAIR_ROWS, PAIRS, ShapeConstants, Work
from delassus.kernel import ADDRESSED, njit
from delassus.kernel.memory import NO_REFCOUNT

PREPARE, SEARCH, DEAL = range(1, 4)
"""Phases of a detection (find.py) that are about pairs."""


@njit(cache=True, error_model="numpy", nogil=True, **ADDRESSED, **NO_REFCOUNT)
def search_candidates(t, threads, phase, shapes, work):
    """Share t of a phase, where shapes are few: the near ones of the pairs that may touch.  0."""
    if phase != SEARCH or t > 0:
        return np.int64(0)
    fixed, own = ShapeConstants(*shapes), Work(*work)
    kind, position, candidates = Placing(*fixed.placing).kind, own.position, fixed.candidates
    count, slot, direct, bits = np.int64(0), np.int64(0), 0, 0
    for c in range(len(candidates)):
        a, b, family = candidates[c, 0], candidates[c, 1], candidates[c, 2]
        if family == SPHERES:
            near = spheres_near(position, a, b)
        elif kind[a] == PLANE or kind[b] == PLANE:
            plane, other = (a, b) if kind[a] == PLANE else (b, a)
            near = over_plane(position, own.rotation, fixed.radius, plane, other)
        else:
            near = boxes_overlap(position, own.extent, a, b)
        if near:
            direct += deal_pair(count, a, b, family, slot, own.pairs, own.dealt)
            bits |= 1 << family
            slot += candidates[c, 3]
            count += 1
    own.counters[PAIRS], own.counters[DIRECT], own.counters[FAMILIES] = count, direct, bits
    return np.int64(0)


@njit(cache=True, error_model="numpy", nogil=True, **ADDRESSED, **NO_REFCOUNT)
def search_grids(t, threads, phase, shapes, work):
    """Share t of a phase, where shapes are many: near pairs by grids.  1 where there are more pairs than rows;
    `counters` has their number."""
    fixed, own = ShapeConstants(*shapes), Work(*work)
    counters, grid, gridded, (start, largest) = own.counters, Grid(*own.grid), fixed.searched[2], fixed.levels
    if phase == PREPARE:
        own.counts[:] = 0
        if len(gridded):
            counters[ENTRIES] = size_up(gridded, start, largest, own.position, grid)
            fill_grid(gridded, start, own.position, fixed.radius, counters[ENTRIES], grid)
    elif phase == SEARCH:
        search_common(t, threads, fixed, own)
        if len(gridded):
            search_grid(t, threads, fixed, own, grid)
    else:
        count, most = 0, 0
        for k in range(len(own.counts)):
            count += own.counts[k]
            most = max(most, own.counts[k])
        counters[PAIRS], counters[PAIR_ROWS], counters[OUT_ROWS] = count, max(count, most * len(own.counts)), 0
        if most > own.unsorted.shape[1] or count > len(own.partner):
            return np.int64(1)
        group(own.unsorted, own.counts, own.end, own.partner)
        if fixed.is_heap:  # every pair is a contact
            counters[DIRECT], counters[FAMILIES] = count, 0
        else:
            rows, counters[DIRECT], counters[FAMILIES] = deal(
                own.end, own.partner, Placing(*fixed.placing).kind, fixed.families, fixed.points, own.pairs, own.dealt
            )
            counters[OUT_ROWS] = rows
            return np.int64(1 if rows > len(own.out) else 0)
    return np.int64(0)


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def search_common(t, threads, fixed, work):
    """Share t of the pairs with planes and the like: (common shape, any other) where they are near."""
    (which, is_common, _), filters, kind, radius = (
        fixed.searched,
        Filters(*fixed.filters),
        Placing(*fixed.placing).kind,
        fixed.radius,
    )
    position, rotation, extent, unsorted, counts = work.position, work.rotation, work.extent, work.unsorted, work.counts
    n, most = len(kind), unsorted.shape[1]
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
            if near and (fixed.is_heap or may_touch(c, s, filters)):
                if count < most:
                    unsorted[t, count, 0], unsorted[t, count, 1] = min(c, s), max(c, s)
                count += 1
    counts[t] = count


@njit(cache=True, error_model="numpy", nogil=True, **NO_REFCOUNT)
def search_grid(t, threads, fixed, work, grid):
    """Share t of the pairs of shapes in the grids.

    Of the same size class, an item meets those behind it in its row and those in four of the eight rows around, so that
    every pair is seen once; of a coarser class, those in all nine rows. Of each row, only the columns that its ball,
    widened by the class's largest radius, reaches.

    Few of those tried are near, but too many for branches to be foretold: so every one is written down, and those that
    are not near are written over. They become pairs of shapes once an item is done."""
    (level_start, level_radius), filters, is_heap = fixed.levels, Filters(*fixed.filters), fixed.is_heap
    kind, position, extent, unsorted, counts = (
        Placing(*fixed.placing).kind,
        work.position,
        work.extent,
        work.unsorted,
        work.counts,
    )
    origin, inverse, shape, first, mask = grid.origin, grid.inverse, grid.shape, grid.first, grid.mask
    start, item, ball = grid.start, grid.item, grid.ball
    m, most = len(item), unsorted.shape[1]
    count = counts[t]
    runs = work.runs[t]  # to try: first item, one past the last, row
    for own in range(len(level_radius)):
        for p in range(max(m * t // threads, level_start[own]), min(m * (t + 1) // threads, level_start[own + 1])):
            x, y, z, r, before = ball[p, 0], ball[p, 1], ball[p, 2], ball[p, 3], count
            for level in range(own, -1, -1):
                # as floats: the number of cells may be beyond 64 bits
                shared = 1.0 * shape[level, 0] * shape[level, 1] * shape[level, 2] > mask[level] + 1.0
                # in units of a row's width; a little more, since these roundings are not those of the test below
                w = inverse[level]
                reach = (r + level_radius[level]) * w + SLACK
                fx, fy, fz = (x - origin[level, 0]) * w, (y - origin[level, 1]) * w, (z - origin[level, 2]) * w
                nx, ny = shape[level, 0], shape[level, 1]
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
                    n = _rows((c0, c1), after, column, (fy, fz), reach, level, grid, runs)
                for i in range(n):
                    begin, end, here = runs[i, 0], runs[i, 1], count
                    if count + end - begin > most:
                        count += end - begin  # too few rows: go on counting, and never come back below
                        continue
                    for q in range(begin, end):
                        dx, dy, dz, s = ball[q, 0] - x, ball[q, 1] - y, ball[q, 2] - z, ball[q, 3] + r
                        unsorted[t, count, 1] = q
                        count += dx * dx + dy * dy + dz * dz <= s * s
                    if shared:
                        count = _of_row(unsorted[t], here, count, runs[i, 2], (c0, c1), level, grid)
            if count > most:
                continue
            a, left = np.int64(item[p]), before
            for h in range(before, count):
                b = np.int64(item[unsorted[t, h, 1]])
                if not is_heap and not (
                    ((kind[a] == SPHERE and kind[b] == SPHERE) or boxes_overlap(position, extent, a, b))
                    and may_touch(a, b, filters)
                ):
                    continue
                unsorted[t, left, 0], unsorted[t, left, 1] = min(a, b), max(a, b)
                left += 1
            count = left
    counts[t] = count


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def _rows(columns, after, column, at, reach, level, grid, runs):
    """The runs of columns (first, last) of all rows within reach of a place (y, z), in units of a row's width.  Returns
    how many.

    after, column: for an item's own class, the item behind it and its column, where half of the rows will do; else −1.
    A run that goes beyond the end of the table is two."""
    (c0, c1), (fy, fz), n = columns, at, 0
    nx, ny, nz = grid.shape[level, 0], grid.shape[level, 1], grid.shape[level, 2]
    first, mask, start = grid.first[level], grid.mask[level], grid.start
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
def _of_row(unsorted, begin, end, row, columns, level, grid):
    """Drop the items noted from begin to end that are in other cells of the same buckets; returns the new end."""
    ball = grid.ball
    for h in range(begin, end):
        q = unsorted[h, 1]
        column, other = cell_of(ball[q, 0], ball[q, 1], ball[q, 2], level, grid)
        if other == row and columns[0] <= column <= columns[1]:
            unsorted[begin, 1] = q
            begin += 1
    return begin
