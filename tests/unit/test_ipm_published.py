"""`ipm-mangoni` and its options: the published interior point with velocities of its own (Mangoni, PhD thesis)."""

import numpy as np
import pytest

from delassus.cones import ProductCone
from delassus.errors import SettingsError
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_dual, random_rigid
from delassus.solvers import SOLVERS, solve
from delassus_papers.solvers.thesis import ThesisMethod

PUBLISHED = SOLVERS["ipm-mangoni"].settings.changed(lengths="common")


def some(seed=3, **options):
    return random_rigid(np.random.default_rng(seed), bodies=8, contacts=10, law=Law.FRICTIONLESS, **options)


def started(problem, guess=None, **changes):
    reactions = np.zeros(problem.row_count) if guess is None else guess.copy()
    return ThesisMethod(problem, PUBLISHED.changed(**changes), reactions)


def before(problem, u):
    """The same problem after a step that left these velocities."""
    return Problem(
        problem.delassus, problem.free_velocity, problem.cone, problem.law, u_f=problem.u_f, bias=problem.bias, before=u
    )


def left_over(problem, interior):
    """(r_p, r_d) computed anew from the method's own variables."""
    standard = interior.standard
    v = (problem.delassus.rows_times(interior.u) + problem.bias)[standard.cone.rows] + standard.soft * interior.x
    momentum = problem.delassus.mass_matrix() @ (interior.u - problem.u_f)
    return v - interior.y, momentum - problem.delassus.jacobian().T @ standard.reactions(interior.x)


@pytest.mark.parametrize("lengths", ["common", "separate"])
@pytest.mark.parametrize("linear", ["saddle", "body"])
def test_residuals_carried_along_are_those_of_the_variables(lengths, linear):
    """Mangoni, thesis, eq. 4.14 (app. B has its signs): from iteration to iteration, to rounding."""
    problem = some(joints=2, limits=2, compliance=1e-3)
    method = started(problem, lengths=lengths, linear=linear, joint=1e10)
    for _ in range(6):
        method.advance(1)
        r_p, r_d = left_over(problem, method.interior)
        assert np.allclose(r_p, method.interior.r_p, atol=1e-7)
        assert np.allclose(r_d, method.interior.r_d, atol=1e-7)


@pytest.mark.parametrize("lengths", ["common", "separate"])
def test_eliminated_velocities_change_no_iterate(lengths):
    problem = some(limits=3)
    whole, reduced = (started(problem, lengths=lengths, linear=linear) for linear in ("saddle", "body"))
    for _ in range(6):
        for method in (whole, reduced):
            method.advance(1)
        assert np.allclose(whole.interior.x, reduced.interior.x, rtol=1e-8)
        assert np.allclose(whole.interior.y, reduced.interior.y, rtol=1e-8)
        assert np.allclose(whole.interior.u, reduced.interior.u, atol=1e-8)


def test_separate_lengths_are_what_they_say():
    """α_P moves y and velocities, α_D reactions (eq. 4.11); they differ, and the answer does not."""
    problem = some()
    method = started(problem, lengths="separate")
    inner, apart = method.interior, 0.0
    for _ in range(4):
        x, y, u = inner.x.copy(), inner.y.copy(), inner.u.copy()
        method.advance(1)
        dx, dy = inner.work.dx, inner.work.dy
        dual, primal = (np.linalg.norm(a) / np.linalg.norm(b) for a, b in ((inner.x - x, dx), (inner.y - y, dy)))
        assert np.allclose(inner.u - u, primal * inner.saddle.du)
        apart = max(apart, abs(primal - dual))
        assert inner.x.min() > 0.0
        assert inner.y.min() > 0.0
    assert apart > 0.01
    found = solve(problem, PUBLISHED.changed(lengths="separate"), tol=1e-8)
    assert found.converged
    assert np.allclose(found.velocities, solve(problem, tol=1e-10).velocities, atol=1e-6)


def test_full_warm_start_uses_the_solution_directly():
    """Reactions and velocities of the step before as they are: the same problem again ends after one iteration."""
    problem = some(seed=5)
    cold = started(problem, own_tol=1e-10)
    cold.advance(60)
    assert cold.finished
    again = started(before(problem, cold.interior.u), cold.reactions, warm="full", own_tol=1e-10)
    assert np.array_equal(again.interior.x, cold.interior.x)
    assert np.array_equal(again.interior.u, cold.interior.u)
    again.advance(1)
    assert again.finished
    partial = started(before(problem, cold.interior.u), cold.reactions, warm="partial", own_tol=1e-10)
    assert np.array_equal(partial.interior.u, cold.interior.u)
    partial.advance(60)
    assert len(partial.batches) > 3


def test_a_warm_start_outside_the_cones_falls_back():
    """§4.11: a new contact without a reaction, and velocities that penetrate: a prediction, everything at least one."""
    problem = some(seed=5)
    guess = solve(problem, tol=1e-10).reactions  # zero where contacts open
    for warm in ("full", "partial"):
        method = started(before(problem, problem.u_f), guess, warm=warm)
        assert min(method.interior.x.min(), method.interior.y.min()) >= 1.0
        assert np.array_equal(method.interior.u, problem.u_f)
        method.advance(40)
        assert np.abs(method.interior.r_p).max() < 1e-8


def test_a_warm_start_whose_system_is_singular_falls_back():
    """Four contacts of one plate, nearly closed: no digit is left of what tells them apart. The method starts again as
    without a guess, and ends."""
    rows = np.array([[0.0, 0.0, 1.0, x, y, 0.0] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])
    pair, padded = np.array([[-1, 0]] * 4), np.zeros((4, 12))
    padded[:, 6:] = rows
    plate = Problem.rigid(
        np.eye(6)[None], pair, padded, cone=ProductCone((), 4), u_f=[0, 0, -1.0, 0, 0, 0], law=Law.FRICTIONLESS
    )
    closed = before(plate, np.array([0.0, 0.0, 1e-18, 0.0, 0.0, 0.0]))
    method = started(closed, np.full(4, 0.25), warm="full", own_tol=1e-10)
    assert method.interior.y.max() < 1e-17
    method.advance(40)
    assert not method.falls_back
    assert method.finished
    assert np.allclose(method.reactions, 0.25)
    assert method.interior.is_below(1e-10)


def test_ones_of_the_start_are_a_setting():
    problem = some()
    for start in ("nocedal", "dapuzzo"):
        small, large = (started(problem, start=start, ones=ones).interior for ones in (0.01, 100.0))
        assert (small.u == 0.01).all()
        assert (large.u == 100.0).all()
        assert large.y.min() >= 100.0


def test_what_it_does_not_take_is_said():
    dual = random_dual(np.random.default_rng(0), contacts=2, law=Law.FRICTIONLESS)
    with pytest.raises(SettingsError, match="holds only D"):
        started(dual)
    with pytest.raises(SettingsError, match="without friction"):
        started(some().with_law(Law.CCP))
    with pytest.raises(SettingsError, match="unknown linear 'saddle'"):
        SOLVERS["ipm"].settings.changed(linear="saddle")
