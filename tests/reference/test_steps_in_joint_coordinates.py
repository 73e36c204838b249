"""Whole steps in joint coordinates: the motion is that of the coordinates of bodies, compiled and not."""

from dataclasses import replace

import numpy as np
import pytest
from random_mechanisms import assemble, random_mechanism
from test_joint_coordinates import chain_of, closed, mechanism

from delassus.dynamics.forces import total_energy
from delassus.errors import SettingsError
from delassus.simulation import Memory, StepSettings, step
from delassus.simulation.run import Asked, Run

JOINT = StepSettings(coordinates="joint")


def run_of(seed, settings, steps):
    """The run of a random mechanism after so many compiled steps, and what its stepper counts."""
    model, state, inputs = assemble(random_mechanism(seed))
    run = Run(model, state, settings)
    run.advance(steps, Asked(model, lambda t, _: inputs(t), settings, "run"))
    forest = None if run.stepper is None or run.stepper.reason else run.stepper.forest
    return run, (np.zeros(3, int) if forest is None else forest.tally)


def apart(run, other):
    """Between the poses of two runs [m], and velocities."""
    return abs(run.q[:, :3] - other.q[:, :3]).max(), abs(run.u - other.u).max()


@pytest.mark.parametrize("seed", [3, 12, 16, 33])
def test_two_hundred_steps_in_joint_coordinates_move_as_those_of_bodies(seed):
    """Apart by what a step of a curved path leaves, which either coordinates drop in their own way."""
    run, tally = run_of(seed, JOINT, 200)
    other, none = run_of(seed, StepSettings(), 200)
    assert tally[0] > 50
    assert not none.any()
    assert apart(run, other)[0] < 1e-4
    residual, _ = run.model.joints.constraints(run.model.joints.frames(run.q, run.state.rotation))
    assert abs(residual).max() < 1e-9


@pytest.mark.parametrize("seed", [3, 33])
def test_a_compiled_step_is_the_same_step_as_one_that_is_not(seed):
    """Bit for bit, so that a report of it is one of what happened."""
    model, state, inputs = assemble(random_mechanism(seed))
    run = Run(model, state, JOINT)
    asked = Asked(model, lambda t, _: inputs(t), JOINT, "run")
    run.advance(60, asked)
    before, memory = run.state, run.memory.copy()
    run.advance(1, asked)
    after, report = step(model, before, asked.at(before), JOINT, memory)
    assert run.reported is None
    assert np.array_equal(after.q, run.q)
    assert np.array_equal(after.u, run.u)
    assert report.solution.converged


def test_a_step_counts_reports_and_remembers_reactions_of_all_joints():
    model, state, inputs = assemble(random_mechanism(33))
    memories = Memory(), Memory()
    strict = StepSettings(tol=1e-11, tol_velocity=1e-9)
    reports = [
        step(model, state, inputs(0.0), replace(strict, coordinates=name), memory)[1]
        for name, memory in zip(("joint", "maximal"), memories)
    ]
    assert np.array_equal(memories[0].names, memories[1].names)
    own, other = (report.solution.reactions for report in reports)
    assert abs(own).max() > 0
    assert abs(own - other).max() < 1e-4 * abs(other).max()  # rows differ by h², where they are evaluated


def test_energy_is_kept_to_second_order():
    """A pendulum of three links of all sorts, thrown: a quarter of the loss at half the step."""
    model, state = chain_of("spherical", 3)
    rng, loss = np.random.default_rng(3), []
    q, u = closed(mechanism(model), state.q, rng.normal(size=state.u.shape))
    for h in (4e-3, 2e-3, 1e-3):
        run = Run(model, replace(state, q=q, u=u), StepSettings(h=h, coordinates="joint"))
        energy = [sum(total_energy(model, run.state))]
        run.advance(round(0.4 / h), Asked(model, None, run.settings, "run"))
        loss.append(abs(sum(total_energy(model, run.state)) - energy[0]))
    assert loss[1] < 0.4 * loss[0]
    assert loss[2] < 0.4 * loss[1]


def test_settings_name_the_coordinates_there_are():
    with pytest.raises(SettingsError, match="coordinates is 'joints': give 'maximal' or 'joint'"):
        StepSettings(coordinates="joints")
