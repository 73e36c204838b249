"""ADMM: the published iteration step by step, and what the four members promise beyond the contract."""

import numpy as np
import pytest

from delassus.cones import ProductCone
from delassus.errors import SettingsError
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_rigid
from delassus.solvers import SOLVERS, solve
from delassus.solvers.admm.admm import AdmmMethod, start_admm
from delassus.solvers.admm.penalty import largest_eigenvalue
from delassus.solvers.admm.small import SmallAdmm
from delassus.status import Status

ROUNDING = 1e-9  # of fifty iterations, each with a linear solve, relative to the largest entry
PUBLISHED = {"scaled": False, "joints": "split", "every": 1, "patience": 1.0, "moved": 1.0, "anderson": 0}


def transcription(problem: Problem, settings, reactions: np.ndarray, count: int) -> dict[str, np.ndarray | list]:
    """Tsounis et al. 2025, Algorithm 6, line by line; the penalties of all iterations beside the last iterate."""
    D = problem.delassus.matrix().toarray()
    v_f, mu, cone = problem.free_velocity, problem.mu, problem.cone.with_friction(problem.mu)
    eta, omega, m = settings.eta, settings.omega, problem.row_count
    contacts = problem.cone.contact_start

    def gamma(v):
        out = np.zeros(m)
        if problem.law is Law.NCP:
            out[contacts::3] = mu * np.sqrt(v[contacts + 1 :: 3] ** 2 + v[contacts + 2 :: 3] ** 2)
        return out

    x = np.cos(np.arange(m))
    for _ in range(20):
        x = D @ (x / np.linalg.norm(x))
    L = np.linalg.norm(x)
    rho, factor = settings.rho, settings.factor
    if settings.penalty == "spectral":
        rho, factor = np.sqrt(L * eta) * (L / eta) ** settings.power, (L / eta) ** settings.power_step

    v = D @ reactions + v_f
    x, y, z = reactions.copy(), reactions.copy(), cone.project_dual(v + gamma(v))  # lines 1–2
    penalties = []
    for _ in range(count):
        x_old, y_old = x, y
        s = gamma(z)  # line 4
        v = v_f + s - eta * x - rho * y - z  # line 5
        x = -np.linalg.solve(D + (eta + rho) * np.eye(m), v)  # line 6
        x = omega * x + (1.0 - omega) * y  # line 7
        y = cone.project(x - z / rho)  # line 8
        z = z - rho * (x - y)  # line 9
        primal = np.abs(x - y).max()  # line 12
        dual = np.abs(eta * (x - x_old) + rho * (y - y_old)).max()  # line 13
        if settings.penalty != "fixed":  # line 18
            rho = rho * factor if primal > settings.ratio * dual else rho
            rho = rho / factor if dual > settings.ratio * primal else rho
        penalties.append(rho)
    return {"x": x, "y": y, "z": z, "penalties": penalties}


def mechanism(law, seed=3, contacts=7) -> Problem:
    """Joints, limits and contacts in one problem."""
    return random_rigid(np.random.default_rng(seed), bodies=6, contacts=contacts, joints=2, limits=3, law=law)


@pytest.mark.parametrize("law", [Law.NCP, Law.CCP])
@pytest.mark.parametrize(
    "changes",
    [
        {"penalty": "fixed", "rho": 0.7, "omega": 1.0},
        {"penalty": "fixed", "eta": 1e-2},
        {"penalty": "linear", "ratio": 1.5, "factor": 1.3},
        {"penalty": "spectral", "ratio": 2.0, "omega": 1.3},
    ],
    ids=["fixed", "proximal", "linear", "spectral"],
)
@pytest.mark.parametrize("is_warm", [False, True])
def test_iterates_are_those_of_algorithm_6(law, changes, is_warm):
    problem = mechanism(law)
    settings = SOLVERS["admm-ncp-fp"].settings.changed(**PUBLISHED, **changes)
    guess = np.random.default_rng(8).normal(size=problem.row_count) if is_warm else np.zeros(problem.row_count)
    expected = transcription(problem, settings, guess, 50)
    method = AdmmMethod(problem, settings, guess.copy())
    for count in (1, 2, 17, 30):  # where a batch ends must not matter
        method.advance(count)
    for name in ("x", "y", "z"):
        wanted = expected[name]
        assert np.abs(getattr(method, name) - wanted).max() <= ROUNDING * np.abs(wanted).max(), name
    assert np.allclose(method.reactions, expected["y"], rtol=0.0, atol=ROUNDING * np.abs(expected["y"]).max())
    if changes["penalty"] != "fixed":
        assert np.count_nonzero(np.diff(expected["penalties"])) > 3, "the penalty must move"
        assert method.state[0] == pytest.approx(expected["penalties"][-1], rel=ROUNDING)
    small = start_admm(problem, settings, guess.copy())
    assert isinstance(small, SmallAdmm)
    for count in (3, 47):
        small.advance(count)
    wanted = np.concatenate([expected[name] for name in ("x", "y", "z")])
    assert np.abs(small.point - wanted).max() <= ROUNDING * np.abs(wanted).max()


