"""Newton's inner loop: small, full and sparse matrices must do the same, and its system must be the derivative."""

import numpy as np
import pytest

from delassus import residuals
from delassus.law import Law
from delassus.linalg.factor import structural
from delassus.problem.random import random_rigid
from delassus.solvers import solve
from delassus.solvers.interior.newton_start import interior_start
from delassus.solvers.newton.alart_curnier import alart_curnier, projection_derivative, smoothed_derivative
from delassus.solvers.newton.body import BodyNewton
from delassus.solvers.newton.full import FullNewton
from delassus.solvers.newton.small import SmallNewton
from delassus.solvers.newton.sparse import SparseNewton, with_full_blocks
from delassus.solvers.splitting.method import swept

RHO, ALPHA = 100.0, 1e-3


@pytest.fixture
def problem():
    return random_rigid(np.random.default_rng(5), bodies=8, contacts=20, limits=3)


def newtons(problem):
    D, v, limits, mu = problem.delassus.dense(), problem.free_velocity, problem.cone.unilateral, problem.mu
    whole = SparseNewton(problem, RHO), BodyNewton(problem, RHO, swept)
    return SmallNewton(D, v, limits, mu, RHO), FullNewton(D, v, limits, mu, RHO), *whole


@pytest.fixture(params=["installed", "superlu"])
def back_end(request, monkeypatch):
    if request.param == "superlu":
        monkeypatch.setattr(structural, "mkl", lambda: None)
    return request.param


def point(problem, seed=1):
    return np.random.default_rng(seed).normal(size=problem.row_count)


def test_full_blocks_keep_the_matrix(problem):
    D = problem.delassus.matrix()
    D.data[::7] = 0.0
    D.eliminate_zeros()
    pointer, column, value = with_full_blocks(D, problem.cone.contact_start)
    dense = np.zeros(D.shape)
    for i in range(len(dense)):
        np.add.at(dense[i], column[pointer[i] : pointer[i + 1]], value[pointer[i] : pointer[i + 1]])
        assert (np.diff(column[pointer[i] : pointer[i + 1]]) > 0).all()
    assert np.array_equal(dense, D.toarray())
    first = problem.cone.contact_start
    for k in range(problem.contact_count):
        rows = [column[pointer[i] : pointer[i + 1]].tolist() for i in range(first + 3 * k, first + 3 * k + 3)]
        assert rows[0] == rows[1] == rows[2]


def test_direction_is_newtons(problem, back_end):
    """A small part of the step reduces F by that part: the system is the derivative of the function."""
    D, v = problem.delassus.dense(), problem.free_velocity
    r = point(problem)
    kinds = (0, problem.cone.unilateral, problem.mu)
    F, moved = np.empty_like(r), np.empty_like(r)
    u = D @ r + ALPHA * r + v
    alart_curnier(r, u, RHO, *kinds, F)
    for newton in newtons(problem)[1:]:
        d = newton.direction(r, u, ALPHA, F)
        t = 1e-7
        alart_curnier(r + t * d, u + t * (D @ d + ALPHA * d), RHO, *kinds, moved)
        assert np.allclose((moved - F) / t, -F, rtol=1e-4, atol=1e-4 * np.abs(F).max())


def test_all_do_the_same(problem, back_end):
    r = np.zeros(problem.row_count)
    found = [newton.solve(ALPHA, r, r, 1e-12, 40) for newton in newtons(problem)]
    assert all(solved for _, _, solved in found)
    assert all(np.allclose(found[0][0], other, atol=1e-9) for other, _, _ in found)
    swept = [newton.sweep(ALPHA, r, point(problem), 7) for newton in newtons(problem)]
    assert all(np.allclose(swept[0], other, atol=1e-12) for other in swept)
    errors = [newton.error(point(problem)) for newton in newtons(problem)]
    assert errors == pytest.approx([errors[0]] * 4, rel=1e-12)


