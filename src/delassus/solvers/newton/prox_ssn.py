"""Proximal semismooth Newton for exact Coulomb friction: dense for mechanisms, sparse for heaps.

Outer loop, a proximal point iteration: r_{k+1} solves the law for (D + α I, v_f − α r_k), which is well-posed however
hyperstatic D is, with α falling as long as the inner loop is quick. Inner loop: Newton on Alart and Curnier's function
with Armijo's rule on ‖F‖. In units where the mean diagonal of D and the rms of v_f are one, ρ = 100 is decisive: a ρ of
one costs several times more factorisations, a thousand breaks sphere piles. Where mobilities are uneven, and in small
problems, every block is scaled by its own first, so that mass ratios do not matter to the proximal term. Where Newton's
method makes no progress far from the solution of a large problem, it goes on from an interior point (`interior_start`).

Which of many reactions. A wall, a table or a box in a gripper has more reactions than equations, and with friction even
the motion depends on which ones are taken: let the normal forces of a gripper gather in one corner, as sweeps do, and
the box turns about it. A proximal iteration keeps what it started with. It is therefore preceded by a path: the law for
(D + α I, v_f), around zero instead of the last iterate, α falling from 1e-2 to 1e-8. As if every contact gave way a
little, reactions share their load, symmetric problems get symmetric ones whatever the order of the contacts and the
guess, and in the limit they are the least, Σ_k d_k‖λ_k‖², of their kind (d_k: mean diagonal of the block of D that the
joints leave). It costs no more than the proximal iterations it saves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from delassus.linalg.factor.dense_elimination import Elimination
from delassus.problem import Problem, normalise
from delassus.problem.scaling import Scaling, scale_dense
from delassus.solvers.method import Method
from delassus.solvers.newton.body import BodyNewton, Sweep
from delassus.solvers.newton.full import FullNewton
from delassus.solvers.newton.newton import Newton
from delassus.solvers.newton.small import SmallNewton
from delassus.solvers.newton.sparse import SparseNewton
from delassus.solvers.settings import Count, CountOrNone, Positive, Settings, require

_GUESS_RESIDUAL_MAX = 0.1  # relative residual above which a guess is dropped
_STEPS_BEFORE_RESTART = 8  # outer iterations without halving the residual before a restart
_MOST_RESTARTS = 6
_NO_RESTART_BELOW = 1e-3  # relative residual: later restarts lose more than they gain (RockPile: four times slower)
_MOBILITY_RATIO_MAX = 1e3  # largest over smallest diagonal of D above which every block gets a unit of its own
_COMPILED_ROWS = 300  # rows up to which the compiled loop beats LAPACK, whose threads disturb each other there
_DENSE_ROWS = 300  # rows up to which dense linear algebra costs less than sparse
_DENSE_ROWS_CROWDED = 200  # the same with more rows than degrees of freedom and without joints
_DENSE_ROWS_FULL, _FULL_SHARE = 3000, 0.25  # the same where more than this share of D is stored
_SWEEPS_BEFORE_SECOND_TRY = 50  # on the regularised problem, after a Newton iteration that failed
_STEPS_BEFORE_INTERIOR_START = 9  # Newton steps on one proximal problem before an interior point gives another start
_NO_INTERIOR_START_BELOW = 1e-4  # relative residual: near the solution it would cost more than it saves
_ALPHA_AFTER_INTERIOR_START = 1e-3  # proximal weight in scaled units: the new start is near the solution
_ROUNDING = 1e-15  # residual in scaled units below which nothing is left to gain

# The path to the least reactions: the law for D + α I with falling weight α, in scaled units.
_PATH_ROWS = 1000  # rows up to which it is followed; RockPile, with 1389, stalls after it
_PATH_FACTOR = 1e-3  # between two weights
_PATH_END = 1e-8  # last weight: reactions that balance each other keep eight digits there
_PATH_RESIDUAL = 1e-6  # to solve each point for, in units of its weight: sets the accuracy of such reactions
_PATH_ENTRY = 10.0  # weight at which a guess enters, in units of its residual: with less, its errors look like slip
_CORRECTED_BELOW = 1e-3  # weight from which a proximal step with the next weight follows each point, to make it exact
_ALPHA_AFTER_PATH = 100.0  # factor on a weight that was too small for the path: there the proximal iteration begins


@dataclass(frozen=True)
class ProxSsn(Settings):
    """Settings of the proximal semismooth Newton method."""

    rho: Positive = 100.0  # step of the Alart–Curnier function, in scaled units
    alpha: Positive = 1e-2  # first proximal weight, in scaled units
    alpha_min: Positive = 1e-10  # and the least
    newton_steps: Count = 12  # at most, per outer iteration
    warm_up: CountOrNone = 30  # Gauß–Seidel sweeps before the first outer iteration, unless a guess is given
    least: bool = True  # of many reactions that solve a problem of up to 1000 rows, look for the least

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.alpha_min <= self.alpha, f"alpha is {self.alpha}: give at least alpha_min, {self.alpha_min}")


class Borrowed(NamedTuple):
    """What other families lend: the table of solvers hands it in, since families do not import each other."""

    sweep: Sweep
    interior_start: Callable[[Problem, np.ndarray], np.ndarray]
    """(problem, reactions) → reactions (m,) [N s] near those of exact friction, from an interior point."""


class ProxSsnMethod(Method):
    """One iteration is one outer (proximal) iteration; where D is dense, joints are eliminated first."""

    def __init__(self, problem: Problem, settings: ProxSsn, reactions: np.ndarray, borrowed: Borrowed):
        self.settings, self.borrowed = settings, borrowed
        self.reactions = reactions
        self.is_costly = True
        self.problem = problem
        self.alpha, self.failed_alpha = settings.alpha, 0.0
        self.restarts = 0
        self.has_jumped = False  # to an interior start
        self.since = 0  # outer iterations since the residual last halved
        self.follows = False  # the path to the least reactions
        self.eliminated: Elimination | None = None
        self.scaling: Scaling | None = None
        self.inner: SmallNewton | Newton
        self.first = 0  # row of the first reaction the iteration is about
        if not _is_dense(problem):
            scaled, self.scaling = normalise(problem, per_block=_is_uneven(problem))
            if _is_crowded(problem):
                self.inner = BodyNewton(scaled, settings.rho, borrowed.sweep)
            else:
                self.inner = SparseNewton(scaled, settings.rho)
        else:
            self.eliminated = Elimination(problem.delassus.dense(), problem.free_velocity, problem.cone.bilateral_rows)
            self.first = self.eliminated.count
            if len(self.eliminated.v):
                limits = problem.cone.unilateral
                D, v, self.scaling = scale_dense(self.eliminated.D, self.eliminated.v, limits)
                kind = SmallNewton if len(v) <= _COMPILED_ROWS else FullNewton
                self.inner = kind(D, v, limits, problem.mu, settings.rho)
        if self.scaling is not None:
            self.r = self.scaling.scaled_reactions(reactions[self.first :])
            self.residual = self.milestone = self.inner.error(self.r)
            self.follows = settings.least and problem.row_count <= _PATH_ROWS
            if self.residual > _GUESS_RESIDUAL_MAX:
                self._restart()
            elif self.follows:
                self.alpha = min(max(_PATH_ENTRY * self.residual, _PATH_END), settings.alpha)
                # one sweep tells what sticks from what slides: both are on the rim of a cone in a guess without slip
                self.r = self.inner.sweep(self.alpha, np.zeros(len(self.r)), self.r, 1)

    def advance(self, count: int) -> None:
        """`count` outer iterations, then the joints that go with the contacts."""
        if self.scaling is not None:
            for _ in range(count):
                if self.residual <= _ROUNDING:
                    break
                if self.follows:
                    self._follow()
                else:
                    self._outer()
                self._look_back()
            self.reactions[self.first :] = self.scaling.reactions(self.r)
        if self.eliminated is not None:
            self.eliminated.write_leading(self.reactions)

    def _look_back(self) -> None:
        """Restart where the residual no longer falls: in hyperstatic problems a restart may find another active set."""
        self.since += 1
        if self.residual <= 0.5 * self.milestone:
            self.milestone, self.since = self.residual, 0
        elif (
            self.since >= _STEPS_BEFORE_RESTART and self.restarts < _MOST_RESTARTS and self.residual > _NO_RESTART_BELOW
        ):
            self.restarts += 1
            self._restart()

    def _restart(self) -> None:
        """From zero, through some sweeps: after an impact the last step's reactions are worse than none."""
        zero = np.zeros(len(self.r))
        alpha = self.settings.alpha if self.follows else 0.0
        self.r = self.inner.sweep(alpha, zero, zero, self.settings.warm_up * (1 + 2 * self.restarts))
        self.residual = self.milestone = self.inner.error(self.r)
        self.alpha, self.failed_alpha, self.since = self.settings.alpha, 0.0, 0

    def _follow(self) -> None:
        """One point of the path to the least reactions; where Newton's method fails, the proximal iteration goes on."""
        alpha, zero = self.alpha, np.zeros(len(self.r))
        target = max(_PATH_RESIDUAL * alpha, _ROUNDING)
        solution, _, solved = self.inner.solve(alpha, zero, self.r, target, self.settings.newton_steps)
        if not solved:
            self.follows, self.alpha = False, min(_ALPHA_AFTER_PATH * alpha, self.settings.alpha)
            return
        self.r, self.residual = solution, self.inner.error(solution)
        weight = max(_PATH_FACTOR * alpha, _PATH_END)
        if alpha <= _CORRECTED_BELOW:
            self._accept(self.inner.solve(weight, solution, solution, 0.01 * self.residual, 2)[0])
        self.follows, self.alpha = alpha > _PATH_END, weight

    def _outer(self) -> None:
        """One proximal step, with a second try after Gauß–Seidel sweeps on the *same* regularised problem."""
        alpha, most = self.alpha, self.settings.newton_steps
        target = 0.5 * self.residual
        first_try = _STEPS_BEFORE_INTERIOR_START if self._may_jump() else most
        solution, steps, solved = self.inner.solve(alpha, self.r, self.r, target, min(first_try, most))
        if not solved:
            if self._may_jump() and self._jump():
                return
            start = self.inner.sweep(alpha, self.r, solution, _SWEEPS_BEFORE_SECOND_TRY)
            solution, steps, solved = self.inner.solve(alpha, self.r, start, target, most)
        if not solved:
            self.failed_alpha, self.alpha = alpha, min(4.0 * alpha, 1.0)
            self._accept(solution)
            return
        # extrapolating pays while the proximal weight is felt
        step = 1.3 if alpha > 1e-5 else 1.0
        rose = not self._accept(self.r + step * (solution - self.r)) and not self._accept(solution)
        if not rose:
            factor = 0.1 if steps <= 3 else 0.3 if steps <= 6 else 0.7 if steps <= 10 else 1.0
            wanted = alpha * factor
            if wanted <= self.failed_alpha:
                wanted = max(wanted, 0.7 * alpha)  # approach a weight that failed before slowly
            self.alpha = max(wanted, self.settings.alpha_min)
        else:
            self.r, self.residual = solution, self.inner.error(solution)

    def _may_jump(self) -> bool:
        """Is an interior start worth trying? Once, and from far away: it costs as much as easy problems take in all."""
        return self.eliminated is None and not self.has_jumped and self.residual > _NO_INTERIOR_START_BELOW

    def _jump(self) -> bool:
        """Go on from an interior point if its residual is small enough; was it?"""
        assert self.scaling is not None
        self.has_jumped = True
        start = self.borrowed.interior_start(self.problem, self.scaling.reactions(self.r))
        r = self.scaling.scaled_reactions(start)
        error = self.inner.error(r)
        if not error <= _GUESS_RESIDUAL_MAX:
            return False
        self.r, self.residual, self.milestone, self.since = r, error, error, 0
        self.alpha, self.failed_alpha = (
            max(min(self.settings.alpha, _ALPHA_AFTER_INTERIOR_START), self.settings.alpha_min),
            0.0,
        )
        return True

    def _accept(self, r: np.ndarray) -> bool:
        """Take r if its unregularised residual is below the present one."""
        error = self.inner.error(r)
        if not error < self.residual:
            return False
        self.r, self.residual = r, error
        return True


