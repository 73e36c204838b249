"""`delassus`: the commands, and the help that teaches them."""

import sys
import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Annotated

import typer

from delassus import __version__
from delassus.cli import console

COMMANDS = {
    "run": ("delassus.cli.run.command", "Simulate a scene, record and check it."),
    "render": ("delassus.cli.render", "Draw a recording: a film or pictures, without a screen."),
    "view": ("delassus.cli.view", "Show a recording, or a world that moves, in the browser."),
    "scenes": ("delassus.cli.scenes", "List the scenes and their parameters."),
    "solve": ("delassus.cli.solve.command", "Solve problem files and verify the accuracy."),
    "info": ("delassus.cli.info", "Say what makes problem files easy or hard."),
    "solvers": ("delassus.cli.solvers", "List the solvers and their settings."),
    "bench": ("delassus.cli.bench", "Compare solvers on problems of real time steps."),
    "report": ("delassus.cli.report", "Write the report of a benchmark again."),
    "reproduce": ("delassus.cli.reproduce", "Run the papers' experiments beside their figures."),
}
"""Every command: the module that has a function of its name, and what the list of commands says of it."""

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


def make_app(commands: Mapping[str, tuple[str, str]] = COMMANDS) -> typer.Typer:
    """The command line with these commands. Our own exceptions end each of them with one line and exit code 2."""
    app = typer.Typer(
        name="delassus",
        help=_HELP,
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,  # plain help: it pipes well, and rich alone would cost a third of the start-up budget
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name, (module, short_help) in commands.items():
        app.command(name, short_help=short_help)(console.errors_end_it()(getattr(import_module(module), name)))
    return app


app = make_app()


def run() -> None:
    """Entry point of the installed command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # µ and – must not end a run in an ASCII terminal
    warnings.showwarning = console.show_warning
    app()


if __name__ == "__main__":
    run()
