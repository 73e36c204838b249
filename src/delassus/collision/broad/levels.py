"""Which shapes go into which grid of the broad phase."""

import numpy as np

from delassus.collision.layout import PLANE

BRUTE = 64  # scenes of at most so many shapes are tested pair by pair
FEW = 8  # a size class with so few shapes is not worth a grid: they are tested against everything, like planes


def size_classes(kind: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Size classes by factors of two of the bounding radius, from the largest down.

    One grid per class: a cell is as wide as the class's largest shape, so neighbours are one cell away at most. Planes
    and the members of almost empty classes are tested against everything instead.

    Returns (shapes tested against everything, the others by level, first of each level, its largest radius)."""
    n = len(kind)
    if n <= BRUTE or not (kind != PLANE).any():
        return np.arange(n), np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0)
    finite = np.flatnonzero(kind != PLANE)
    scale = np.floor(np.log2(radius[finite].max() / radius[finite]) + 1e-9).astype(np.int64)
    common: list[np.ndarray] = [np.flatnonzero(kind == PLANE)]
    grids: list[np.ndarray] = []
    for level in np.unique(scale):
        members = finite[scale == level]
        (common if len(members) <= FEW else grids).append(members)
    start = np.concatenate([[0], np.cumsum([len(g) for g in grids])]).astype(np.int64)
    gridded = np.concatenate(grids) if grids else np.zeros(0, np.int64)
    largest = np.array([radius[g].max() for g in grids])
    return np.sort(np.concatenate(common)), gridded, start, largest
