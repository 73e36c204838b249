"""A kind is one file and one line: a solver and a scene written here, outside the package, do what all others do."""

import os
import subprocess
import sys
import textwrap
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from command_line import delassus as invoke

import delassus
from delassus.errors import DelassusWarning, SettingsError
from delassus.law import Law
from delassus.problem.random import random_rigid
from delassus.scenes import SCENES, Scene
from delassus.solvers import ALL_ROWS, SOLVERS, Method, Settings, Solver, solve
from delassus.solvers.settings import Relaxation
from delassus.tables import Table

PLUG_IN = """
    from dataclasses import dataclass
    from delassus.law import Law
    from delassus.solvers import ALL_ROWS, Method, Settings, Solver

    @dataclass(frozen=True)
    class Still(Settings):
        patience: int = 3  # iterations before it gives up

    class StillMethod(Method):
        def advance(self, count):
            self.finished = True

    LINE = Solver(Still(solver="still"), (Law.NCP,), ALL_ROWS, "nobody", "does nothing", StillMethod)
"""


@dataclass(frozen=True)
class Richardson(Settings):
    """Settings of a solver that the package does not have."""

    omega: Relaxation = 1.0  # step over the longest that is sure to converge


class RichardsonMethod(Method):
    """λ ← P_K(λ − ω v / ‖D‖₁): nothing but `advance` is written."""

    def advance(self, count):
        step = self.settings.omega / abs(self.problem.delassus.matrix()).sum(axis=0).max()
        for _ in range(count):
            v = self.problem.constraint_velocity(self.reactions)
            self.reactions[:] = self.problem.cone.project(self.reactions - step * v)


LINE = Solver(
    Richardson(solver="richardson"),
    (Law.CCP,),
    ALL_ROWS,
    "Richardson 1910",
    "to learn from",
    RichardsonMethod,
    is_map=True,
)


@pytest.fixture
def richardson():
    delassus.register(LINE)
    yield "richardson"
    SOLVERS.remove("richardson")


@pytest.fixture
def thud():
    ball = SCENES["bouncing-ball"]
    delassus.register(Scene("thud", "a ball that falls", "it does not sink in", ball.construct, ball.judge))
    yield "thud"
    SCENES.remove("thud")


