"""Joints eliminated from random mechanisms, redundant ones too: what is left is a problem like any other."""

import numpy as np
import pytest

from delassus.cones import ProductCone
from delassus.linalg.factor.dense_elimination import Elimination, carry, subtract_carried
from delassus.problem import Problem
from delassus.problem.random import random_rigid
from delassus.solvers import solve


def mechanisms(count, seed=3):
    """Some of their contacts touch bodies that the joints hold altogether: nothing of their mobility is left."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield random_rigid(
            rng,
            bodies=int(rng.integers(1, 8)),
            contacts=int(rng.integers(1, 8)),
            joints=int(rng.integers(1, 6)),
            limits=int(rng.integers(0, 3)),
            redundant_joints=True,
            mass_ratio=10.0 ** rng.uniform(0.0, 4.0),
        )


def test_what_joints_leave_of_D_is_positive_semi_definite_and_held_rows_are_exactly_zero():
    held = 0
    for problem in mechanisms(100):
        left = Elimination(problem.delassus.dense(), problem.free_velocity, problem.cone.bilateral_rows)
        diagonal = np.diag(left.D)
        assert (diagonal >= 0.0).all()
        values = np.linalg.eigvalsh(0.5 * (left.D + left.D.T))
        assert values.min() >= -1e-9 * problem.delassus.diagonal.max()
        zero = diagonal == 0.0
        held += zero.sum()
        assert not left.D[zero].any()
        assert not left.D[:, zero].any()
        behind = ProductCone((), problem.cone.unilateral, problem.mu)
        Problem.dual(left.D, left.v, cone=behind)  # refuses negative diagonals
    assert held > 100


@pytest.mark.parametrize("solver", ["nbgs-direct", "prox-ssn"])
def test_redundant_joints_raise_nothing_and_are_solved(solver):
    outcomes = [solve(problem, solver, tol=1e-6, max_iter=3000).converged for problem in mechanisms(100)]
    assert np.mean(outcomes) >= 0.95  # sweeps may be slow; raising is what they must not


def redundant(count, rank, seed):
    """(D, v) whose first `count` rows have this rank, and ask nothing that contradicts itself."""
    rng = np.random.default_rng(seed)
    m = count + 12
    J = rng.normal(size=(m, m + 3))
    J[:count] = rng.normal(size=(count, rank)) @ J[:rank]
    D, v = J @ J.T / m, rng.normal(size=m)
    v[:count] = D[:count, :count] @ v[:count]
    return D, v


@pytest.mark.parametrize("count", [1, 5, 90])
@pytest.mark.parametrize("share", [1.0, 0.7])
def test_elimination_is_the_schur_complement(count, share):
    """Against the pseudo-inverse, with redundant rows and without, in compiled code and behind LAPACK; and the
    reactions given back obey the rows that were eliminated."""
    D, v = redundant(count, max(1, int(share * count)), count)
    left = Elimination(D, v, count)
    inverse = np.linalg.pinv(D[:count, :count], rcond=1e-10)
    assert np.allclose(left.D, D[count:, count:] - D[count:, :count] @ inverse @ D[:count, count:], atol=1e-8)
    assert np.allclose(left.v, v[count:] - D[count:, :count] @ inverse @ v[:count], atol=1e-7)
    reactions = np.random.default_rng(0).normal(size=len(v))
    left.write_leading(reactions)
    assert np.allclose((D @ reactions + v)[:count], 0.0, atol=1e-6)
    assert np.allclose((D @ reactions + v)[count:], left.D @ reactions[count:] + left.v, atol=1e-6)


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_compiled_elimination_is_the_same(share):
    """`carry` and `subtract_carried`, for compiled code, against `Elimination`."""
    count = 10
    D, v = redundant(count, int(share * count), 3)
    left = Elimination(D, v, count)
    behind = len(v) - count
    carried, D_behind, v_behind = np.empty((count, behind + 1)), np.empty((behind, behind)), np.empty(behind)
    assert carry(D, v, carried)
    subtract_carried(D, v, carried, D_behind, v_behind)
    assert np.allclose(D_behind, left.D, atol=1e-9)
    assert np.allclose(v_behind, left.v, atol=1e-9)
    reactions = np.random.default_rng(0).normal(size=len(v))
    compiled = -(carried[:, :-1] @ reactions[count:] + carried[:, -1])
    left.write_leading(reactions)
    assert np.allclose(compiled, reactions[:count], atol=1e-7)  # the smallest of many, in the same units


def test_elimination_takes_matrices_that_are_not_symmetric():
    rng = np.random.default_rng(0)
    J = rng.normal(size=(10, 14))
    D = J @ J.T
    D += 0.05 * (J[:, :10] - J[:, :10].T)
    v = rng.normal(size=10)
    left = Elimination(D, v, 4)
    solved = np.linalg.solve(D[:4, :4], np.column_stack([D[:4, 4:], v[:4]]))
    assert np.allclose(left.D, D[4:, 4:] - D[4:, :4] @ solved[:, :-1])
    assert np.allclose(left.v, v[4:] - D[4:, :4] @ solved[:, -1])
    assert not carry(D, v, np.empty((4, 7)))  # compiled code leaves them to others