@pytest.mark.parametrize("crowded", [False, True])
def test_sparse_methods_treat_joints_as_rows(back_end, crowded, monkeypatch):
    """Joints, redundant ones too, in the sparse system give the velocities of the eliminated ones."""
    problem = random_rigid(np.random.default_rng(8), bodies=10, contacts=12, joints=4, limits=3, redundant_joints=True)
    dense = solve(problem, "prox-ssn", tol=1e-10)
    monkeypatch.setattr("delassus.solvers.newton.prox_ssn._DENSE_ROWS", 0)
    monkeypatch.setattr("delassus.solvers.newton.prox_ssn._is_crowded", lambda problem: crowded)
    sparse = solve(problem, "prox-ssn", tol=1e-10)
    assert dense.converged
    assert sparse.converged
    # contact forces of a random heap are not unique, velocities of this one are
    assert np.allclose(dense.body_velocities, sparse.body_velocities, atol=1e-7)


def smooth_projection(z, mu, width):
    """The projection of Alart and Curnier's function for one contact, its kinks rounded off."""
    n = 0.5 * (z[0] + np.hypot(z[0], 2 * width))
    length = np.sqrt(z[1] ** 2 + z[2] ** 2 + width**2)
    larger = 0.5 * (mu * n + length + np.hypot(length - mu * n, 2 * width))
    return np.array([n, mu * n / larger * z[1], mu * n / larger * z[2]])


@pytest.mark.parametrize("z", [[1.0, 0.2, -0.1], [1.0, 0.9, 0.3], [-0.2, 0.5, 0.1], [0.1, 0.01, 0.0]])
def test_smoothed_derivative_is_that_of_a_smooth_function(z):
    mu, width, step = 0.6, 0.3, 1e-6
    r, u = np.array(z), np.zeros(3)
    A, row = np.full((3, 3), np.nan), np.zeros(3, np.int64)
    assert smoothed_derivative(r, u, RHO, 0, 0, np.array([mu]), width, A, row) == 3
    for j in range(3):
        ahead, behind = r + step * np.eye(3)[j], r - step * np.eye(3)[j]
        slope = (smooth_projection(ahead, mu, width) - smooth_projection(behind, mu, width)) / (2 * step)
        assert np.allclose(A[:, j], slope, atol=1e-8)


def test_smoothed_derivative_tends_to_the_exact_one(problem):
    m = problem.row_count
    r, u, kinds = point(problem), point(problem, 2), (0, problem.cone.unilateral, problem.mu)
    exact, smooth = np.full((m, 3), np.nan), np.full((m, 3), np.nan)
    closed, nearly = np.zeros(m, np.int64), np.zeros(m, np.int64)
    count = projection_derivative(r, u, RHO, *kinds, exact, closed)
    assert smoothed_derivative(r, u, RHO, *kinds, 1e-6, smooth, nearly) == count
    assert np.array_equal(closed[:count], nearly[:count])
    assert np.allclose(exact, smooth, atol=1e-9)


def test_contacts_open_for_long_leave_the_system(problem, back_end):
    """The direction is the same as that of a system built for the present contacts alone."""
    newton, v = SparseNewton(problem, RHO), problem.free_velocity
    pressed = np.zeros(problem.row_count)
    pressed[problem.cone.contact_start :: 3] = 100.0
    F = point(problem, 3)
    newton.direction(pressed, v, ALPHA, F)
    all_rows = len(newton.members)
    for _ in range(45):
        found = newton.direction(point(problem), v, ALPHA, F)
    assert len(newton.members) < all_rows
    assert np.allclose(found, SparseNewton(problem, RHO).direction(point(problem), v, ALPHA, F), atol=1e-10)


def test_interior_start_is_near_the_solution():
    """Nearer than as many sweeps, with friction; at the solution without."""
    rng = np.random.default_rng(4)
    problem = random_rigid(rng, bodies=40, contacts=120, joints=3, limits=3)
    swept = solve(problem, "nbgs", tol=1e-12, max_iter=30)
    inside = residuals.evaluate(problem, interior_start(problem, swept.reactions)).natural_map_relative
    assert inside < 0.1 * swept.residuals.natural_map_relative
    smooth = problem.with_law(Law.FRICTIONLESS)
    found = interior_start(smooth, np.zeros(problem.row_count))
    assert residuals.evaluate(smooth, found).natural_map_relative < 1e-6
