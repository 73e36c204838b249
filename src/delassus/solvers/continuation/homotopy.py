"""Exact Coulomb friction by homotopies, for problems on which everything else stalls.

Newton's method goes straight for a solution and is stopped by valleys of ‖F‖ that end above zero. A path of problems
leads around them, if need be back and forth: contacts alone, with friction, each system as large as the problem. One
iteration is one linear system. Which phases there are, and in which order: `phases.py`.

It may end elsewhere than at the solution nearest to the start: with exact friction there can be several. And it may not
end at all within its systems: a path through thousands of contacts has folds in the hundreds.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from delassus.problem import Problem
from delassus.solvers.continuation.phases import Budget, Found, phases
from delassus.solvers.continuation.system import System
from delassus.solvers.method import Method
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

    @property
    def budget(self) -> Budget:
        """Systems of each phase."""
        return Budget(self.systems_shift, self.systems_convex, self.systems_slip, self.systems_smooth)


class HomotopyMethod(Method):
    """One iteration is one linear system; `reactions` are the best that were found so far."""

    is_costly = True
    follows_path = True

    def __init__(self, problem: Problem, settings: Homotopy, reactions: np.ndarray):
        super().__init__(problem, settings, reactions)
        self.found: Found | None = None
        self.work: Generator[None, None, None] | None = None

    def advance(self, count: int) -> int:
        """At most `count` systems."""
        if self.found is None:  # tolerances are known from here on
            self.found = Found(self.problem, System(self.problem), self.reactions.copy(), self.tols)
            # a function of its own, not a method: what refers to itself would stay in memory until it is looked for
            self.work = phases(self.found, self.settings)
            next(self.work)  # to the first system
        done = 0
        while done < count and not self.finished:
            self.finished = next(self.work, END) is END
            done += 1
        self.reactions, self.words = self.found.reactions, self.found.words
        return done or 1


def has_friction(problem: Problem) -> bool:
    """Has every contact friction?"""
    return bool((np.asarray(problem.mu) > 0.0).all())
