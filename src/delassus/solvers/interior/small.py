"""The interior-point method on small problems of rigid bodies: the phases of `fast`, each a compiled batch.

Python does not know the tolerance, and a judgement costs a tenth of an iteration: the first batch goes to where most
tolerances are met, the judge's answer then says how far the rest has to go.
"""

import math

import numpy as np
from numba import njit

from delassus.linalg.operators.rigid import RigidDelassus
from delassus.problem import Problem
from delassus.solvers.interior import small_interior, small_polish
from delassus.solvers.interior.certificate import Certificate
from delassus.solvers.interior.fast import FastIpm
from delassus.solvers.interior.joint_contradiction import Contradiction, is_hopeless
from delassus.solvers.interior.natural_map import DROWNING, FAR_OFF, LARGE, natural_map
from delassus.solvers.interior.phase_one import finds_proof
from delassus.solvers.interior.polish import even
from delassus.solvers.interior.reduced import Reduced
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.small_interior import DONE, RUNNING, interior_batch, velocity
from delassus.solvers.interior.small_polish import polish_batch
from delassus.solvers.interior.small_sweeps import sweep_reduced
from delassus.solvers.interior.starting_points import carrying_pair
from delassus.solvers.method import Method
from delassus.solvers.parts.jordan import centred_pair
from delassus.solvers.parts.odd_masses import has_odd_masses
from delassus.status import Status

_MOST_VELOCITIES, _MOST_ROWS = 300, 3000  # beyond, sparse factors are faster
_SWEEPS = 10
_START, _FAR, _LEAST_START = 10.0, 0.03, 1e-7  # as in `fast`
_FIRST, _FIRST_VELOCITY = 3e-7, 1e-4  # scaled residuals at which the judge is asked for the first time
_MARGIN = 0.8  # of what the judge's tolerance means in scaled units, which is known from its last answer
_PATIENCE = 20
_FAR_FROM_DONE, _FAR_VELOCITY = 1e-4, 1e-2  # scaled residuals above which a stalled interior point starts again
_FIRST_RHO = 0.01  # as in `fast`
_CONTRADICTION = 1e-9  # velocities of joints, over what they ask, that count as one


def takes(problem: Problem, settings: Ipm) -> bool:
    """Is this a small problem of rigid bodies, and nothing else asked for?"""
    return settings.linear == "auto" and settings.backend == "auto" and is_small(problem)


def is_small(problem: Problem) -> bool:
    """Few rigid bodies: a compiled batch on dense matrices is cheaper than anything else."""
    delassus = problem.delassus
    return (
        isinstance(delassus, RigidDelassus)
        and 6 * len(delassus.mass) <= _MOST_VELOCITIES
        and problem.row_count <= _MOST_ROWS
    )


