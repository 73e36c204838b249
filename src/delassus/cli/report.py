"""What `delassus solve` says at the end: table, advice, JSON, figure."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from delassus.cli import wording
from delassus.cli.batch import Batch, Row
from delassus.cli.outputs import replace_file, write_json
from delassus.cli.plan import Plan
from delassus.cli.tables import Column, print_table
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


def print_report(batch: Batch, names: dict[Path, str], console: "Console") -> None:
    """Table, then one line for each way of not converging that occurred."""
    if not batch.rows:
        return
    print_table(_columns(batch.rows, names), console)
    for status in Status:
        if status is not Status.CONVERGED and any(row.solution.status is status for row in batch.rows):
            console.print(f"{_words(status)}: {status.advice}", soft_wrap=True)


def write_results(plan: Plan, batch: Batch, names: dict[Path, str]) -> None:
    """The JSON file and the figure, where asked for."""
    if plan.outputs.json is not None:
        write_json(plan.outputs.json, [as_json(row) for row in batch.rows])
    if plan.outputs.plot is not None and batch.rows:
        from delassus.view.central_path import central_path
        from delassus.view.convergence import Curve, draw, image

        curves = [Curve(names[row.file], row.solution.solver, row.trace, row.solution.converged) for row in batch.rows]
        followed = [central_path(names[row.file], row.solution, row.trace) for row in batch.rows]
        figure = draw(curves, tol=plan.limits["tol"], paths=[path for path in followed if path is not None])
        replace_file(plan.outputs.plot, image(figure, plan.outputs.plot.suffix.lower().lstrip(".")))


def as_json(row: Row) -> dict[str, Any]:
    """One run as an object; numbers that are not finite become null when written."""
    solution = row.solution
    return {
        "file": str(row.file),
        "solver": solution.solver,
        "settings": {name: value for name, value in asdict(row.settings).items() if name != "solver"},
        "law": solution.law.value,
        "contacts": row.contacts,
        "rows": len(solution.reactions),
        "status": solution.status.value,
        "tol": solution.tol,
        "tol_velocity": solution.tol_velocity,
        "iterations": solution.iterations,
        "seconds": solution.seconds,
        "times": solution.times,
        "residuals": solution.residuals.as_dict(),
        "solution_file": None if row.solution_file is None else str(row.solution_file),
    }


def _columns(rows: list[Row], names: dict[Path, str]) -> list[Column]:
    from rich.text import Text

    done = [row.solution for row in rows]
    times = [wording.seconds(row.solution.seconds) for row in rows]
    return [
        Column("file", [Text(names[row.file]) for row in rows], narrow=14),
        Column("solver", [solution.solver for solution in done]),
        Column("contacts", [wording.count(row.contacts) for row in rows], right=True, spare=True),
        Column("status", [Text(_words(each.status), style=STYLE[each.status]) for each in done], narrow=10),
        Column("iter.", [wording.count(solution.iterations) for solution in done], right=True),
        Column("time", times, right=True),
        Column(
            "rel. natural map",
            [wording.scientific(each.residuals.natural_map_relative) for each in done],
            right=True,
        ),
        Column(
            "rel. velocity",
            [wording.scientific(each.residuals.worst_velocity_relative) for each in done],
            right=True,
        ),
    ]


def _words(status: Status) -> str:
    return status.value.replace("_", " ")
