"""A solver's first call in a process touches everything for the first time, which doubles the time of a small problem
(compilation the clock leaves out by itself). So each solver first does one contact of the same storage."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from delassus.problem import Problem
    from delassus.solvers.settings import Settings


class WarmUp:
    """Remembers what has been loaded."""

    def __init__(self) -> None:
        self._done: set[tuple[str, str]] = set()

    def __call__(self, problem: "Problem", settings: "Settings") -> None:
        from delassus.solvers.solve_problem import solve

        key = (problem.delassus.kind, settings.solver)
        if key not in self._done:
            self._done.add(key)
            solve(_one_contact(problem), settings, max_iter=3)


def _one_contact(problem: "Problem") -> "Problem":
    """A sliding contact of unit mass, stored as `problem` is and under its law."""
    import numpy as np

    from delassus.problem import Problem

    one, velocity, mu = np.eye(3), [-1.0, 1.0, 0.0], [0.5]
    kind = problem.delassus.kind
    if kind == "matrix":
        return Problem.dual(one, velocity, mu=mu, law=problem.law)
    size = 6 if kind == "rigid" else 3
    return Problem.primal(
        np.eye(size), np.eye(3, size), u_f=np.resize([*velocity, 0, 0, 0], size), mu=mu, law=problem.law
    )