class SmallIpm(Method):
    """See the module. `reduced` says whether the masses allow it; `general` takes over where the phases got stuck."""

    def __init__(self, problem: Problem, settings: Ipm, reactions: np.ndarray, reduced: Reduced):
        self.problem, self.settings, self.reduced = problem, settings, reduced
        self.reactions = reactions
        self.finished, self.is_costly, self.batch_min = False, False, 100
        self.ignores_guess = True  # it may start again from afar, and hands on what it cannot do itself
        self.details: dict[str, list[float]] = {}
        self.general: FastIpm | None = None
        self.certificate = Certificate(problem)
        self.contradiction = self._contradiction()
        if is_hopeless(self.contradiction, self.certificate):
            self.finished = True
            return
        self.polishing = self.solved = False
        self.shorts = 0
        self.goal, self.goal_velocity = _FIRST, _FIRST_VELOCITY
        self.norm = self.worst = math.inf
        self.has_carried = False
        self._enter()
        if has_odd_masses(problem) and not self.reactions.any():
            self._carry()

    def _contradiction(self) -> Contradiction | None:
        """What redundant joints ask of each other in vain, if that is more than rounding."""
        vain = self.reduced.contradiction
        if not vain.any():
            return None
        asked = np.abs(self.problem.free_velocity[: len(vain)]).max()
        if np.abs(vain).max() <= _CONTRADICTION * asked:
            return None
        mobility = self.problem.delassus.diagonal[: len(vain)]  # rows were normalised by its root
        direction = np.zeros(self.problem.row_count)
        direction[: len(vain)] = -vain / np.where(mobility > 0.0, mobility, 1.0)
        return Contradiction(vain, direction)

    def _enter(self) -> None:
        """Room for everything, and a centred pair near the point that sweeps reach from the guess."""
        reduced = self.reduced
        m, n = reduced.row_count, reduced.size
        self.x = np.empty(m)
        if not m:
            return
        self.x = reduced.from_reactions(self.reactions)
        self.y, self.v = np.empty(m), np.empty(m)
        self.work = np.empty((max(small_interior.VECTORS, small_polish.VECTORS), m))
        self.bodies, self.A = np.zeros((3, n + 6)), np.zeros((n + 6, n + 6))
        self.eta = np.empty(reduced.limits + reduced.cones)
        self.diagonal, self.blocks = np.empty(reduced.limits), np.empty((reduced.cones, 3, 3))
        self.roots = np.zeros((0, 3, 3))
        self.is_soft = bool(reduced.soft.any())
        _start(reduced.rows, reduced.numbers, _SWEEPS, self.x, self.y, self.v, self.bodies, self.work)

    def _carry(self) -> bool:
        """Start from reactions that carry everything that moves, stopped at once; False where that was done before.

        No contact need carry more, and from there the number of iterations does not depend on masses. On 120 stacks of
        masses far apart it converges on 115 in 18 iterations, from the sweeps' point on 75 in 38; on ordinary problems
        that one is nearer."""
        reduced = self.reduced
        if self.has_carried or not reduced.row_count:
            return False
        self.has_carried, self.polishing, self.shorts = True, False, 0
        reactions, speeds = carrying_pair(self.problem)
        self.x[:] = reduced.from_reactions(reactions)
        self.y[:] = reduced.from_reactions(speeds) * reduced.factor**2
        velocity(reduced.rows, reduced.q, reduced.soft, self.x, self.bodies[0], self.v)
        return True

    # -- the driver's side -------------------------------------------------------------------------------------------

    def advance(self, count: int) -> int | None:
        """At most `count` factorisations; as many as it takes to ask the judge again."""
        if self.general is not None:
            return self._advance_general()
        if not self.reduced.row_count:  # joints alone: solved when they were eliminated
            if self.solved:
                self._hand_over()
                return self._advance_general()
            self.reduced.write_reactions(self.x, self.reactions)
            self.solved = True
            return 1
        done = self._polish(count) if self.polishing else self._interior(count)
        return max(1, done)

    def judged(self, excess: float) -> None:
        """Set the next goal: from what the judge made of the last one."""
        if self.general is not None:
            self.general.judged(excess)
        elif excess > 1.0 and self.norm < math.inf:
            self.goal = min(self.goal, _MARGIN * self.norm / excess)
            self.goal_velocity = min(self.goal_velocity, max(_MARGIN * self.worst / excess, self.goal))

    @property
    def verdict(self) -> Status | None:
        """What to call the run if it ends here, unless the judge is content."""
        if self.general is not None:
            return self.general.verdict
        certificate = self.certificate
        if self.contradiction is not None:
            certificate.proves(self.contradiction.direction, purify=True)
        if certificate.is_proven or self._hopeless() or finds_proof(certificate, self.settings):
            return Status.INFEASIBLE
        return None

    def _hopeless(self) -> bool:
        """Do the present reactions prove that nothing can satisfy the constraints?"""
        if not self.reduced.row_count:
            return False
        x = self.best if self.polishing else self.x
        proven = self.certificate.proves(self.reduced.balanced(x), purify=True)
        self.finished = self.finished or proven
        return proven

    # -- phases ------------------------------------------------------------------------------------------------------

    def _interior(self, count: int) -> int:
        reduced = self.reduced
        record = np.empty((count, len(small_interior.RECORD)))
        done, end, self.norm, self.worst, self.shorts = interior_batch(
            reduced.rows, reduced.numbers, self.is_soft, self.x, self.y, self.v, self.work, self.bodies, self.A,
            self.eta, self.diagonal, self.blocks, self.roots, count, self.settings.correctors, self.goal,
            self.goal_velocity, record, self.shorts,
        )  # fmt: skip
        self._record(small_interior.RECORD, record[:done])
        self._write(self.x)
        if end not in (RUNNING, DONE):
            far = self.norm > _FAR_FROM_DONE or self.worst > _FAR_VELOCITY
            if ((far or np.abs(self.x).max() >= LARGE) and self._hopeless()) or (far and self._carry()):
                return done
            if self.settings.polish:
                self._begin_polish()
            else:
                self.finished = True
        return done

    def _write(self, x: np.ndarray) -> None:
        """Offer this point to the judge, unless it is on its way to a proof: see `natural_map.is_suspicious`."""
        size = np.abs(x).max()
        if size >= LARGE and (self.worst > FAR_OFF or size >= DROWNING) and self._hopeless():
            return
        if size < LARGE or self.worst <= FAR_OFF:
            self.reduced.write_reactions(x, self.reactions)

    def _begin_polish(self) -> None:
        reduced = self.reduced
        self.polishing = True
        self.even = even(reduced.soft, 0, reduced.limits)
        weight = np.clip(_FIRST_RHO / self.eta, 1.0, 1e7)
        self.rho = np.concatenate([weight[: reduced.limits], np.repeat(weight[reduced.limits :], 3)])
        self.xi, self.best = self.x.copy(), self.x.copy()
        self.counts = np.array([0.0, math.inf, math.inf, 0.0])

    def _polish(self, count: int) -> int:
        reduced = self.reduced
        record = np.empty((count, len(small_polish.RECORD)))
        done, end, self.norm, self.worst = polish_batch(
            reduced.rows, reduced.numbers, self.even, self.x, self.xi, self.rho, self.best, self.work, self.bodies,
            self.A, self.diagonal, self.blocks, self.roots, count, self.goal, self.goal_velocity, _PATIENCE, record,
            self.counts,
        )  # fmt: skip
        self._record(small_polish.RECORD, record[:done])
        self._write(self.best)
        if end not in (RUNNING, DONE) and not self._carry():
            self._hand_over()
        return done

    def _hand_over(self) -> None:
        """Let the general method go on, from the best point."""
        self.general = FastIpm(self.problem, self.settings, self.reactions)
        self.finished, self.is_costly = self.general.finished, True

    def _advance_general(self) -> int:
        general = self.general
        assert general is not None
        general.advance(1)
        self.finished = general.finished
        names = tuple(name for name, series in general.details.items() if series)
        self._record(names, np.array([[general.details[name][-1] for name in names]]))
        return 1

    def _record(self, names: tuple[str, ...], values: np.ndarray) -> None:
        """One entry per iteration in every list; NaN where a phase has none."""
        length = max((len(series) for series in self.details.values()), default=0)
        for name in names:
            self.details.setdefault(name, [math.nan] * length)
        for name, series in self.details.items():
            series.extend(values[:, names.index(name)].tolist() if name in names else [math.nan] * len(values))


@njit(cache=True, error_model="numpy")
def _start(rows, numbers, sweeps, x, y, v, bodies, work):
    """Sweep, and find the centred pair with x − y as there; v becomes the velocity of x."""
    limits, segments, at, J, _, paired = rows
    q, soft, speed = numbers[0], numbers[1], numbers[2]
    u, difference = bodies[0], work[0]
    for stage in range(3):  # in one place: every call of a kernel is compiled anew
        velocity(rows, q, soft, x, u, v)
        if stage == 0:
            sweep_reduced(rows, q, soft, sweeps, x, u)
        elif stage == 1:
            norm, _ = natural_map(limits, x, v, q, speed)
            mean = 0.0
            for i in range(len(x)):
                difference[i] = x[i] - v[i]
                mean += difference[i] * difference[i] / len(x)
            if not (mean > 0.0 and math.isfinite(mean)):
                mean = 1.0
            tau = max(_LEAST_START, _START * min(1.0, (norm / _FAR) ** 2)) * mean
            centred_pair(limits, difference, tau, x, y)
