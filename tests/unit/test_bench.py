"""Samples, suites, rows, metrics and the report of a benchmark."""

import json
import math
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import h5py
import numpy as np
import pytest

from delassus.bench import work
from delassus.bench.benchmark import Benchmark, BenchmarkSettings, machine
from delassus.bench.extract import Take, errors_of, extract
from delassus.bench.metrics import data_profile, extended, performance_profile, scores, shifted_mean, warm_gain
from delassus.bench.peers import siconos_worker
from delassus.bench.report import write_report
from delassus.bench.result import Result, Results
from delassus.bench.runs import plan
from delassus.bench.sample import UNKNOWN, Sample
from delassus.bench.suite_file import read_suite, write_suite
from delassus.bench.suites import SUITES, Suite
from delassus.dynamics.rows import DRIVE, JOINT
from delassus.dynamics.stabilisation import Stabilisation
from delassus.errors import FileError, ProblemError, SettingsError
from delassus.problem.describe import describe
from delassus.problem.random import random_dual, random_rigid
from delassus.scenes import SCENES
from delassus.simulation import simulate
from delassus.simulation.memory import Memory
from delassus.solvers import solve
from delassus.solvers.table import find

ROW = Result(
    solver="a",
    tol=1e-6,
    start="cold",
    sample="s/0",
    sequence="s",
    step=0,
    category="dense contacts",
    contacts=4,
    rows=12,
    status="converged",
    solved=True,
    relative=1e-7,
    worst_velocity=1e-8,
    worst_velocity_relative=1e-7,
    penetration=0.0,
    dual=0.0,
    complementarity=0.0,
    natural_map=1e-9,
    iterations=3,
    seconds=0.01,
    memory=0.0,
)


def rng():
    return np.random.default_rng(4)


@pytest.fixture(scope="module")
def samples():
    return extract(Take("box-on-plane", 30, 2, 3)) + extract(Take("four-bar", 6, 1, 3))


def test_a_sample_has_the_category_of_its_problem(samples):
    assert [sample.category for sample in samples] == [describe(sample.problem).category for sample in samples]
    assert Sample("file", 0, random_dual(rng(), contacts=4)).category == UNKNOWN


def test_samples_follow_each_other_and_fall_within_the_run(samples):
    steps = [sample.step for sample in samples if sample.sequence.startswith("box")]
    assert steps == sorted(steps)
    assert steps[-1] == 29
    assert any(b == a + 1 for a, b in zip(steps, steps[1:]))


def test_motors_and_dampers_are_no_joints():
    """The arm's seven hinges and its mount have 41 rows, its motors seven more; the linkage's motor is one of 27."""
    for scene, rows in (("arm7d", 41), ("four-bar", 26)):
        sample = extract(Take(scene, 2, 1, 1))[0]
        assert int(sample.joint_rows.sum()) == rows < sample.cone.bilateral_rows
    # joints between two bodies, several of them redundant: with all but the first as motors, what is left is not
    rigid = random_rigid(rng(), bodies=2, contacts=0, joints=3, redundant_joints=True)
    count = rigid.cone.bilateral.size
    joints = Sample("joints", 0, rigid, np.full(count, JOINT))
    motors = Sample("motors", 0, rigid, np.array([JOINT] + [DRIVE] * (count - 1)))
    assert (joints.category, motors.category) == ("dense joints", "independent joints")


