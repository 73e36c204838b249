"""Attempts in one compiled call: what they hand back is what the judge says of the returned point, under every law and
for every storage of D, and a `Solution` made of one is like any other."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from delassus import residuals
from delassus.linalg.dense_product import exact_times_plus
from delassus.linalg.operators.matrix import csr_times
from delassus.problem import Problem
from delassus.problem.random import random_dual, random_rigid
from delassus.solvers import SOLVERS, solve
from delassus.solvers.parts.at_once import Attempt
from delassus.solvers.solution import Solution
from delassus.status import Status

ATTEMPTING = [name for name, line in SOLVERS.items() if line.at_once is not None]


def dual(rng, law):
    base = random_dual(rng, contacts=int(rng.integers(1, 8)))
    v_f = base.free_velocity.copy()
    v_f[::3] -= 1.5  # pushed together
    return Problem.dual(base.delassus.dense(), v_f, mu=base.mu, law=law)


def rigid(rng, law):
    kinds = {"joints": int(rng.integers(0, 3)), "limits": int(rng.integers(0, 3)), "contacts": int(rng.integers(0, 5))}
    return random_rigid(rng, bodies=4, **kinds, law=law, compliance=float(rng.choice([0.0, 0.01])))


def flexible(rng, law):
    """General H: that of rigid bodies with velocities in another order."""
    bodies = rigid(rng, law)
    order = rng.permutation(24)
    H = sp.csr_array(bodies.delassus.mass_matrix()[order][:, order])
    J = sp.csr_array(bodies.delassus.jacobian()[:, order])
    soft = bodies.delassus.compliance
    return Problem.primal(H, J, cone=bodies.cone, u_f=bodies.u_f[order], b=bodies.bias, compliance=soft, law=law)


def attempts(name, count=4):
    """Problems of all storages and laws that the solver attempts at once, and what it found of each."""
    line = SOLVERS[name]
    for seed in range(count):
        for law in line.laws:
            for make in (dual, rigid, flexible):
                problem = make(np.random.default_rng(seed), law)
                if not line.attempts(problem, line.settings):
                    continue
                reactions, attempt = np.zeros(problem.row_count), Attempt(problem)
                attempt.count = line.at_once(problem, line.settings, reactions, (1e-9, 1e-7), 200, attempt.found)
                if attempt.count:
                    yield problem, reactions, attempt


@pytest.mark.parametrize("name", ATTEMPTING)
def test_handed_back_is_what_the_judge_finds(name):
    seen = 0
    for problem, reactions, attempt in attempts(name):
        judged, v, u = residuals.evaluate_with_velocities(problem, reactions)
        assert attempt.residuals == judged
        assert np.array_equal(attempt.velocities, v)
        assert (u is None and attempt.body_velocities is None) or np.array_equal(attempt.body_velocities, u)
        _, _, relative, velocity = attempt.judgements()  # by the formed D, where the judge goes through the bodies
        assert relative[-1] == pytest.approx(judged.natural_map_relative, rel=1e-6, abs=1e-13)
        assert velocity[-1] == pytest.approx(judged.worst_velocity_relative, rel=1e-6, abs=1e-12)
        seen += 1
    assert seen >= 2


@pytest.mark.parametrize("make", [dual, rigid, flexible])
def test_a_solution_of_an_attempt_is_like_any_other(make):
    problem = make(np.random.default_rng(5), "ncp")
    solution = solve(problem, "admm-ncp-sa", tol=1e-8)
    assert solution.converged
    assert solution.residuals == residuals.evaluate(problem, solution.reactions)
    assert solution.trace.iterations[-1] == solution.iterations > 0
    assert solution.trace.natural_map_relative[-1] <= 1e-8
    assert solution.seconds == solution.times["total"] > 0.0
    assert solution.details == {}
    assert solution.reactions_low is None
    assert "converged" in solution.message
    assert "converged" in repr(solution)
    with pytest.raises(AttributeError, match="no attribute 'reaction'"):
        _ = solution.reaction


@pytest.mark.parametrize("make", [dual, rigid, flexible])
def test_solutions_of_attempts_travel(make):
    problem = make(np.random.default_rng(5), "ncp")
    for again in (
        pickle.loads(pickle.dumps(solve(problem, "admm-ncp-sa"))),
        copy.deepcopy(solve(problem, "admm-ncp-sa")),
    ):
        solution = solve(problem, "admm-ncp-sa")
        for field in dataclasses.fields(Solution):
            a, b = getattr(solution, field.name), getattr(again, field.name)
            assert type(a) is type(b)
            if field.name not in ("times", "trace"):
                assert np.array_equal(a, b)
    changed = dataclasses.replace(solution, status=Status.STALLED)
    assert changed.status is Status.STALLED
    assert np.array_equal(changed.velocities, solution.velocities)


def test_body_velocities_are_those_of_the_returned_point_whenever_they_are_asked_for():
    problem = flexible(np.random.default_rng(5), "ncp")
    solution, other = solve(problem, "admm-ncp-sa"), solve(problem, "admm-ncp-sa")
    expected = solution.body_velocities.copy()
    other.reactions *= 2.0
    assert np.array_equal(other.body_velocities, expected)


def test_no_trace_is_kept_where_none_is_asked_for():
    problem, rows = dual(np.random.default_rng(1), "ncp"), []
    assert solve(problem, "admm-ncp-sa", trace=False).trace.iterations == []
    solution = solve(problem, "admm-ncp-sa", trace=lambda *row: rows.append(row))
    assert solution.trace.iterations == []
    assert [row[0] for row in rows] == solve(problem, "admm-ncp-sa").trace.iterations


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 9, 12])
def test_full_and_compressed_products_have_the_same_bits(count):
    rng = np.random.default_rng(count)
    D = rng.normal(size=(count, count)) * (rng.random((count, count)) < 0.7)
    x, v, out = rng.normal(size=count), rng.normal(size=count), np.empty(count)
    exact_times_plus(D, x, v, out)
    assert np.array_equal(out, csr_times(sp.csr_array(D), x) + v)
