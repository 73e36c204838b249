"""`delassus run`."""

import re
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from delassus.cli import console
from delassus.cli.inputs import folder
from delassus.cli.run_plan import FAILED, PROBLEMS, RunPlan, Wishes, make_plan
from delassus.errors import DelassusError
from delassus.law import Law

if TYPE_CHECKING:
    from delassus.io.recording import Recorder

_MOST_REMARKS = 5  # kinds of warnings that are printed
_MOST_FAILED = 100  # problem files of failed steps: a run that never converges must not fill the disk


def run(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help="Name of a scene; see `delassus scenes`.")],
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the scene; see `delassus scenes SCENE`."),
    ] = None,
    steps: Annotated[int | None, typer.Option(metavar="N", help="Steps in all.")] = None,
    duration: Annotated[
        float | None, typer.Option(metavar="S", help="Simulated seconds in all.  [default: the scene's]")
    ] = None,
    dt: Annotated[float | None, typer.Option(metavar="H", help="Time step in seconds.  [default: the scene's]")] = None,
    solver: Annotated[
        str | None, typer.Option(metavar="NAME", help="Solver; see `delassus solvers`.  [default: auto]")
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(metavar="T", help="Relative accuracy of each step: natural map.  [default: the scene's]"),
    ] = None,
    tol_velocity: Annotated[
        str | None,
        typer.Option(
            metavar="F",
            help="Largest error of velocity, as a factor of the velocities around it or of what falls in one step: a "
            "number, auto (the same as --tol) or none.  [default: the scene's]",
        ),
    ] = None,
    integrator: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Time integrator: moreau or euler.  [default: the scene's]"),
    ] = None,
    law: Annotated[Law | None, typer.Option(help="Contact law.  [default: ncp]")] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Threads of collision detection and, with --solver, of a solver whose settings have threads; `auto` "
            "solves with one.  [default: 1]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", parser=folder, help="Where the recording, figure and problems go.  [default: runs/SCENE]"
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the recording in DIR, bit for bit as if never stopped.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the recording in DIR.")] = False,
    keep_problem: Annotated[
        str,
        typer.Option(
            metavar="WHEN",
            help="Write the problems of steps as FCLIB files for `delassus solve`: when-failed, 'every N' or never.",
        ),
    ] = FAILED,
    json: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write parameters, settings, summary and checks as JSON.")
    ] = None,
) -> None:
    """Simulate a scene, record every step, and check what came out against physics.

    The recording (HDF5: states, contact forces, joint reactions, energies, solver reports) is written as the run goes;
    Ctrl-C keeps every completed step. summary.png shows penetration, residual, drift, energy, iterations and contacts.

    \b
      delassus run four-bar
      delassus run sphere-pile --set n=200 --duration 2 --dt 2e-3
      delassus run wall --out runs/fast --set speed=20 --json wall.json
      delassus run wall --out runs/fast --resume --duration 4

    Exit code: 0 all steps converged, none is suspicious and all checks pass, 1 not so, 2 bad input, 130 interrupted.
    """
    given = {"dt": dt, "solver": solver, "tol": tol, "tol_velocity": tol_velocity, "integrator": integrator,
             "threads": threads, "law": None if law is None else law.value}  # fmt: skip
    settings = {key: value for key, value in given.items() if value is not None}
    wishes = Wishes(scene, parameters or [], steps, duration, settings, out, resume, overwrite, keep_problem, json)
    with console.errors_end_it():
        plan = make_plan(wishes)
        code = _carry_out(plan)
    raise typer.Exit(code)


def _carry_out(plan: RunPlan) -> int:
    recorder, state, memory = _open(plan)
    before, problems, remarks = recorder.step_count, _Problems(plan), _Remarks()
    if before >= plan.steps:
        typer.echo(f"nothing to do: {plan.out} has {before} steps; ask for more with --steps or --duration", err=True)
    start, trouble, interrupted = perf_counter(), None, False
    try:
        with recorder:
            _steps(plan, recorder, state, memory, problems, remarks)
    except KeyboardInterrupt:
        interrupted = True
    except DelassusError as error:
        trouble = error
    seconds = perf_counter() - start
    if interrupted or trouble is not None:
        kept = f"{recorder.written_count} of {plan.steps} steps are kept in {plan.out}"
        if trouble is not None:
            console.say_error(trouble)
        typer.echo(f"{'stopped' if trouble else 'interrupted'}: {kept}", err=True)
        typer.echo(f"resume with: {plan.resume_command}", err=True)
    if trouble is not None:
        return console.BAD_INPUT
    return _report(plan, recorder.step_count - before, seconds, problems.paths, remarks, interrupted)


