"""Few rigid bodies under exact friction take a short way through `solve`: the same bits, with less around them."""

import numpy as np
import pytest

from delassus import Law, Status, solve
from delassus.problem.random import random_rigid
from delassus.solvers import solve_problem
from delassus.solvers.auto.short_way import bodies_at_once


@pytest.fixture
def ordinary(monkeypatch):
    """`solve` without the short way."""

    def call(*given, **named):
        with monkeypatch.context() as patch:
            patch.setattr(solve_problem, "bodies_at_once", lambda *_: None)
            return solve(*given, **named)

    return call


def problem_of(seed: int, law: Law = Law.NCP):
    """Joints, limits and contacts of a few bodies."""
    rng = np.random.default_rng(seed)
    counts = {
        "joints": int(rng.integers(0, 3)),
        "limits": int(rng.integers(0, 3)),
        "contacts": int(rng.integers(1, 12)),
    }
    return random_rigid(rng, bodies=int(rng.integers(2, 6)), law=law, **counts)


@pytest.mark.parametrize("max_iter", [0, 1, 3, 1000])
def test_what_it_finds_is_what_the_ordinary_way_finds(max_iter, ordinary):
    """From zero and from a guess, converged or cut off: then the loop over methods goes on from the same attempt."""
    statuses = set()
    for seed in range(12):
        problem = problem_of(seed)
        guesses = [None, solve(problem).reactions * (1.0 + 1e-5 * np.random.default_rng(seed).standard_normal())]
        for guess in guesses:
            quick, usual = (call(problem, guess=guess, tol=1e-9, max_iter=max_iter) for call in (solve, ordinary))
            statuses.add(quick.status)
            assert quick.status is usual.status
            assert quick.solver == usual.solver
            assert quick.iterations == usual.iterations <= max_iter
            assert np.array_equal(quick.reactions, usual.reactions)
            assert np.array_equal(quick.velocities, usual.velocities)
            assert np.array_equal(quick.body_velocities, usual.body_velocities)
            assert quick.residuals == usual.residuals
            assert quick.trace.iterations == usual.trace.iterations
            assert quick.trace.natural_map_relative == usual.trace.natural_map_relative
    assert (Status.MAX_ITERATIONS in statuses) == (max_iter < 1000)


def test_a_guess_is_not_written_to():
    problem = problem_of(5)
    guess = np.full(problem.row_count, 0.1)
    solve(problem, guess=guess)
    assert np.array_equal(guess, np.full(problem.row_count, 0.1))


def test_other_laws_many_rows_and_masses_far_apart_are_left_to_others():
    limits = solve_problem.limits_of(1e-6, "auto", 100, None)
    heavy = problem_of(1).delassus
    assert bodies_at_once(problem_of(1), np.zeros(problem_of(1).row_count), limits) is not None
    for problem in (problem_of(1, Law.CCP), random_rigid(np.random.default_rng(0), bodies=12, contacts=60)):
        assert bodies_at_once(problem, np.zeros(problem.row_count), limits) is None
    heavy.mass[0] *= 1e14
    odd = problem_of(1)
    odd.delassus = heavy
    assert bodies_at_once(odd, np.zeros(odd.row_count), limits) is None
