"""The interior-point method at work: interior iterations, polish, restarts, and what to call a run without a solution.

One iteration of the driver is one factorisation, of either phase. Small problems are solved in the dense space of
`dense`, where a batch is one compiled call; all others, and what gets stuck there, in the sparse one of `sparse`.
"""

from functools import cached_property

import numpy as np

from delassus.problem import Problem
from delassus.solvers.interior.dense import PATIENCE, DenseSpace, dense_space
from delassus.solvers.interior.infeasibility import Infeasibility
from delassus.solvers.interior.iteration import DONE, FAR_OFF, FAR_VELOCITY, LARGE, Outcome
from delassus.solvers.interior.settings import InteriorSettings, Ipm
from delassus.solvers.interior.sparse import SparseSpace
from delassus.solvers.interior.starts import best_multiple
from delassus.solvers.method import Method
from delassus.solvers.parts.at_once import Batches, details_of
from delassus.solvers.settings import Settings
from delassus.status import Status

_GOAL_VELOCITY = 1e-4  # scaled residual of velocity at which a space's first goal is reached
_GOAL_AGAIN = 0.01  # times the last goal, where the polish did not get further from there
_POLISHED = 30.0  # times its first goal: what a stalled interior point may leave to the polish after a good guess
_DOUBT = 4  # polish steps without halving the residual before the interior point goes on from where it was left


class Explained(Method):
    """An interior-point method that may find out why there is no solution."""

    is_costly = True

    def __init__(self, problem: Problem, settings: InteriorSettings, reactions: np.ndarray):
        super().__init__(problem, settings, reactions)
        self.batches: Batches = []

    @cached_property
    def infeasibility(self) -> Infeasibility:
        """What is known about it; nothing is looked at before the first doubt."""
        return Infeasibility(self.problem, self.settings)

    def is_hopeless(self) -> bool:
        """Do the present reactions prove that nothing can satisfy the constraints? Then the run is over."""
        self.finished = self.finished or self.infeasibility.proves(*self.proofs())
        return self.finished

    def proofs(self) -> tuple[np.ndarray, ...]:
        """Reactions (m,) that may prove it."""
        raise NotImplementedError

    @property
    def verdict(self) -> Status | None:
        """What to call the run if it ends here, unless the judge is content."""
        if self.infeasibility.certificate.is_proven:
            return Status.INFEASIBLE
        return self.infeasibility.verdict(*self.proofs())

    def may_offer(self, outcome: Outcome) -> bool:
        """Is this point for the judge?"""
        return not outcome.is_suspicious or not (self.is_hopeless() or outcome.worst > FAR_VELOCITY)

    @property
    def details(self) -> dict[str, list[float]]:  # type: ignore[override]
        """One entry per iteration in every list; NaN where a phase has none."""
        return details_of(self.batches)


