"""Where text goes: results to stdout, everything else to stderr, errors as one line."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from delassus.errors import DelassusError

if TYPE_CHECKING:
    from rich.console import Console

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
    typer.echo("error: " + " ".join(str(error).split()), err=True)


@contextmanager
def errors_end_it() -> Iterator[None]:
    """Our own exceptions become one line and exit code 2; anything else is a bug and keeps its traceback."""
    try:
        yield
    except DelassusError as error:
        say_error(error)
        raise typer.Exit(BAD_INPUT) from None
