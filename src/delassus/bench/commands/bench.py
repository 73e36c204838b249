"""`delassus bench`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from delassus.bench.commands.ranking import print_ranking
from delassus.cli import console
from delassus.cli.tables import Column, print_table
from delassus.view.extra import need_figures

if TYPE_CHECKING:
    from delassus.bench.benchmark import Benchmark
    from delassus.bench.result import Result


def bench(
    suite: Annotated[
        str | None, typer.Argument(metavar="[SUITE]", help="Name of a suite; without one, list the suites.")
    ] = None,
    solvers: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Solvers and peers (clarabel, siconos:NSGS, …).  [default: the suite's]"),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(metavar="T", help="Relative natural map; velocities to 100 T.  [default: the suite's]"),
    ] = None,
    start: Annotated[str, typer.Option(metavar="cold|warm|both", help="Where solves begin.")] = "both",
    time_limit: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds per solve, kept from outside.  [default: the suite's]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where rows and report go.  [default: bench/SUITE]")
    ] = None,
    processes: Annotated[
        int, typer.Option(metavar="N", help="Solves at the same time; 1 gives the cleanest times.")
    ] = 1,
    only: Annotated[list[str] | None, typer.Option(metavar="SAMPLE", help="Only samples of that name.")] = None,
    files: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where the files of suite fclib are.")] = None,
) -> None:
    """Compare solvers on problems taken from real time steps, and write a report.

    Every solver gets every problem, from zero (cold) and from the reactions of the step before (warm). Each row goes to
    rows.jsonl as soon as it is there: an interrupted benchmark continues where it stopped when called again. What a
    solver claims is checked by our own residual on the point it returns.

    \b
      delassus bench quick
      delassus bench loops --solvers nbgs,prox-ssn,pinocchio-admm --tol 1e-8
      delassus bench fclib --files path/to/fclib --solvers nbgs+anderson,siconos:NSGS
      delassus report bench/quick

    Exit code: 0 done, 1 some claim was not confirmed, 2 bad input, 130 interrupted.
    """
    if suite is None:
        _list_suites()
        return
    raise typer.Exit(_run(suite, solvers, tol, start, time_limit, out, processes, only or [], files))


def _list_suites() -> None:
    from delassus.bench import SUITES

    lines = list(SUITES.values())
    columns = [
        Column("suite", [line.name for line in lines]),
        Column("what", [line.summary for line in lines], narrow=40),
        Column("sequences", [", ".join(take.sequence for take in line.takes) or "files" for line in lines], narrow=40),
        Column("tol", [f"{line.tol:g}" for line in lines]),
    ]
    print_table(columns, console.stdout())


def _run(
    name: str,
    solvers: str | None,
    tol: float | None,
    start: str,
    time_limit: float | None,
    out: Path | None,
    processes: int,
    only: list[str],
    files: Path | None,
) -> int:
    from delassus.bench.benchmark import Benchmark, BenchmarkSettings
    from delassus.bench.report import write_report
    from delassus.bench.suites import SUITES

    need_figures()
    suite = SUITES.find(name)
    settings = BenchmarkSettings(
        suite=suite,
        out=out or Path("bench") / name,
        solvers=tuple(solvers.split(",")) if solvers else suite.solvers,
        tol=suite.tol if tol is None else tol,
        starts=("cold", "warm") if start == "both" else (start,),
        time_limit=suite.time_limit if time_limit is None else time_limit,
        processes=processes,
        only=tuple(only),
        folder=files,
    )
    err = console.stderr()
    err.print(f"suite {name}: making samples…", style="dim")
    benchmark = Benchmark(settings)
    err.print(f"{len(benchmark.samples)} samples, {benchmark.left} runs to do", style="dim")
    try:
        rows = _watch(benchmark)
    except KeyboardInterrupt:
        err.print(f"interrupted; continue with the same command (--out {settings.out})")
        return console.INTERRUPTED
    about = benchmark.about()
    path = write_report(settings.out, rows, about)
    print_ranking(rows, settings.time_limit)
    console.stdout().print(f"report: {path}", soft_wrap=True)
    return 1 if any(not row.confirmed and row.solver.partition(":")[0] not in _peers() for row in rows) else 0


def _peers() -> Any:
    from delassus.bench.peers import PEERS

    return PEERS


def _watch(benchmark: "Benchmark") -> "list[Result]":
    """Run with a bar that estimates how long it will take."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    out = console.stderr()
    columns = (
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[now]}", markup=False),
    )
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as bar:
        task = bar.add_task("", total=benchmark.left, now="starting…")

        def progress(row: "Result") -> None:
            bar.update(task, advance=1, now=f"{row.solver} {row.start} {row.sample} {row.status}")

        return benchmark.run(progress)
