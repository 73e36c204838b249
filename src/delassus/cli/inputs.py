"""Files and folders named on the command line."""

import glob
import os
from pathlib import Path

import typer

from delassus.errors import FileError


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
