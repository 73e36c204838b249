"""`delassus solve`: what it prints and writes, its exit codes, and what it refuses."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from command_line import assert_refused
from command_line import delassus as invoke

import delassus
from delassus.cli.solve import command
from delassus.io.fclib import read_fclib
from delassus.solvers import solve_problem

SMALL, LOCAL, GLOBAL = "OneContact-1c.hdf5", "Rover-4396.hdf5", "Flex-TwoRods1.hdf5"


@pytest.fixture
def place(tmp_path, data_dir, monkeypatch):
    """A working directory with two problem files, which no test may change."""
    for name in (LOCAL, GLOBAL):
        (tmp_path / name).write_bytes((data_dir / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in (LOCAL, GLOBAL)}
    yield tmp_path
    assert before == {name: (tmp_path / name).read_bytes() for name in before}


def run(*arguments):
    return invoke("solve", *arguments)


def test_every_file_with_every_solver_is_one_row(place):
    result = run(LOCAL, GLOBAL, "--solver", "nbgs", "--solver", "raisim-ds")
    assert result.exit_code == 0
    rows = [line for line in result.stdout.splitlines() if ".hdf5" in line]
    assert [(row.split()[0], row.split()[1]) for row in rows] == [
        (name, solver) for name in (LOCAL, GLOBAL) for solver in ("nbgs", "raisim-ds")
    ]
    assert all("converged" in row for row in rows)


def test_json_holds_the_run_and_every_residual(place):
    assert run(LOCAL, GLOBAL, "--json", "runs.json", "--tol", "1e-8").exit_code == 0
    runs = json.loads((place / "runs.json").read_text(), parse_constant=pytest.fail)
    assert [entry["file"] for entry in runs] == [LOCAL, GLOBAL]
    for entry in runs:
        assert {"solver", "settings", "law", "contacts", "rows", "status", "tol", "iterations", "seconds"} <= set(entry)
        assert entry["residuals"].keys() == {*delassus.residuals.Residuals._fields, "error"}
        assert entry["times"]["total"] == entry["seconds"] > 0
        assert (entry["status"], entry["tol"], entry["law"]) == ("converged", 1e-8, "ncp")
        problem = delassus.load_problem(entry["file"])
        expected = delassus.solve(problem, tol=1e-8)
        assert entry["iterations"] == expected.iterations
        assert entry["residuals"] == expected.residuals.as_dict()


def test_numbers_json_cannot_hold_become_null(tmp_path):
    from delassus.cli.files import write_json

    write_json(tmp_path / "x.json", [{"a": math.inf, "b": [math.nan, 1.5], "c": -math.inf}])
    read = json.loads((tmp_path / "x.json").read_text(), parse_constant=pytest.fail)
    assert read == [{"a": None, "b": [None, 1.5], "c": None}]
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_exit_code_one_and_advice_when_not_converged(place):
    result = run(LOCAL, GLOBAL, "--max-iter", "0")
    assert result.exit_code == 1
    advice = [line for line in result.stdout.splitlines() if line.startswith("max iterations: ")]
    assert len(advice) == 1
    assert "raise max_iter" in advice[0]


def test_unsupported_law_is_a_row_not_an_error(place):
    result = run(LOCAL, "--solver", "raisim", "--law", "ccp", "--write-solution", "out")
    assert result.exit_code == 1
    assert "unsupported" in result.stdout
    assert list((place / "out").iterdir()) == []


def test_a_bad_file_does_not_stop_the_others(place):
    result = run(LOCAL, "absent.hdf5", GLOBAL, "--json", "runs.json")
    assert result.exit_code == 2
    assert result.stderr.splitlines() == ["error: absent.hdf5: no such file: check the path"]
    assert [entry["file"] for entry in json.loads((place / "runs.json").read_text())] == [LOCAL, GLOBAL]


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("absent.hdf5", None, "no such file"),
        ("folder", "directory", "is a directory"),
        ("empty.hdf5", b"", "empty"),
        ("text.hdf5", b"mu = 0.3\n", "not an HDF5 file"),
        ("cut.hdf5", "truncated", "truncated or damaged"),
        ("no*.hdf5", None, "no file matches"),
    ],
)
def test_bad_files_are_named_in_one_line(place, name, content, word):
    if content == "directory":
        (place / name).mkdir()
    elif content == "truncated":
        (place / name).write_bytes((place / LOCAL).read_bytes()[:5000])
    elif content is not None:
        (place / name).write_bytes(content)
    assert_refused(run(name), name, word)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--solver", "nbsg"], ["'nbsg'", "did you mean 'nbgs'?"]),
        (["--tol", "0"], ["tol", "positive"]),
        (["--tol", "-1e-6"], ["tol", "positive"]),
        (["--tol", "nan"], ["tol", "positive"]),
        (["--tol-velocity", "0"], ["tol_velocity", "factor"]),
        (["--tol-velocity", "fast"], ["--tol-velocity", "auto"]),
        (["--max-iter", "-1"], ["max_iter"]),
        (["--time-limit", "0"], ["time_limit"]),
        (["--threads", "0"], ["--threads", "1 to "]),
        (["--threads", "100000"], ["--threads", "1 to "]),
        (["--set", "threads=100000"], ["threads is 100000", "1 to "]),
        (["--solver", "nbgs", "--set", "threads=100000"], ["threads is 100000", "1 to "]),
        (["--solver", "nbgs", "--set", "threads=-1"], ["threads is -1"]),
        (["--solver", "prox-ssn", "--set", "warm_up=1" + "0" * 30], ["warm_up", "too large"]),
        (["--set", "omega=nan"], ["omega is nan"]),
        (["--time-limit", "nan"], ["time_limit is nan"]),
        (["--json", "a" * 300], ["File name too long"]),
        (["--write-solution", "a" * 300], ["File name too long"]),
        (["--set", "omega"], ["key=value"]),
        (["--set", "omga=1.2"], ["did you mean 'omega'?"]),
        (["--set", "omega=much"], ["omega", "float"]),
        (["--set", "omega=-1"], ["omega", "-1.0"]),
        (["--solver", "nbgs", "--set", "omega=2.5"], ["omega", "2.5"]),
        (["--json", "absent/out.json"], ["absent", "create it first"]),
        (["--json", "."], ["is a directory"]),
        (["--json", LOCAL], ["is an input file"]),
        (["--json", GLOBAL], ["is an HDF5 file"]),
        (["--json", "/dev/null"], ["not a regular file"]),
        (["--plot", f"./{LOCAL}"], ["is an input file"]),
        (["--plot", "race.gif"], [".png"]),
        (["--plot", "absent/race.png"], ["absent"]),
        (["--plot", "x.png", "--json", "x.png"], ["two outputs"]),
        (["--write-solution", "."], ["is an input file"]),
        (["--write-solution", LOCAL], ["cannot be made a directory"]),
    ],
)
def test_misuse_is_refused_before_a_file_is_read(place, monkeypatch, arguments, words):
    monkeypatch.setattr("delassus.io.fclib.read_fclib", lambda *_: pytest.fail("a file was read"))
    before = sorted(place.iterdir())
    assert_refused(run(LOCAL, *arguments), *words)
    assert sorted(place.iterdir()) == before


@pytest.mark.parametrize(
    "arguments", [["--law", "cpp"], ["--tol", "small"], ["--nonsense"], ["--write-solution", " "], []]
)
def test_usage_errors_exit_with_two(place, arguments):
    result = run(*([LOCAL] if arguments else []), *arguments)
    assert result.exit_code == 2
    assert "Error: " in result.stderr
    assert "Traceback" not in result.stderr


def test_a_link_to_an_input_is_that_input(place):
    (place / "out.json").symlink_to(LOCAL)
    assert_refused(run(LOCAL, "--json", "out.json"), "is an input file")


def test_a_quoted_pattern_is_expanded_and_repetitions_run_once(place):
    result = run("*.hdf5", LOCAL, place / LOCAL, "--json", "runs.json")
    assert result.exit_code == 0
    assert len(json.loads((place / "runs.json").read_text())) == 2


def test_files_of_one_name_are_told_apart(place, data_dir):
    result = run(LOCAL, data_dir / LOCAL)
    assert result.exit_code == 0
    assert str(data_dir / LOCAL) in result.stdout
    assert_refused(run(LOCAL, data_dir / LOCAL, "--write-solution", "out"), "two outputs")


@pytest.mark.parametrize("name", [LOCAL, GLOBAL])
def test_written_solution_reads_back_as_solved(place, name):
    assert run(name, "--write-solution", "deep/out").exit_code == 0
    problem = delassus.load_problem(name)
    expected = delassus.solve(problem)
    written, source = read_fclib(place / "deep" / "out" / name), read_fclib(name)
    np.testing.assert_array_equal(written.solution.r, expected.reactions)
    np.testing.assert_array_equal(written.solution.u, expected.velocities)
    for vector in source.vectors():
        np.testing.assert_array_equal(written.vectors()[vector], source.vectors()[vector])
    assert written.info == source.info
    assert replace(written, solution=None).matrices().keys() == source.matrices().keys()


def test_written_solutions_are_not_overwritten_unless_told(place):
    assert run(LOCAL, "--write-solution", "out").exit_code == 0
    kept = (place / "out" / LOCAL).read_bytes()
    assert_refused(run(LOCAL, "--write-solution", "out", "--tol", "1e-3"), "exists already", "--overwrite")
    assert (place / "out" / LOCAL).read_bytes() == kept
    assert run(LOCAL, "--write-solution", "out", "--overwrite", "--max-iter", "0").exit_code == 1
    assert (place / "out" / LOCAL).read_bytes() != kept


def test_several_solvers_write_several_solutions(place):
    assert run(LOCAL, "--solver", "nbgs", "--solver", "auto", "--write-solution", "out").exit_code == 0
    assert sorted(path.name for path in (place / "out").iterdir()) == ["Rover-4396.auto.hdf5", "Rover-4396.nbgs.hdf5"]


def test_a_written_point_that_did_not_converge_is_announced(place):
    result = run(LOCAL, "--solver", "nbgs", "--max-iter", "1", "--tol", "1e-14", "--write-solution", "out")
    assert result.exit_code == 1
    assert "did not converge" in result.stderr


def test_settings_reach_the_solver(place):
    given = ("--set", "omega=0.75", "--set", "local=quartic")
    assert run(LOCAL, "--solver", "nbgs", *given, "--json", "runs.json").exit_code == 0
    (entry,) = json.loads((place / "runs.json").read_text())
    assert entry["settings"]["omega"] == 0.75
    assert entry["settings"]["local"] == "quartic"


def test_interruption_keeps_what_is_finished(place, monkeypatch):
    real, calls = solve_problem.solve, []

    def interrupted(problem, *arguments, **options):
        calls.append(problem.contact_count)
        if calls.count(3) == 2:  # after the warm-up, in the middle of the second file, which has three contacts
            raise KeyboardInterrupt
        return real(problem, *arguments, **options)

    monkeypatch.setattr(solve_problem, "solve", interrupted)
    monkeypatch.setattr("delassus.cli.solve.runs._one_contact", lambda problem: problem)
    result = run(LOCAL, GLOBAL, "--json", "runs.json", "--plot", "race.png")
    assert result.exit_code == 130
    assert "1 of 2 runs finished" in result.stderr
    assert LOCAL in result.stdout
    assert [entry["file"] for entry in json.loads((place / "runs.json").read_text())] == [LOCAL]
    assert (place / "race.png").exists()


def test_defaults_are_those_of_the_library():
    assert command.DEFAULT_TOL == solve_problem.DEFAULT_TOL
    assert command.DEFAULT_MAX_ITER == solve_problem.DEFAULT_MAX_ITER
