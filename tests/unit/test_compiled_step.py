"""Compiled steps against `step`: the same bits, or handed back untouched."""

import numpy as np
import pytest

from delassus import (
    Box,
    Capsule,
    Inputs,
    Memory,
    ModelBuilder,
    Motor,
    Plane,
    Softening,
    Sphere,
    Spring,
    StepSettings,
    World,
    step,
)
from delassus.builder import Material
from delassus.io.recording import Recording, recorder
from delassus.scenes import SCENES
from delassus.simulation.compiled.advance import ROOM_OF_CALL, Stepper, take_steps
from delassus.simulation.compiled.step import FAST, TAKEN, UNSOLVED
from delassus.world.recording import recorder_for

STEPS = 60


def grounded(material=0.5):
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane(), material=material)
    return builder


def thrown_boxes(rng):
    builder = grounded()
    for k in range(3):
        builder.body(
            position=(0.05 * k, 0, 0.12 + 0.25 * k),
            velocity=rng.normal(size=3),
            angular_velocity=rng.normal(size=3),
            density=1000.0,
            shapes=Box((0.2, 0.2, 0.2)),
        )
    return builder


def limited_motor(rng):
    """A motor that cannot reach its target, a joint that rubs, and a limit in reach."""
    builder = grounded()
    builder.body("arm", position=(0.5, 0, 1), density=1000.0, shapes=Box((1.0, 0.1, 0.1)))
    builder.body("hand", position=(1.2, 0, 1), density=500.0, shapes=Capsule(0.05, 0.2))
    builder.joint(
        "revolute",
        "ground",
        "arm",
        position=(0, 0, 1),
        axis=(0, 1, 0),
        name="shoulder",
        motor=Motor(300.0, 20.0, effort=30.0),
    )
    builder.joint(
        "revolute", "arm", "hand", position=(1.0, 0, 1), axis=(0, 1, 0), name="wrist", friction=1.5, limits=(-0.4, 0.4)
    )
    return builder


def soft_things(rng):
    """A joint that gives, and contacts that do."""
    builder = grounded(Material(mu=0.4, softening=Softening()))
    builder.body("post", position=(0, 0, 0.6), density=1000.0, shapes=Box((0.1, 0.1, 0.4)))
    builder.body("ball", position=(0.5, 0, 0.11), velocity=(1, 0, 0), mass=2.0, shapes=Sphere(0.1))
    builder.joint("fixed", "ground", "post", position=(0, 0, 0.4), softening=Spring(1e5, 100.0))
    return builder


def free_chain(rng):
    """Ball joints and a universal joint, turning fast."""
    builder = grounded()
    for k in range(3):
        builder.body(
            f"link-{k}",
            position=(0.3 * k, 0, 2.0),
            density=800.0,
            shapes=Capsule(0.03, 0.2),
            angular_velocity=rng.normal(scale=3.0, size=3),
        )
    builder.joint("spherical", "link-0", "link-1", position=(0.15, 0, 2.0))
    builder.joint("universal", "link-1", "link-2", position=(0.45, 0, 2.0))
    return builder


BUILDERS = [thrown_boxes, limited_motor, soft_things, free_chain]


def of_scene(name, **parameters):
    setup = SCENES[name].build(**parameters)
    return setup.model, setup.state


def worlds():
    for build in BUILDERS:
        yield pytest.param(build, id=build.__name__)
    yield pytest.param(("four-bar-free", {"height": 0.05}), id="four-bar-free")
    yield pytest.param(("nunchuk", {}), id="nunchuk")
    yield pytest.param(("quadruped", {}), id="quadruped")


def built(what):
    return (
        of_scene(what[0], **what[1]) if isinstance(what, tuple) else what(np.random.default_rng(3)).build(assemble=True)
    )


