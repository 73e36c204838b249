"""The problem's two views agree, its structure is recognised, and bad data is named."""

import numpy as np
import pytest
import scipy.sparse as sp

from delassus.cones import ProductCone
from delassus.errors import ProblemError
from delassus.linalg.operators.rigid import RigidDelassus
from delassus.linalg.operators.sparse import SparseDelassus
from delassus.problem import Problem, islands, normalise, partition
from delassus.problem.random import random_dual, random_rigid
from delassus.solvers import solve

ROUNDING = 1e-10


@pytest.fixture
def rng():
    return np.random.default_rng(21)


def as_dual(problem):
    return Problem.dual(problem.delassus.matrix(), problem.free_velocity, cone=problem.cone, law=problem.law)


def as_sparse(problem):
    d = problem.delassus
    operator = SparseDelassus(d.mass_matrix(), d.jacobian(), d.compliance)
    return Problem(operator, problem.free_velocity, problem.cone, problem.law, u_f=problem.u_f, bias=problem.bias)


def test_three_storages_are_the_same_operator(rng):
    problem = random_rigid(rng, bodies=7, contacts=10, joints=3, limits=3, mass_ratio=50, compliance=1e-3)
    r = rng.normal(size=problem.row_count)
    D = problem.delassus.matrix().toarray()
    for other in (problem, as_dual(problem), as_sparse(problem)):
        assert np.allclose(other.constraint_velocity(r), D @ r + problem.free_velocity, atol=ROUNDING)
        assert np.allclose(other.delassus.matrix().toarray(), D, atol=ROUNDING)
        assert np.allclose(other.diagonal_blocks, problem.diagonal_blocks, atol=ROUNDING)
        assert other.rho == pytest.approx(problem.rho)


def test_primal_and_dual_velocities_agree(rng):
    problem = random_rigid(rng, bodies=7, contacts=10, joints=2, limits=1)
    r = rng.normal(size=problem.row_count)
    u = problem.body_velocity(r)
    assert np.allclose(problem.delassus.rows_times(u) + problem.bias, problem.constraint_velocity(r), atol=ROUNDING)
    H, J = problem.delassus.mass_matrix(), problem.delassus.jacobian()
    assert np.allclose(H @ u, H @ problem.u_f + J.T @ r, atol=ROUNDING)
    assert as_dual(problem).body_velocity(r) is None


def test_rigid_structure_is_found_in_sparse_matrices(rng):
    problem = random_rigid(rng, bodies=7, contacts=10, joints=2, limits=1)
    H, J = problem.delassus.mass_matrix(), problem.delassus.jacobian()
    again = Problem.primal(H, J, cone=problem.cone, u_f=problem.u_f, b=problem.bias)
    assert isinstance(again.delassus, RigidDelassus)
    assert np.allclose(again.free_velocity, problem.free_velocity, atol=ROUNDING)
    by_momentum = Problem.primal(H, J, cone=problem.cone, p=H @ problem.u_f, b=problem.bias)
    assert np.allclose(by_momentum.free_velocity, problem.free_velocity, atol=ROUNDING)


def test_coupled_mass_stays_sparse(rng):
    problem = random_rigid(rng, bodies=4, contacts=5)
    H = problem.delassus.mass_matrix().tolil()
    H[0, 7] = H[7, 0] = 0.01
    other = Problem.primal(H.tocsr(), problem.delassus.jacobian(), cone=problem.cone, u_f=problem.u_f)
    assert isinstance(other.delassus, SparseDelassus)


def test_row_blocks_on_three_bodies_stay_sparse():
    J = np.zeros((3, 18))
    J[:, [0, 6, 12]] = np.eye(3)
    problem = Problem.primal(np.eye(18), J, mu=[0.3], u_f=np.zeros(18))
    assert isinstance(problem.delassus, SparseDelassus)


@pytest.mark.parametrize("convert", [lambda p: p, as_dual, as_sparse], ids=["rigid", "dual", "sparse"])
def test_islands_and_parts(rng, convert):
    """Two systems glued together come apart again, and their parts have the solutions of the whole."""
    whole = random_rigid(rng, bodies=12, contacts=5, joints=2, limits=2)
    whole = convert(whole)
    label = islands(whole)
    assert label.max() >= 1, "this seed leaves bodies untouched, so several islands"
    parts = partition(whole)
    assert sorted(np.concatenate([rows for rows, _ in parts])) == list(range(whole.row_count))
    solution = solve(whole, "nbgs", tol=1e-11, max_iter=20_000)
    for rows, part in parts:
        assert np.allclose(part.constraint_velocity(solution.reactions[rows]), solution.velocities[rows], atol=1e-9)


def test_islands_are_separated_by_the_world(rng):
    """Two bodies that each touch only the ground are two islands."""
    rows = np.zeros((6, 12))
    rows[:3, 6:9] = rows[3:, 6:9] = np.eye(3)
    problem = Problem.rigid(
        np.stack([np.eye(6)] * 2), [[-1, 0], [-1, 1]], rows, cone=ProductCone(mu=[0.3, 0.3]), u_f=np.zeros(12)
    )
    assert islands(problem).tolist() == [0, 1]