@pytest.mark.parametrize(("scene", "what"), [("four-bar", "drift"), ("wall", "penetration")])
def test_penetration_is_the_error_of_the_configuration_after_the_step(scene, what):
    """Steps solved by one sweep, nothing closed afterwards: each step starts with the error that was foretold. Under
    Euler's scheme, for velocities that a rough step leaves violate the joints in the first half of Moreau's."""
    setup = SCENES[scene].build()
    settings = replace(
        setup.settings,
        stabilisation=Stabilisation.full(),
        solver="nbgs",
        max_iter=1,
        warm_start=False,
        integrator="euler",
    )
    foretold, found = [], []

    def watch(number, state, report, memory):
        sample = Sample(scene, number, report.problem, report.rows.names, errors_of(setup.model, report.rows, settings))
        foretold.append(sample.penetration(report.solution.reactions))
        found.append(getattr(report, what))

    simulate(setup.model, setup.state, setup.inputs, settings, range(40), watch=watch)
    assert max(found) > 1e-6
    np.testing.assert_allclose(foretold[10:-1], found[11:], rtol=0.02, atol=0.02 * max(found))
    assert math.isnan(Sample("file", 0, random_dual(rng(), contacts=2)).penetration(np.zeros(6)))


def test_suite_file_gives_back_the_same_bits(samples, tmp_path):
    again = read_suite(write_suite(tmp_path / "suite.hdf5", samples))
    assert [sample.name for sample in again] == [sample.name for sample in samples]
    for old, new in zip(samples, again):
        assert old.category == new.category
        assert np.array_equal(old.names, new.names)
        for field in ("mass", "bodies", "rows", "block_start"):
            assert np.array_equal(getattr(old.problem.delassus, field), getattr(new.problem.delassus, field)), field
        assert np.allclose(old.problem.free_velocity, new.problem.free_velocity, rtol=1e-13, atol=1e-15)
        assert np.allclose(old.problem.velocity_scale, new.problem.velocity_scale, rtol=1e-13, atol=0.0)


def test_what_falls_freely_is_judged_as_it_was_in_its_step(tmp_path):
    """Its free velocities are rounding: without what falls in one step, errors would be compared with 1e-14 m/s."""
    falling = extract(Take("four-bar-free", 3, 1, 3))
    path = write_suite(tmp_path / "suite.hdf5", falling)
    least = [sample.problem.velocity_scale.min() for sample in read_suite(path)]
    again, rough = read_suite(path), np.ones(falling[0].problem.row_count)
    assert [one.penetration(rough) for one in again] == pytest.approx([one.penetration(rough) for one in falling])
    np.testing.assert_allclose(least, 9.81e-3, rtol=1e-9)  # h g
    with h5py.File(path, "r+") as file:
        file["rest_speed"][0] = -1.0
    with pytest.raises(FileError, match="rest_speed is no list of speeds"):
        read_suite(path)
    with h5py.File(path, "r+") as file:
        del file["rest_speed"], file["error"]  # as files were before they kept them
    assert [(sample.problem.rest_speed, sample.errors) for sample in read_suite(path)] == [(0.0, None)] * 3


def test_suite_file_is_not_trusted(samples, tmp_path):
    path = write_suite(tmp_path / "suite.hdf5", samples)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError):
        read_suite(path)
    path.write_text("no suite")
    with pytest.raises(FileError):
        read_suite(path)
    with pytest.raises(ProblemError, match="not a problem of rigid bodies"):
        write_suite(path, [Sample("dual", 0, random_dual(rng(), contacts=3))])


def test_reactions_of_one_sample_start_the_next(samples):
    first, second = samples[0], samples[1]
    memory = Memory()
    memory.store(first, solve(first.problem, tol=1e-10).reactions)
    guess = memory.recall(second)
    cold, warm = solve(second.problem, "nbgs"), solve(second.problem, "nbgs", guess)
    assert warm.iterations < cold.iterations


def test_every_take_names_a_scene_and_its_parameters():
    for suite in SUITES.values():
        for take in suite.takes:
            assert set(take.parameters) <= set(SCENES[take.scene].parameters)
            assert take.steps is None  # a whole motion
            assert sorted(take.wanted(5000))[0] == 0
            assert max(take.wanted(5000)) == 4999
            assert len(take.wanted(5000)) == take.count * take.length


def test_auto_takes_part_in_every_suite():
    for suite in SUITES.values():
        assert suite.solvers[0] == "auto"
        for solver in suite.solvers[1:]:
            find(solver)


