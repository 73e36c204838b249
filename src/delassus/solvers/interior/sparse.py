"""Large problems, and what the dense space could not do: contacts left out that will stay open, the phases of
`sparse_phases`, and the points they start from."""

import math

import numpy as np

from delassus.problem import Problem
from delassus.solvers.interior.infeasibility import Contradiction, Infeasibility
from delassus.solvers.interior.iteration import RUNNING, Outcome, first_tau
from delassus.solvers.interior.polish import first_rho
from delassus.solvers.interior.presolve import forecast, violated
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.sparse_phases import Interior, Polish
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.starts import carrying_pair, pair_above
from delassus.solvers.interior.systems import system_of
from delassus.solvers.parts.jordan import centred_pair, smallest_eigenvalue

SINGLE_TAU = 1e-6  # τ down to which single precision serves
_RECHECK_TAU = 0.1  # τ below which open contacts are looked at again
_LEAST_ABOVE = 10.0  # scaled reactions that a start from above begins with at least
_SLOW = 3.0  # part of the usual τ, over the norm of the natural map, to begin with where sweeps hardly got on
_FROM_INSIDE = 1e4  # times the usual τ: a start from further inside
_RHO_AGAIN = 1e2  # ρ of a polish that begins anew with contacts taken back


class SparseSpace:
    """problem: of any storage."""

    is_costly, batch_min, is_empty, may_contradict = True, 1, False, True
    polishes_when_done = True  # which needs fewer factorisations from there
    goal = (
        1e-7  # scaled residual at which it takes over: thrice that costs FCLIB files 1 to 3 % more, half changes little
    )

    def __init__(self, problem: Problem, settings: Ipm):
        self.problem, self.settings = problem, settings
        self.newton: Polish | None = None
        # ways to begin again, each to be used once: by name, since bound they would keep this space, D included, alive
        self.restarts: list[str] = []

    def contradiction(self, infeasibility: Infeasibility) -> Contradiction | None:
        """The part of the joints' free velocities that they cannot get rid of, or None."""
        return infeasibility.find_contradiction()

    def enter(self, reactions: np.ndarray, contradiction: Contradiction | None) -> None:
        """A centred pair near the point that sweeps reach from the guess, with the contacts that matter."""
        self.left_out = None if contradiction is None else contradiction.velocity
        start = forecast(self.problem, reactions, self.settings.presolve)
        self._build(start.kept)
        x = self._nearer(reactions, start.reactions)
        self.start_point = self.standard.reactions(x)
        self.interior_point = self._near(x, 0.0, _SLOW if start.is_slow else 0.0)
        if self.standard.cone.degree == 0:
            self.begin_polish()
        elif self.problem.delassus.has_odd_masses():
            self.restarts = ["carry", "from_above", "from_inside"]
        else:
            self.restarts = ["as_usual", "from_above", "from_inside"]

    def _build(self, kept: np.ndarray | None) -> None:
        self.kept = kept
        self.standard = Standard(self.problem, kept, contradiction=self.left_out)
        self.system = system_of(self.standard, self.settings)

    def _nearer(self, guess: np.ndarray, swept: np.ndarray) -> np.ndarray:
        """Where to start: at the swept reactions, unless sweeps left a good guess behind, in norm and velocity."""
        standard, x = self.standard, self.standard.from_reactions(swept)
        if not guess.any():
            return x
        own = standard.from_reactions(guess)
        standard.correct(x)
        error, worst = standard.natural_map(x)
        standard.correct(own)
        own_error, own_worst = standard.natural_map(own)
        return own if own_error < error and own_worst < worst else x

    def _near(self, x: np.ndarray, far: float, slow: float = 0.0) -> Interior:
        """An exactly centred pair near (x, D x + q).  far: at least this much of the usual τ; slow: and this much times
        the norm of the natural map."""
        standard, free = self.standard, self.standard.free
        standard.correct(x)
        v = standard.velocity(x)
        difference = (x - v)[free:]
        mean = float((difference**2).mean()) if len(difference) else 0.0
        norm = standard.natural_map_at(x, v)[0]
        tau = first_tau(mean, norm, max(far, min(1.0, slow * norm)))
        start, y = x.copy(), np.zeros(standard.row_count)
        centred_pair(standard.limits, difference, tau, start[free:], y[free:])
        return self._interior(start, y)

    def _interior(self, x: np.ndarray, y: np.ndarray) -> Interior:
        return Interior(
            self.standard,
            self.system,
            (x, y),
            correctors=self.settings.correctors,
            joint=self.settings.joint,
            single_above=SINGLE_TAU if self.settings.mixed else math.inf,
        )

    # -- restarts ----------------------------------------------------------------------------------------------------

    def carry(self, x: np.ndarray) -> None:
        """From reactions that carry everything: see `DenseSpace`."""
        del x
        reactions, speeds = carrying_pair(self.problem)
        x = self.standard.from_reactions(reactions)
        self.newton = None
        self.interior_point = self._interior(x, self.standard.from_reactions(speeds) * self.standard.factor**2)

    def as_usual(self, x: np.ndarray) -> None:
        """Where it began, with the τ of a start that knows nothing: the small one of a good guess was too small."""
        self.newton, self.interior_point = None, self._near(self.standard.from_reactions(self.start_point), 1.0)

    def from_above(self, x: np.ndarray) -> None:
        """From above the reactions of all blocks alone."""
        x, y, _ = pair_above(self.standard, _LEAST_ABOVE)
        self.newton, self.interior_point = None, self._interior(x, y)

    def from_inside(self, x: np.ndarray) -> None:
        """Near x, but from far inside."""
        self.newton, self.interior_point = None, self._near(x.copy(), _FROM_INSIDE)

    # -- phases ------------------------------------------------------------------------------------------------------

    def interior(self, count: int, goal: float, goal_velocity: float) -> Outcome:
        """One iteration of the interior point."""
        del count
        interior = self.interior_point
        end, norm, worst = interior.advance(goal, goal_velocity)
        if interior.tau < _RECHECK_TAU and self._readmit(interior.x):
            end = RUNNING
        return _outcome(end, self.interior_point.x, norm, worst, interior.details)

    def begin_polish(self) -> None:
        """Go on by `polish`."""
        standard, interior, free = self.standard, self.interior_point, self.standard.free
        rho = np.full(standard.row_count, interior.joint)
        first_rho(standard.limits, interior.work.eta, rho[free:])
        self.newton = Polish(standard, self.system, interior.x, rho)

    def polish(self, count: int, goal: float, goal_velocity: float, patience: int) -> Outcome:
        """One Newton step."""
        del count, goal, goal_velocity  # the judge is asked after every step
        assert self.newton is not None
        polish = self.newton
        end, norm, worst = polish.advance(patience)
        if self._readmit(polish.best):
            end = RUNNING
        return _outcome(end, self.newton.best, norm, worst, polish.details)

    def write_reactions(self, x: np.ndarray, out: np.ndarray) -> None:
        """out (m,) = λ [N s] of x (m',)."""
        out[:] = self.standard.reactions(x)

    def proofs(self) -> tuple[np.ndarray, ...]:
        """Reactions (m,) that may prove that nothing can satisfy the constraints: the present ones and their last
        change."""
        x, dx = self.interior_point.x, self.interior_point.dx
        if self.newton is not None:
            x, dx = self.newton.best, self.newton.dx
        return self.standard.reactions(x), self.standard.reactions(dx)

    # -- contacts left out -------------------------------------------------------------------------------------------

    def _readmit(self, x: np.ndarray) -> bool:
        """Take back contacts that were left out and are not open after all; True if there were any."""
        if self.kept is None:
            return False
        reactions = self.standard.reactions(x)
        bad = violated(self.problem, self.kept, reactions)
        if not bad.any():
            return False
        before = self.standard
        self._build(self.kept | bad)
        if self.newton is None:
            self.interior_point = self._enlarged(before, self.interior_point, reactions)
        else:
            x = self.standard.from_reactions(reactions)
            self.newton = Polish(self.standard, self.system, x, np.full(self.standard.row_count, _RHO_AGAIN))
            self.interior_point = self._near(x, 0.0)
        return True

    def _enlarged(self, before: Standard, interior: Interior, reactions: np.ndarray) -> Interior:
        """The interior point with pairs for the contacts that came back: centred where their violation is no more than
        the products allow. The others stay: raising them all to that τ would cost the iterations done so far."""
        standard, free, limits = self.standard, self.standard.free, self.standard.limits
        x = standard.from_reactions(reactions)
        velocity = np.full(self.problem.row_count, math.nan)
        velocity[before.cone.rows] = before.unit / before.factor * interior.y
        y = standard.factor / standard.unit * velocity[standard.cone.rows]
        new = np.isnan(y[free:])
        standard.correct(x)
        v = standard.velocity(x)[free:]
        worst = smallest_eigenvalue(limits, v)
        new_x, new_y = np.empty_like(v), np.empty_like(v)
        centred_pair(limits, x[free:] - v, max(interior.tau, worst * worst if worst < 0.0 else 0.0), new_x, new_y)
        x[free:][new], y[free:][new] = new_x[new], new_y[new]
        return self._interior(x, y)


def _outcome(end: int, x: np.ndarray, norm: float, worst: float, details: dict[str, float]) -> Outcome:
    size = float(np.abs(x).max(initial=0.0))
    return Outcome(1, end, x, size, norm, worst, tuple(details), np.array([list(details.values())]))
