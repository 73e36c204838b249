"""Joints eliminated from random mechanisms, redundant ones too: what is left is a problem like any other."""

import numpy as np
import pytest

from delassus.problem.random import random_rigid
from delassus.solvers import solve
from delassus.solvers.parts.elimination import Elimination


def mechanisms(count, seed=3):
    """Some of their contacts touch bodies that the joints hold altogether: nothing of their mobility is left."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield random_rigid(
            rng, bodies=int(rng.integers(1, 8)), contacts=int(rng.integers(1, 8)), joints=int(rng.integers(1, 6)),
            limits=int(rng.integers(0, 3)), redundant_joints=True, mass_ratio=10.0 ** rng.uniform(0.0, 4.0),
        )  # fmt: skip


def test_what_joints_leave_of_D_is_positive_semi_definite_and_held_rows_are_exactly_zero():
    held = 0
    for problem in mechanisms(100):
        left = Elimination(problem)
        diagonal = np.diag(left.D)
        assert (diagonal >= 0.0).all()
        values = np.linalg.eigvalsh(0.5 * (left.D + left.D.T))
        assert values.min() >= -1e-9 * problem.delassus.diagonal.max()
        zero = diagonal == 0.0
        held += zero.sum()
        assert not left.D[zero].any()
        assert not left.D[:, zero].any()
        left.problem()  # refuses negative diagonals
    assert held > 100


@pytest.mark.parametrize("solver", ["nbgs-direct", "prox-ssn"])
def test_redundant_joints_raise_nothing_and_are_solved(solver):
    outcomes = [solve(problem, solver, tol=1e-6, max_iter=3000).converged for problem in mechanisms(100)]
    assert np.mean(outcomes) >= 0.95  # sweeps may be slow; raising is what they must not
