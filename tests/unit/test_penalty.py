"""Contacts as explicit springs: forces they give, steps they allow, and that such steps never say converged."""

import numpy as np
import pytest
from command_line import delassus

from delassus import (
    Box,
    Material,
    Memory,
    ModelBuilder,
    Penalty,
    Plane,
    Sphere,
    State,
    Status,
    StepSettings,
    World,
    step,
)
from delassus.errors import SettingsError
from delassus.fem import Elastic, block
from delassus.scenes import SCENES
from delassus.simulation.compiled.layout import why_not

G = 9.81


def ball(height=0.1):
    builder = ModelBuilder()
    builder.fixed("ground", shapes=[Plane()])
    builder.body("ball", mass=1.0, shapes=[Sphere(0.1)], position=(0, 0, height))
    return builder.build()


def run(model, state, steps, h, penalty, **settings):
    memory = Memory()
    reports = []
    for _ in range(steps):
        state, report = step(
            model, state, None, StepSettings(h=h, integrator="penalty", penalty=penalty, **settings), memory
        )
        reports.append(report)
    return state, reports


@pytest.mark.parametrize("law", ["linear", "hertz"])
def test_a_ball_rests_where_the_spring_carries_its_weight(law):
    penalty = Penalty(stiffness=1e4, damping=100.0, law=law)
    model, state = ball(0.1 - 0.5e-3)
    state, reports = run(model, state, 3000, 1e-3, penalty)
    depth = (G / 1e4) ** (1.0 if law == "linear" else 2.0 / 3.0)
    assert state.q[0, 2] == pytest.approx(0.1 - depth, abs=1e-3 * depth)
    assert reports[-1].solution.reactions[0] == pytest.approx(1e-3 * G, rel=1e-3)  # an impulse, as of any contact


def test_no_step_says_converged_although_it_is_fine():
    model, state = ball()
    _, reports = run(model, state, 20, 1e-3, Penalty())
    for report in reports:
        assert report.solution.status is Status.PENALTY
        assert not report.solution.converged
        assert report.ok
    assert "no solution of the contact law" in str(report)
    assert why_not(model, StepSettings(integrator="penalty")) is not None
    world = World(model, state, settings=StepSettings(integrator="penalty"))
    world.run(steps=5)  # without a warning, which would be an error here
    assert not world.report.solution.converged


def test_a_joint_that_cannot_be_solved_is_not_called_a_penalty_step():
    """One iteration of a solver that needs more: what it says stays."""
    setup = SCENES["nunchuk"].build()
    settings = StepSettings(integrator="penalty", solver="nbgs", max_iter=1, tol=1e-12)
    _, report = step(setup.model, setup.state, None, settings)
    assert report.solution.status not in (Status.PENALTY, Status.CONVERGED)
    assert not report.ok


def test_free_flight_of_a_bounce_keeps_its_energy_and_too_long_a_step_does_not():
    """h² k/m = 0.1: the ball comes back as high as it was. With 10 an explicit spring throws it up."""
    heights = []
    for stiffness in (0.1 / 1e-6, 10.0 / 1e-6):
        model, state = ball(0.3)
        q = [state.q[0, 2]]
        for _ in range(1200):
            state, _ = step(model, state, None, StepSettings(integrator="penalty", penalty=Penalty(stiffness)))
            q.append(state.q[0, 2])
        heights.append(max(q))
    assert heights[0] < 0.31
    assert heights[1] > 0.5


@pytest.mark.parametrize("angle", [0.2, 0.6])
def test_a_box_slides_as_coulomb_says_and_creeps_where_it_should_stick(angle):
    mu = 0.4
    builder = ModelBuilder(gravity=G * np.array([np.sin(angle), 0.0, -np.cos(angle)]))
    builder.fixed("ground", shapes=[Plane()], material=Material(mu))
    builder.body("box", density=1000.0, shapes=[Box((0.2, 0.2, 0.1))], position=(0, 0, 0.05), material=Material(mu))
    model, state = builder.build()
    weight = 4.0 * G * np.cos(angle)
    penalty = Penalty(stiffness=1e5, damping=500.0, slip_speed=1e-2)
    start = state.q.copy()
    start[0, 2] -= weight / 4.0 / 1e5
    state, _ = run(model, State(start, state.u), 1000, 5e-4, penalty)
    moved = state.u[0, 0]
    expected = G * (np.sin(angle) - mu * np.cos(angle)) * 0.5
    if expected > 0.0:
        assert moved == pytest.approx(expected, rel=5e-3)
    else:
        # friction is μ f_n v / v_s below v_s: it creeps at the share of it that carries the load
        assert moved == pytest.approx(1e-2 * np.tan(angle) / mu, rel=1e-2)


def test_a_soft_block_rests_on_springs_at_its_nodes():
    builder = ModelBuilder()
    builder.fixed("ground", shapes=[Plane()])
    elastic = Elastic(1e5, 0.3, 1000.0, damping=(5.0, 0.01))
    builder.flexible("block", block(size=(0.2, 0.2, 0.1), cells=(2, 2, 1)), elastic, position=(0, 0, 0.05))
    model, state = builder.build()
    penalty = Penalty(stiffness=1e4, damping=20.0)
    state, reports = run(model, state, 400, 2e-3, penalty)
    report = reports[-1]
    first = report.rows.cone.contact_start
    carried = report.solution.reactions[first::3].sum() / 2e-3
    assert carried == pytest.approx(1000.0 * 0.2 * 0.2 * 0.1 * G, rel=1e-2)
    assert report.penetration < 2e-3
    assert {one.solution.status for one in reports} == {Status.PENALTY}


def test_scenes_run_so_from_the_command_line_and_say_what_they_are(tmp_path):
    out = delassus("run", "box-on-plane", "--integrator", "penalty", "--steps", "5", "--out", tmp_path / "a")
    assert "penalty in 5 steps" in " ".join(out.output.split())


def test_a_recording_goes_on_with_its_springs_and_its_theta(tmp_path):
    model, state = ball()
    for k, settings in enumerate(
        (StepSettings(integrator="penalty", penalty=Penalty(2e4, law="hertz")), StepSettings(theta=0.6))
    ):
        world = World(model, state, settings=settings)
        world.run(steps=5, record=tmp_path / str(k))
        again = World.load(tmp_path / str(k))
        assert again.settings == settings
        world.run(steps=5)
        again.run(steps=5)
        assert again.state.hash == world.state.hash


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"stiffness": 0.0}, r"penalty\.stiffness is 0\.0, it must be positive"),
        ({"damping": -1.0}, r"penalty\.damping is -1\.0, it must be zero or more"),
        ({"slip_speed": "slow"}, r"penalty\.slip_speed is 'slow', it must be positive"),
        ({"law": "cubic"}, r"unknown penalty\.law 'cubic'; known: linear, hertz"),
    ],
)
def test_impossible_springs_are_refused(given, words):
    with pytest.raises(SettingsError, match=words):
        Penalty(**given)
    with pytest.raises(SettingsError, match=r"penalty is 3: give Penalty\(…\)"):
        StepSettings(penalty=3)
