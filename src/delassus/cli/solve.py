"""`delassus solve`."""

from pathlib import Path
from typing import Annotated

import typer

from delassus.cli import console
from delassus.cli.inputs import folder
from delassus.cli.plan import Outputs, Plan, make_plan, velocity_tolerance
from delassus.law import Law

# The defaults of `delassus.solve`, repeated because importing them would cost --help a second; a test compares.
DEFAULT_TOL = 1e-6
DEFAULT_MAX_ITER = 1_000_000


def solve(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="FCLIB problem files (HDF5).")],
    solver: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Solver; repeat to compare several. See `delassus solvers`.  [default: auto]"
        ),
    ] = None,
    law: Annotated[
        Law, typer.Option(help="Contact law: exact Coulomb friction, its convex relaxation, or no friction.")
    ] = Law.NCP,
    tol: Annotated[
        float,
        typer.Option(
            help="Relative natural map to reach: how far the reactions are from satisfying the law, as a fraction of "
            "their size. A pure number: kilograms or grams make no difference."
        ),
    ] = DEFAULT_TOL,
    tol_velocity: Annotated[
        str,
        typer.Option(
            metavar="F",
            help="Also require the velocity of every contact, limit and joint to be right to this factor of the "
            "velocities around it (of its island): light bodies under heavy ones escape --tol. A pure number, auto "
            "(100 times --tol, at most 0.1) or none.",
        ),
    ] = "auto",
    max_iter: Annotated[int, typer.Option(metavar="N", help="Most iterations per run.")] = DEFAULT_MAX_ITER,
    time_limit: Annotated[
        float | None, typer.Option(metavar="S", help="Most seconds per run, compiling not counted.")
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(metavar="N", help="Threads, for solvers that can use several (they say so in their settings)."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the solver; see `delassus solvers NAME`."),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write all residuals, times and settings of every run as JSON.")
    ] = None,
    write_solution: Annotated[
        Path | None,
        typer.Option(metavar="DIR", parser=folder, help="Write a copy of each file with its solution group filled."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Let --write-solution replace files in DIR.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="OUT.png", help="Draw residual against iterations and seconds (png, pdf or svg)."),
    ] = None,
) -> None:
    """Solve problem files, each with every solver given, and say how accurate the results are.

    The residual is recomputed on the returned point by one judge for all solvers. The table shows the two figures runs
    are stopped on, natural map and worst velocity, both relative; --json holds every residual (velocity in m/s, primal,
    dual, complementarity, Siconos' scaling, ...).

    \b
      delassus solve pile.hdf5 --tol 1e-8 --time-limit 60
      delassus solve *.hdf5 --solver nbgs --solver pgs-ccp --plot race.png
      delassus solve pile.hdf5 --set omega=1.3 --json runs.json --write-solution solved/

    Exit code: 0 all converged, 1 some did not, 2 bad input, 130 interrupted (what was finished is kept).
    """
    outputs = Outputs(json=json, plot=plot, solution_dir=write_solution, overwrite=overwrite)
    with console.errors_end_it():
        velocity = velocity_tolerance(tol_velocity)
        limits = {"tol": tol, "tol_velocity": velocity, "max_iter": max_iter, "time_limit": time_limit}
        plan = make_plan(files, solver or [], settings or [], law, limits, outputs, threads)
    raise typer.Exit(_carry_out(plan))


def _carry_out(plan: Plan) -> int:
    from delassus.cli.batch import run_plan
    from delassus.cli.inputs import short_names
    from delassus.cli.progress import Display
    from delassus.cli.report import print_report, write_results

    names = short_names(plan.files)
    batch = run_plan(plan, Display(plan.run_count, names))
    print_report(batch, names, console.stdout())
    if batch.interrupted:
        typer.echo(f"interrupted: {len(batch.rows)} of {plan.run_count} runs finished", err=True)
    with console.errors_end_it():
        write_results(plan, batch, names)
    return batch.exit_code
