"""`delassus reproduce`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from delassus.cli import console
from delassus.cli.tables import Column, print_table


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME|all]", help="An experiment; without one, list them.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller version of the same.")] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the page and pictures go.")] = Path("reproduced"),
) -> None:
    """Run an experiment of the papers and print the paper's figure beside ours.

    Every line says what it was held against before the run; where it differs, the page says what we think is behind it.

    \b
      delassus reproduce
      delassus reproduce table-ii
      delassus reproduce all --quick

    Exit code: 0 done, whatever came out; 2 bad input.
    """
    from delassus.reproduce import EXPERIMENTS, find_experiment
    from delassus.reproduce.experiment import page

    if name is None:
        lines = list(EXPERIMENTS.values())
        columns = [Column("name", [x.name for x in lines]), Column("paper", [x.paper for x in lines]),
                   Column("what", [x.title for x in lines], narrow=40)]  # fmt: skip
        print_table(columns, console.stdout())
        return
    chosen = list(EXPERIMENTS.values()) if name == "all" else [find_experiment(name)]
    done = []
    for experiment in chosen:
        console.stderr().print(f"{experiment.name}: {experiment.title}…", style="dim")
        outcome = experiment.carry_out(out, quick)
        done.append((experiment, outcome))
        _print(outcome)
    path = out / "index.html"
    path.write_text(page(done), encoding="utf-8")
    console.stdout().print(f"page: {path}", soft_wrap=True)


def _print(outcome: Any) -> None:
    lines = outcome.lines
    columns = [
        Column("what", [line.what for line in lines], narrow=40),
        Column("paper", [line.paper for line in lines]),
        Column("ours", [line.ours for line in lines], narrow=24),
        Column("verdict", [line.verdict for line in lines]),
        Column("criterion", [line.criterion + (f" ({line.why})" if line.why else "") for line in lines], narrow=30),
    ]
    print_table(columns, console.stdout())
