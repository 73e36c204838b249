"""Mangoni, thesis, §5.3.3: stacks of spheres that weigh 10ⁿ kg stand. The thesis stops at fifteen."""

import subprocess
import sys
from dataclasses import replace

import pytest

from delassus import residuals
from delassus.scenes import SCENES
from delassus.scenes.stacked_spheres import sunk

SUNK = 1e-3  # diameters


@pytest.mark.parametrize(("n", "solver"), [(15, "auto"), (20, "auto"), (20, "ipm")])
def test_ten_to_the_n_stands_for_fifty_steps(n, solver):
    setup = SCENES["stacked-spheres"].build(n=n, mass=10.0, ratio=10.0)
    reports = []
    run = setup.run(
        steps=50,
        settings=replace(setup.settings, solver=solver, max_iter=2000),
        watch=lambda k, state, report, memory: reports.append(report),
    )
    assert sunk(setup, run).max() < SUNK
    assert all(report.solution.converged for report in reports)
    # the judge does not call reactions right that are too coarse for the lowest sphere
    for report in reports:
        low, problem = report.solution.reactions_low, report.problem
        if n == 20:
            assert low is not None
            assert residuals.evaluate(problem, report.solution.reactions).worst_velocity > 0.1
    assert all(check.passed for check in SCENES["stacked-spheres"].check(setup, run))


@pytest.mark.parametrize("mass", [100.0, 1e6, 1e12])
def test_equal_spheres_stand(mass):
    setup = SCENES["stacked-spheres"].build(n=20, mass=mass)
    run = setup.run(steps=50)
    assert run.converged.all()
    assert sunk(setup, run).max() < 1e-6


def test_ordinary_steps_need_one_double_and_load_nothing_for_two():
    code = """
import sys
from dataclasses import replace
from delassus.scenes import SCENES
setup = SCENES["balls-in-the-box"].build(n=8)
low = []
setup.run(steps=5, settings=replace(setup.settings, max_iter=1),
          watch=lambda k, state, report, memory: low.append(report.solution.reactions_low))
assert len(low) == 5 and all(part is None for part in low)
assert not any(name in sys.modules for name in ("delassus.linalg.pairs", "delassus.solvers.double_double.method"))
"""
    subprocess.run([sys.executable, "-c", code], check=True)