def install(folder, entry_points, **modules):
    """A package as pip leaves it: modules and a dist-info folder that names their entry points."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    info = folder / "guest-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: guest\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(textwrap.dedent(entry_points))


def command(folder, *arguments):
    """The command line in a process of its own that sees the folder, as an installed package is seen."""
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); from delassus.cli.main import run; run()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=120
    )


class TestSolver:
    def test_solves_like_any_other(self, richardson):
        problem = random_rigid(np.random.default_rng(3), bodies=4, contacts=5, law=Law.CCP)
        reference = solve(problem, "ipm", tol=1e-9)
        for solver in (richardson, "richardson+anderson", Richardson(solver="richardson", omega=1.5)):
            solution = solve(problem, solver, tol=1e-6)
            assert solution.converged, solution.message
            assert np.allclose(solution.velocities, reference.velocities, atol=1e-4)
        assert solve(problem.with_law(Law.NCP), "richardson+desaxce").converged
        assert solve(problem.with_law(Law.NCP), richardson).status is delassus.Status.UNSUPPORTED

    def test_is_listed_and_shown(self, richardson):
        assert richardson in list(SOLVERS)
        assert "to learn from" in invoke("solvers").stdout
        assert "step over the longest that is sure to converge" in invoke("solvers", richardson).stdout

    def test_settings_are_checked(self, richardson):
        with pytest.raises(SettingsError, match="omega"):
            solve(delassus.Problem.dual(np.eye(3), np.ones(3), mu=[0.5]), Richardson(solver=richardson, omega=3.0))

    def test_names_that_are_taken_are_refused(self, richardson):
        for name in (richardson, "nbgs", "auto", "anderson", "gauss-seidel"):
            line = Solver(Richardson(solver=name), (Law.CCP,), ALL_ROWS, "", "", RichardsonMethod)
            with pytest.raises(SettingsError, match=f"there is a solver '{name}' already"):
                delassus.register(line)

    @pytest.mark.parametrize(
        ("name", "laws", "start"), [("a b", (Law.CCP,), Method), ("x", (), Method), ("x", (Law.CCP,), None)]
    )
    def test_lines_that_cannot_work_are_refused(self, name, laws, start):
        with pytest.raises(SettingsError):
            delassus.register(Solver(Richardson(solver=name), laws, ALL_ROWS, "", "", start))
        assert name not in SOLVERS

    def test_lines_of_the_package_stay(self):
        with pytest.raises(SettingsError, match="belongs to the package"):
            SOLVERS.remove("nbgs")
        with pytest.raises(SettingsError, match="never registered"):
            SOLVERS.remove("nobody")

    def test_what_is_no_kind_is_refused(self):
        with pytest.raises(SettingsError, match="cannot be registered"):
            delassus.register("nbgs")

    def test_a_method_without_advance_says_so(self):
        line = Solver(Settings(solver="empty"), (Law.NCP,), ALL_ROWS, "", "", lambda *given: Method(*given))
        delassus.register(line)
        try:
            with pytest.raises(NotImplementedError, match="advance"):
                solve(delassus.Problem.dual(np.eye(3), -np.ones(3), mu=[0.5]), "empty")
        finally:
            SOLVERS.remove("empty")


def test_scene_runs_like_any_other(thud, tmp_path):
    setup = SCENES[thud].build(height=0.005)
    assert all(check.passed for check in SCENES[thud].check(setup, setup.run(steps=40)))
    assert "a ball that falls" in invoke("scenes").stdout
    done = invoke("run", thud, "--steps", "3", "--out", str(tmp_path / "thud.h5"))
    assert done.exit_code == 0, done.output


class TestEntryPoints:
    """Each in a process of its own: an environment is looked at once."""

    def test_installed_solver_is_found_by_the_command_line(self, tmp_path, data_dir):
        install(tmp_path, "[delassus.solvers]\nstill = guest_solver:LINE\n", guest_solver=PLUG_IN)
        done = command(tmp_path, "solvers", "still")
        assert done.returncode == 0, done.stderr
        assert "iterations before it gives up" in done.stdout
        listed = command(tmp_path, "solvers")
        assert "does nothing" in listed.stdout
        assert "nbgs" in listed.stdout
        solved = command(tmp_path, "solve", data_dir / "OneContact-1c.hdf5", "--solver", "still", "--set", "patience=5")
        assert "stalled" in solved.stdout, solved.stderr
        assert solved.returncode == 1

    def test_installed_solver_is_held_to_the_contract(self, tmp_path):
        install(tmp_path, "[delassus.solvers]\nstill = guest_solver:LINE\n", guest_solver=PLUG_IN)
        path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
        contract = Path(__file__).parents[1] / "contract" / "test_solvers.py"
        chosen = [
            sys.executable,
            "-m",
            "pytest",
            "-v",
            "-p",
            "no:cacheprovider",
            str(contract),
            "-k",
            "still and truth",
        ]
        seen = os.environ | {"PYTHONPATH": path}
        done = subprocess.run(chosen, capture_output=True, text=True, env=seen, timeout=300)
        assert "test_status_is_the_truth[still-ncp] PASSED" in done.stdout, done.stdout[-2000:]
        assert done.returncode == 0, done.stdout[-2000:]

    def test_broken_ones_are_named_and_break_nothing(self, tmp_path):
        install(
            tmp_path,
            """
            [delassus.solvers]
            absent = guest_nowhere:LINE
            broken = guest_broken:LINE
            leaves = guest_leaves:LINE
            other = guest_solver:Still
            still = guest_solver:LINE
            twice = guest_solver:LINE
            """,
            guest_solver=PLUG_IN,
            guest_broken="LINE = 1 / 0",
            guest_leaves="raise SystemExit(3)",
        )
        done = command(tmp_path, "solvers")
        assert done.returncode == 0, done.stderr
        assert "does nothing" in done.stdout
        for name in ("absent", "broken", "leaves", "other", "twice"):
            assert done.stderr.count(f"warning: plug-in '{name}' of guest") == 1, done.stderr
        assert "plug-in 'still'" not in done.stderr
        assert "ZeroDivisionError" in done.stderr

    def test_nothing_is_looked_for_until_it_is_needed(self, tmp_path):
        """Solving with a method of the package does not import what others have installed."""
        install(tmp_path, "[delassus.solvers]\nbroken = guest_broken:LINE\n", guest_broken="LINE = 1 / 0")
        code = f"""
            import sys; sys.path.insert(0, {str(tmp_path)!r})
            import numpy as np, delassus
            problem = delassus.Problem.dual(np.eye(3), [-1.0, 0.1, 0.0], mu=[0.5])
            assert delassus.solve(problem, "nbgs").converged and delassus.solve(problem).converged
            assert "guest_broken" not in sys.modules
        """
        subprocess.run([sys.executable, "-W", "error", "-c", textwrap.dedent(code)], check=True, timeout=120)


def test_a_table_is_completed_once_and_only_when_listed(monkeypatch):
    """Every way to list it, or to ask for a name it lacks."""
    ways = [
        list,
        len,
        dict,
        lambda t: t.keys(),
        lambda t: t.values(),
        lambda t: t.items(),
        lambda t: "c" in t,
        lambda t: t.get("c"),
        lambda t: t["b"],
    ]
    for way in ways:
        table: Table[str] = Table("test", lambda line: isinstance(line, str), str, ["a"])
        calls = []

        class Point:
            name = value = "b"
            dist = None

            def load(self):
                return "b"

        def points(group, calls=calls, point=Point):
            calls.append(group)
            return [point()]

        monkeypatch.setattr("importlib.metadata.entry_points", points)
        assert table["a"] == "a"
        assert "a" in table
        assert not calls
        way(table)
        way(table)
        assert calls == ["delassus.tests"]
        assert list(table) == ["a", "b"]


def test_a_second_thread_waits_for_the_plug_ins(monkeypatch):
    """Whoever asks while another thread loads them would otherwise be told that there is no such line. The plug-in
    itself may list the table as it loads."""
    table: Table[str] = Table("test", lambda line: isinstance(line, str), str, ["a"])
    loading, asked = threading.Event(), threading.Event()

    class Point:
        name = value = "b"
        dist = None

        def load(self):
            loading.set()
            asked.wait(0.2)  # a second thread that does not wait is through by then
            assert list(table) == ["a"]
            return "b"

    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Point()])
    first = threading.Thread(target=table.discover)
    first.start()
    assert loading.wait(10.0)
    assert "b" in table
    asked.set()
    first.join()
    assert list(table) == ["a", "b"]


def test_a_plug_in_with_a_taken_name_is_warned_of(monkeypatch):
    table: Table[str] = Table("test", lambda line: isinstance(line, str), str, ["a"])

    class Point:
        name, value, dist = "again", "guest:A", None

        def load(self):
            return ["a"]

    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Point()])
    with pytest.warns(DelassusWarning, match="plug-in 'again' .*there is a test 'a' already"):
        list(table)
