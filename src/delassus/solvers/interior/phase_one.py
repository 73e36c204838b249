"""Looking for a proof of infeasibility where a run has failed: the same constraints with easier bodies.

Whether a motion obeys the constraints does not depend on masses, but whether an interior point gets far enough to tell
does: with ratios of 10¹² digits are lost first. So it is tried again with unit masses.
"""

import math

import numpy as np
import scipy.sparse as sp

from delassus.linalg.operators.matrix import MatrixDelassus
from delassus.linalg.operators.rigid import RigidDelassus
from delassus.linalg.operators.sparse import SparseDelassus
from delassus.problem import Problem
from delassus.solvers.interior.certificate import Certificate, radius_of_gyration
from delassus.solvers.interior.interior import Interior
from delassus.solvers.interior.natural_map import LARGE
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.systems import system_of
from delassus.solvers.parts.jordan import centred_pair

_STEPS = 30
_SMALL = 1e-9  # τ, in scaled units, at which the easier problem is as good as solved


def finds_proof(certificate: Certificate, settings: Ipm) -> bool:
    """Is there a proof? False may also mean that none was found."""
    easier = _easier(certificate.problem)
    if easier is None:
        return False
    standard = Standard(easier)
    free = standard.free
    x, y = np.zeros(standard.row_count), np.empty(standard.row_count - free)
    centred_pair(standard.limits, -standard.q[free:], 1.0, x[free:], y)
    interior = Interior(standard, system_of(standard, settings), x, y, correctors=settings.correctors,
                        joint=settings.joint, single_above=math.inf)  # fmt: skip
    for _ in range(_STEPS):
        works = interior.step()
        if np.abs(interior.x).max(initial=0.0) >= LARGE:
            certificate.speed(standard.reactions(interior.x))
            certificate.speed(standard.reactions(interior.dx))
        if not works or interior.tau < _SMALL:
            break
    return certificate.proves(standard.reactions(interior.x), standard.reactions(interior.dx), purify=True)


def _easier(problem: Problem) -> Problem | None:
    """Unit masses, those of rotations from the radius of gyration; what is soft stays so. None: only D is known."""
    old = problem.delassus
    if isinstance(old, MatrixDelassus):
        return None
    soft = None if old.compliance is None else np.where(old.compliance > 0.0, 1.0, 0.0)
    new: RigidDelassus | SparseDelassus
    if isinstance(old, RigidDelassus):
        mass = np.tile(np.eye(6), (len(old.mass), 1, 1))
        mass[:, 3:, 3:] *= radius_of_gyration(old.mass)[:, None, None] ** 2
        new = RigidDelassus(mass, old.bodies, old.rows, old.block_start, soft)
    else:
        new = SparseDelassus(sp.csr_array(sp.eye_array(old.velocity_count)), old.jacobian(), soft)
    return Problem(new, problem.free_velocity, problem.cone, problem.law, u_f=problem.u_f, bias=problem.bias)
