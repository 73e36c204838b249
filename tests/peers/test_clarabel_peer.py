"""The convex law against Clarabel, an interior-point solver for cone programs (direct comparison of the optimum)."""

import numpy as np
import pytest
import scipy.sparse as sp

from delassus.law import Law
from delassus.problem.random import random_rigid
from delassus.solvers import solve

clarabel = pytest.importorskip("clarabel")
pytestmark = pytest.mark.peer

AGREE = 1e-7  # relative, on the objective: Clarabel stops at 1e-9


def clarabel_reactions(problem):
    """Reactions of min ½ u·Hu − p·u over J u + b in K*, its multipliers."""
    d, cone, mu = problem.delassus, problem.cone, problem.mu
    factor = np.ones(problem.row_count)
    factor[cone.contact_start :: 3] = 1.0 / mu
    cones = []
    if cone.bilateral_rows:
        cones.append(clarabel.ZeroConeT(cone.bilateral_rows))
    if cone.unilateral:
        cones.append(clarabel.NonnegativeConeT(cone.unilateral))
    cones += [clarabel.SecondOrderConeT(3)] * cone.contact_count
    H = d.mass_matrix()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(sp.triu(H)),
        -(H @ problem.u_f),
        sp.csc_matrix(-sp.diags_array(factor) @ d.jacobian()),
        factor * problem.bias,
        cones,
        settings,
    )
    return factor * np.array(solver.solve().z)


@pytest.mark.parametrize("seed", range(4))
def test_objective_agrees(seed):
    problem = random_rigid(np.random.default_rng(seed), bodies=30, contacts=80, joints=6, limits=5, law=Law.CCP)

    def objective(reactions):
        return 0.5 * reactions @ (problem.constraint_velocity(reactions) + problem.free_velocity)

    ours = solve(problem, "ipm", tol=1e-10)
    theirs = clarabel_reactions(problem)
    assert ours.converged
    assert objective(ours.reactions) == pytest.approx(objective(theirs), rel=AGREE)
