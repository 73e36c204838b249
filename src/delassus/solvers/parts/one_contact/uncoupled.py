"""One contact whose block of D is diag(a, b, b), as between spheres: both laws in closed form.

The tangent does not feel the normal, so that Coulomb's law gives r_n at once and then r_t on a disc. The convex law
projects −D⁻¹ q on the cone in the metric of D: a Coulomb cone again, with μ' = μ √(b/a) in scaled tangents.
"""

import math

import numpy as np

from delassus.kernel import njit

_ROUNDING = 1e-13  # of the trace, below which a coupling is a rounding error of its two rows


def uncoupled(blocks: np.ndarray) -> np.ndarray:
    """Which contacts have such a block, (n_c,) bool.  blocks: (n_c, 9) row by row [1/kg]."""
    if not len(blocks):
        return np.zeros(0, bool)
    least = _ROUNDING * blocks[:, [0, 4, 8]].sum(axis=1)
    couplings = np.abs(blocks[:, [1, 2, 3, 5, 6, 7]]).max(axis=1)
    return (couplings <= least) & (np.abs(blocks[:, 4] - blocks[:, 8]) <= least) & (blocks[:, [0, 4]].min(axis=1) > 0.0)


@njit(cache=True, error_model="numpy")
def solve_uncoupled(a, b, q0, q1, q2, mu, convex):
    """(r_n, r_t1, r_t2) with v = D r + q, D = diag(a, b, b), a, b > 0 [1/kg]; q: velocity without this contact [m/s];
    convex: the convex law instead of Coulomb's."""
    slide = math.sqrt(q1 * q1 + q2 * q2)
    rn = -q0 / a
    if slide > mu * b * rn:  # does not stick
        if convex:
            rn = (mu * slide - q0) / (a + mu * mu * b)
        if not rn > 0.0:
            return 0.0, 0.0, 0.0
        f = -mu * rn / slide
        return rn, f * q1, f * q2
    if not rn > 0.0:
        return 0.0, 0.0, 0.0
    return rn, -q1 / b, -q2 / b
