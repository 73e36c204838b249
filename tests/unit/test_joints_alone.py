"""Hundreds of rows of joints and nothing else: one linear system, by sparse factors where they do."""

import numpy as np
import pytest

from delassus import Problem, Status, solve
from delassus.cones import ProductCone

LINKS, MORE_LINKS = 70, 130  # closed chains of ball joints: the longer one is no longer solved in one compiled call


def chain(redundant: int, contradiction: float = 0.0, links: int = LINKS) -> Problem:
    """A chain hung at both ends, some of whose joints are there twice; the copies ask for another velocity by the
    contradiction [m/s]."""
    rng = np.random.default_rng(1)
    mass = np.zeros((links, 6, 6))
    mass[:, range(3), range(3)] = rng.uniform(0.5, 2.0, links)[:, None]
    mass[:, range(3, 6), range(3, 6)] = rng.uniform(0.01, 0.02, (links, 3))
    bodies = [(k - 1, k) for k in range(links)] + [(links - 1, -1)]
    rows = []
    for a, b in bodies:
        block = np.zeros((3, 12))
        for side, body in enumerate((a, b)):
            if body >= 0:
                arm = rng.uniform(0.2, 0.4, 3) * (1 if side == 0 else -1)
                block[:, 6 * side : 6 * side + 3] = (-1, 1)[side] * np.eye(3)
                block[:, 6 * side + 3 : 6 * side + 6] = (1, -1)[side] * np.cross(np.eye(3), arm)
        rows.append(block)
    bias = np.zeros(3 * (len(rows) + redundant))
    bias[3 * len(rows) :] = contradiction
    bodies += bodies[5 : 5 + redundant]
    rows += rows[5 : 5 + redundant]
    cone = ProductCone(bilateral=[3] * len(rows))
    u_f = np.tile([0.0, 0.0, -0.1, 0.0, 0.0, 0.0], links) + 0.01 * rng.standard_normal(6 * links)
    return Problem.rigid(mass, bodies, np.concatenate(rows), cone=cone, u_f=u_f, b=bias)


def least(problem: Problem) -> np.ndarray:
    return -np.linalg.lstsq(problem.delassus.dense(), problem.free_velocity, rcond=1e-10)[0]


@pytest.mark.parametrize("redundant", [0, 6])
@pytest.mark.parametrize("links", [LINKS, MORE_LINKS])
@pytest.mark.parametrize("solver", ["auto", "prox-ssn"])
def test_joints_hold_and_share_their_load(solver, links, redundant):
    problem = chain(redundant, links=links)
    solution = solve(problem, solver)
    assert solution.converged
    assert np.abs(solution.velocities).max() <= 1e-9 * np.abs(problem.free_velocity).max()
    assert np.linalg.norm(solution.reactions - least(problem)) <= 1e-6 * np.linalg.norm(solution.reactions)
    assert ("Newton systems" in solution.trace.words[-1]) == (links == MORE_LINKS)
    again = solve(problem, solver, guess=solution.reactions)
    assert again.converged
    assert again.iterations == 0


@pytest.mark.parametrize("solver", ["auto", "prox-ssn"])
def test_joints_that_contradict_each_other_get_a_compromise(solver):
    problem = chain(6, contradiction=0.05)
    solution = solve(problem, solver)
    assert solution.status is not Status.CONVERGED
    assert np.linalg.norm(solution.reactions) <= 1.01 * np.linalg.norm(least(problem))
    assert np.abs(solution.velocities).max() <= 0.05
