"""Moving bodies along their twists."""

import numpy as np
from numba import njit

from delassus.spatial import advance_rotations


def moved(q: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
    """Poses after a time h with constant twists, along the exponential map.  q: (n, 7), u: (n, 6), h [s]."""
    out = np.empty_like(q)
    move(q, u, h, out)
    return out


@njit(cache=True, error_model="numpy")
def move(q, u, h, out):
    """The same into `out`, which may be q itself."""
    for b in range(len(q)):
        for i in range(3):
            out[b, i] = q[b, i] + h * u[b, i]
    advance_rotations(q[:, 3:], u[:, 3:], h, out[:, 3:])


def moved_each(q: np.ndarray, u: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The same with a time for every body.  times: (n,) [s]."""
    return moved(q, times[:, None] * u, 1.0)
