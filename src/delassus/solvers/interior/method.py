"""The interior-point method at work: interior iterations, polish, restarts, and what to call a run without a solution.

One iteration of the driver is one factorisation, of either phase. Small problems are solved in the dense space of
`dense`, where a batch is one compiled call; all others, and what gets stuck there, in the sparse one of `sparse`.
"""

import math
from functools import cached_property

import numpy as np

from delassus.problem import Problem
from delassus.residuals import RESIDUAL_COUNT
from delassus.solvers.interior.dense import DenseSpace, dense_space, is_quick
from delassus.solvers.interior.infeasibility import LARGE, Infeasibility
from delassus.solvers.interior.iteration import BROKEN, DONE, STALLED, Outcome
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.sparse import SparseSpace
from delassus.solvers.interior.starts import best_multiple
from delassus.solvers.method import Method
from delassus.solvers.parts.at_once import (
    MOST_JUDGEMENTS,
    Batches,
    Told,
    details_of,
    finish_rigid,
    joints_at_once,
    known,
    room_for_judgements,
)
from delassus.solvers.settings import Settings
from delassus.status import Status

_GOAL_VELOCITY = 1e-4  # scaled residual of velocity at which a space's first goal is reached
_GOAL_AGAIN = 0.01  # times the last goal, where the polish did not get further from there
_MARGIN = 0.8  # of what the judge's tolerance means in scaled units, which is known from its last answer
# scaled residuals above which a stalled run starts again; such velocities do not go together with large reactions
_FAR, _FAR_VELOCITY = 1e-4, 1e-2
_DOUBT = 4  # polish steps without halving the residual before the interior point goes on from where it was left
_DROWNING = 1e12  # scaled reactions against which velocities are lost in rounding: such a residual says nothing
_PATIENCE = 20  # the same where there is nothing to go back to
_FIRST_GOAL = 10.0  # times the tolerances: scaled residuals at which they may be met; the judge's answer then says where
_ATTEMPT_BATCH = 60  # iterations of an attempt, at most: no time limit is looked at meanwhile


class Explained(Method):
    """An interior-point method that may find out why there is no solution."""

    is_costly = True

    def __init__(self, problem: Problem, settings: Ipm, reactions: np.ndarray):
        super().__init__(problem, settings, reactions)
        self.told: Batches = []

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

    def may_offer(self, size: float, worst: float) -> bool:
        """Is this point for the judge? Against reactions that are very large any residual is small: where some velocity
        is still far off they are on their way to a proof of infeasibility, or to a better point.

        size: the largest of its scaled reactions; worst: the second number of its natural map."""
        return not _is_suspicious(size, worst) or not (self.is_hopeless() or worst > _FAR_VELOCITY)

    @property
    def details(self) -> dict[str, list[float]]:  # type: ignore[override]
        """One entry per iteration in every list; NaN where a phase has none."""
        return details_of(self.told)


