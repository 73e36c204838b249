"""000 §5.3.3: stacks of spheres that weigh 10ⁿ kg stand. The thesis stops at fifteen."""

from dataclasses import replace

import numpy as np
import pytest

from delassus.scenes import SCENES
from delassus.scenes.stacked_spheres import sunk

SUNK = 1e-3  # diameters


@pytest.mark.parametrize(("n", "solver"), [(15, "auto"), (20, "auto"), (20, "ipm")])
def test_ten_to_the_n_stands_for_fifty_steps(n, solver):
    setup = SCENES["stacked-spheres"].build(n=n, mass=10.0, ratio=10.0)
    reports = []
    run = setup.run(steps=50, settings=replace(setup.settings, solver=solver, max_iter=2000),
                    watch=lambda k, state, report, memory: reports.append(report))  # fmt: skip
    assert sunk(setup, run).max() < SUNK
    # the judge does not call reactions right that are too coarse for the lowest sphere
    assert not any(report.solution.converged and report.kept for report in reports)
    assert all(report.solution.converged or report.kept for report in reports)
    assert all(check.passed for check in SCENES["stacked-spheres"].check(setup, run))


@pytest.mark.parametrize("mass", [100.0, 1e6, 1e12])
def test_equal_spheres_stand(mass):
    setup = SCENES["stacked-spheres"].build(n=20, mass=mass)
    run = setup.run(steps=50)
    assert run.converged.all()
    assert sunk(setup, run).max() < 1e-6


def test_ordinary_steps_do_not_ask_for_velocities_as_unknowns():
    setup = SCENES["balls-in-the-box"].build(n=8)
    kept = []
    setup.run(steps=5, settings=replace(setup.settings, max_iter=1),
              watch=lambda k, state, report, memory: kept.append(report.kept))  # fmt: skip
    assert np.all([point is None for point in kept])