class InteriorPoint(Explained):
    """See the module. Its space is changed once, where the dense one got stuck."""

    ignores_guess = True  # it starts inside the cones, and may start again from afar

    def __init__(self, problem: Problem, settings: Ipm, reactions: np.ndarray):
        super().__init__(problem, settings, reactions)
        is_guessed = reactions.any()
        if is_guessed:
            reactions[:] = best_multiple(problem, reactions)
            is_guessed = reactions.any()
        space = dense_space(problem, settings)
        self._enter(space or SparseSpace(problem, settings))
        if space is not None and not self.finished and not is_guessed and problem.delassus.has_odd_masses():
            self._restart(space.x)

    def _enter(self, space: DenseSpace | SparseSpace) -> None:
        """Go on in this space, from the present reactions."""
        self.space = space
        self.is_costly, self.batch_min = space.is_costly, space.batch_min
        self.goal, self.goal_velocity = space.goal, _GOAL_VELOCITY
        self.outcome: Outcome | None = None
        self.may_return = False
        contradiction = None
        if self.problem.cone.bilateral.size and space.may_contradict:
            contradiction = space.contradiction(self.infeasibility)
        if (contradiction or not self.problem.delassus.diagonal.all()) and self.infeasibility.is_clear:
            self.finished = True
            return
        space.enter(self.reactions, contradiction)

    def proofs(self) -> tuple[np.ndarray, ...]:
        return self.space.proofs()

    # -- the driver's side -------------------------------------------------------------------------------------------

    def advance(self, count: int) -> int:
        """At most `count` factorisations; as many as it takes to ask the judge again."""
        space = self.space
        if space.newton is None:
            outcome = space.interior(count, self.goal, self.goal_velocity)
        else:
            patience = _DOUBT if self.may_return else PATIENCE
            outcome = space.polish(count, self.goal, self.goal_velocity, patience)
        self.outcome = outcome
        self.batches.append((outcome.names, outcome.values))
        if self.may_offer(outcome):
            space.write_reactions(outcome.x, self.reactions)
        if not self.finished:
            (self._after_interior if space.newton is None else self._after_polish)(outcome)
        return max(1, outcome.done)

    def judged(self, excess: float) -> None:
        """Set the next goal of a compiled batch: from what the judge made of the last one."""
        if not self.is_costly and excess > 1.0 and self.outcome is not None:
            self.goal, self.goal_velocity = self.outcome.closer(excess, self.goal, self.goal_velocity)

    # -- phases ------------------------------------------------------------------------------------------------------

    def _after_interior(self, outcome: Outcome) -> None:
        """Start again where that got stuck far away; polish where it got stuck near, or arrived."""
        stalled = outcome.is_stuck
        if stalled and self.space.is_empty:
            self._enter(SparseSpace(self.problem, self.settings))
            return
        if stalled:
            if (outcome.is_far or outcome.size >= LARGE) and self.is_hopeless():
                return
            # only the start from reactions that carry everything is better than a polish of a point of small norm, or
            # one with a larger τ, where that of a good guess was too small
            near = _POLISHED * self.goal if self.space.restarts[:1] == ["as_usual"] else FAR_OFF
            if (outcome.norm > near or (outcome.is_far and self._may_carry)) and self._restart(outcome.x):
                return
        if not self.settings.polish:
            self.finished = stalled
        elif stalled or (outcome.end == DONE and self.space.polishes_when_done):
            self.may_return = not stalled
            self.space.begin_polish()

    def _after_polish(self, outcome: Outcome) -> None:
        """Back to the interior point, a new start, the other space, or the end, where that got stuck."""
        if not outcome.is_stuck:
            return
        if self.may_return:
            # reactions far away along a flat direction: the interior point gets there faster
            self.space.newton, self.may_return = None, False
            self.goal, self.goal_velocity = _GOAL_AGAIN * self.goal, _GOAL_AGAIN * self.goal_velocity
        elif (outcome.is_far or self._may_carry) and self._restart(outcome.x):
            return
        elif isinstance(self.space, DenseSpace):
            self._enter(SparseSpace(self.problem, self.settings))
        else:
            self.finished = True

    @property
    def _may_carry(self) -> bool:
        """Is the next restart the one from reactions that carry everything that moves?"""
        return self.space.restarts[:1] == ["carry"]

    def _restart(self, x: np.ndarray) -> bool:
        """The interior phase again, from the next of the space's starting points; False where none is left."""
        space = self.space
        if not space.restarts:
            return False
        getattr(space, space.restarts.pop(0))(x)
        self.may_return = False
        return True


def start_ipm(problem: Problem, settings: Settings, reactions: np.ndarray) -> Method:
    """The method, from these reactions on."""
    assert isinstance(settings, Ipm)
    return InteriorPoint(problem, settings, reactions)


def hands_on(settings: Settings) -> bool:
    """May two doubles go on where this stalls?"""
    assert isinstance(settings, Ipm)
    return settings.rescue
