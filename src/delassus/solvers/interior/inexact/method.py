"""The inexact interior-point method (Kleinert et al. 2014, Algorithm 1).

    (D + W² + R) dx = τ⁺ x⁻¹ − ȳ − (τ⁺ − s) d,    τ⁺ = β τ

Feasible start by an artificial variable (Kleinert et al. 2014, §4.3): for any x inside the cone there is d such that ȳ
= D x + q + s d is on the central path at x, x∘ȳ = s e. s follows τ down; as soon as ȳ − s d itself is inside the cone,
s and d are dropped and from then on every iterate is feasible. Since ȳ is always computed from x, an inexact direction
costs centrality, never feasibility; nor does R, the softness of contacts, change the point approached.

Under the exact law ȳ has De Saxcé's term (Kleinert et al. 2014, eq. 7, 13). It is convex in x and moves along the
normal, so that ȳ lies no nearer to the boundary than its linear prediction: steps stay inside. That the iteration gets
to a solution is not known there: the problem is not monotone.

Bilateral rows have no cone: there ȳ begins at zero, W is zero and the target is zero. In units where x∘y = τ e, not 2α
as in Kleinert et al. 2014; see `jordan`.
"""

import math
from collections.abc import Callable

import numpy as np

from delassus import residuals
from delassus.errors import SettingsError
from delassus.law import Law
from delassus.linalg.iterative.krylov import PRODUCTS
from delassus.problem import Problem
from delassus.solvers.interior.inexact.barrier import off_centre, reduction
from delassus.solvers.interior.inexact.body_space import BodySpace
from delassus.solvers.interior.inexact.contact_space import ContactSpace
from delassus.solvers.interior.inexact.directions import Scaling
from delassus.solvers.interior.inexact.regularisation import softness
from delassus.solvers.interior.inexact.settings import IpmInexact
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.starts import best_multiple, pair_above, pair_at
from delassus.solvers.method import Method
from delassus.solvers.parts.jordan import centrality, centred_pair, invert, largest_step, smallest_eigenvalue
from delassus.solvers.settings import Settings
from delassus.waiting import clock

_GAIN = 0.1  # a direction leaves at most this part of its right side
_GAIN_LINEAR = 1e-10  # … where there are bilateral rows only, which one direction should settle
_SHORT, _SHORTS = 1e-6, 3  # so many steps in a row shorter than this: nothing will change any more
_CENTRED = 1e-1  # adaptive: smallest eigenvalue of a product, as a fraction of τ, that a step may leave
# of a guess: error (relative, or as the velocity of one contact) up to which it is used; above _FAR the first τ is the
# mean square of reactions and velocities, below it falls with the square of the error
_USEFUL, _FAR, _LEAST_START = 0.3, 0.1, 1e-7
_LEAST, _MOST = 0.1, 0.9  # adaptive: bounds of β
_FIRST_SWEEPS = 16  # of projected Gauß–Jacobi before its error is looked at