@pytest.mark.parametrize("convert", [lambda p: p, as_dual, as_sparse], ids=["rigid", "dual", "sparse"])
@pytest.mark.parametrize("per_block", [False, True])
def test_scaling_keeps_solutions(rng, convert, per_block):
    problem = convert(random_rigid(rng, bodies=8, contacts=9, joints=1, limits=2, mass_ratio=1e4, compliance=1e-5))
    scaled, scaling = normalise(problem, per_block=per_block)
    assert np.mean(scaled.delassus.diagonal) == pytest.approx(1.0)
    assert np.sqrt(np.mean(scaled.free_velocity**2)) == pytest.approx(1.0)
    r = rng.normal(size=problem.row_count)
    back = scaling.velocity * scaled.constraint_velocity(scaling.scaled_reactions(r)) / scaling.row
    assert np.allclose(back, problem.constraint_velocity(r), rtol=1e-8, atol=1e-8)
    assert np.allclose(scaling.reactions(scaling.scaled_reactions(r)), r)
    solution = solve(scaled, tol=1e-10, max_iter=100_000)
    judged = solve(problem, guess=scaling.reactions(solution.reactions), tol=1e-6, max_iter=0)
    assert judged.converged


EYE = np.eye(6)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Problem.dual(np.zeros((3, 4)), np.zeros(3), mu=[0.1]), r"D has shape \(3, 4\)"),
        (lambda: Problem.dual(np.eye(6), np.zeros(6), mu=[0.1]), r"D has size 6, expected 3"),
        (lambda: Problem.dual(np.eye(3), np.zeros(4), mu=[0.1]), r"v_f has shape \(4,\), expected \(3,\)"),
        (lambda: Problem.dual(np.eye(3), [0, np.nan, 0], mu=[0.1]), r"v_f\[1\] is nan"),
        (lambda: Problem.dual(np.diag([np.inf, 1.0, 1.0]), np.zeros(3), mu=[0.1]), r"D.*is inf.*finite"),
        (lambda: Problem.dual(-np.eye(3), np.zeros(3), mu=[0.1]), r"D\[0, 0\] is -1.0"),
        (lambda: Problem.dual(np.eye(3), np.zeros(3), mu=[-0.1]), r"mu\[0\] is -0.1"),
        (lambda: Problem.dual(np.eye(3), np.zeros(3)), "give either mu"),
        (lambda: Problem.dual("abc", np.zeros(3), mu=[0.1]), "D is not an array of numbers"),
        (lambda: Problem.primal(-np.eye(5), np.zeros((3, 5)), mu=[0.1], p=np.zeros(5)), "H is not positive definite"),
        (lambda: Problem.primal(-EYE, np.zeros((3, 6)), mu=[0.1], p=np.zeros(6)), "mass block of body 0"),
        (lambda: Problem.primal(np.eye(5), np.zeros((3, 4)), mu=[0.1], p=np.zeros(5)), "J has size 4, expected 5"),
        (lambda: Problem.primal(np.eye(5), np.zeros((3, 5)), mu=[0.1]), "p is missing"),
        (
            lambda: Problem.primal(np.eye(5) + np.triu(np.ones((5, 5)), 1), np.zeros((3, 5)), mu=[0.1], p=np.zeros(5)),
            "H is not symmetric",
        ),
        (
            lambda: Problem.rigid([EYE], [[0, 0]], np.zeros((3, 12)), cone=ProductCone(mu=[0.1]), u_f=np.zeros(6)),
            "same body twice",
        ),
        (
            lambda: Problem.rigid([EYE], [[-1, 3]], np.zeros((3, 12)), cone=ProductCone(mu=[0.1]), u_f=np.zeros(6)),
            "indices run from -1",
        ),
        (
            lambda: Problem.primal(EYE, np.zeros((3, 6)), mu=[0.1], u_f=np.zeros(6), compliance=[-1, 0, 0]),
            r"compliance\[0\] is -1.0",
        ),
        (lambda: Problem.dual(np.eye(3), np.zeros(3), mu=[0.1], law="coulomb"), "unknown law 'coulomb'"),
    ],
)
def test_bad_data_is_named(build, message):
    with pytest.raises(Exception, match=message) as caught:
        build()
    assert type(caught.value).__module__ == "delassus.errors"
    assert "\n" not in str(caught.value)


def test_singular_mass_is_refused():
    singular = np.diag([1.0, 1.0, 1.0, 1.0, 0.0])
    with pytest.raises(ProblemError, match="H is not positive definite"):
        Problem.primal(sp.csr_array(singular), np.zeros((3, 5)), mu=[0.1], p=np.zeros(5))


def test_random_problems_are_as_asked(rng):
    problem = random_rigid(rng, bodies=20, contacts=60, joints=4, limits=3, mass_ratio=1e8, frictionless_part=0.3)
    mass = problem.delassus.mass[:, 0, 0]
    assert mass.max() / mass.min() == pytest.approx(1e8)
    assert (problem.mu == 0).any()
    assert np.linalg.matrix_rank(problem.delassus.jacobian().toarray()) < problem.row_count, "hyperstatic"
    assert np.linalg.matrix_rank(random_dual(rng, contacts=10, rank=12).delassus.matrix().toarray()) == 12
