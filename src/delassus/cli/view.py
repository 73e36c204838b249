"""`delassus view`: a recording, or a world that moves, on a page in the browser."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from delassus.cli import files
from delassus.cli.options import key_values
from delassus.errors import FileError, SettingsError

_PORTS = range(65536)


def view(
    what: Annotated[
        str, typer.Argument(metavar="WHAT", help="A recording (a folder), a scene's name, or the file of a model.")
    ],
    parameters: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the scene.")
    ] = None,
    port: Annotated[int, typer.Option(metavar="N", help="Of the page; 0: any that is free.")] = 8080,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a recording as one .html file that opens offline.")
    ] = None,
    dark: Annotated[bool, typer.Option("--dark", help="White on black, in the exported page.")] = False,
) -> None:
    """Look at a recording: play, scrub, forces coloured by stick and slip, each step with its judgement, plots under a
    moving cursor (extra `view`). A scene or a model is stepped as one watches, and its bodies can be dragged.

    The page is served to this machine alone. Ctrl-C ends it.

    \b
      delassus view runs/wall
      delassus view runs/wall --export wall.html
      delassus view sphere-pile --set n=50
      delassus view robot.xml
    """
    if port not in _PORTS:
        raise SettingsError(f"--port is {port}: give 0 to {_PORTS[-1]}")
    is_recording = Path(what).is_dir()
    if export is not None and not is_recording:
        raise SettingsError("--export writes a recording as a page: give the folder that `delassus run --out` wrote")
    if is_recording:
        _show_recording(Path(what), port, export, dark)
    else:
        _show_live(what, parameters or [], port)


def _show_recording(path: Path, port: int, target: Path | None, dark: bool) -> None:
    from delassus.io.recording import Recording
    from delassus.view.page.export import export
    from delassus.view.page.player import Player
    from delassus.view.source import model_of, title_of

    if target is not None:
        if target.suffix.lower() not in (".html", ".htm"):
            raise FileError(f"{target}: give a name that ends in .html")
        files.check_output(target, [path])
    run = Recording(path)
    model, title = model_of(run), title_of(run) or path.name
    if target is not None:
        count = export(target, run, model, title=title, dark=dark)
        typer.echo(f"written: {target} ({count} states)")
        return
    player = Player(run, model, title=title, port=port)
    _say(player.port)
    _until_interrupted(player.play_on, player.stop)


def _show_live(what: str, pairs: list[str], port: int) -> None:
    from delassus.scenes import find
    from delassus.view.page.live import Live
    from delassus.world import World

    if Path(what).exists():
        world = World.load(what)
    else:
        if len(Path(what).parts) > 1 or Path(what).suffix:
            raise FileError(f"{what}: no such recording or model: check the path")
        scene = find(what)
        world = World.from_scene(what, **scene.parsed(key_values(pairs, "mu=0.3")))
    live = Live(world, title=Path(what).name, port=port)
    _say(live.port)
    _until_interrupted(live.go_on, live.stop)


def _say(port: int) -> None:
    typer.echo(f"open http://127.0.0.1:{port} (Ctrl-C ends it)")


def _until_interrupted(run: Callable[[], None], stop: Callable[[], None]) -> None:
    try:
        with suppress(KeyboardInterrupt):
            run()
    finally:
        stop()
