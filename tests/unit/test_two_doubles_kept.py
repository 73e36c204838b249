"""Reactions of two doubles in files: what is judged again confirms what was claimed."""

from dataclasses import replace

import numpy as np

from delassus import Memory, residuals, solve, step
from delassus.io.fclib import read_fclib
from delassus.io.problems import load_problem, save_solution, stored_reactions, to_problem
from delassus.io.recording import save_problem
from delassus.scenes import find

STEPS = 6


def stack(**parameters):
    return find("heavy-on-light").build(n=3, ratio=1e6, **parameters)


def test_a_kept_step_is_confirmed_by_whoever_opens_it(tmp_path):
    for name, parameters in (("cubes", {}), ("guided", {"mu": 0.0})):
        setup = stack(**parameters)
        _, report = step(setup.model, setup.state, None, setup.settings, Memory())
        assert report.solution.reactions_low is not None
        path = save_problem(tmp_path / f"{name}.hdf5", report.problem, report.solution)
        file = read_fclib(path)
        problem, stored = load_problem(path, law=setup.settings.law), stored_reactions(file.solution)
        assert np.array_equal(stored, report.solution.point)
        assert residuals.measure(problem, *stored).velocity <= 2.0 * setup.settings.tol_velocity
        assert residuals.measure(problem, stored[0]).velocity > 1e-4  # one double refutes the claim
        again = solve(problem, tol_velocity=setup.settings.tol_velocity)
        assert again.converged
        assert np.abs(again.body_velocities - report.solution.body_velocities).max() < 1e-8


def test_a_written_solution_holds_both_doubles(tmp_path):
    setup = stack()
    _, report = step(setup.model, setup.state, None, setup.settings, Memory())
    file = read_fclib(save_problem(tmp_path / "step.hdf5", report.problem))
    problem = to_problem(file, law="ccp")
    solution = solve(problem, "ipm", tol_velocity=1e-8)
    assert solution.converged
    path = save_solution(tmp_path / "solved.hdf5", file, solution)
    stored = stored_reactions(read_fclib(path).solution)
    assert np.array_equal(stored, solution.point)
    confirmed = solve(problem, "ipm", stored, tol_velocity=1e-8)
    assert confirmed.iterations == 0
    assert confirmed.converged


def test_a_replay_of_a_recorded_step_confirms_it():
    """The problem is built again from the state before the step, and the recorded reactions judged."""
    setup = stack()
    run = setup.run(steps=STEPS)
    assert run.converged.all()
    for k in range(STEPS):
        exact = run.exact_reactions(k)
        assert exact is not None
        settings = replace(setup.settings, max_iter=1)
        _, report = step(setup.model, run.state(k), None, settings)
        assert residuals.measure(report.problem, *exact).velocity <= setup.settings.tol_velocity
        assert residuals.measure(report.problem, exact[0]).velocity > setup.settings.tol_velocity
