"""What `delassus solve` says at the end: table, advice, JSON, figure."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from delassus.cli import files, tables
from delassus.cli.solve.command import Plan
from delassus.cli.solve.runs import Batch, Run
from delassus.cli.tables import Column
from delassus.status import Status

if TYPE_CHECKING:
    from rich.console import Console

STYLE = {
    Status.CONVERGED: "green",
    Status.MAX_ITERATIONS: "yellow",
    Status.TIME_LIMIT: "yellow",
    Status.STALLED: "yellow",
    Status.DIVERGED: "red",
    Status.INFEASIBLE: "red",
    Status.UNSUPPORTED: "magenta",
}


def print_report(plan: Plan, batch: Batch, console: "Console") -> None:
    """Table, then one line for each way of not converging that occurred."""
    if not batch.runs:
        return
    tables.print_table(_columns(batch.runs, plan.labels), console)
    for status in Status:
        if status is not Status.CONVERGED and any(run.solution.status is status for run in batch.runs):
            for advice in _advice(status, batch.runs):
                console.print(f"{_words(status)}: {advice}", soft_wrap=True)


def _advice(status: Status, runs: list[Run]) -> list[str]:
    """What to do about it: of a refusal, what each solver refused, once."""
    if status is not Status.UNSUPPORTED:
        return [status.advice]
    return list(dict.fromkeys(run.solution.trace.words[-1] for run in runs if run.solution.status is status))


def write_results(plan: Plan, batch: Batch) -> None:
    """The JSON file and the figure, where asked for."""
    if plan.outputs.json is not None and batch.runs:  # what is there from before is worth more than nothing
        files.write_json(plan.outputs.json, [as_json(run) for run in batch.runs])
    if plan.outputs.plot is not None and batch.runs:
        from delassus.view.central_path import central_path
        from delassus.view.convergence import Curve, draw

        names, runs = plan.labels, batch.runs
        curves = [Curve(names[run.file], run.asked, run.trace, run.solution.converged) for run in runs]
        followed = [central_path(names[run.file], run.solution, run.trace) for run in runs]
        figure = draw(curves, tol=plan.limits["tol"], paths=[path for path in followed if path is not None])
        files.write_figure(plan.outputs.plot, figure)


def as_json(run: Run) -> dict[str, Any]:
    """One run as an object; numbers that are not finite become null when written."""
    solution = run.solution
    return {
        "file": str(run.file),
        "asked": run.asked,
        "solver": solution.solver,
        "settings": {name: value for name, value in asdict(run.settings).items() if name != "solver"},
        "law": solution.law.value,
        "contacts": run.contacts,
        "rows": len(solution.reactions),
        "status": solution.status.value,
        "tol": solution.tol,
        "tol_velocity": solution.tol_velocity,
        "iterations": solution.iterations,
        "seconds": solution.seconds,
        "times": solution.times,
        "residuals": solution.residuals.as_dict(),
        "solution_file": None if run.solution_file is None else str(run.solution_file),
    }


def _columns(runs: list[Run], names: dict[Path, str]) -> list[Column]:
    from rich.text import Text

    done = [run.solution for run in runs]
    times = [tables.seconds(run.solution.seconds) for run in runs]
    return [
        Column("file", [Text(names[run.file]) for run in runs], narrow=14),
        Column("solver", [run.solver for run in runs]),
        Column("contacts", [tables.count(run.contacts) for run in runs], right=True, spare=True),
        Column("status", [Text(_words(each.status), style=STYLE[each.status]) for each in done], narrow=10),
        Column("iter.", [tables.count(solution.iterations) for solution in done], right=True),
        Column("time", times, right=True),
        Column(
            "rel. natural map",
            [tables.scientific(each.residuals.natural_map_relative) for each in done],
            right=True,
        ),
        Column(
            "rel. velocity",
            [tables.scientific(each.residuals.worst_velocity_relative) for each in done],
            right=True,
        ),
    ]


def _words(status: Status) -> str:
    return status.value.replace("_", " ")
