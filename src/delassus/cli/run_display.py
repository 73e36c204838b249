"""The live line of a run: simulated time, contacts, iterations, residual, speed."""

from time import monotonic
from typing import TYPE_CHECKING

from delassus.cli.progress import Display

if TYPE_CHECKING:
    from delassus.model.state import State
    from delassus.simulation import StepReport

_PERIOD = 0.1  # s between two updates: drawing must not cost more than stepping


class RunDisplay(Display):
    """A bar over the steps; shown in a terminal only, notes everywhere."""

    def __init__(self, total: int, done: int):
        super().__init__(total, {})
        self._progress.update(self._task, completed=done)
        self._since: tuple[float, float] | None = None  # wall and simulated time when stepping began
        self._next = 0.0

    def step(self, done: int, state: "State", report: "StepReport") -> None:
        """Say where the run is."""
        now = monotonic()
        if self._since is None:
            self._since = (now, state.t)  # the first step loads the kernels; it is no measure of speed
        if now < self._next:
            return
        self._next = now + _PERIOD
        wall = now - self._since[0]
        speed = f"  {(state.t - self._since[1]) / wall:.2g} × real time" if wall > _PERIOD else ""
        solution = report.solution
        text = (
            f"t {state.t:.3f} s  {len(report.contacts)} contacts  {solution.iterations} iterations  "
            f"residual {solution.residuals.natural_map_relative:.1e}{speed}"
        )
        self._progress.update(self._task, completed=done, now=text)
