"""A world moves as `step` does, comes back to where it was, and keeps to itself."""

import pickle

import numpy as np
import pytest

from delassus import Box, Inputs, Memory, ModelBuilder, Motor, Plane, Sphere, StepSettings, World, simulate, step
from delassus.errors import FileError, ProblemError, SettingsError
from delassus.scenes import SCENES


def arm():
    """A driven arm on the ground's post, and a ball beside it."""
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane(), material=0.6)
    builder.body("arm", position=(0.5, 0, 1), density=1000.0, shapes=Box((1.0, 0.1, 0.1)))
    builder.body("ball", position=(3, 0, 0.2), velocity=(1, 0, 0), mass=2.0, shapes=Sphere(0.2))
    builder.joint(
        "revolute", "ground", "arm", position=(0, 0, 1), axis=(0, 1, 0), name="hinge", motor=Motor(300.0, 20.0)
    )
    return World(*builder.build())


def moved(world):
    """Every bit of where it is."""
    return world.state.hash


@pytest.mark.parametrize("name", ["four-bar-free", "four-bar"])
def test_run_is_many_steps_is_simulate_bit_for_bit(name):
    setup = SCENES[name].build()
    first, second = World.from_scene(name), World.from_scene(name)
    first.run(80)
    for _ in range(80):
        second.step()
    end = simulate(setup.model, setup.state, setup.inputs, setup.settings, 80)
    assert moved(first) == moved(second) == end.hash
    assert first.steps == 80


def test_steps_are_those_of_step_with_the_same_inputs():
    world = arm()
    model, state, memory = world.model, world.state, Memory()
    world.joint("hinge").target = 0.4
    world.joint("hinge").effort = -3.0
    inputs = Inputs.of(model, target={"hinge": 0.4}, effort={"hinge": -3.0})
    for _ in range(30):
        world.step()
        state, report = step(model, state, inputs, world.settings, memory)
    assert moved(world) == state.hash
    assert world.report.solution.reactions.tobytes() == report.solution.reactions.tobytes()


def test_a_report_that_is_made_when_asked_for_is_the_one_of_the_step():
    world = World.from_scene("four-bar-free", height=0.05)
    world.run(150)
    kept, world._run.reported = world.report, None
    again = world.report
    assert again is not kept
    assert len(again.contacts) > 0
    assert again.solution.reactions.tobytes() == kept.solution.reactions.tobytes()
    assert (again.t, again.energy, again.solution.iterations) == (kept.t, kept.energy, kept.solution.iterations)


def test_settings_may_change_and_reports_are_of_the_steps_they_were_taken_with():
    world = arm()
    world.run(10)
    kept, world._run.reported = world.report, None
    world.settings = StepSettings(h=5e-3, law="ccp")
    assert world.report.h == kept.h == 1e-3
    assert world.report.solution.reactions.tobytes() == kept.solution.reactions.tobytes()
    world.step()
    assert world.time == pytest.approx(0.015)
    with pytest.raises(SettingsError, match="give StepSettings"):
        world.settings = {"h": 1e-3}


def test_snapshots_come_back_to_the_last_bit():
    world = World.from_scene("four-bar-free", height=0.05)
    world.run(100)
    there = pickle.loads(pickle.dumps(world.snapshot()))
    reactions = world.report.solution.reactions.tobytes()
    world.run(60)
    end = moved(world)
    world.restore(there)
    assert world.report.solution.reactions.tobytes() == reactions
    assert world.history("world.energy").t[-1] == pytest.approx(0.1)
    world.run(60)
    assert moved(world) == end
    world.reset()
    assert (world.time, world.steps, len(world.history("world.energy"))) == (0.0, 0, 1)
    world.run(160)
    assert moved(world) == end


def test_snapshots_hold_what_acts():
    world = arm()
    world.joint("hinge").target = 0.3
    world.joint("hinge").target_rate = 1.0
    world.body("ball").push((0, 5, 0), at=(3, 0, 0.3), seconds=0.0104)
    world.run(4)
    there = world.snapshot()
    world.run(40)
    end = moved(world)
    world.joint("hinge").target = -1.0
    world.restore(there)
    assert world.joint("hinge").target == pytest.approx(0.304)
    world.run(40)
    assert moved(world) == end


def test_copies_and_pickles_are_equal_and_independent():
    world = World.from_scene("four-bar", speed=3.0)
    world.run(20)
    other, third = world.copy(), pickle.loads(pickle.dumps(world))
    before = moved(world)
    other.run(30)
    assert moved(world) == before
    assert len(other.history("world.energy")) == 31
    world.run(30)
    third.run(30)
    assert moved(world) == moved(other) == moved(third)
    other.joint("hinge-1").target_rate = 0.0
    other.body("crank").push((1, 0, 0), seconds=0.1)
    assert world._acting.is_constant
    assert not world._acting.is_given.any()
    other.reset()
    assert (other.time, world.time) == (0.0, pytest.approx(0.05))


