"""Machine code that comes with a wheel: one file of entries like those of the user's cache (`cache.py`), by name.

    "delassus" | length of the header, 8 bytes | header, JSON | its checksum | entries

The header says which Numba, llvmlite, Python and processor the code is for, and where each entry lies. Code for others,
and what is damaged, counts as not there: kernels are compiled then, as without the file. Entries are pickles, to be
trusted as far as the Python files beside them."""

import hashlib
import json
import logging
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba

from delassus.kernel.target import codegen

FILE = Path(__file__).with_name("machine_code.bin")
CHECKSUM = 32  # bytes of SHA-256, before the payload of an entry and behind the header
_BEGIN = b"delassus"
_logger = logging.getLogger("delassus.compiling")


def whole(entry: bytes) -> bytes | None:
    """The payload of an entry, if its checksum is right."""
    payload = entry[CHECKSUM:]
    return payload if hashlib.sha256(payload).digest() == entry[:CHECKSUM] else None


def compiler() -> dict[str, Any]:
    """What object code and pickled types depend on. Releases of Numba within a minor one keep both."""
    minors = {one.__name__: ".".join(one.__version__.split(".")[:2]) for one in (numba, llvmlite)}
    python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
    return {**minors, "python": python, "processor": list(codegen().magic_tuple())}


class Shipped:
    """Entries of such a file, read when they are asked for."""

    def __init__(self, file: Path, places: dict[str, tuple[int, int]]):
        self._file, self._places = file, places

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def read(self, name: str) -> bytes | None:
        """The payload of an entry, if it is there and whole."""
        if name not in self._places:
            return None
        start, length = self._places[name]
        try:
            with open(self._file, "rb") as file:
                file.seek(start)
                return whole(file.read(length))
        except OSError:
            return None


@cache
def shipped(file: Path = FILE) -> Shipped | None:
    """What came with this package for this compiler and processor; None without."""
    try:
        with open(file, "rb") as stream:
            if stream.read(len(_BEGIN)) != _BEGIN:
                return None
            length = int.from_bytes(stream.read(8), "little")
            text, check = stream.read(length), stream.read(CHECKSUM)
    except (OSError, OverflowError, MemoryError):
        return None
    if hashlib.sha256(text).digest() != check:
        return None
    header = json.loads(text)
    if header["compiler"] != compiler():
        _others.append(header["compiler"])
        return None
    start = len(_BEGIN) + 8 + length + CHECKSUM
    return Shipped(file, {name: (start + at, size) for name, (at, size) in header["entries"].items()})


_others: list[dict[str, Any]] = []  # compilers of files that do not fit


def say_why_not() -> None:
    """Once per process, when something has to be compiled: that there is code, and what for."""
    while _others:
        other, here = _others.pop(), compiler()
        differ = [
            f"{name} {value if name != 'processor' else value[1]}"
            for name, value in other.items()
            if value != here[name]
        ]
        _logger.warning("delassus comes with machine code for %s, which is not what is here", " and ".join(differ))


def write(entries: Iterable[tuple[str, bytes]], file: Path) -> None:
    """A file of these entries, name and payload."""
    places, bodies, at = {}, [], 0
    for name, payload in sorted(entries):
        entry = hashlib.sha256(payload).digest() + payload
        places[name] = at, len(entry)
        bodies.append(entry)
        at += len(entry)
    text = json.dumps({"compiler": compiler(), "entries": places}, separators=(",", ":")).encode()
    digest = hashlib.sha256(text).digest()
    file.write_bytes(_BEGIN + len(text).to_bytes(8, "little") + text + digest + b"".join(bodies))
