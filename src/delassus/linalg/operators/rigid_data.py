"""What compiled code reads of D of rigid bodies, by name."""

from typing import NamedTuple

import numpy as np


class RigidData(NamedTuple):
    """The fields of `RigidDelassus.plain`, which is a plain tuple of them: Numba takes microseconds to look at a named
    tuple that Python hands it. Kernels name it: `rigid = RigidData(*rigid)`, which accepts either."""

    bodies: np.ndarray
    """(blocks, 2) bodies of each block of rows, −1 for the world."""
    block_start: np.ndarray
    """(blocks + 1,) first row of each block."""
    rows: np.ndarray
    """(m, 12) J, six columns for each of the two bodies."""
    response: np.ndarray
    """(m, 12) H⁻¹ Jᵀ by rows of J."""
    compliance: np.ndarray
    """(m,) diagonal of E, or empty where that is zero [1/kg]."""
