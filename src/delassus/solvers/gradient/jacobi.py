"""Projected Jacobi (002 eq. 12; the PGJ of 004 §5.2.4), with friction blocks.

    λ ← λ + θ (P_K(λ − ω S w(λ)) − λ),    S_k = 1 / mean diagonal of D_kk

All units are updated at once from the same velocities. Under the ncp law w holds De Saxcé's term of the last iterate.
Where D is symmetric and w = v the iteration falls to the minimum for every ω < 2 / Λ, Λ the largest eigenvalue of S D
over the rows that can carry a reaction; Λ grows with the number of contacts a body has, and the ω ≈ 0.3 that 002 names
is too long for dense heaps.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.gradient.step import step_units
from delassus.solvers.method import Method
from delassus.solvers.parts.parallel import passes
from delassus.solvers.parts.parallel.operator import Operator
from delassus.solvers.parts.parallel.spectrum import largest_eigenvalue
from delassus.solvers.parts.parallel.team import wait
from delassus.solvers.settings import Count, Positive, Settings, Share

_SAFE = 1.9  # ω = this / Λ̂: below 2 / Λ as long as the estimate, which is from below, finds 0.95 Λ


@dataclass(frozen=True)
class Jacobi(Settings):
    """Settings of projected Jacobi."""

    omega: Positive | None = None  # step in units of the inverse mean diagonal of each block; none: a safe one is found
    damping: Share = 1.0  # share θ of the new iterate in the next, the λ of 002 eq. 12
    threads: Count = 1  # team of threads for each pass


class JacobiMethod(Method):
    """Projected Jacobi at work on one problem."""

    def __init__(self, problem: Problem, settings: Jacobi, reactions: np.ndarray):
        self.reactions = reactions
        self.settings = settings
        self.gamma = problem.law is Law.NCP
        self.operator = Operator(problem, settings.threads)
        self.omega = settings.omega or _SAFE / largest_eigenvalue(self.operator)
        self.image = np.zeros(self.operator.image_size)
        self.operator.project(reactions, reactions)

    def advance(self, count: int) -> None:
        self.operator.run(
            _advance, self.operator.data, count, self.omega, self.settings.damping, self.gamma, self.image,
            self.reactions,
        )  # fmt: skip

    def repose(self, problem: Problem) -> bool:
        """Go on from the present point with the free velocity of `problem`, which is otherwise the same."""
        self.operator.offset[:] = problem.free_velocity
        return True


def start_jacobi(problem: Problem, settings: Settings, reactions: np.ndarray) -> JacobiMethod:
    """Projected Jacobi from the given starting point."""
    assert isinstance(settings, Jacobi)
    return JacobiMethod(problem, settings, reactions)


@njit(cache=True, nogil=True, error_model="numpy")
def _advance(t, meeting, parts, data, count, omega, damping, gamma, image, x):
    """`count` iterations of one team member from x, which others may have changed since.  image: scratch."""
    values = np.zeros(3)
    passes.image_of(t, meeting, data, x, image)
    for _ in range(count):
        step_units(t, data, omega, 0.0, damping, gamma, image, x, x, x, values)
        wait(t, meeting)
        passes.form_image(t, data, x, image)
        wait(t, meeting)
