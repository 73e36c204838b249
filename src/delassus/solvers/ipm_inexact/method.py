"""The inexact interior-point method (004 Algorithm 1).

Feasible start by an artificial variable (004 §4.3): for any x inside the cone there is d such that ȳ = D x + q + s d is on
the central path at x, x∘ȳ = s e. s follows τ down; as soon as ȳ − s d itself is inside the cone, s and d are dropped and
from then on every iterate is feasible. Since ȳ is always computed from x, an inexact direction costs centrality, never
feasibility.

    (D + W² + R) dx = τ⁺ x⁻¹ − ȳ − (τ⁺ − s) d,    τ⁺ = β τ

Bilateral rows have no cone: there ȳ begins at zero, W is zero and the target is zero.
"""

import math
from time import perf_counter

import numpy as np

from delassus.problem import Problem
from delassus.solvers.ipm.standard import Standard
from delassus.solvers.ipm_inexact.barrier import off_centre, reduction
from delassus.solvers.ipm_inexact.body_space import BodySystem
from delassus.solvers.ipm_inexact.contact_space import ContactSystem
from delassus.solvers.ipm_inexact.directions import Scaling
from delassus.solvers.ipm_inexact.regularisation import softness
from delassus.solvers.ipm_inexact.settings import IpmInexact
from delassus.solvers.jordan import centrality, fill_unit, invert, largest_step, smallest_eigenvalue
from delassus.solvers.settings import Settings

GAMMA=1e-2; BMAX=0.9; POW=1.
_GAIN = 0.1  # a direction leaves at most this part of its right side, or small corrections would be none at all
_GAIN_LINEAR = 1e-10  # … where there are bilateral rows only, which one direction should settle
_SHORT, _SHORTS = 1e-6, 3  # so many steps in a row shorter than this: nothing will change any more


class IpmInexactMethod:
    """One iteration is one direction."""

    def __init__(self, problem: Problem, settings: IpmInexact, reactions: np.ndarray):
        self.problem, self.settings, self.reactions = problem, settings, reactions
        self.finished, self.is_costly = False, True
        self.details: dict[str, list[float]] = {}
        self.standard = Standard(problem)
        standard, free, limits = self.standard, self.standard.free, self.standard.limits
        self.scaling = Scaling(free, limits, standard.cones)
        system = ContactSystem if settings.space == "contact" else BodySystem
        self.system = system(standard, settings, softness(standard, settings))
        self.x = np.zeros(standard.row_count)
        fill_unit(limits, self.x[free:])
        self.x *= settings.start
        v = standard.velocity(self.x)
        products = np.abs(self.x * v)[free:]
        # 004 eq. 34: τ such that ȳ is about as large as y
        self.tau = float(products.sum()) / max(1, standard.cone.degree) or 1.0
        self.s = self.tau
        y = np.zeros(standard.row_count)
        if standard.cone.degree:
            invert(limits, self.x[free:], y[free:])
            y *= self.tau
        self.d = (y - v) / self.s
        self.y = y
        self.beta, self.shorts, self.last_step = 1.0, 0, 1.0
        self._drop_artificial()

    def advance(self, count: int) -> None:
        """`count` directions."""
        for _ in range(count):
            if self.finished:
                return
            self._iterate()
        self.reactions[:] = self.standard.reactions(self.x)

    def judged(self, excess: float) -> None:
        del excess

    def _iterate(self) -> None:
        standard, free, limits = self.standard, self.standard.free, self.standard.limits
        x, y = self.x, self.y
        spread = off_centre(limits, x[free:], y[free:], self.s)
        beta = self._reduction(spread)
        target = beta * self.tau
        ds = target - self.s if self.s > 0.0 else 0.0
        b = np.zeros_like(x)
        if standard.cone.degree:
            invert(limits, x[free:], b[free:])
        b *= target
        b -= y
        if self.s > 0.0:
            b -= ds * self.d
        dx = np.zeros_like(x)
        begin = perf_counter()
        self.scaling.form(x[free:], y[free:], target)
        if not self.system.factor(self.scaling):
            self.finished = True
            return
        factored = perf_counter()
        tol = min(self.settings.accuracy, (_GAIN if standard.cone.degree else _GAIN_LINEAR) * self.scaling.measure(b))
        krylov, error = self.system.solve(b, dx, tol, self.settings.krylov)
        solved = perf_counter()
        dy = standard.product(dx)
        if self.s > 0.0:
            dy += ds * self.d
        longest = min(largest_step(limits, x[free:], dx[free:]), largest_step(limits, y[free:], dy[free:]))
        step = min(1.0, self.settings.fraction * longest)
        if self.settings.strategy == "adaptive":
            for _ in range(30):
                t, least = centrality(limits, x[free:]+step*dx[free:], y[free:]+step*dy[free:])
                if least >= GAMMA*t: break
                step *= 0.85
        if not (math.isfinite(step) and np.isfinite(dx).all()):
            self.finished = True
            return
        self.x = x + step * dx
        self.s += step * ds
        standard.correct(self.x)
        fresh = standard.velocity(self.x) + self.s * self.d
        self.y = fresh if smallest_eigenvalue(limits, fresh[free:]) > 0.0 else y + step * dy
        self._drop_artificial()
        self.tau, _ = centrality(limits, self.x[free:], self.y[free:])
        self.last_step = step
        self.shorts = self.shorts + 1 if step < _SHORT else 0
        self.finished = self.shorts >= _SHORTS
        self._record(tau=self.tau, step=step, beta=beta, spread=spread, krylov=krylov, error=error, primal=self.s,
                     shift=self.system.shift, factor=factored - begin, solve=solved - factored)  # fmt: skip

    def _reduction(self, spread: float) -> float:
        if self.settings.strategy != "adaptive":
            return reduction(self.settings.strategy, spread)
        return min(BMAX, max(0.1, (1.0 - self.last_step)**POW))

    def _drop_artificial(self) -> None:
        """Go on without s where y itself is inside the cone."""
        if self.s == 0.0:
            return
        free, limits = self.standard.free, self.standard.limits
        y = self.y - self.s * self.d
        if smallest_eigenvalue(limits, y[free:]) > 0.0:
            self.y, self.s = y, 0.0

    def _record(self, **values: float) -> None:
        for name, value in values.items():
            self.details.setdefault(name, []).append(float(value))


def start_ipm_inexact(problem: Problem, settings: Settings, reactions: np.ndarray) -> IpmInexactMethod:
    """The method; a guess is not used: interior points do not start from the boundary."""
    assert isinstance(settings, IpmInexact)
    return IpmInexactMethod(problem, settings, reactions)
