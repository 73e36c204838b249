"""A first point for Newton's method on large problems: the interior point of the convex law, bent towards Coulomb's.

In the units of `ipm.standard` De Saxcé's term is ‖y_t‖ on the normals. Renewed from the present y in every iteration it
makes a path of its own, which follows exact friction down to some 1e-3…1e-6 and then goes no further: the term changes
as much as an iteration gains. So it is kept after some iterations, and the point brought to the boundary of its cones,
where Newton's method sees which contacts are open, stick and slide.
"""

import numpy as np

from delassus.problem import Problem
from delassus.solvers.interior.interior import Interior
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.systems import system_of
from delassus.solvers.parts.jordan import centred_pair

_RENEWALS = 15  # iterations with De Saxcé's term renewed
_MOST = 30  # iterations in all
_CLOSED = 1e-11  # τ below which the point is on the boundary
_SHORT, _SHORTS = 0.1, 3  # so many steps in a row shorter than this mean that nothing more is gained
_START = 10.0  # τ of the start over the mean square of reactions and velocities, as in `ipm.fast`
_SINGLE = 1e-6  # τ down to which single precision serves, likewise


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
    """Reactions (m,) [N s] near those of exact friction, begun near the given ones."""
    standard, settings = _Frictional(problem), Ipm(solver="ipm")
    free, limits = standard.free, standard.limits
    near = standard.from_reactions(reactions)
    standard.correct(near)
    standard.renew(near, standard.velocity(near))
    apart = (near - standard.velocity(near))[free:]
    x, y = near.copy(), np.empty_like(apart)
    centred_pair(limits, apart, _START * max(float(np.mean(apart**2)), 1e-30), x[free:], y)
    interior = Interior(
        standard, system_of(standard, settings), x, y, correctors=settings.correctors, joint=settings.joint,
        single_above=_SINGLE,
    )  # fmt: skip
    shorts = 0
    for iteration in range(_MOST):
        if iteration < _RENEWALS:
            standard.renew(interior.x, np.concatenate([np.zeros(free), interior.y]))
        if not interior.step():
            break
        shorts = shorts + 1 if interior.details["step"] < _SHORT else 0
        if shorts >= _SHORTS or interior.tau < _CLOSED:
            break
    return standard.reactions(interior.x)
