"""`delassus report`."""

from pathlib import Path
from typing import Annotated

import typer

from delassus.bench.commands.ranking import print_ranking
from delassus.cli import console
from delassus.view.extra import need_figures


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `delassus bench --out` wrote.")],
) -> None:
    """Write report.html, CSV files and the profile of a benchmark again, from its rows."""
    from delassus.bench.report import read_rows, write_report

    need_figures()
    rows, about = read_rows(folder)
    path = write_report(folder, rows, about)
    print_ranking(rows, float(about["time_limit"]))
    console.stdout().print(f"report: {path}", soft_wrap=True)