def _open(plan: RunPlan):
    """(recorder, state, memory) to go on from."""
    from delassus.io.recording import Recorder
    from delassus.simulation import Memory

    if plan.resume:
        return Recorder.resume(plan.out, plan.about, plan.setup.model)
    recorder = Recorder.create(plan.out, plan.about, plan.setup.model, plan.setup.state, overwrite=plan.overwrite)
    return recorder, plan.setup.state, Memory()


def _steps(plan: RunPlan, recorder: "Recorder", state, memory, problems: "_Problems", remarks: "_Remarks") -> None:
    from delassus.cli.run_display import RunDisplay
    from delassus.scenes.stepping import advance

    first = recorder.step_count
    display = RunDisplay(plan.steps, first)
    with display:

        def watch(k, state, report, memory):
            recorder.add(state, report, memory)
            problems.look(k, state, report)
            remarks.look(k, report)
            display.step(k + 1, state, report)

        advance(plan.setup.model, state, plan.setup.inputs, plan.settings, range(first, plan.steps), memory, watch)


class _Problems:
    """Writes the problems of the steps asked for."""

    def __init__(self, plan: RunPlan):
        self.every = plan.keep_every
        self.folder = plan.out / PROBLEMS
        self.scene = plan.scene.name
        self.paths: list[Path] = []
        if plan.overwrite:  # the problems of the run that is being replaced would pass for those of this one
            for path in self.folder.glob("step-*.hdf5"):
                path.unlink()

    def look(self, k: int, state, report) -> None:
        """k: number of the step."""
        if self.every is None or (self.every > 0 and k % self.every):
            return
        if self.every == 0 and (report.solution.converged or len(self.paths) >= _MOST_FAILED):
            return
        from delassus.cli.plan import make_directory
        from delassus.io.fclib import write_fclib
        from delassus.io.recording import problem_file

        make_directory(self.folder)
        path = self.folder / f"step-{k:06d}.hdf5"
        title = f"{self.scene}, step {k} to t = {state.t:.9g} s"
        # a step repeated after a resume, or a run with --overwrite, replaces its own file
        write_fclib(path, problem_file(report.problem, report.solution, title=title), overwrite=True)
        self.paths.append(path)


class _Remarks:
    """What reports of steps find suspicious: each kind of sentence once, with the step that said it first."""

    def __init__(self):
        self.first: dict[str, tuple[int, str]] = {}
        self.count: dict[str, int] = {}

    def look(self, k: int, report) -> None:
        """k: number of the step."""
        for text in report.warnings:
            kind = re.sub(r"[0-9][0-9.e+-]*", "", text)
            self.first.setdefault(kind, (k, text))
            self.count[kind] = self.count.get(kind, 0) + 1

    @property
    def texts(self) -> list[str]:
        often = sorted(self.first, key=lambda kind: -self.count[kind])
        lines = [
            f"{self.count[kind]} steps, first step {self.first[kind][0]}: {self.first[kind][1]}"
            for kind in often[:_MOST_REMARKS]
        ]
        more = len(often) - _MOST_REMARKS
        return lines + ([f"and {more} other warnings"] if more > 0 else [])


def _report(
    plan: RunPlan, taken: int, seconds: float, problems: list[Path], remarks: _Remarks, interrupted: bool
) -> int:
    from delassus.cli.run_report import print_checks, print_summary, summary, write_figure, write_result
    from delassus.io.recording import Recording

    recording = Recording(plan.out)
    facts = summary(recording, seconds)
    checks = plan.scene.check(plan.setup, recording)
    out = console.stdout()
    print_summary(facts, recording, taken, out)
    for text in remarks.texts:
        out.print(text, soft_wrap=True)
    print_checks(checks, out)
    if problems:
        how = f"--law {plan.settings.law.value} --tol {plan.settings.tol:g}"
        out.print(
            f"{len(problems)} problems kept; look at one with: delassus solve {problems[0]} {how}", soft_wrap=True
        )
    figure = write_figure(plan, recording) if recording.step_count else None
    out.print(f"recording: {plan.out}" + (f", figure: {figure}" if figure else ""), soft_wrap=True)
    write_result(plan, facts, checks, problems, figure, interrupted)
    if interrupted:
        return console.INTERRUPTED
    is_fine = facts["not_converged"] == facts["suspicious"] == 0
    return 0 if is_fine and all(check.passed for check in checks) else 1
