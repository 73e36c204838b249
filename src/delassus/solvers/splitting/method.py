"""Projective splitting (Tsounis et al. 2025, Alg. 5): Gauß–Seidel over joints, limits and contacts, a local solve each.

Rigid problems are swept in body space: the bodies' velocities u are kept up to date and D is never formed. Everything
else is swept over block rows of D. One compiled call does a whole batch of sweeps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from delassus.law import Law
from delassus.linalg.operators.rigid import add_response
from delassus.problem import Problem
from delassus.solvers.method import Method
from delassus.solvers.parts.block_rows import NO_ROWS, BlockRows, block_rows
from delassus.solvers.parts.colouring import colour_blocks
from delassus.solvers.parts.joint_inverses import joint_inverses
from delassus.solvers.settings import Count, CountOrNone, NotNegative, OneOf, Relaxation, Settings, Share
from delassus.solvers.splitting.accelerated import accelerated_sweeps
from delassus.solvers.splitting.sweeps import LOCAL, NO_BODIES, Blocks, Bodies, sweep_by_colour, sweep_in_order

_NOT_FALLEN = 0.999  # residual over the last one above which it counts as not fallen: it rises, or cycles

_PLAIN_UPDATES = 100  # block updates with omega = 1 at the start: they solve a few contacts, which need no relaxation
_SETTLING_SWEEPS = 10  # before the residual may lower omega: the first sweeps with a new omega raise the residual


Local = Annotated[str, OneOf(*LOCAL)]


@dataclass(frozen=True)
class Splitting(Settings):
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
        self.work = np.empty((settings.threads, 7, max(10, problem.cone.bilateral.max(initial=0))))
        self.objective = np.inf
        self.last_excess = np.inf
        self.total_inertia = _total_inertia(problem) if settings.early_stop else 0.0
        self.bodies, self.rows = _storage(problem)
        matrix_free = self.rows is NO_ROWS
        cone = problem.cone
        sizes = np.diff(cone.block_start)
        self.blocks = Blocks(
            cone.block_start, cone.bilateral.size, cone.unilateral, problem.mu, problem.diagonal_blocks,
            np.cumsum(sizes * sizes) - sizes * sizes, joint_inverses(problem),
            problem.bias if matrix_free else problem.free_velocity, matrix_free,
        )  # fmt: skip
        self.sweep: Callable[..., float] = sweep_by_colour if settings.threads > 1 else sweep_in_order
        self.order: tuple[np.ndarray, ...] = (np.arange(cone.block_count),)
        if settings.threads > 1:
            self.order = colour_blocks(problem, self.rows)
        # plain tuples pass into compiled code some ten times faster than named ones
        self.plain = tuple(self.blocks), tuple(self.rows), tuple(self.bodies)

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

    def _accelerated(self, *acceleration: Any) -> tuple[int, int]:
        """See `accelerated_sweeps`."""
        u_f = self.problem.u_f if self.blocks.matrix_free else self.bodies.u
        done, left = accelerated_sweeps(  # type: ignore[call-arg]
            *acceleration, self.local, self.term, self.omega, *self.plain, u_f, self.reactions, self.slip,
            self.work, *self.order,
        )  # fmt: skip
        self.sweep_count += done
        return done, left

    def repose(self, problem: Problem) -> bool:
        """Go on with a problem that differs in its free velocity only."""
        self.problem = problem
        self.blocks = self.blocks._replace(offset=problem.bias if self.blocks.matrix_free else problem.free_velocity)
        self.plain = tuple(self.blocks), tuple(self.rows), tuple(self.bodies)
        self.objective = self.last_excess = np.inf
        return True

    def _sweep(self, count: int, omega: float, decay: float, omega_min: float) -> float:
        """`count` sweeps in one compiled call; returns the relaxation reached."""
        bodies = self.bodies
        if self.blocks.matrix_free:
            # start each batch from the velocities that belong to λ, so that rounding cannot pile up
            bodies.u[:] = self.problem.u_f
            add_response(bodies.pair, self.blocks.start, bodies.response, self.reactions, bodies.u)
        return self.sweep(
            count, self.local, self.term, omega, decay, omega_min,
            *self.plain, self.reactions, self.slip, self.work, *self.order,
        )  # fmt: skip


def start_splitting(problem: Problem, settings: Settings, reactions: np.ndarray) -> SplittingMethod:
    """A method of this family, at the given starting point."""
    assert isinstance(settings, Splitting)
    return SplittingMethod(problem, settings, reactions)


def _storage(problem: Problem) -> tuple[Bodies, BlockRows]:
    """What the sweeps read of D: bodies for rigid problems, block rows for all others."""
    rigid = problem.delassus.rigid
    if rigid is None:
        return NO_BODIES, block_rows(problem.delassus.matrix(), problem.cone.block_start, problem.cone.contact_start)
    compliance = np.zeros(problem.row_count) if rigid.compliance is None else rigid.compliance
    return Bodies(rigid.bodies, rigid.rows, rigid.response, compliance, np.empty(rigid.velocity_count)), NO_ROWS


def _total_inertia(problem: Problem) -> float:
    """Sum of the diagonal of H (eq. 160); for dual problems, which have none, rows over mean diagonal of D [kg]."""
    trace = problem.delassus.inertia_trace()
    return problem.rho * problem.row_count if trace is None else trace


def swept(problem: Problem, reactions: np.ndarray, count: int) -> np.ndarray:
    """Reactions (m,) after `count` plain sweeps with exact local solves; overwrites the given ones."""
    method = SplittingMethod(problem, Splitting(solver="nbgs"), reactions)
    method.advance(count)
    return method.reactions
