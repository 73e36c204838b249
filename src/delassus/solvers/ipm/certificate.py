"""A proof that no motion obeys the constraints.

Velocities y = q + D ξ in C* need d·y ≥ 0 for every d in C. A d with d·q < 0 and D d = 0 therefore proves that there are
none, and one with small D d that reactions of at least −d·q / ‖D d‖ would be needed.
"""

import math

import numpy as np
from numba import njit

from delassus.linalg.conjugate_gradients import dot
from delassus.problem import Problem
from delassus.solvers.ipm.natural_map import project_standard, scaled_residual
from delassus.solvers.ipm.settings import Ipm
from delassus.solvers.ipm.standard import Standard
from delassus.solvers.ipm.systems import system_of
from delassus.solvers.ipm.weights import Weights

_BEYOND = 1e7  # reactions, in scaled units where those of a single contact are about one, that nobody means
LARGE = 1e3  # reactions in these units …
FAR_OFF = 1e-2  # … that do not go together with velocities that miss by this much of the rms of free ones
_PENALTY, _REFINEMENTS = 1e4, 8  # of joints looked at alone; stiffer ones would drown the contradiction in rounding
_CONSISTENT = 1e-12  # what may be left of their velocities
_DRIFT = 1e-2  # contradiction, over what joints ask for, up to which it is left out instead of refused


def proves_infeasible(standard: Standard, direction: np.ndarray, least: float = 0.0) -> bool:
    """Is this direction, projected onto C, such a proof?  least: size below which it is not worth looking."""
    size = float(np.abs(direction).max(initial=0.0))
    if not (size >= least and math.isfinite(size)) or size == 0.0:
        return False
    d = direction / size
    project_standard(standard.free, standard.limits, d)
    push = -dot(d, standard.q)
    if push <= 1e-10 * dot(np.abs(d), np.abs(standard.q)):
        return False
    image = standard.product(d)
    return push > _BEYOND * math.sqrt(standard.row_count * dot(image, image))


def ordinary_size(problem: Problem) -> float:
    """Scaled reactions up to here prove nothing. Where a light body carries many heavy ones, they are as large as the
    ratio of mobilities times their number: a stack of spheres of 10¹ … 10⁸ kg was called infeasible."""
    cone = problem.cone
    count, ratio = _mobilities(problem.diagonal_blocks, cone.block_start, cone.bilateral.size)
    return max(LARGE, 10.0 * count * ratio)


@njit(cache=True)
def _mobilities(diagonal_blocks, block_start, first):
    """(rows that can move, largest over smallest of their entries on the diagonal), from block `first` on."""
    least, most, count, at = math.inf, 0.0, 0, 0
    for k in range(len(block_start) - 1):
        size = block_start[k + 1] - block_start[k]
        if k >= first:
            for i in range(size):
                own = diagonal_blocks[at + i * (size + 1)]
                if own > 0.0:
                    least, most, count = min(least, own), max(most, own), count + 1
        at += size * size
    return count, most / least if count else 1.0


def is_suspicious(standard: Standard, x: np.ndarray) -> bool:
    """Are these reactions very large while some velocity is still far off? Against them any residual is small, so such
    a point is not offered to the judge: it is on its way to a proof of infeasibility, or to a better point."""
    if np.abs(x).max(initial=0.0) < LARGE:
        return False
    return scaled_residual(standard, x)[1] > FAR_OFF


def joint_contradiction(problem: Problem, settings: Ipm) -> np.ndarray | None:
    """What bilateral rows ask of each other in vain: velocities (m_e,) [m/s] that no reactions change, or None.

    Looked at before anything else: penalties would answer with reactions as large as they are stiff, and against such
    reactions any residual is small."""
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
    return v * standard.unit / standard.factor if proves_infeasible(standard, -v) else None


def is_hopeless(problem: Problem, contradiction: np.ndarray | None) -> bool:
    """Is it more than the drift of a closed mechanism, whose redundant rows never agree exactly?"""
    if contradiction is None:
        return False
    asked = problem.free_velocity[: len(contradiction)]
    return bool(np.abs(contradiction).max() > _DRIFT * np.abs(asked).max())
