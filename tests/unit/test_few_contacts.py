"""Few contacts alone take a way of their own through `solve`: the same bits, with less around them."""

import numpy as np
import pytest

from delassus import Law, Problem, Status, residuals, solve
from delassus.solvers.auto import short_way
from delassus.solvers.newton import small


def problem_of(seed: int, law: Law = Law.NCP) -> Problem:
    """One to twenty contacts, D of full rank or not, friction small and large, some contacts opening."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 21))
    J = rng.standard_normal((3 * n, int(rng.integers(3, 3 * n + 3))))
    v_f = rng.standard_normal(3 * n) - np.tile([0.5, 0.0, 0.0], n)
    return Problem.dual(J @ J.T, v_f, mu=rng.uniform(0.0, 1.2, n), law=law)


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_what_it_finds_is_what_the_ordinary_way_finds(law, tol, monkeypatch):
    taken = []
    kernel = short_way.solve_contacts

    def counted(*given):
        taken.append(kernel(*given))
        return taken[-1]

    solve(problem_of(0, law), tol=tol)  # which calls the kernel once more, so that it is compiled
    monkeypatch.setattr(short_way, "solve_contacts", counted)
    for seed in range(40):
        problem = problem_of(seed, law)
        quick = solve(problem, tol=tol)
        usual = solve(problem, guess=np.zeros(problem.row_count), tol=tol)
        assert len(taken) == seed + 1  # a guess goes the ordinary way
        assert quick.status is usual.status
        assert quick.solver == usual.solver
        assert np.array_equal(quick.reactions, usual.reactions)
        assert np.array_equal(quick.velocities, usual.velocities)
        assert quick.residuals == usual.residuals
        assert quick.residuals == residuals.evaluate(problem, quick.reactions)
        assert quick.iterations == usual.iterations
        assert quick.trace.iterations == usual.trace.iterations
        assert quick.trace.natural_map_relative == usual.trace.natural_map_relative
        assert quick.tol_velocity == usual.tol_velocity
        assert quick.law is law
    assert 0 < np.count_nonzero(taken) < len(taken)  # sweeps were enough for some, and not for all


def test_sweeps_that_are_not_enough_are_not_repeated(monkeypatch):
    calls, kernel = [], short_way.solve_contacts

    def counted(*given):
        calls.append(kernel(*given))
        return calls[-1]

    solve(problem_of(0), max_iter=100)  # which calls the kernel once more, so that it is compiled
    for module in (short_way, small):
        monkeypatch.setattr(module, "solve_contacts", counted)
    for seed in range(20):
        solve(problem_of(seed), max_iter=100)
    assert len(calls) == 20
    assert 0 in calls


@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_limits_of_iterations_hold(max_iter):
    for seed in range(10):
        problem = problem_of(seed)
        quick, usual = (solve(problem, guess=g, max_iter=max_iter) for g in (None, np.zeros(problem.row_count)))
        assert quick.iterations == usual.iterations <= max_iter
        assert quick.status is usual.status
        assert np.array_equal(quick.reactions, usual.reactions)


def test_a_function_that_watches_sees_the_judgements():
    problem, seen = problem_of(3), []
    solution = solve(problem, trace=lambda *row: seen.append(row))
    assert seen
    assert seen[-1][0] == solution.iterations
    assert not solution.trace.iterations


def test_where_nothing_moves_nothing_is_done():
    problem = problem_of(5)
    still = Problem.dual(problem.delassus.matrix(), np.zeros(problem.row_count), mu=problem.mu)
    solution = solve(still)
    assert solution.status is Status.CONVERGED
    assert solution.iterations == 0
    assert not solution.reactions.any()


def test_a_solution_is_ones_own():
    problem = problem_of(7)
    first = solve(problem)
    kept = first.reactions.copy()
    second = solve(problem)
    second.reactions[:] = 0.0
    assert np.array_equal(first.reactions, kept)
    assert np.array_equal(first.velocities, problem.constraint_velocity(kept))


def test_arrays_that_may_not_be_written_to_are_taken_too():
    """The kernel is entered without a look at types, whichever of the two it was compiled for."""
    problem, other = problem_of(3), problem_of(3)
    assert other.few_contacts is not None
    other.few_contacts[0].flags.writeable = False
    for tol in (1e-5, 3e-7):  # each of which is learned anew
        assert np.array_equal(solve(other, tol=tol).reactions, solve(problem, tol=tol).reactions)
