"""What errors are measured by: velocity scales of islands, and ρ. Compiled, since every step asks."""

import math

import numpy as np

from delassus.kernel import ADDRESSED, njit
from delassus.linalg.operators.islands import fill_islands_of_bodies
from delassus.linalg.operators.rigid import fill_diagonal_blocks

_SLOW = 1e-6  # of the largest free velocity of all: an island slower than that is compared with this much of it
_TINY = 1e-100  # [m/s]: squares of less underflow, and no method distinguishes them from zero
_ROUNDING = 1e-14  # of the largest free velocity: an island slower than that is at rest, and its figure rounding


@njit(cache=True)
def fill_scale_of_bodies(bodies, body_count, block_start, joints, v_f, floor, out):
    """`fill_scale` of rigid bodies.  bodies: (block_count, 2), −1 for the world."""
    island = np.empty(len(out), dtype=np.int64)
    fill_islands_of_bodies(bodies, body_count, island)
    fill_scale(island, block_start, joints, v_f, floor, out)


@njit(cache=True, **ADDRESSED)
def measure_rigid(rigid, body_count, joints, v_f, floor, blocks, scale, whole):
    """Fills diagonal blocks (Σ d_k²,) and velocity scales (block_count,) of `ProblemData`, and
    whole: (2,) ρ, ‖v_f‖₂; returns 0.  rigid: `RigidDelassus.plain`; joints: how many of the first blocks are; floor:
    rest speed [m/s]."""
    bodies, start, rows, response, compliance = rigid
    fill_diagonal_blocks(start, rows, response, compliance, blocks)
    fill_scale_of_bodies(bodies, body_count, start, joints, v_f, floor, scale)
    m = len(v_f)
    first = joints if start[joints] < m else 0
    trace, square = trace_of(blocks, start, first), 0.0
    for i in range(m):
        square += v_f[i] * v_f[i]
    whole[0], whole[1] = (m - start[first]) / trace if trace > 0.0 else 1.0, math.sqrt(square)
    return np.int64(0)


@njit(cache=True)
def fill_scale(island, block_start, joints, v_f, floor, out):
    """out: `velocity_scale`.  island: (block_count,); joints: how many of the first blocks are; floor: rest speed."""
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


@njit(cache=True)
def trace_of(diagonal_blocks, block_start, first):
    """Sum of the diagonals of the blocks from number `first` on."""
    at = 0
    trace = 0.0
    for k in range(len(block_start) - 1):
        size = block_start[k + 1] - block_start[k]
        if k >= first:
            for i in range(size):
                trace += diagonal_blocks[at + i * (size + 1)]
        at += size * size
    return trace
