"""`delassus`: the commands, and the help that teaches them."""

import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from delassus import __version__
from delassus.cli import console
from delassus.cli.command import Command
from delassus.errors import nearest
from delassus.tables import Table

COMMANDS: Table[Command] = Table(
    "command",
    lambda line: isinstance(line, Command),
    lambda line: line.name,
    [
        Command("run", "delassus.cli.run.command", "Simulate a scene, record and check it."),
        Command("render", "delassus.cli.render", "Draw a recording: a film or pictures, without a screen."),
        Command("view", "delassus.cli.view", "Show a recording, or a world that moves, in the browser."),
        Command("scenes", "delassus.cli.scenes", "List the scenes and their parameters."),
        Command("solve", "delassus.cli.solve.command", "Solve problem files and verify the accuracy."),
        Command("info", "delassus.cli.info", "Say what makes problem files easy or hard."),
        Command("solvers", "delassus.cli.solvers", "List the solvers and their settings."),
        Command("compile", "delassus.cli.compile", "Compile kernels before they are needed."),
        Command("bench", "delassus.bench.commands.bench", "Compare solvers on problems of real time steps."),
        Command("report", "delassus.bench.commands.report", "Write the report of a benchmark again."),
    ],
)
"""Every command by name, plug-ins included."""

_HELP = """Multibody dynamics with joints, impacts and friction: every step solved to a stated and verified accuracy.
Problems are FCLIB files (HDF5), local (W, q) or global (M, H, f, w); `converged` is claimed only after the residual
was recomputed on the returned point.

\b
Simulate a scene, record it, check it against physics, continue it:
  delassus scenes
  delassus run four-bar
  delassus run sphere-pile --set n=200 --duration 2 --out runs/pile
  delassus run sphere-pile --out runs/pile --resume --duration 4

\b
Look at what happened (extras `render` and `view`):
  delassus view runs/pile
  delassus render runs/pile --out pile.mp4

\b
Solve a file, compare solvers, keep the figures and the forces:
  delassus solve pile.hdf5
  delassus solve *.hdf5 --solver nbgs --solver pgs-ccp --tol 1e-8 --plot race.png
  delassus solve pile.hdf5 --solver nbgs --set omega=1.3 --json runs.json --write-solution solved/

\b
See what makes a problem hard (rank, conditioning, mass ratio, islands):
  delassus info pile.hdf5
  delassus info *.hdf5 --json facts.json

\b
Choose a solver, look up its settings:
  delassus solvers
  delassus solvers nbgs

\b
Compare solvers on problems of real time steps, with a report:
  delassus bench quick
  delassus reproduce all --quick

\b
Exit code: 0 all converged (and checks pass), 1 not so, 2 bad input, 130 interrupted.
"""


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"delassus {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


class Commands(TyperGroup):
    """The commands of the table. One is loaded when it is called; the list needs none of them."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, or None. Our own exceptions end it with one line and exit code 2."""
        if cmd_name not in COMMANDS:
            return None
        line = COMMANDS[cmd_name]
        alone = typer.Typer(**_LOOK)
        alone.command(line.name, short_help=line.summary)(console.errors_end_it()(line.function()))
        return typer.main.get_command(alone)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As typer does; an unknown name suggests the nearest."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}: {nearest(args[0], list(COMMANDS))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Their names and summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([(line.name, line.summary) for line in COMMANDS.values()])


_LOOK: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,  # plain help: it pipes well, and rich alone would cost a third of the start-up budget
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(name="delassus", cls=Commands, help=_HELP, no_args_is_help=True, **_LOOK)
app.callback()(_options)


def run() -> None:
    """Entry point of the installed command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # µ and – must not end a run in an ASCII terminal
    warnings.showwarning = console.show_warning
    app()


if __name__ == "__main__":
    run()
