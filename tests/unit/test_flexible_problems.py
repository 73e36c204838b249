"""Problems of flexible steps in files: saved where a step fails, read again and solved; D never formed for it."""

from pathlib import Path

import numpy as np
import pytest

from delassus import Box, Imposed, ModelBuilder, Motor, Plane, StepSettings, fem
from delassus.io import load_problem
from delassus.io.problems import problem_file, save_problem, stored_reactions
from delassus.model.model import Model
from delassus.model.state import State
from delassus.residuals import evaluate
from delassus.simulation import Memory, StepReport, step
from delassus.solvers import solve

SOFT = fem.Elastic(1e5, 0.3, 1000.0, damping=(0.0, 1e-3))


def pressed(motor: object) -> tuple[Model, State]:
    """A soft block between the ground and a plate on a slide, with a stop in the way and a beam welded to the plate."""
    builder = ModelBuilder()
    ground = builder.fixed("ground", shapes=Plane(), material=0.5)
    cube = fem.block(size=(0.2, 0.2, 0.2), cells=(2, 2, 2))
    builder.flexible("block", cube, SOFT, position=(0, 0, 0.1), material=0.5)
    plate = builder.body("plate", position=(0, 0, 0.211), shapes=Box((0.3, 0.3, 0.02)), density=300.0)
    builder.joint(
        "prismatic", ground, plate, position=(0, 0, 0.211), axis=(0, 0, 1), name="slide", motor=motor, limits=(0.0, 1.0)
    )
    beam = builder.flexible("beam", fem.block(size=(0.2, 0.05, 0.05), cells=(2, 1, 1)), SOFT, position=(0.25, 0, 0.211))
    builder.weld(beam, "x-", to=plate)
    return builder.build()


def last_step(motor: object, count: int = 5, **settings: object) -> StepReport:
    model, state = pressed(motor)
    memory, how = Memory(), StepSettings(h=5e-3, **settings)
    for _ in range(count):
        state, report = step(model, state, None, how, memory)
    return report


@pytest.mark.parametrize("motor", [None, Motor(stiffness=500.0, damping=50.0)], ids=["limit", "compliant drive"])
def test_problems_come_back(tmp_path: Path, motor: object) -> None:
    """Limits and soft rows included: the same D, free velocities and solution."""
    report = last_step(motor)
    problem, cone = report.problem, report.problem.cone
    assert cone.unilateral or problem.delassus.compliance is not None
    path = save_problem(tmp_path / "step.hdf5", problem, report.solution)
    again = load_problem(path)
    assert again.delassus.is_primal
    spread = np.r_[
        np.arange(cone.bilateral_rows),
        cone.bilateral_rows + 3 * np.arange(cone.unilateral),
        cone.bilateral_rows + 3 * cone.unilateral + np.arange(3 * cone.contact_count),
    ]
    D, was = again.delassus.dense(), problem.delassus.dense()
    np.testing.assert_allclose(D[np.ix_(spread, spread)], was, atol=1e-10 * abs(was).max())
    np.testing.assert_allclose(again.free_velocity[spread], problem.free_velocity, atol=1e-12)
    point = problem_file(problem, report.solution).solution
    assert point is not None
    kept = stored_reactions(point)
    assert kept is not None
    np.testing.assert_array_equal(kept[spread], report.solution.reactions)
    assert point.v is not None
    assert len(point.v) == again.delassus.velocity_count
    assert evaluate(again, kept).natural_map_relative <= 1e-6  # what was a solution is one of what was read
    solution = solve(again, tol=1e-8)
    assert solution.converged
    np.testing.assert_allclose(solution.velocities[spread], report.solution.velocities, atol=1e-6)


def test_a_step_that_fails_is_kept_and_explained(tmp_path: Path) -> None:
    """Given too few iterations a step does not converge and says so; from its file it is solved with more of them."""
    report = last_step(Imposed(), count=2, solver="nbgs", max_iter=1, tol=1e-9)
    assert not report.solution.converged
    assert "advice" in str(report)
    again = load_problem(save_problem(tmp_path / "bad.hdf5", report.problem, report.solution))
    assert not solve(again, "nbgs", tol=1e-9, max_iter=1).converged
    assert solve(again, tol=1e-9).converged
