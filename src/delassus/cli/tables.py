"""Tables that stay readable in a narrow terminal (columns are left out rather than numbers cut), and numbers as people
read them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

MISSING = "–"
"""Stands where there is no number."""
_GAP = 2  # characters between columns
_ENOUGH = 24  # characters of a file name that may be broken after them


@dataclass
class Column:
    """A column of texts; `narrow`: fewest characters if it may be broken over lines; `spare`: may be left out."""

    heading: str
    cells: "list[str] | list[Text]"
    right: bool = False
    narrow: int | None = None
    spare: bool = False

    @property
    def widest(self) -> int:
        """Characters of the longest cell, or of the longest word above it."""
        return max([len(word) for word in self.heading.split()] + [len(cell) for cell in self.cells])

    @property
    def least(self) -> int:
        """Characters below which nothing of the column may be shown."""
        words = max(len(word) for word in self.heading.split())
        return self.widest if self.narrow is None else max(words, min(self.widest, self.narrow))

    @property
    def enough(self) -> int:
        """Characters with which it looks well; to get them, spare columns are given up."""
        return max(self.least, min(self.widest, _ENOUGH))


def print_table(columns: list[Column], console: "Console") -> None:
    """Print what fits; spare columns go from the right, and a line says so."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    shown = list(columns)
    while _total([column.enough for column in shown]) > console.width and any(column.spare for column in shown):
        shown.remove([column for column in shown if column.spare][-1])
    # widths are set here because rich, when short of room, also narrows columns below their min_width and cuts numbers
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
    for column, width in zip(shown, _widths(shown, console.width)):
        table.add_column(column.heading, justify="right" if column.right else "left", width=width, overflow="fold")
    for cells in zip(*(column.cells for column in shown)):
        table.add_row(*cells)
    # in a terminal too narrow even for that, lines run over: better than numbers broken in two
    console.width = max(console.width, _total([column.least for column in shown]))
    console.print(table)
    left_out = [column.heading for column in columns if column not in shown]
    if left_out:
        console.print(f"narrow terminal: {', '.join(left_out)} left out", style="dim", soft_wrap=True)


def print_options(kind: str, rows: list[tuple[str, str, str]], command: str, console: "Console") -> None:
    """Names, defaults and meanings, and how to change one. kind: what they are called."""
    names, defaults, meanings = ([row[k] for row in rows] for k in range(3))
    print_table([Column(kind, names), Column("default", defaults), Column("meaning", meanings, narrow=30)], console)
    console.print(f"change one with: {command} --set {kind.upper()}=VALUE", style="dim", soft_wrap=True)


def print_facts(lines: list[tuple[str, str]], console: "Console") -> None:
    """Two columns: what, and how much."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, _GAP, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for key, value in lines:
        grid.add_row(key, Text(value))
    console.print(grid)


def _widths(columns: list[Column], room: int) -> list[int]:
    """Least widths, then more for cells that would be broken, then for headings that would."""
    widths = [column.least for column in columns]
    for wish in ([column.widest for column in columns], [len(column.heading) for column in columns]):
        for k, wanted in enumerate(wish):
            widths[k] += max(0, min(wanted - widths[k], room - _total(widths)))
    return widths


def _total(widths: list[int]) -> int:
    return sum(widths) + _GAP * len(widths) - 1  # rich reserves the last column's padding although it shows none


def seconds(value: float) -> str:
    """'35 µs', '4.2 ms', '1.73 s', '12 min 5 s'."""
    if value < 1e-3:
        return f"{1e6 * value:.0f} µs"
    if value < 1.0:
        return f"{1e3 * value:.3g} ms" if value < 0.9995 else "1 s"
    if value < 120.0:
        return f"{value:.3g} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s"


def count(value: int | None) -> str:
    """'12000' (no separators: tables are piped into other programs), or a dash."""
    return MISSING if value is None else str(value)


def scientific(value: float | None) -> str:
    """'3.2e-07', or a dash."""
    return MISSING if value is None else f"{value:.1e}"


def plain(value: float | None) -> str:
    """Three significant digits, or a dash."""
    return MISSING if value is None else f"{value:.3g}"