def test_the_siconos_worker_needs_no_scipy():
    """Debian's Siconos comes without it."""
    code = f"import runpy, sys; sys.modules['scipy'] = None; runpy.run_path({siconos_worker.__file__!r})"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_rows_survive_an_interruption(tmp_path):
    rows = Results(tmp_path / "rows.jsonl")
    rows.add(ROW)
    rows.add(replace(ROW, sample="s/1"))
    with open(rows.path, "a") as stream:
        stream.write('{"solver": "a", "to')  # the power went here
    again = Results(rows.path)
    assert again.rows == rows.rows
    again.add(replace(ROW, sample="s/2"))
    assert len(Results(rows.path).rows) == 3
    rows.path.write_text("[1, 2]\n")
    with pytest.raises(FileError, match="line 1"):
        Results(rows.path)


def test_what_is_done_is_not_planned_again(samples):
    tasks = plan(samples, ["nbgs"], 1e-6, ["cold"], 1.0, set())
    assert sorted(n for task in tasks for n in task.samples) == list(range(len(samples)))
    done = {("nbgs", 1e-6, "cold", sample.name) for sample in samples[1:]}
    assert [task.samples for task in plan(samples, ["nbgs"], 1e-6, ["cold"], 1.0, done)] == [(0,)]
    # a warm start needs the ones before it
    done = {("nbgs", 1e-6, "warm", samples[0].name)}
    assert plan(samples, ["nbgs"], 1e-6, ["warm"], 1.0, done)[0].samples[0] == 0


def test_a_late_answer_is_no_false_claim(samples, monkeypatch):
    """The judge confirms the point; only the clock objects."""
    in_time, _ = work._solve(samples[0], work.Task("nbgs", 1e-6, "cold", (0,), 10.0), None)
    assert (in_time.status, in_time.solved, in_time.confirmed) == ("converged", True, True)
    ticks = iter((0.0, 100.0))
    monkeypatch.setattr(work, "process_time", lambda: next(ticks))
    late, _ = work._solve(samples[0], work.Task("nbgs", 1e-6, "cold", (0,), 10.0), None)
    assert (late.status, late.solved, late.confirmed) == ("time_limit", False, True)
    assert "after the time limit" in late.note


def test_a_solve_that_compiles_is_told_and_done_again(samples, monkeypatch):
    """The other process would end it: kernels that only some problems need are compiled while the clock runs."""
    import numba

    said, calls = [], []

    def solve(sample, task, guess):
        calls.append(sample)
        if len(calls) == 1:
            numba.njit(lambda x: x + 1)(1)
        return len(calls)

    monkeypatch.setattr(work, "_solve", solve)
    pipe = type("Pipe", (), {"send": lambda self, message: said.append(message[0])})()
    task = work.Task("nbgs", 1e-6, "cold", (0,), 10.0)
    assert work._timed(samples[0], task, None, 0, pipe) == 2
    assert said == ["begin", "compiling", "begin"]
    assert work._timed(samples[0], task, None, 0, pipe) == 3
    assert said[3:] == ["begin"]


def test_methods_of_the_convex_law_are_judged_by_the_law_of_the_sample():
    """A sliding block: the convex law lifts it. Joints alone: both laws are one."""
    sliding, linkage = extract(Take("sliding-block", 3, 1, 1))[0], extract(Take("four-bar", 2, 1, 1))[0]
    task = work.Task("admm-ccp", 1e-6, "cold", (0,), 10.0)
    row, _ = work._solve(sliding, task, None)
    assert (row.status, row.solved, row.confirmed, row.note) == ("stalled", False, True, "treats the convex law")
    row, _ = work._solve(linkage, task, None)
    assert (row.status, row.solved, row.confirmed) == ("converged", True, True)


