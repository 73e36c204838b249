"""Inputs made by hand: compiled code reads as many entries as the model has, so every column is compared before."""

from dataclasses import replace

import numpy as np
import pytest

import delassus
import delassus.simulation
from delassus import Inputs, StepSettings, World, step
from delassus.errors import DelassusError

NAN = float("nan")


def mechanism():
    builder = delassus.ModelBuilder()
    arm = builder.body("arm", density=1000.0, shapes=delassus.Box((0.4, 0.1, 0.1)))
    builder.joint("revolute", None, arm, position=(0, 0, 0), axis=(0, 1, 0), name="hinge")
    return builder.build()


def inputs(wrench=(1, 6), effort=1, target=1, target_rate=1, node_force=(0, 3)):
    return Inputs(
        np.zeros(wrench), np.zeros(effort), np.zeros(target), np.zeros(target_rate), node_force=np.zeros(node_force)
    )


def with_nan(name):
    made = inputs()
    getattr(made, name).flat[0] = NAN
    return made


WRONG = {
    "longer effort": lambda: inputs(effort=100_000),
    "shorter effort": lambda: inputs(effort=0),
    "longer target": lambda: inputs(target=2),
    "other rates": lambda: inputs(target_rate=0),
    "narrow wrench": lambda: inputs(wrench=(1, 2)),
    "flat wrench": lambda: inputs(wrench=6),
    "wide wrench": lambda: inputs(wrench=(1, 7)),
    "forces on nodes that are not there": lambda: inputs(node_force=(4, 3)),
    "NaN in wrench": lambda: with_nan("wrench"),
    "NaN in effort": lambda: with_nan("effort"),
    "NaN in target": lambda: with_nan("target"),
    "NaN in target_rate": lambda: with_nan("target_rate"),
}


@pytest.mark.parametrize("case", WRONG)
def test_step_refuses(case):
    model, state = mechanism()
    with pytest.raises(DelassusError, match="inputs"):
        step(model, state, WRONG[case]())


@pytest.mark.parametrize("steps", [1, 60], ids=["one step", "the compiled loop"])
@pytest.mark.parametrize("case", WRONG)
def test_a_world_refuses(case, steps):
    model, state = mechanism()
    made = WRONG[case]()
    with pytest.raises(DelassusError, match="inputs"):
        World(model, state, inputs=lambda t, now: made).run(steps)


@pytest.mark.parametrize("time", [NAN, float("inf"), "now", [1.0, 2.0], 1j])
def test_the_time_is_one_finite_number(time):
    with pytest.raises(DelassusError, match=r"inputs\.time"):
        Inputs(np.zeros((1, 6)), np.zeros(1), np.zeros(1), np.zeros(1), time)


@pytest.mark.parametrize("wrong", [3, "pull", {"effort": 1.0}])
def test_what_is_no_function_is_named(wrong):
    model, state = mechanism()
    with pytest.raises(DelassusError, match="inputs"):
        World(model, state, inputs=wrong)
    with pytest.raises(DelassusError, match="inputs"):
        delassus.simulate(model, state, wrong)
    for call in (
        lambda: World(model, state, inputs=lambda t, now: wrong).run(1),
        lambda: delassus.simulate(model, state, lambda t, now: wrong),
    ):
        with pytest.raises(DelassusError, match="returned"):
            call()


def test_a_state_has_turns_for_the_model():
    model, state = mechanism()
    with pytest.raises(DelassusError, match="turns"):
        step(model, replace(state, turns=np.zeros(7, np.int64)))


def test_largest_numbers_pass_the_check():
    model, _ = mechanism()
    Inputs.of(model, effort=[1.7e308], target=[1.7e308], target_rate=[1.7e308]).check(model, "step")


def test_the_check_allows_what_a_model_makes():
    model, state = mechanism()
    after, _ = step(model, state, Inputs.of(model, effort=[0.1]), StepSettings())
    assert np.isfinite(after.q).all()


@pytest.mark.parametrize(
    "arrays",
    [
        ([1, 2, 3], np.zeros((1, 6))),
        ([1, 2], np.zeros((2, 3))),
        ([1], np.zeros((1, 6)), np.zeros((0, 6))),
        ([2, 1], np.zeros((2, 6))),
        ([0.5], np.zeros((1, 6))),
        (["a"], np.zeros((1, 6))),
        ([1], [["a"] * 6]),
    ],
)
def test_a_memory_has_a_row_of_reactions_per_name(arrays):
    with pytest.raises(DelassusError, match="Memory"):
        delassus.simulation.Memory(*arrays)
