"""`ipm-dd`: the same answer as `ipm` where one double serves, and one where it cannot."""

import numpy as np
import pytest

from delassus import Memory, solve, step
from delassus.law import Law
from delassus.problem.random import random_rigid
from delassus.scenes import SCENES
from delassus.solvers.plan import rescuer
from delassus.solvers.table import find

GOAL = 1e-8  # of the largest free velocity


def stack(n, **parameters):
    """The first step's problem of a stack of guided spheres."""
    setup = SCENES["stacked-spheres"].build(n=n, **parameters)
    return step(setup.model, setup.state, None, setup.settings, Memory())[1].problem


@pytest.mark.parametrize("law", [Law.CCP, Law.FRICTIONLESS])
@pytest.mark.parametrize("seed", range(3))
def test_velocities_agree_with_those_of_ipm(seed, law):
    problem = random_rigid(
        np.random.default_rng(seed), bodies=10, contacts=20, joints=4, limits=3, redundant_joints=True, law=law
    )
    found = solve(problem, "ipm-dd", tol=1e-11)
    reference = solve(problem, "ipm", tol=1e-11)
    assert found.converged
    assert reference.converged
    assert np.abs(found.body_velocities - reference.body_velocities).max() < 1e-8
    assert found.iterations <= 40


def test_soft_joints_and_limits_are_as_soft_as_ipm_has_them():
    rng = np.random.default_rng(5)
    hard = random_rigid(rng, bodies=6, contacts=8, joints=3, limits=3, law=Law.CCP)
    soft = np.where(np.arange(hard.row_count) < hard.cone.contact_start, 1e-2, 0.0)
    D = hard.delassus
    problem = type(hard).rigid(
        D.mass, D.bodies, D.rows, cone=hard.cone, u_f=hard.u_f, b=hard.bias, compliance=soft, law=hard.law
    )
    found, reference = solve(problem, "ipm-dd", tol=1e-11), solve(problem, "ipm", tol=1e-11)
    assert found.converged
    assert np.abs(found.body_velocities - reference.body_velocities).max() < 1e-8


def test_exact_friction_by_de_saxce_agrees_with_newton():
    for seed in range(4):
        problem = random_rigid(np.random.default_rng(seed), bodies=6, contacts=10, law=Law.NCP)
        found, reference = solve(problem, "ipm-dd+desaxce", tol=1e-10), solve(problem, "prox-ssn", tol=1e-10)
        assert found.converged
        assert reference.converged
        assert found.residuals.natural_map_relative <= 1e-10


@pytest.mark.parametrize("n", [10, 20, 25])
def test_a_sphere_under_ten_to_the_n_keeps_its_velocity(n):
    """Iterations do not depend on masses."""
    problem = stack(n, mass=10.0, ratio=10.0)
    found = solve(problem, "ipm-dd", tol_velocity=GOAL)
    assert found.converged
    assert found.iterations <= 10
    assert np.abs(found.body_velocities).max() < 1e-7


def test_light_spheres_on_heavy_ones_are_no_harder():
    found = solve(stack(20, mass=1e12, ratio=0.1), "ipm-dd", tol_velocity=GOAL)
    assert found.converged
    assert np.abs(found.body_velocities).max() < 1e-7


@pytest.mark.parametrize("spheres", [True, False])
def test_default_is_no_weaker_than_the_published_method_on_every_stack(spheres):
    """Mangoni, thesis, §5.3.3: stacks of 10ⁿ kg. With one double the default and the thesis both end near n = 10."""
    for n in (2, 5, 9, 11, 13, 20):
        setup = SCENES["heavy-on-light"].build(n=n, ratio=10.0, spheres=spheres)
        problem = step(setup.model, setup.state, None, setup.settings, Memory())[1].problem
        published = solve(problem.with_law(Law.CCP), "ipm-thesis", tol=1e-8, tol_velocity=1e-6)
        for law, solver in ((Law.CCP, "ipm"), (Law.CCP, "auto"), (Law.NCP, "auto")):
            default = solve(problem.with_law(law), solver, tol=1e-8, tol_velocity=1e-6)
            assert default.converged, f"n = {n}: {default.message}"
            assert default.residuals.worst_velocity_relative <= max(published.residuals.worst_velocity_relative, 1e-6)


def test_only_masses_far_apart_are_handed_on():
    problem = random_rigid(np.random.default_rng(0), bodies=3, contacts=3, law=Law.CCP)
    far_apart = stack(10, mass=10.0, ratio=10.0)
    assert not problem.delassus.has_odd_masses()
    assert far_apart.delassus.has_odd_masses()
    assert rescuer(far_apart) == "ipm-dd"
    assert rescuer(far_apart.with_law(Law.NCP)) == "ipm-dd+desaxce"
    assert solve(problem, "ipm").reactions_low is None


def test_a_guess_of_two_doubles_is_believed_by_every_solver():
    problem = stack(20, mass=10.0, ratio=10.0)
    found = solve(problem, "ipm-dd", tol_velocity=GOAL)
    assert found.point.shape == (2, problem.row_count)
    for solver in ("auto", "ipm", "nbgs"):
        again = solve(problem, solver, found.point, tol_velocity=GOAL)
        assert again.converged
        assert again.iterations == 0
        assert np.array_equal(again.point, found.point)


def test_soft_contacts_and_large_problems_are_not_taken():
    line, _ = find("ipm-dd")
    rng = np.random.default_rng(0)
    assert not line.takes(random_rigid(rng, bodies=3, contacts=3, compliance=1e-3, law=Law.CCP))
    assert not line.takes(random_rigid(rng, bodies=60, contacts=30, law=Law.CCP))
    assert not line.takes(random_rigid(rng, bodies=3, contacts=3, law=Law.NCP))