def test_metrics_on_a_made_up_race():
    """b is twice as slow as a and misses one of four."""
    rows = [replace(ROW, sample=f"s/{k}", seconds=0.1) for k in range(4)]
    rows += [replace(ROW, solver="b", sample=f"s/{k}", seconds=0.2) for k in range(3)]
    rows += [replace(ROW, solver="b", sample="s/3", seconds=9.0, solved=False)]
    first, second = scores(rows, 10.0)
    assert (first.solver, first.solved, first.best) == ("a", 4, 1.0)
    assert (second.solver, second.solved, second.best, second.claims_not_confirmed) == ("b", 3, 0.0, 1)
    assert first.mean == pytest.approx(0.1)
    assert second.mean == pytest.approx(shifted_mean([0.2, 0.2, 0.2, 10.0]))
    ratio, part = performance_profile(rows, 10.0)["b", "cold"]
    assert ratio.tolist() == pytest.approx([2.0] * 3)
    assert part[-1] == 0.75
    assert data_profile(rows, 10.0)["a", "cold"][1][-1] == 1.0
    rows = [replace(row, dual=1e-4 if row.solver == "a" else 1e-3, penetration=math.nan) for row in rows]
    rows[0] = replace(rows[0], dual=0.0)  # exact, but no solver is infinitely better than another
    ratio, part = performance_profile(rows, 10.0, "dual")["b", "cold"]
    assert ratio.tolist() == pytest.approx([10.0] * 3 + [1e9])
    assert part[-1] == 1.0  # accuracy counts, solved or not
    assert performance_profile(rows, 10.0, "iterations")["b", "cold"][1][-1] == 0.75
    assert not len(performance_profile(rows, 10.0, "penetration")["a", "cold"][0])
    warm = [replace(row, start="warm", seconds=row.seconds / 4) for row in rows if row.solver == "a"]
    assert warm_gain(rows + warm)["a"][0] == pytest.approx(4.0)
    assert math.isnan(shifted_mean([]))


def test_a_cold_start_does_not_race_a_warm_one():
    rows = [replace(ROW, seconds=0.1), replace(ROW, start="warm", seconds=0.01)]
    assert [score.best for score in scores(rows, 10.0)] == [1.0, 1.0]
    assert performance_profile(rows, 10.0)["a", "cold"][0].tolist() == [1.0]


def test_profiles_go_on_to_the_end_even_of_a_solver_that_always_fails():
    rows = [replace(ROW, sample=f"s/{k}", seconds=0.1 * (k + 1)) for k in range(3)]
    rows += [replace(ROW, solver="b", sample=f"s/{k}", seconds=0.1, solved=k == 0) for k in range(3)]
    rows += [replace(ROW, solver="c", sample=f"s/{k}", solved=False) for k in range(3)]
    drawn = extended(data_profile(rows, 10.0))
    assert len({(x[0], x[-1]) for x, _ in drawn.values()}) == 1
    assert [y[-1] for _, y in drawn.values()] == [1.0, pytest.approx(1 / 3), 0.0]
    assert extended({}) == {}


