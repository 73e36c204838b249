"""What bilateral rows ask of each other in vain.

Looked at before anything else: penalties would answer with reactions as large as they are stiff, and against such
reactions any residual is small. Redundant rows of a closed mechanism never agree exactly; what little they disagree is
left out, and only the judge says whether the rest is a solution.
"""

import math
from typing import NamedTuple

import numpy as np

from delassus.linalg.iterative.conjugate_gradients import dot
from delassus.linalg.operators.matrix import MatrixDelassus
from delassus.problem import Problem
from delassus.solvers.interior.certificate import Certificate
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.systems import system_of
from delassus.solvers.interior.weights import Weights

_PENALTY, _REFINEMENTS = 1e4, 8  # of joints looked at alone; stiffer ones would drown the contradiction in rounding
_CONSISTENT = 1e-12  # what may be left of their velocities
_LEFT_OUT = 1e6  # times max|v_f|: speed beyond which meeting all rows is not even tried
_IMMOVABLE = 1e7  # the same where only D is known: v·q over ‖D v‖, in scaled units
_DRIFT = 1e-2  # contradiction, over what joints ask for, up to which a solution without it is worth finding


class Contradiction(NamedTuple):
    """velocity: (m_e,) [m/s] that no reactions change; direction: (m,) the reactions that prove it."""

    velocity: np.ndarray
    direction: np.ndarray


def joint_contradiction(problem: Problem, settings: Ipm, certificate: Certificate) -> Contradiction | None:
    """The part of the joints' free velocities that they cannot get rid of, or None."""
    count = problem.cone.bilateral.size
    if count == 0:
        return None
    kept = np.zeros(problem.cone.block_count, bool)
    kept[:count] = True
    standard = Standard(problem, kept)
    system = system_of(standard, settings)
    weights = Weights(standard.free, 0, 0, system.needs_roots)
    weights.diagonal[:] = _PENALTY
    if standard.compliance is not None:
        weights.diagonal[:] = 1.0 / (1.0 / _PENALTY + standard.compliance)
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
    if isinstance(problem.delassus, MatrixDelassus):  # no bodies whose speed could be asked for
        image = standard.product(v)
        is_vain = dot(v, standard.q) > _IMMOVABLE * math.sqrt(standard.row_count * dot(image, image))
    else:
        is_vain = certificate.speed(found.direction, purify=True) > _LEFT_OUT
    return found if is_vain else None


def is_hopeless(contradiction: Contradiction | None, certificate: Certificate) -> bool:
    """Is it clear before the first iteration that there is no solution? A proven contradiction no larger than the drift
    of a closed mechanism is left out first: a loose tolerance may be met without it."""
    if certificate.is_immovable:
        return True
    if contradiction is None:
        return False
    asked = certificate.problem.free_velocity[: len(contradiction.velocity)]
    if np.abs(contradiction.velocity).max() <= _DRIFT * np.abs(asked).max():
        return False
    return certificate.proves(contradiction.direction, purify=True)
