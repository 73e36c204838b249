"""Files and folders named on the command line: those read are expanded and named; those written are refused early if
unusable, put in place whole or not at all, never over an input."""

import glob
import io
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from delassus.errors import FileError
from delassus.io.place import put

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = (".png", ".pdf", ".svg")
_HDF5 = b"\x89HDF\r\n\x1a\n"
_JSON = (b"{", b"[")
_BEGINNINGS = {
    ".png": (b"\x89PNG",),
    ".pdf": (b"%PDF",),
    ".svg": (b"<?xml", b"<svg"),
    ".html": (b"<!", b"<html"),
    ".htm": (b"<!", b"<html"),
    ".mp4": (b"\0",),
}
"""How outputs begin that were written here before, by their endings; others are JSON."""


def folder(text: str) -> Path:
    """The path of a folder. An empty one, as an unset shell variable leaves it, would mean the one we are in."""
    if not text.strip():
        raise typer.BadParameter("the path is empty: name a folder")
    return Path(text)


def expand(names: list[str]) -> tuple[list[Path], list[FileError]]:
    """(files, complaints): patterns the shell left alone are expanded, repetitions dropped, the order kept.

    A name without a pattern is kept even if nothing is there: reading it says what is wrong."""
    paths: list[Path] = []
    complaints: list[FileError] = []
    for name in names:
        if glob.has_magic(name) and not os.path.lexists(name):
            found = sorted(glob.glob(name, recursive=True))
            if not found:
                complaints.append(FileError(f"{name}: no file matches this pattern: check the path"))
        else:
            found = [name]
        paths += [Path(one) for one in found]
    return list({os.path.realpath(path): path for path in reversed(paths)}.values())[::-1], complaints


def short_names(paths: list[Path]) -> dict[Path, str]:
    """What to call each file in a table: its name, or the whole path where two files share a name."""
    names = [path.name for path in paths]
    return {path: path.name if names.count(path.name) == 1 else str(path) for path in paths}


@contextmanager
def looking_at(path: Path) -> Iterator[None]:
    """Names that are too long and folders that are locked: merely asking whether such a path exists may fail."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{path}: cannot be used ({error.strerror or error}): choose another path") from None


def check_output(path: Path, inputs: list[Path]) -> None:
    """Raise `FileError` if `path` cannot or must not be written. Nothing is created."""
    with looking_at(path):
        _check_output(path, inputs)


def _check_output(path: Path, inputs: list[Path]) -> None:
    if path.is_dir():
        raise FileError(f"{path}: is a directory: give the path of a file in it")
    if not path.parent.is_dir():
        raise FileError(f"{path}: there is no directory {path.parent}: create it first")
    if not os.access(path.parent, os.W_OK):
        raise FileError(f"{path}: the directory {path.parent} is not writable: choose another")
    refuse_input(path, inputs)
    if path.exists() and not path.is_file():
        raise FileError(f"{path}: is not a regular file: choose another name")  # /dev/null must not be replaced
    found = _begins(path)
    if found.startswith(_HDF5):  # `--json *.hdf5` makes the shell hand over a problem file as the output
        raise FileError(f"{path}: is an HDF5 file and would be overwritten: choose another name")
    known = _BEGINNINGS.get(path.suffix.lower(), _JSON)
    if found.strip() and not found.lstrip().startswith(known):  # a model, a mesh, a text: no output of ours
        raise FileError(f"{path}: is there, and no earlier output: choose another name")


def refuse_input(path: Path, inputs: list[Path]) -> None:
    """Raise `FileError` if `path` is one of the inputs, under whatever name."""
    for source in inputs:
        if os.path.realpath(path) == os.path.realpath(source) or (
            path.exists() and source.exists() and path.samefile(source)
        ):
            raise FileError(f"{path}: is an input file and would be overwritten: choose another name")


def make_directory(directory: Path) -> None:
    """Make it, and those above it, where they are not there."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise FileError(f"{directory}: cannot be made a directory ({reason}): choose another") from None


def check_distinct(paths: list[Path]) -> None:
    """Raise `FileError` if two outputs are one file."""
    seen: set[str] = set()
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            raise FileError(f"{path}: two outputs would go to this file: choose different names")
        seen.add(real)


def write_json(path: Path, data: Any) -> None:
    """Strict JSON: NaN and the infinities, which it cannot hold, become null."""
    text = json.dumps(_finite(data), indent=2, ensure_ascii=False, allow_nan=False)
    put(path, (text + "\n").encode())


def write_figure(path: Path, figure: "Figure") -> None:
    """The figure in the format that the end of the name says, one of FIGURES."""
    stream = io.BytesIO()
    figure.savefig(stream, format=path.suffix.lower().lstrip("."))
    put(path, stream.getvalue())


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _begins(path: Path) -> bytes:
    """The first bytes of a file, none where there is none."""
    try:
        with path.open("rb") as stream:
            return stream.read(64)
    except OSError:
        return b""
