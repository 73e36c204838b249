"""Work space of the kernels of pairs."""

from typing import NamedTuple

import numpy as np

from delassus.collision.narrow.faces import RIM
from delassus.collision.narrow.gjk import WITNESS
from delassus.collision.narrow.support_only import RING
from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT

BLOCKS = 5  # of scratch, for each thread


class SolidScratch(NamedTuple):
    """For two solids."""

    polygons: np.ndarray  # (2, ·, 4) what is left of a face cut to another
    corners: np.ndarray  # (2, ·, 4) of the faces that look at each other
    simplex: np.ndarray  # (·, 4) for GJK
    normal: np.ndarray  # (≥ 3,), a row of `simplex`: the direction along which they are nearest, from a to b
    point: np.ndarray  # (≥ 3,), a row of `simplex`: midway between their nearest points [m]


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def solid_scratch(blocks):
    """The blocks (BLOCKS, ·, 4) of a thread by name."""
    simplex = blocks[4]
    return SolidScratch(blocks[0:2], blocks[2:4], simplex, simplex[WITNESS], simplex[WITNESS + 1])


def scratch_rows(face_start: np.ndarray) -> int:
    """Rows of four numbers of each block: for the corners of two faces and of what is left of them cut to each other,
    and for GJK.  face_start: of Polyhedra."""
    longest = int(np.diff(face_start).max(initial=max(RIM, RING)))
    return max(32, 2 * longest + 2)
