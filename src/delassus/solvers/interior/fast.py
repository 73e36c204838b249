"""The interior-point method at work: presolve, interior iterations, polish.

One iteration of the driver is one factorisation, of either phase.
"""

import math

import numpy as np

from delassus.problem import Problem
from delassus.solvers.interior.certificate import Certificate
from delassus.solvers.interior.interior import Interior
from delassus.solvers.interior.joint_contradiction import is_hopeless, joint_contradiction
from delassus.solvers.interior.natural_map import LARGE, is_suspicious, scaled_residual
from delassus.solvers.interior.own_reactions import pair_above
from delassus.solvers.interior.phase_one import finds_proof
from delassus.solvers.interior.polish import Polish
from delassus.solvers.interior.presolve import Forecast, forecast, violated
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.starting_points import carrying_pair
from delassus.solvers.interior.systems import system_of
from delassus.solvers.method import Method
from delassus.solvers.parts.jordan import centred_pair, form_scaling, smallest_eigenvalue
from delassus.solvers.parts.odd_masses import has_odd_masses
from delassus.status import Status

# τ of the start, over the mean square of reactions and velocities: too large costs an iteration, too small many, since
# points next to the boundary allow short steps only. It falls with the square of what a guess left, below _FAR.
_START, _FAR, _LEAST_START = 10.0, 0.03, 1e-7
_SINGLE = 1e-6  # τ down to which single precision serves
_SWITCH, _SWITCH_VELOCITY = 3e-7, 1e-4  # scaled residuals below which the polish takes over
_FIRST_RHO = 0.01  # first ρ of the polish over 1/η, the root of reaction over velocity
_SHORT, _SHORTS = 0.1, 3  # so many steps in a row shorter than this mean that the interior point has stalled
_LATE, _SHORT_LATE = 1e-9, 0.3  # τ below which, as below _SWITCH, a single step shorter than this means it
_RECHECK = 0.1  # τ below which open contacts are looked at again
_DOUBT = 4  # polish steps without halving it before the interior point goes on from where it was left
_PATIENCE = 20  # polish steps without halving the residual before giving up
_EARLY = 1e-4  # scaled residual above which a stalled interior point starts again instead of being polished …
_FAR_VELOCITY = 1e-2  # … or scaled velocity: at once where masses are far apart, else once the polish has failed too
_RESTARTS = 2  # … so many times, first from above the reactions of all blocks alone, then from further inside
_LEAST_ABOVE = 10.0  # scaled reactions that a start from above begins with at least


