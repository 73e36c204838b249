"""Starting the method from its settings."""

import numpy as np

from delassus.problem import Problem
from delassus.solvers.interior.fast import FastIpm
from delassus.solvers.interior.guess import best_multiple
from delassus.solvers.interior.reduced import Reduced
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.small import SmallIpm, takes
from delassus.solvers.interior.thesis import ThesisIpm
from delassus.solvers.method import Method
from delassus.solvers.settings import Settings


def start_ipm(problem: Problem, settings: Settings, reactions: np.ndarray) -> Method:
    """The variant asked for, at the given starting point."""
    assert isinstance(settings, Ipm)
    if settings.variant == "thesis":
        return ThesisIpm(problem, settings, reactions)
    if reactions.any():
        reactions[:] = best_multiple(problem, reactions)
    if takes(problem, settings):
        reduced = Reduced(problem)
        if reduced.is_symmetric:
            return SmallIpm(problem, settings, reactions, reduced)
    return FastIpm(problem, settings, reactions)


def hands_on(settings: Settings) -> bool:
    """May two doubles go on where this stalls? The published variant stays what was published."""
    assert isinstance(settings, Ipm)
    return settings.rescue and settings.variant == "fast"
