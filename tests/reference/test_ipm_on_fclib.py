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


HARD = (
    "Capsules-i101-404",
    "OneObject-i100000-316",
    "RockPile-tob1",
    "Sim-brickwall-local-380-002",
    "Spheres-i099-356",
)
"""Hyperstatic: an interior point without regularisation, refinement and polish ends at 1e-5 on them."""

MOST = 30
"""Factorisations that any file may take; 25 is the most seen, on a brick wall. It was 33 where the polish was left too
soon, because the worst velocity did not halve while all others did."""


def solved(path, tol=1e-8):
    return solve(load_problem(path, law=Law.CCP), "ipm", tol=tol, max_iter=MOST).converged


def test_hyperstatic_files_are_solved(fclib_dir):
    assert [name for name in HARD if not solved(fclib_dir / f"{name}.hdf5")] == []


@pytest.mark.slow
def test_every_file_is_solved(fclib_files):
    assert [path.stem for path in fclib_files if not solved(path)] == []
