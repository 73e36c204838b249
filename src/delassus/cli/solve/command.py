"""`delassus solve`: its options, and the plan they make, with everything checked that can be before a file is read."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from delassus.cli import console, files, options
from delassus.cli.options import AUTO
from delassus.errors import FileError, SettingsError
from delassus.law import Law
from delassus.view.extra import need_figures

# The defaults of `delassus.solve`, repeated because importing them would cost --help a second; a test compares.
DEFAULT_TOL = 1e-6
DEFAULT_MAX_ITER = 1_000_000


def solve(
    file: options.ProblemFiles,
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
        typer.Option(
            metavar="DIR", parser=files.folder, help="Write a copy of each file with its solution group filled."
        ),
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
      delassus solve pile.hdf5 --solver nbgs --set omega=1.3 --json runs.json --write-solution solved/

    Exit code: 0 all converged, 1 some did not, 2 bad input, 130 interrupted (what was finished is kept).
    """
    from delassus.cli.solve.report import print_report, write_results
    from delassus.cli.solve.runs import solve_all

    limits = {
        "tol": tol,
        "tol_velocity": options.velocity_tolerance(tol_velocity),
        "max_iter": max_iter,
        "time_limit": time_limit,
    }
    outputs = Outputs(json=json, plot=plot, solution_dir=write_solution, overwrite=overwrite)
    plan = make_plan(file, solver or [], settings or [], law, limits, outputs, threads)
    batch = solve_all(plan)
    print_report(plan, batch, console.stdout())
    if batch.interrupted:
        typer.echo(f"interrupted: {len(batch.runs)} of {plan.run_count} runs finished", err=True)
    write_results(plan, batch)
    raise typer.Exit(batch.exit_code)


@dataclass(frozen=True)
class Outputs:
    """Where results go besides the table; None: nowhere."""

    json: Path | None = None
    plot: Path | None = None
    solution_dir: Path | None = None
    overwrite: bool = False  # may files in solution_dir be replaced?


@dataclass(frozen=True)
class Plan:
    """Build with `make_plan`: every file is solved by every solver."""

    files: list[Path]
    solvers: list[str]
    settings: dict[str, str]
    law: Law
    limits: dict[str, Any]  # keyword arguments of `delassus.solve`
    outputs: Outputs
    threads: int | None = None  # for solvers that can use several
    complaints: list[FileError] = field(default_factory=list)  # patterns that match no file

    @property
    def labels(self) -> dict[Path, str]:
        """What to call each file in a table."""
        return files.short_names(self.files)

    @property
    def run_count(self) -> int:
        return len(self.files) * len(self.solvers)

    def solution_path(self, file: Path, solver: str) -> Path | None:
        """Where the solution of this run goes."""
        if self.outputs.solution_dir is None:
            return None
        name = file.name if len(self.solvers) == 1 else f"{file.stem}.{solver}{file.suffix}"
        return self.outputs.solution_dir / name


def make_plan(
    names: list[str],
    solvers: list[str],
    pairs: list[str],
    law: Law,
    limits: dict[str, Any],
    outputs: Outputs,
    threads: int | None = None,
) -> Plan:
    """Check settings, outputs, names and limits, in the order of cost; raises SettingsError or FileError."""
    paths, complaints = files.expand(names)
    wanted = list(dict.fromkeys(solvers or [AUTO]))
    plan = Plan(paths, wanted, options.key_values(pairs, "omega=1.2"), law, limits, outputs, threads, complaints)
    _check_outputs(plan)
    _check_solvers(plan)
    if outputs.solution_dir is not None:
        files.make_directory(outputs.solution_dir)
    return plan


def _check_outputs(plan: Plan) -> None:
    outputs = plan.outputs
    for path in (outputs.json, outputs.plot):
        if path is not None:
            files.check_output(path, plan.files)
    if outputs.plot is not None and outputs.plot.suffix.lower() not in files.FIGURES:
        raise FileError(f"{outputs.plot}: not a kind of figure known here: end it in {', '.join(files.FIGURES)}")
    if outputs.plot is not None:
        need_figures()
    solutions = [plan.solution_path(file, solver) for file in plan.files for solver in plan.solvers]
    written = [path for path in [outputs.json, outputs.plot, *solutions] if path is not None]
    for path in filter(None, solutions):
        with files.looking_at(path):
            _check_solution(path, plan)
    files.check_distinct(written)


def _check_solution(path: Path, plan: Plan) -> None:
    files.refuse_input(path, plan.files)
    if path.is_dir():
        raise FileError(f"{path}: is a directory: choose another --write-solution directory")
    if path.exists() and not plan.outputs.overwrite:
        raise FileError(f"{path}: exists already: give --overwrite or another --write-solution directory")


def _check_solvers(plan: Plan) -> None:
    """Names and settings of the solvers, and the limits: the first import that takes time."""
    from delassus.solvers.driver import Limits
    from delassus.solvers.table import find

    Limits(**plan.limits)
    for name in plan.solvers:
        if name != AUTO:
            options.with_threads(find(name)[1].parsed(plan.settings), plan.threads)
    if AUTO in plan.solvers and plan.settings:
        _check_some_solver_takes(plan.settings)
    if plan.threads is not None:
        options.check_threads(plan.threads)


def _check_some_solver_takes(settings: dict[str, str]) -> None:
    """Which solver "auto" is shows once a file is read; what none of them takes is refused before."""
    from delassus.solvers.table import SOLVERS

    errors = []
    for line in SOLVERS.values():
        try:
            options.with_threads(line.settings.parsed(settings), None)
        except SettingsError as error:
            errors.append(error)
    if len(errors) == len(SOLVERS):
        raise errors[0]
