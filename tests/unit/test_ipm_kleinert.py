"""The inexact interior point as published: start, stopping, R in a simulation, De Saxcé's term, start by PGJ."""

import math
from dataclasses import replace

import numpy as np
import pytest

from delassus import residuals
from delassus.errors import SettingsError
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_block, random_rigid
from delassus.scenes import SCENES
from delassus.simulation import step
from delassus.solvers import SOLVERS, solve
from delassus.solvers.interior.inexact.method import IpmInexactMethod
from delassus.solvers.interior.inexact.regularisation import softness
from delassus.solvers.interior.inexact.settings import contact_stiffness
from delassus.solvers.table import find

OURS, PUBLISHED = SOLVERS["ipm-inexact"].settings, SOLVERS["ipm-kleinert"].settings


def mixed(law=Law.CCP, seed=41, **more):
    wanted = {"bodies": 8, "contacts": 20, "joints": 2, "limits": 2, "frictionless_part": 0.2} | more
    return random_rigid(np.random.default_rng(seed), law=law, **wanted)


def started(problem, settings):
    return IpmInexactMethod(problem, settings, np.zeros(problem.row_count))


# -- start and stopping ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scaled", [True, False])
def test_first_impulse_is_the_published_one(scaled):
    """Kleinert et al. 2014, §5.1: x = (0.1, 0, 0), 0.25 N s where μ = 0.4; and α from x·y, eq. 34."""
    problem = mixed(frictionless_part=0.0)
    method = started(problem, PUBLISHED.changed(scaled=scaled))
    reactions = method.standard.reactions(method.x)[problem.cone.contact_start :].reshape(-1, 3)
    assert np.allclose(reactions[:, 0], 0.1 / problem.mu)
    assert not reactions[:, 1:].any()
    whole = method.standard.reactions(method.x)
    v = problem.constraint_velocity(whole)
    power = np.abs(whole * v)[problem.cone.bilateral_rows :].sum()
    assert method.tau * method.standard.unit**2 == pytest.approx(power / (problem.contact_count + 2))


def test_euclidean_stopping_is_the_relative_residual():
    problem = mixed()
    method = started(problem, PUBLISHED.changed(accuracy=1e-3))
    b = np.random.default_rng(1).normal(size=method.standard.row_count)
    free = method.standard.free
    method.scaling.form(method.x[free:], method.y[free:], method.tau)
    assert method.system.factor(method.scaling)
    dx, image = np.empty_like(b), np.empty_like(b)
    _, size = method.system.solve(b, dx, method.scaling.tolerance(b, 1e-3, 0.1), 500)
    method.system.apply(dx, image)
    assert size == pytest.approx(np.linalg.norm(b - image), rel=1e-6)
    assert size <= 1e-3 * np.linalg.norm(b)


def test_iterations_of_bicgstab_are_two_products_each():
    method = started(mixed(), PUBLISHED.changed(krylov=3, accuracy=1e-12))
    method.advance(3)
    assert max(method.details["krylov"]) == 3
    assert method.details["products"] == [2 * count for count in method.details["krylov"]]


def test_incomplete_factors_are_scalar_in_the_order_of_contacts():
    method = started(mixed(), PUBLISHED)
    factor = method.system.preconditioner
    assert factor.pattern.block == 1
    assert np.array_equal(factor.order, np.arange(len(factor.order)))
    assert OURS.changed(preconditioner="ilu1").preconditioner == "ilu1"


# -- De Saxcé's term (eq. 7, 13) -------------------------------------------------------------------------------------


def brute(D, v_f, mu):
    """Every reaction of one contact under Coulomb's law: sticking, and slip directions found by trying all of them."""
    stick, out = -np.linalg.solve(D, v_f), []
    if math.hypot(stick[1], stick[2]) <= mu * stick[0]:
        out.append(stick)

    def at(angle):
        along = np.array([1.0, -mu * math.cos(angle), -mu * math.sin(angle)])
        normal = -v_f[0] / (D[0] @ along)
        v = D @ (normal * along) + v_f
        return (
            normal * along,
            v[1] * math.sin(angle) - v[2] * math.cos(angle),
            v[1:] @ [math.cos(angle), math.sin(angle)],
        )

    angles = np.linspace(0.0, 2.0 * math.pi, 721)
    for low, high in zip(angles, angles[1:]):
        if at(low)[1] * at(high)[1] <= 0.0:
            for _ in range(80):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if at(low)[1] * at(middle)[1] > 0.0 else (low, middle)
            found, _, along = at(low)
            if along > 0.0 and found[0] >= 0.0:
                out.append(found)
    return out


