"""Many steps are steps."""

import numpy as np
import pytest

import delassus


def ball():
    builder = delassus.ModelBuilder()
    builder.body("ball", shapes=delassus.Sphere(0.1), density=1000.0, position=(0, 0, 0.2))
    builder.fixed("floor", shapes=delassus.Plane())
    return builder.build()


def test_many_steps_are_one_after_the_other_with_their_memory():
    model, start = ball()
    settings, memory, state = delassus.StepSettings(h=1e-2), delassus.Memory(), start
    for _ in range(30):
        state, _ = delassus.step(model, state, None, settings, memory)
    seen = []
    end = delassus.simulate(
        model, start, None, settings, range(5, 35), watch=lambda k, state, report, memory: seen.append((k, state.hash))
    )
    assert end.hash == state.hash == seen[-1][1]
    assert [k for k, _ in seen] == list(range(5, 35))


def test_inputs_are_asked_for_where_rows_are_evaluated():
    model, start = ball()
    times = []

    def inputs(t, state):
        times.append(t - state.t)

    delassus.simulate(model, start, inputs, delassus.StepSettings(h=1e-2, integrator="moreau"), 3)
    np.testing.assert_allclose(times, 0.5e-2)


@pytest.mark.parametrize("integrator", ["euler", "moreau"])
def test_targets_are_those_of_the_time_they_were_asked_for(integrator):
    """Prescribed motion at constant speed is where its target says at the end of every step, not half a step off."""
    builder = delassus.ModelBuilder()
    slider = builder.body("slider", mass=1.0, shapes=delassus.Sphere(0.1))
    builder.joint("prismatic", None, slider, motor=delassus.Imposed())
    model, start = builder.build()

    def inputs(t, state):
        return delassus.Inputs.of(model, target=[2.0 * t], target_rate=[2.0])

    end = delassus.simulate(model, start, inputs, delassus.StepSettings(h=1e-2, integrator=integrator), np.int64(5))
    assert end.coordinates(model)[0] == pytest.approx(2.0 * end.t, abs=1e-9)


def test_a_wrong_number_of_steps_is_refused():
    model, state = ball()
    with pytest.raises(delassus.DelassusError, match="steps is -1"):
        delassus.simulate(model, state, steps=-1)
    assert delassus.simulate(model, state, steps=0) is state
