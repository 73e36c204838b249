"""A first point for Newton's method on large problems: the interior point of the convex law, bent towards Coulomb's.

In the units of `standard` De Saxcé's term is ‖y_t‖ on the normals. Renewed from the present y in every iteration it
makes a path of its own, which follows exact friction down to some 1e-3…1e-6 and then goes no further: the term changes
as much as an iteration gains. So it is kept after some iterations, and the point brought to the boundary of its cones,
where Newton's method sees which contacts are open, stick and slide.
"""

import math

import numpy as np

from delassus.problem import Problem
from delassus.solvers.interior.iteration import first_tau
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.sparse import SINGLE_TAU
from delassus.solvers.interior.sparse_phases import Interior
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.systems import system_of
from delassus.solvers.parts.jordan import centred_pair

_RENEWALS = 15  # iterations with De Saxcé's term renewed
_MOST = 30  # iterations in all
_CLOSED = 1e-11  # τ below which the point is on the boundary
_SHORT_STEPS = 3  # so many short steps in a row mean that nothing more is gained


class _Frictional(Standard):
    """The standard problem with De Saxcé's term on its normals."""

    def __init__(self, problem: Problem):
        super().__init__(problem)
        self.normals = self.free + self.limits + 3 * np.arange(self.cones)
        self.slip = np.zeros(self.cones)

    def correct(self, x: np.ndarray) -> None:
        self.offset = self.q.copy()
        super().correct(x)
        self.offset[self.normals] += self.slip

    def renew(self, x: np.ndarray, v: np.ndarray) -> None:
        """De Saxcé's term of the velocities v (m',)."""
        self.slip = np.hypot(v[self.normals + 1], v[self.normals + 2])
        self.correct(x)


def interior_start(problem: Problem, reactions: np.ndarray) -> np.ndarray:
    """Reactions (m,) [N s] near those of exact friction, started near the given ones."""
    standard, settings = _Frictional(problem), Ipm(solver="ipm")
    free, limits = standard.free, standard.limits
    near = standard.from_reactions(reactions)
    standard.correct(near)
    standard.renew(near, standard.velocity(near))
    apart = (near - standard.velocity(near))[free:]
    x, y = near.copy(), np.zeros_like(near)
    centred_pair(limits, apart, first_tau(float(np.mean(apart**2)), math.inf, 0.0), x[free:], y[free:])
    interior = Interior(
        standard,
        system_of(standard, settings),
        (x, y),
        correctors=settings.correctors,
        joint=settings.joint,
        single_above=SINGLE_TAU,
    )
    for iteration in range(_MOST):
        if iteration < _RENEWALS:
            standard.renew(interior.x, interior.y)
        if not interior.step():
            break
        if interior.short_steps >= _SHORT_STEPS or interior.tau < _CLOSED:
            break
    return standard.reactions(interior.x)
