"""Settings of the homotopies, and which problems they take."""

from dataclasses import dataclass

from delassus.problem import Problem
from delassus.solvers.settings import Count, CountOrNone, NotNegative, Positive, Settings, require


@dataclass(frozen=True)
class Homotopy(Settings):
    """Settings of the homotopies. Smoothings are in units where blocks have unit mobility and free velocities rms 1."""

    eps: Positive = 3e-5  # smoothing of the first paths; others follow where these are lost
    eps_min: Positive = 1e-7  # the least, at the end
    near: NotNegative = 2e-8  # relative residual up to which Newton's homotopy comes first
    far: NotNegative = 1e-4  # relative residual beyond which the slips of a point are not worth starting from
    systems_shift: CountOrNone = 80  # of Newton's homotopy: where it lands, it takes a dozen or two
    systems_convex: Count = 3000  # on the way to the convex problem
    systems_slip: Count = 8000  # from there to the exact law
    systems_smooth: Count = 300  # for each factor of three by which the smoothing falls

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.eps_min <= self.eps, f"eps is {self.eps}: give at least eps_min, {self.eps_min}")


def has_friction(problem: Problem) -> bool:
    """Has every contact friction?"""
    return bool((problem.mu > 0.0).all())
