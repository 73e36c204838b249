"""`delassus run`: its options, and the way from them to the exit code."""

from os import pathsep
from pathlib import Path
from typing import Annotated

import typer

from delassus.cli import console, files
from delassus.cli.run.plan import FAILED, RunOptions, RunPlan, make_plan
from delassus.errors import DelassusError
from delassus.law import Law

_LIKE_A_FILE = "quadruped"  # the scene that needs about the kernels that models of other programs do


def run(
    scene: Annotated[
        str,
        typer.Argument(
            metavar="SCENE",
            help="Name of a scene, see `delassus scenes`; or the file of a model (MJCF, URDF, USD).",
        ),
    ],
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the scene; see `delassus scenes SCENE`."),
    ] = None,
    keyframe: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the file, to start from.  [default: its initial pose]")
    ] = None,
    ctrl: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Control of an actuator of the file.  [default: the keyframe's, or 0]"),
    ] = None,
    hold: Annotated[
        str | None,
        typer.Option(
            metavar="K,D",
            help="Actuators hold the pose they start from: plain motors of the file as servos of this stiffness and "
            "damping [N m/rad, N m s/rad].",
        ),
    ] = None,
    folders: Annotated[
        list[Path] | None,
        typer.Option("--folder", metavar="DIR", help="That the file may read from beside its own, such as meshes."),
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
        typer.Option(
            metavar="NAME", help="Time integrator: moreau, euler, iterated or penalty.  [default: the scene's]"
        ),
    ] = None,
    law: Annotated[Law | None, typer.Option(help="Contact law.  [default: ncp]")] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Threads of collision detection, of `auto` among islands and, with --solver, of a solver whose "
            "settings have threads.  [default: 1]",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=files.folder,
            help="Where the recording, figure and problems go.  [default: runs/SCENE]",
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
    vtu: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Write flexible bodies after every N steps for ParaView, as DIR/vtu/flexible.pvd."
        ),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write parameters, settings, summary and checks as JSON.")
    ] = None,
    pictures: Annotated[
        bool, typer.Option(help="Put five rendered pictures above the plots, where the extra `render` is installed.")
    ] = True,
) -> None:
    """Simulate a scene, record every step, and check what came out against physics.

    The recording (HDF5: states, contact forces, joint reactions, energies, solver reports) is written as the run goes;
    Ctrl-C keeps every completed step. summary.png shows penetration, residual, drift, energy, iterations and contacts;
    flexible.png, where bodies bend, stresses, forces and energies.

    \b
      delassus run four-bar
      delassus run sphere-pile --set n=200 --duration 2 --dt 2e-3
      delassus run wall --out runs/fast --set speed=20 --json wall.json
      delassus run wall --out runs/fast --resume --duration 4
      delassus run robot.xml --keyframe home --ctrl knee=0.5

    Exit code: 0 all steps converged, none is suspicious and all checks pass, 1 not so, 2 bad input, 130 interrupted.
    """
    from delassus.cli.ahead.workers import compile_ahead
    from delassus.scenes import SCENES

    given = {
        "dt": dt,
        "solver": solver,
        "tol": tol,
        "tol_velocity": tol_velocity,
        "integrator": integrator,
        "threads": threads,
        "law": None if law is None else law.value,
    }
    settings = {key: value for key, value in given.items() if value is not None}
    of_file = {
        "keyframe": keyframe,
        "ctrl": ",".join(ctrl or []),
        "hold": hold,
        "folders": pathsep.join(map(str, folders or [])),
    }
    pairs = [*(parameters or []), *(f"{key}={value}" for key, value in of_file.items() if value)]
    options = RunOptions(
        scene, pairs, steps, duration, settings, out, resume, overwrite, keep_problem, json, vtu, pictures
    )
    if scene in SCENES or Path(scene).is_file():
        compile_ahead(f"run {scene if scene in SCENES else _LIKE_A_FILE}")
    raise typer.Exit(_carry_out(make_plan(options)))


def _carry_out(plan: RunPlan) -> int:
    from delassus.cli.run.report import report
    from delassus.cli.run.steps import Problems, open_recording, take_steps
    from delassus.simulation.many_steps import Trouble
    from delassus.waiting import clock

    for note in plan.setup.notes:
        typer.echo(f"not carried over: {note}", err=True)
    recorder, state, memory = open_recording(plan)
    before, problems, trouble = recorder.step_count, Problems(plan), Trouble()
    if before >= plan.steps:
        typer.echo(f"nothing to do: {plan.out} has {before} steps; ask for more with --steps or --duration", err=True)
    start, failure, interrupted = clock(), None, False
    try:
        with recorder:
            take_steps(plan, recorder, state, memory, problems, trouble)
    except KeyboardInterrupt:
        interrupted = True
    except DelassusError as error:
        failure = error
    seconds = clock() - start
    if interrupted or failure is not None:
        kept = f"{recorder.written_count} of {plan.steps} steps are kept in {plan.out}"
        if failure is not None:
            console.say_error(failure)
        typer.echo(f"{'stopped' if failure else 'interrupted'}: {kept}", err=True)
        typer.echo(f"resume with: {plan.resume_command}", err=True)
    if failure is not None:
        return console.BAD_INPUT
    return report(plan, recorder.step_count - before, seconds, problems.paths, trouble.warnings, interrupted)
