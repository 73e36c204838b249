"""The published method: Mehrotra's predictor-corrector on the problem as it is (Mangoni, thesis, §4.11, §4.14, app. B;
Mangoni and Tasora, §2).

Nesterov–Todd scaling, one factorisation for predictor and corrector, σ = (τ_p/τ)³, one step length for all variables
(Mangoni, thesis, eq. 4.12) or two (eq. 4.11), and η = 0.9 + 0.1 exp(−τ n) of the way to the boundary (§4.12, where the
exponent's sign is lost; app. B has it). Directions of reactions and of y do not depend on the velocities, so that these
may be eliminated; what they leave of both equations is known all the same, since, as published (eq. 4.14),

    r_p ← (1 − α_P) r_p + (α_D − α_P) E dλ,    r_d ← (1 − α_P) r_d + (α_P − α_D) Jᵀ dλ.
"""

import math

import numpy as np

from delassus.errors import SettingsError
from delassus.problem import Problem
from delassus.solvers.interior.iteration import RUNNING, Aim, Outcome
from delassus.solvers.interior.method import Explained
from delassus.solvers.interior.sparse_phases import Interior, System
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.systems import system_of
from delassus.solvers.parts.jordan import centrality, centring_parameter, largest_step
from delassus.solvers.settings import Settings
from delassus_papers.solvers.saddle_system import SaddleSystem
from delassus_papers.solvers.settings import ThesisIpm, has_masses
from delassus_papers.solvers.starting_points import TAU_OVER_TOL, StartingPoint, starting_point

_NOTHING = np.empty((1, 0))
_LARGEST_PART = 1.0 - 1e-10  # of the way to the boundary, with two lengths: beyond, rounding may end on it
_STUCK_STEP, _STUCK_STEPS = 1e-6, 3  # so many steps in a row shorter than this: rounding has won


class Published(Interior):
    """An interior point that moves as the thesis says.  r_p: (m',) [m/s], bilateral rows first; r_d: (n,) [N s], empty
    where only D is known."""

    centring, sloppy, centred = 0.0, 0.0, 0.0

    def __init__(self, start: StartingPoint, settings: ThesisIpm, joint: float):
        point = start.x, start.y
        super().__init__(start.standard, start.system, point, correctors=0, joint=joint, single_above=math.inf)
        self.settings = settings
        self.own_u, self.r_p, self.r_d = start.u, start.r_p, start.r_d
        self.saddle = start.system if isinstance(start.system, SaddleSystem) else None

    def _velocity(self) -> np.ndarray:
        """D x + q; with velocities of its own what they give."""
        if self.saddle is None:
            return super()._velocity()
        self.saddle.momentum, self.saddle.joint = self.r_d, self.r_p[: self.standard.free]
        return self.y + self.r_p

    @property
    def u(self) -> np.ndarray:
        """Velocities, (n,): unknowns of their own, or those with H (u − u_f) − Jᵀ λ = r_d."""
        if self.saddle is not None or not len(self.r_d):
            return self.own_u
        problem = self.standard.problem
        return problem.body_velocity(self.standard.reactions(self.x)) + problem.delassus.mass_solve(self.r_d)

    def _fraction(self) -> float:
        return min(self.settings.inside, 0.9 + 0.1 * math.exp(-self.tau * max(1, self.standard.cone.degree)))

    def _lengths(self, part: float) -> tuple[float, float]:
        """Of steps of y and of x, at most one, `part` of the way to the boundary."""
        free, limits = self.standard.free, self.standard.limits
        of_y = largest_step(limits, self.y[free:], self.work.dy[free:])
        of_x = largest_step(limits, self.x[free:], self.work.dx[free:])
        return min(1.0, part * of_y), min(1.0, part * of_x)

    def _aimed(self, aim: Aim) -> Aim:
        """σ by the predictor's two lengths, where there are two."""
        if self.settings.lengths == "common" or not self.tau > 0.0:
            return aim
        of_y, of_x = self._lengths(1.0)
        free, work = self.standard.free, self.work
        ahead = float((self.x + of_x * work.dx)[free:] @ (self.y + of_y * work.dy)[free:])
        left = ahead / (max(1, self.standard.cone.degree) * self.tau)
        sigma = centring_parameter(left, min(of_x, of_y), self.centring)
        return aim._replace(sigma=sigma, target=sigma * self.tau)

    def _move(self, longest: float) -> tuple[float, float, int]:
        free, limits, work = self.standard.free, self.standard.limits, self.work
        if self.settings.lengths == "common":
            step, tau, short = super()._move(longest)
            of_y = of_x = step
        else:
            of_y, of_x = self._lengths(min(_LARGEST_PART, self._fraction()))
            self.x += of_x * work.dx
            self.y[free:] += of_y * work.dy[free:]
            step, short = min(of_y, of_x), 0
            tau, _ = centrality(limits, self.x[free:], self.y[free:])
        self.r_p *= 1.0 - of_y
        self.r_d *= 1.0 - of_y
        if of_x != of_y:
            self.r_p += (of_x - of_y) * self.standard.soft * work.dx
            if len(self.r_d):
                jacobian = self.standard.problem.delassus.jacobian()
                self.r_d += (of_y - of_x) * (jacobian.T @ self.standard.reactions(work.dx))
        if self.saddle is not None:
            self.own_u += of_y * self.saddle.du
        return step, tau, short

    def step(self) -> bool:
        works, free = super().step(), self.standard.free
        self.details |= {
            "r_p": _per_row(self.r_p[free:]),
            "r_joint": _per_row(self.r_p[:free]),
            "r_d": _per_row(self.r_d),
        }
        return works

    def is_below(self, tol: float) -> bool:
        """Is the published rule met?"""
        last = self.details
        return "tau" in last and max(last["r_p"], last["r_joint"], last["r_d"]) < tol and self.tau < TAU_OVER_TOL * tol


