"""A solver at work on one problem: what every method of the package is, and what it may be able to do besides."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from delassus.problem import Problem
from delassus.solvers.settings import Settings
from delassus.status import Status


class Method:
    """An iterative method at work on one problem. A subclass writes `advance`; everything else has a default.

    The driver calls `advance`, judges `reactions`, tells `judged` what was found, and decides when to stop and what the
    outcome is called. A method looks at no clock and no limit.

    >>> class Projected(Method):
    ...     def advance(self, count):
    ...         for _ in range(count):
    ...             v = self.problem.constraint_velocity(self.reactions)
    ...             self.reactions[:] = self.problem.cone.project(self.reactions - self.problem.rho * v)
    """

    reactions: np.ndarray
    """λ (m,) [N s], where the method stands; another array after each `advance` if it likes."""

    finished: bool = False
    """Going on would change nothing."""

    is_costly: bool = False
    """One iteration costs far more than a judgement: judge after each, and call it stalled sooner."""

    follows_path: bool = False
    """It goes through other problems on the way to this one, so that a residual that does not fall says nothing: only
    limits and `finished` end it, it is never called stalled before."""

    is_compiled: bool = False
    """All arithmetic is in compiled code, which does not warn of overflow."""

    ignores_guess: bool = False
    """It starts far from where it was put, so a residual that grows at first says nothing."""

    batch_min: int = 1
    """Least iterations between two judgements; may change along the way."""

    tols: tuple[float, float] = (1e-6, 1e-4)
    """(tol, tol_velocity) of the judge, set by the driver before the first `advance`: to know when to be judged, or
    when another phase of the method pays, never to call a point good."""

    expects_end: bool = False
    """It has measured its reactions to be within `tols`: the judge then evaluates all residuals at once, which
    spares another evaluation of the point that is returned. Nothing is called good for it."""

    reactions_low: np.ndarray | None = None
    """What the reactions lack to a second double each, (m,) [N s], where it knows."""

    details: dict[str, list[float]] | None = None
    """Lists with one number per iteration; they end up on the solution."""

    words: Sequence[str] = ()
    """What it did so far, in sentences for people; they end up in the trace."""

    iterates_reactions: bool = True
    """The iteration is a map of `reactions` alone, read anew at each `advance`; otherwise a map of `point`."""

    def __init__(self, problem: Problem, settings: Settings, reactions: np.ndarray):
        """problem: to be solved; reactions: the starting point, (m,) [N s], which the method may overwrite."""
        self.problem = problem
        self.settings: Any = settings  # of the class that the solver's line names
        self.reactions = reactions

    def advance(self, count: int) -> int | None:
        """Do `count` iterations, in one compiled call where possible; or fewer, at least one, and return how many."""
        raise NotImplementedError(f"{type(self).__name__} has no advance(count): write one")

    def judged(self, excess: float) -> None:
        """Told what the judge found, as a factor over the tolerance; a method may adapt to it."""

    @property
    def verdict(self) -> Status | None:
        """What to call a finished run that did not converge (INFEASIBLE with a proof); None: stalled."""
        return None

    def repose(self, problem: Problem) -> bool:
        """Go on with a problem that differs in its free velocity only; False: start another method instead."""
        return False

    # What Anderson acceleration asks of methods whose line says `is_map`.

    @property
    def point(self) -> np.ndarray:
        """All that an iteration starts from, (n,), a copy."""
        return self.reactions.copy()

    def move_to(self, point: np.ndarray) -> None:
        """Go on from such a point."""
        self.reactions[:] = point

    @property
    def map_key(self) -> float | None:
        """Changes when the map does: a relaxation, a penalty."""
        return None

    @property
    def accelerated(self) -> Callable[..., tuple[int, int]] | None:
        """Iterations and acceleration in one compiled call, for methods whose iterations cost no more than a call:
        (count, left, stride, state, rule, cone, buffers) -> (iterations done, left of the map under way), as in
        `splitting.accelerated`; None: they are called one after the other."""
        return None
