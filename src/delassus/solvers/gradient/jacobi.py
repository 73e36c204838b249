"""Projected Jacobi with friction blocks (Heyn, Anitescu, Tasora and Negrut 2013, eq. 12; the projected Gauß–Jacobi,
PGJ, of Kleinert, Simeon and Obermayr 2014, §5.2.4).

    λ ← λ + θ (P_K(λ − ω S w(λ)) − λ),    S_k = 1 / mean diagonal of D_kk

All units are updated at once from the same velocities. Under the ncp law w holds De Saxcé's term of the last iterate.
Where D is symmetric and w = v the iteration falls to the minimum for every ω < 2 / Λ, Λ the largest eigenvalue of S D
over the rows that can carry a reaction; Λ grows with the number of contacts a body has. On a box of spheres without
friction it is 3.3: the ω ≈ 0.3 that Heyn et al. name is safe there, and half of the longest."""

from dataclasses import dataclass

import numpy as np

from delassus.kernel import njit
from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.gradient.method import GradientMethod
from delassus.solvers.gradient.step import Points, Step, step_units
from delassus.solvers.parts.parallel import passes
from delassus.solvers.parts.parallel.spectrum import largest_eigenvalue
from delassus.solvers.parts.parallel.team import wait
from delassus.solvers.settings import Count, Positive, Settings, Share

_STEP_TIMES_EIGENVALUE = 1.9  # ω Λ̂: below 2 as long as the estimate Λ̂, which is from below, finds 0.95 Λ


@dataclass(frozen=True)
class Jacobi(Settings):
    """Settings of projected Jacobi."""

    omega: Positive | None = None  # step in units of the inverse mean diagonal of each block; none: a safe one is found
    damping: Share = 1.0  # share θ of the new iterate in the next, the λ of Heyn et al. 2013, eq. 12
    threads: Count = 1  # team of threads for each pass


PUBLISHED = Jacobi(solver="jacobi", omega=0.3)
"""Heyn et al. 2013, §4.1: "typically for large problems ω ≈ 0.3", and no damping."""


class JacobiMethod(GradientMethod):
    """Projected Jacobi at work on one problem."""

    def __init__(self, problem: Problem, settings: Settings, reactions: np.ndarray):
        super().__init__(problem, settings, reactions)
        self.gamma = problem.law is Law.NCP
        self.omega = self.settings.omega or _STEP_TIMES_EIGENVALUE / largest_eigenvalue(self.operator)
        self.image = np.zeros(self.operator.image_size)
        self.operator.project(reactions, reactions)

    def advance(self, count: int) -> None:
        self.operator.run(
            _advance,
            self.operator.data,
            count,
            (self.omega, 0.0, self.settings.damping, self.gamma),
            self.image,
            self.reactions,
        )


@njit(cache=True, nogil=True, error_model="numpy")
def _advance(t, barrier, parts, data, count, step, image, x):
    """`count` iterations of one team member from x, which others may have changed since.  step: a plain `Step`; image:
    scratch."""
    values = np.zeros(3)
    passes.image_of(t, barrier, data, x, image)
    for _ in range(count):
        step_units(t, data, Step(*step), Points(x, x, x), image, values)
        wait(t, barrier)
        passes.form_image(t, data, x, image)
        wait(t, barrier)
