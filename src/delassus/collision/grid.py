"""One hashed grid per size class: shapes sorted by cell, so that three neighbouring cells are one run of memory.

A cell is as wide as the largest ball of its class, so balls that overlap are at most one cell apart. The bucket of a
cell is its number in the bounding box of the class, modulo the table: a compact heap gets a plain grid without
collisions, and one ball that has rolled a kilometre away costs nothing. Cells that share a bucket are told apart by
recomputing the cell of the few balls that pass the distance test."""

import numpy as np
from numba import njit

from delassus.collision.pool import Pool

SLACK = 1e-9  # of a cell: keeps rounding from putting touching balls two cells apart


def build_grid(gridded, level_start, level_radius, position, radius, pool: Pool) -> tuple:
    """Shapes sorted into their level's grid; m of them.  Level l has table entries first[level] … first[level] +
    mask[level].

    Returns (origin (levels, 3) [m], inverse (levels,) cells per metre, shape (levels, 3) cells along x, y, z with a rim
    of empty ones, first (levels,), mask (levels,) table size − 1, start (entries + 1,) first item of each bucket, item
    (m,) shapes, ball (m, 4) their centres and radii [m]); the last two sorted by level and bucket."""
    levels, m = len(level_radius), len(gridded)
    origin, inverse, shape = np.empty((levels, 3)), np.empty(levels), np.empty((levels, 3), np.int64)
    first, mask = np.empty(levels, np.int64), np.empty(levels, np.int64)
    entries = _size_up(gridded, level_start, level_radius, position, origin, inverse, shape, first, mask)
    start, item, ball, bucket = pool.take(
        ((entries + 1,), np.int64), ((m,), np.int32), ((m, 4), float), ((m,), np.int32)
    )
    grid = (origin, inverse, shape, first, mask, start, item, ball)
    _fill(gridded, level_start, position, radius, grid, bucket)
    return grid


@njit(cache=True, error_model="numpy")
def _size_up(gridded, level_start, level_radius, position, origin, inverse, shape, first, mask):
    """Bounds and table of each level; returns the number of table entries."""
    entries = 0
    for level in range(len(level_radius)):
        width = 2.0 * level_radius[level] * (1.0 + SLACK)
        inverse[level] = 1.0 / width
        cells = 1.0
        for c in range(3):
            lo = hi = position[gridded[level_start[level]], c]
            for p in range(level_start[level], level_start[level + 1]):
                x = position[gridded[p], c]
                lo, hi = min(lo, x), max(hi, x)
            # half a cell more than the empty rim: rounding must not put the lowest shape into the rim
            origin[level, c] = lo - 1.5 * width
            shape[level, c] = np.int64((hi - lo) * inverse[level] + 1.5) + 3
            cells *= shape[level, c]
        size = 8
        while size < cells and size < 2 * (level_start[level + 1] - level_start[level]):
            size *= 2
        first[level], mask[level] = entries, size - 1
        entries += size
    return entries


@njit(cache=True, error_model="numpy", forceinline=True)
def cell_of(x, y, z, level, origin, inverse, shape):
    """(column, row) of a point: its cell along x, and along y and z as one number."""
    j = np.int64((y - origin[level, 1]) * inverse[level])
    k = np.int64((z - origin[level, 2]) * inverse[level])
    return np.int64((x - origin[level, 0]) * inverse[level]), j + shape[level, 1] * k


@njit(cache=True, error_model="numpy")
def _fill(gridded, level_start, position, radius, grid, bucket):
    """Sort by counting.  bucket: (m,) scratch."""
    origin, inverse, shape, first, mask, start, item, ball = grid
    start[:] = 0
    for level in range(len(first)):
        for p in range(level_start[level], level_start[level + 1]):
            s = gridded[p]
            column, row = cell_of(position[s, 0], position[s, 1], position[s, 2], level, origin, inverse, shape)
            bucket[p] = first[level] + ((row * shape[level, 0] + column) & mask[level])
            start[bucket[p] + 1] += 1
    for e in range(len(start) - 1):
        start[e + 1] += start[e]
    for p in range(len(gridded)):
        s = gridded[p]
        at = start[bucket[p]]
        start[bucket[p]] = at + 1
        item[at] = s
        ball[at, 0], ball[at, 1], ball[at, 2], ball[at, 3] = position[s, 0], position[s, 1], position[s, 2], radius[s]
    for e in range(len(start) - 1, 0, -1):  # filling moved every start to the next one
        start[e] = start[e - 1]
    start[0] = 0
