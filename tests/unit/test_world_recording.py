"""Worlds that are recorded as they run: saved every second, resumed to the last bit, whoever killed the process."""

import signal
import subprocess
import sys

import numpy as np
import pytest

from delassus import Box, ModelBuilder, Plane, Stabilisation, StepSettings, World
from delassus.errors import FileError, ProblemError, SettingsError
from delassus.io import Recording
from delassus.io.recording import recorder

KILLED = """
import os, signal, sys
from delassus import World
from delassus.io.recording import recorder

now = [0.0]  # a clock of our own: a step takes a hundredth of a second
recorder.monotonic = lambda: now[0]

def control(world):
    now[0] += 0.01
    if world.steps == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

World.from_scene("four-bar-free", height=0.02).run(1000, control=control, record=sys.argv[1])
"""


def test_a_killed_process_loses_at_most_a_second_and_resumes_bit_for_bit(tmp_path):
    kill_at = 377
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(kill_at)], timeout=300, check=False)
    assert done.returncode == -signal.SIGKILL
    found = Recording(tmp_path).step_count
    assert kill_at - 100 <= found <= kill_at
    world = World.load(tmp_path)
    assert (world.steps, world.time) == (found, pytest.approx(1e-3 * found))
    world.run(450 - found, record=tmp_path)
    whole = World.from_scene("four-bar-free", height=0.02)
    whole.run(450)
    assert world.state.hash == whole.state.hash
    recording = Recording(tmp_path)
    assert recording.step_count == 450
    assert recording.contact_counts.max() > 0
    assert recording.state(-1).hash == whole.state.hash


def test_parts_grow_until_they_are_full(tmp_path, monkeypatch):
    """Saving every second must not leave a file per second."""
    clock = iter(np.arange(0.0, 1e6, 0.25))
    monkeypatch.setattr(recorder, "monotonic", lambda: float(next(clock)))
    World.from_scene("bouncing-ball").run(200, record=tmp_path / "one")
    assert len(list((tmp_path / "one" / "recording").glob("part-*"))) == 1
    monkeypatch.setattr(recorder, "PART_BYTES", 5_000)
    World.from_scene("bouncing-ball").run(200, record=tmp_path / "many")
    assert 2 < len(list((tmp_path / "many" / "recording").glob("part-*"))) < 40
    one, many = Recording(tmp_path / "one"), Recording(tmp_path / "many")
    for name in one.names:
        if not name.startswith("times/"):
            assert np.array_equal(one.array(name), many.array(name)), name


def test_recording_changes_nothing_and_holds_what_the_world_did(tmp_path):
    world, free = (World.from_scene("four-bar-free", height=0.02) for _ in range(2))
    world.run(100, record=tmp_path / "run")
    world.run(seconds=0.05, record=tmp_path / "run")  # goes on
    free.run(150)
    recording = Recording(tmp_path / "run")
    assert recording.state(-1).hash == world.state.hash == free.state.hash
    assert recording.step_count == 150
    assert recording.energy[-1] == pytest.approx(world.energy, rel=1e-14)
    last, table = recording.contacts(-1), world.contacts
    assert np.array_equal(last.force_on(0), table.force_on("base"))
    assert [("open", "stick", "slip")[k] for k in last.status if k] == [w for w in table.status if w != "open"]


def test_recordings_of_something_else_are_not_continued(tmp_path):
    world = World.from_scene("bouncing-ball")
    world.run(20, record=tmp_path)
    world.run(3)
    with pytest.raises(FileError, match="ends at t = 0.02 s in another state"):
        world.run(5, record=tmp_path)
    with pytest.raises(FileError, match="is of the scene"):
        World.from_scene("four-bar").run(5, record=tmp_path)
    world.run(5, record=tmp_path, overwrite=True)
    assert Recording(tmp_path).step_count == 5
    assert Recording(tmp_path).t[0] == pytest.approx(0.023)


def test_worlds_that_were_built_are_recorded_and_built_again(tmp_path):
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane())
    builder.body("box", position=(0, 0, 0.5), density=500.0, shapes=Box((0.2, 0.2, 0.2)))
    model, state = builder.build()
    world = World(model, state)
    world.run(50, record=tmp_path)
    again = World.load(tmp_path)
    assert again.state.hash == world.state.hash
    world.run(50)
    again.run(50, record=tmp_path)
    assert again.state.hash == world.state.hash == Recording(tmp_path).state(-1).hash


def test_control_that_fails_keeps_the_steps_before_it(tmp_path):
    world = World.from_scene("bouncing-ball")

    def control(world):
        if world.steps == 30:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        world.run(100, control=control, record=tmp_path)
    assert Recording(tmp_path).step_count == world.steps == 30
    world.run(10, record=tmp_path)
    assert Recording(tmp_path).step_count == 40


def test_settings_of_a_recording_are_those_it_goes_on_with(tmp_path):
    settings = StepSettings(h=2e-3, law="ccp", solver="nbgs", tol=1e-7, integrator="euler")
    world = World.from_scene("sphere-pile", settings, n=4)
    world.run(30, record=tmp_path / "plain")
    again = World.load(tmp_path / "plain")
    assert again.settings == settings
    assert again.scene == world.scene
    world.run(20)
    again.run(20)
    assert again.state.hash == world.state.hash
    odd = World.from_scene("sphere-pile", StepSettings(stabilisation=Stabilisation(joint=0.5)), n=4)
    odd.run(3, record=tmp_path / "odd")
    with pytest.raises(FileError, match=r"has the setting stabilisation.joint = 0.5"):
        World.load(tmp_path / "odd")


def test_films_are_gifs_of_a_length_that_can_be_watched(tmp_path):
    world = World.from_scene("bouncing-ball")
    world.run(20)
    with pytest.raises(FileError, match=r"ends in .gif"):
        world.film(tmp_path / "film.mp4")
    with pytest.raises(ProblemError, match="fps"):
        world.film(tmp_path / "film.gif", fps=0)
    with pytest.raises(SettingsError, match="lower fps"):
        world.film(tmp_path / "film.gif", fps=1e6)
    assert not list(tmp_path.iterdir())
