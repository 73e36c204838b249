"""`delassus run` of a scene whose bodies bend: card, figures, files for ParaView, resume, problems kept."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
from command_line import assert_refused, delassus

import delassus as package
from delassus import Box, ModelBuilder, Plane, StepSettings, World, fem
from delassus.io import load_problem
from delassus.io.recording import Recording
from delassus.scenes import SCENES
from delassus.scenes.scene import Check, Scene, Setup
from delassus.simulation import Memory, step
from delassus.solvers import solve


def build(stiffness: Annotated[float, "Young's modulus [Pa]"] = 1e5) -> Setup:
    """A cantilever, and a soft block under a lid."""
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane(), material=0.5)
    soft = fem.Elastic(stiffness, 0.3, 1000.0, damping=(0.0, 1e-3))
    beam = builder.flexible("beam", fem.block(size=(0.4, 0.1, 0.1), cells=(4, 1, 1)), soft, position=(0, 0, 0.5))
    builder.weld(beam, "x-")
    cube = fem.block(size=(0.2, 0.2, 0.2), cells=(2, 2, 2))
    builder.flexible("block", cube, soft, position=(0.6, 0, 0.1), material=0.5)
    builder.body("lid", position=(0.6, 0, 0.21), shapes=Box((0.3, 0.3, 0.02)), density=300.0)
    return Setup(*builder.build(), 0.2, StepSettings(h=1e-2))


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    package.register(
        Scene(
            "bends",
            "a beam and a block",
            "penetrations",
            build,
            lambda setup, run: [Check("penetration", run.penetration.max(), 1e-9, "m")],
        )
    )
    yield tmp_path
    SCENES.remove("bends")


def test_run_draws_checks_and_writes_files_for_paraview(place: Path) -> None:
    pytest.importorskip("meshio")
    result = delassus("run", "bends", "--vtu", 10, "--json", "out.json")
    assert result.exit_code == 0, result.output
    for text in ("2 bodies of 47 nodes and 72 elements", "4 nodes welded", "18 contacts at most"):
        assert text in " ".join(result.stdout.split())
    assert "largest stress" in result.stdout
    for name in ("summary.png", "flexible.png"):
        assert (place / "runs/bends" / name).read_bytes().startswith(b"\x89PNG")
    assert len(list((place / "runs/bends/vtu").glob("*.vtu"))) == 3
    data, run = json.loads((place / "out.json").read_text()), Recording("runs/bends")
    stress = [run.von_mises(k).max() for k in range(run.step_count + 1)]  # so few are all looked at
    assert data["summary"]["stress_max"] == pytest.approx(max(stress), rel=1e-12)
    assert data["summary"]["stress_max_time"] == pytest.approx(run.t[np.argmax(stress)])
    assert data["figures"] == ["runs/bends/summary.png", "runs/bends/flexible.png"]
    assert data["checks"][0]["passed"]


def test_runs_go_on_to_the_bit(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In two calls of the command, in a world that loads what the first one left, and at once: the same."""
    monkeypatch.setattr("delassus.cli.run.report.write_figures", lambda plan, run: [])  # seconds each
    delassus("run", "bends", "--steps", 10, "--out", "parts")
    world = World.load("parts")
    world.run(10)
    assert delassus("run", "bends", "--steps", 20, "--out", "parts", "--resume").exit_code == 0
    delassus("run", "bends", "--steps", 20, "--out", "whole")
    assert Recording("parts").state(-1).hash == Recording("whole").state(-1).hash == world.state.hash


def test_problems_of_steps_can_be_solved_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The problem of a flexible step in a file: the same H, rows and solution."""
    monkeypatch.setattr("delassus.cli.run.report.write_figures", lambda plan, run: [])
    delassus("run", "bends", "--steps", 10, "--keep-problem", "every 9")
    path = place / "runs/bends/problems/step-000009.hdf5"
    setup, memory = build(), Memory()
    state = setup.state
    for _ in range(10):
        state, report = step(setup.model, state, None, setup.settings, memory)
    again = load_problem(path)
    assert again.row_count == report.problem.row_count
    velocity = abs(again.delassus.mass_matrix() - report.problem.delassus.mass_matrix()).max()
    assert velocity <= 1e-12 * abs(again.delassus.mass_matrix()).max()
    solution = solve(again, tol=1e-8)
    assert solution.converged
    np.testing.assert_allclose(solution.velocities, report.solution.velocities, atol=1e-6)
    assert delassus("solve", path, "--tol", 1e-6).exit_code == 0


def test_only_what_bends_is_written() -> None:
    assert_refused(delassus("run", "box-on-plane", "--vtu", 10), "--vtu", "flexible")
    assert_refused(delassus("run", "bends", "--vtu", 0), "--vtu is 0")
