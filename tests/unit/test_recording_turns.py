"""Recordings hold the turns of joint angles; those made before turns were counted still read and resume."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from delassus.builder import ModelBuilder
from delassus.errors import FileError
from delassus.io.recording import About, Recorder, Recording
from delassus.scenes.stepping import advance
from delassus.simulation import Memory, StepSettings

OLD = Path(__file__).parents[1] / "data" / "recording-format-1"  # 40 steps of `rotor` by the code before turns


def rotor(limits=None):
    """What the old recording is of: a ball on a hinge, 20 rad/s at first, slowly braked."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    ball = builder.body("rotor", mass=1.0, inertia=(1.0, 1.0, 1.0), angular_velocity=(0, 0, 20.0))
    builder.joint("revolute", None, ball, axis=(0, 0, 1), damping=0.1, name="hinge", limits=limits)
    return *builder.build(), StepSettings(h=0.01)


def record(directory, steps, *, resume=False, limits=None):
    model, state, settings = rotor(limits)
    about = About.of(model, state, settings, scene="rotor", goal=steps)
    if resume:
        recorder, state, memory = Recorder.resume(directory, about, model)
    else:
        recorder, memory = Recorder.create(directory, about, model, state), Memory()
    with recorder:
        numbers = range(recorder.step_count, steps)
        advance(model, state, None, settings, numbers, memory, lambda k, s, r, m: recorder.add(s, r, m))
    return Recording(directory)


def angles(recording):
    model = rotor()[0]
    return np.array([recording.state(k).coordinates(model)[0] for k in range(recording.step_count + 1)])


def test_recordings_hold_turns_and_resume_with_them(tmp_path):
    whole = record(tmp_path / "whole", 80)
    record(tmp_path / "halves", 45)
    halves = record(tmp_path / "halves", 80, resume=True)
    assert whole.about.format == 2
    assert whole.turns.shape == (81, 1)
    assert whole.turns.tobytes() == halves.turns.tobytes()
    assert whole.state(-1).hash == halves.state(-1).hash
    assert np.diff(angles(whole)) == pytest.approx(0.2, abs=0.02)
    assert whole.array("joints/coordinate")[-1] == pytest.approx(angles(whole)[-1], abs=0.2)


def test_old_recordings_read_and_resume(tmp_path):
    """As far as poses go a resumed old recording is the uninterrupted new one; its turns are counted from the start."""
    shutil.copytree(OLD, tmp_path / "old")
    old = Recording(tmp_path / "old")
    assert (old.about.format, old.step_count, old.counts_turns) == (1, 40, False)
    assert not old.turns.any()
    assert np.diff(old.array("joints/coordinate")[:, 0]) == pytest.approx(0.195, abs=0.01)  # no jump by a turn
    resumed, whole = record(tmp_path / "old", 80, resume=True), record(tmp_path / "new", 80)
    assert resumed.step_count == 80
    assert resumed.about.format == 2
    # the old code braked at first order in h, so that angles differ a little; turns must not
    assert angles(resumed)[41:] == pytest.approx(angles(whole)[41:], rel=1e-4)
    assert angles(resumed)[-1] > 12.0
    again = record(tmp_path / "old", 90, resume=True)  # from parts of both formats
    assert again.state(-1).turns.tolist() == record(tmp_path / "new", 90, resume=True).state(-1).turns.tolist()


def edited(path, edit):
    with h5py.File(path, "r+") as file:
        edit(file)


def put(name, value):
    def edit(file):
        del file[name]
        file[name] = value

    return edit


def as_format(number):
    def edit(file):
        about = json.loads(file["about"][()].decode())
        put("about", np.bytes_(json.dumps(about | {"format": number}).encode()))(file)

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (put("turns", np.zeros((20, 1))), "turns is float64, expected whole numbers"),
        (put("turns", np.zeros((20, 2), np.int64)), r"turns has shape \(20, 2\), expected \(20, 1\)"),
        (put("start/turns", np.zeros(3, np.int64)), r"start/turns has shape \(3,\), expected \(1,\)"),
        (lambda file: file.__delitem__("turns"), "turns has shape None"),
        (as_format(3), "format 3, this version reads up to 2: update delassus"),
        (as_format(True), "format True"),
    ],
)
def test_damaged_turns_are_named(tmp_path, edit, message):
    record(tmp_path, 20)
    edited(next((tmp_path / "recording").glob("part-*")), edit)
    with pytest.raises(FileError, match=message):
        Recording(tmp_path).state(-1)


def test_settings_that_came_later_do_not_keep_an_old_recording_from_resuming():
    model, state, settings = rotor()
    now = About.of(model, state, settings)
    old = replace(now, format=1, settings={key: value for key, value in now.settings.items() if key != "tol"})
    assert old.difference(now) is None
    assert replace(old, format=2).difference(now) == "has the setting tol = None, not 1e-06"
    assert replace(old, settings=old.settings | {"h": 0.5}).difference(now) == "has the setting h = 0.5, not 0.01"
