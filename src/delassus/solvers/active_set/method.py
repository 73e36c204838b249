"""What the methods of this family share: a convex program, solved by products with its matrix, renewed when solved."""

from abc import ABC, abstractmethod

import numpy as np

from delassus.problem import Problem
from delassus.solvers.active_set.program import Program
from delassus.solvers.method import Method
from delassus.solvers.settings import Settings


class ActiveSetMethod(Method, ABC):
    """vectors: (count, m) scaled, the first one x; target: residual at which the program counts as solved, 0: never. An
    iteration is one product with A."""

    def __init__(self, problem: Problem, settings: Settings, reactions: np.ndarray, vectors: int):
        super().__init__(problem, settings, reactions)
        self.program = Program(problem, self.settings.threads, self.settings.scaled)
        self.vectors = tuple(np.zeros((vectors, problem.row_count)))
        self.image = np.zeros(self.program.operator.image_size)
        self.target = self.program.enter(reactions, self.vectors[0])

    @abstractmethod
    def run(self, count: int) -> tuple[int, bool]:
        """At most `count` products; how many there were, and whether the program is solved."""

    @abstractmethod
    def restart(self) -> None:
        """Let the next product give the gradient anew."""

    def advance(self, count: int) -> None:
        while count > 0:
            used, is_solved = self.run(count)
            count -= used
            if is_solved:
                self.renew()
                count -= self.program.renewal_products
        self.write_reactions()

    def write_reactions(self) -> None:
        """λ of the present x."""
        np.multiply(self.program.root, self.vectors[0], out=self.reactions)

    def renew(self) -> None:
        """A step of the fixed point: the next program."""
        self.target = self.program.renew(self.vectors[0])
        self.restart()

    def repose(self, problem: Problem) -> bool:
        """Go on from the present point with the free velocity of `problem`, which is otherwise the same."""
        self.program.operator.offset[:] = problem.free_velocity
        self.renew()
        return True
