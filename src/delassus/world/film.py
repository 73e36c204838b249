"""A film of what a world's history holds."""

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from delassus.arguments import positive
from delassus.errors import FileError, SettingsError
from delassus.io.files import path_of
from delassus.io.place import label
from delassus.view.film import write_film

if TYPE_CHECKING:
    from delassus.world.world import World

_MOST_FRAMES = 3000


def write_film_of(
    world: "World", given: str | PathLike[str], fps: float, speed: float, azimuth: float, elevation: float
) -> None:
    """`World.film`."""
    path, history = path_of(given, "film"), world._history
    if path.suffix.lower() != ".gif":
        raise FileError(f"{label(path)}: films are animated GIFs: give a name that ends in .gif")
    positive("film", fps=fps, speed=speed)
    t = history.t[: history.count]
    count = int((t[-1] - t[0]) * fps / speed + 1e-9) + 1
    if count > _MOST_FRAMES:
        raise SettingsError(f"film: {count} frames, at most {_MOST_FRAMES} are drawn: lower fps or raise speed")
    wanted = t[0] + np.arange(count) * speed / fps
    frames = np.minimum(np.searchsorted(t, wanted - 1e-9), len(t) - 1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_film(
            path,
            world.model,
            history.q[frames],
            t[frames],
            history.nodes[frames],
            fps=fps,
            azimuth=azimuth,
            elevation=elevation,
        )
    except OSError as error:
        raise FileError(f"{label(path)}: cannot be written ({error.strerror or error}): choose another place") from None
