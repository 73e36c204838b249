"""Starting the method from its settings."""

import numpy as np

from delassus.problem import Problem
from delassus.solvers.driver import Method
from delassus.solvers.ipm.fast import FastIpm
from delassus.solvers.ipm.settings import Ipm
from delassus.solvers.ipm.thesis import ThesisIpm
from delassus.solvers.settings import Settings


def start_ipm(problem: Problem, settings: Settings, reactions: np.ndarray) -> Method:
    """The variant asked for, at the given starting point."""
    assert isinstance(settings, Ipm)
    return (FastIpm if settings.variant == "fast" else ThesisIpm)(problem, settings, reactions)
