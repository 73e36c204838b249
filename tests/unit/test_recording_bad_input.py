"""Recordings that are damaged, in the way, or on a disk that is full: one clear sentence, nothing lost."""

import os
import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import h5py
import numpy as np
import pytest

import delassus
from delassus.errors import FileError
from delassus.io.recording import About, Recorder, Recording
from delassus.scenes import SCENES
from delassus.simulation import Memory, StepSettings, step

SEED = 7


@pytest.fixture(scope="module")
def setup():
    return SCENES["box-on-plane"].build()


def about_of(setup, **changes):
    return About.of(setup.model, setup.state, changes.get("settings", setup.settings), scene="box", goal=10)


def record(setup, directory, steps, flush_every=1000):
    recorder = Recorder.create(directory, about_of(setup), setup.model, setup.state)
    state, memory = setup.state, Memory()
    with recorder:
        for k in range(steps):
            state, report = step(setup.model, state, None, setup.settings, memory)
            recorder.add(state, report, memory)
            if (k + 1) % flush_every == 0:
                recorder.flush()


def part_files(directory):
    return sorted((directory / "recording").glob("part-*"))


def test_existing_recording_is_kept(tmp_path, setup):
    record(setup, tmp_path, 3)
    with pytest.raises(FileError, match="holds a recording already"):
        Recorder.create(tmp_path, about_of(setup), setup.model, setup.state)
    assert Recording(tmp_path).step_count == 3


def test_resume_with_another_model_or_setting_is_refused(tmp_path, setup):
    record(setup, tmp_path, 3)
    with pytest.raises(FileError, match="has the setting h = 0.001, not 0.002"):
        Recorder.resume(tmp_path, about_of(setup, settings=StepSettings(h=2e-3)), setup.model)
    other = SCENES["box-on-plane"].build(size=0.3)
    with pytest.raises(FileError, match="another model"):
        Recorder.resume(tmp_path, about_of(other), other.model)


def test_part_of_another_run_is_refused(tmp_path, setup):
    """Two runs of the same length, a part of one among those of the other."""
    other = SCENES["box-on-plane"].build(size=0.3)
    for name, one in (("mine", setup), ("theirs", other)):
        record(one, tmp_path / name, 6, flush_every=3)
    mine, theirs = part_files(tmp_path / "mine"), part_files(tmp_path / "theirs")
    good = mine[1].read_bytes()
    mine[1].write_bytes(theirs[1].read_bytes())
    with pytest.raises(FileError, match=f"{mine[1].name}: belongs to another run.*another model"):
        Recording(tmp_path / "mine")
    mine[1].write_bytes(good)
    assert Recording(tmp_path / "mine").step_count == 6


def test_recording_that_was_never_there(tmp_path):
    with pytest.raises(FileError, match="holds no recording"):
        Recording(tmp_path / "nowhere")


def test_garbage_truncation_and_missing_parts_are_file_errors(tmp_path, setup):
    record(setup, tmp_path, 9, flush_every=3)
    files = part_files(tmp_path)
    assert len(files) == 3
    good = files[1].read_bytes()
    for content in (b"", b"not a recording", good[: len(good) // 2], good[:-1]):
        files[1].write_bytes(content)
        with pytest.raises(FileError, match=files[1].name):
            Recording(tmp_path)
    files[1].unlink()
    with pytest.raises(FileError, match="a part is missing"):
        Recording(tmp_path)
    files[2].unlink()
    assert Recording(tmp_path).step_count == 3


def test_random_damage_is_noticed_or_harmless(tmp_path, setup):
    """Whatever bytes change, reading ends in a FileError or in arrays; never in another exception."""
    record(setup, tmp_path, 3)
    path = part_files(tmp_path)[0]
    good = path.read_bytes()
    rng = np.random.default_rng(SEED)
    noticed = 0
    for _ in range(60):
        bad = bytearray(good)
        for place in rng.integers(0, len(good), 4):
            bad[place] = rng.integers(0, 256)
        path.write_bytes(bytes(bad))
        try:
            recording = Recording(tmp_path)
            for name in recording.names:
                assert isinstance(recording.array(name), np.ndarray)
        except FileError:
            noticed += 1
    assert 0 < noticed < 60  # most bytes are numbers or padding; some are the format


@pytest.mark.parametrize("trick", ["link", "size", "type", "about", "filter"])
def test_files_made_to_deceive_are_refused(tmp_path, setup, trick):
    record(setup, tmp_path, 3)
    path = part_files(tmp_path)[0]
    with h5py.File(path, "a") as file:
        if trick == "link":
            file["extra"] = h5py.ExternalLink("/etc/hosts", "/")
        if trick == "size":
            del file["drift"]
            file.create_dataset("drift", shape=(2**40,), dtype="f8")
        if trick == "type":
            del file["drift"]
            file.create_dataset("drift", data=["a", "b", "c"], dtype=h5py.string_dtype())
        if trick == "about":
            del file["about"]
            file.create_dataset("about", data=np.bytes_("[1, 2]"))
        if trick == "filter":
            del file["drift"]
            file.create_dataset("drift", data=np.zeros(3), chunks=(3,), compression="gzip")
    with pytest.raises(FileError, match=path.name):
        Recording(tmp_path)


def test_reading_is_bounded(tmp_path, setup):
    record(setup, tmp_path, 3)
    with pytest.raises(FileError, match="max_bytes"):
        Recording(tmp_path, max_bytes=100).array("q")


def test_full_disk_keeps_what_was_written(tmp_path, setup, monkeypatch):
    """The third part finds no room: an error that says so; the first two stay, and the run can go on later."""
    calls = []
    real = os.fsync

    def fsync(descriptor):
        calls.append(1)
        if len(calls) > 4:  # the model and the empty first part count
            raise OSError(28, os.strerror(28))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(FileError, match=r"No space left on device.*make room"):
        record(setup, tmp_path, 12, flush_every=4)
    monkeypatch.undo()
    assert Recording(tmp_path).step_count == 8
    assert [path.name for path in part_files(tmp_path)] == ["part-00000000.hdf5", "part-00000004.hdf5"]
    recorder, state, _ = Recorder.resume(tmp_path, about_of(setup), setup.model)
    assert recorder.step_count == 8
    assert state.hash == Recording(tmp_path).state(-1).hash


def test_unwritable_directory_is_refused_before_the_first_step(tmp_path, setup):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(FileError, match="cannot be made a directory"):
        Recorder.create(blocked / "run", about_of(setup), setup.model, setup.state)


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs POSIX limits")
def test_file_size_limit_ends_in_one_sentence(tmp_path):
    """A real limit of the operating system, in a process of its own."""
    code = """
        import resource, signal
        from delassus.cli.main import app
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
        app(["run", "box-on-plane", "--steps", "400", "--out", "run"])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(delassus.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2, done.stderr
    assert "cannot be written (File too large)" in done.stderr
    assert "of 400 steps are kept" in done.stderr
    assert Recording(tmp_path / "run").step_count < 400
