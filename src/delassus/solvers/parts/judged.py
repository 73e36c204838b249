"""The judge inside compiled code: points of a scaled problem in triples are measured as the problem's own."""

import math

import numpy as np

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.residuals import measure_at


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def excess_over(tols, r, u, units, place, judged_by, reactions, velocities, iteration, judgements):
    """How far the point r, with velocities u, is above the tolerances, as a factor; infinite where it is no number.

    tols: (tol, tol_velocity); units: (2, 3 n) of reactions and of velocities; place: (m,) where each row of the problem
    is; judged_by: that of the `Problem`; reactions, velocities: (m,), written in units of the problem; judgements:
    (4, most), whose last row begins with their number: (iteration, relative natural map, relative worst velocity) is
    added to them, in place of the last one where there is no more room."""
    for i in range(len(place)):
        j = np.uint64(place[i])  # without a sign, which would be tested each time
        reactions[i], velocities[i] = units[0, j] * r[j], units[1, j] * u[j]
    relative, velocity = measure_at(reactions, velocities, judged_by)
    at = min(int(judgements[3, 0]), judgements.shape[1] - 1)
    judgements[0, at], judgements[1, at], judgements[2, at] = iteration, relative, velocity
    judgements[3, 0] = at + 1
    excess = max(relative / tols[0], velocity / tols[1])
    return excess if math.isfinite(excess) else math.inf
