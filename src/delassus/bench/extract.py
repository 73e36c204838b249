"""Samples from runs: every so many steps of a scene, each the problem exactly as the step solved it."""

from dataclasses import dataclass, field
from typing import Any

from delassus.bench.sample import Sample
from delassus.law import Law
from delassus.model.state import State
from delassus.scenes import SCENES
from delassus.simulation import StepReport, simulate
from delassus.simulation.memory import Memory


@dataclass(frozen=True)
class Take:
    """How a sequence is taken from a scene: `count` pieces of `length` steps each, spread over `steps` steps of a run
    with these parameters. Steps within a piece follow each other, so that a warm start is worth something."""

    scene: str
    steps: int
    count: int = 4
    length: int = 3
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def sequence(self) -> str:
        """The scene's name, and what differs from its defaults."""
        changes = ",".join(f"{name}={value}" for name, value in sorted(self.parameters.items()))
        return f"{self.scene}({changes})" if changes else self.scene

    def wanted(self) -> set[int]:
        """Numbers of the steps to keep."""
        if self.steps <= self.count * self.length:
            return set(range(self.steps))
        starts = [round(k * (self.steps - self.length) / max(1, self.count - 1)) for k in range(self.count)]
        return {start + k for start in starts for k in range(self.length)}


def extract(take: Take, *, law: Law = Law.NCP) -> list[Sample]:
    """Run the scene and keep its samples; problems without rows are left out."""
    setup = SCENES[take.scene].build(**take.parameters)
    wanted, found = take.wanted(), []

    def watch(number: int, state: State, report: StepReport, memory: Memory) -> None:
        if number in wanted and report.problem.row_count:
            found.append(Sample(take.sequence, number, report.problem.with_law(law), report.rows.names))

    steps = range(max(wanted) + 1)
    simulate(setup.model, setup.state, setup.inputs, setup.settings, steps, watch=watch)
    return found
