"""Minima of the convex law against Clarabel, an interior-point method for cone programs."""

import numpy as np
import pytest
import scipy.sparse as sp

from delassus.law import Law
from delassus.problem.random import random_dual, random_rigid
from delassus.solvers import solve

clarabel = pytest.importorskip("clarabel")
pytestmark = pytest.mark.peer

AGREE = 1e-7  # of objective values, relative; Clarabel's own accuracy is 1e-8


def problems():
    rng = np.random.default_rng(17)
    return {
        "contacts": random_rigid(rng, bodies=12, contacts=20, law=Law.CCP),
        "hyperstatic": random_rigid(rng, bodies=5, contacts=25, law=Law.CCP),
        "all rows": random_rigid(rng, bodies=10, contacts=15, joints=3, limits=5, frictionless_part=0.3, law=Law.CCP),
        "compliant": random_rigid(rng, bodies=6, contacts=20, joints=2, compliance=0.05, law=Law.CCP),
        "frictionless": random_rigid(rng, bodies=8, contacts=25, limits=3, law=Law.FRICTIONLESS),
        "dense": random_dual(rng, contacts=15, law=Law.CCP),
        "rank-deficient": random_dual(rng, contacts=15, rank=25, law=Law.CCP),
    }


def peer_minimum(problem) -> float:
    """min ½ xᵀ D x + v_fᵀ x over the cone."""
    cone, mu, m = problem.cone, problem.mu, problem.row_count
    normal = cone.contact_start + 3 * np.arange(len(mu))
    with_friction = normal[mu > 0]
    without = normal[mu == 0]
    positive = np.concatenate([np.arange(cone.bilateral_rows, cone.contact_start), without])
    zero = np.concatenate([without + 1, without + 2])
    scale = np.ones(m)
    scale[with_friction] = mu[mu > 0]
    friction = (with_friction[:, None] + np.arange(3)).ravel()
    rows = np.concatenate([zero, positive, friction]).astype(int)
    A = -sp.csc_matrix((scale[rows], (np.arange(len(rows)), rows)), shape=(len(rows), m))
    cones = [clarabel.ZeroConeT(len(zero)), clarabel.NonnegativeConeT(len(positive))]
    cones = [kind for kind, count in zip(cones, (len(zero), len(positive))) if count]
    cones += [clarabel.SecondOrderConeT(3)] * len(with_friction)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    P = sp.csc_matrix(np.triu(problem.delassus.dense()))
    answer = clarabel.DefaultSolver(P, problem.free_velocity, A, np.zeros(len(rows)), cones, settings).solve()
    assert str(answer.status) in ("Solved", "AlmostSolved")
    return answer.obj_val


@pytest.mark.parametrize("kind", problems())
def test_minimum_agrees(kind):
    problem = problems()[kind]
    minimum = peer_minimum(problem)
    for name in ("apgd", "spg-fb", "jacobi", "pgs-ccp", "gpminres", "gpminres-p", "kucera"):
        solution = solve(problem, name, tol=1e-9, max_iter=300_000)
        objective = 0.5 * solution.reactions @ (solution.velocities + problem.free_velocity)
        assert solution.converged, solution
        assert abs(objective - minimum) <= AGREE * max(1.0, abs(minimum)), (name, objective, minimum)
