"""Springs and armature of joint coordinates: rows beside those of motors, with masses of bodies left as they are."""

import numpy as np
import pytest

import delassus
from delassus import Inputs, ModelBuilder, Motor, StepSettings

INERTIA, ARMATURE, STIFFNESS = 0.02, 0.05, 3.0


def wheel(**options):
    """A wheel on a hinge through its centre of mass, 0.02 kg m² about it."""
    builder = ModelBuilder()
    builder.body("wheel", mass=1.0, inertia=(0.03, 0.03, INERTIA))
    builder.joint("revolute", None, "wheel", axis=(0, 0, 1), name="hinge", **options)
    return builder.build()


def speed_after(model, state, steps, h=1e-3, inputs=None):
    memory = delassus.Memory()
    for _ in range(steps):
        state, report = delassus.step(model, state, inputs, StepSettings(h=h, tol=1e-12), memory)
        assert report.ok
    return state


def test_armature_is_inertia_of_the_coordinate_alone():
    model, state = wheel(armature=ARMATURE)
    after = speed_after(model, state, 10, inputs=Inputs.of(model, effort={"hinge": 0.7}))
    assert after.u[0, 5] == pytest.approx(0.01 * 0.7 / (INERTIA + ARMATURE), rel=1e-10)
    assert model.mass_blocks(state.rotation)[0][0, 5, 5] == INERTIA


def test_armature_keeps_momentum_where_nothing_acts():
    """A spinning rotor goes on as it was: the row takes nothing away."""
    model, state = wheel(armature=ARMATURE)
    u = state.u.copy()
    u[0, 5] = 4.0
    after = speed_after(model, delassus.State(state.q, u), 50)
    assert after.u[0, 5] == pytest.approx(4.0, rel=1e-12)


@pytest.mark.parametrize("motor", [None, Motor(0.0, 0.0, effort=5.0), Motor(1.0, 0.0)])
def test_a_spring_swings_at_its_frequency_about_its_rest(motor):
    """q = rest (1 − cos ω t) from zero; a motor beside it, of limited effort or not, adds its own stiffness."""
    model, state = wheel(stiffness=STIFFNESS, rest=0.2, armature=ARMATURE, motor=motor)
    k = STIFFNESS + (motor.stiffness if motor else 0.0)
    omega = np.sqrt(k / (INERTIA + ARMATURE))
    errors = []
    for h in (2e-3, 1e-3):
        after = speed_after(model, state, round(0.5 / h), h)
        exact = 0.2 * STIFFNESS / k * (1 - np.cos(omega * 0.5))
        errors.append(abs(after.coordinates(model)[0] - exact))
    assert errors[1] < 1e-6 + errors[0] / 3.5
    assert errors[1] < 2e-4


def test_armature_slows_a_damper_down():
    model, state = wheel(damping=0.3, armature=ARMATURE)
    u = state.u.copy()
    u[0, 5] = 4.0
    after = speed_after(model, delassus.State(state.q, u), 200)
    assert after.u[0, 5] == pytest.approx(4.0 * np.exp(-0.3 * 0.2 / (INERTIA + ARMATURE)), rel=1e-5)


def test_many_steps_at_once_agree():
    """The compiled loop of `World.run` and single steps give the same bits."""
    model, state = wheel(stiffness=STIFFNESS, rest=0.2, armature=ARMATURE, damping=0.01)
    world = delassus.World(model, state, h=1e-3, tol=1e-12)
    world.run(20)
    assert world.joint("hinge").angle == pytest.approx(speed_after(model, state, 20).coordinates(model)[0], abs=1e-12)


def test_neutral_values_do_not_change_the_hash():
    assert wheel()[0].hash == wheel(stiffness=0.0, rest=0.3, armature=0.0)[0].hash
    assert wheel()[0].hash != wheel(armature=ARMATURE)[0].hash


@pytest.mark.parametrize("options", [{"armature": -1.0}, {"stiffness": np.nan}, {"rest": np.inf, "stiffness": 1.0}])
def test_bad_values_are_named(options):
    with pytest.raises(delassus.DelassusError, match=next(iter(options))):
        wheel(**options)


def swinging_arm():
    """An arm that swings in its weight on a geared, sprung hinge, a second one behind it: nothing is lost."""
    builder = ModelBuilder()
    first = builder.body("first", mass=1.0, inertia=(0.01, 0.01, 0.002), position=(0.3, 0, 0))
    second = builder.body("second", mass=0.5, inertia=(0.006, 0.005, 0.001), position=(0.8, 0, 0))
    builder.joint(
        "revolute", None, first, axis=(0, 1, 0), position=(0, 0, 0), name="a", stiffness=6.0, rest=0.4, armature=0.1
    )
    builder.joint(
        "revolute",
        first,
        second,
        axis=(0, 1, 0),
        position=(0.5, 0, 0),
        name="b",
        stiffness=2.0,
        rest=-0.2,
        armature=0.03,
    )
    return builder.build()


def energy_swing(h, settings, seconds=0.5):
    """max |E − E₀| over a swing [J]."""
    model, state = swinging_arm()
    memory, worst = delassus.Memory(), 0.0
    first = sum(delassus.World(model, state).energy)
    for _ in range(round(seconds / h)):
        state, report = delassus.step(model, state, None, StepSettings(h=h, tol=1e-12, **settings), memory)
        assert report.ok
        worst = max(worst, abs(sum(report.energy) - first))
    return worst


@pytest.mark.parametrize(("integrator", "order"), [("moreau", 2.0), ("euler", 1.0)])
def test_energy_counts_springs_and_armature(integrator, order):
    """What swings between weight, springs, bodies and rotors, some joules, is kept to the order of the scheme. Joints
    that were closed as if rotors had no mass made it one order less."""
    errors = [energy_swing(h, {"integrator": integrator}) for h in (4e-3, 2e-3, 1e-3)]
    for coarse, fine in zip(errors, errors[1:]):
        assert np.log2(coarse / fine) == pytest.approx(order, abs=0.2)


def test_recorded_energy_is_that_of_the_states(tmp_path):
    """Steps taken in compiled code, too."""
    world = delassus.World(*swinging_arm())
    world.run(seconds=0.2, record=tmp_path / "run")
    recording = delassus.Recording(tmp_path / "run")
    for k in (0, 1, recording.step_count // 2, recording.step_count):
        one = delassus.World(world.model, recording.state(k))
        assert recording.energy[k] == pytest.approx(one.energy, rel=1e-12)
