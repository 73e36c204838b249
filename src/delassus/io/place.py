"""Putting a file in place whole or not at all, and its path as a message shows it."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from delassus.errors import FileError

_LONGEST = 400  # characters of a path in a message


def label(path: str | os.PathLike[str]) -> str:
    """The path as an error message shows it: always one printable line, of a long one the end."""
    text = os.fspath(path)
    text = text if len(text) <= _LONGEST else f"…{text[-_LONGEST:]}"
    return "".join(char if char.isprintable() else "?" for char in text)


def place(path: Path, content: bytes | memoryview, *, overwrite: bool = True) -> None:
    """Make `path` hold `content` in one step: a reader sees the old file or the new one, never a part.

    A symbolic link is replaced, not followed. Raises OSError, `FileExistsError` where the name is taken and may not be
    overwritten; nothing is left behind then."""
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    # Not tempfile: its files are private (mode 0600) whatever the umask, and the rename would keep that.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
        if overwrite:
            os.replace(temporary, path)
        else:
            _rename_new(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """For who writes a file on his own: a name beside the place, from which the file is put in place in the end."""
    temporary = path.with_name(f".{secrets.token_hex(8)}{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def put(path: Path, content: bytes | memoryview) -> None:
    """`place`, with our own exception."""
    try:
        place(path, content)
    except OSError as error:
        raise FileError(f"{label(path)}: cannot be written ({error.strerror or error}): choose another place") from None


def _rename_new(temporary: Path, path: Path) -> None:
    """Rename without replacing: a hard link fails if the name was taken meanwhile, a rename would not."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links; the window between look and rename is then accepted
        if os.path.lexists(path):
            raise FileExistsError(path) from None
        os.replace(temporary, path)
