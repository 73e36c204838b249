"""What a detection reads and what it writes on the way: arrays of the shapes, and work space that is used again."""

from typing import Any, NamedTuple

import numpy as np

STATUS, BAD, PAIRS, DIRECT, FAMILIES, MISSING, CONTACTS, ENTRIES, PAIR_ROWS, OUT_ROWS, COUNTERS = range(11)
"""Entries of `Work.counters`: what stopped the search, the first body with a bad pose, pairs, contacts that the broad
phase decides, bits of the families of pairs that occur and of those that have no address, contacts, entries of the
grid, and the rows that pairs and `out` take."""


class ShapeConstants(NamedTuple):
    """The arrays of `ShapeArrays` that a detection reads. From Python it comes as a plain tuple, which costs less."""

    placing: tuple[Any, ...]  # the fields of Placing
    radius: np.ndarray  # (n,) of the bounding balls [m]
    polyhedra: tuple[Any, ...]  # the fields of Polyhedra
    supports: np.ndarray  # (n,) see PosedShapes
    addresses: np.ndarray  # of the families' kernels, 0 before they are needed; then of search and writing
    mixing: int
    candidates: np.ndarray  # (c, 4) pairs of few shapes, see broad/pairs.py
    searched: tuple[Any, ...]  # (shapes tested against everything, which these are, those in grids)
    filters: tuple[Any, ...]  # the fields of Filters
    is_heap: bool  # only spheres and planes, each of which may touch every other
    levels: tuple[Any, ...]  # (first of each level of grids, its largest radius)
    families: np.ndarray  # (kinds, kinds) see narrow/families.py
    points: np.ndarray  # (kinds, kinds) rows of `out` that a pair may need


class Work(NamedTuple):
    """Work space of a detection; see layout.py for `pairs`, `dealt` and `out`."""

    position: np.ndarray  # (n, 8) of the shapes, as the next two: see `place`
    rotation: np.ndarray  # (n, 3, 3)
    extent: np.ndarray  # (n, 3)
    pairs: np.ndarray  # (p, 2)
    dealt: np.ndarray  # (p, 3)
    out: np.ndarray  # (rows, 8)
    turned: np.ndarray  # (p, 4) see narrow/neighbours.py, as the next two
    link_start: np.ndarray  # (n + 1,)
    link: np.ndarray  # (2 p,)
    scratch: np.ndarray  # (threads, BLOCKS, ·, 4), see narrow/scratch.py
    counters: np.ndarray  # (COUNTERS,) see STATUS and its like
    bad: np.ndarray  # (threads,) first body with a bad pose in each share, or −1
    contacts: np.ndarray  # (threads,) number of contacts of each share
    counts: np.ndarray  # (threads,) number of pairs of each share
    unsorted: np.ndarray  # (threads, ·, 2) these pairs, in any order
    runs: np.ndarray  # (threads, RUNS, 3) scratch of the search in grids
    end: np.ndarray  # (n,) of each shape's group of partners
    partner: np.ndarray  # (p,)
    grid: tuple[Any, ...]  # the fields of Grid
