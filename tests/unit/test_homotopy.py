"""Homotopies: the smoothed law and its derivatives, paths through folds, and what the solver promises."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from delassus import residuals
from delassus.errors import SettingsError
from delassus.problem.random import random_dual, random_rigid
from delassus.solvers import SOLVERS, Method, Settings, Solver, solve
from delassus.solvers.continuation.families import Shift, Slip, Smooth
from delassus.solvers.continuation.homotopy import HomotopyMethod
from delassus.solvers.continuation.phases import Found
from delassus.solvers.continuation.system import System
from delassus.solvers.continuation.tracking import Path
from delassus.status import Status

HYPERSTATIC = random_rigid(np.random.default_rng(7), bodies=6, contacts=30)


@pytest.fixture
def system():
    return System(HYPERSTATIC)


def families(system, rng):
    """One of each, with a t inside of its range."""
    x = rng.normal(size=3 * system.contacts)
    slip = rng.uniform(size=system.contacts)
    return [
        (Shift(system, 0.2, x), 0.4),
        (Shift(system, 0.2, x, gamma=0.0, slip=slip), 0.4),
        (Slip(system, 0.2, slip), 0.4),
        (Smooth(system), math.log(0.3)),
    ]


def dense(system, alpha):
    """Q + R (M + α I) in full."""
    unit = np.eye(3 * system.contacts)
    M = np.column_stack([system.velocity(e) - system.q for e in unit]) + alpha * unit
    Q, R = np.zeros_like(M), np.zeros_like(M)
    for k in range(system.contacts):
        own = slice(3 * k, 3 * k + 3)
        Q[own, own], R[own, own] = system.Q[k], system.R[k]
    return Q + R @ M


def test_units_keep_the_problem(system):
    """v = D λ + v_f, in units where velocities have rms 1 and blocks mean mobility 1."""
    x = np.random.default_rng(0).normal(size=3 * system.contacts)
    v = HYPERSTATIC.constraint_velocity(system.reactions(x))
    np.testing.assert_allclose(system.velocity(x), system.unit * v / system.speed, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(system.from_reactions(system.reactions(x)), x, rtol=1e-14)
    assert np.mean(system.q**2) == pytest.approx(1.0)
    system.Q[:], system.R[:] = 0.0, np.eye(3)  # so that the matrix is M
    np.testing.assert_allclose(dense(system, 0.0).diagonal().reshape(-1, 3).sum(axis=1), 3.0)


@pytest.mark.parametrize("which", range(4))
def test_derivatives_are_those_of_finite_differences(system, which):
    rng = np.random.default_rng(1)
    family, t = families(system, rng)[which]
    x, d, h = rng.normal(size=3 * system.contacts), rng.normal(size=3 * system.contacts), 1e-6
    along = (family.value(x + h * d, t)[0] - family.value(x - h * d, t)[0]) / (2.0 * h)
    by_t = (family.value(x, t + h)[0] - family.value(x, t - h)[0]) / (2.0 * h)
    _, told = family.value(x, t)
    np.testing.assert_allclose(told, by_t, atol=1e-8)
    np.testing.assert_allclose(dense(system, family.alpha) @ d, along, atol=1e-7)


@pytest.mark.parametrize("which", range(4))
def test_systems_are_solved(system, which):
    rng = np.random.default_rng(2)
    family, t = families(system, rng)[which]
    x = 3.0 * rng.normal(size=3 * system.contacts)
    F, by_t = family.value(x, t)
    a, b = family.solve(x, t)
    A = dense(system, family.alpha)
    np.testing.assert_allclose(A @ a, F, atol=1e-9)
    np.testing.assert_allclose(A @ b, by_t, atol=1e-9)


def test_the_sign_of_the_determinant_is_known(system):
    """Of any blocks Q and R: along a path it changes at every fold."""
    rng, signs = np.random.default_rng(2), []
    for _ in range(12):
        system.Q[:], system.R[:] = rng.normal(size=system.Q.shape) + 2.0 * np.eye(3), rng.normal(size=system.R.shape)
        system.solve(0.1, np.ones((3 * system.contacts, 2)))
        signs.append(system.sign())
        assert signs[-1] == np.linalg.slogdet(dense(system, 0.1)).sign
    assert {*signs} == {-1.0, 1.0}


def test_only_better_points_are_kept(system):
    good = solve(HYPERSTATIC, "prox-ssn").reactions
    found = Found(HYPERSTATIC, system, good, (1e-9, 1e-7))
    found.offer(np.zeros_like(good))
    assert found.reactions is good
    found.offer(system.from_reactions(solve(HYPERSTATIC, "prox-ssn", tol=1e-10).reactions))
    assert found.reactions is not good


def test_roots_are_inside_of_the_cone_with_one_product(system):
    """x∘y = ε² e, with y = (M + α I) x + q + r and De Saxcé's term, at the start of Newton's homotopy."""
    eps = 0.05
    family = Shift(system, eps, np.random.default_rng(3).normal(size=3 * system.contacts))
    x = family.start
    assert np.abs(family.value(x, 1.0)[0]).max() < 1e-13
    v = system.velocity(x) + family.alpha * x + family.r
    y = v.copy()
    y[::3] += np.sqrt(v[1::3] ** 2 + v[2::3] ** 2 + family.delta**2) - family.delta
    x, y = x.reshape(-1, 3), y.reshape(-1, 3)
    np.testing.assert_allclose((x * y).sum(axis=1), eps**2, rtol=1e-9)
    np.testing.assert_allclose(x[:, :1] * y[:, 1:] + y[:, :1] * x[:, 1:], 0.0, atol=1e-11)
    assert (x[:, 0] > np.hypot(x[:, 1], x[:, 2])).all()
    assert (y[:, 0] > np.hypot(y[:, 1], y[:, 2])).all()


class Cubic:
    """x³ − x = t, which folds at t = ∓2/√27."""

    def solve(self, x, t):
        self.slope = 3.0 * x**2 - 1.0
        return (x**3 - x - t) / self.slope, -1.0 / self.slope

    def sign(self):
        return float(np.sign(self.slope[0]))


def test_a_path_goes_through_its_folds():
    """From the upper branch at t = 1 to the lower one at t = -1, where nothing else is; in between t rises again."""
    path = Path(Cubic(), np.array([1.3]), 1.0, -1.0, most=1000)
    seen = []
    for _ in path.follow():
        seen.append(path.t)
    assert path.landed
    assert path.folds == 2
    assert path.x[0] == pytest.approx(-1.324717957244746, abs=1e-9)
    assert max(np.diff(seen)) > 0.1
    assert path.systems == len(seen)
    assert path.words.endswith("2 folds, landed")


def test_a_path_that_has_no_end_is_given_up():
    """x² = t has no root below zero: it comes back on the other branch and is lost beyond t_most, or out of systems."""

    class Square(Cubic):
        def solve(self, x, t):
            self.slope = 2.0 * x
            return (x**2 - t) / self.slope, -1.0 / self.slope

    for most, t_most in ((1000, 1.5), (5, math.inf)):
        path = Path(Square(), np.array([1.0]), 1.0, -1.0, most=most, t_most=t_most)
        count = sum(1 for _ in path.follow())
        assert not path.landed
        assert (path.t > 1.5) == (t_most == 1.5)
        assert count <= most + 9
        assert ("lost" in path.words) == (t_most == 1.5)


def test_a_matrix_that_is_singular_ends_a_path():
    nothing = SimpleNamespace(solve=lambda x, t: (np.full_like(x, np.nan), np.full_like(x, np.nan)), sign=lambda: 1.0)
    path = Path(nothing, np.ones(3), 1.0, 0.0, most=100)
    assert sum(1 for _ in path.follow()) < 10
    assert not path.landed


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("error", [1e-6, 1e-2, None])
def test_small_problems_are_solved_to_ten_digits(seed, error):
    """From near, from afar, and from zero; and the judge says so."""
    rng = np.random.default_rng(seed)
    problem = random_rigid(rng, bodies=6, contacts=24)
    found = solve(problem, "prox-ssn", tol=1e-11).reactions
    guess = None if error is None else found * (1.0 + error * rng.normal(size=found.shape))
    solution = solve(problem, "homotopy", guess, tol=1e-10, max_iter=6000)
    assert solution.converged, solution.trace.words
    judged = residuals.measure(problem, solution.reactions)
    assert judged.relative <= 1e-10
    assert judged.velocity <= 1e-8


def test_near_a_solution_newtons_homotopy_takes_few_systems():
    problem = HYPERSTATIC
    near = solve(problem, "homotopy", tol=1e-8)
    settings = SOLVERS["homotopy"].settings.changed(near=1e-6)
    solution = solve(problem, settings, near.reactions * (1.0 + 1e-9), tol=1e-12, tol_velocity=None)
    assert solution.converged
    assert solution.iterations < 60
    assert solution.trace.words[0].startswith("homotopy: shift")


def test_other_problems_are_refused_with_a_sentence():
    rng = np.random.default_rng(5)
    for problem, word in (
        (random_rigid(rng, contacts=8, limits=3), "takes no unilateral rows"),
        (random_rigid(rng, contacts=8, joints=2), "takes no bilateral rows"),
        (random_rigid(rng, contacts=8, frictionless_part=0.5), "all with friction"),
        (random_rigid(rng, contacts=8, law="ccp"), "asks for ccp: give law='ncp'"),
    ):
        solution = solve(problem, "homotopy")
        assert solution.status is Status.UNSUPPORTED
        assert word in solution.trace.words[0]


def test_batches_change_nothing():
    """One system at a time, or as many as there are: the same bits."""
    problem = random_dual(np.random.default_rng(9), contacts=12)
    ends = []
    for count in (1, 7, 10_000):
        method = HomotopyMethod(problem, SOLVERS["homotopy"].settings, np.zeros(problem.row_count))
        done = 0
        while not method.finished:
            done += method.advance(count)
        ends.append((method.reactions.tobytes(), done, tuple(method.words)))
    assert ends[0] == ends[1] == ends[2]


def test_without_mkl_superlu_does_it(monkeypatch):
    with_mkl = solve(HYPERSTATIC, "homotopy", tol=1e-9)
    monkeypatch.setattr("delassus.linalg.factor.structural.mkl", lambda: None)
    system = System(HYPERSTATIC)
    assert system.signed is system.factor
    without = solve(HYPERSTATIC, "homotopy", tol=1e-9)
    assert with_mkl.converged
    assert without.converged
    np.testing.assert_allclose(without.velocities, with_mkl.velocities, atol=1e-6)


def test_it_ends_honestly():
    """At a limit, and where nothing is left to try; its point is never worse than the one it was given."""
    cut = solve(HYPERSTATIC, "homotopy", tol=1e-9, max_iter=20)
    assert (cut.status, cut.iterations) == (Status.MAX_ITERATIONS, 20)
    settings = SOLVERS["homotopy"].settings.changed(systems_convex=3)
    guess = 0.9 * solve(HYPERSTATIC, "prox-ssn").reactions
    ended = solve(HYPERSTATIC, settings, guess, tol=1e-9)
    assert ended.status is Status.STALLED
    assert ended.residuals.natural_map_relative <= residuals.measure(HYPERSTATIC, guess).relative
    assert [words.split(",")[0] for words in ended.trace.words] == ["homotopy: convex"]
    lost = solve(HYPERSTATIC, settings.changed(systems_convex=3000, systems_slip=3), guess, tol=1e-9)
    assert lost.status is Status.STALLED
    assert [words.split(",")[0] for words in lost.trace.words] == ["homotopy: convex", "homotopy: slip"] * 3


def test_settings_that_contradict_each_other_are_refused():
    with pytest.raises(SettingsError, match="eps is 1e-08: give at least eps_min"):
        SOLVERS["homotopy"].settings.changed(eps=1e-8)


@pytest.mark.parametrize("follows", [False, True])
def test_who_follows_a_path_is_not_called_stalled(follows):
    """A residual that stays where it is says nothing of it."""

    class Waits(Method):
        is_costly, follows_path, count = True, follows, 0

        def advance(self, count):
            self.count += count
            self.finished = self.count >= 400

    line = Solver(Settings(solver="waits"), SOLVERS["nbgs"].laws, SOLVERS["nbgs"].rows, "", "", Waits)
    SOLVERS.register(line)
    try:
        solution = solve(HYPERSTATIC, "waits")
    finally:
        SOLVERS.remove("waits")
    assert solution.status is Status.STALLED
    assert solution.iterations == (400 if follows else 150)