def test_a_world_with_a_function_of_its_own_is_pickled_where_the_function_can_be():
    model, state = ModelBuilder().build()
    assert pickle.loads(pickle.dumps(World(model, state, inputs=nothing)))._function is nothing
    with pytest.raises(ProblemError, match="function of inputs="):
        pickle.dumps(World(model, state, inputs=lambda t, state: None))


def nothing(t, state):
    del t, state


def test_states_that_are_set_are_where_it_goes_on_from():
    world = arm()
    world.run(30)
    there = world.state
    world.run(10)
    world.state = there
    assert moved(world) == there.hash
    assert world.time == there.t
    with pytest.raises(ProblemError, match="no step was taken"):
        world.report  # noqa: B018
    with pytest.raises(ProblemError, match="bodies"):
        world.state = ModelBuilder().build()[1]


@pytest.mark.parametrize("seconds", [0.1, 0.0107, 0.0003, 0.001, 0.0509999])
@pytest.mark.parametrize("h", [1e-3, 0.0037])
def test_the_impulse_of_a_push_is_force_times_seconds(seconds, h):
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("stone", position=(1, 2, 3), mass=2.0, inertia=(1.0, 1.0, 1.0))
    world = World(*builder.build(), h=h)
    force, point = np.array([3.0, -4.0, 5.0]), np.array([1.0, 2.5, 3.0])
    world.body("stone").push(force, at=point, seconds=seconds)
    world.run(seconds=seconds + 3 * h)
    assert world.body("stone").momentum == pytest.approx(force * seconds, rel=1e-13)
    # the arm turns with the body, hardly, in that time
    spin = np.cross(point - [1, 2, 3], force) * seconds
    assert world.body("stone").angular_momentum == pytest.approx(spin, rel=0.02)
    assert world._acting.is_constant


def test_pushes_add_up_last_a_step_by_default_and_for_ever_if_asked():
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("stone", mass=2.0, inertia=(1.0, 1.0, 1.0))
    world = World(*builder.build())
    stone = world.body("stone")
    stone.push((1, 0, 0))
    stone.push((2, 0, 0), moment=(0, 0, 4))
    world.run(5)
    assert stone.momentum == pytest.approx([3e-3, 0, 0])
    assert stone.angular_momentum == pytest.approx([0, 0, 4e-3])
    stone.push((1, 0, 0), seconds=np.inf)
    world.run(100)
    assert stone.momentum == pytest.approx([0.103, 0, 0])


def test_targets_move_on_at_their_rates_while_many_steps_are_taken():
    """As if each had been given at every step: what control at long periods relies on."""
    seldom, often = arm(), arm()
    hinge = seldom.joint("hinge")
    hinge.target, hinge.target_rate = 0.1, 0.5
    seldom.run(50)
    assert hinge.target == pytest.approx(0.125)

    def control(world):
        joint = world.joint("hinge")
        joint.target, joint.target_rate = 0.1 + 0.5 * world.time, 0.5

    often.run(50, control=control)
    assert seldom.state.q == pytest.approx(often.state.q, abs=1e-13)
    assert seldom.joint("hinge").rate == pytest.approx(often.joint("hinge").rate, abs=1e-11)


def test_control_is_called_as_often_as_asked_and_until_ends_the_run():
    world, times = arm(), []
    ran = world.run(seconds=0.1, control=lambda w: times.append(w.time), every=0.0125)
    assert ran.steps == 100
    assert times == pytest.approx([0, 0.013, 0.025, 0.038, 0.05, 0.063, 0.075, 0.088])
    times.clear()
    world.run(5, control=lambda w: times.append(w.time))
    assert len(times) == 5
    ran = world.run(seconds=5, until=lambda w: w.joint("hinge").angle > 0.1)
    assert ran.was_stopped
    assert world.joint("hinge").angle > 0.1
    assert world.history("joint:hinge.angle").values[-2] <= 0.1
    assert "stopped" in repr(ran)


def test_progress_goes_to_stderr_and_changes_nothing(capsys):
    world, quiet = arm(), arm()
    world.run(seconds=0.05, progress=True)
    quiet.run(seconds=0.05)
    seen = capsys.readouterr()
    assert "100 %" in seen.err
    assert not seen.out
    assert moved(world) == moved(quiet)


def test_what_did_not_converge_is_said():
    from delassus.errors import DelassusWarning

    world = World.from_scene("four-bar-free", StepSettings(max_iter=1, solver="nbgs", tol=1e-12), height=0.02)
    with pytest.warns(DelassusWarning, match=r"of 80 steps \d+ did not converge"):
        ran = world.run(80)
    assert not ran.ok
    assert not world.ok
    assert world.trouble.not_converged > 0
    world.reset()
    assert world.ok


