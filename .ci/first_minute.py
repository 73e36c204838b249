"""Is what people begin with compiled already? Run with `python -I` where a wheel with machine code is installed, with
an empty DELASSUS_CACHE: the README's first command and its first program in Python may not compile a single kernel.

    python -I .ci/first_minute.py README.md"""

import re
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any

from numba.core import event

compiled: list[str] = []


class _Listener(event.Listener):
    def on_start(self, event: Any) -> None:
        """A kernel, or a part of one."""
        compiled.append(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event: Any) -> None:
        """It is done."""


def main() -> None:
    """Raises where something is compiled."""
    event.register("numba:compile", _Listener())
    text = Path(sys.argv[1]).read_text()
    begun = perf_counter()
    with tempfile.TemporaryDirectory() as place:
        sys.argv = ["delassus", *re.search(r"delassus (run [\w-]+)", text)[1].split(), "--out", f"{place}/run"]  # type: ignore[index]
        from delassus.cli.main import run

        with suppress(SystemExit):
            run()
        assert Path(place, "run").is_dir(), "it did not run"
    now = perf_counter()
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], {})  # type: ignore[index]
    print(f"first command {now - begun:.1f} s, first program {perf_counter() - now:.1f} s after it")
    assert not compiled, f"compiled: {', '.join(compiled)}"


if __name__ == "__main__":
    main()