def _is_suspicious(size: float, worst: float) -> bool:
    return size >= _DROWNING or (size >= LARGE and worst > _FAR_VELOCITY)


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
        self.norm = self.worst = math.inf
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
        outcome = self._batch(count)
        if self.may_offer(outcome.size, outcome.worst):
            self.space.write_reactions(outcome.x, self.reactions)
        if not self.finished:
            self._after(outcome)
        return max(1, outcome.done)

    def _batch(self, count: int) -> Outcome:
        """At most `count` factorisations of the present phase."""
        space = self.space
        if space.newton is None:
            outcome = space.interior(count, self.goal, self.goal_velocity)
        else:
            patience = _DOUBT if self.may_return else _PATIENCE
            outcome = space.polish(count, self.goal, self.goal_velocity, patience)
        self.norm, self.worst = outcome.norm, outcome.worst
        self.told.append((outcome.names, outcome.values))
        return outcome

    def judged(self, excess: float) -> None:
        """Set the next goal of a compiled batch: from what the judge made of the last one."""
        if not self.is_costly and excess > 1.0 and self.norm < math.inf:
            self.goal = min(self.goal, _MARGIN * self.norm / excess)
            self.goal_velocity = min(self.goal_velocity, max(_MARGIN * self.worst / excess, self.goal))

    def attempt(self, tols: tuple[float, float], max_iter: int, found: np.ndarray) -> int:
        """Both phases in the dense space without the driver's loop, which takes longer than the iterations of a small
        problem; how many judgements there are. It ends where the tolerances are met, or where more is needed than
        these phases: a proof, another start, the sparse space.  found: of an `Attempt`, with the guess judged."""
        space, judgements, done, count = self.space, room_for_judgements(found), 0, 1
        assert isinstance(space, DenseSpace)
        self.goal, self.goal_velocity = _FIRST_GOAL * tols[0], _FIRST_GOAL * tols[1]
        while done < max_iter and count < MOST_JUDGEMENTS:
            outcome = self._batch(min(max_iter - done, _ATTEMPT_BATCH))
            if _is_suspicious(outcome.size, outcome.worst):
                break
            done += max(1, outcome.done)
            space.judge(outcome.x, self.reactions, found)
            relative, velocity = found[0], found[RESIDUAL_COUNT - 1]
            judgements[:, count] = done, relative, velocity
            count += 1
            self.judged(max(relative / tols[0], velocity / tols[1]))
            is_stuck = outcome.end in (STALLED, BROKEN)
            is_over = space.is_empty or space.newton is not None or self._is_far(outcome) or outcome.size >= LARGE
            if (relative <= tols[0] and velocity <= tols[1]) or (is_stuck and is_over) or done >= _ATTEMPT_BATCH:
                break
            self._after(outcome)
        return count

    # -- phases ------------------------------------------------------------------------------------------------------

    def _after(self, outcome: Outcome) -> None:
        """What comes next: more of the same, or another phase."""
        (self._after_interior if self.space.newton is None else self._after_polish)(outcome)

    def _after_interior(self, outcome: Outcome) -> None:
        """Start again where that got stuck far away; polish where it got stuck near, or arrived."""
        stalled = outcome.end in (STALLED, BROKEN)
        if stalled and self.space.is_empty:
            self._enter(SparseSpace(self.problem, self.settings))
            return
        if stalled:
            if (self._is_far(outcome) or outcome.size >= LARGE) and self.is_hopeless():
                return
            # only the start from reactions that carry everything is better than a polish of a point of small norm
            if (outcome.norm > _FAR or (self._is_far(outcome) and self._may_carry)) and self._restart(outcome.x):
                return
        if not self.settings.polish:
            self.finished = stalled
        elif stalled or (outcome.end == DONE and self.space.polishes_when_done):
            self.may_return = not stalled
            self.space.begin_polish()

    def _after_polish(self, outcome: Outcome) -> None:
        """Back to the interior point, a new start, the other space, or the end, where that got stuck."""
        if outcome.end not in (STALLED, BROKEN):
            return
        if self.may_return:
            # reactions far away along a flat direction: the interior point gets there faster
            self.space.newton, self.may_return = None, False
            self.goal, self.goal_velocity = _GOAL_AGAIN * self.goal, _GOAL_AGAIN * self.goal_velocity
        elif (self._is_far(outcome) or self._may_carry) and self._restart(outcome.x):
            return
        elif isinstance(self.space, DenseSpace):
            self._enter(SparseSpace(self.problem, self.settings))
        else:
            self.finished = True

    def _is_far(self, outcome: Outcome) -> bool:
        return outcome.norm > _FAR or outcome.worst > _FAR_VELOCITY

    @property
    def _may_carry(self) -> bool:
        """Is the next restart the one from reactions that carry everything that moves?"""
        return self.space.restarts[:1] == [self.space.carry]

    def _restart(self, x: np.ndarray) -> bool:
        """The interior phase again, from the next of the space's starting points; False where none is left."""
        space = self.space
        if not space.restarts:
            return False
        space.restarts.pop(0)(x)
        self.may_return = False
        return True


def start_ipm(problem: Problem, settings: Settings, reactions: np.ndarray) -> Method:
    """The variant asked for, at the given starting point."""
    assert isinstance(settings, Ipm)
    if settings.variant == "thesis":
        from delassus.solvers.interior.thesis import ThesisIpm  # which derives from a class above

        return ThesisIpm(problem, settings, reactions)
    return InteriorPoint(problem, settings, reactions)


def ipm_at_once(
    problem: Problem, settings: Settings, reactions: np.ndarray, tols: tuple[float, float], max_iter: int,
    found: np.ndarray,
) -> int:  # fmt: skip
    """Small problems of rigid bodies, where compiled calls alone do it. How many judgements there are; none where this
    is not such a problem.  tols: (tol, tol_velocity); found: of an `Attempt`."""
    assert isinstance(settings, Ipm)
    if problem.cone.bilateral_rows == problem.row_count:
        return joints_at_once(problem, settings, reactions, tols, max_iter, found)
    if settings.variant == "thesis" or not settings.polish or not is_quick(problem):
        return 0
    rigid = problem.delassus.rigid
    assert rigid is not None
    finish_rigid(rigid.plain, problem.free_velocity, known(problem.u_f), reactions, problem.judged_by, found)
    relative, velocity = found[0], found[RESIDUAL_COUNT - 1]
    room_for_judgements(found)[:, 0] = 0, relative, velocity
    if (relative <= tols[0] and velocity <= tols[1]) or not max_iter:
        return 1
    method = InteriorPoint(problem, settings, reactions)
    if method.finished or not isinstance(method.space, DenseSpace):
        return 0
    return Told.of(method.attempt(tols, max_iter, found), method.told)


def hands_on(settings: Settings) -> bool:
    """May two doubles go on where this stalls? The published variant stays what was published."""
    assert isinstance(settings, Ipm)
    return settings.rescue and settings.variant == "fast"
