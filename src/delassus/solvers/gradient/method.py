"""What the methods of this family share: the problem as a team of threads sees it."""

import numpy as np

from delassus.problem import Problem
from delassus.solvers.method import Method
from delassus.solvers.parts.parallel.operator import Operator
from delassus.solvers.settings import Settings


class GradientMethod(Method):
    """A method whose iterations are passes of a team of threads over `operator`; its settings have `threads`."""

    def __init__(
        self,
        problem: Problem,
        settings: Settings,
        reactions: np.ndarray,
        *,
        by_direction: bool = False,
        scaled: bool = True,
    ):
        """by_direction, scaled: see `Operator`."""
        super().__init__(problem, settings, reactions)
        self.operator = Operator(problem, self.settings.threads, by_direction, scaled)

    def repose(self, problem: Problem) -> bool:
        """Go on from the present point with the free velocity of `problem`, which is otherwise the same."""
        self.operator.offset[:] = problem.free_velocity
        self.restart()
        return True

    def restart(self) -> None:
        """Drop what belongs to the free velocity before: momentum, values of the objective."""
