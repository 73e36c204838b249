"""Descriptions are true: rank, conditioning, densities and categories against dense algebra and by definition."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from delassus.cones import ProductCone
from delassus.linalg.operators.matrix import MatrixDelassus
from delassus.linalg.operators.sparse import SparseDelassus
from delassus.problem import Problem
from delassus.problem import spectrum as module
from delassus.problem.describe import CATEGORIES, category, category_of, describe
from delassus.problem.random import random_rigid

ROUNDING = 1e-8  # singular values of D to the precision its condition number leaves
ESTIMATE = 1e-2  # Ritz values are asked for to 1e-4; two digits more for their quotient


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def dense_truth(problem):
    """(rank of J, singular values of D), without islands or sparsity."""
    J = problem.delassus.jacobian().toarray()
    return np.linalg.matrix_rank(J), np.linalg.svd(problem.delassus.matrix().toarray(), compute_uv=False)


@pytest.mark.parametrize("contacts", [4, 40])
def test_rank_and_condition_agree_with_dense_linear_algebra(rng, contacts):
    problem = random_rigid(rng, bodies=12, contacts=contacts, joints=3, mass_ratio=30)
    rank, values = dense_truth(problem)
    found = describe(problem)
    assert found.spectrum.method == "exact"
    assert found.spectrum.rank == rank
    assert found.spectrum.full_rank == (rank == problem.row_count)
    assert found.spectrum.condition_nonzero == pytest.approx(values[0] / values[rank - 1], rel=ROUNDING)
    if rank < problem.row_count:
        assert found.spectrum.condition == math.inf
    else:
        assert found.spectrum.condition == found.spectrum.condition_nonzero


@pytest.mark.parametrize("contacts", [10, 90])
def test_the_sparse_estimate_agrees_with_the_dense_decomposition(rng, monkeypatch, contacts):
    problem = random_rigid(rng, bodies=30, contacts=contacts, joints=10, mass_ratio=10, redundant_joints=True)
    exact = describe(problem).spectrum
    monkeypatch.setattr(module, "_DENSE_ROWS", 2)
    estimate = describe(problem).spectrum
    assert estimate.method == "estimated"
    assert estimate.rank == exact.rank
    assert estimate.full_rank == exact.full_rank
    assert estimate.condition_nonzero == pytest.approx(exact.condition_nonzero, rel=ESTIMATE)


def test_the_same_problem_gives_the_same_figures_twice(rng, monkeypatch):
    problem = random_rigid(rng, bodies=30, contacts=90)
    monkeypatch.setattr(module, "_DENSE_ROWS", 2)
    assert describe(problem) == describe(problem)


def test_compliance_makes_D_regular_but_leaves_the_rank_of_J(rng):
    problem = random_rigid(rng, bodies=3, contacts=20, compliance=1e-3)
    found = describe(problem)
    assert found.spectrum.rank == np.linalg.matrix_rank(problem.delassus.jacobian().toarray()) < problem.row_count
    assert found.spectrum.full_rank
    assert math.isfinite(found.spectrum.condition)


def test_too_large_a_problem_is_skipped_and_says_so(rng, monkeypatch):
    problem = random_rigid(rng, bodies=5, contacts=10, joints=1)
    for limit in ("_SPARSE_ROWS", "_SPARSE_ENTRIES"):
        with monkeypatch.context() as patch:
            patch.setattr(module, limit, 5)
            found = describe(problem)
        assert found.spectrum.method == "skipped"
        assert found.spectrum.rank is found.spectrum.condition is found.spectrum.full_rank is None


def test_the_bound_on_entries_of_D_holds(rng):
    rigid = random_rigid(rng, bodies=6, contacts=30, joints=3, limits=2)
    start, D = rigid.cone.block_start, rigid.delassus
    for storage in (D, SparseDelassus(D.mass_matrix(), D.jacobian()), MatrixDelassus(D.matrix())):
        assert D.matrix().nnz <= storage.entry_bound(start) <= rigid.row_count**2


def test_units_of_mass_change_neither_rank_nor_condition(rng):
    problem = random_rigid(rng, bodies=8, contacts=12, mass_ratio=100)
    D = problem.delassus.matrix()
    kilograms = describe(Problem.dual(D, problem.free_velocity, cone=problem.cone))
    grams = describe(Problem.dual(1e-3 * D, problem.free_velocity, cone=problem.cone))
    assert grams.spectrum.rank == kilograms.spectrum.rank
    assert grams.spectrum.condition_nonzero == pytest.approx(kilograms.spectrum.condition_nonzero, rel=ROUNDING)


def test_sizes_densities_and_mass_ratio_of_rigid_bodies(rng):
    problem = random_rigid(rng, bodies=10, contacts=12, joints=4, limits=5, friction=(0.2, 0.9))
    problem.delassus.mass[3, :3, :3] = 50.0 * np.eye(3)
    problem.delassus.mass[7, :3, :3] = 0.5 * np.eye(3)
    found = describe(problem)
    assert (found.form, found.storage, found.bodies, found.dofs) == ("global", "rigid", 10, 60)
    assert found.rows == found.bilateral_rows + 5 + 3 * 12
    assert found.density_joints == found.bilateral_rows / 60
    assert found.density_contacts == 36 / 60
    assert found.density_total == found.rows / 60
    assert found.mass_ratio == pytest.approx(100.0)
    assert found.friction == (problem.cone.mu.min(), problem.cone.mu.max())


def test_a_dual_problem_knows_no_bodies(rng):
    rigid = random_rigid(rng, bodies=4, contacts=9)
    found = describe(Problem.dual(rigid.delassus.matrix(), rigid.free_velocity, cone=rigid.cone))
    assert found.form == "local"
    assert found.bodies is found.dofs is found.mass_ratio is found.density_total is found.category is None
    assert found.spectrum.rank == describe(rigid).spectrum.rank


def test_flexible_bodies_count_degrees_of_freedom(rng):
    H = sp.diags_array([np.full(8, -1.0), np.full(9, 4.0), np.full(8, -1.0)], offsets=[-1, 0, 1])
    found = describe(Problem.primal(H, np.eye(6, 9), p=np.zeros(9), mu=[0.5, 0.1]))
    assert (found.storage, found.bodies, found.dofs, found.mass_ratio) == ("sparse", None, 9, None)
    assert found.density_contacts == 6 / 9
    assert found.spectrum.rank == 6


def test_asymmetry_is_that_of_the_given_matrix():
    D = np.eye(3) * 2.0
    D[0, 1], D[1, 0] = 0.1, 0.06
    assert describe(Problem.dual(D, np.zeros(3), mu=[0.5])).asymmetry == pytest.approx(0.02)


def test_islands_are_counted():
    D = sp.block_diag([np.eye(3), 2.0 * np.eye(3), 7.0 * np.eye(3)])
    found = describe(Problem.dual(D, np.zeros(9), mu=[0.5] * 3))
    assert found.islands == 3
    assert found.spectrum.condition == pytest.approx(7.0)


def test_a_problem_without_rows_is_described():
    found = describe(Problem.dual(np.zeros((0, 0)), np.zeros(0), mu=[]))
    assert (found.rows, found.islands, found.spectrum.rank) == (0, 0, 0)
    assert found.friction is found.category is found.spectrum.condition is None


def test_a_row_nothing_responds_to_counts_as_rank_lost():
    found = describe(Problem.dual(np.diag([1.0, 0.0, 0.0]), np.zeros(3), cone=ProductCone(0, 3)))
    assert found.spectrum.rank == 1
    assert found.spectrum.condition == math.inf
    assert found.spectrum.condition_nonzero == 1.0


def test_small_is_not_zero():
    found = describe(Problem.dual(np.diag([1.0, 1e-11, 0.0]), np.zeros(3), mu=[0.5]))
    assert found.spectrum.rank == 2
    assert found.spectrum.condition_nonzero == pytest.approx(1e11)


@pytest.mark.parametrize(
    ("counts", "dofs", "rank", "expected"),
    [
        ((5, 0, 0), 12, 5, "independent joints"),
        ((5, 0, 0), 12, 4, "redundant joints"),
        ((12, 0, 0), 12, 10, "dense joints"),
        ((5, 0, 1), 6, 6, "single contact"),
        ((0, 0, 2), 6, 6, "sparse contacts"),  # n_c = 2 n_b: d_c is one, not above
        ((0, 0, 3), 6, 6, "dense contacts"),
        ((5, 0, 3), 12, 12, "dense constraints"),
        ((5, 0, 2), 12, 11, "sparse contacts"),
        ((0, 3, 0), 6, 3, None),
        ((0, 0, 5), None, 6, None),
        ((5, 0, 0), None, 5, "independent joints"),
        ((5, 0, 0), 12, None, None),
    ],
)
def test_categories_by_sizes_and_rank(counts, dofs, rank, expected):
    assert category(*counts, dofs, rank) == expected


def test_a_problem_has_the_category_of_its_description(rng):
    """Each from a problem made for it, and without the rest of the description."""
    made = {
        "independent joints": random_rigid(rng, bodies=6, contacts=0, joints=3),
        "redundant joints": random_rigid(rng, bodies=9, contacts=0, joints=3, redundant_joints=True),
        "dense joints": random_rigid(rng, bodies=3, contacts=0, joints=12, redundant_joints=True),
        "single contact": random_rigid(rng, bodies=3, contacts=1, joints=1),
        "sparse contacts": random_rigid(rng, bodies=9, contacts=6),
        "dense contacts": random_rigid(rng, bodies=3, contacts=20),
        "dense constraints": random_rigid(rng, bodies=3, contacts=10, joints=2),
    }
    assert {name: category_of(problem) for name, problem in made.items()} == {name: name for name in CATEGORIES}
    assert [describe(problem).category for problem in made.values()] == list(CATEGORIES)


def test_as_dict_is_flat_and_complete(rng):
    found = describe(random_rigid(rng, bodies=3, contacts=4))
    flat = found.as_dict()
    assert flat["rank"] == found.spectrum.rank
    assert flat["spectrum"] == "exact"
    assert {"condition", "condition_nonzero", "full_rank", "category", "islands"} <= set(flat)
    assert not any(isinstance(value, (dict, np.generic, np.ndarray)) for value in flat.values())