class IpmInexactMethod(Method):
    """One iteration is one direction.  details: τ, step, β, f_cen ("spread"), iterations of the Krylov method
    ("krylov"), products with the matrix, measure of the direction's error, s, shift of the preconditioner's diagonal,
    and seconds to build it ("factor") and to solve."""

    def __init__(self, problem: Problem, settings: IpmInexact, reactions: np.ndarray):
        self.settings, self.reactions = settings, reactions
        self.finished, self.is_costly = False, True
        self.details: dict[str, list[float]] = {}
        self.standard = standard = Standard(problem, scaled=settings.scaled)
        is_exact = problem.law is Law.NCP and standard.cones > 0
        if is_exact:
            _refuse_symmetric(settings)
        euclidean = settings.stop == "euclidean"
        rows = standard.free, standard.limits, standard.cones
        self.scaling = Scaling(*rows, euclidean=euclidean, is_exact_law=is_exact)
        space = ContactSpace if settings.space == "contact" else BodySpace
        self.system: ContactSpace | BodySpace = space(standard, settings, softness(standard, settings))
        self.last_step, self.shorts = 1.0, 0
        self._start()
        if reactions.any() and standard.cone.degree:
            self._start_near(best_multiple(problem, reactions))

    def _start(self) -> None:
        """x a multiple of e, more where reactions will be large; ȳ on the central path at x (Kleinert et al. 2014,
        §4.3)."""
        standard = self.standard
        self.x, self.d = np.zeros(standard.row_count), np.zeros(standard.row_count)
        self.tau = self.s = 0.0
        if standard.cone.degree == 0:
            self.y = standard.velocity(self.x)
            return
        if self.settings.first is None:
            self.x, self.y, self.tau = pair_above(standard, self.settings.start)
        else:
            self.x, self.y, self.tau = pair_at(standard, self._equal(self.settings.first))
        self.s = self.tau
        self.d = (self.y - self._velocity(self.x)) / self.s
        self._drop_artificial()

    def _equal(self, impulse: float) -> np.ndarray:
        """x with μ λ_n = impulse [N s] on every contact, and on every limit (Kleinert et al. 2014, §5.1)."""
        standard = self.standard
        normal = np.zeros(standard.row_count)
        normal[standard.free : standard.free + standard.limits] = 1.0
        normal[standard.free + standard.limits :: 3] = 1.0
        # T of `jordan` has 1/μ there
        return impulse * standard.cone.factor * normal / (standard.unit * standard.factor)

    def _velocity(self, x: np.ndarray) -> np.ndarray:
        """D x + q, (m',), with De Saxcé's term under the exact law."""
        return self.scaling.add_sliding(self.standard.velocity(x))

    def _start_near(self, reactions: np.ndarray) -> None:
        """A pair on the central path near a guess (Kleinert et al. 2014, §6), unless that is too far off: one contact
        below its reaction is enough to make the way from there longer than from above."""
        standard, free, limits = self.standard, self.standard.free, self.standard.limits
        x = standard.from_reactions(reactions)
        standard.correct(x)
        mass = 1.0  # that makes impulses of velocities
        if self.settings.scaled:
            error = max(standard.natural_map_at(x, self._velocity(x)))
        else:
            error = max(residuals.measure(standard.problem, reactions))
            mass = len(x) / float(standard.factor**2 @ standard.problem.delassus.diagonal[standard.cone.rows])
        if error > _USEFUL:
            standard.correct(self.x)
            return
        difference = (x - mass * self._velocity(x))[free:]
        self.tau = self.s = max(_LEAST_START, min(1.0, (error / _FAR) ** 2)) * float((difference**2).mean())
        self.x, self.y = x, np.zeros_like(x)
        centred_pair(limits, difference, self.tau, self.x[free:], self.y[free:])
        self.y /= mass
        self.tau = self.s = self.tau / mass
        standard.correct(self.x)
        self.d = (self.y - self._velocity(self.x)) / self.s
        self._drop_artificial()

    def advance(self, count: int) -> None:
        """`count` directions."""
        for _ in range(count):
            if self.finished:
                return
            self._iterate()
            self.reactions[:] = self.standard.reactions(self.x)

    def _iterate(self) -> None:
        standard, free, limits = self.standard, self.standard.free, self.standard.limits
        spread = off_centre(limits, self.x[free:], self.y[free:], self.s)
        beta = self._reduction(spread)
        target = beta * self.tau
        ds = target - self.s if self.s > 0.0 else 0.0
        b = np.zeros(standard.row_count)
        if target > 0.0:
            invert(limits, self.x[free:], b[free:])
        b *= target
        b -= self.y + ds * self.d

        begin = clock()
        self.scaling.form(self.x[free:], self.y[free:], target)
        self.scaling.set_slopes(self.y - self.s * self.d)
        if not self.system.factor(self.scaling):
            self.finished = True
            return
        factored = clock()
        dx = np.zeros(standard.row_count)
        gain = _GAIN if standard.cone.degree else _GAIN_LINEAR
        tol = self.scaling.tolerance(b, self.settings.accuracy, gain)
        krylov, error = self.system.solve(b, dx, tol, self.settings.krylov)
        solved = clock()

        dy = self.scaling.add_slopes(self._image(dx)) + ds * self.d
        step = self._step(dx, dy)
        if not (math.isfinite(step) and np.isfinite(dx).all()):
            self.finished = True
            return
        self._move(step, dx, dy, ds)
        self.shorts = self.shorts + 1 if step < _SHORT else 0
        self.finished = self.shorts >= _SHORTS
        products = krylov * PRODUCTS[self.settings.linear]
        self._record(tau=self.tau, step=step, beta=beta, spread=spread, krylov=krylov, error=error, artificial=self.s)
        self._record(products=products, shift=self.system.shift, factor=factored - begin, solve=solved - factored)

    def _image(self, dx: np.ndarray) -> np.ndarray:
        """D dx with the problem's own D, which need not be symmetric: the matrix of a direction is, y is not to be
        wrong."""
        standard = self.standard
        if standard.is_exact:
            return standard.product(dx)
        v = standard.problem.delassus.product(standard.reactions(dx))
        return standard.factor * v[standard.cone.rows] / standard.unit

    def _reduction(self, spread: float) -> float:
        """β; adaptive: after a long step much is asked for, after a short one little."""
        if self.settings.strategy == "adaptive":
            return min(_MOST, max(_LEAST, 1.0 - self.last_step))
        return reduction(self.settings.strategy, spread)

    def _step(self, dx: np.ndarray, dy: np.ndarray) -> float:
        """θ: a fraction of the way to the boundary (Kleinert et al. 2014, Lemma 2), at most the whole direction."""
        free, limits = self.standard.free, self.standard.limits
        x, y, dx, dy = self.x[free:], self.y[free:], dx[free:], dy[free:]
        step = min(1.0, self.settings.fraction * min(largest_step(limits, x, dx), largest_step(limits, y, dy)))
        if self.settings.strategy == "adaptive":
            for _ in range(30):
                tau, least = centrality(limits, x + step * dx, y + step * dy)
                if least >= _CENTRED * tau:
                    break
                step *= 0.85
        return step

    def _move(self, step: float, dx: np.ndarray, dy: np.ndarray, ds: float) -> None:
        standard, free, limits = self.standard, self.standard.free, self.standard.limits
        self.x = self.x + step * dx
        self.s += step * ds
        standard.correct(self.x)
        y = self._velocity(self.x) + self.s * self.d
        # computed afresh, so that rounding does not add up, unless rounding itself leaves the cone
        self.y = y if smallest_eigenvalue(limits, y[free:]) > 0.0 else self.y + step * dy
        self._drop_artificial()
        self.tau, _ = centrality(limits, self.x[free:], self.y[free:])
        self.last_step = step

    def _drop_artificial(self) -> None:
        """Go on without s where y itself is inside the cone."""
        if self.s == 0.0:
            return
        y = self.y - self.s * self.d
        if smallest_eigenvalue(self.standard.limits, y[self.standard.free :]) > 0.0:
            self.y, self.s = y, 0.0

    def _record(self, **values: float) -> None:
        for name, value in values.items():
            self.details.setdefault(name, []).append(float(value))


