"""The steps of one `delassus run`: recorded, watched, and shown as they come."""

from pathlib import Path
from typing import TYPE_CHECKING

from delassus.cli import files
from delassus.cli.console import Display
from delassus.cli.run.plan import PROBLEMS, RunPlan

if TYPE_CHECKING:
    from delassus.io.recording import Recorder
    from delassus.model.state import State
    from delassus.simulation import Memory
    from delassus.simulation.many_steps import Trouble
    from delassus.simulation.run import Run

_MOST_FAILED = 100  # problem files of failed steps: a run that never converges must not fill the disk
_NEVER = 10**9
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
    from delassus.simulation.run import Asked, Run

    setup, first = plan.setup, recorder.step_count
    run = Run(setup.model, state, plan.settings, memory, steps=first)
    display = _LiveLine(plan.steps, first)

    def after(count: int) -> None:
        problems.look(run)
        trouble.look_back(run, count)
        display.show(run)

    asked = Asked(setup.model, setup.inputs, plan.settings, "delassus run")
    with display:
        while run.steps < plan.steps:
            run.advance(min(problems.ahead(run.steps), plan.steps - run.steps), asked, recorder, after)


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

    def ahead(self, taken: int) -> int:
        """Steps to the end of the next one that may be asked for."""
        return _NEVER if not self.every else 1 if taken % self.every == 0 else self.every - taken % self.every

    def look(self, run: "Run") -> None:
        """At the last step. Those that compiled code takes converge."""
        k = run.steps - 1
        if self.every is None or (self.every > 0 and k % self.every):
            return
        if self.every == 0 and (run.reported is None or len(self.paths) >= _MOST_FAILED):
            return
        report = run.report
        if self.every == 0 and report.solution.converged:
            return
        from delassus.io.fclib import write_fclib
        from delassus.io.problems import problem_file

        files.make_directory(self.folder)
        path = self.folder / f"step-{k:06d}.hdf5"
        title = f"{self.scene}, step {k} to t = {run.t:.9g} s"
        # a step repeated after a resume, or a run with --overwrite, replaces its own file
        write_fclib(path, problem_file(report.problem, report.solution, title=title), overwrite=True)
        self.paths.append(path)


class _LiveLine(Display):
    """Simulated time, contacts, iterations, residual and speed, beside a bar over the steps."""

    def __init__(self, total: int, done: int):
        from delassus.waiting import clock

        super().__init__(total, done)
        self._clock = clock  # stands still while kernels are compiled
        self._since: tuple[float, float] | None = None  # wall and simulated time when stepping began
        self._next = 0.0

    def show(self, run: "Run") -> None:
        """Say where it is."""
        now = self._clock()
        if self._since is None:
            self._since = (now, run.t)
        if now < self._next:
            return
        self._next = now + _PERIOD
        wall, last = now - self._since[0], run.glance
        speed = f"  {(run.t - self._since[1]) / wall:.2g} × real time" if wall > _PERIOD else ""
        text = (
            f"t {run.t:.3f} s  {last.contacts} contacts  {last.iterations} iterations  "
            f"residual {last.residual:.1e}{speed}"
        )
        self.now(text, run.steps)
