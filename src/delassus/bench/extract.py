"""Samples from runs: steps spread over a scene's motion, each the problem exactly as the step solved it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from delassus.bench.sample import Errors, Sample
from delassus.dynamics.rows import LIMIT, Rows
from delassus.law import Law
from delassus.model.model import Model
from delassus.scenes import SCENES
from delassus.simulation import StepSettings
from delassus.simulation.run import Asked, Run


@dataclass(frozen=True)
class Take:
    """How a sequence is taken from a scene: `count` pieces of `length` steps each, spread over the whole motion, or its
    first `steps` steps, of a run with these parameters. Steps within a piece follow each other, so that a warm start is
    worth something."""

    scene: str
    steps: int | None = None
    count: int = 4
    length: int = 3
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def sequence(self) -> str:
        """The scene's name, and what differs from its defaults."""
        changes = ",".join(f"{name}={value}" for name, value in sorted(self.parameters.items()))
        return f"{self.scene}({changes})" if changes else self.scene

    def wanted(self, whole: int) -> set[int]:
        """Numbers of the steps to keep.  whole: steps of the scene's motion."""
        steps = whole if self.steps is None else self.steps
        if steps <= self.count * self.length:
            return set(range(steps))
        starts = [round(k * (steps - self.length) / max(1, self.count - 1)) for k in range(self.count)]
        return {start + k for start in starts for k in range(self.length)}


def extract(take: Take, *, law: Law = Law.NCP) -> list[Sample]:
    """Run the scene and keep its samples; problems without rows are left out."""
    setup, found = SCENES[take.scene].build(**take.parameters), []
    run = Run(setup.model, setup.state, setup.settings)
    asked = Asked(setup.model, setup.inputs, setup.settings, "extract")
    for number in sorted(take.wanted(setup.steps())):
        run.advance(number - run.steps, asked)
        run.advance(1, asked)
        report = run.report
        if report.problem.row_count:
            errors = errors_of(setup.model, report.rows, setup.settings)
            found.append(Sample(take.sequence, number, report.problem.with_law(law), report.rows.names, errors))
    return found


def errors_of(model: Model, rows: Rows, settings: StepSettings) -> Errors:
    """Where the rows of a step stand. Errors of joints are those before it, and velocities that obeyed the joints then
    add nothing to them until rows are evaluated; gaps are those where rows are evaluated."""
    h, cone = settings.h, rows.cone
    left = (1.0 - settings.scheme.lead) * h
    at = np.full(cone.row_count, np.nan)
    # v of a joint's row is its rate at the end of the step and what feeds its error back
    at[: len(rows.residual)] = rows.residual * (1.0 - left * settings.stabilisation.joint / h)
    if rows.compliance is not None:
        at[: len(rows.residual)][rows.compliance[: len(rows.residual)] > 0.0] = np.nan  # joints that are meant to give
    first = cone.bilateral.size
    names = (rows.names[first : first + cone.unilateral] - LIMIT).astype(np.int64)
    coordinate, side = names // 2, names % 2
    bound = np.where(side == 1, model.joints.upper[coordinate], model.joints.lower[coordinate])
    gaps = (1.0 - 2.0 * side) * (rows.coordinates[coordinate] - bound)
    normal = np.r_[cone.bilateral_rows : cone.contact_start, cone.contact_start : cone.row_count : 3]
    at[normal] = np.append(gaps, rows.contacts.gap) - left * rows.bias[normal]
    return Errors(at, left)