def _refuse_symmetric(settings: IpmInexact) -> None:
    """De Saxcé's term makes systems that are not symmetric."""
    if settings.space == "body":
        raise SettingsError("space='body' has no De Saxcé's term: use space='contact', or the ccp law")
    if settings.linear == "cg":
        raise SettingsError("linear='cg' needs symmetric systems, which the ncp law has not: use 'bicgstab' or 'gmres'")


Starter = Callable[[Problem, np.ndarray], Method]


def start_ipm_inexact(
    problem: Problem, settings: Settings, reactions: np.ndarray, pgj: Starter | None = None
) -> IpmInexactMethod:
    """The method.  pgj: starts projected Gauß–Jacobi, which may go first."""
    assert isinstance(settings, IpmInexact)
    if settings.pgj and pgj is not None:
        reactions = _swept(problem, pgj(problem, reactions), settings.pgj)
    return IpmInexactMethod(problem, settings, reactions)


def _swept(problem: Problem, method: Method, most: int) -> np.ndarray:
    """Reactions of a simple method, as long as twice the iterations halve its error (Kleinert et al. 2014, §6: until
    the convergence rate decreases)."""
    done, error = 0, math.inf
    while done < most:
        count = min(max(_FIRST_SWEEPS, done), most - done)
        method.advance(count)
        done, before = done + count, error
        error = residuals.measure(problem, method.reactions).relative
        if error > 0.5 * before:
            break
    return method.reactions
