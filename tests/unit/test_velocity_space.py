"""Velocities as unknowns: the same answer as reactions where those serve, and one where they cannot."""

import numpy as np
import pytest

from delassus.errors import ProblemError
from delassus.law import Law
from delassus.problem.random import random_rigid
from delassus.scenes import SCENES
from delassus.simulation import Memory, step
from delassus.solvers import solve
from delassus.solvers.velocity_space import VelocityIpm, solve_velocities

GOAL = 1e-9  # m/s


def stack(n, **parameters):
    """The first step's problem of a stack of spheres."""
    setup = SCENES["stacked-spheres"].build(n=n, **parameters)
    return step(setup.model, setup.state, None, setup.settings, Memory())[1].problem


@pytest.mark.parametrize("compliance", [0.0, 1e-3])
@pytest.mark.parametrize("seed", range(3))
def test_velocities_agree_with_those_of_reactions(seed, compliance):
    problem = random_rigid(
        np.random.default_rng(seed), bodies=15, contacts=30, joints=4, limits=3, redundant_joints=True,
        compliance=compliance, law=Law.FRICTIONLESS,
    )  # fmt: skip
    point = solve_velocities(problem, GOAL)
    reference = solve(problem, "ipm", tol=1e-11)
    assert reference.converged
    assert point is not None
    assert np.abs(point.u - reference.body_velocities).max() < 1e-7
    assert point.iterations <= 20


@pytest.mark.parametrize("n", [10, 20, 25])
def test_a_sphere_under_ten_to_the_n_keeps_its_velocity(n):
    """Iterations do not depend on masses; rows hold to the goal, momentum to the forces on each body."""
    point = solve_velocities(stack(n, mass=10.0, ratio=10.0), GOAL)
    assert point is not None
    assert point.worst_velocity <= GOAL
    assert point.momentum <= 1e-9
    assert point.iterations <= 15


def test_light_spheres_on_heavy_ones_are_no_harder():
    point = solve_velocities(stack(20, mass=1e12, ratio=0.1), GOAL)
    assert point is not None
    assert np.abs(point.u).max() < 1e-8


def test_published_start_takes_iterations_in_proportion_to_the_exponent():
    """000 §5.3.3: linear growth, measured where the thesis ends and where it began."""
    counts = []
    for n in (5, 10, 15):
        method = VelocityIpm(stack(n, mass=10.0, ratio=10.0), published=True)
        while method.mu >= 1e-9:
            assert method.step()
            counts.append(n)
    five, ten, fifteen = (counts.count(n) for n in (5, 10, 15))
    assert five < ten < fifteen
    assert abs((fifteen - ten) - (ten - five)) <= 4


def test_friction_is_refused():
    with pytest.raises(ProblemError, match="without friction"):
        VelocityIpm(random_rigid(np.random.default_rng(0), bodies=3, contacts=3, law=Law.CCP))
