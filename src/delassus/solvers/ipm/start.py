"""Starting the method from its settings."""

import numpy as np

from delassus.cones.product import project_product
from delassus.problem import Problem
from delassus.solvers.driver import Method
from delassus.solvers.ipm.fast import FastIpm
from delassus.solvers.ipm.reduced import Reduced
from delassus.solvers.ipm.settings import Ipm
from delassus.solvers.ipm.small import SmallIpm, takes
from delassus.solvers.ipm.thesis import ThesisIpm
from delassus.solvers.settings import Settings

_MOST = 10.0  # times a guess: more is said by rounding


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


def best_multiple(problem: Problem, guess: np.ndarray) -> np.ndarray:
    """The point α P_K(guess) of least energy ½ λᵀDλ + λᵀv_f: never worse than starting from zero, which a guess that
    has nothing to do with the problem becomes."""
    cone, out = problem.cone, np.empty_like(guess)
    project_product(guess, problem.mu, cone.bilateral_rows, cone.unilateral, out)
    curvature = float(out @ problem.delassus.product(out))
    slope = float(out @ problem.free_velocity)
    if not (slope < 0.0 and curvature > 0.0):
        return np.zeros_like(out)
    return min(-slope / curvature, _MOST) * out
