"""tol_velocity: one name and one meaning everywhere, on by default, and measured island by island."""

import numpy as np
import pytest

from delassus import ModelBuilder, residuals, step
from delassus.bench import work
from delassus.bench.sample import Sample
from delassus.cli.run.plan import _recorded_settings
from delassus.cones import ProductCone
from delassus.law import Law
from delassus.problem import Problem, islands
from delassus.problem.random import random_rigid
from delassus.shapes import Plane, Sphere
from delassus.simulation import StepSettings
from delassus.solvers import SOLVERS, solve

TWO = [-1e3, 0.0, 0.0, -1.0, 0.0, 0.0]  # two contacts on two bodies, one of which is fast [m/s]


def stack(masses, law):
    """Spheres of radius 1 m on each other, falling for a hundredth of a second."""
    n = len(masses)
    frame = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    rows = np.zeros((3 * n, 12))
    for k in range(n):
        if k:
            rows[3 * k : 3 * k + 3, :6] = np.hstack([-frame, -np.cross([0, 0, 1.0], frame)])
        rows[3 * k : 3 * k + 3, 6:] = np.hstack([frame, np.cross([0, 0, -1.0], frame)])
    mass = np.array([m * np.diag([1, 1, 1, 0.4, 0.4, 0.4]) for m in masses])
    u = np.tile([0, 0, -0.0981, 0, 0, 0], n)
    bodies = [(k - 1, k) for k in range(n)]
    return Problem.rigid(mass, bodies, rows, cone=ProductCone(mu=np.full(n, 0.3)), u_f=u, law=law)


def squeezed(law):
    """A body between two walls that close in: no velocity satisfies both."""
    J = np.vstack([np.eye(3), -np.eye(3)])
    return Problem.primal(np.eye(3), J, mu=[0.5, 0.5], u_f=np.zeros(3), b=[-1.0, 0, 0, -1.4, 0, 0], law=law)


def test_one_fast_body_does_not_loosen_the_rest():
    problem = Problem.dual(np.eye(6), TWO, mu=[0.5, 0.5])
    nearly = np.array([1e3, 0, 0, 0.999, 0, 0])  # the slow one approaches at 1 mm/s
    judged = residuals.evaluate(problem, nearly)
    assert judged.worst_velocity == pytest.approx(1e-3)
    assert judged.worst_velocity_relative == pytest.approx(1e-3)
    assert judged.natural_map_relative < 2e-6
    coupled = np.eye(6)
    coupled[0, 3] = coupled[3, 0] = 1e-3
    assert Problem.dual(coupled, TWO, mu=[0.5, 0.5]).velocity_scale.tolist() == [1e3, 1e3], "one island now"


def test_scales_are_those_of_the_islands_in_every_storage():
    rng = np.random.default_rng(8)
    rigid = random_rigid(rng, bodies=40, contacts=5, joints=3, limits=3)
    label, start = islands(rigid), rigid.cone.block_start
    assert label.max() >= 2
    v, own = np.abs(rigid.free_velocity), np.zeros(label.max() + 1)
    separates = np.concatenate([np.arange(3) + rigid.cone.bilateral_rows, np.arange(5) * 3 + rigid.cone.contact_start])
    v[separates] = np.maximum(-rigid.free_velocity[separates], 0.0)
    for k, island in enumerate(label):
        own[island] = max(own[island], v[start[k] : start[k + 1]].max())
    H, J = rigid.delassus.mass_matrix(), rigid.delassus.jacobian()
    twisted = H.tolil()
    twisted[0, 1] = twisted[1, 0] = 1e-9  # still one body, but the blocks of six are no longer what they were
    general = Problem.primal(twisted, J, cone=rigid.cone, u_f=rigid.u_f, b=rigid.bias)
    dual = Problem.dual(rigid.delassus.matrix(), rigid.free_velocity, cone=rigid.cone)
    for problem in (rigid, general, dual):
        assert problem.velocity_scale == pytest.approx(own[label], rel=1e-12)


def test_what_separates_does_not_loosen():
    """An open contact carries its gap over the time step: 10 m/s that say nothing of how things move."""
    problem = Problem.dual(np.ones((6, 6)) + np.eye(6), [10.0, 0, 0, -0.01, 0, 0], mu=[0.5, 0.5])
    assert problem.velocity_scale.tolist() == [0.01, 0.01]


def test_an_island_at_rest_is_compared_with_what_moves_elsewhere():
    """A wall at rest beside a falling brick: against free velocities of zero or rounding no error is small, and an
    interior point took 93 iterations instead of 24."""
    still = [-1.0, 0.2, 0, 0, 0, 1e-17]
    assert Problem.dual(np.eye(6), still, mu=[0.5, 0.5]).velocity_scale.tolist() == [1.0, 1.0]
    slow = [-1.0, 0.2, 0, -1e-3, 0, 0]
    assert Problem.dual(np.eye(6), slow, mu=[0.5, 0.5]).velocity_scale.tolist() == [1.0, 1e-3]


