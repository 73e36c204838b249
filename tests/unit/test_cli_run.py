"""`delassus run` and `delassus scenes`: what they print and write, exit codes, interruption, what they refuse."""

import json
import shlex

import pytest
from command_line import assert_refused, delassus
from numba import config

from delassus.io.recording import Recording
from delassus.scenes import SCENES
from delassus.simulation import run as loop
from delassus.simulation import step as take_step
from delassus.simulation.compiled.advance import Stepper


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return delassus("run", *arguments)


def interrupt_after(monkeypatch, count):
    """Ctrl-C while the step after `count` is being computed."""
    calls = []

    def step(*arguments):
        calls.append(1)
        if len(calls) > count:
            raise KeyboardInterrupt
        return take_step(*arguments)

    monkeypatch.setattr(loop, "step", step)


def test_run_records_draws_and_checks(place):
    result = run("box-on-plane", "--steps", 20, "--json", "out.json")
    assert result.exit_code == 0, result.output
    assert "20 to t = 0.02 s" in result.stdout
    assert "friction against load" in result.stdout
    assert "FAIL" not in result.stdout
    assert "runs/box-on-plane/summary.png" in result.stdout
    assert (place / "runs/box-on-plane/summary.png").read_bytes().startswith(b"\x89PNG")
    assert Recording("runs/box-on-plane").step_count == 20


def test_json_holds_parameters_settings_summary_and_checks(place):
    options = {"--duration": 0.03, "--set": "angle=20", "--tol": 1e-8, "--dt": 2e-3, "--json": "out.json"}
    run("sliding-block", *(word for option in options.items() for word in option))
    data = json.loads((place / "out.json").read_text(), parse_constant=pytest.fail)
    assert data["scene"] == "sliding-block"
    assert data["parameters"]["angle"] == 20.0
    assert data["settings"]["h"] == 2e-3
    assert data["settings"]["tol"] == 1e-8
    assert data["complete"] is True
    assert data["interrupted"] is False
    assert data["summary"]["steps"] == 15
    assert {
        "contacts_max",
        "penetration_max",
        "residual_max",
        "drift_max",
        "not_converged",
        "energy_last",
        "stage_seconds_mean",
    } <= set(data["summary"])
    assert all(set(check) == {"name", "value", "bound", "unit", "passed"} for check in data["checks"])
    assert data["recording"] == "runs/sliding-block"


def test_failed_check_or_step_gives_exit_code_1():
    result = run("box-on-plane", "--steps", 30, "--law", "frictionless", "--out", "slips")
    assert result.exit_code == 1
    assert "FAIL" in result.stdout
    result = run("box-on-plane", "--steps", 2, "--tol", "1e-30", "--out", "strict")
    assert result.exit_code == 1
    assert "2 of 2 steps" in result.stdout
    assert "problems kept" in result.stdout


def test_interruption_keeps_every_step_and_the_named_command_finishes_the_run(place, monkeypatch):
    whole = run("sphere-pile", "--set", "n=8", "--steps", 40, "--out", "whole")
    assert whole.exit_code == 0
    with monkeypatch.context() as patch:
        interrupt_after(patch, 17)
        result = run("sphere-pile", "--set", "n=8", "--steps", 40, "--out", "part of it")
    assert result.exit_code == 130
    assert "interrupted: 17 of 40 steps are kept" in result.stderr
    assert Recording("part of it").step_count == 17
    said = next(line for line in result.stderr.splitlines() if line.startswith("resume with: "))
    words = shlex.split(said.removeprefix("resume with: "))
    assert words[:2] == ["delassus", "run"]
    assert run(*words[2:]).exit_code == 0
    assert Recording("part of it").state(-1).hash == Recording("whole").state(-1).hash