@pytest.mark.parametrize(
    ("mistake", "complaint"),
    [
        (lambda w: w.joint("hing"), "did you mean 'hinge'"),
        (lambda w: w.joint(3), "give a name"),
        (lambda w: w.body("arn"), "did you mean 'arm'"),
        (lambda w: w.run(), "say how long"),
        (lambda w: w.run(10, seconds=1), "one of the two"),
        (lambda w: w.run(1.5), "seconds=1.5"),
        (lambda w: w.run(-3), "whole number"),
        (lambda w: w.run(seconds=-1), "give a time"),
        (lambda w: w.run(seconds=float("nan")), "give a time"),
        (lambda w: w.run(5, every=0.1), "control function"),
        (lambda w: w.run(5, control=lambda w: 3), "returned 3"),
        (lambda w: w.run(5, control=3), "give a function"),
        (lambda w: w.run(5, control=lambda w: None, every=0), "time between"),
        (lambda w: setattr(w.joint("hinge"), "target", "far"), "give one number"),
        (lambda w: setattr(w.joint("hinge"), "target", float("nan")), "one finite number"),
        (lambda w: setattr(w.joint("hinge"), "target", [1, 2]), "give one number"),
        (lambda w: setattr(w.joint("hinge"), "target", {"agle": 1}), "did you mean 'angle'"),
        (lambda w: w.joint("hinge").position, "say angle"),
        (lambda w: w.joint("hinge").set(position=1), "say angle"),
        (lambda w: w.joint("hinge").set(angel=1), "did you mean 'angle'"),
        (lambda w: w.body("ground").mass, "is fixed"),
        (lambda w: w.body("ground").push((1, 0, 0)), "is fixed"),
        (lambda w: w.body("arm").push((1, 0)), "3 finite numbers"),
        (lambda w: w.body("arm").push((1, 0, 0), seconds=-1), "positive time"),
        (lambda w: w.body("arm").set(position=(0, 0, 0)), "tied to the world by joint 'hinge'"),
        (lambda w: w.restore(w.state), "is no Snapshot"),
        (lambda w: w.restore(World.from_scene("bouncing-ball").snapshot()), "another model"),
        (lambda w: w.history("joint:hinge.angel"), "did you mean 'angle'"),
        (lambda w: w.history("joint:hinge.position"), "there is no"),
        (lambda w: w.history("body:am.position"), "did you mean 'arm'"),
        (lambda w: w.history("joints:hinge.angle"), "such as 'joint:hinge.angle'"),
        (lambda w: w.history("energy"), "'world.energy'"),
        (lambda w: w.history("world.enrgy"), "did you mean 'energy'"),
        (lambda w: w.contacts.of("bal"), "did you mean 'ball'"),
        (lambda w: World((w.model, w.state)), r"both in a tuple: give World\(\*builder.build\(\)\)"),
        (lambda w: World(ModelBuilder()), "ModelBuilder and None"),
        (lambda w: World(w.model, w.model), "give World"),
        (lambda w: World(w.model, w.state, {"h": 1}), "give StepSettings"),
        (lambda w: World(w.model, w.state, hh=1), "did you mean 'h'"),
        (lambda w: World.from_scene("four-bra"), "did you mean 'four-bar'"),
        (lambda w: World.load("nowhere.xml"), "no such file"),
    ],
)
def test_mistakes_are_one_clear_sentence(mistake, complaint):
    with pytest.raises((ProblemError, SettingsError, FileError), match=complaint) as caught:
        mistake(arm())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("mistake", "complaint"),
    [
        (lambda w: setattr(w.joint("hinge"), "traget", 1), "did you mean 'target'"),
        (lambda w: setattr(w.joint("hinge"), "angle", 1), r"joint.set\(angle=…\)"),
        (lambda w: setattr(w.body("arm"), "position", (0, 0, 0)), r"body.set\(position=…\)"),
        (lambda w: w.joint("hinge").agle, "did you mean 'angle'"),
        (lambda w: w.body("arm").positon, "did you mean 'position'"),
    ],
)
def test_words_that_are_not_there_suggest_others(mistake, complaint):
    with pytest.raises(AttributeError, match=complaint):
        mistake(arm())


def test_files_that_nothing_reads_are_said_so(tmp_path):
    (tmp_path / "robot.sdf").write_text("<robot/>")
    with pytest.raises(FileError, match=r"robot.sdf"):
        World.load(tmp_path / "robot.sdf")
    with pytest.raises(FileError, match="holds no recording"):
        World.load(tmp_path)