@pytest.mark.parametrize("name", ["admm-ncp-sa", "admm-ncp-la"])
def test_small_problems_take_the_same_steps(name):
    """The compiled path for few rows against the ordinary one, joints eliminated and blocks scaled."""
    for seed in range(4):
        problem = mechanism(Law.NCP, seed, contacts=5)
        settings = SOLVERS[name].settings
        usual, small = (start(problem, settings, np.zeros(problem.row_count)) for start in (AdmmMethod, start_admm))
        assert isinstance(small, SmallAdmm)
        for count in (1, 4, 15):
            usual.advance(count)
            small.advance(count)
            scale = np.abs(usual.reactions).max()
            assert np.abs(small.reactions - usual.reactions).max() <= 1e-8 * scale  # extrapolation amplifies rounding
            assert small.map_key == pytest.approx(usual.map_key, rel=1e-9)


def test_attempt_that_fails_is_counted_and_the_ordinary_way_goes_on(monkeypatch):
    problem = mechanism(Law.NCP, 1, contacts=9)
    at_once = solve(problem, "admm-ncp-fp", tol=1e-13, max_iter=3000)
    assert at_once.converged
    monkeypatch.setattr("delassus.solvers.admm.small._AT_ONCE_ITERATIONS", 10)
    tight = solve(problem, "admm-ncp-fp", tol=1e-13, max_iter=3000)
    assert tight.converged
    assert 10 < tight.iterations <= 3 * at_once.iterations
    seen = []
    solve(problem, "admm-ncp-fp", tol=1e-13, max_iter=3000, trace=lambda *row: seen.append(row[0]))
    assert seen == tight.trace.iterations == sorted(seen), "one count over both"
    assert seen[-1] == tight.iterations
    few = solve(problem, "admm-ncp-fp", tol=1e-13, max_iter=7)
    assert few.status is Status.MAX_ITERATIONS
    assert few.iterations == 7
    assert few.trace.iterations[0] == 0
    assert few.trace.iterations[-1] == 7
    seen = []
    solve(problem, "admm-ncp-sa", trace=lambda *row: seen.append(row))
    assert seen[0][0] == 0
    assert seen[-1][2] <= 1e-6


def test_sparse_problems_see_the_same_iteration():
    """Contact rows and body space, factored sparse, against the transcription."""
    rng = np.random.default_rng(4)
    settings = SOLVERS["admm-ncp-la"].settings.changed(**PUBLISHED, ratio=2.0)
    many_bodies = random_rigid(rng, bodies=70, contacts=90, joints=3, limits=4)
    few_bodies = random_rigid(rng, bodies=30, contacts=110, joints=3, limits=4)
    few = random_rigid(rng, bodies=8, contacts=90)
    for problem in (many_bodies, few_bodies, few):
        expected = transcription(problem, settings, np.zeros(problem.row_count), 30)
        method = AdmmMethod(problem, settings, np.zeros(problem.row_count))
        method.advance(30)
        assert np.abs(method.y - expected["y"]).max() <= ROUNDING * np.abs(expected["y"]).max()
        assert np.abs(method.z - expected["z"]).max() <= ROUNDING * np.abs(expected["z"]).max()


def test_multiplier_is_the_velocity_with_de_saxces_term():
    """At the fixed point x = y and z = v + Γ(v) in K*."""
    problem = mechanism(Law.NCP)
    method = AdmmMethod(problem, SOLVERS["admm-ncp-la"].settings.changed(**PUBLISHED), np.zeros(problem.row_count))
    method.advance(5000)
    v = problem.constraint_velocity(method.reactions)
    start = problem.cone.contact_start
    v[start::3] += problem.mu * np.hypot(v[start + 1 :: 3], v[start + 2 :: 3])
    assert np.allclose(method.x, method.y, atol=1e-8)
    assert np.allclose(method.z, v, atol=1e-8)
    assert problem.cone.contains(method.y, 1e-14)
    assert np.abs(problem.cone.project_dual(method.z) - method.z).max() < 1e-14


@pytest.mark.parametrize("name", ["admm-ncp-fp", "admm-ncp-la", "admm-ncp-sa"])
def test_published_settings_reach_the_same_velocities(name):
    """Scaling, exact joints and extrapolation change the way, not where it leads."""
    problem = mechanism(Law.NCP, seed=11)
    ours = solve(problem, name, tol=1e-10)
    published = solve(problem, SOLVERS[name].settings.changed(**PUBLISHED), tol=1e-10, max_iter=100_000)
    assert ours.converged
    assert published.converged
    assert np.allclose(ours.body_velocities, published.body_velocities, atol=1e-7)
    assert ours.iterations < published.iterations