def test_steps_in_compiled_code_are_interrupted_and_resumed_bit_for_bit(place, monkeypatch):
    """Two hundred steps, of which none goes through `step`, against one by one."""
    calls, real = [], Stepper.advance

    def advance(*arguments):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Stepper, "advance", advance)
        assert run("four-bar", "--steps", 200).exit_code == 130
    assert 0 < Recording("runs/four-bar").step_count < 200
    assert run("four-bar", "--steps", 200, "--resume", "--keep-problem", "every 90").exit_code == 0
    setup, watched = SCENES["four-bar"].build(), []
    setup.run(steps=200, watch=lambda k, state, report, memory: watched.append(state.hash))
    recording = Recording("runs/four-bar")
    assert [recording.state(k + 1).hash for k in range(200)] == watched
    assert sorted(path.name for path in place.glob("runs/four-bar/problems/*")) == [
        f"step-{k:06d}.hdf5" for k in (90, 180)
    ]


def test_existing_recording_is_not_overwritten_unless_told(place):
    assert run("bouncing-ball", "--steps", 5).exit_code == 0
    assert_refused(run("bouncing-ball", "--steps", 9), "holds a recording already", "--resume", "--out", "--overwrite")
    assert Recording("runs/bouncing-ball").step_count == 5
    assert run("bouncing-ball", "--steps", 9, "--resume").exit_code == 0
    assert Recording("runs/bouncing-ball").step_count == 9
    assert run("bouncing-ball", "--steps", 3, "--overwrite").exit_code == 0
    assert Recording("runs/bouncing-ball").step_count == 3
    again = run("bouncing-ball", "--resume")
    assert again.exit_code == 0
    assert "nothing to do" in again.stderr


def test_resume_with_something_else_is_refused():
    assert run("bouncing-ball", "--steps", 5, "--set", "height=0.5", "--out", "x").exit_code == 0
    assert_refused(run("bouncing-ball", "--out", "x", "--resume", "--dt", "0.01"), "h = 0.001, not 0.01")
    assert_refused(run("bouncing-ball", "--out", "x", "--resume", "--set", "height=2"), "height = 0.5, not 2.0")
    assert_refused(run("rolling-sphere", "--out", "x", "--resume"), "scene 'bouncing-ball', not 'rolling-sphere'")
    assert_refused(run("bouncing-ball", "--out", "y", "--resume"), "no recording to resume")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["four-bra"], ["did you mean 'four-bar'?"]),
        (["four-bar", "--set", "spedd=1"], ["did you mean 'speed'?"]),
        (["four-bar", "--set", "speed=fast"], ["speed='fast' is not a number"]),
        (["four-bar", "--set", "speed"], ["not key=value"]),
        (["four-bar", "--set", "crank=9"], ["do not close"]),
        (["four-bar", "--steps", "5", "--duration", "1"], ["--steps and --duration"]),
        (["four-bar", "--steps", "0"], ["--steps is 0"]),
        (["four-bar", "--steps", "-3"], ["--steps is -3"]),
        (["four-bar", "--steps", "1" + "0" * 30], ["--steps is 1", "give 1 to 1000000000"]),
        (["four-bar", "--duration", "1e300"], ["at most 1000000000", "shorter duration"]),
        (["four-bar", "--duration", "inf"], ["duration is inf"]),
        (["four-bar", "--dt", "1e-320"], ["--dt is 1e-320", "seconds"]),
        (["four-bar", "--dt", "1e-320", "--steps", "3"], ["--dt is 1e-320", "seconds"]),
        (["four-bar", "--dt", "1e-12"], ["5e+12 steps", "longer time step"]),
        (["four-bar", "--dt", "1e300"], ["--dt is 1e+300"]),
        (["four-bar", "--dt", "nan"], ["h is nan"]),
        (["sphere-pile", "--set", "n=1000000000"], ["1000000000 bodies", "at most 200000"]),
        (["sphere-pile", "--set", "n=10**9"], ["n='10**9' is not a whole number"]),
        (["sphere-pile", "--set", "n="], ["not key=value"]),
        (["wall", "--set", "rows=99999", "--set", "columns=99999"], ["rows = 99999", "at most 200000"]),
        (["wall", "--set", "speed=nan"], ["speed is nan"]),
        (["wall", "--set", "ball=1e-200"], ["ball is 1e-200"]),
        (["bouncing-ball", "--set", "height=-1"], ["height is -1.0", "zero or more"]),
        (["four-bar", "--duration", "nan"], ["duration is nan"]),
        (["four-bar", "--dt", "-1"], ["h is -1.0"]),
        (["four-bar", "--solver", "nbgz"], ["did you mean 'nbgs'?"]),
        (["four-bar", "--integrator", "moreu"], ["did you mean 'moreau'?"]),
        (["four-bar", "--tol", "-1"], ["tol"]),
        (["four-bar", "--threads", "0"], ["--threads is 0"]),
        (["four-bar", "--threads", "100000", "--solver", "nbgs"], ["--threads is 100000"]),
        (["four-bar", "--out", "a" * 300], ["File name too long", "choose another"]),
        (["four-bar", "--json", "a" * 300], ["File name too long", "choose another"]),
        (["four-bar", "--keep-problem", "always"], ["every N"]),
        (["four-bar", "--resume", "--overwrite"], ["--resume and --overwrite"]),
        (["four-bar", "--json", "nowhere/out.json"], ["nowhere"]),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(place, arguments, words):
    assert_refused(run(*arguments), *words)
    assert list(place.iterdir()) == []


