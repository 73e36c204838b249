"""A guess for the interior points: it counts where it helps, and does no harm where it does not."""

import numpy as np
import pytest

from delassus.law import Law
from delassus.problem.random import random_rigid
from delassus.solvers import SOLVERS, solve
from delassus.solvers.interior.starts import best_multiple

IPM = SOLVERS["ipm"].settings
INEXACT = SOLVERS["ipm-inexact"].settings
VARIANTS = {"compiled": IPM, "general": IPM.changed(linear="body"), "inexact": INEXACT}
TOL = 1e-8
KINDS = {
    "heap": {"bodies": 10, "contacts": 25},
    "mechanism": {"bodies": 10, "contacts": 20, "joints": 4, "limits": 3},
    "hyperstatic": {"bodies": 10, "contacts": 60},
    "ratio 1000": {"bodies": 10, "contacts": 25, "mass_ratio": 1e3},
}


def problems(kind, count=6):
    for seed in range(count):
        law = Law.FRICTIONLESS if seed % 3 == 2 else Law.CCP
        yield random_rigid(np.random.default_rng([seed, 40]), law=law, **KINDS[kind])


def iterations(problem, settings, guess=None):
    solution = solve(problem, settings, guess, tol=TOL)
    assert solution.converged, solution
    return solution.iterations


def compared(kind, variant, make) -> np.ndarray:
    """Iterations (n, 2) from the guess that `make` finds, and from none."""
    settings = VARIANTS[variant]
    return np.array([(iterations(p, settings, make(p)), iterations(p, settings)) for p in problems(kind)])


def ratio(counts) -> float:
    """Geometric mean of how many times the iterations without a guess it takes with one."""
    return float(np.exp(np.log((counts[:, 0] + 1.0) / (counts[:, 1] + 1.0)).mean()))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_solution_to_four_digits_saves_half_of_the_iterations(kind, variant):
    rng = np.random.default_rng(41)

    def nearly(problem):
        exact = solve(problem, "ipm", tol=1e-10).reactions
        return exact * (1.0 + 1e-4 * rng.normal(size=exact.shape))

    counts = compared(kind, variant, nearly)
    assert (counts[:, 0] <= counts[:, 1]).all(), counts
    assert ratio(counts) < 0.5, counts


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_start_by_projected_jacobi_helps(kind, variant):
    """Kleinert et al. 2014, §6: begin with PGJ, and go on with the interior point once that has become slow."""
    counts = compared(kind, variant, lambda problem: solve(problem, "jacobi", tol=TOL, max_iter=500).reactions)
    # one iteration either way is rounding: on hyperstatic problems it differs between processors
    assert (counts[:, 0] <= counts[:, 1] + 1).all(), counts
    assert ratio(counts) < 0.9, counts


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_guess_does_no_harm(kind, variant):
    """Most bad guesses are dropped. Now and then one has less energy than zero by chance and leads astray for a few
    iterations; which one that is depends on the rounding of BLAS's kernels, so nine are tried for each problem."""
    rng = np.random.default_rng(42)
    counts = np.array(
        [
            compared(kind, variant, lambda problem, s=scale: s * rng.normal(size=problem.row_count))
            for scale in (1e-2, 1.0, 1e4) * 3
        ]
    )
    more = counts[:, :, 0] - counts[:, :, 1]
    assert (np.median(more, axis=0) <= 0).all(), more
    assert (more <= 2).mean() >= 0.95, more
    assert ratio(counts.reshape(-1, 2)) <= 1.05, more


def test_the_best_multiple_of_a_guess_has_no_more_energy_than_the_guess_or_nothing():
    rng = np.random.default_rng(43)

    def energy(problem, point):
        return 0.5 * point @ problem.delassus.product(point) + point @ problem.free_velocity

    for kind in KINDS:
        for problem in problems(kind, 3):
            exact = solve(problem, "ipm", tol=1e-12).reactions
            guesses = [rng.normal(size=exact.shape), 3.0 * exact, 0.2 * exact, -exact, rng.permutation(exact)]
            for guess in guesses:
                point = best_multiple(problem, guess)
                projected = problem.cone.with_friction(problem.mu).project(guess)
                assert energy(problem, point) <= 1e-12 + min(0.0, energy(problem, projected))
            assert np.allclose(best_multiple(problem, exact), exact, rtol=1e-6)
            assert np.allclose(best_multiple(problem, 3.0 * exact), exact, rtol=1e-6)
