"""`delassus`: the commands, and the help that teaches them."""

import sys
from typing import Annotated

import typer

from delassus import __version__
from delassus.cli.bench import bench, report
from delassus.cli.info import info
from delassus.cli.reproduce import reproduce
from delassus.cli.run import run as run_command
from delassus.cli.scenes import scenes
from delassus.cli.solve import solve
from delassus.cli.solvers import solvers

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
Solve a file, compare solvers, keep the figures and the forces:
  delassus solve pile.hdf5
  delassus solve *.hdf5 --solver nbgs --solver pgs-ccp --tol 1e-8 --plot race.png
  delassus solve pile.hdf5 --set omega=1.3 --json runs.json --write-solution solved/

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

app = typer.Typer(
    name="delassus",
    help=_HELP,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: it pipes well, and rich alone would cost a third of the start-up budget
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run", short_help="Simulate a scene, record and check it.")(run_command)
app.command(short_help="List the scenes and their parameters.")(scenes)
app.command(short_help="Solve problem files and verify the accuracy.")(solve)
app.command(short_help="Say what makes problem files easy or hard.")(info)
app.command(short_help="List the solvers and their settings.")(solvers)
app.command(short_help="Compare solvers on problems of real time steps.")(bench)
app.command(short_help="Write the report of a benchmark again.")(report)
app.command(short_help="Run the papers' experiments beside their figures.")(reproduce)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"delassus {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def run() -> None:
    """Entry point of the installed command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # µ and – must not end a run in an ASCII terminal
    app()


if __name__ == "__main__":
    run()
