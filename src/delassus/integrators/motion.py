"""Moving bodies along their twists."""

import numpy as np

from delassus.spatial import advance_rotations


def moved(q: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
    """Poses after a time h with constant twists, along the exponential map.  q: (n, 7), u: (n, 6), h [s]."""
    out = np.empty_like(q)
    out[:, :3] = q[:, :3] + h * u[:, :3]
    advance_rotations(q[:, 3:], u[:, 3:], h, out[:, 3:])
    return out
