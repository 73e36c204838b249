"""The judge inside compiled code: points of a scaled problem in triples are measured as the problem's own."""

import math
from typing import Any, NamedTuple

import numpy as np

from delassus.kernel import njit
from delassus.kernel.memory import NO_REFCOUNT
from delassus.residuals import measure_at


class Judge(NamedTuple):
    """What a point in triples is judged by, and where judgements are written. Python hands a plain tuple of these."""

    tols: tuple[float, float]
    """(tol, tol_velocity)."""
    units: np.ndarray
    """(2, 3 n) of reactions and of velocities."""
    place: np.ndarray
    """(m,) where each row of the problem is."""
    data: tuple[Any, ...]
    """Fields of `ProblemData`."""
    judgements: np.ndarray
    """(4, most), whose last row begins with their number."""


@njit(cache=True, error_model="numpy", **NO_REFCOUNT)
def excess_over(judge, r, u, reactions, velocities, iteration):
    """How far the point r, with velocities u, is above the tolerances, as a factor; infinite where it is no number.

    judge: `Judge`; reactions, velocities: (m,), written in units of the problem. (iteration, relative natural map,
    relative worst velocity) is added to the judgements, in place of the last one where there is no more room."""
    units, place, judgements = judge.units, judge.place, judge.judgements
    for i in range(len(place)):
        j = np.uint64(place[i])  # without a sign, which would be tested each time
        reactions[i], velocities[i] = units[0, j] * r[j], units[1, j] * u[j]
    relative, velocity = measure_at(reactions, velocities, judge.data)
    at = min(int(judgements[3, 0]), judgements.shape[1] - 1)
    judgements[0, at], judgements[1, at], judgements[2, at] = iteration, relative, velocity
    judgements[3, 0] = at + 1
    excess = max(relative / judge.tols[0], velocity / judge.tols[1])
    return excess if math.isfinite(excess) else math.inf