def test_report_says_which_claims_were_not_confirmed_and_which_runs_failed(tmp_path):
    false = replace(ROW, sample="s/1", status="converged", solved=False, relative=1e-2)
    missed = replace(ROW, sample="s/2", status="stalled", solved=True)
    late = replace(ROW, sample="s/3", status="time_limit", solved=False, seconds=10.0)
    about = {"time_limit": 10.0, "tol": 1e-6, "suite": "made-up"}
    page = write_report(tmp_path, [ROW, false, missed, late], about).read_text(encoding="utf-8")
    claims = page[page.index("<table id='claims'") :].partition("</table>")[0]
    assert claims.count("<tr data-start") == 2
    assert "is no solution (relative natural map 1.0e-02 at tol 1e-06" in claims
    assert "is a solution" in claims
    every = page[page.index("<table id='rows'") :].partition("</table>")[0]
    assert every.count("class='failed'") == 3
    assert every.count("✗ claim not confirmed") == 2
    assert "10 s (limit)" in every


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A benchmark of two solvers on a handful of samples, run through real processes."""
    suite = Suite("tiny", "for this test", (Take("box-on-plane", 30, 2, 2), Take("four-bar", 4, 1, 2)))
    out = tmp_path_factory.mktemp("bench")
    settings = BenchmarkSettings(suite, out, ("nbgs", "prox-ssn"), 1e-6, ("cold", "warm"), 20.0, 1)
    benchmark = Benchmark(settings)
    seen = []
    rows = benchmark.run(seen.append)
    write_report(out, rows, benchmark.about())
    return settings, rows, seen


def test_benchmark_runs_reports_and_continues(finished):
    settings, rows, seen = finished
    assert len(rows) == len(seen) == 2 * 2 * len({row.sample for row in rows})
    assert all(row.confirmed for row in rows)
    assert all(row.solved for row in rows if row.solver == "prox-ssn")
    again = Benchmark(settings)
    assert again.left == 0
    lines = (settings.out / "rows.jsonl").read_text().splitlines()
    (settings.out / "rows.jsonl").write_text("\n".join(lines[:-2]) + "\n")
    assert 2 <= Benchmark(settings).left <= 3  # a warm row brings the ones before it
    (settings.out / "rows.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(FileError, match="another suite"):
        Benchmark(replace(settings, suite=SUITES["quick"]))


def test_same_seeds_give_the_same_iterations(finished, tmp_path):
    settings, rows, _ = finished
    again = Benchmark(replace(settings, out=tmp_path, solvers=("nbgs",), starts=("cold",))).run()
    before = {row.sample: row.iterations for row in rows if (row.solver, row.start) == ("nbgs", "cold")}
    assert {row.sample: row.iterations for row in again} == before


def test_settings_are_checked(tmp_path):
    good = {
        "suite": SUITES["quick"],
        "out": tmp_path,
        "solvers": ("nbgs",),
        "tol": 1e-6,
        "starts": ("cold",),
        "time_limit": 1.0,
        "processes": 1,
    }
    for change, words in (
        ({"solvers": ("nbg",)}, "did you mean 'nbgs'"),
        ({"solvers": ()}, "no solvers"),
        ({"starts": ("hot",)}, "cold"),
        ({"tol": 0.0}, "positive"),
        ({"processes": 0}, "1 to 256"),
    ):
        with pytest.raises(SettingsError, match=words):
            BenchmarkSettings(**(good | change))
    assert "delassus" in machine()


def test_report_opens_without_errors(finished, tmp_path):
    """In a real browser, wide and narrow: tables and plots are there, the console stays silent."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium to open the report with")
    page = finished[0].out / "report.html"
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={tmp_path}",
        "--enable-logging=stderr",
        "--virtual-time-budget=8000",
    ]
    for width in (500, 1400):  # no browser without a screen is narrower than 500
        done = subprocess.run(
            [browser, *flags, f"--window-size={width},900", "--dump-dom", page.as_uri()],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0
        assert done.stdout.count('<svg class="main-svg"') >= 4
        assert done.stdout.count("<table") == 3
        plots = [float(found) for found in re.findall(r'<svg class="main-svg"[^>]*? width="([0-9.]+)"', done.stdout)]
        assert max(plots) <= (width if width < 1000 else width / 2), "wider than its place"
        lines = re.findall(r'<tr data-start="(\w+)"([^>]*)>', done.stdout)
        assert {start for start, rest in lines if "hidden" not in rest} == {"cold"}
        assert {start for start, rest in lines if "hidden" in rest} == {"warm"}
        assert "CONSOLE" not in done.stderr, [line for line in done.stderr.splitlines() if "CONSOLE" in line][:3]
    assert json.loads((finished[0].out / "about.json").read_text())["suite"] == "tiny"
    assert (finished[0].out / "scores.csv").read_text().startswith("solver,start,count,solved")
