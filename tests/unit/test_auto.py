"""What `auto` tries, and that it hands on where the first method crawls."""

import numpy as np
import pytest

from delassus import Memory, ModelBuilder, solve, step
from delassus.builder import Material
from delassus.cones import ProductCone
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_rigid
from delassus.shapes import Box, Plane
from delassus.simulation import StepSettings
from delassus.solvers.auto.stages import auto_stages
from delassus.status import Status


def test_two_boxes_of_ratio_1e3_converge_under_ccp():
    material = Material(0.5)
    builder = ModelBuilder()
    builder.fixed("floor", shapes=[Plane()], material=material)
    builder.body("light", position=(0.0, 0.0, 0.1), mass=10.0, shapes=[Box((0.2, 0.2, 0.2))], material=material)
    builder.body("heavy", position=(0.0, 0.0, 0.4), mass=1e4, shapes=[Box((0.4, 0.4, 0.4))], material=material)
    model, state = builder.build()
    memory, settings = Memory(), StepSettings(h=0.01, law=Law.CCP)
    for _ in range(20):
        state, report = step(model, state, None, settings, memory)
        assert report.solution.converged
    assert np.abs(state.u).max() < 1e-6


def dual(problem: Problem) -> Problem:
    """The same problem as one that knows D alone, where no compiled interior point begins."""
    return Problem.dual(problem.delassus.matrix(), problem.free_velocity, cone=problem.cone, law=problem.law)


def test_sweeps_that_crawl_under_ccp_hand_on_to_the_interior_point():
    """Masses of ratio 1e4: sweeps alone do not get there in 3 000."""
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        problem = dual(random_rigid(rng, bodies=6, contacts=12, joints=2, mass_ratio=1e4, law=Law.CCP))
        assert [name for name, _ in auto_stages(problem)] == ["pgs-ccp", "ipm"]
        if solve(problem, "pgs-ccp", max_iter=3000).converged:
            continue
        steps: list[tuple[float, ...]] = []
        solution = solve(problem, max_iter=10_000, trace=lambda *row, steps=steps: steps.append(row))
        iterations = [row[0] for row in steps]
        assert solution.converged
        assert solution.solver == "pgs-ccp, ipm"
        assert iterations == sorted(iterations)
        assert solution.iterations == iterations[-1]
        found += 1
    assert found


@pytest.mark.parametrize("law", [Law.CCP, Law.FRICTIONLESS])
def test_auto_holds_a_proof_where_there_is_no_solution(law):
    """A body between walls that close in: without friction Newton's method alone only stalls."""
    rows = np.zeros((6, 12))
    rows[:3, 6:9] = np.eye(3)
    rows[3:, 6:9] = -np.eye(3)
    bias = np.array([-0.5, 0.0, 0.0, -0.5, 0.0, 0.0])
    problem = Problem.rigid(
        np.eye(6)[None], np.array([[-1, 0], [-1, 0]]), rows, cone=ProductCone(mu=[0.3, 0.3]), u_f=np.zeros(6), b=bias,
        law=law,
    )  # fmt: skip
    assert solve(problem).status is Status.INFEASIBLE


@pytest.mark.parametrize("law", list(Law))
def test_auto_keeps_to_the_iterations_it_is_given(law):
    problem = random_rigid(np.random.default_rng(3), bodies=60, contacts=150, mass_ratio=1e4, law=law)
    assert solve(problem, tol=1e-14, max_iter=7).iterations <= 7
