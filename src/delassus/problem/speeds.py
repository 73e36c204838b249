"""What errors of velocity are compared with: the free velocities of the island a block belongs to.

One figure for the whole problem would let a fast body loosen the tolerance of everything else. Of an island it is the
largest of: velocities of joint rows, approach velocities of limits and contacts, sliding velocities. What separates
needs no reaction and does not count: an open contact carries its gap over the time step, which says nothing of how
things move. An island in which nothing moves has no figure of its own: it is compared with the floor or, where there is
none, with what moves elsewhere.
"""

import numpy as np
from numba import njit

from delassus.cones import ProductCone
from delassus.linalg.operators.delassus import Delassus
from delassus.linalg.operators.islands import fill_islands_of_bodies

_SLOW = 1e-6  # of the largest free velocity of all: an island slower than that is compared with this much of it
_TINY = 1e-100  # [m/s]: squares of less underflow, and no method can tell them from zero
_ROUNDING = 1e-14  # of the same: an island slower than that is at rest, and its figure rounding


def velocity_scale(delassus: Delassus, cone: ProductCone, v_f: np.ndarray, floor: float) -> np.ndarray:
    """Of each block, (block_count,) [m/s]: positive unless all of v_f and the floor are zero.

    v_f: (m,) free velocity [m/s]; floor: least speed that counts [m/s]."""
    out = np.empty(cone.block_count)
    kinds = cone.block_start, cone.bilateral.size, cone.unilateral
    rigid = delassus.rigid
    if rigid is not None:  # asked in every step: one compiled call
        _fill_rigid(rigid.bodies, len(rigid.mass), kinds, v_f, floor, out)
    else:
        _fill(delassus.islands(cone.block_start), kinds, v_f, floor, out)
    return out


@njit(cache=True)
def _fill_rigid(bodies, body_count, kinds, v_f, floor, out):
    island = np.empty(len(out), dtype=np.int64)
    fill_islands_of_bodies(bodies, body_count, island)
    _fill(island, kinds, v_f, floor, out)


@njit(cache=True)
def _fill(island, kinds, v_f, floor, out):
    block_start, joints, limits = kinds
    speed = np.zeros(len(out))  # by island
    largest = 0.0
    for k in range(len(out)):
        own = 0.0
        for i in range(block_start[k], block_start[k + 1]):
            largest = max(largest, abs(v_f[i]))
            may_separate = k >= joints and i == block_start[k]  # a limit, or the normal of a contact
            own = max(own, -v_f[i] if may_separate else abs(v_f[i]))
        speed[island[k]] = max(speed[island[k]], own)
    for k in range(len(out)):
        own = speed[island[k]]
        if own <= _ROUNDING * largest and floor == 0.0:
            out[k] = largest
        else:
            out[k] = max(own, _SLOW * largest, floor)
        if 0.0 < out[k] < _TINY:
            out[k] = _TINY
