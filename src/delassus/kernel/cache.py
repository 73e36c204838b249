"""Where machine code is kept: one folder per user, by content; and, in wheels that have it, one file (`shipped.py`).

A kernel's key is its qualified name, its options, all that it is made of (`fingerprint.made_of`) and the text of the
files here that decide how kernels are compiled; an entry's key adds the argument types and the processor, its folder
the versions of Numba, llvmlite and Python. So every clone, environment and branch finds what any other one compiled,
and a comment or a `touch` compiles nothing.

The folder is `DELASSUS_CACHE`, or the user's cache folder of the platform. Entries are pickles: the folder is read only
if it belongs to the user and nobody else may write to it. An entry is written beside its place and renamed, and begins
with a checksum: processes may fill the folder together, and what is damaged is compiled anew. Without a folder that can
be written to, kernels are compiled in every process.
"""

# mypy: disable-error-code="no-untyped-call"

import hashlib
import os
import pickle
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba import types
from numba.core import serialize
from numba.core.caching import CompileResultCacheImpl, _Cache

from delassus.kernel.fingerprint import made_of
from delassus.kernel.shipped import say_why_not, shipped, whole
from delassus.kernel.target import codegen, compiling_with

_WITHOUT_CODE = ("cache.py", "shipped.py")  # files here that change nothing in what is compiled
_MOST_BYTES = 2 << 30  # of all entries
_NEW = ".new-"  # begins the name of an entry that is being written
_UNUSED = 90 * 86400.0  # seconds after which an entry goes
_PRUNED_EVERY = 7 * 86400.0  # seconds
_UNFINISHED = 86400.0  # seconds after which what a writer left that was killed goes


class KernelCache(_Cache):
    """Machine code of one kernel as Python calls it."""

    prefix = ""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], library: Any):
        self.function, self.options, self._library = function, options, library
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder, or nothing."""
        return str(folder() or "")

    def enable(self) -> None:
        """Look for entries, and write them."""
        self._enabled = True

    def disable(self) -> None:
        """Neither."""
        self._enabled = False

    def flush(self) -> None:
        """Entries are never stale."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for these types of arguments, or None."""
        target_context.refresh()
        name = self.entry_of(sig)
        payload = (self._shipped(name) or read(name)) if name else None
        if payload is None:
            say_why_not()
            return None
        try:
            with compiling_with(self._library, target_context):
                return CompileResultCacheImpl.rebuild(None, target_context, pickle.loads(payload))  # type: ignore[arg-type]
        except Exception:  # a class it names is gone, or the entry is of a Numba that says it is another
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled."""
        name = self.entry_of(sig)
        if name and not data.library.has_dynamic_globals and not data.lifted:
            _write(name, serialize.dumps(data._replace(type_annotation="")._reduce()))

    def _shipped(self, name: str) -> bytes | None:
        store = shipped()
        return store.read(name) if store else None

    def entry_of(self, sig: Any) -> str | None:
        """The name of an entry; None where there can be none."""
        words = _types_in_words(sig)
        if not self._enabled or "0x" in words:  # the type of something that has no name of its own
            return None
        entry = f"{self._kernel_key()} {words} {codegen().magic_tuple()}"
        return f"{self.prefix}{self.function.__name__}-{hashlib.sha256(entry.encode()).hexdigest()[:40]}"

    def _kernel_key(self) -> str:
        """Not when the kernel is made: it may call some that stand below it."""
        if not hasattr(self, "_key"):
            function = self.function
            options = sorted((name, str(value)) for name, value in self.options.items())
            words = repr((function.__module__, function.__qualname__, options, _salt(), made_of(function)))
            self._key = hashlib.sha256(words.encode()).hexdigest()
        return self._key


class PartCache(KernelCache):
    """Of the same kernel as compiled code calls it."""

    prefix = "part-"

    def _shipped(self, name: str) -> None:
        """Only what Python enters is."""


@cache
def folder() -> Path | None:
    """Where entries are kept, made if it is not there; None if it cannot be, or is not this user's alone to write."""
    place = os.environ.get("DELASSUS_CACHE")
    if place is None:
        from platformdirs import user_cache_path

        home = user_cache_path("delassus") / "kernels"
    else:
        home = Path(place).absolute()
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = home.stat()
        if os.name == "posix" and (about.st_uid != os.geteuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
            return None
        if os.access(home, os.W_OK):
            _prune(home)
    except OSError:
        return None
    return home


def _place(home: Path, name: str) -> Path:
    return home / versions() / name[-2:] / name


@cache
def versions() -> str:
    """The compiler that entries are of."""
    python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
    return f"numba-{numba.__version__}-llvmlite-{llvmlite.__version__}-{python}"


def has(name: str) -> bool:
    """Is there an entry of this name, here or in the wheel?"""
    home, store = folder(), shipped()
    return (store is not None and name in store) or (home is not None and _place(home, name).is_file())


def read(name: str) -> bytes | None:
    """The payload of an entry, if it is there and whole."""
    home = folder()
    try:
        return whole(_place(home, name).read_bytes()) if home else None
    except OSError:
        return None


def _write(name: str, payload: bytes) -> None:
    """An entry, in one move; a full disk or a folder that may not be written to is no reason to stop."""
    home = folder()
    if home is None:
        return
    place = _place(home, name)
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=place.parent, prefix=_NEW)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(payload).digest() + payload)
            os.replace(beside, place)
        except OSError:
            os.unlink(beside)
            raise


def _prune(home: Path) -> None:
    """Once a week: entries that were not read for long, then the oldest until the rest is small enough."""
    mark, now = home / "pruned", time.time()
    if mark.exists() and now - mark.stat().st_mtime < _PRUNED_EVERY:
        return
    mark.touch()
    entries = []
    for file in home.rglob("*"):
        with suppress(OSError):
            about = file.stat()
            if stat.S_ISREG(about.st_mode) and file != mark:
                used = max(about.st_atime, about.st_mtime)
                is_left = file.name.startswith(_NEW) and now - used > _UNFINISHED
                entries.append((0.0 if is_left else used, about.st_size, file))
    total = sum(size for _, size, _ in entries)
    for used, size, file in sorted(entries):
        if now - used < _UNUSED and total <= _MOST_BYTES:
            break
        total -= size
        with suppress(OSError):
            file.unlink()


@cache
def _salt() -> str:
    """What stands in no kernel's own text: how this room compiles, which all kernels share."""
    texts = [file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")) if file.name not in _WITHOUT_CODE]
    return hashlib.sha256(b"".join(texts)).hexdigest()


def _types_in_words(sig: Any) -> str:
    """Types of arguments; of named tuples Numba says the class alone, and not its module and fields."""
    named: list[str] = []

    def look(kind: Any) -> None:
        if isinstance(kind, types.BaseNamedTuple):
            one: Any = kind
            of = one.instance_class
            named.append(f"{of.__module__}.{of.__qualname__}{one.fields}")
        for inner in (*getattr(kind, "types", ()), getattr(kind, "dtype", None), getattr(kind, "inner", None)):
            if isinstance(inner, types.Type):
                look(inner)

    for kind in sig.args if hasattr(sig, "args") else sig:
        look(kind)
    return f"{sig} {named}"
