"""What compiled code needs to know of a problem to judge a point, by name."""

from typing import NamedTuple

import numpy as np


class ProblemData(NamedTuple):
    """What a point λ is judged by, beside λ and v = D λ + v_f.

    `Problem.data` is a plain tuple of these fields: Numba takes 8 µs to look at a named tuple that Python hands it, and
    none for a plain one. Kernels name it: `data = ProblemData(*data)`, which accepts either.
    """

    mu: np.ndarray
    """(n_c,) friction coefficients [-]."""
    block_start: np.ndarray
    """(block_count + 1,) first row of each block: joints, then limits, then contacts."""
    joint_count: int
    """Bilateral blocks, the first of all."""
    bilateral_rows: int
    """Rows of these."""
    limit_count: int
    """Unilateral rows, a block each."""
    diagonal_blocks: np.ndarray
    """(Σ d_k²,) the blocks D_kk one after the other, each row by row [1/kg]."""
    velocity_scale: np.ndarray
    """(block_count,) what errors of velocity are compared with [m/s, rad/s]."""
    is_exact: bool
    """Is the law exact (NCP), with De Saxcé's term Γ(v)?"""
    rho: float
    """ρ, the factor of velocities in the natural map [kg]."""
    free_speed: float
    """‖v_f‖₂ [m/s]."""