def _is_dense(problem: Problem) -> bool:
    """Is dense linear algebra the cheaper one?"""
    rows = problem.row_count
    if rows > _DENSE_ROWS_CROWDED and not problem.cone.bilateral_rows and _is_crowded(problem):
        return False
    if rows <= _DENSE_ROWS or rows > _DENSE_ROWS_FULL:
        return rows <= _DENSE_ROWS
    return problem.delassus.stored_entries > _FULL_SHARE * rows * rows


def _is_crowded(problem: Problem) -> bool:
    """Rigid bodies with more rows than degrees of freedom: systems in body space are the smaller ones."""
    rigid = problem.delassus.rigid
    return rigid is not None and rigid.velocity_count <= problem.row_count


def _is_uneven(problem: Problem) -> bool:
    """Do mobilities differ so much that one unit for all would hide the light bodies?"""
    diagonal = problem.delassus.diagonal
    positive = diagonal[diagonal > 0.0]
    return bool(len(positive)) and float(positive.max()) > _MOBILITY_RATIO_MAX * float(positive.min())


def start_prox_ssn(problem: Problem, settings: Settings, reactions: np.ndarray, borrowed: Borrowed) -> ProxSsnMethod:
    """The method at the given starting point."""
    assert isinstance(settings, ProxSsn)
    return ProxSsnMethod(problem, settings, reactions, borrowed)
