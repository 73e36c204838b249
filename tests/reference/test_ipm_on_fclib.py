"""The convex law on real problems: rank-deficient, slightly skew, rigid and flexible."""

from pathlib import Path

import pytest

from delassus.io import load_problem
from delassus.law import Law
from delassus.solvers import solve

SMALL = sorted((Path(__file__).parents[1] / "data").glob("*.hdf5"))


@pytest.mark.parametrize("path", SMALL, ids=lambda p: p.stem)
def test_small_files_are_solved_to_high_accuracy(path):
    for law in (Law.CCP, Law.FRICTIONLESS):
        assert solve(load_problem(path, law=law), "ipm", tol=1e-10).converged


@pytest.mark.slow
def test_every_file_is_solved(fclib_files):
    missed = [
        path.stem
        for path in fclib_files
        if not solve(load_problem(path, law=Law.CCP), "ipm", tol=1e-8, max_iter=150).converged
    ]
    assert missed == []
