"""Step lengths of methods that take fixed steps: as long as the rows that work allow, and no rows besides."""

import numpy as np
import pytest

from delassus.cones import ProductCone
from delassus.problem import Problem
from delassus.problem.random import random_rigid
from delassus.solvers import SOLVERS, solve
from delassus.solvers.active_set.kucera import PUBLISHED
from delassus.solvers.parts.parallel.operator import Operator
from delassus.solvers.parts.parallel.spectrum import largest_eigenvalue


def problems(law, count=12):
    rng = np.random.default_rng(41)
    for k in range(count):
        yield random_rigid(
            rng,
            bodies=10 + 5 * (k % 4),
            contacts=20 + 25 * (k % 4),
            limits=5,
            joints=2,
            mass_ratio=(1.0, 100.0)[k % 2],
            frictionless_part=0.3 * (k % 3),
            law=law,
        )


def true_largest(problem):
    """Λ from the dense D with the rows of idle tangents struck out: written without the package's own scaling."""
    first = problem.cone.contact_start
    diagonal = problem.delassus.diagonal
    works, scale = np.ones(problem.row_count, bool), 1.0 / diagonal
    for k, mu in enumerate(problem.mu):
        rows = slice(first + 3 * k, first + 3 * k + 3)
        works[rows] = (True, mu > 0.0, mu > 0.0)
        scale[rows] = 1.0 / (diagonal[rows].mean() if mu > 0.0 else diagonal[first + 3 * k])
    root = np.sqrt(scale[works])
    return np.linalg.eigvalsh(problem.delassus.dense()[np.ix_(works, works)] * root[:, None] * root)[-1]


@pytest.mark.parametrize("law", ["frictionless", "ccp", "ncp"])
def test_the_step_of_jacobi_and_kucera_counts_only_rows_that_work(law):
    for problem in problems(law):
        largest = true_largest(problem)
        start = np.zeros(problem.row_count)
        assert largest_eigenvalue(Operator(problem)) == pytest.approx(largest, rel=0.02)
        jacobi = SOLVERS["jacobi"].start(problem, SOLVERS["jacobi"].settings, start.copy())
        assert 1.8 <= jacobi.omega * largest < 2.0  # at 2 the slowest mode no longer falls
        kucera = SOLVERS["kucera"].start(problem, SOLVERS["kucera"].settings, start.copy())
        assert kucera.step * largest == pytest.approx(1.0, rel=0.02)


def test_no_other_step_makes_jacobi_much_faster_without_friction():
    settings = SOLVERS["jacobi"].settings
    found, best = 0, 0
    for problem in problems("frictionless", 6):
        largest = true_largest(problem)
        counts = [
            solve(problem, settings.changed(omega=factor / largest), tol=1e-4).iterations
            for factor in (0.5, 1.0, 1.4, 1.7, 1.98)
        ]
        found += solve(problem, "jacobi", tol=1e-4).iterations
        best += min(counts)
    assert found <= 1.1 * best


def test_idle_tangents_cost_no_iterations():
    """The same contacts as limits, rows without tangents: the same iterations."""
    for problem in problems("frictionless", 4):
        first = problem.cone.contact_start
        works = np.r_[np.arange(first), np.arange(first, problem.row_count, 3)]

        cone = ProductCone(problem.cone.bilateral, problem.cone.unilateral + problem.contact_count)
        bare = Problem.dual(problem.delassus.dense()[np.ix_(works, works)], problem.free_velocity[works], cone=cone)
        for name in ("jacobi", "kucera"):
            ours, theirs = solve(problem, name, tol=1e-5), solve(bare, name, tol=1e-5)
            assert ours.converged
            assert theirs.converged
            assert ours.iterations <= 1.3 * theirs.iterations + 4


def test_without_scaling_the_step_of_kucera_is_the_published_one():
    """α̃ = 1 / ‖N‖ (Heyn et al. 2013, §4.4), N the rows that work."""
    for problem in problems("frictionless", 4):
        first = problem.cone.contact_start
        rows = [*range(first), *range(first, problem.row_count, 3)]
        norm = np.linalg.eigvalsh(problem.delassus.dense()[np.ix_(rows, rows)])[-1]
        method = SOLVERS["kucera"].start(problem, PUBLISHED, np.zeros(problem.row_count))
        assert method.step * problem.rho * norm == pytest.approx(1.0, rel=0.02)
