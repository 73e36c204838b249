"""`delassus compile`."""

from typing import Annotated

import typer

from delassus.cli import console

_FIRST = ("run four-bar-free", "README world", "README solve", "solve")


def compile(
    everything: Annotated[bool, typer.Option("--all", help="For all scenes, flexible bodies too.")] = False,
    processes: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes.  [default: one for each processor, at most 8]")
    ] = None,
) -> None:
    """Compile kernels now that would be compiled when they are first used, in several processes.

    What a first simulation and a first solve need, or with --all every scene: minutes of machine time. It is kept in
    the cache of the user, for every environment and copy of this package; wheels with machine code have it already.

    \b
      delassus compile
      delassus compile --all --processes 2
    """
    from delassus.cli.ahead.signatures import read_list
    from delassus.cli.ahead.workers import MOST, compile_kernels, is_missing, processors
    from delassus.errors import FileError
    from delassus.kernel import cache

    home = cache.folder()
    if home is None:
        raise FileError("there is no folder for machine code: set DELASSUS_CACHE to one that you alone may write to")
    wanted = [one for one in read_list() if everything or set(_FIRST) & set(one.uses)]
    missing = [one for one in wanted if is_missing(one)]
    if missing:
        compile_kernels(missing, processes or min(processors(), MOST))
    still = sum(map(is_missing, missing))
    console.stdout().print(f"{len(missing) - still} kernels compiled, {len(wanted) - len(missing)} were there: {home}")
