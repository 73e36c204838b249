"""Proximal semismooth Newton after accelerated sweeps: exact Coulomb friction, or the convex law, to any accuracy.

*Sweeps first.* Gauß–Seidel with Anderson acceleration for as long as it is cheaper than factorising
(`parts/anderson/sweeps`). Easy problems end there; on others it finds which contacts are closed.

*Outer loop*, a proximal point iteration: r_{k+1} solves the law for (D + α I, v_f − α r_k), which is well-posed however
hyperstatic D is, with α falling as long as the inner loop is quick. Inner loop: Newton on Alart and Curnier's function
with Armijo's rule on ‖F‖. In units where the mean diagonal of D and the rms of v_f are one, ρ = 100 is decisive: a ρ of
one costs several times more factorisations, a thousand breaks sphere piles. Where mobilities are uneven every block is
scaled by its own first, so that mass ratios do not matter to the proximal term. After many systems without success far
from the solution it goes on from an interior point (`interior_start`).

*Linear systems*: blocks of three eliminated in compiled code; a sparse direct solver where factors are large, in body
space where bodies are fewer than contacts. Joints are rows of the system: the graph of a mechanism is nearly a tree,
and its factors cost less than eliminating the joints from a full matrix would.

*Which of many reactions.* A wall, a table or a box in a gripper has more reactions than equations, and with friction
even the motion depends on which ones are taken: let the normal forces of a gripper gather in one corner, as sweeps do,
and the box turns about it. Where the least reactions are asked for, a path takes the place of the sweeps: the law for
(D + α I, v_f), around zero instead of the last iterate, α falling from 1e-3 to 1e-8. As if every contact gave way a
little, reactions share their load, symmetric problems get symmetric ones whatever the order of the contacts and the
guess, and in the limit they are the least, Σ_k d_k‖λ_k‖², of their kind (d_k: mean diagonal of the block of D that the
joints leave). It costs no more than the proximal iterations it saves.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from delassus.law import Law
from delassus.linalg.factor.dense_inverse import DenseInverse
from delassus.problem import Problem
from delassus.residuals import measure
from delassus.solvers.method import Method
from delassus.solvers.newton import iteration
from delassus.solvers.newton.body import BodySystem
from delassus.solvers.newton.iteration import proximal_phase
from delassus.solvers.newton.small import PATH_BEGIN, is_small, small_at_once, small_batch
from delassus.solvers.newton.sparse import SparseSystem
from delassus.solvers.newton.swept import RECORDED
from delassus.solvers.parts.anderson import sweeps
from delassus.solvers.parts.anderson.sweeps import accelerated_phase
from delassus.solvers.parts.batch import Batch, Kernel
from delassus.solvers.parts.block_sweeps import sweep_constants
from delassus.solvers.parts.threes import cut_matrix, cut_rigid, place_rows, pose, triples_of, unpose
from delassus.solvers.settings import Count, CountOrNone, Positive, Settings, require

_DENSE_ROWS = 3000  # rows of joints alone up to which a full matrix is formed
_MOST_JOINT_SYSTEMS = 8  # of joints alone, before it is: they are solved by three, or not at all
_CLEARLY = 0.5  # of what a pseudo-inverse leaves: where joints contradict each other, others leave as much and are huge
_REFINEMENTS = 6  # of joints alone by a pseudo-inverse, at most: what the next one gains is rounding
_PATH_ROWS = 1000  # rows up to which the path to the least reactions is followed
_PATH_SWEEPS = 40  # on the regularised problem, before the path, at most
_FEW_CONTACTS, _FEW_SWEEPS, _FEW_MEMORY, _MEMORY = 20, 8, 3, 8  # small problems are solved or lost within few sweeps
_BATCH_WORK = 5e7  # nanoseconds by the prices of `sweeps`: after about so much work the driver may look at its limits
_LARGE_FACTOR = 2e7  # nanoseconds of a factorisation from which on a sparse direct solver is the faster one
_ALPHA_AFTER_INTERIOR_START = 1e-3  # proximal weight in scaled units: the new start is near the solution
_NO_INTERIOR_START_BELOW = 1e-4  # relative residual: near the solution it would throw away more than it gives
_SYSTEMS_NEAR = 4  # times as many systems there, and after it: nothing else would do better
_CONVEX_SYSTEMS, _INTERIOR_START = 12, 8e6  # systems, and nanoseconds before the first iteration of an interior point


@dataclass(frozen=True)
class ProxSsn(Settings):
    """Settings of the proximal semismooth Newton method."""

    rho: Positive = 100.0  # step of the Alart–Curnier function, in scaled units
    alpha: Positive = 1e-4  # first proximal weight after sweeps, in scaled units
    alpha_min: Positive = 1e-10  # and the least
    newton_steps: Count = 12  # at most, per outer iteration
    warm_up: CountOrNone = 16  # accelerated sweeps at least, and more while they are cheaper than factors; 0: none
    systems: Count = 1000  # solved in all before it goes on from an interior point, once, or under a convex law ends
    yields: bool = False  # under a convex law, early, to an interior point that comes after it, as in `auto`
    least: bool = True  # of many reactions that solve a problem of up to 1000 rows, look for the least

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.alpha_min <= self.alpha, f"alpha is {self.alpha}: give at least alpha_min, {self.alpha_min}")

    @cached_property
    def plain(self) -> tuple[float, ...]:
        """Fields of `Rule`, for compiled code."""
        return (
            float(self.rho),
            float(self.alpha),
            float(self.alpha_min),
            float(self.newton_steps),
            float(_PATH_SWEEPS),
            float(min(self.warm_up, _FEW_SWEEPS)),
            float(_FEW_MEMORY),
            1.0 if self.least else 0.0,
        )


InteriorStart = Callable[[Problem, np.ndarray], np.ndarray]
"""(problem, reactions) → reactions (m,) [N s] near those of exact friction, from an interior point. The table of
solvers hands it in, since families do not import each other."""


class ProxSsnMethod(Method):
    """One iteration is one sweep or one system; a call to `advance` does a batch of them."""

    is_compiled = True
    batch_min = 10**9  # it knows itself when to be judged

    def __init__(self, problem: Problem, settings: ProxSsn, reactions: np.ndarray, interior_start: InteriorStart):
        super().__init__(problem, settings, reactions)
        self.interior_start = interior_start
        self.has_jumped = False  # to an interior start
        self.done = self.swept = 0  # iterations, and how many of them were sweeps
        self.convex = 0.0 if problem.law is Law.NCP else 1.0
        self._cut()
        n, rows = len(self.mu), len(self.v)
        self.judgements, self.best = np.zeros((4, RECORDED)), np.zeros(rows)
        self.outside: SparseSystem | BodySystem | None = None
        self.sweeping = settings.warm_up > 0 and not self._follows
        if self.sweeping:
            memory = _FEW_MEMORY if n < _FEW_CONTACTS else _MEMORY
            self.state = sweeps.first_state(
                min(settings.warm_up, _FEW_SWEEPS) if n < _FEW_CONTACTS else settings.warm_up
            )
            constants = np.empty((n, 12))
            sweep_constants(self.blocks[3], self.mu, constants)
            self.room = (
                np.empty((sweeps.VECTORS, rows)),
                np.empty((memory, rows)),
                np.empty((memory, rows)),
                np.zeros((2 * memory + 3, memory)),
                constants,
            )
            self.slip = np.zeros(n)
        else:
            self._begin_newton(self.r, settings.alpha)

    def _words(self) -> list[str]:
        """Sweeps, and why they ended; systems, how they were solved, and the weights."""
        words = []
        if self.swept:
            words.append(f"{self.swept} accelerated sweeps")
        if not self.sweeping:
            if self.swept:
                words[0] += f", until a factorisation of about {self.price / 1e6:.2g} ms promised more"
            kind = "blocks of three" if self.outside is None else self.outside.words
            systems, outer = self.done - self.swept, int(self.newton[iteration.OUTER])
            weight = f"last weight {self.newton[iteration.ALPHA]:.0e}"
            words.append(f"{systems} Newton systems in {outer} proximal steps, by {kind}, {weight}")
            if self._follows:
                words[-1] += ", along the path to the least reactions"
        if self.has_jumped:
            words.append("an interior point gave another start")
        return words

    @property
    def _follows(self) -> bool:
        """Is the path to the least reactions followed?"""
        return self.settings.least and self.problem.row_count <= _PATH_ROWS

    def _cut(self) -> None:
        """The problem and the guess in triples and in units of their own."""
        problem = self.problem
        cone = problem.cone
        n = triples_of(cone.block_start)
        self.place, self.mu = np.empty(problem.row_count, np.int64), np.empty(n)
        place_rows(cone.block_start, cone.bilateral.size, cone.unilateral, problem.mu, self.place, self.mu)
        if problem.delassus.has_bodies:
            rigid = problem.delassus.rigid
            self.blocks = cut_rigid(rigid.plain, len(rigid.mass), self.place, n)
        else:
            D = problem.delassus.matrix()
            self.blocks = cut_matrix(D.indptr, D.indices, D.data, self.place, n)
        self.v, self.r, self.units = np.empty(3 * n), np.empty(3 * n), np.empty((2, 3 * n))
        pose(  # type: ignore[call-arg]
            *self.blocks,
            problem.free_velocity,
            self.reactions,
            self.place,
            self.v,
            self.units[0],
            self.units[1],
            self.r,
        )

    def advance(self, count: int) -> int:
        """At most `count` sweeps or systems."""
        before = self.done
        self.judgements[3, 0] = 0.0
        if self.sweeping:
            self._sweep(count)
        if not self.sweeping and self.done - before < count:
            self._newton(count - (self.done - before))
        unpose(self.units[0], self.best, self.place, self.reactions)
        self.words = self._words()
        return max(self.done - before, 1)

    @property
    def _triples(self) -> tuple[Any, ...]:
        """Fields of `Triples`."""
        return *self.blocks, self.v, self.mu, self.convex

    @property
    def _judge(self) -> tuple[Any, ...]:
        """Fields of `Judge`."""
        return self.tols, self.units, self.place, self.problem.data, self.judgements

    def _sweep(self, count: int) -> None:
        price = sweeps.sweep_price(len(self.blocks[1]), len(self.mu), self.convex)
        count = min(count, max(int(_BATCH_WORK / price), 20))
        sweeping = self.state, *self.room, self.r, self.slip, self.best
        end = accelerated_phase(count, self._triples, sweeping, self._judge)
        self.done = self.swept = int(self.state[sweeps.DONE])
        self.expects_end = end == sweeps.CONVERGED
        if end == sweeps.TOO_DEAR or (end == sweeps.CONVERGED and iteration.has_joints(self.mu)):
            self.sweeping = False
            self._begin_newton(self.best, self.settings.alpha)

    def _begin_newton(self, r: np.ndarray, alpha: float) -> None:
        """Sweeps are over: from here on systems are solved."""
        n, rows, follows = len(self.mu), len(self.v), self._follows and not self.has_jumped
        self.newton = np.empty(iteration.STATE_SIZE)
        iteration.begin(self.newton, PATH_BEGIN if follows else alpha, 1.0 if follows else 0.0)
        self.vectors, self.A = np.empty((iteration.VECTORS, rows)), np.empty((3 * n, 3))
        self.vectors[iteration.CENTRE] = r
        self.before = self.done
        known = self.swept and self.state[sweeps.FACTOR_PRICE]  # zero where sweeps converged before it was asked for
        self.price = float(known or sweeps.factor_price(self.mu, r, self.blocks[0], self.blocks[1]))
        swept = sweeps.sweep_price(len(self.blocks[1]), n, self.convex)
        self.newton[iteration.SECOND_TRY] = iteration.sweeps_before_second_try(self.price, swept)
        if self.price > _LARGE_FACTOR:
            self._go_outside()

    @property
    def _most_systems(self) -> int:
        """After which an interior point is asked for another start, or takes over: under a convex law it needs about
        twenty factorisations and, where those cost nothing, what its first iteration does."""
        if self.convex == 0.0 or not self.settings.yields:
            is_far = not self.has_jumped and self.newton[iteration.RESIDUAL] > _NO_INTERIOR_START_BELOW
            return int(self.settings.systems) * (1 if is_far else _SYSTEMS_NEAR)
        return min(int(self.settings.systems), max(_CONVEX_SYSTEMS, int(_INTERIOR_START / max(self.price, 1.0))))

    def _go_outside(self) -> None:
        """Factors are large: body space where bodies are fewer than contacts, a sparse direct solver elsewhere."""
        delassus, rho = self.problem.delassus, self.settings.rho
        if delassus.has_bodies and delassus.velocity_count <= self.problem.row_count:
            row = np.sqrt(self.units[0] / self.units[1])[self.place]
            self.outside = BodySystem(delassus.rigid.scaled(row, 1.0), self.problem.cone.contact_start, self.place, rho)
        else:
            self.outside = SparseSystem(self.blocks, rho)

    def _newton(self, count: int) -> None:
        if self.convex > 0.0 and self.settings.yields and self.outside is not None:
            self.finished = True  # large factors: an interior point needs fewer of them
            return
        settings, outside = self.settings, 0.0 if self.outside is None else 1.0
        left = self._most_systems - int(self.newton[iteration.SYSTEMS])
        least = 1 + iteration.CORRECTION_STEPS if iteration.has_joints(self.mu) else 1
        count = min(count, max(int(_BATCH_WORK / max(self.price, 1.0)), least), max(left, least))
        count = iteration.before_exact(count, self.newton, self.mu)
        last, end = self.newton[iteration.SYSTEMS] + count, iteration.NEEDS_STEP
        while end == iteration.NEEDS_STEP:
            newton = self.newton, self.vectors, self.A, self.best, float(self.before), outside
            left = last - self.newton[iteration.SYSTEMS]
            end = proximal_phase(left, settings.plain, newton, self._triples, self._judge)
            if end == iteration.NEEDS_STEP:
                assert self.outside is not None
                step = self.outside.step(self.A, self.vectors[iteration.WEIGHT], self.vectors[iteration.VALUE])
                if step is None:
                    self.vectors[iteration.STEP, 0] = np.nan
                else:
                    self.vectors[iteration.STEP] = step
        self.expects_end = end == iteration.CONVERGED
        systems = int(self.newton[iteration.SYSTEMS])
        self.done = self.before + systems
        if end == iteration.STUCK_FOR_GOOD or systems >= self._most_systems:
            self.finished = self.has_jumped or self.convex > 0.0 or not self._jump()

    def _jump(self) -> bool:
        """Go on from an interior point, once; is there one?"""
        self.has_jumped = True
        if self.problem.cone.bilateral_rows == self.problem.row_count:
            return False  # joints alone that cannot be held: an interior point is inside of nothing
        reactions = (self.units[0] * self.best)[self.place]
        start = self.interior_start(self.problem, reactions)
        if not np.isfinite(start).all():
            return False
        r = np.zeros(len(self.v))
        r[self.place] = start / self.units[0, self.place]
        best = self.newton[iteration.BEST]
        self._begin_newton(r, max(min(self.settings.alpha, 1.0), _ALPHA_AFTER_INTERIOR_START))
        self.newton[iteration.BEST] = best
        return True


class JointsAlone(Method):
    """Joints and nothing else: one linear system. By factors in blocks of three, nearly those of a tree, with a few
    corrections of what the weight of redundant joints leaves; where these do not meet the tolerances by a
    pseudo-inverse, which gives sound reactions even where joints contradict each other and none is a solution."""

    batch_min = 10**9  # it is done in one

    def __init__(self, problem: Problem, settings: ProxSsn, reactions: np.ndarray, interior_start: InteriorStart):
        super().__init__(problem, settings, reactions)
        self.interior_start = interior_start

    def advance(self, count: int) -> int:
        """The one solve there is: the best of what was found."""
        self.finished = True
        done, best, least = 0, self.reactions.copy(), self._excess(self.reactions)
        if count > 1 and self.problem.delassus.has_bodies:
            systems = ProxSsnMethod(self.problem, _without_sweeps(self.settings), self.reactions, self.interior_start)
            systems.tols = self.tols
            done = systems.advance(min(count - 1, _MOST_JOINT_SYSTEMS))
            if systems.newton[iteration.BEST] <= 1.0:
                self.words = [f"joints alone: {sentence}" for sentence in systems.words]
                return done
            if systems.newton[iteration.BEST] < least:
                best, least = self.reactions.copy(), float(systems.newton[iteration.BEST])
        shared, excess = self._shared()
        if not least < _CLEARLY * excess:
            best, least = shared, excess
        self.reactions[:] = best
        self.words = ["joints alone: one linear system"]
        if least > 1.0:
            self.words[0] += ", as exact as double precision solves it, or joints contradict each other"
        return done + 1

    def _shared(self) -> tuple[np.ndarray, float]:
        """By a pseudo-inverse, refined, and how far above the tolerances: the least reactions also where there is no
        solution."""
        inverse = DenseInverse(self.problem.delassus.dense())
        found = np.zeros_like(self.reactions)  # what a guess holds in redundant directions could not be removed again
        best, least, last = found, math.inf, math.inf
        for _ in range(_REFINEMENTS):
            found = found - inverse.solve(self.problem.constraint_velocity(found))
            excess = self._excess(found)
            if excess < least:
                best, least = found, excess
            if excess <= 1.0 or not excess < last:
                break
            last = excess
        return best, least

    def _excess(self, reactions: np.ndarray) -> float:
        """How far above the tolerances, as a factor."""
        return max(a / b for a, b in zip(measure(self.problem, reactions), self.tols))


@cache
def _without_sweeps(settings: ProxSsn) -> ProxSsn:
    return settings.changed(warm_up=0, least=False)


def are_joints_alone(problem: Problem) -> bool:
    """Is there nothing but joints, in a number that a full matrix is formed for?"""
    return problem.cone.bilateral_rows == problem.row_count <= _DENSE_ROWS


def start_prox_ssn(
    problem: Problem, settings: Settings, reactions: np.ndarray, interior_start: InteriorStart
) -> Method:
    """The method at the given starting point."""
    assert isinstance(settings, ProxSsn)
    if are_joints_alone(problem):
        return JointsAlone(problem, settings, reactions, interior_start)
    return ProxSsnMethod(problem, settings, reactions, interior_start)


def fits_at_once(problem: Problem, settings: Settings) -> bool:
    """Is the problem one for `prox_ssn_at_once`?"""
    assert isinstance(settings, ProxSsn)
    return is_small(problem, settings.least)


def prox_ssn_at_once(
    problem: Problem,
    settings: Settings,
    reactions: np.ndarray,
    tols: tuple[float, float],
    max_iter: int,
    found: np.ndarray,
) -> int:
    """See `small_at_once`."""
    assert isinstance(settings, ProxSsn)
    return small_at_once(problem, settings.plain, 0.0, reactions, tols, max_iter, found)


def least_at_once(
    problem: Problem,
    settings: Settings,
    reactions: np.ndarray,
    tols: tuple[float, float],
    max_iter: int,
    found: np.ndarray,
) -> int:
    """`prox_ssn_at_once`, and of many reactions that give the motion the least, whatever path was followed."""
    assert isinstance(settings, ProxSsn)
    return small_at_once(problem, settings.plain, 1.0, reactions, tols, max_iter, found)


def prox_ssn_batch(batch: Batch, settings: Settings, tols: tuple[float, float], max_iter: int) -> Kernel:
    """`prox_ssn_at_once` for the problems of a batch."""
    del batch
    assert isinstance(settings, ProxSsn)
    return small_batch(settings.plain, tols, max_iter)
