"""What is made of a guess before an interior point starts near it."""

import numpy as np

from delassus.cones.product import project_product
from delassus.problem import Problem

_MOST = 10.0  # times a guess: more is said by rounding


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
