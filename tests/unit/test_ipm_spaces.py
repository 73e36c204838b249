"""The interior point works in two spaces, dense for small problems and sparse for large ones, through the same stages:
what is left twice, the linear systems around them, is held against each other on the same problems."""

import numpy as np
import pytest

import delassus
from delassus.cones.product import ProductCone
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_rigid
from delassus.solvers import SOLVERS
from delassus.solvers.interior.dense import DenseSpace
from delassus.solvers.interior.method import InteriorPoint
from delassus.solvers.interior.settings import Ipm
from delassus.solvers.interior.sparse_phases import Interior, Polish
from delassus.solvers.interior.standard import Standard
from delassus.solvers.interior.systems import system_of
from delassus.solvers.parts.at_once import Attempt
from delassus.status import Status

IPM = Ipm(solver="ipm")
SPARSE = IPM.changed(linear="body")
NEARLY = 1e-8  # norm of the natural map


def both_spaces(seed):
    """A problem of contacts in both spaces, the sparse one at the point where the dense one starts. Rows are scaled
    alike where there are no joints, so x and y mean the same."""
    problem = random_rigid(np.random.default_rng(seed), bodies=5, contacts=9, law=Law.CCP)
    dense = DenseSpace(problem, IPM)
    dense.enter(np.zeros(problem.row_count), None)
    standard = Standard(problem)
    sparse = Interior(
        standard,
        system_of(standard, SPARSE),
        (dense.x.copy(), dense.y.copy()),
        correctors=IPM.correctors,
        joint=IPM.joint,
        single_above=np.inf,
    )
    return problem, dense, sparse


@pytest.mark.parametrize("seed", range(3))
def test_iterations_agree(seed):
    _, dense, sparse = both_spaces(seed)
    for compared in range(4):
        outcome = dense.interior(1, 0.0, 0.0)
        end, norm, worst = sparse.advance(0.0, 0.0)
        size = np.abs(sparse.x).max()
        np.testing.assert_allclose(dense.x, sparse.x, rtol=1e-6, atol=1e-6 * size)
        np.testing.assert_allclose(dense.y, sparse.y, rtol=1e-6, atol=1e-6 * size)
        assert outcome.end == end
        if norm < NEARLY and compared >= 2:  # what is left is rounding, other sums in either space and on every machine
            break
        np.testing.assert_allclose([outcome.norm, outcome.worst], [norm, worst], rtol=1e-3)
        told = dict(zip(outcome.names, outcome.values[0]))
        assert told["correctors"] == sparse.details["correctors"]
        # the mean of products x·y of 1e-12: solves end at different residuals
        np.testing.assert_allclose(told["tau"], sparse.details["tau"], rtol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_newton_steps_agree(seed):
    _, dense, sparse = both_spaces(seed)
    dense.interior(8, 1e-4, 1e-2)
    dense.begin_polish()
    polish = Polish(sparse.standard, sparse.system, dense.x, dense.newton.rho)
    for _ in range(3):
        outcome = dense.polish(1, 0.0, 0.0, 20)
        end, _, _ = polish.advance(20)
        np.testing.assert_allclose(outcome.x, polish.best, rtol=1e-7, atol=1e-7 * np.abs(outcome.x).max())
        np.testing.assert_allclose(dense.newton.rho, polish.newton.rho)
        assert outcome.end == end


@pytest.mark.parametrize("seed", range(4))
def test_solutions_agree_with_joints_limits_and_compliance(seed):
    """Joints are eliminated in one space and penalised in the other, but both find the one motion."""
    rng = np.random.default_rng(seed)
    problem = random_rigid(rng, bodies=6, contacts=7, joints=3, limits=2, compliance=1e-3 * (seed % 2), law=Law.CCP)
    small, large = (delassus.solve(problem, settings, tol=1e-9) for settings in (IPM, SPARSE))
    assert small.converged
    assert large.converged
    np.testing.assert_allclose(
        small.body_velocities, large.body_velocities, atol=1e-6 * np.abs(large.body_velocities).max()
    )
    assert small.iterations <= 2 * large.iterations + 5


@pytest.mark.parametrize("seed", range(4))
def test_an_attempt_takes_the_iterations_of_the_ordinary_loop(seed):
    """Without the driver's loop, but through the same calls: as many iterations later the ordinary way is at the same
    point."""
    joints = 3 * (seed % 2)
    problem = random_rigid(np.random.default_rng(seed), bodies=6, contacts=7, joints=joints, limits=1, law=Law.CCP)
    solution = delassus.solve(problem, IPM, tol=1e-7)
    assert solution.converged
    assert len(solution.trace.iterations) >= 2
    assert "inner" not in solution.details  # no polish, which begins where a goal was reached that the loop has not
    method = InteriorPoint(problem, IPM, np.zeros(problem.row_count))
    for _ in range(solution.iterations):
        method.advance(1)
    np.testing.assert_array_equal(method.reactions, solution.reactions)
    assert method.details == solution.details


def test_what_an_attempt_cannot_do_is_left_to_the_ordinary_loop():
    """Two limits close in on a body from both sides: the attempt gets stuck, the loop behind it finds the proof."""
    rows = np.zeros((2, 12))
    rows[0, 6], rows[1, 6] = 1.0, -1.0  # of the second body, the first is the world
    problem = Problem.rigid(
        np.eye(6)[None],
        [[-1, 0], [-1, 0]],
        rows,
        cone=ProductCone(unilateral=2),
        u_f=np.zeros(6),
        b=[-1.0, -1.0],
        law=Law.CCP,
    )
    line, attempt, reactions = SOLVERS["ipm"], Attempt(problem), np.zeros(2)
    attempt.count = line.at_once(problem, IPM, reactions, (1e-8, 1e-6), 100, attempt.found)
    assert not (attempt.count and attempt.is_within(1e-8, 1e-6))
    solution = delassus.solve(problem, IPM, tol=1e-8)
    assert solution.status is Status.INFEASIBLE
    assert solution.iterations < 100
