"""Where machine code is kept: one folder per user, by content.

A kernel's key is its qualified name, its options, all that it is made of (`fingerprint.made_of`), this room's own text
and the versions of Numba, llvmlite and Python; an entry's key adds the argument types and the processor. So every
clone, environment and branch finds what any other one compiled, and a comment or a `touch` compiles nothing.

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

_CHECKSUM = 32  # bytes at the beginning of an entry
_MOST_BYTES = 2 << 30  # of all entries
_UNUSED = 90 * 86400.0  # seconds after which an entry goes
_PRUNED_EVERY = 7 * 86400.0  # seconds


class KernelCache(_Cache):
    """Machine code of one kernel as Python calls it."""

    prefix = ""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], library: Any):
        self._function, self._options, self._library = function, options, library
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
        place = self._place(sig, target_context.codegen())
        payload = _read(place) if place else None
        if payload is None:
            return None
        try:
            return self._rebuild(target_context, pickle.loads(payload))
        except Exception:  # a class it names is gone, or the entry is of a Numba that says it is another
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled."""
        place = self._place(sig, data.codegen)
        if place and not data.library.has_dynamic_globals and not data.lifted:
            _write(place, serialize.dumps(data._reduce()))

    def _rebuild(self, target_context: Any, payload: Any) -> Any:
        return CompileResultCacheImpl.rebuild(None, target_context, payload)  # type: ignore[arg-type]

    def _place(self, sig: Any, codegen: Any) -> Path | None:
        """The file of an entry."""
        home = folder() if self._enabled else None
        words = _types_in_words(sig)
        if home is None or "0x" in words:  # the type of something that has no name of its own
            return None
        entry = f"{self._kernel_key()} {words} {codegen.magic_tuple()}"
        digest = hashlib.sha256(entry.encode()).hexdigest()
        return home / digest[:2] / f"{self.prefix}{self._function.__name__}-{digest[2:34]}"

    def _kernel_key(self) -> str:
        """Not when the kernel is made: it may call some that stand below it."""
        if not hasattr(self, "_key"):
            function = self._function
            options = sorted((name, str(value)) for name, value in self._options.items())
            words = repr((function.__module__, function.__qualname__, options, _salt(), made_of(function)))
            self._key = hashlib.sha256(words.encode()).hexdigest()
        return self._key


class PartCache(KernelCache):
    """Of the same kernel as compiled code calls it."""

    prefix = "part-"

    def _rebuild(self, target_context: Any, payload: Any) -> Any:
        """As a part, also where a function of Numba's own decorator calls it."""
        codegen = target_context.codegen()
        usual, codegen._library_class = codegen._library_class, self._library
        try:
            return super()._rebuild(target_context, payload)
        finally:
            codegen._library_class = usual


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


def _read(place: Path) -> bytes | None:
    """The payload of an entry, if it is there and whole."""
    try:
        data = place.read_bytes()
    except OSError:
        return None
    payload = data[_CHECKSUM:]
    return payload if hashlib.sha256(payload).digest() == data[:_CHECKSUM] else None


def _write(place: Path, payload: bytes) -> None:
    """An entry, in one move; a full disk or a folder that may not be written to is no reason to stop."""
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=place.parent, prefix=".new-")
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
    for file in home.glob("??/*"):
        with suppress(OSError):
            about = file.stat()
            entries.append((max(about.st_atime, about.st_mtime), about.st_size, file))
    total = sum(size for _, size, _ in entries)
    for used, size, file in sorted(entries):
        if now - used < _UNUSED and total <= _MOST_BYTES:
            break
        total -= size
        with suppress(OSError):
            file.unlink()


@cache
def _salt() -> str:
    """What stands in no kernel's own text: this room, whose flags and types all kernels share, and versions."""
    texts = [file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py"))]
    versions = (numba.__version__, llvmlite.__version__, sys.version_info[:2], getattr(sys, "abiflags", ""))
    return repr(versions) + hashlib.sha256(b"".join(texts)).hexdigest()


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