class FastIpm(Method):
    """See the module."""

    def __init__(self, problem: Problem, settings: Ipm, reactions: np.ndarray):
        self.problem, self.settings = problem, settings
        self.reactions = reactions
        self.finished, self.is_costly = False, True
        self.details: dict[str, list[float]] = {}
        self.certificate = Certificate(problem)
        self.contradiction = joint_contradiction(problem, settings, self.certificate)
        if is_hopeless(self.contradiction, self.certificate):
            self.finished = True
            return
        self.forecast: Forecast = forecast(problem, reactions, settings.presolve)
        self.polish: Polish | None = None
        self.shorts = self.restarts = 0
        self.switch, self.may_return = 1.0, False
        self.may_carry = has_odd_masses(problem)
        self.milestone, self.since = math.inf, 0
        self._build(self.forecast.kept)
        x = self._nearer(reactions, self.forecast.reactions)
        self.interior = self._enter(x, self._generous(x))
        if self.standard.cone.degree == 0:
            self._begin_polish()

    def _build(self, kept: np.ndarray | None) -> None:
        self.kept = kept
        self.standard = Standard(self.problem, kept, contradiction=self.contradiction and self.contradiction.velocity)
        self.system = system_of(self.standard, self.settings)

    def _nearer(self, guess: np.ndarray, swept: np.ndarray) -> np.ndarray:
        """Where to start: at the swept reactions, unless sweeps left a good guess behind, in norm and velocity."""
        standard, x = self.standard, self.standard.from_reactions(swept)
        if not guess.any():
            return x
        own = standard.from_reactions(guess)
        standard.correct(x)
        error, worst = scaled_residual(standard, x)
        standard.correct(own)
        own_error, own_worst = scaled_residual(standard, own)
        return own if own_error < error and own_worst < worst else x

    def _generous(self, x: np.ndarray, far: float = 0.0) -> float:
        """τ to start from, near x and its velocities.  far: at least this much of the usual one, or zero."""
        standard, free = self.standard, self.standard.free
        standard.correct(x)
        square = (x[free:] - standard.velocity(x)[free:]) ** 2
        if not square.any():
            return 1.0
        near = (scaled_residual(standard, x)[0] / _FAR) ** 2
        return max(_LEAST_START, _START * max(far, min(1.0, near))) * float(square.mean())

    def _enter(self, x: np.ndarray, tau: float) -> Interior:
        """An exactly centred pair near (x, D x + q)."""
        standard, free = self.standard, self.standard.free
        standard.correct(x)
        v = standard.velocity(x)
        y = np.empty(standard.row_count - free)
        start = x.copy()
        centred_pair(standard.limits, x[free:] - v[free:], tau, start[free:], y)
        return self._interior(start, y)

    def _interior(self, x: np.ndarray, y: np.ndarray) -> Interior:
        return Interior(
            self.standard, self.system, x, y, correctors=self.settings.correctors, joint=self.settings.joint,
            single_above=_SINGLE if self.settings.mixed else math.inf,
        )  # fmt: skip

    # -- the driver's side -------------------------------------------------------------------------------------------

    def advance(self, count: int) -> None:
        """`count` factorisations."""
        for _ in range(count):
            if self.finished:
                return
            if self.polish is None:
                self._interior_step()
            else:
                self._polish_step()

    @property
    def verdict(self) -> Status | None:
        """What to call the run if it ends here, unless the judge is content."""
        certificate = self.certificate
        if certificate.is_proven or self._hopeless(purify=True) or finds_proof(certificate, self.settings):
            return Status.INFEASIBLE
        return None

    # -- phases ------------------------------------------------------------------------------------------------------

    def _interior_step(self) -> None:
        interior = self.interior
        works = interior.step()
        self._record(interior.details)
        x = interior.x
        is_large = bool(np.abs(x).max(initial=0.0) >= LARGE)
        if is_large and self._hopeless():
            return  # not written: against reactions without bound any residual is small
        if not is_suspicious(self.standard, x):
            self.reactions[:] = self.standard.reactions(x)
        if interior.tau < _RECHECK and self._readmit():
            return
        self.shorts = self.shorts + 1 if interior.details.get("step", 0.0) < _SHORT else 0
        norm, worst = scaled_residual(self.standard, x)
        late = interior.tau < _LATE or norm <= self.switch * _SWITCH
        stalled = not works or self.shorts >= _SHORTS or (late and interior.details.get("step", 0.0) < _SHORT_LATE)
        is_doubtful = is_large or norm > _EARLY or worst > _FAR_VELOCITY
        if stalled and is_doubtful and self._hopeless(purify=True):
            return
        far = norm > _EARLY or (self.may_carry and worst > _FAR_VELOCITY)
        if stalled and far and self._restart(x):
            return
        if stalled or (norm <= self.switch * _SWITCH and worst <= self.switch * _SWITCH_VELOCITY):
            if not self.settings.polish:
                self.finished = stalled
            else:
                self.may_return = not stalled
                self._begin_polish()

    def _hopeless(self, purify: bool = False) -> bool:
        """Do the present reactions, or their last change, prove that nothing can satisfy the constraints?"""
        x, dx = (self.interior.x, self.interior.dx) if self.polish is None else (self.polish.best, self.polish.dx)
        proven = self.certificate.proves(self.standard.reactions(x), self.standard.reactions(dx), purify=purify)
        self.finished = self.finished or proven
        return proven

    def _begin_polish(self) -> None:
        interior, standard, free = self.interior, self.standard, self.standard.free
        rho = np.full(standard.row_count, interior.joint)
        if standard.cone.degree:
            form_scaling(standard.limits, interior.x[free:], interior.y, interior.eta, interior.w, interior.z)
            weight = _FIRST_RHO / interior.eta
            rho[free : free + standard.limits] = weight[: standard.limits]
            rho[free + standard.limits :] = np.repeat(weight[standard.limits :], 3)
        self.polish = Polish(standard, self.system, interior.x.copy(), rho)
        self.milestone, self.since = math.inf, 0

    def _polish_step(self) -> None:
        polish = self.polish
        assert polish is not None
        works = polish.step()
        self._record(polish.details)
        if np.abs(polish.best).max(initial=0.0) >= LARGE and self._hopeless():
            return
        if not is_suspicious(self.standard, polish.best):
            self.reactions[:] = self.standard.reactions(polish.best)
        if self._readmit():
            return
        residual = max(scaled_residual(self.standard, polish.best))
        if residual <= 0.5 * self.milestone:
            self.milestone, self.since = residual, 0
        else:
            self.since += 1
        if self.may_return and (not works or self.since >= _DOUBT):
            # reactions far away along a flat direction: the interior point gets there faster
            self.polish, self.switch = None, 0.01 * self.switch
        elif not works or self.since >= _PATIENCE:
            norm, worst = scaled_residual(self.standard, polish.best)
            again = norm > _EARLY or worst > _FAR_VELOCITY
            self.finished = not (again and self._restart(polish.best))

    def _restart(self, x: np.ndarray) -> bool:
        """The interior phase again, near x but from far inside; False after too many times."""
        if self.restarts >= _RESTARTS or not self.standard.cone.degree:
            return False
        self.shorts, self.polish = 0, None
        if self.may_carry:
            self.may_carry = False
            self.interior = self._carrying()
            return True
        self.restarts += 1
        if self.restarts == 1:
            x, y, _ = pair_above(self.standard, _LEAST_ABOVE)
            self.interior = self._interior(x, y[self.standard.free :])
            return True
        self.interior = self._enter(x.copy(), self._generous(x, far=100.0**self.restarts))
        return True

    def _carrying(self) -> Interior:
        """From reactions that carry everything: see `SmallIpm._carry`."""
        standard, free = self.standard, self.standard.free
        reactions, speeds = carrying_pair(self.problem)
        x = standard.from_reactions(reactions)
        y = (standard.from_reactions(speeds) * standard.factor**2)[free:]
        return self._interior(x, y)

    def _readmit(self) -> bool:
        """Take back contacts that were left out and are not open after all; True if there were any."""
        if self.kept is None:
            return False
        x = self.interior.x if self.polish is None else self.polish.best
        reactions = self.standard.reactions(x)
        bad = violated(self.problem, self.kept, reactions)
        if not bad.any():
            return False
        before = self.standard
        self._build(self.kept | bad)
        if self.polish is None:
            self.interior = self._enlarged(before, self.interior, reactions)
        else:
            x = self.standard.from_reactions(reactions)
            self.polish = Polish(self.standard, self.system, x, np.full(self.standard.row_count, 1e2))
            self.may_return = False
        return True

    def _enlarged(self, before: Standard, interior: Interior, reactions: np.ndarray) -> Interior:
        """The interior point with pairs for the contacts that came back: centred where their violation is no more than
        the products allow. The others stay: raising them all to that τ would cost the iterations done so far."""
        standard, free, limits = self.standard, self.standard.free, self.standard.limits
        rows = standard.cone.rows[free:]
        x = standard.from_reactions(reactions)
        velocity = np.full(self.problem.row_count, math.nan)
        velocity[before.cone.rows[free:]] = before.unit / before.factor[free:] * interior.y
        y = standard.factor[free:] / standard.unit * velocity[rows]
        new = np.isnan(y)
        standard.correct(x)
        v = standard.velocity(x)[free:]
        worst = smallest_eigenvalue(limits, v)
        new_x, new_y = np.empty_like(y), np.empty_like(y)
        centred_pair(limits, x[free:] - v, max(interior.tau, worst * worst if worst < 0.0 else 0.0), new_x, new_y)
        x[free:][new], y[new] = new_x[new], new_y[new]
        return self._interior(x, y)

    def _record(self, values: dict[str, float]) -> None:
        """One entry per iteration in every list; NaN where a phase has none."""
        length = max((len(series) for series in self.details.values()), default=0)
        for name in values:
            self.details.setdefault(name, [math.nan] * length)
        for name, series in self.details.items():
            series.append(values.get(name, math.nan))
