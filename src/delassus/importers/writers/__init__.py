"""Models written for other programs: one file for each format, and one line of `WRITERS`.

Each writer returns one sentence for whatever the model has and the file cannot say, by name."""

from collections.abc import Callable
from os import PathLike

from delassus.arguments import instance
from delassus.errors import FileError, nearest
from delassus.importers.writers.mjcf import write_mjcf as write_mjcf
from delassus.importers.writers.urdf import write_urdf as write_urdf
from delassus.io.files import path_of
from delassus.io.place import label
from delassus.model.model import Model
from delassus.model.state import State

WRITERS: dict[str, Callable[..., tuple[str, ...]]] = {".xml": write_mjcf, ".mjcf": write_mjcf, ".urdf": write_urdf}
"""What writes a file, by the ending of its name."""


def save_model(
    path: str | PathLike[str], model: Model, state: State | None = None, *, overwrite: bool = False
) -> tuple[str, ...]:
    """Write a model as MJCF (.xml, .mjcf), at a state, or as URDF (.urdf), which holds none.

    Returns what could not be said there, one sentence each: read them once. A file that is there is kept, unless
    overwrite."""
    path = path_of(path, "save_model")
    instance(model, Model, "save_model: model")
    if state is not None:
        instance(state, State, "save_model: state")
    ending = path.suffix.lower()
    if ending not in WRITERS:
        what = ending or "files without an ending"
        raise FileError(f"{label(path)}: no writer makes {what}; {nearest(ending, list(WRITERS))}")
    return WRITERS[ending](path, model, state, overwrite=overwrite)
