"""Exact Coulomb friction by homotopies, for problems on which everything else stalls.

Newton's method goes straight for a solution and is stopped by valleys of ‖F‖ that end above zero. A path of problems
leads around them, if need be back and forth: contacts alone, with friction, each system as large as the problem. Which
phases there are, and in which order: `phases.py`.

It may end elsewhere than at the solution nearest to the start: with exact friction there can be several. And it may not
end at all within its systems: a path through thousands of contacts has folds in the hundreds.
"""

from collections.abc import Iterator

import numpy as np

from delassus.problem import Problem
from delassus.solvers.continuation.phases import Found, phases
from delassus.solvers.continuation.settings import Homotopy
from delassus.solvers.continuation.system import System
from delassus.solvers.method import Method
from delassus.solvers.settings import Settings

_END = object()


class HomotopyMethod(Method):
    """One iteration is one linear system; `reactions` are the best that were found so far."""

    is_costly = True
    follows_path = True
    found: Found | None = None
    work: Iterator[None]

    def __init__(self, problem: Problem, settings: Settings, reactions: np.ndarray):
        assert isinstance(settings, Homotopy)
        super().__init__(problem, settings, reactions)

    def advance(self, count: int) -> int:
        """At most `count` systems."""
        if self.found is None:  # tolerances are known from here on
            self.found = Found(self.problem, System(self.problem), self.reactions.copy(), self.tols)
            # of a function, not of a method: what refers to itself stays in memory until the garbage collector comes
            self.work = phases(self.found, self.settings)
            next(self.work)  # to the first system
        done = 0
        while done < count and not self.finished:
            self.finished = next(self.work, _END) is _END
            done += 1
        self.reactions, self.words = self.found.reactions, self.found.words
        return done or 1
