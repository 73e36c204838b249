"""`delassus render`: a recording as a film, a picture or a strip of pictures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from delassus.cli import console, files
from delassus.errors import FileError, SettingsError

if TYPE_CHECKING:
    from delassus.view.render.stage import Look

_SUFFIXES = (".mp4", ".png")
_LEAST, _MOST = 16, 7680  # pixels of a side


def render(
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="What `delassus run --out` wrote.")],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="A film (.mp4) or a picture (.png); it is replaced if it is there.")
    ],
    at: Annotated[
        float | None, typer.Option(metavar="S", help="Simulated time of a picture.  [default: the end]")
    ] = None,
    frames: Annotated[
        int, typer.Option(metavar="N", help="Pictures side by side, from the first state to the last.")
    ] = 1,
    start: Annotated[float | None, typer.Option("--from", metavar="S", help="Where a film begins.")] = None,
    end: Annotated[float | None, typer.Option("--to", metavar="S", help="Where a film ends.")] = None,
    fps: Annotated[float, typer.Option(metavar="N", help="Frames per second of a film.")] = 25.0,
    speed: Annotated[float, typer.Option(metavar="X", help="Of a film; 0.1 is slow motion.")] = 1.0,
    size: Annotated[str, typer.Option(metavar="WxH", help="Width and height in pixels.")] = "960x540",
    azimuth: Annotated[float, typer.Option(metavar="DEG", help="Direction it is looked at from.")] = -60.0,
    elevation: Annotated[float, typer.Option(metavar="DEG", help="Height it is looked at from.")] = 22.0,
    zoom: Annotated[float, typer.Option(metavar="X", help="1 shows all that moves.")] = 1.0,
    forces: Annotated[bool, typer.Option(help="Contact forces as arrows: blue sticks, red slips.")] = True,
    joints: Annotated[bool, typer.Option(help="Axes of joints.")] = False,
    stress: Annotated[bool, typer.Option(help="Colour flexible bodies by their stress.")] = True,
    captions: Annotated[bool, typer.Option(help="Time, contacts and residual in the picture.")] = True,
) -> None:
    """Draw a recording, without a screen and without a GPU (extra `render`).

    \b
      delassus render runs/wall --out wall.mp4
      delassus render runs/wall --out slow.mp4 --from 0.2 --to 0.5 --speed 0.1
      delassus render runs/wall --out end.png --size 1920x1080
      delassus render runs/wall --out strip.png --frames 5 --size 480x360
    """
    from delassus.view.render.extra import need

    _check(out, recording, frames)
    need()
    from delassus.io.recording import Recording
    from delassus.view.render import film
    from delassus.view.source import model_of, title_of

    look = _look(size, azimuth, elevation, zoom, forces, joints, stress)
    run = Recording(recording)
    model = model_of(run)
    title = title_of(run) if captions else None
    if out.suffix.lower() == ".mp4":
        steps = film.frames_between(run, start, end, fps, speed)
        with console.Display(len(steps)) as display:
            shown = film.pictures(run, model, steps, look, title=title)
            film.write_film(out, shown, look, fps, lambda done: display.now("frames", done))
    elif frames > 1:
        film.write_picture(out, film.strip_of(run, model, frames, look, title=title))
    else:
        time = float(run.t[-1]) if at is None else at
        if not run.t[0] <= time <= run.t[-1] + 1e-9:
            raise SettingsError(f"--at is {time:g}: the recording has {run.t[0]:g} … {run.t[-1]:g} s")
        import numpy as np

        step = film.nearest_steps(run, np.array([time]))
        film.write_picture(out, next(film.pictures(run, model, step, look, title=title)))
    typer.echo(f"written: {out}")


def _check(out: Path, recording: Path, frames: int) -> None:
    if out.suffix.lower() not in _SUFFIXES:
        raise FileError(f"{out}: give a name that ends in {' or '.join(_SUFFIXES)}")
    if not 1 <= frames <= 100:
        raise SettingsError(f"--frames is {frames}: give 1 to 100")
    files.check_output(out, [recording])


def _look(size: str, azimuth: float, elevation: float, zoom: float, forces: bool, joints: bool, stress: bool) -> "Look":
    from delassus.view.render.stage import Look

    width, _, height = size.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and all(_LEAST <= int(n) <= _MOST for n in (width, height))):
        raise SettingsError(f"--size is {size!r}: give two numbers from {_LEAST} to {_MOST}, as 960x540")
    for name, value, most in (("azimuth", azimuth, 1e6), ("elevation", elevation, 90.0)):
        if not abs(value) <= most:
            raise SettingsError(f"--{name} is {value}: give degrees, at most {most:g}")
    if not 1e-3 <= zoom <= 1e3:
        raise SettingsError(f"--zoom is {zoom}: give 0.001 to 1000")
    return Look((int(width), int(height)), azimuth, elevation, zoom, forces, joints, stress)
