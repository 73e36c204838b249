"""One hashed grid per size class: shapes sorted by cell, so that neighbouring cells of a row are one run of memory.

Rows along x are as wide and high as the largest ball of their class, so balls that overlap lie in the same or in
neighbouring rows. Along x cells are COLUMNS times finer: the part of a row that a ball can reach is cut out closely.
The bucket of a cell is its number in the bounding box of the class, modulo the table: a compact heap gets a grid
without collisions, and one ball that has rolled a kilometre away costs nothing. Cells that share a bucket are
distinguished by recomputing the cell of the few balls that pass the distance test."""

from typing import NamedTuple

import numpy as np

from delassus.collision.layout import PLANE
from delassus.collision.machine import AHEAD
from delassus.kernel import njit
from delassus.kernel.instructions import prefetch
from delassus.kernel.memory import NO_REFCOUNT

SMALL_CLASS = 8  # a size class with so few shapes is not worth a grid: they are tested against everything, like planes
RUNS = 20  # of items in a grid's table that may be near one: two for each of nine rows, and some
COLUMNS = 2  # a power of two; 4 try a sixth fewer balls but look up as much more
SLACK = 1e-7  # of a row's width: keeps rounding from putting two rows between touching balls
FINEST = 2.0**-26
"""Of the bounds: the least width of a row. Rounding then moves a ball by less than SLACK of a row."""


def size_classes(kind: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Size classes by factors of two of the bounding radius, from the largest down.

    One grid per class: a cell is as wide as the class's largest shape, so neighbours are one cell away at most. Planes
    and the members of almost empty classes are tested against everything instead.  Some shapes are no planes.

    Returns (shapes tested against everything, the others by level, first of each level, its largest radius)."""
    finite = np.flatnonzero(kind != PLANE)
    scale = np.floor(np.log2(radius[finite].max() / radius[finite]) + 1e-9).astype(np.int64)
    common: list[np.ndarray] = [np.flatnonzero(kind == PLANE)]
    grids: list[np.ndarray] = []
    for level in np.unique(scale):
        members = finite[scale == level]
        (common if len(members) <= SMALL_CLASS else grids).append(members)
    start = np.concatenate([[0], np.cumsum([len(g) for g in grids])]).astype(np.int64)
    gridded = np.concatenate(grids) if grids else np.zeros(0, np.int64)
    largest = np.array([radius[g].max() for g in grids])
    return np.sort(np.concatenate(common)), gridded, start, largest


class Grid(NamedTuple):
    """Shapes sorted into their level's grid; m of them, those of `item` and `ball` by level and bucket."""

    origin: np.ndarray  # (levels, 3) [m]
    inverse: np.ndarray  # (levels,) rows per metre
    shape: np.ndarray  # (levels, 3) cells along x, y, z with a rim of empty ones
    first: np.ndarray  # (levels,) table entries of a level begin here …
    mask: np.ndarray  # (levels,) … and are one more than this
    start: np.ndarray  # (entries + 1,) first item of each bucket
    item: np.ndarray  # (m,) shapes
    ball: np.ndarray  # (m, 4) their centres and radii [m]
    bucket: np.ndarray  # (m,) scratch


def empty_grid(items: int, levels: int) -> Grid:
    """For so many shapes."""
    return Grid(
        np.empty((levels, 3)),
        np.empty(levels),
        np.empty((levels, 3), np.int64),
        first=np.empty(levels, np.int64),
        mask=np.empty(levels, np.int64),
        start=np.empty(table_room(items, levels), np.int32),
        item=np.empty(items, np.int32),
        ball=np.empty((items, 4)),
        bucket=np.empty(items, np.int32),
    )


def table_room(items: int, levels: int) -> int:
    """Upper bound on the entries of all tables that `size_up` makes for so many items, and one."""
    return levels * 8 * COLUMNS + 2 * COLUMNS * items + 1


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def size_up(gridded, level_start, level_radius, position, grid):
    """Bounds and table of each level; returns the number of table entries."""
    origin, inverse, shape, first, mask = grid.origin, grid.inverse, grid.shape, grid.first, grid.mask
    entries = 0
    for level in range(len(level_radius)):
        begin, end = level_start[level], level_start[level + 1]
        x0 = x1 = position[gridded[begin], 0]
        y0 = y1 = position[gridded[begin], 1]
        z0 = z1 = position[gridded[begin], 2]
        for p in range(begin, end):
            s = gridded[p]
            x, y, z = position[s, 0], position[s, 1], position[s, 2]
            x0, y0, z0 = min(x0, x), min(y0, y), min(z0, z)
            x1, y1, z1 = max(x1, x), max(y1, y), max(z1, z)
        width = max(2.0 * level_radius[level] * (1.0 + 2.0 * SLACK), FINEST * max(x1 - x0, y1 - y0, z1 - z0))
        inverse[level] = 1.0 / width
        # half a row more than the empty rim: rounding must not put the lowest shape into the rim
        origin[level, 0], origin[level, 1], origin[level, 2] = x0 - 1.5 * width, y0 - 1.5 * width, z0 - 1.5 * width
        shape[level, 0] = COLUMNS * (np.int64((x1 - x0) * inverse[level] + 1.5) + 3)
        shape[level, 1] = np.int64((y1 - y0) * inverse[level] + 1.5) + 3
        shape[level, 2] = np.int64((z1 - z0) * inverse[level] + 1.5) + 3
        # as floats: the number of cells may be beyond 64 bits
        cells = 1.0 * shape[level, 0] * shape[level, 1] * shape[level, 2]
        size = 8 * COLUMNS  # more than the cells of a run
        while size < cells and size < COLUMNS * (end - begin):
            size *= 2
        first[level], mask[level] = entries, size - 1
        entries += size
    return entries


@njit(cache=True, error_model="numpy", forceinline=True, **NO_REFCOUNT)
def cell_of(x, y, z, level, grid):
    """(column, row) of a point: its cell along x, and along y and z as one number."""
    origin, inverse, shape = grid.origin, grid.inverse, grid.shape
    j = np.int64((y - origin[level, 1]) * inverse[level])
    k = np.int64((z - origin[level, 2]) * inverse[level])
    return np.int64((x - origin[level, 0]) * inverse[level] * COLUMNS), j + shape[level, 1] * k


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def fill_grid(gridded, level_start, position, radius, entries, grid):
    """Sort by counting.  entries: of the table."""
    shape, first, mask = grid.shape, grid.first, grid.mask
    item, ball, bucket, start = grid.item, grid.ball, grid.bucket, grid.start[: entries + 1]
    start[:] = 0
    for level in range(len(first)):
        for p in range(level_start[level], level_start[level + 1]):
            s = gridded[p]
            column, row = cell_of(position[s, 0], position[s, 1], position[s, 2], level, grid)
            e = first[level] + ((row * shape[level, 0] + column) & mask[level])
            bucket[p] = e
            start[e + 1] += 1
    for e in range(len(start) - 1):
        start[e + 1] += start[e]
    for p in range(len(gridded)):
        e = bucket[p]
        at = start[e]
        start[e] = at + 1
        item[at] = gridded[p]
    for e in range(len(start) - 1, 0, -1):  # filling moved every start to the next one
        start[e] = start[e - 1]
    start[0] = 0
    last = len(item) - 1
    for at in range(len(item)):
        prefetch(position, item[min(at + AHEAD, last)])
        s = item[at]
        ball[at, 0], ball[at, 1], ball[at, 2], ball[at, 3] = position[s, 0], position[s, 1], position[s, 2], radius[s]
