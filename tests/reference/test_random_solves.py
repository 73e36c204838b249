"""Random solves over all solvers, laws and kinds of problems, judged a second time by a judge that shares no code.

The long one is chosen by the environment, so that it can be split over machines:

    RANDOM_SOLVES_COUNT=100000 RANDOM_SOLVES_SEED=1 RANDOM_SOLVES_PROCESSES=16 pytest -m slow -s -k random_solves
"""

import os

import numpy as np
import pytest
from plain_judge import PlainJudge
from random_problems import INFEASIBLE, KINDS, make
from random_solves import FAILURES, run

from delassus import residuals
from delassus.law import Law
from delassus.solvers import solve


@pytest.mark.parametrize("kind", KINDS)
def test_two_judges_agree(kind):
    """On any reactions, not only good ones."""
    rng = np.random.default_rng([3, list(KINDS).index(kind)])
    for law in Law:
        problem = make(kind, rng).with_law(law)
        for size in (0.0, 1.0, 1e3):
            reactions = size * rng.normal(size=problem.row_count)
            ours, theirs = residuals.measure(problem, reactions), PlainJudge(problem).judge(reactions)
            assert theirs.relative == pytest.approx(ours.relative, rel=1e-6, abs=2 * theirs.excuse_relative)
            assert theirs.velocity == pytest.approx(ours.velocity, rel=1e-6, abs=2 * theirs.excuse_velocity)


def test_second_judge_refutes_what_is_not_so():
    rng = np.random.default_rng(5)
    for kind in ("well-posed", "joints-and-limits", "dual", "flexible"):
        problem = make(kind, rng)
        judge = PlainJudge(problem)
        solution = solve(problem, "prox-ssn", tol=1e-10)
        assert solution.converged
        assert not judge.judge(solution.reactions).refutes(1e-10, 1e-8)
        assert judge.judge(solution.reactions * 1.001 + 1e-3).refutes(1e-5, 1e-3)


def test_infeasible_kinds_have_no_solution():
    """No velocity satisfies them, says a linear program, and of the others that are primal one does."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(6)
    asked = set()
    for kind in KINDS:
        problem = make(kind, rng).with_law(Law.FRICTIONLESS)
        if problem.delassus.kind == "matrix" or problem.delassus.compliance is not None:
            continue
        J, cone = problem.delassus.jacobian().toarray(), problem.cone
        e, c = cone.bilateral_rows, cone.contact_start
        normal = np.concatenate([np.arange(e, c), np.arange(c, cone.row_count, 3)])
        b, free = problem.bias, np.zeros(J.shape[1])
        equal = {"A_eq": J[:e], "b_eq": -b[:e]} if e else {}
        found = linprog(free, A_ub=-J[normal], b_ub=b[normal], bounds=(None, None), **equal)
        assert (found.status == 2) == (kind in INFEASIBLE), kind
        asked.add(kind)
    assert asked & set(INFEASIBLE)
    assert asked - set(INFEASIBLE)


def test_a_few_random_solves_hold_what_they_claim():
    total = run(400, seed=2)
    assert total.solves >= 400
    assert not total.failures, total.failures[0]


@pytest.mark.slow
def test_many_random_solves_hold_what_they_claim():
    """No false claim, no false infeasible, no exception."""
    count, seed, processes = (
        int(os.environ.get(f"RANDOM_SOLVES_{name}", default))
        for name, default in (("COUNT", 100_000), ("SEED", 1), ("PROCESSES", os.cpu_count() or 1))
    )
    total = run(count, seed, processes=processes)
    print(total.summary())
    assert total.solves >= count
    assert {what: total.count(what) for what in FAILURES} == dict.fromkeys(FAILURES, 0), total.failures[:3]
