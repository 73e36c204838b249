"""The live line on stderr: how many runs are done, and what the current one is doing."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from delassus.cli import console
from delassus.errors import DelassusError

if TYPE_CHECKING:
    from rich.progress import Progress


class Display:
    """A context manager; shows a bar only in a terminal, errors and notes everywhere."""

    def __init__(self, total: int, names: dict[Path, str]):
        self._console = console.stderr()
        self._names = names
        self._progress = self._make_progress()
        self._task = self._progress.add_task("", total=total, now="")
        self._listening = self._listener()
        self._compiles = False

    def __enter__(self) -> "Display":
        self._listening.__enter__()
        logging.getLogger("delassus.compiling").disabled = True  # we say it here, above the bar
        self._progress.start()
        return self

    def __exit__(self, *error) -> None:
        self._progress.stop()
        self._listening.__exit__(*error)

    def now(self, file: Path, what: str) -> None:
        """Replace the text beside the bar."""
        self._progress.update(self._task, now=f"{self._names[file]}  {what}")

    def advance(self, count: int) -> None:
        self._progress.update(self._task, advance=count)

    def error(self, error: DelassusError | str) -> None:
        """An error line, above the bar."""
        self._above("error: " + " ".join(str(error).split()))

    def note(self, text: str) -> None:
        """A dim line, above the bar."""
        self._above(text, style="dim")

    def _above(self, text: str, style: str | None = None) -> None:
        self._progress.console.print(text, style=style, soft_wrap=True)

    def _make_progress(self) -> "Progress":
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.table import Column

        text = TextColumn("{task.fields[now]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))
        return Progress(
            BarColumn(bar_width=16), MofNCompleteColumn(), text,
            console=self._console, transient=True, disable=not self._console.is_terminal,
        )  # fmt: skip

    def _listener(self):
        """Numba tells when it compiles, which it does not do when its cache answers: no guessing from the clock."""
        from numba.core import event

        display = self

        class Compiling(event.Listener):
            def on_start(self, event):
                if not display._compiles:
                    display.note("compiling kernels (first run only)…")
                display._compiles = True

            def on_end(self, event):
                pass

        return event.install_listener("numba:compile", Compiling())
