"""Recordings: what goes in comes out, a run continues to the last bit, a problem of a step can be solved again."""

from dataclasses import replace

import h5py
import numpy as np
import pytest

from delassus import World
from delassus.builder import Material, ModelBuilder, Motor
from delassus.io.problems import load_problem
from delassus.io.recording import About, Columns, Recorder, Recording, Trajectory, problem_file, save_problem
from delassus.io.recording import recorder as recorder_module
from delassus.io.recording.keeping import OPEN, SLIP, STICK
from delassus.law import Law
from delassus.scenes import SCENES
from delassus.scenes.stepping import advance, simulate
from delassus.shapes import Box, Plane
from delassus.simulation import Memory, StepSettings, step
from delassus.solvers import solve

SEED = 3


def record(setup, directory, steps, *, resume=False):
    """Record up to so many steps in all; the trajectory of this call, kept in memory beside."""
    about = About.of(setup.model, setup.state, setup.settings, scene="test", goal=steps)
    if resume:
        recorder, state, memory = Recorder.resume(directory, about, setup.model)
    else:
        recorder, state, memory = Recorder.create(directory, about, setup.model, setup.state), setup.state, Memory()
    columns = Columns(setup.model, state, setup.settings.h)
    with recorder:

        def watch(k, state, report, memory):
            columns.add(state, report)
            recorder.add(state, report, memory)

        advance(setup.model, state, setup.inputs, setup.settings, range(recorder.step_count, steps), memory, watch)
    return Trajectory.of(columns)


def assert_same(first, second):
    """Bit for bit, but for the clock."""
    columns = [{name for name in part.names if not name.startswith("memory/")} for part in (first, second)]
    assert columns[0] == columns[1]
    for name in first.names:
        if not name.startswith(("times/", "memory/")):
            a, b = first.array(name), second.array(name)
            assert a.dtype == b.dtype, name
            assert a.shape == b.shape, name
            assert a.tobytes() == b.tobytes(), name


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(recorder_module, "FLUSH_STEPS", 7)


def mechanism():
    """Everything a step can hold: joints, a motor, a limit, joint friction and contacts."""
    builder = ModelBuilder()
    builder.fixed("ground", shapes=[Plane()], material=Material(0.4))
    post = builder.body(
        "post", position=(0, 0, 0.1), density=500.0, shapes=[Box((0.2, 0.2, 0.2))], material=Material(0.4)
    )
    arm = builder.body("arm", position=(0.2, 0, 0.25), density=500.0, shapes=[Box((0.3, 0.05, 0.05))])
    tip = builder.body("tip", position=(0.45, 0, 0.25), density=500.0, shapes=[Box((0.2, 0.05, 0.05))])
    builder.joint("revolute", post, arm, position=(0.05, 0, 0.25), axis=(0, 1, 0), motor=Motor(20.0, 1.0), name="motor")
    builder.joint(
        "revolute", arm, tip, position=(0.35, 0, 0.25), axis=(0, 1, 0), limits=(-0.02, 0.02), friction=0.01, name="knee"
    )
    return builder.build()


@pytest.mark.parametrize("name", ["sphere-pile", "four-bar", "four-bar-free", "heavy-on-light"])
def test_resumed_run_is_the_uninterrupted_one_bit_for_bit(tmp_path, small_parts, name):
    scene = SCENES[name]
    small = {"sphere-pile": {"n": 8}, "four-bar-free": {"height": 0.012}, "heavy-on-light": {"n": 2, "ratio": 1e12}}
    setup = scene.build(**small.get(name, {}))
    assert setup.settings.warm_start
    record(setup, tmp_path / "whole", 60)
    record(setup, tmp_path / "halves", 26)
    record(setup, tmp_path / "halves", 60, resume=True)
    whole, halves = Recording(tmp_path / "whole"), Recording(tmp_path / "halves")
    assert whole.step_count == halves.step_count == 60
    assert_same(whole, halves)
    assert whole.state(-1).hash == halves.state(-1).hash
    if name != "four-bar":
        assert whole.contact_counts.max() > 0, "a resume without contacts proves little about the warm start"
    assert vars(whole.memory()).keys() == vars(halves.memory()).keys()
    for key, value in vars(whole.memory()).items():
        assert np.array_equal(value, vars(halves.memory())[key]), key


def test_warm_start_matters_for_the_resume(tmp_path):
    """Without the memory the continued run differs: the test above would notice if it were lost."""
    setup = SCENES["sphere-pile"].build(n=8)
    record(setup, tmp_path, 60)
    recording = Recording(tmp_path)
    _, warm = step(setup.model, recording.state(-1), None, setup.settings, recording.memory())
    _, cold = step(setup.model, recording.state(-1), None, setup.settings, Memory())
    assert warm.solution.reactions.tobytes() != cold.solution.reactions.tobytes()


