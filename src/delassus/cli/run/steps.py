"""The steps of one `delassus run`: recorded, watched, and shown as they come."""

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from delassus.cli import files
from delassus.cli.console import Display
from delassus.cli.run.plan import PROBLEMS, RunPlan

if TYPE_CHECKING:
    from delassus.io.recording import Recorder
    from delassus.model.state import State
    from delassus.simulation import Memory, StepReport
    from delassus.simulation.many_steps import Trouble

_MOST_FAILED = 100  # problem files of failed steps: a run that never converges must not fill the disk
_PERIOD = 0.1  # s between two updates of the live line: drawing must not cost more than stepping


def open_recording(plan: RunPlan) -> "tuple[Recorder, State, Memory]":
    """(recorder, state, memory) to go on from."""
    from delassus.io.recording import Recorder
    from delassus.simulation import Memory

    if plan.resume:
        return Recorder.resume(plan.out, plan.about, plan.setup.model)
    recorder = Recorder.create(plan.out, plan.about, plan.setup.model, plan.setup.state, overwrite=plan.overwrite)
    return recorder, plan.setup.state, Memory()


def take_steps(
    plan: RunPlan,
    recorder: "Recorder",
    state: "State",
    memory: "Memory",
    problems: "Problems",
    trouble: "Trouble",
) -> None:
    """From where the recording ends to where the plan does; every step is recorded before the next."""
    from delassus.simulation import simulate

    first = recorder.step_count
    display = _LiveLine(plan.steps, first)
    with display:

        def watch(k: int, state: "State", report: "StepReport", memory: "Memory") -> None:
            recorder.add(state, report, memory)
            problems.look(k, state, report)
            trouble.look(k, report)
            display.step(k + 1, state, report)

        numbers = range(first, plan.steps)
        simulate(plan.setup.model, state, plan.setup.inputs, plan.settings, numbers, memory=memory, watch=watch)


class Problems:
    """Writes the problems of the steps asked for."""

    def __init__(self, plan: RunPlan):
        self.every = plan.keep_every
        self.folder = plan.out / PROBLEMS
        self.scene = plan.scene.name
        self.paths: list[Path] = []
        if plan.overwrite:  # the problems of the run that is being replaced would pass for those of this one
            for path in self.folder.glob("step-*.hdf5"):
                path.unlink()

    def look(self, k: int, state: "State", report: "StepReport") -> None:
        """k: number of the step."""
        if self.every is None or (self.every > 0 and k % self.every):
            return
        if self.every == 0 and (report.solution.converged or len(self.paths) >= _MOST_FAILED):
            return
        from delassus.io.fclib import write_fclib
        from delassus.io.problems import problem_file

        files.make_directory(self.folder)
        path = self.folder / f"step-{k:06d}.hdf5"
        title = f"{self.scene}, step {k} to t = {state.t:.9g} s"
        # a step repeated after a resume, or a run with --overwrite, replaces its own file
        write_fclib(path, problem_file(report.problem, report.solution, title=title), overwrite=True)
        self.paths.append(path)


class _LiveLine(Display):
    """Simulated time, contacts, iterations, residual and speed, beside a bar over the steps."""

    def __init__(self, total: int, done: int):
        super().__init__(total, done)
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
        self.now(text, done)
