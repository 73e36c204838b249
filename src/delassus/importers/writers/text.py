"""Numbers and files as all writers write them."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

import numpy as np

from delassus.errors import FileError
from delassus.io.place import label, place


def said(values: float | Iterable[float]) -> str:
    """Every digit that a double has."""
    return " ".join(repr(float(x)) for x in np.atleast_1d(np.asarray(values, dtype=float)).ravel())


def put(path: str | PathLike[str], content: bytes, overwrite: bool) -> None:
    """Write a file, whole or not at all."""
    try:
        place(Path(path), content, overwrite=overwrite)
    except FileExistsError:
        raise FileError(
            f"{label(path)}: is there already: give another name, or overwrite=True to replace it"
        ) from None
    except OSError as error:
        raise FileError(f"{label(path)}: cannot be written: {error.strerror or error}") from None


def xml_of(root: ET.Element, path: str | PathLike[str]) -> bytes:
    """The text of a tree of elements."""
    try:
        ET.indent(root)
        return ET.tostring(root, encoding="utf-8") + b"\n"
    except RecursionError:
        raise FileError(
            f"{label(path)}: bodies hang on each other more than a few hundred deep, which cannot be nested: split them"
        ) from None


def printable(name: str) -> str:
    """A name without what XML cannot hold."""
    return "".join(c if c.isprintable() else "?" for c in name)