@pytest.mark.parametrize("integrator", ["moreau", "euler"])
@pytest.mark.parametrize("what", list(worlds()))
def test_compiled_steps_have_the_bits_of_step(what, integrator):
    model, state = built(what)
    if integrator == "euler" and what not in BUILDERS:
        pytest.skip("the schemes differ in one place only")
    settings, memory = StepSettings(integrator=integrator), Memory()
    stepper, taken = Stepper(model, settings), 0
    targets = Inputs.of(model, target=np.full(model.joints.coordinate_count, 0.3))
    for _ in range(STEPS):
        assert stepper.put(state.q, state.u, model.joints.turns_of(state.turns), state.t, memory)
        done = stepper.advance(targets, 1)
        before = state
        state, _ = step(model, state, targets, settings, memory)
        taken += done
        if not done:
            assert stepper.q.tobytes() == before.q.tobytes()
            assert stepper.time[0] == before.t
            continue
        assert stepper.q.tobytes() == state.q.tobytes()
        assert stepper.u.tobytes() == state.u.tobytes()
        assert stepper.turns.tolist() == state.turns.tolist()
        assert stepper.time[0] == state.t
        assert stepper.memory.names.tolist() == memory.names.tolist()
        assert stepper.memory.reactions.tobytes() == memory.reactions.tobytes()
    assert taken > 0.8 * STEPS


def test_many_steps_in_a_call_are_single_ones_and_are_all_kept():
    model, state = built(thrown_boxes)
    one, many = Stepper(model, StepSettings()), Stepper(model, StepSettings())
    nothing = Inputs.none(model)
    for stepper in (one, many):
        stepper.put(state.q, state.u, model.joints.turns_of(state.turns), state.t, Memory())
    done = 15
    assert many.advance(nothing, done) == done
    for k in range(done):
        if k == done - 1:
            q, _, _, t, _ = many.before
            assert q.tobytes() == one.q.tobytes()
            assert t == one.time[0]
        assert one.advance(nothing, 1) == 1
        assert many.trail[0][k].tobytes() == one.q.tobytes()
        assert many.trail[1][k].tobytes() == one.u.tobytes()
        assert many.trail[3][k] == one.time[0]


def test_one_compiled_step_serves_all_models():
    for build in BUILDERS:
        model, state = built(build)
        stepper = Stepper(model, StepSettings())
        stepper.put(state.q, state.u, model.joints.turns_of(state.turns), state.t, Memory())
        stepper.advance(Inputs.none(model), 1)
    assert len(getattr(take_steps, "signatures", [1])) == 1


def test_what_is_too_large_or_too_fast_is_handed_back():
    builder = grounded()
    for k in range(9):
        builder.body(position=(0, 0, 0.1 + 0.2 * k), density=1000.0, shapes=Box((0.2, 0.2, 0.2)))
    model, state = builder.build()
    stepper = Stepper(model, StepSettings())
    stepper.put(state.q, state.u, model.joints.turns_of(state.turns), state.t, Memory())
    assert stepper.advance(Inputs.none(model), 5) == 0
    assert stepper.outcome == UNSOLVED
    builder = grounded()
    builder.body(position=(0, 0, 0.2), velocity=(0, 0, -200.0), mass=1.0, shapes=Sphere(0.1))
    model, state = builder.build()
    stepper = Stepper(model, StepSettings())
    stepper.put(state.q, state.u, model.joints.turns_of(state.turns), state.t, Memory())
    assert stepper.advance(Inputs.none(model), 5) == 0
    assert stepper.outcome == FAST
    assert stepper.q.tobytes() == state.q.tobytes()


def test_piles_of_many_shapes_and_islands_have_the_bits_of_step():
    builder = grounded()
    for k in range(70):
        column, height = divmod(k, 3)
        builder.body(position=(0.5 * column, 0, 0.1 + 0.2 * height), density=1000.0, shapes=Box((0.2, 0.2, 0.2)))
    model, state = builder.build()
    world, memory, taken = World(model, state), Memory(), 0
    stepper = Stepper(model, world.settings)
    for _ in range(20):
        stepper.put(state.q, state.u, model.joints.turns_of(state.turns), state.t, memory)
        done = stepper.advance(Inputs.none(model), 1)
        state, _ = step(model, state, None, world.settings, memory)
        taken += done
        assert not done or stepper.q.tobytes() == state.q.tobytes()
        assert not done or stepper.memory.reactions.tobytes() == memory.reactions.tobytes()
    assert taken >= 17  # the first have no guess, and wait for kernels
    world.run(20 + ROOM_OF_CALL)
    for _ in range(ROOM_OF_CALL):
        state, _ = step(model, state, None, world.settings, memory)
    assert world.state.hash == state.hash


