"""When there is no solution: contradictions between joints, and what to make of a run that got stuck.

Contradictions are looked at before anything else: penalties would answer with reactions as large as they are stiff, and
against such reactions any residual is small. Redundant rows of a closed mechanism never agree exactly; what little they
disagree is left out, and only the judge says whether the rest is a solution.

Whether a motion obeys the constraints does not depend on masses, but whether an interior point gets far enough to tell
does: with ratios of 10¹² digits are lost first. So where a run has failed, it is tried again with unit masses.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.linalg.iterative.conjugate_gradients import dot
from delassus.problem import Problem
from delassus.solvers.interior.certificate import Certificate
from delassus.solvers.interior.iteration import LARGE
from delassus.solvers.interior.settings import InteriorSettings
from delassus.solvers.interior.sparse_phases import Interior
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.systems import system_of
from delassus.solvers.interior.weights import Weights
from delassus.solvers.parts.jordan import centred_pair
from delassus.status import Status

_PENALTY, _REFINEMENTS = 1e4, 8  # of joints looked at alone; stiffer ones would drown the contradiction in rounding
_CONSISTENT = 1e-12  # what may be left of their velocities
_LEFT_OUT = 1e6  # times max|v_f|: speed beyond which meeting all rows is not even tried
_IMMOVABLE = 1e7  # the same where only D is known: v·q over ‖D v‖, in scaled units
_DRIFT = 1e-2  # contradiction, over what joints ask for, up to which a solution without it is worth finding
_STEPS = 30  # with unit masses
_SOLVED_TAU = 1e-9  # τ, in scaled units, at which the problem with unit masses is as good as solved


def is_large(x: np.ndarray) -> bool:
    """Are these scaled reactions so large that the problem may have no solution?"""
    return bool(np.abs(x).max(initial=0.0) >= LARGE)


class Contradiction(NamedTuple):
    """velocity: (m_e,) [m/s] that no reactions change; direction: (m,) the reactions that prove it."""

    velocity: np.ndarray
    direction: np.ndarray


class Infeasibility:
    """What is known about whether a problem has a solution."""

    def __init__(self, problem: Problem, settings: InteriorSettings):
        self.problem, self.settings = problem, settings
        self.certificate = Certificate(problem)
        self.known: Contradiction | None = None

    @property
    def is_clear(self) -> bool:
        """Is it clear before the first iteration that there is no solution? A proven contradiction no larger than the
        drift of a closed mechanism is left out first: a loose tolerance may be met without it."""
        if self.certificate.is_immovable:
            return True
        if self.known is None:
            return False
        asked = self.problem.free_velocity[: len(self.known.velocity)]
        if np.abs(self.known.velocity).max() <= _DRIFT * np.abs(asked).max():
            return False
        return self.certificate.proves(self.known.direction, purify=True)

    def proves(self, *directions: np.ndarray) -> bool:
        """Is one of these reactions (m,), or what is near it, a proof?"""
        return self.certificate.proves(*directions, purify=True)

    def verdict(self, *directions: np.ndarray) -> Status | None:
        """What to call a run that ends with these reactions (m,), unless the judge is content."""
        if self.known is not None:
            directions = (self.known.direction, *directions)
        if self.proves(*directions) or self._proves_with_unit_masses():
            return Status.INFEASIBLE
        return None

    def given_contradiction(self, velocity: np.ndarray) -> Contradiction:
        """The inconsistent part (m_e,) [m/s] of the joints' velocities."""
        mobility = self.problem.delassus.diagonal[: len(velocity)]  # rows were normalised by its root
        direction = np.zeros(self.problem.row_count)
        direction[: len(velocity)] = -velocity / np.where(mobility > 0.0, mobility, 1.0)
        self.known = Contradiction(velocity, direction)
        return self.known

    def find_contradiction(self) -> Contradiction | None:
        """The part of the joints' free velocities that they cannot get rid of, or None."""
        problem = self.problem
        count = problem.cone.bilateral.size
        kept = np.zeros(problem.cone.block_count, bool)
        kept[:count] = True
        standard = Standard(problem, kept)
        system = system_of(standard, self.settings)
        weights = Weights(standard.free, 0, 0, system.needs_roots)
        weights.diagonal[:] = 1.0 / (1.0 / _PENALTY + standard.soft)
        if not system.factor(weights, False):
            return None
        x, dx, image = np.zeros(standard.row_count), np.empty(standard.row_count), np.empty(standard.row_count)
        v = standard.q
        for _ in range(_REFINEMENTS):
            if not system.solve(-weights.times(v), dx, image, 0.0):
                return None
            x += dx
            v = standard.product(x) + standard.q
            if np.abs(v).max() <= _CONSISTENT * np.abs(standard.q).max():
                return None
        found = Contradiction(v * standard.unit / standard.factor, standard.reactions(-v))
        if problem.delassus.is_primal:
            is_vain = self.certificate.speed(found.direction, purify=True) > _LEFT_OUT
        else:  # no bodies whose speed could be asked for
            image = standard.product(v)
            is_vain = dot(v, standard.q) > _IMMOVABLE * math.sqrt(standard.row_count * dot(image, image))
        self.known = found if is_vain else None
        return self.known

    def _proves_with_unit_masses(self) -> bool:
        """Is there a proof? False may also mean that none was found."""
        problem, certificate, settings = self.problem, self.certificate, self.settings
        easier = problem.delassus.with_unit_masses()
        if easier is None:
            return False
        standard = Standard(
            Problem(easier, problem.free_velocity, problem.cone, problem.law, u_f=problem.u_f, bias=problem.bias)
        )
        free = standard.free
        x, y = np.zeros(standard.row_count), np.zeros(standard.row_count)
        centred_pair(standard.limits, -standard.q[free:], 1.0, x[free:], y[free:])
        interior = Interior(
            standard,
            system_of(standard, settings),
            (x, y),
            correctors=settings.correctors,
            joint=settings.joint,
            single_above=math.inf,
        )
        for _ in range(_STEPS):
            works = interior.step()
            if is_large(interior.x):
                certificate.speed(standard.reactions(interior.x))
                certificate.speed(standard.reactions(interior.dx))
            if not works or interior.tau < _SOLVED_TAU:
                break
        return self.proves(standard.reactions(interior.x), standard.reactions(interior.dx))