@pytest.mark.parametrize("seed", range(12))
def test_one_contact_under_the_exact_law_is_what_brute_force_finds(seed):
    rng = np.random.default_rng(seed)
    D, mu = random_block(rng, condition=10.0), rng.uniform(0.1, 0.9)
    v_f = rng.normal(size=3)
    v_f[0] = -abs(v_f[0])
    problem = Problem.dual(D, v_f, mu=[mu], law=Law.NCP)
    found = solve(problem, OURS.changed(linear="direct"), tol=1e-9)
    assert found.converged, found
    assert min(np.abs(found.reactions - one).max() for one in brute(D, v_f, mu)) < 1e-7


def test_generalised_jacobian_is_the_derivative():
    """Kleinert et al. 2014, eq. 13, against differences."""
    method = started(mixed(Law.NCP), OURS)
    rng, e = np.random.default_rng(2), 1e-6
    x, dx = method.x, rng.normal(size=len(method.x))
    method.scaling.set_slopes(method.standard.velocity(x))
    wanted = (method._velocity(x + e * dx) - method._velocity(x - e * dx)) / (2.0 * e)
    found = method.scaling.add_slopes(method.standard.product(dx))
    assert np.allclose(found, wanted, atol=1e-6)
    assert not np.allclose(method.standard.product(dx), wanted, atol=1e-2)


@pytest.mark.parametrize("linear", ["bicgstab", "gmres", "direct"])
def test_exact_law_is_judged_and_reached(linear):
    """Sliding bodies do not lift off: what the convex law's solution does, the judge of the exact law refuses."""
    problem = mixed(Law.NCP, contacts=30)
    found = solve(problem, OURS.changed(linear=linear), tol=1e-8)
    assert found.converged, found
    convex = solve(problem.with_law(Law.CCP), OURS, tol=1e-8)
    assert residuals.measure(problem, convex.reactions).relative > 1e-3
    for _ in range(3):  # and iterates stay inside, as De Saxcé's term is convex
        method = started(problem, OURS)
        method.advance(8)
        v = method._velocity(method.x) + method.s * method.d
        assert np.allclose(v, method.y, atol=1e-9)


def test_symmetric_systems_are_refused_under_the_exact_law():
    with pytest.raises(SettingsError, match="use 'bicgstab' or 'gmres'"):
        solve(mixed(Law.NCP), OURS.changed(linear="cg"))
    with pytest.raises(SettingsError, match="space='contact'"):
        solve(mixed(Law.NCP), OURS.changed(space="body"))


# -- R in a simulation, start by PGJ ---------------------------------------------------------------------------------


def test_stiffness_follows_the_contacts_of_each_step():
    """h² π/4 E (r_A + r_B) of every contact, eq. 32 and 33; the wall counts as a sphere as large as the other one."""
    setup = SCENES["polydisperse-pile"].build(n=12)
    own = OURS.changed(young=1e7)
    state = setup.run(steps=15).state(-1)
    _, report = step(setup.model, state, None, replace(setup.settings, solver=own))
    lengths = report.contacts.rod_lengths(report.at)
    radius = setup.model.shapes.size[np.argsort(setup.model.shapes.body, kind="stable")][-12:, 0]
    bodies = report.contacts.bodies
    both = (bodies >= 0).all(axis=1)
    touching = both & (np.abs(report.contacts.gap) < 1e-4)
    assert touching.any()
    assert np.allclose(lengths[touching], radius[bodies[touching]].sum(axis=1), atol=2e-4)
    method = started(report.problem, own.in_step(setup.settings.h, lengths))
    R = softness(method.standard, method.settings) / method.standard.factor**2
    assert np.allclose(R[::3], 1.0 / (setup.settings.h**2 * contact_stiffness(1e7, lengths)))
    assert report.solution.converged
    with pytest.raises(SettingsError, match="both given"):
        OURS.changed(young=1e7, stiffness=1.0)


def test_start_by_projected_jacobi_takes_fewer_directions():
    """Kleinert et al. 2014, §6. From the sweeps' point the way is shorter, whatever the settings."""
    problem = random_rigid(np.random.default_rng(43), bodies=60, contacts=60, law="ccp")
    cold = solve(problem, OURS, tol=1e-5)
    warm = solve(problem, OURS.changed(pgj=400), tol=1e-5)
    assert cold.converged
    assert warm.converged
    assert warm.iterations < cold.iterations
    assert find("ipm-kleinert")[1].pgj == 0
