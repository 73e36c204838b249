"""The ranking of a benchmark's solvers, as `bench` and `report` print it."""

from typing import TYPE_CHECKING

from delassus.cli import console
from delassus.cli.tables import Column, print_table

if TYPE_CHECKING:
    from delassus.bench.result import Result


def print_ranking(rows: "list[Result]", limit: float) -> None:
    """One line per solver and start, the best first.  limit: seconds per solve."""
    from delassus.bench.metrics import scores

    table = scores(rows, limit)
    columns = [
        Column("solver", [line.solver for line in table]),
        Column("start", [line.start for line in table]),
        Column("solved", [f"{line.solved}/{line.count}" for line in table]),
        Column("mean", [f"{1e3 * line.mean:.3g} ms" for line in table]),
        Column("p95", [f"{1e3 * line.p95:.3g} ms" for line in table]),
        Column("fastest on", [f"{100 * line.best:.0f} %" for line in table]),
        Column("iterations", [f"{line.iterations:.0f}" for line in table]),
        Column("claims not confirmed", [str(line.claims_not_confirmed) for line in table]),
    ]
    print_table(columns, console.stdout())
