"""Softness of contacts that the linear systems are given, and the solution is not (Kleinert et al. 2014, §4.6.1).

N is rank deficient wherever contacts are hyperstatic. Kleinert et al. 2014 add R = 1 / (h² k), the inverse of the
impulse a contact of stiffness k answers a unit velocity with, to the matrix of every direction: the point approached is
still the rigid one.
"""

import numpy as np

from delassus.errors import SettingsError
from delassus.solvers.interior.inexact.settings import IpmInexact
from delassus.solvers.interior.standard import Standard

_WEAK, _LEAST = 100.0, 1e-4  # blocks of condition below 100 are as soft as asked for; the weakest 10⁴ times less


def normal_over_tangential(poisson: float) -> float:
    """k_n / k_t of a material with Poisson's ratio ν (Kleinert et al. 2014, eq. 33)."""
    return (2.0 - poisson) * (1.0 + poisson) / (2.0 * (1.0 - poisson**2))


def _weakness(standard: Standard, mobility: np.ndarray) -> np.ndarray:
    """(blocks,) least eigenvalue of each contact's block over its mobility, times _WEAK, between _LEAST and one."""
    problem = standard.problem
    out = np.ones(len(standard.start) - 1)
    if standard.cones:
        blocks = problem.diagonal_blocks[len(problem.diagonal_blocks) - 9 * problem.contact_count :].reshape(-1, 3, 3)
        first = problem.cone.bilateral.size + problem.cone.unilateral
        own = blocks[standard.cone.block[-standard.cones :] - first]
        factor = standard.factor[-3 * standard.cones :].reshape(-1, 3)
        scaled = factor[:, :, None] * 0.5 * (own + own.transpose(0, 2, 1)) * factor[:, None]
        weak = np.linalg.eigvalsh(scaled)[:, 0] / mobility[-standard.cones :]
        out[-standard.cones :] = np.clip(_WEAK * weak, _LEAST, 1.0)
    return out


def _mobility(standard: Standard) -> np.ndarray:
    """(blocks,) mean diagonal of D in the units of `standard`: one where it is scaled."""
    if not standard.row_count:
        return np.ones(0)
    diagonal = standard.factor**2 * standard.problem.delassus.diagonal[standard.cone.rows]
    mean = np.add.reduceat(diagonal, standard.start[:-1]) / np.diff(standard.start)
    return np.where(mean > 0.0, mean, 1.0)


def softness(standard: Standard, settings: IpmInexact) -> np.ndarray:
    """The diagonal of R in scaled units, (m',)."""
    problem, cone = standard.problem, standard.cone
    sizes = np.diff(standard.start)
    # what is little to a block's mobility on average is much to the weak direction of some
    mobility = _mobility(standard)
    out = settings.regularisation * np.repeat(mobility * _weakness(standard, mobility), sizes)
    ratio = normal_over_tangential(settings.poisson)
    if settings.stiffness is not None:
        given = np.asarray(settings.stiffness, dtype=float)
        if given.ndim and len(given) != problem.contact_count:
            raise SettingsError(
                f"stiffness holds {len(given)} values for {problem.contact_count} contacts: give one each or one in all"
            )
        first = problem.cone.bilateral.size + problem.cone.unilateral
        per_block = np.full(problem.cone.block_count, np.nan)
        per_block[first:] = 1.0 / given
        own = np.repeat(per_block[cone.block], sizes) * standard.factor**2
        out = np.where(np.isnan(own), out, own)
    tangential = np.zeros(standard.row_count, bool)
    triples = tangential[standard.free + standard.limits :]
    triples[1::3] = triples[2::3] = True
    out[tangential] *= ratio
    return out
