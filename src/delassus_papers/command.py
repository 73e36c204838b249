"""`delassus reproduce`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from delassus.cli import console
from delassus.cli.command import Command
from delassus.cli.tables import Column, print_table
from delassus.view.extra import need_figures


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME|all]", help="An experiment; without one, list them.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller version of the same.")] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where pages and pictures go.")] = Path("reproduced"),
) -> None:
    """Run an experiment of the papers and print the paper's figure beside ours.

    Every claim is judged by a criterion that the paper's own numbers pass: agrees, differs, differs (better), not
    tested. The paper's method with its settings stands beside our best. Pages are made from all experiments the folder
    holds, one page per paper and index.html; what an interrupted `all` has finished stays.

    \b
      delassus reproduce
      delassus reproduce table-ii
      delassus reproduce all --quick

    Exit code: 0 done, whatever came out; 2 bad input.
    """
    from delassus_papers.pages import headline, write_pages
    from delassus_papers.papers import PAPERS
    from delassus_papers.table import EXPERIMENTS

    if name is None:
        lines = list(EXPERIMENTS.values())
        cited = [", ".join(PAPERS[key].cited if key in PAPERS else key for key in x.papers) for x in lines]
        columns = [
            Column("name", [x.name for x in lines]),
            Column("paper", cited),
            Column("shows", [", ".join(x.shows) for x in lines], narrow=30),
            Column("what", [x.title for x in lines], narrow=40),
        ]
        print_table(columns, console.stdout())
        return
    need_figures()
    chosen = list(EXPERIMENTS.values()) if name == "all" else [EXPERIMENTS.find(name)]
    for k, experiment in enumerate(chosen):
        of = f" ({k + 1} of {len(chosen)})" if len(chosen) > 1 else ""
        console.stderr().print(f"{experiment.name}{of}: {experiment.title}…", style="dim")
        outcome = experiment.carry_out(out, quick)
        path = write_pages(out, EXPERIMENTS)
        _print(outcome)
        console.stdout().print(
            f"{experiment.name}: {headline(outcome.lines)} ({outcome.seconds:.0f} s)", soft_wrap=True
        )
    console.stdout().print(f"page: {path}", soft_wrap=True)


def _print(outcome: Any) -> None:
    lines = outcome.lines
    columns = [
        Column("place", [line.place for line in lines]),
        Column("what", [f"{line.says} ({line.quantity})" for line in lines], narrow=36),
        Column("paper", [line.printed for line in lines], narrow=14),
        Column("published method", [line.published for line in lines], narrow=20),
        Column("ours", [line.ours for line in lines], narrow=14),
        Column("verdict", [line.verdict for line in lines]),
        Column("agrees if", [line.criterion + (f" ({line.why})" if line.why else "") for line in lines], narrow=30),
    ]
    print_table(columns, console.stdout())


LINES = [Command("reproduce", "delassus_papers.command", "Run the papers' experiments beside their figures.")]