def _per_row(x: np.ndarray) -> float:
    """‖x‖ / n, as the thesis's chapter 5 measures residuals."""
    return float(np.linalg.norm(x)) / max(1, len(x))


class ThesisMethod(Explained):
    """One iteration of the driver is one of the method's."""

    def __init__(self, problem: Problem, settings: Settings, reactions: np.ndarray):
        assert isinstance(settings, ThesisIpm)
        super().__init__(problem, settings, reactions)
        is_saddle = settings.linear == "saddle"
        if is_saddle and not has_masses(problem):
            raise SettingsError("linear='saddle' needs masses, and this problem holds only D: use linear='dual'")
        if is_saddle and problem.mu.any():
            raise SettingsError("linear='saddle' is for contacts without friction: use linear='augmented'")
        contradiction = self.infeasibility.find_contradiction() if problem.cone.bilateral.size else None
        if self.infeasibility.is_clear:
            self.finished = True
            return
        left_out = None if contradiction is None else contradiction.velocity
        self.standard = Standard(problem, scaled=False, contradiction=left_out)
        self.scaled = Standard(problem)  # to tell large reactions from ordinary ones
        self.system: System = (
            SaddleSystem(self.standard, settings.backend, settings.threads)
            if is_saddle
            else system_of(self.standard, settings)
        )
        self.falls_back = settings.warm in ("partial", "full")  # where that start fails (Mangoni, thesis, §4.11)
        self._begin(settings)

    def _begin(self, settings: ThesisIpm) -> None:
        free, mobility = self.standard.free, 1.0
        if free:
            mobility = float(self.problem.delassus.diagonal[:free].mean()) or 1.0
        joint = settings.joint / mobility
        start = starting_point(self.standard, self.system, settings, self.reactions, joint)
        self.interior = Published(start, settings, joint)
        self.stuck = 0

    def advance(self, count: int) -> None:
        """`count` iterations. Without limits and contacts each solves the linear system of the joints (Mangoni, thesis,
        §4.9), the second to remove what their penalty left."""
        for _ in range(count):
            if self.finished:
                return
            works, details = self.interior.step(), self.interior.details
            self.batches.append((tuple(details), np.array([list(details.values())])))
            reactions = self.standard.reactions(self.interior.x)
            point = self.scaled.from_reactions(reactions)
            size = float(np.abs(point).max(initial=0.0))
            if self.may_offer(Outcome(1, RUNNING, point, size, *self.scaled.natural_map(point), (), _NOTHING)):
                self.reactions[:] = reactions
            self.stuck = self.stuck + 1 if details.get("step", 0.0) < _STUCK_STEP else 0
            if works and self.stuck < _STUCK_STEPS:
                self.finished = self.finished or self.interior.is_below(self.settings.own_tol)
            elif self.falls_back:
                self.falls_back = False
                self._begin(self.settings.changed(warm="none"))
            else:
                self.finished = True

    def proofs(self) -> tuple[np.ndarray, ...]:
        return self.standard.reactions(self.interior.x), self.standard.reactions(self.interior.dx)
