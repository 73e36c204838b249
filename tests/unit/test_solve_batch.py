"""Many problems in one call: the bits of one after the other, whatever kinds and sizes are mixed and however many
threads work on them, each judged; and what is wrong is named by its number."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import delassus
from delassus import residuals
from delassus.errors import ProblemError, SettingsError, SolveError
from delassus.problem import Problem
from delassus.problem.random import random_dual, random_rigid
from delassus.solvers import SOLVERS, solve, solve_batch
from delassus.status import Status

SOLVER = "admm-ncp-sa"


def pressed(rng, contacts):
    """Contacts that are pushed together, most of them closed in the end."""
    base = random_dual(rng, contacts=contacts)
    v_f = base.free_velocity.copy()
    v_f[::3] -= 1.5
    return Problem.dual(base.delassus.dense(), v_f, mu=base.mu)


def flexible(rng):
    bodies = random_rigid(rng, bodies=3, contacts=2, joints=1, limits=1)
    order = rng.permutation(18)
    H = sp.csr_array(bodies.delassus.mass_matrix()[order][:, order])
    J = sp.csr_array(bodies.delassus.jacobian()[:, order])
    return Problem.primal(H, J, cone=bodies.cone, u_f=bodies.u_f[order], b=bodies.bias)


def with_joints(rng):
    bodies = random_rigid(rng, bodies=3, contacts=int(rng.integers(0, 4)), joints=1, limits=int(rng.integers(0, 2)))
    return Problem.dual(bodies.delassus.dense(), bodies.free_velocity, cone=bodies.cone)


def mixed(seed=0, count=12):
    """Contacts alone, with joints and limits, flexible and rigid bodies, too many rows, two laws, no rows at all."""
    rng = np.random.default_rng(seed)
    out = [pressed(rng, int(rng.integers(1, 10))) for _ in range(count)]
    out += [with_joints(rng) for _ in range(count // 2)] + [flexible(rng) for _ in range(3)]
    out += [random_rigid(rng, bodies=3, contacts=3), pressed(rng, 22), pressed(rng, 0)]
    out += [problem.with_law("frictionless") for problem in out[: count // 2]]
    out = [out[k] for k in rng.permutation(len(out))]
    return [*out, out[0]]


def agree(a, b):
    assert np.array_equal(a.reactions, b.reactions)
    assert np.array_equal(a.velocities, b.velocities)
    assert (a.body_velocities is None) == (b.body_velocities is None)
    assert a.body_velocities is None or np.array_equal(a.body_velocities, b.body_velocities)
    for name in ("status", "iterations", "solver", "law", "tol", "tol_velocity", "residuals"):
        assert getattr(a, name) == getattr(b, name)
    assert a.trace.iterations == b.trace.iterations
    assert a.trace.natural_map_relative == b.trace.natural_map_relative


@pytest.mark.parametrize("solver", [SOLVER, "admm-ncp-fp", "auto"])
def test_the_bits_of_one_after_the_other(solver):
    problems = mixed()
    found = solve_batch(problems, solver, tol=1e-7)
    for problem, solution in zip(problems, found, strict=True):
        agree(solution, solve(problem, solver, tol=1e-7))
        assert solution.residuals == residuals.evaluate(problem, solution.reactions)
        assert solution.converged == (solution.residuals.natural_map_relative <= 1e-7)
    assert found.converged.tolist() == [solution.converged for solution in found]
    assert found.converged.all()
    assert sum(solution.iterations > 0 for solution in found) > len(problems) // 2


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(threads):
    problems = 20 * [pressed(np.random.default_rng(seed), 1 + seed) for seed in range(8)]
    for a, b in zip(solve_batch(problems, SOLVER), solve_batch(problems, SOLVER, threads=threads), strict=True):
        agree(a, b)


def test_guesses_are_started_from():
    problems = mixed()
    cold = solve_batch(problems, SOLVER, tol=1e-9)
    guesses = [None if k % 3 == 0 else solution.reactions for k, solution in enumerate(cold)]
    warm = solve_batch(problems, SOLVER, guesses, tol=1e-8)
    for k, (problem, guess) in enumerate(zip(problems, guesses)):
        agree(warm[k], solve(problem, SOLVER, guess, tol=1e-8))
        assert guess is None or warm[k].iterations == 0


def test_what_the_attempt_leaves_is_solved_anyway():
    """Few iterations are made at once: where more are needed, the ordinary loop goes on, and its limits hold."""
    problems = [pressed(np.random.default_rng(seed), 1 + seed) for seed in range(4)]
    problems[0] = Problem.dual(np.eye(3), [1.0, 0.0, 0.0], mu=[0.5])  # is open
    slow = replace(SOLVERS["admm-ncp-fp"].settings, rho=100.0, anderson=0)
    found = solve_batch(problems, slow, tol=1e-9)
    assert found.converged.all()
    assert [solution.iterations > 200 for solution in found] == [False, True, True, True]
    for problem, solution in zip(problems, found, strict=True):
        agree(solution, solve(problem, slow, tol=1e-9))
    short = solve_batch(problems, slow, tol=1e-9, max_iter=3)
    assert [solution.status for solution in short] == [Status.CONVERGED] + 3 * [Status.MAX_ITERATIONS]
    with pytest.raises(SolveError, match=r"problems\[1\]: admm-ncp-fp: max_iterations"):
        solve_batch(problems, slow, tol=1e-9, max_iter=3, throw=True)


def test_it_is_a_sequence():
    problems = mixed(count=4)
    found = solve_batch(iter(problems), SOLVER)
    assert len(found) == len(problems)
    assert found[-1] is found[len(problems) - 1]
    assert found[1:3] == [found[1], found[2]]
    assert "converged" in repr(found)
    assert found.seconds > 0.0
    assert found[0].reactions is found[0].reactions
    with pytest.raises(IndexError):
        _ = found[len(problems)]
    assert len(solve_batch([], SOLVER)) == 0


def test_reactions_of_one_problem_are_its_own():
    problems = [pressed(np.random.default_rng(seed), 2) for seed in range(3)]
    found = solve_batch(problems, SOLVER)
    kept = found[1].reactions.copy()
    found[0].reactions[:] = 7.0
    found[2].velocities[:] = 7.0
    assert np.array_equal(found[1].reactions, kept)
    assert found[1].residuals == residuals.evaluate(problems[1], kept)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"problems": "one"}, ProblemError, "was given one"),
        ({"problems": 3}, ProblemError, "int is no list of problems"),
        ({"problems": [None]}, ProblemError, r"problems\[0\]: NoneType is no Problem"),
        ({"guesses": [None]}, ProblemError, "1 guesses for 2 problems"),
        ({"guesses": [None, np.zeros(4)]}, ProblemError, r"guesses\[1\]: guess has shape \(4,\)"),
        ({"guesses": [None, [np.nan] * 6]}, ProblemError, r"guesses\[1\]: guess holds NaN"),
        ({"threads": 0}, SettingsError, "threads is 0"),
        ({"threads": 1.5}, SettingsError, "threads is 1.5"),
        ({"tol": -1.0}, SettingsError, "tol is -1.0"),
        ({"solver": "nbsg"}, SettingsError, "unknown solver 'nbsg'"),
    ],
)
def test_what_is_wrong_is_named(change, error, words):
    problems = [pressed(np.random.default_rng(seed), 2) for seed in range(2)]
    given = {"problems": problems, **change}
    if given["problems"] == "one":
        given["problems"] = problems[0]
    with pytest.raises(error, match=words):
        delassus.solve_batch(**given)