@pytest.mark.parametrize("name", ["auto", "nbgs", "prox-ssn", "admm-ncp-sa", "kucera", "spg-fb", "ipm"])
def test_where_nothing_moves_no_reaction_is_needed(name):
    """Whatever the guess: against free velocities of zero, no error is small."""
    law = Law.CCP if name in ("ipm", "spg-fb") else Law.NCP
    still = Problem.dual(np.eye(6), np.zeros(6), mu=[0.5, 0.5], law=law)
    solution = solve(still, name, guess=np.ones(6))
    assert solution.converged
    assert not solution.reactions.any()
    partly = Problem.dual(np.eye(6), [-1.0, 0.2, 0, 0, 0, 0], mu=[0.5, 0.5], law=law)
    assert solve(partly, name, guess=np.ones(6), max_iter=5000).converged


@pytest.mark.parametrize(("name", "law"), [(name, law) for name, line in SOLVERS.items() for law in line.laws])
def test_converged_means_velocities_too(name, law):
    """Large reactions make every relative residual small: on odd masses, and where there is no solution at all."""
    for masses in ((10, 1e8), (10, 1e7, 1e13), (10, 1e4, 1e7, 1e10)):
        solution = solve(stack(masses, law), name, tol=1e-8, max_iter=500)
        assert not solution.converged or solution.residuals.worst_velocity <= 1e-6 * 0.0981
        assert solution.converged or name not in ("ipm", "ipm-dd"), "interior points are there for these"
    for tol in (1e-6, 1e-2):
        assert not solve(squeezed(law), name, tol=tol, max_iter=1000).converged


def test_default_is_a_hundred_tol_in_solve_and_tol_in_steps():
    problem = Problem.dual(np.eye(6), TWO, mu=[0.5, 0.5])
    assert solve(problem, tol=1e-7).tol_velocity == pytest.approx(1e-5)
    assert solve(problem, tol=1e-2).tol_velocity == 0.1, "doing nothing is off by one"
    assert solve(problem, tol=1e-7, tol_velocity=1e-3).tol_velocity == 1e-3
    assert solve(problem, tol=1e-7, tol_velocity=None).tol_velocity == np.inf
    assert StepSettings(tol=1e-7).velocity_factor == 1e-7
    assert StepSettings(tol=1e-7, tol_velocity=1e-3).velocity_factor == 1e-3
    assert StepSettings(tol_velocity=None).velocity_factor is None


def test_a_step_compares_with_what_falls_in_it():
    """At rest free velocities are those of gravity; without gravity and motion nothing is asked for."""
    for gravity in ((0.0, 0.0, -10.0), (0.0, 0.0, 0.0)):
        builder = ModelBuilder(gravity=gravity)
        builder.fixed("ground", shapes=[Plane()])
        builder.body("ball", shapes=[Sphere(0.5)], density=1000.0, position=(0.0, 0.0, 0.5))
        model, state = builder.build()
        _, report = step(model, state, settings=StepSettings(h=0.01))
        assert report.solution.converged
        assert report.problem.rest_speed == pytest.approx(0.01 * abs(gravity[2]))


def test_message_names_the_velocity_that_misses():
    solution = solve(squeezed(Law.NCP), "nbgs", max_iter=100)
    assert "worst velocity" in solution.message
    assert "tol_velocity 1e-04" in solution.message


def test_peers_are_judged_by_the_same_pair(monkeypatch):
    """A peer whose reactions grow without bound on a problem without solution has solved nothing."""
    large = np.tile([1e9, 0.0, 0.0], 2)
    problem = squeezed(Law.NCP)
    answers = {"bold": large}
    monkeypatch.setattr(work, "PEERS", answers)
    monkeypatch.setattr(work, "peer_solve", lambda *_: (large, 1, "converged", 0.0, ""))
    row, _ = work._solve(Sample("squeezed", 0, problem), work.Task("bold", 1e-6, "cold", (0,), 1.0), None)
    assert row.relative <= 1e-6
    assert row.worst_velocity_relative > 0.1
    assert row.claimed
    assert not row.solved


def test_recordings_made_before_resume_with_their_number():
    """Steps have always taken a factor; that it can follow tol is new."""
    for recorded in (1e-6, None, "auto"):
        given = _recorded_settings({"tol": 1e-6, "tol_velocity": recorded})
        assert given == {"tol": 1e-6, "tol_velocity": recorded}
