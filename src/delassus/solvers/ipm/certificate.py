"""A proof that no motion obeys the constraints.

Velocities y = q + D ξ in C* need d·y ≥ 0 for every d in C. A d with d·q < 0 and D d = 0 therefore proves that there are
none, and one with small D d that reactions of at least −d·q / ‖D d‖ would be needed.
"""

import math

import numpy as np
from numba import njit

from delassus.cones.coulomb import project_coulomb
from delassus.linalg.conjugate_gradients import dot
from delassus.solvers.ipm.standard import Standard

_BEYOND = 1e8  # reactions, in scaled units where those of a single contact are about one, that nobody means


def proves_infeasible(standard: Standard, direction: np.ndarray) -> bool:
    """Is this direction, projected onto C, such a proof?"""
    size = float(np.abs(direction).max(initial=0.0))
    if not (size > 0.0 and math.isfinite(size)):
        return False
    d = direction / size
    project_standard(standard.free, standard.limits, d)
    push = -dot(d, standard.q)
    if push <= 1e-10 * dot(np.abs(d), np.abs(standard.q)):
        return False
    image = standard.product(d)
    return push > _BEYOND * math.sqrt(standard.row_count * dot(image, image))


@njit(cache=True, error_model="numpy")
def project_standard(free, limits, x):
    """x ← P_C x in place; bilateral rows stay."""
    for i in range(free, free + limits):
        x[i] = max(0.0, x[i])
    for i in range(free + limits, len(x), 3):
        x[i], x[i + 1], x[i + 2] = project_coulomb(x[i], x[i + 1], x[i + 2], 1.0)
