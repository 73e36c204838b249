"""Nothing is lost: outputs are written beside their place, after the work has succeeded, and never over an input."""

import json
import os
import resource
import shutil
from dataclasses import asdict

import numpy as np
import pytest
from typer.testing import CliRunner

from delassus.bench.report import read_rows, write_report
from delassus.bench.result import Result
from delassus.cli.main import app
from delassus.errors import DelassusError, FileError, printable
from delassus.io.recording import Recording

LEG = '<mujoco><worldbody><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
ROW = Result("nbgs", 1e-6, "cold", "a", "a", 0, "none", 1, 3, "converged", True, *[1e-9] * 7, 10, 1e-3, 1.0)
ABOUT = {"suite": "quick", "tol": 1e-6, "time_limit": 10.0}


def called(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def refused(*words):
    result = called(*words)
    assert result.exit_code == 2, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result.output


def test_a_model_is_not_replaced_by_what_is_said_of_it(tmp_path):
    (tmp_path / "leg.xml").write_text(LEG)
    (tmp_path / "other.xml").write_text(LEG)
    for name in ("leg.xml", "other.xml"):
        refused("run", tmp_path / "leg.xml", "--steps", 2, "--out", tmp_path / "run", "--json", tmp_path / name)
        assert (tmp_path / name).read_text() == LEG


def test_nothing_solved_replaces_nothing(tmp_path):
    (tmp_path / "old.json").write_text("[1]")
    (tmp_path / "bad.hdf5").write_bytes(b"no problem")
    for command in ("solve", "info"):
        refused(command, tmp_path / "bad.hdf5", "--json", tmp_path / "old.json")
        assert (tmp_path / "old.json").read_text() == "[1]"


def benchmark(folder, rows=(ROW,), about=ABOUT):
    folder.mkdir(exist_ok=True)
    (folder / "about.json").write_text(json.dumps(about))
    (folder / "rows.jsonl").write_text(
        "".join(json.dumps(row if isinstance(row, dict) else asdict(row)) + "\n" for row in rows)
    )
    return folder


def test_a_report_on_a_full_disk_leaves_what_was_there(tmp_path):
    rows, about = read_rows(benchmark(tmp_path / "bench"))
    write_report(tmp_path / "bench", rows, about)
    before = {path.name: path.read_bytes() for path in (tmp_path / "bench").iterdir()}
    child = os.fork()
    if child == 0:  # a limit on the size of files stands for a full disk
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            write_report(tmp_path / "bench", [*rows, *rows], about)
        except FileError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert {path.name: path.read_bytes() for path in (tmp_path / "bench").iterdir()} == before


ODD = {
    "no sample": {"sample": None},
    "seconds that are a table": {"seconds": {}},
    "fewer iterations than none": {"iterations": -1},
    "a number of 400 digits": {"iterations": 10**400},
    "a float of 400 digits": {"relative": 10**400},
    "text in the place of a number": {"rows": "3"},
    "yes in the place of a number": {"rows": True},
    "a tolerance that is none": {"tol": -1.0},
    "seconds that are none": {"seconds": float("nan")},
    "a name that clears the screen": {"solver": "\x1b[2J"},
    "a name without end": {"sample": "a" * 5000},
}


@pytest.mark.parametrize("case", ODD)
def test_odd_rows_are_one_sentence(case, tmp_path):
    folder = benchmark(tmp_path / "bench", [asdict(ROW) | ODD[case]])
    said = refused("report", folder)
    assert "rows.jsonl" in said
    assert "line 1" in said


@pytest.mark.parametrize(
    "about",
    [{"tol": None}, {"tol": "x"}, {"time_limit": -1}, {"time_limit": 10**400}, {"suite": 3}, {"tol": float("inf")}],
)
def test_odd_abouts_are_one_sentence(about, tmp_path):
    assert "about.json" in refused("report", benchmark(tmp_path / "bench", about=ABOUT | about))


@pytest.mark.parametrize("name", ["rows.jsonl", "about.json"])
def test_a_pipe_is_not_waited_for(name, tmp_path):
    folder = benchmark(tmp_path / "bench")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert "regular" in refused("report", folder)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    assert called("run", "bouncing-ball", "--steps", 5, "--out", folder / "run", "--no-pictures").exit_code in (0, 1)
    return folder / "run"


DAMAGE = {
    "times/solve": None,
    "penetration": None,
    "solver/name": None,
    "contacts/bodies": None,
    "joints/drive": None,
    "q": "a group",
    "t": [0.1, np.inf, 0.3, 0.4, 0.5],
    "drift": np.zeros((5, 3)),
    "u": np.zeros((5, 1, 6), np.int64),
    "contacts/count": [-1, 1, 0, 0, 0],
    "energy": np.array([b"a"] * 5),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_part_is_named(name, recorded, tmp_path):
    import h5py

    shutil.copytree(recorded, tmp_path / "run")
    part = next((tmp_path / "run/recording").glob("part-*.hdf5"))
    with h5py.File(part, "r+") as file:
        del file[name]
        if isinstance(DAMAGE[name], str):
            file.create_group(name)
        elif DAMAGE[name] is not None:
            file[name] = DAMAGE[name]
    with pytest.raises(DelassusError, match=part.name):
        Recording(tmp_path / "run")
    assert part.name in refused("run", "bouncing-ball", "--out", tmp_path / "run", "--resume", "--steps", 6)


def test_forged_models_are_refused(recorded, tmp_path):
    """Forces of the user's own cannot be kept, and models with them have no hash to be held against: what they hold is
    looked at all the same."""
    import h5py

    for name in ("shapes/local_rotation",):
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        shutil.copytree(recorded, tmp_path / "run")
        with h5py.File(tmp_path / "run/recording/model.hdf5", "r+") as file:
            about = json.loads(file["about"][()])
            del file["about"]
            file["about"] = np.bytes_(json.dumps(about | {"own_forces": ["mine"]}).encode())
            values = file[name][()]
            del file[name]
            file[name] = 2.0 * values
        with pytest.raises(DelassusError, match="no rotation"):
            _ = Recording(tmp_path / "run").model


def test_messages_hold_no_characters_for_control():
    assert str(DelassusError("a\x1b[2Jb\u202ec\x07")) == "a?[2Jb?c?"
    assert printable("µ – λ") == "µ – λ"