def test_extrapolation_saves_iterations():
    problem = random_rigid(np.random.default_rng(2), bodies=6, contacts=40)
    plain, bold = (solve(problem, SOLVERS["admm-ncp-fp"].settings.changed(anderson=k), tol=1e-8) for k in (0, 5))
    assert plain.converged
    assert bold.converged
    assert bold.iterations < 0.7 * plain.iterations


def test_joints_alone_take_one_iteration():
    for redundant in (False, True):
        problem = random_rigid(np.random.default_rng(5), bodies=8, contacts=0, joints=6, redundant_joints=redundant)
        method = AdmmMethod(problem, SOLVERS["admm-ncp-sa"].settings, np.zeros(problem.row_count))
        method.advance(1)
        assert np.abs(problem.constraint_velocity(method.reactions)).max() < 1e-9
        assert method.finished


def test_large_mechanisms_keep_their_joints():
    """Beyond the dense limit joints stay in the sparse system, redundant or not."""
    rng = np.random.default_rng(6)
    for redundant in (False, True):
        problem = random_rigid(rng, bodies=60, contacts=60, joints=25, limits=5, redundant_joints=redundant)
        solution = solve(problem, "admm-ncp-sa", tol=1e-8)
        assert solution.converged, solution
        assert np.abs(solution.velocities[: problem.cone.bilateral_rows]).max() < 1e-6


def test_gyroscopic_terms_are_taken_as_they_are():
    """A non-symmetric D, dense, in rows and over bodies; judged on itself."""
    rng = np.random.default_rng(7)
    for bodies, contacts in ((6, 12), (40, 60), (10, 90)):
        problem = random_rigid(rng, bodies=bodies, contacts=contacts)
        spin = rng.normal(size=(bodies, 3, 3))
        mass = problem.delassus.mass.copy()
        mass[:, 3:, 3:] += 0.01 * (spin - spin.transpose(0, 2, 1)) * mass[:, 3:, 3:].max()
        skew = Problem.rigid(
            mass, problem.delassus.bodies, problem.delassus.rows, cone=problem.cone, u_f=problem.u_f, b=problem.bias
        )
        D = skew.delassus.dense()
        assert np.abs(D - D.T).max() > 1e-4 * np.abs(D).max()
        assert solve(skew, "admm-ncp-sa", tol=1e-9).converged, (bodies, contacts)
        assert solve(Problem.dual(D, skew.free_velocity, cone=skew.cone), "admm-ncp-sa", tol=1e-9).converged


def test_power_iteration_finds_the_largest_eigenvalue():
    D = random_rigid(np.random.default_rng(9), bodies=10, contacts=20).delassus.dense()
    L = np.linalg.eigvalsh(D)[-1]
    assert 0.9 * L <= largest_eigenvalue(lambda x: D @ x, len(D)) <= L * (1 + 1e-12)
    assert largest_eigenvalue(lambda x: 0.0 * x, 4) == 1.0


def test_contacts_locked_by_joints_are_solved():
    """A block without mobility once joints are eliminated, but for rounding, must not be scaled to unit mobility."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    rows = np.zeros((18, 12))
    rows[:6, 6:] = np.eye(6) + 0.1 * A  # the body is welded to the world …
    rows[6:, 6:] = rng.normal(size=(12, 6))  # … and touches it
    cone = ProductCone([6], 0, [0.5] * 4)
    problem = Problem.rigid(
        (np.eye(6) + A @ A.T)[None], [[-1, 0]] * 5, rows, cone=cone, u_f=rng.normal(size=6), b=np.zeros(18)
    )
    method = AdmmMethod(problem, SOLVERS["admm-ncp-sa"].settings, np.zeros(18))
    assert np.abs(method.reduced.D).max() < 1e-10
    solution = solve(problem, "admm-ncp-sa", tol=1e-9)
    assert solution.converged
    assert np.abs(solution.body_velocities).max() < 1e-9


def test_misuse_is_named():
    settings = SOLVERS["admm-ncp-sa"].settings
    with pytest.raises(SettingsError, match="did you mean 'linear'"):
        settings.changed(penalty="liner")
    with pytest.raises(SettingsError, match="did you mean 'split'"):
        settings.changed(joints="splitt")
    with pytest.raises(SettingsError, match="eta is 0"):
        settings.changed(eta=0.0)
    for name, bad in {
        "rho": 0.0,
        "eta": -1.0,
        "omega": 2.0,
        "ratio": 0.5,
        "factor": 1.0,
        "power": 0.6,
        "power_step": 0.0,
        "every": 0,
        "patience": 0.5,
        "anderson": -1,
        "moved": 0.9,
    }.items():
        with pytest.raises(SettingsError, match=f"^{name} is"):
            settings.changed(**{name: bad})
