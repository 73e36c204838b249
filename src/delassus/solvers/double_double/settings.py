"""Settings of `ipm-dd`, what it takes, and what it is for."""

from dataclasses import dataclass

import numpy as np

from delassus.problem import Problem
from delassus.solvers.settings import Count, Fraction, Settings

_MOST_VELOCITIES = 300  # the matrix is dense, and one operation on pairs takes about twenty on doubles
_SYMMETRIC = 1e-12  # relative skew part below which a mass is taken as symmetric


@dataclass(frozen=True)
class DoubleDoubleIpm(Settings):
    """Settings of the interior point with numbers of two doubles."""

    hand_over: Fraction = 1e-5  # worst velocity, over the free ones of its island, from which the polish goes on
    polish_steps: Count = 24  # before the interior point is asked to come a hundred times nearer


def takes_pairs(problem: Problem) -> bool:
    """A few rigid bodies of symmetric mass whose contacts are hard."""
    if not problem.delassus.has_bodies or problem.u_f is None or problem.delassus.velocity_count > _MOST_VELOCITIES:
        return False
    rigid = problem.delassus.rigid
    soft = rigid.compliance
    if soft is not None and soft[problem.cone.contact_start :].any():
        return False
    skew = np.abs(rigid.mass - rigid.mass.transpose(0, 2, 1)).max(axis=(1, 2), initial=0.0)
    return bool((skew <= _SYMMETRIC * np.abs(rigid.mass).max(axis=(1, 2), initial=0.0)).all())