def test_out_that_is_a_file_is_refused(place):
    (place / "file").write_text("mine")
    assert_refused(run("four-bar", "--out", "file"), "not a directory")
    assert (place / "file").read_text() == "mine"


def test_out_that_is_empty_is_refused(place):
    """As an unset shell variable leaves it: the folder we are in is not what was meant."""
    result = run("four-bar", "--out", "")
    assert result.exit_code == 2
    assert "the path is empty" in result.stderr
    assert list(place.iterdir()) == []


def test_file_in_the_place_of_the_problems_is_refused(place):
    (place / "x").mkdir()
    (place / "x" / "problems").write_text("mine")
    assert_refused(run("four-bar", "--out", "x"), "problems: is not a directory")
    assert [path.name for path in (place / "x").iterdir()] == ["problems"]


@pytest.mark.skipif(config.NUMBA_NUM_THREADS < 2, reason="needs two cores")
def test_threads_reach_a_solver_that_takes_them_and_the_run_resumes():
    assert run("bouncing-ball", "--steps", 5, "--solver", "nbgs", "--threads", 2, "--out", "x").exit_code == 0
    settings = Recording("x").about.settings
    assert settings["threads"] == settings["solver"]["threads"] == 2
    assert run("bouncing-ball", "--steps", 9, "--out", "x", "--resume").exit_code == 0
    assert_refused(run("bouncing-ball", "--out", "x", "--resume", "--threads", 1), "threads = 2, not 1")
    for solver in ("auto", "prox-ssn"):  # neither has a setting for threads
        assert run("bouncing-ball", "--steps", 2, "--solver", solver, "--threads", 2, "--out", solver).exit_code == 0
        assert Recording(solver).about.settings["solver"] == solver
    assert "with --solver" in " ".join(run("--help").stdout.split())


def test_kept_problems_open_in_solve(place):
    assert run("box-on-plane", "--steps", 7, "--keep-problem", "every 3").exit_code == 0
    files = sorted(path.name for path in (place / "runs/box-on-plane/problems").iterdir())
    assert files == ["step-000000.hdf5", "step-000003.hdf5", "step-000006.hdf5"]
    result = delassus("solve", "runs/box-on-plane/problems/step-000003.hdf5")
    assert result.exit_code == 0
    assert "converged" in result.stdout
    assert run("box-on-plane", "--steps", 7, "--keep-problem", "never", "--overwrite").exit_code == 0
    assert list((place / "runs/box-on-plane/problems").iterdir()) == []


def test_scenes_lists_all_and_shows_one(place):
    result = delassus("scenes", "--json", "scenes.json")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in SCENES)
    assert [entry["name"] for entry in json.loads((place / "scenes.json").read_text())] == list(SCENES)
    one = delassus("scenes", "wall")
    assert one.exit_code == 0
    assert "speed" in one.stdout
    assert "[m/s]" in one.stdout
    assert delassus("scenes", "wal").exit_code == 2