def test_recording_gives_back_every_column(tmp_path, small_parts):
    model, state = mechanism()
    from delassus.scenes import Setup

    setup = Setup(model, state, 0.05)
    kept = record(setup, tmp_path, 50)
    recording = Recording(tmp_path)
    assert len(list((tmp_path / "recording").glob("part-*"))) > 5
    assert_same(kept, recording)
    assert recording.array("limits/count").max() > 0
    assert recording.array("joints/drive").shape == (50, 1)
    assert recording.array("joints/friction").shape == (50, 1)
    assert recording.array("joints/reaction").shape == (50, 10)
    assert recording.about.joints == ("motor", "knee")
    assert "50 steps" in repr(recording)
    assert "test" in repr(recording)
    assert repr(recording.contacts(-1)).startswith("StepContacts(4 points")


def test_forces_are_in_newtons_in_the_world_frame_and_statuses_mean_what_they_say():
    held = SCENES["box-on-plane"].build(load=0.5)
    weight = held.model.mass[0] * 9.81
    contacts = held.run(steps=5).contacts(-1)
    assert contacts.force_on(0) == pytest.approx([-0.25 * weight, 0.0, weight], abs=1e-5 * weight)
    assert contacts.force_on(-1) == pytest.approx(-contacts.force_on(0))
    assert (contacts.status == STICK).all()
    slides = SCENES["box-on-plane"].build(load=2.0).run(steps=5)
    contacts = slides.contacts(-1)
    loaded = contacts.status != OPEN
    assert loaded.any()
    assert (contacts.status[loaded] == SLIP).all()
    assert np.abs(contacts.slip[loaded, 0]) == pytest.approx(abs(slides.u[-1, 0, 0]), rel=1e-3)


def test_joint_reactions_carry_the_weight():
    """A link at rest below its hinge: the reaction along the vertical is its weight."""
    setup = SCENES["pendulum-chain"].build(n=1, angle=0.0)
    run = setup.run(steps=10)
    weight = setup.model.mass[0] * 9.81
    assert np.abs(run.array("joints/reaction")[-1]).max() == pytest.approx(weight, rel=1e-6)


def test_step_without_contacts_or_joints_is_recorded(tmp_path):
    setup = SCENES["bouncing-ball"].build(height=1.0)
    record(setup, tmp_path, 3)
    recording = Recording(tmp_path)
    assert recording.contact_counts.tolist() == [0, 0, 0]
    assert len(recording.contacts(0).gap) == 0
    assert recording.converged.all()


def reports(model, state, count):
    memory, found = Memory(), []
    simulate(model, state, None, StepSettings(), count, memory=memory, watch=lambda k, s, r, m: found.append(r))
    return found


@pytest.mark.parametrize("scene", ["box-on-plane", "four-bar-free"])
def test_problem_of_hard_contacts_and_joints_keeps_its_bodies(tmp_path, scene):
    setup = SCENES[scene].build(**({"height": 0.012} if scene == "four-bar-free" else {}))
    report = reports(setup.model, setup.state, 30)[-1]
    path = save_problem(tmp_path / "step-000029.hdf5", report.problem, report.solution, title="a step")
    again = load_problem(path)
    assert again.delassus.kind == "rigid"
    assert again.free_velocity == pytest.approx(report.problem.free_velocity, abs=1e-12)
    lam = report.solution.reactions
    assert again.constraint_velocity(lam) == pytest.approx(report.problem.constraint_velocity(lam), abs=1e-10)


def test_problem_with_limits_and_compliance_is_the_same_in_local_form(tmp_path):
    model, state = mechanism()
    report = next(r for r in reports(model, state, 60) if r.rows.cone.unilateral and r.rows.contact_count)
    file = problem_file(report.problem)
    assert file.form == "local"
    again = load_problem(save_problem(tmp_path / "step.hdf5", report.problem), law=Law.NCP)
    cone = report.problem.cone
    assert again.contact_count == cone.unilateral + cone.contact_count
    rng = np.random.default_rng(SEED)
    given = rng.standard_normal(cone.row_count)
    limits, contacts = np.zeros((cone.unilateral, 3)), given[cone.contact_start :]
    limits[:, 0] = given[cone.bilateral_rows : cone.contact_start]
    spread = np.concatenate([given[: cone.bilateral_rows], limits.ravel(), contacts])
    v = again.constraint_velocity(spread)
    keep = np.abs(spread) > 0.0
    assert v[keep] == pytest.approx(report.problem.constraint_velocity(given), rel=1e-9)
    assert not v[~keep].any()
    assert solve(again).converged


def test_steps_do_not_change_what_the_model_is_called():
    """Collision keeps work arrays beside the shapes: none of them may enter the hash."""
    stepped, fresh = SCENES["wall"].build(rows=1, columns=1), SCENES["wall"].build(rows=1, columns=1)
    stepped.run(steps=2)
    assert stepped.model.hash == fresh.model.hash


