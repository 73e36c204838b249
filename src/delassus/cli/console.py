"""Where text goes: results to stdout; errors as one line and the live line of a command at work to stderr."""

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from delassus.errors import DelassusError, DelassusWarning

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

BAD_INPUT = 2
INTERRUPTED = 130
_UNBOUNDED = 10_000  # characters: a table piped into a file is as wide as it needs to be


def stdout() -> "Console":
    """Console for results."""
    return _console(stderr=False)


def stderr() -> "Console":
    """Console for progress and notes."""
    return _console(stderr=True)


def _console(stderr: bool) -> "Console":
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _UNBOUNDED
    return console


def say_error(error: DelassusError | str) -> None:
    """`error: …` on stderr, on one line whatever the message holds."""
    typer.echo(_one_line(error), err=True)


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """Instead of `warnings.showwarning`: ours are sentences for the reader, and need no place in the source."""
    if issubclass(category, DelassusWarning):
        typer.echo(f"warning: {message}", err=True)
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


def _one_line(error: DelassusError | str) -> str:
    return "error: " + " ".join(str(error).split())


@contextmanager
def errors_end_it() -> Iterator[None]:
    """Our own exceptions become one line and exit code 2; anything else is a bug and keeps its traceback."""
    try:
        yield
    except DelassusError as error:
        say_error(error)
        raise typer.Exit(BAD_INPUT) from None


class Display:
    """How many runs or steps are done, and what the current one does: a context manager that shows a bar in a terminal
    only, errors and notes everywhere."""

    def __init__(self, total: int, done: int = 0):
        self._console = stderr()
        self._progress = self._make_progress()
        self._task = self._progress.add_task("", total=total, completed=done, now="")

    def __enter__(self) -> "Display":
        if self._console.is_terminal:
            logging.getLogger("delassus.compiling").disabled = True  # it is said here, beside the bar
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()
        logging.getLogger("delassus.compiling").disabled = False

    def now(self, text: str, done: int | None = None) -> None:
        """Replace the text beside the bar, and how many are done."""
        self._progress.update(self._task, now=text, completed=done)

    def advance(self, count: int) -> None:
        """So many more are done."""
        self._progress.update(self._task, advance=count)

    def error(self, error: DelassusError | str) -> None:
        """An error line, above the bar."""
        self._above(_one_line(error))

    def note(self, text: str) -> None:
        """A dim line, above the bar."""
        self._above(text, style="dim")

    def _above(self, text: str, style: str | None = None) -> None:
        self._progress.console.print(text, style=style, soft_wrap=True)

    def _make_progress(self) -> "Progress":
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn
        from rich.table import Column
        from rich.text import Text

        from delassus.waiting import waiting

        class Now(ProgressColumn):
            def render(self, task: Any) -> Text:
                return Text(waiting.line() or task.fields["now"], no_wrap=True, overflow="ellipsis")

        text = Now(table_column=Column(no_wrap=True, overflow="ellipsis"))
        columns = BarColumn(bar_width=16), MofNCompleteColumn(), text
        return Progress(*columns, console=self._console, transient=True, disable=not self._console.is_terminal)
