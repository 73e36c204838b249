"""A pile of spheres with noise on its free velocity, on which Newton's method wanders: paths lead to a solution."""

import numpy as np
import pytest

from delassus import residuals
from delassus.io import load_problem
from delassus.problem import Problem
from delassus.solvers import solve

PILE = "Sim-spherepile400-local-1555-008.hdf5"
NOISE = 0.05


def noisy(path, seed):
    """The problem of a file, its free velocity times 1 + 5 % of noise, as `benchmarks/fair.py` perturbs it."""
    problem = load_problem(path)
    noise = 1.0 + NOISE * np.random.default_rng(seed).standard_normal(problem.row_count)
    return Problem(problem.delassus, problem.free_velocity * noise, problem.cone, problem.law)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 6])
def test_auto_ends_with_a_path_where_newton_stalls(fclib_dir, seed):
    if not (fclib_dir / PILE).exists():
        pytest.skip(f"{PILE} is not in {fclib_dir}")
    problem = noisy(fclib_dir / PILE, seed)
    solution = solve(problem, tol=1e-8, time_limit=900)  # one to two minutes; no timed test
    assert solution.converged
    assert solution.solver.endswith("homotopy")
    assert "prox-ssn" in solution.solver
    assert any("homotopy: slip" in words or "homotopy: shift" in words for words in solution.trace.words)
    judged = residuals.measure(problem, solution.reactions)
    assert judged.relative <= 1e-8
    assert judged.velocity <= 1e-6
