"""Joints alone in one compiled call: against the ordinary way, with redundant rows, and when it must decline."""

import math

import numpy as np
import pytest

from delassus.problem.random import random_rigid
from delassus.solvers import SOLVERS, solve
from delassus.solvers.parts.at_once import Attempt, joints_at_once
from delassus.status import Status

LIMITS = (1e-10, math.inf), 100
METHODS = [name for name, line in SOLVERS.items() if line.at_once is joints_at_once]


def mechanism(seed, **changes):
    return random_rigid(np.random.default_rng(seed), bodies=8, contacts=0, joints=5, law="frictionless", **changes)


@pytest.mark.parametrize("redundant", [False, True])
def test_one_solve_is_the_answer_of_the_ordinary_way(redundant):
    for seed in range(5):
        problem = mechanism(seed, redundant_joints=redundant)
        found, attempt = np.zeros(problem.row_count), Attempt(problem)
        attempt.count = joints_at_once(problem, None, found, *LIMITS, attempt.found)
        iterations, _, relative, velocity = attempt.judgements()
        assert iterations == [0, 1]
        assert relative[1] <= 1e-12
        assert velocity[1] <= 1e-10
        method = SOLVERS["nbgs-direct"].start(problem, SOLVERS["nbgs-direct"].settings, np.zeros(problem.row_count))
        method.advance(1)
        assert np.allclose(found, method.reactions, rtol=0.0, atol=1e-8 * np.abs(found).max())


def test_good_guess_is_kept_and_other_problems_are_declined():
    problem = mechanism(3)
    guess = solve(problem, "prox-ssn", tol=1e-12).reactions
    kept, attempt = guess.copy(), Attempt(problem)
    attempt.count = joints_at_once(problem, None, kept, *LIMITS, attempt.found)
    assert attempt.judgements()[0] == [0]
    assert np.array_equal(kept, guess)
    with_contacts = random_rigid(np.random.default_rng(1), bodies=8, contacts=3, joints=5)
    found = Attempt(with_contacts).found
    assert joints_at_once(with_contacts, None, np.zeros(with_contacts.row_count), *LIMITS, found) == 0
    many = random_rigid(np.random.default_rng(1), bodies=40, contacts=0, joints=30)
    assert joints_at_once(many, None, np.zeros(many.row_count), *LIMITS, Attempt(many).found) == 0


@pytest.mark.parametrize("name", [*METHODS, "ipm"])  # which attempts more than joints, too
def test_methods_use_it_and_obey_the_iteration_limit(name):
    problem = mechanism(2)
    solution = solve(problem, name, tol=1e-10)
    assert solution.converged
    assert solution.iterations == 1
    assert solve(problem, name, tol=1e-10, max_iter=0).status is Status.MAX_ITERATIONS


@pytest.mark.parametrize("name", METHODS)
def test_no_attempt_is_made_where_there_is_more_than_joints(name):
    line = SOLVERS[name]
    joints, both = (
        random_rigid(np.random.default_rng(1), bodies=8, contacts=contacts, joints=5, law=line.laws[0])
        for contacts in (0, 3)
    )
    assert line.attempts(joints, line.settings)
    assert line.takes(both)
    assert not line.attempts(both, line.settings)