def test_about_names_the_first_difference():
    setup = SCENES["wall"].build(rows=1, columns=1)
    one = About.of(setup.model, setup.state, setup.settings, scene="wall", parameters=setup.parameters)
    other = SCENES["wall"].build(rows=1, columns=1, mu=0.1)
    assert one.difference(one) is None
    two = About.of(other.model, other.state, other.settings, scene="wall", parameters=other.parameters)
    assert one.difference(two) == "has the parameter mu = 0.6, not 0.1"
    bare = About.of(other.model, other.state, other.settings, scene="wall", parameters=setup.parameters)
    assert one.difference(bare) == "is of another model"
    assert About.from_text(one.to_text(), "x") == one


def test_recordings_without_coordinates_were_made_in_those_of_bodies():
    setup = SCENES["wall"].build(rows=1, columns=1)
    now = About.of(setup.model, setup.state, setup.settings)
    before = replace(now, settings={k: v for k, v in now.settings.items() if k != "coordinates"})
    joint = About.of(setup.model, setup.state, replace(setup.settings, coordinates="joint"))
    assert before.difference(now) is None
    assert before.difference(joint) == "has the setting coordinates = maximal, not joint"


def test_rows_of_drives_are_known_before_the_first_step():
    """Motors without gains have none, damping beside a limited effort has its own."""
    builder = ModelBuilder()
    drives = [
        {"motor": Motor(0.0, 0.0, effort=3.0)},
        {"motor": Motor(0.0, 0.0, effort=3.0), "damping": 0.1},
        {"motor": Motor(5.0, 0.1)},
        {"motor": Motor(5.0, 0.1, effort=3.0), "damping": 0.1},
        {"damping": 0.1},
        {},
        {"motor": "imposed", "damping": 0.1},
        {"motor": Motor(5.0, 0.1), "damping": 0.1, "friction": 0.2},
    ]
    for k, given in enumerate(drives):
        body = builder.body(position=(k, 0, 0), mass=1.0, inertia=np.eye(3))
        builder.joint("revolute", None, body, position=(k, 0, 0), axis=(0, 1, 0), **given)
    model, state = builder.build()
    _, report = step(model, state)
    rows = report.rows
    found = rows.cone.bilateral_rows - len(rows.residual) - rows.friction_count
    assert found == model.joints.driven_rows == 8


def largest_residuals(run):
    return np.array([run.contacts(k).residual.max(initial=0.0) for k in range(run.step_count)])


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("sliding-block", {}),
        ("heavy-on-light", {"n": 3, "ratio": 1e6}),
        ("soft-box-drop", {"height": 0.175, "h": 0.02}),
    ],
)
def test_residuals_of_contacts_are_the_judges(name, parameters):
    """Where nothing but contacts is in the problem, the largest of them is the worst velocity of the step: in one
    double and in two, of rigid and of flexible bodies."""
    run = SCENES[name].build(**parameters).run(steps=8)
    worst = run.array("solver/worst_velocity")
    assert largest_residuals(run) == pytest.approx(worst, rel=1e-5, abs=1e-30)
    assert worst.max() > 0.0
    relative = run.array("contacts/residual_relative")
    assert ((relative > 0.0) == (run.array("contacts/residual") > 0.0)).all()
    assert 0.0 < relative.max() < 1e-4


def test_residuals_of_contacts_in_steps_that_compiled_code_takes(tmp_path):
    World.from_scene("sliding-block").run(80, record=tmp_path)
    run = Recording(tmp_path)
    assert np.isnan(run.times["solve"][60:]).all()  # taken many at once
    assert largest_residuals(run) == pytest.approx(run.array("solver/worst_velocity"), rel=1e-5)


def test_contacts_of_penalty_steps_are_not_judged():
    setup = SCENES["sliding-block"].build()
    run = setup.run(steps=3, settings=replace(setup.settings, integrator="penalty"))
    assert len(run.array("contacts/residual"))
    assert np.isnan(run.array("contacts/residual")).all()
    assert np.isnan(run.array("contacts/residual_relative")).all()


def test_recordings_from_before_contacts_were_judged_read_and_go_on(tmp_path):
    World.from_scene("sliding-block").run(10, record=tmp_path)
    (part,) = (tmp_path / "recording").glob("part-*")
    with h5py.File(part, "r+") as file:
        del file["contacts/residual"], file["contacts/residual_relative"]
    old = Recording(tmp_path).contacts(-1)
    assert old.residual is old.residual_relative is None
    assert len(old.gap)
    World.load(tmp_path).run(10, record=tmp_path)
    run = Recording(tmp_path)
    assert run.step_count == 20
    assert np.isnan(run.contacts(9).residual).all()
    assert run.contacts(19).residual == pytest.approx(run.array("solver/worst_velocity")[19], rel=10.0)
    assert len(run.array("contacts/residual")) == len(run.array("contacts/gap"))
