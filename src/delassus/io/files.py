"""Files as they are opened here: named by a text, regular ones alone, and of a size that was looked at before."""

import os
import stat
from pathlib import Path
from typing import Any

from delassus.arguments import shown
from delassus.errors import FileError
from delassus.io.place import label

_MISSING = "no such file: check the path"


def path_of(given: Any, who: str) -> Path:
    """The path that a caller gave, as text or as a path.  who: the function, for complaints."""
    if not isinstance(given, (str, os.PathLike)):
        raise FileError(f"{who}: the path is {shown(given)}: give a text or a Path")
    text = os.fspath(given)
    if not isinstance(text, str) or "\0" in text or not text:
        raise FileError(f"{label(os.fsdecode(text))}: {who} takes no such name: give a text, not empty and without NUL")
    return Path(text)


def has_file(path: Path) -> bool:
    """Is there a regular file? What cannot even be asked for is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def size_of(path: Path, what: str) -> int:
    """Bytes of a regular file, a link to one included; devices, pipes and sockets are refused, since reading them may
    never end.  what: names it, for complaints."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise FileError(f"{what}: {_MISSING}") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{what}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    return _size(found, what)


def regular_file(path: Path, what: str, most: int, too_large: str) -> bytes:
    """The content of a regular file of at most so many bytes.  what: names it; too_large: what to say of others."""
    size_of(path, what)
    try:
        # what may have taken its place meanwhile must not be waited for
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
            size = _size(os.fstat(file.fileno()), what)
            if size > most:
                raise FileError(f"{what} {too_large}")
            return file.read(size)
    except OSError as error:
        raise FileError(f"{what}: cannot be read ({error.strerror or error})") from None


def _size(found: os.stat_result, what: str) -> int:
    if stat.S_ISDIR(found.st_mode):
        raise FileError(f"{what}: is a directory: give the path of a file")
    if not stat.S_ISREG(found.st_mode):
        raise FileError(f"{what}: is no regular file but a device, a pipe or a socket: give the path of a file")
    return found.st_size
