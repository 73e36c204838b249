"""From the convex law to Coulomb's by De Saxcé's fixed point (Tsounis et al. 2025, §VI-B, eq. 127).

    s = μ ‖v_t(λ)‖ on the normals,    λ ← solution of CCP with v_f + s,    and again

With s from λ itself the convex problem's residual *is* the exact law's residual of λ, so each round begins where the
last one ended and needs to be solved only to a fraction of that: `reduction`. Any method of the convex law can do it.
One that can go on after a change of the free velocity without starting anew has a `repose(problem)`.

Nothing is proved: s → s need not be a contraction where friction and normal velocities feed each other. Moving s only
part of the way after a round without progress was tried and made things worse, by a factor of four on the FCLIB files:
rounds without progress are mostly plateaus of the convex method.
"""

import math
from dataclasses import dataclass

import numpy as np

from delassus import residuals
from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.compose import Composed, Modifier
from delassus.solvers.driver import Solver, advanced
from delassus.solvers.method import Method
from delassus.solvers.settings import Count, Fraction, Settings

_LEAST_BATCH = 4  # iterations between two judgements of the convex residual, each of which costs about one
_LEAST_TARGET = 1e-15  # of a round that begins at its solution
_ROUND_TOL = 1e-7  # natural map of a round of methods that ignore their guess: s along their path means nothing
_BATCH_GROWTH = 0.25  # or this fraction of the round's iterations so far


@dataclass(frozen=True)
class DeSaxce(Settings):
    """Settings of De Saxcé's fixed point."""

    reduction: Fraction = 0.5  # factor by which a round reduces the residual of its convex problem
    most: Count = 1000  # iterations of a round at most: the convex method may crawl


class DeSaxceMethod(Method):
    """De Saxcé's fixed point at work on one problem; an iteration is one of the convex method's."""

    def __init__(self, problem: Problem, settings: DeSaxce, line: Solver, base: Settings, reactions: np.ndarray):
        self.problem = problem
        self.settings = settings
        self.line, self.base = line, base
        cone = problem.cone
        self.normals = cone.contact_start + 3 * np.arange(cone.contact_count)
        self.finished = self.is_costly = False
        self.inner: Method  # of the convex law; the first round starts it
        self.reactions = reactions
        self.reactions_low: np.ndarray | None = None
        self.ignores_guess = line.ignores_guess
        self._new_round(is_first=True)

    def advance(self, count: int) -> int:
        """`count` iterations of the convex method, with new rounds where they are due; fewer where it gives up before
        a round begins, on joints that contradict each other."""
        total = 0
        while total < count:
            if self.inner.finished:
                self.finished = True
                break
            look = 1 if self.is_costly else max(_LEAST_BATCH, int(_BATCH_GROWTH * self.spent))
            batch = min(count - total, look)
            done = advanced(self.inner, batch, self.problem.row_count)
            self.reactions, self.reactions_low = self.inner.reactions, self.inner.reactions_low  # others, perhaps
            total += done
            self.spent += done
            if not np.isfinite(self.reactions).all():
                break
            if self._round_is_over():
                self._new_round()
        return max(1, total)

    def _round_is_over(self) -> bool:
        if self.inner.finished or self.spent >= self.settings.most:
            return True
        residual = self._convex_residual()
        if residual > self.target:
            self.inner.judged(residual / max(self.target, 1e-300))
            return False
        return True

    def _new_round(self, is_first: bool = False) -> None:
        """s from the present reactions, and the convex problem that goes with it."""
        v = residuals.velocities(self.problem, self.reactions, self.reactions_low)
        s = self.problem.mu * np.hypot(v[self.normals + 1], v[self.normals + 2])
        if self.line.ignores_guess and is_first:
            s[:] = 0.0  # the method starts elsewhere, and what slip this guess has may be rounding of its reactions
        self.convex = _shifted(self.problem, self.normals, s)
        self.target = self.settings.reduction * self._convex_residual()
        if self.line.ignores_guess:
            self.target = min(self.target, _ROUND_TOL)
        self.spent = 0
        if is_first or self.inner.finished or not self.inner.repose(self.convex):
            self.inner = self.line.start(self.convex, self.base, self.reactions)
            self.reactions, self.is_costly = self.inner.reactions, self.inner.is_costly
            self.reactions_low = self.inner.reactions_low
        self.inner.tols = max(self.target, _LEAST_TARGET), math.inf

    def _convex_residual(self) -> float:
        """Relative natural map of the round's problem. Reactions of two doubles are there for light bodies under heavy
        ones, to which that norm is blind: then their velocities count as well."""
        measure = residuals.measure(self.convex, self.reactions, self.reactions_low)
        if self.reactions_low is None:
            return measure.relative
        return max(measure.relative, measure.velocity)


def _start(problem: Problem, settings: Composed, reactions: np.ndarray, line: Solver) -> Method:
    assert isinstance(settings.modifier, DeSaxce)
    return DeSaxceMethod(problem, settings.modifier, line, settings.base, reactions)


DESAXCE = Modifier(
    DeSaxce(solver="desaxce"),
    "Tsounis et al. 2025, §VI-B",
    "exact Coulomb friction by a method of the convex law; no proof of convergence, good where friction is moderate",
    objection=lambda line: None if Law.CCP in line.laws else "it does not solve the convex law (ccp)",
    laws=lambda laws: (Law.NCP,),
    start=_start,
)


def _shifted(problem: Problem, normals: np.ndarray, s: np.ndarray) -> Problem:
    """The convex problem with s added to the normal velocities; storage of D is shared."""
    v_f = problem.free_velocity.copy()
    v_f[normals] += s
    bias = problem.bias
    if bias is not None:
        bias = bias.copy()
        bias[normals] += s
    return problem.shifted(v_f, bias, Law.CCP)
