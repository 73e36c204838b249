"""Many worlds at once: each moves as a world of its own does."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from delassus import Box, Memory, ModelBuilder, Motor, Plane, Sphere, StepSettings, Worlds, step
from delassus.dynamics import Inputs
from delassus.errors import ProblemError, SettingsError
from delassus.world.worlds import FAILED


def arm():
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane(), material=0.6)
    builder.body("arm", position=(0.5, 0, 1), density=1000.0, shapes=Box((1.0, 0.1, 0.1)))
    builder.body("ball", position=(3, 0, 0.2), velocity=(1, 0, 0), mass=2.0, shapes=Sphere(0.2))
    builder.joint(
        "revolute", "ground", "arm", position=(0, 0, 1), axis=(0, 1, 0), name="hinge", motor=Motor(300.0, 20.0)
    )
    return builder.build()


def varied(count, threads=1):
    model, state = arm()
    rng = np.random.default_rng(1)
    worlds = Worlds(model, state, count, threads=threads)
    worlds.vary(
        mass=rng.uniform(0.5, 2.0, count), friction=rng.uniform(0.2, 1.0, count), stiffness=rng.uniform(0.5, 1.5, count)
    )
    worlds.u[:, 1, 0] = rng.normal(size=count)
    worlds.target[:] = rng.uniform(-0.3, 0.3, (count, 1))
    worlds.effort[:] = rng.normal(size=(count, 1))
    worlds.wrench[:, 1, 2] = rng.uniform(-5.0, 0.0, count)
    return worlds


def test_each_world_has_the_bits_of_step_with_its_own_parameters():
    worlds = varied(4)
    starts = [(worlds.q[w].copy(), worlds.u[w].copy()) for w in range(4)]
    worlds.step(25)
    for w, (q, u) in enumerate(starts):
        model, state, memory = worlds.model_of(w), worlds.start, Memory()
        state = type(state)(q, u, 0.0, model.joints.turns_of(state.turns))
        inputs = Inputs(worlds.wrench[w], worlds.effort[w], worlds.target[w], worlds.target_rate[w])
        for _ in range(25):
            state, report = step(model, state, inputs, worlds.settings, memory)
        assert worlds.q[w].tobytes() == state.q.tobytes()
        assert worlds.u[w].tobytes() == state.u.tobytes()
        assert worlds.time[w] == state.t
        # weight, contacts and what was given change the ball's momentum
        force = worlds.contact_wrench[w, 1, :3] + worlds.wrench[w, 1, :3] + model.mass[1] * model.gravity
        change = model.mass[1] * (report.solution.body_velocities.reshape(-1, 6)[1, :3] - report.problem.u_f[6:9])
        np.testing.assert_allclose(worlds.contact_wrench[w, 1, :3] * report.h, change, atol=1e-12)
        assert np.isfinite(force).all()
        np.testing.assert_allclose(worlds.coordinates[w], state.coordinates(model), atol=1e-15)


def test_bits_do_not_depend_on_threads_or_on_how_steps_are_grouped():
    one, two, three = varied(40), varied(40, threads=2), varied(40, threads=3)
    one.step(20)
    for _ in range(20):
        two.step()
    three.step(13)
    three.step(7)
    for other in (two, three):
        assert one.q.tobytes() == other.q.tobytes()
        assert one.u.tobytes() == other.u.tobytes()
        assert one.contact_wrench.tobytes() == other.contact_wrench.tobytes()


def test_a_world_that_fails_stands_still_and_the_others_go_on():
    worlds, others = varied(3), varied(3)
    worlds.q[1, 0, 0] = np.nan
    worlds.step(10)
    others.step(10)
    assert worlds.status.tolist() == [0, FAILED, 0]
    assert "NaN" in worlds.troubles[1]
    for w in (0, 2):
        assert worlds.q[w].tobytes() == others.q[w].tobytes()
    worlds.reset(np.array([False, True, False]))
    assert worlds.status.tolist() == [0, 0, 0]
    assert worlds.time[1] == 0.0
    assert worlds.time[0] == pytest.approx(0.01)
    worlds.step()
    assert worlds.status.tolist() == [0, 0, 0]


def test_what_compiled_code_does_not_take_goes_through_step():
    model, state = arm()
    worlds = Worlds(model, state, 2, StepSettings(law="ccp"))
    assert worlds.reason
    worlds.step(5)
    memory = Memory()
    for _ in range(5):
        state, _ = step(model, state, None, worlds.settings, memory)
    assert worlds.q[1].tobytes() == state.q.tobytes()


def test_what_is_assigned_is_copied_into_the_arrays_that_compiled_code_reads():
    worlds, others = varied(5), varied(5)
    worlds.target = np.full((5, 1), 1)  # whole numbers
    others.target[:] = 1.0
    worlds.effort, others.effort[:] = 0.5, 0.5
    worlds.wrench = worlds.wrench.astype(np.float32)
    others.wrench[:] = others.wrench.astype(np.float32)
    worlds.step(20)
    others.step(20)
    assert worlds.q.tobytes() == others.q.tobytes()
    with pytest.raises(ProblemError, match=r"target.*\(2, 1\)"):
        worlds.target = np.full((2, 1), 0.3)


def test_pickled_worlds_go_on_in_another_process(tmp_path):
    worlds = varied(5, threads=2)
    worlds.step(5)
    path, out = tmp_path / "worlds.pickle", tmp_path / "q.npy"
    path.write_bytes(pickle.dumps(worlds))
    code = (
        "import pickle, sys, numpy; w = pickle.load(open(sys.argv[1], 'rb')); w.step(5); numpy.save(sys.argv[2], w.q)"
    )
    subprocess.run([sys.executable, "-c", code, str(path), str(out)], check=True, timeout=300)
    worlds.step(5)
    assert np.load(out).tobytes() == worlds.q.tobytes()


def test_masses_that_are_varied_too_far_apart_go_through_step():
    model, state = arm()
    worlds = Worlds(model, state, 2)
    assert worlds.reason is None
    worlds.vary(mass=[[1.0, 1.0], [1e6, 1.0]])
    assert "two doubles" in worlds.reason
    worlds.vary(mass=[1.0, 1.0])
    assert worlds.reason is None


def test_room_is_made_for_more_contacts_than_expected(monkeypatch):
    monkeypatch.setattr("delassus.simulation.compiled.layout.CONTACTS_EACH", 1)
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane(), material=0.6)
    for k in range(66):
        builder.body(position=(0.5 * (k // 2), 0, 0.1 + 0.2 * (k % 2)), density=1000.0, shapes=Box((0.2, 0.2, 0.2)))
    model, state = builder.build()
    worlds, memory = Worlds(model, state, 2), Memory()
    worlds.step(6)
    for _ in range(6):
        state, _ = step(model, state, None, worlds.settings, memory)
    assert len(memory.names) > 67
    assert worlds.q[1].tobytes() == state.q.tobytes()


def test_a_reset_that_is_refused_changes_nothing():
    worlds = varied(2)
    before = worlds.q.copy()
    for bad in (np.nan * before, np.zeros((3, 2, 7))):
        with pytest.raises(ProblemError, match="'q'"):
            worlds.reset(states={"q": bad})
    assert worlds.q.tobytes() == before.tobytes()


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda w: w.vary(masses=[1, 1]), "masses"),
        (lambda w: w.vary(mass=[1, 1, 1]), r"\(3,\)"),
        (lambda w: w.vary(mass=[0, 1]), "above 0"),
        (lambda w: w.vary(friction="high"), "friction"),
        (lambda w: w.step(-1), "-1"),
        (lambda w: w.step(1.7), "1.7"),
        (lambda w: Worlds(*arm(), count=2, steps=3), "steps"),
        (lambda w: Worlds(*arm(), count=2, threads="2"), "threads"),
        (lambda w: w.reset(np.array([1, 0])), "mask"),
        (lambda w: w.reset(states={"x": 1}), "'x'"),
        (lambda w: Worlds(*arm(), count=0), "count"),
        (lambda w: Worlds(*arm(), count=10**15), "make fewer at a time"),  # an array of them is beyond any machine
    ],
)
def test_mistakes_are_one_sentence(what, message):
    model, state = arm()
    worlds = Worlds(model, state, 2, StepSettings(law="ccp"))  # nothing is compiled
    with pytest.raises(SettingsError, match=message):
        what(worlds)
