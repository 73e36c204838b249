"""The stop on three residuals (Tsounis et al. 2025, Alg. 5–6), one place for two families, and what `-plain` means."""

import numpy as np
import pytest

from delassus import residuals
from delassus.errors import SettingsError
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_rigid
from delassus.solvers import SOLVERS, solve, solve_batch
from delassus.solvers.admm.admm import Admm
from delassus.solvers.driver import Run, limits_of
from delassus.solvers.settings import PublishedStop
from delassus.solvers.table import find

EPS = 1e-5
STOP = {"eps_primal": EPS, "eps_dual": EPS, "eps_complementarity": EPS}
STOPPING = [name for name, line in SOLVERS.items() if isinstance(line.settings, PublishedStop)]


@pytest.fixture(scope="module")
def problem():
    return random_rigid(np.random.default_rng(31), bodies=10, contacts=12, joints=5, limits=4)


def _three(problem, reactions):
    found = residuals.evaluate(problem, reactions)
    return np.array([found.primal, found.dual, found.complementarity])


@pytest.mark.parametrize("name", STOPPING)
def test_stops_at_the_first_point_within_all_three(name, problem):
    line = SOLVERS[name]
    posed = problem if Law.NCP in line.laws else problem.with_law(Law.CCP)
    settings = line.settings.changed(**STOP)
    found = solve(posed, settings, tol=1e-15, max_iter=3000)
    if not (_three(posed, found.reactions) < EPS).all():
        assert name in ("raisim", "nbgs-preclik", "raisim-ds", "raisim-ds-es", "pgs-ncp", "nbgs"), name
        return  # another law, or cycles: nothing to stop at
    assert 0 < found.iterations < 3000
    assert not found.converged  # the judge was asked for 1e-15 and says so
    before = solve(posed, settings, tol=1e-15, max_iter=found.iterations - 1)
    assert not (_three(posed, before.reactions) < EPS).all()


def test_the_judges_tolerance_does_not_stop_it_sooner(problem):
    for name in ("pgs-ccp-plain", "admm-ncp-sa-plain", "pgs-ccp-plain+anderson"):
        settings = find(name)[1].changed(**STOP)
        found = solve(problem, settings, tol=1e-1)
        assert found.converged
        assert (_three(problem, found.reactions) < EPS).all()
        assert found.iterations > solve(problem, name, tol=1e-1).iterations
        again = solve(problem, settings, found.reactions, tol=1e-1)
        assert again.iterations == 0


def test_what_is_said_of_the_point_is_of_that_point(problem):
    """The judge liked another one better, and knows its velocities: they are not those of the point at the stop."""
    dual = Problem.dual(problem.delassus.matrix(), problem.free_velocity, cone=problem.cone)
    good, stop = solve(dual).reactions, np.zeros(dual.row_count)
    run = Run(dual, limits_of(1e-6, "auto", 100, None), 0.0, own_stop=(np.inf, np.inf, np.inf))
    for k, point in enumerate((good, stop)):
        excess = run.judge(k, point)
    assert np.array_equal(run.best, good)
    assert run.is_done(excess, stop)
    assert np.array_equal(run.best, stop)
    said, velocities, _ = residuals.evaluate_with_velocities(dual, run.best, run.best_low, run.best_velocities)
    assert np.array_equal(velocities, dual.free_velocity)
    assert said == residuals.evaluate(dual, stop)


def test_batches_keep_to_it(problem):
    settings = SOLVERS["admm-ncp-sa"].settings.changed(**STOP)
    one = solve(problem, settings, tol=1e-1)
    assert np.array_equal(solve_batch([problem] * 2, settings, tol=1e-1)[1].reactions, one.reactions)


def test_the_three_belong_together():
    with pytest.raises(SettingsError, match="give all three, or none"):
        SOLVERS["nbgs"].settings.changed(eps_dual=1e-6)


def test_plain_is_the_published_iteration(problem):
    """Alg. 6 written down with dense matrices: the same iterates."""
    settings = SOLVERS["admm-ncp-fp-plain"].settings
    assert isinstance(settings, Admm)
    D, v_f, cone = problem.delassus.dense(), problem.free_velocity, problem.cone
    eta, rho, omega = settings.eta, settings.rho, settings.omega
    inverse = np.linalg.inv(D + (eta + rho) * np.eye(len(D)))

    def saxce(v):
        out = np.zeros_like(v)
        c = cone.contact_start
        out[c::3] = cone.mu * np.hypot(v[c + 1 :: 3], v[c + 2 :: 3])
        return out

    def dual_projection(w):
        return w + cone.project(-w)

    x = y = np.zeros(len(D))
    z = dual_projection(v_f + saxce(v_f))
    z[: cone.bilateral_rows] = 0.0
    for _ in range(7):
        x_new = -inverse @ (v_f + saxce(z) - eta * x - rho * y - z)
        x = omega * x_new + (1.0 - omega) * y
        y = cone.project(x - z / rho)
        z = z - rho * (x - y)
    found = solve(problem, "admm-ncp-fp-plain", tol=1e-15, max_iter=7)
    method = SOLVERS["admm-ncp-fp-plain"].start(problem, settings, np.zeros(len(D)))
    method.advance(7)
    np.testing.assert_allclose(method.reactions, y, rtol=1e-9, atol=1e-12)
    assert found.iterations == 7
