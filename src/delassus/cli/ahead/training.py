"""Writes down which kernels Python enters in this process: for the list of `signatures.py`, and for the machine code
that wheels carry. Not part of any command; `.ci/train.py` and the tests of continuous integration ask for it.

A line of the file is [module, name, entry in the cache, types of the arguments as JSON or None]."""

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

from delassus.cli.ahead.signatures import from_json, to_json
from delassus.kernel.cache import KernelCache, PartCache

FOLDER = "DELASSUS_TRAINING"
"""The variable of the environment that names the folder."""


def record() -> None:
    """From now on, into a file of this process in the folder that is named, if one is."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    load, save = KernelCache.load_overload, KernelCache.save_overload

    def loaded(self: KernelCache, sig: Any, target_context: Any) -> Any:
        found = load(self, sig, target_context)
        if found is not None:
            _note(Path(folder), self, sig)
        return found

    def saved(self: KernelCache, sig: Any, data: Any) -> None:
        save(self, sig, data)
        _note(Path(folder), self, sig)

    KernelCache.load_overload, KernelCache.save_overload = loaded, saved  # type: ignore[method-assign]


def _note(folder: Path, cache: KernelCache, sig: Any) -> None:
    entry, function = cache.entry_of(sig), cache.function
    if entry is None or isinstance(cache, PartCache) or not function.__module__.startswith("delassus"):
        return
    line = json.dumps([function.__module__, function.__qualname__, entry, _in_words(sig)])
    with open(folder / f"{os.getpid()}.jsonl", "a") as file:
        file.write(line + "\n")


def _in_words(sig: Any) -> Any:
    """Types that come back as they were; None for others."""
    try:
        words = [to_json(kind) for kind in sig]
        return words if tuple(map(from_json, words)) == sig else None
    except (TypeError, ValueError, AttributeError):  # a signature with its result, a type without a name
        return None


def read(folder: Path) -> list[tuple[str, str, str, Any]]:
    """What processes wrote down there, each line once."""
    lines = {line for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()}
    return [tuple(json.loads(line)) for line in sorted(lines)]


if __name__ == "__main__":  # python -m delassus.cli.ahead.training MODULE-or-FILE argument…
    record()
    del sys.argv[0]
    if sys.argv[0].endswith(".py"):
        runpy.run_path(sys.argv[0], run_name="__main__")
    else:
        runpy.run_module(sys.argv[0], run_name="__main__")