@pytest.mark.parametrize("settings", [{"law": "ccp"}, {"solver": "nbgs"}, {"warm_start": False}])
def test_what_is_not_compiled_says_why(settings):
    model, _ = built(thrown_boxes)
    assert Stepper(model, StepSettings(**settings)).reason


def test_a_world_runs_compiled_with_the_bits_of_single_steps():
    model, state = built(thrown_boxes)
    world, memory = World(model, state), Memory()
    world.run(2 * ROOM_OF_CALL)
    for _ in range(2 * ROOM_OF_CALL):
        state, report = step(model, state, None, world.settings, memory)
    assert world.state.hash == state.hash
    assert world.steps == 2 * ROOM_OF_CALL
    assert world.report.solution.reactions.tobytes() == report.solution.reactions.tobytes()
    energy = world.history("world.energy")
    assert len(energy) == 2 * ROOM_OF_CALL + 1
    assert np.all(np.diff(energy.t) > 0)
    assert energy.values[-1] == pytest.approx(sum(report.energy), rel=1e-12)
    other = World(*built(thrown_boxes))
    for _ in range(2 * ROOM_OF_CALL):
        other.step()
    assert other.state.hash == state.hash
    assert other._run.stepper.outcome == TAKEN


@pytest.mark.parametrize("what", ["push", "function"])
def test_what_changes_from_step_to_step_has_the_bits_of_step_too(what, monkeypatch):
    """Pushes, which turn with nothing and end within a step, and the functions of driven scenes."""
    ends = []
    for first in (50, 10**9):
        monkeypatch.setattr("delassus.simulation.run.BEFORE_COMPILED", first)
        world = World.from_scene("four-bar") if what == "function" else World(*built(thrown_boxes))
        world.run(60)
        if what == "push":
            world.body(world.body_names[1]).push((3.0, 1.0, 0.0), at=(0.1, 0.0, 0.35), seconds=0.0333)
        world.run(60)
        ends.append((world.state.hash, world.report.solution.reactions.tobytes()))
        assert (world._run.stepper is not None) == (first == 50)
    assert ends[0] == ends[1]


def record(world, folder, steps):
    """One by one through `step`."""
    recorder = recorder_for(world, folder, steps, False)
    state, memory = world.state, Memory()
    with recorder:
        for _ in range(steps):
            state, report = step(world.model, state, None, world.settings, memory)
            recorder.add(state, report, memory)


@pytest.mark.parametrize("what", list(worlds()))
def test_recordings_of_compiled_steps_have_the_bits_of_single_ones(what, tmp_path, monkeypatch):
    """Every column, and what the next step would start from; parts end in between."""
    monkeypatch.setattr(recorder, "FLUSH_STEPS", 41)
    world = World(*built(what))
    world.run(STEPS, record=tmp_path / "run")
    record(World(*built(what)), tmp_path / "single", STEPS)
    run, single = Recording(tmp_path / "run"), Recording(tmp_path / "single")
    assert set(run.names) == set(single.names)
    assert np.isnan(run.times["solve"]).mean() > 0.5  # taken in compiled code
    assert not np.isnan(single.times["solve"]).any()
    for name in single.names:
        if not name.startswith(("times/", "memory/")):  # what is remembered is that of the end of each part
            one, other = single.array(name), run.array(name)
            assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes()), name
    for one, other in zip(vars(single.memory()).values(), vars(run.memory()).values()):
        assert np.array_equal(one, other)
    assert len(getattr(take_steps, "signatures", [1])) == 1  # nothing is compiled anew for those that record
