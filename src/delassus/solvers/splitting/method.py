"""Projective splitting (Tsounis et al. 2025, Alg. 5): Gauß–Seidel over joints, limits and contacts, a local solve each.

D is swept over in 3×3 blocks; rigid problems whose D would be much larger than J are swept in body space: the bodies'
velocities u are kept up to date and D is never formed. One compiled call does a whole batch of sweeps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.method import Method
from delassus.solvers.parts.colouring import colour_blocks
from delassus.solvers.settings import Count, CountOrNone, NotNegative, OneOf, PublishedStop, Relaxation, Settings, Share
from delassus.solvers.splitting.accelerated import accelerated_sweeps
from delassus.solvers.splitting.storage import reposed, storage
from delassus.solvers.splitting.sweeps import LOCAL, sweep_by_colour, sweep_in_order

_NOT_FALLEN = 0.999  # residual over the last one above which it counts as not fallen: it rises, or cycles

_PLAIN_UPDATES = 100  # block updates with omega = 1 at the start: they solve a few contacts, which need no relaxation
_SETTLING_SWEEPS = 10  # before the residual may lower omega: the first sweeps with a new omega raise the residual


Local = Annotated[str, OneOf(*LOCAL)]


@dataclass(frozen=True)
class Splitting(PublishedStop):
    """Settings of the projective splitting family."""

    local: Local = "slip"  # one-contact solver, a name of LOCAL; slip and quartic become convex under the ccp law
    desaxce: bool = False  # give the local solver De Saxcé's term of the last iterate (Alg. 5, line 16)
    omega: Relaxation = 1.0  # relaxation of every block update, 0 < omega < 2
    omega_after: CountOrNone = 0  # sweeps with omega = 1 before that, more on small problems: they are done by then
    omega_decay: Share = 1.0  # omega is multiplied by this after each sweep …
    omega_min: Relaxation = 1.0  # … until it reaches this
    omega_backoff: Share = 1.0  # factor on omega − omega_min whenever the judged residual did not fall; 1: never
    threads: Count = 1  # more than one: sweep colour by colour, the blocks of a colour in parallel
    early_stop: NotNegative = 0.0  # stop when |Δ objective| / total inertia falls below this [J/kg] (eq. 160); 0: never

    def for_acceleration(self) -> "Splitting":
        """Without over-relaxation: with it, a sweep has complex eigenvalues, which a short window cannot follow."""
        if self.omega <= 1.0:
            return self
        return self.changed(omega=1.0, omega_after=0, omega_min=1.0, omega_backoff=1.0)


class SplittingMethod(Method):
    """Projective splitting at work on one problem."""

    def __init__(self, problem: Problem, settings: Splitting, reactions: np.ndarray):
        self.problem = problem
        self.settings = settings
        self.reactions = reactions
        exact = settings.local in ("slip", "quartic")
        self.local = LOCAL["convex" if exact and problem.law is Law.CCP else settings.local]
        self.term = settings.desaxce or (settings.local in ("ccp", "convex") and problem.law is Law.NCP)
        self.omega = settings.omega
        self.sweep_count = 0
        self.plain_sweeps = settings.omega_after * max(1, _PLAIN_UPDATES // max(1, problem.cone.block_count))
        self.slip = np.zeros(problem.contact_count)
        self.work = np.empty((settings.threads, 7, max(10, 2 + problem.cone.bilateral.max(initial=0))))
        self.objective = np.inf
        self.last_excess = np.inf
        self.total_inertia = _total_inertia(problem) if settings.early_stop else 0.0
        self.parts = storage(problem, self.local == LOCAL["slip"])
        self.sweep: Callable[..., float] = sweep_by_colour if settings.threads > 1 else sweep_in_order
        self.order: tuple[np.ndarray, ...] = (np.arange(problem.cone.block_count),)
        if settings.threads > 1:
            self.order = colour_blocks(problem)
        # plain tuples pass into compiled code some ten times faster than named ones
        self.plain = tuple(tuple(part) for part in self.parts)

    def advance(self, count: int) -> None:
        """`count` sweeps; with early stopping, fewer once the objective no longer falls."""
        first = min(count, max(0, self.plain_sweeps - self.sweep_count))
        self.sweep_count += count
        if first:
            count -= first
            self._sweep(first, 1.0, 1.0, 1.0)
        settings = self.settings
        if count and not settings.early_stop:
            self.omega = self._sweep(count, self.omega, settings.omega_decay, settings.omega_min)
            return
        for _ in range(count):
            self.omega = self._sweep(1, self.omega, settings.omega_decay, settings.omega_min)
            v = self.problem.constraint_velocity(self.reactions)
            objective = 0.5 * float(self.reactions @ (v + self.problem.free_velocity))
            if abs(objective - self.objective) < settings.early_stop * self.total_inertia:
                self.finished = True
                return
            self.objective = objective

    def judged(self, excess: float) -> None:
        """Relax less when the residual did not fall: a large omega makes Gauß–Seidel fast, and makes it cycle."""
        settled = self.sweep_count >= _SETTLING_SWEEPS + self.plain_sweeps
        if settled and excess > _NOT_FALLEN * self.last_excess:
            low = self.settings.omega_min
            self.omega = low + self.settings.omega_backoff * (self.omega - low)
        self.last_excess = excess

    @property
    def map_key(self) -> float:
        """The relaxation: what a sweep depends on besides the reactions."""
        return 1.0 if self.sweep_count < self.plain_sweeps else self.omega

    @property
    def accelerated(self) -> Callable[..., tuple[int, int]] | None:
        """Where sweeps in order, with one relaxation per batch, are all there is to an iteration."""
        settings = self.settings
        one_omega = settings.omega_decay == 1.0 and (settings.omega == 1.0 or not self.plain_sweeps)
        return self._accelerated if one_omega and settings.threads == 1 and not settings.early_stop else None

    def _accelerated(self, count: int, left: int, stride: int, *acceleration: Any) -> tuple[int, int]:
        """See `accelerated_sweeps`."""
        sweeping = (self.reactions, self.slip, self.work), self.order[0]
        solver = self.local, self.term
        done, left = accelerated_sweeps(count, left, stride, acceleration, solver, self.omega, self.plain, sweeping)
        self.sweep_count += done
        return done, left

    def repose(self, problem: Problem) -> bool:
        """Go on with a problem that differs in its free velocity only."""
        self.problem = problem
        self.parts = reposed(problem, self.parts)
        self.plain = tuple(tuple(part) for part in self.parts)
        self.objective = self.last_excess = np.inf
        return True

    def _sweep(self, count: int, omega: float, decay: float, omega_min: float) -> float:
        """`count` sweeps in one compiled call; returns the relaxation reached."""
        iterate = self.reactions, self.slip, self.work
        return self.sweep(count, (self.local, self.term), (omega, decay, omega_min), self.plain, iterate, *self.order)


def start_splitting(problem: Problem, settings: Settings, reactions: np.ndarray) -> SplittingMethod:
    """A method of this family, at the given starting point."""
    assert isinstance(settings, Splitting)
    return SplittingMethod(problem, settings, reactions)


def _total_inertia(problem: Problem) -> float:
    """Sum of the diagonal of H (eq. 160); for dual problems, which have none, rows over mean diagonal of D [kg]."""
    trace = problem.delassus.inertia_trace()
    return problem.rho * problem.row_count if trace is None else trace
