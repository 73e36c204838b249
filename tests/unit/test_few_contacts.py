"""Few contacts alone are swept in a kernel of their own, and solved by others where that is not enough."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from delassus import Law, Problem, Status, residuals, solve
from delassus.errors import ProblemError
from delassus.solvers.newton import small


def problem_of(seed: int, law: Law = Law.NCP) -> Problem:
    """One to twenty contacts, D of full rank or not, friction small and large, some contacts opening."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 21))
    J = rng.standard_normal((3 * n, int(rng.integers(3, 3 * n + 3))))
    v_f = rng.standard_normal(3 * n) - np.tile([0.5, 0.0, 0.0], n)
    return Problem.dual(J @ J.T, v_f, mu=rng.uniform(0.0, 1.2, n), law=law)


@pytest.fixture
def swept(monkeypatch):
    """What the kernel returned at each call."""
    counts, kernel = [], small.sweep_contacts

    def counted(*given):
        counts.append(kernel(*given))
        return counts[-1]

    monkeypatch.setattr(small, "sweep_contacts", counted)
    return counts


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_sweeps_from_zero_do_for_some_and_others_go_on_from_there(law, tol, swept):
    for seed in range(40):
        problem = problem_of(seed, law)
        found = solve(problem, tol=tol)
        assert len(swept) == seed + 1  # once
        again = solve(problem, guess=np.zeros(problem.row_count), tol=tol)
        swept.pop()
        assert found.status is again.status
        assert found.converged or not swept[-1]
        assert np.array_equal(found.reactions, again.reactions)
        assert np.array_equal(found.velocities, again.velocities)
        assert found.residuals == residuals.evaluate(problem, found.reactions)
        assert found.trace.iterations[-1] == found.iterations == again.iterations
        assert found.law is law
        solve(problem, guess=found.reactions, tol=tol)
        assert len(swept) == seed + 1  # not from a guess
    assert 0 < np.count_nonzero(swept) < len(swept)


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
    """As they are in memory that processes share."""
    problem, other = problem_of(3), problem_of(3)
    assert other.packed is not None
    other.packed.flags.writeable = False
    nothing = np.zeros(problem.row_count)
    for tol in (1e-5, 3e-7):
        for guess in (None, nothing):
            assert np.array_equal(solve(other, guess=guess, tol=tol).reactions, solve(problem, tol=tol).reactions)


def test_what_is_given_may_change_afterwards():
    problem = problem_of(4)
    v_f = problem.free_velocity.copy()
    other = Problem.dual(problem.delassus.matrix(), v_f, mu=problem.mu)
    v_f[:] = 7.0
    assert residuals.measure(other, solve(other, tol=1e-8).reactions).relative <= 1e-8
    assert np.array_equal(solve(other).reactions, solve(problem).reactions)


def test_fields_that_are_written_stay_and_those_that_are_made_later_do_not_follow_others():
    problem = problem_of(6)
    solution, usual = solve(problem), solve(problem)
    solution.tol, solution.solver = 0.5, "mine"
    assert solution.iterations == usual.iterations
    assert (solution.tol, solution.solver) == (0.5, "mine")
    solution.velocities[:] *= -1.0
    assert solution.residuals == usual.residuals


def test_threads_may_read_one_solution():
    problem, before = problem_of(7), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for _ in range(300):
                solution = solve(problem)
                found = list(pool.map(lambda name, s=solution: getattr(s, name), ["reactions", "law", "tol", "solver"]))
                assert found[1] is problem.law
                assert len(found[0]) == problem.row_count
    finally:
        sys.setswitchinterval(before)


def test_numbers_whose_squares_overflow_are_refused_and_never_solved():
    with pytest.raises(ProblemError, match=r"v_f\[0\] is -1e\+170: squares of such numbers overflow"):
        Problem.dual(np.eye(3), [-1e170, 0.0, 0.0], mu=[0.5])
    problem = Problem.dual(np.eye(3), [-1e140, 0.0, 0.0], mu=[0.5])
    assert residuals.measure(problem, np.array([1e200, 0.0, 0.0])).relative == np.inf
