"""The published interior point with the bodies' velocities as unknowns (Mangoni, PhD thesis, §4.11), counted as
there.

Arithmetic in pairs of doubles: in one double each, what 10²⁰ kg press with leaves nothing of a body of 10 kg.
"""

import math

import numpy as np

from delassus.linalg.pairs import dot, pair_array
from delassus.problem import Problem
from delassus.reproduce.measure.interior_runs import THESIS
from delassus.solvers.double_double.bodies import Bodies
from delassus.solvers.double_double.interior import Interior
from delassus.solvers.double_double.jordan import JOINT, ORTHANT

MOST = 300
"""Iterations after which counting stops."""


class Published(Interior):
    """Starts as the thesis's eq. 4.23 says, in SI units, and moves as it does; for problems without friction."""

    centring = 0.0

    def __init__(self, bodies: Bodies):
        super().__init__(bodies)
        on = bodies.kind == ORTHANT
        self.u = pair_array(np.ones(bodies.size))
        self.x, self.y = pair_array(1.0 * on), pair_array(1.0 * on)
        if self._factor():
            _, dx, dy = self._direction(*self.errors())
            for part, change in ((self.x, dx), (self.y, dy)):
                part[on, 0] = np.maximum(1.0, np.abs(part[on, 0] + change[on, 0]))
        self.tau = dot(self.x, self.y) / self.degree

    @property
    def inside(self) -> float:  # type: ignore[override]
        """η of Mangoni, PhD thesis, §4.12, at most 0.99."""
        return min(0.99, 0.9 + 0.1 * math.exp(-self.tau * self.degree))


def iterations(problem: Problem, *, published: bool, mass: float = 1.0) -> int:
    """Until the thesis's rule is met by the method's own variables, as there: r_p, r_d and μ, in SI units (published)
    or, from a start of the problem's size, with `mass` [kg], that of the heaviest body, in place of one."""
    bodies = Bodies(problem)
    method = Published(bodies) if published else Interior(bodies)
    joints, rows = bodies.kind == JOINT, bodies.kind == ORTHANT
    for count in range(1, MOST + 1):
        if not method.step():
            return MOST
        momentum, primal = (part[:, 0] for part in method.errors())
        dual = np.linalg.norm(momentum) / len(momentum)
        worst = max(np.linalg.norm(primal[on]) / max(1, on.sum()) for on in (joints, rows))
        if max(worst, dual / mass) < THESIS.primal and method.tau < THESIS.mu * mass:
            return count
    return MOST
