"""ADMM for contacts, limits and joints (Tsounis et al. 2025, §VI-F, Alg. 6; Carpentier et al., RSS 2024).

The problem is split into a linear system over all rows at once, x = −(D + (η + ρ) I)⁻¹ (…), and a projection of every
block onto its cone, which a penalty ρ and multipliers z pull together. Four members share the iteration:

| name | law | De Saxcé's term | penalty |
|---|---|---|---|
| admm-ccp | CCP | none | fixed, no proximal term |
| admm-ncp-fp | NCP | of the last z | fixed |
| admm-ncp-la | NCP | of the last z | moved by a constant factor (eq. 171) |
| admm-ncp-sa | NCP | of the last z | from the spectrum of D (eq. 172) |

By default four things differ from the published method, whose lines in the table, admm-ccp-plain and so on, come from
`delassus_papers`:

- Blocks are scaled to unit mobility first, which gives ρ = 1 its meaning.
- Bilateral rows, whose cone is the whole space, are solved exactly with the linear system instead of being split; a
  penalty only slows them down. Two thousand iterations with ρ = 1 leave a four-bar linkage at 1e-4; one is enough.
- The penalty is looked at every tenth iteration, and less often after it has turned around.
- The iterates are extrapolated (`anderson.py`), which halves the number of iterations and solves what ρ = 1 does not.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from delassus.law import Law
from delassus.problem import Problem
from delassus.solvers.admm.anderson import empty_memory, forget
from delassus.solvers.admm.iteration import FACTORED, RHO, Iterate, Rule, SplitCone, Terms, first_state, start_dual
from delassus.solvers.admm.penalty import RULES, spectral_penalty
from delassus.solvers.admm.reduced import reduced
from delassus.solvers.admm.small import PlainSettings, SmallAdmm, is_small, small_at_once, small_batch
from delassus.solvers.method import Method
from delassus.solvers.parts.batch import Batch, Kernel
from delassus.solvers.settings import (
    AtLeastOne,
    Count,
    CountOrNone,
    NotNegative,
    OneOf,
    Positive,
    PublishedStop,
    Range,
    Relaxation,
    Settings,
    require,
)

_EXACT_ETA_MIN = 1e-6  # least proximal weight η of rows that are not split: redundant joints leave D singular


Penalty = Annotated[str, OneOf(*RULES)]
Joints = Annotated[str, OneOf("exact", "split")]


@dataclass(frozen=True)
class Admm(PublishedStop):
    """Settings of the ADMM family; rho, eta and so on in scaled units [1/kg] where `scaled`."""

    penalty: Penalty = "fixed"  # how the penalty moves: fixed, linear, spectral
    rho: Positive = 1.0  # the penalty, or where the linear rule starts; the spectral rule has its own start
    eta: NotNegative = 1e-6  # proximal weight
    omega: Relaxation = 1.6  # over-relaxation, 0 < omega < 2
    ratio: AtLeastOne = 10.0  # of primal to dual residual, or the reverse, beyond which the penalty moves
    factor: Annotated[float, Range("(1, inf)", "more than one")] = 1.5  # by which the linear rule moves it
    power: Annotated[float, Range("[-0.5, 0.5]")] = 0.2  # spectral rule: first exponent p of √(L η) (L/η)^p
    power_step: Positive = 0.05  # spectral rule: by which the exponent moves
    every: Count = 10  # iterations between two looks at the residuals …
    patience: AtLeastOne = 2.0  # … times this after every reversal of the penalty's direction, so that it settles
    anderson: CountOrNone = 5  # past iterations the extrapolation looks at; 0: none, as published
    moved: AtLeastOne = 1.4  # least factor between the rule's penalty and the one in use that is worth a factorisation
    joints: Joints = "exact"  # bilateral rows: solved with the linear system, or split like all others
    scaled: bool = True  # give every block a mean diagonal of one first

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.eta > 0.0 or self.penalty != "spectral",
            "eta is 0: the spectral penalty needs a positive one, the smallest eigenvalue it leaves",
        )

    def for_acceleration(self) -> "Admm":
        """Without its own extrapolation: two of them are in each other's way (41 iterations instead of 17 on nine
        limits)."""
        return self.changed(anderson=0)

    @cached_property
    def plain(self) -> tuple[Any, ...]:
        """For compiled code."""
        return tuple(
            PlainSettings(
                moves=self.penalty != "fixed",
                is_spectral=self.penalty == "spectral",
                rho=float(self.rho),
                eta=float(self.eta),
                omega=float(self.omega),
                ratio=float(self.ratio),
                factor=float(self.factor),
                power=float(self.power),
                power_step=float(self.power_step),
                every=float(self.every),
                patience=float(self.patience),
                moved=float(self.moved),
                depth=int(self.anderson),
            )
        )


class AdmmMethod(Method):
    """ADMM at work on one problem."""

    iterates_reactions = False

    def __init__(self, problem: Problem, settings: Admm, reactions: np.ndarray):
        self.reactions = reactions
        self.reduced = reduced(problem, settings.joints, settings.scaled)
        self.m = len(self.reduced.v)
        self.x = self.y = self.z = np.zeros(0)
        if self.m:
            self._start(problem, settings)

    def _start(self, problem: Problem, settings: Admm) -> None:
        """Penalty, cone and first iterate: lines 1–2 with z⁰ = P_K*(v + Γ(v)) for the v of the starting reactions."""
        seen, m = self.reduced, self.m
        rho, factor = settings.rho, settings.factor
        if settings.penalty == "spectral":
            L = seen.largest_eigenvalue()
            rho = spectral_penalty(L, settings.eta, settings.power)
            factor = (L / settings.eta) ** settings.power_step
        self.state = first_state(rho, settings.every)
        self.shift = np.full(m, settings.eta + rho)
        self.shift[: seen.exact] = max(settings.eta, _EXACT_ETA_MIN)
        cone = (seen.free, seen.exact, problem.cone.unilateral, problem.mu, problem.law is Law.NCP)
        moves = settings.penalty != "fixed"
        rule = (moves, float(settings.ratio), float(factor), float(settings.patience), float(settings.moved))
        terms = Terms(SplitCone(*cone), seen.v, float(settings.eta), float(settings.omega), Rule(*rule))
        self.x = seen.read(self.reactions)
        self.y, self.z = self.x.copy(), np.empty(m)
        start_dual(cone, seen.velocity(self.x) if self.x.any() else seen.v, self.z)
        self.memory = memory = empty_memory(settings.anderson, m - seen.exact)
        forget(memory, rho, self.y[seen.exact :], self.z[seen.exact :])
        work = np.empty(2 * m + seen.inverse.work_size)
        iterate = Iterate(self.x, self.y, self.z, self.state, memory, self.shift, work)
        # plain tuples pass into compiled code some ten times faster than named ones
        self.arguments = (cone, *terms[1:4], rule), tuple(iterate)

    def advance(self, count: int) -> None:
        """`count` iterations; compiled code comes back only where a new penalty asks for a larger factorisation."""
        while count and self.m:
            if self.state[FACTORED] != self.state[RHO]:
                self.reduced.inverse.factor(self.shift)
                self.state[FACTORED] = self.state[RHO]
            count -= self.reduced.iterate(count, *self.arguments)
        self.finished = not self.m  # joints alone are one linear system
        self.reduced.write(self.y, self.reactions)

    @property
    def point(self) -> np.ndarray:
        """All that an iteration starts from: x of the proximal term, y and z, (3 m,)."""
        return np.concatenate([self.x, self.y, self.z])

    def move_to(self, point: np.ndarray) -> None:
        """Go on from there; differences of the own acceleration no longer belong to it."""
        if self.m:
            self.x[:], self.y[:], self.z[:] = point.reshape(3, -1)
            forget(self.memory, self.state[RHO], self.y[self.reduced.exact :], self.z[self.reduced.exact :])

    @property
    def map_key(self) -> float:
        """The penalty, which makes the map what it is."""
        return float(self.state[RHO]) if self.m else 0.0


def start_admm(problem: Problem, settings: Settings, reactions: np.ndarray) -> AdmmMethod | SmallAdmm:
    """A method of this family, at the given starting point."""
    assert isinstance(settings, Admm)
    is_exact = settings.joints == "exact"
    if is_small(problem, is_exact):
        method = SmallAdmm(problem, settings.plain, is_exact, settings.scaled, reactions)
        if method.is_started:
            return method
    return AdmmMethod(problem, settings, reactions)


def fits_at_once(problem: Problem, settings: Settings) -> bool:
    """Is the problem one for `admm_at_once`?"""
    assert isinstance(settings, Admm)
    return is_small(problem, settings.joints == "exact")


def admm_at_once(
    problem: Problem,
    settings: Settings,
    reactions: np.ndarray,
    tols: tuple[float, float],
    max_iter: int,
    found: np.ndarray,
) -> int:
    """See `small_at_once`."""
    assert isinstance(settings, Admm)
    return small_at_once(
        problem, settings.plain, settings.joints == "exact", settings.scaled, reactions, tols, max_iter, found
    )


def admm_batch(batch: Batch, settings: Settings, tols: tuple[float, float], max_iter: int) -> Kernel:
    """`admm_at_once` for the problems of a batch."""
    assert isinstance(settings, Admm)
    return small_batch(batch, settings.plain, settings.joints == "exact", settings.scaled, tols, max_iter)
