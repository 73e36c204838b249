"""Foreign compilers (MuJoCo, USD) in a process of their own, with limits: a file that crashes, hangs or fills them is
one sentence of ours.

A request is a table of texts and numbers and files by name, all in memory; the answer is arrays and one table. Both go
through pipes as JSON and NPZ, never as pickles.
"""

import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from delassus.errors import FileError

SECONDS = 60.0  # a compiler may take; the largest robot at hand takes two
MEMORY = 4 << 30  # bytes of address space
_PROGRAMS = Path(__file__).parent / "programs"
_TABLE = "table"  # name of the array that holds the answer's table


def ask(
    program: str, who: str, request: dict[str, Any], files: dict[str, bytes], *, on_disk: bool = False
) -> tuple[dict[str, Any], Any]:
    """(arrays by name, table) that importers/programs/<program>.py answers.  who: the file, for complaints; on_disk:
    files are put into the child's folder.

    The child has an empty folder, no environment but the path of its interpreter, and limits of time and memory."""
    sizes = [[name, len(content)] for name, content in files.items()]
    limits = {"memory": MEMORY, "seconds": SECONDS}
    head = json.dumps({"request": request, "files": sizes, "on_disk": on_disk, **limits}).encode()
    given = len(head).to_bytes(8, "little") + head + b"".join(files.values())
    environment = {key: os.environ[key] for key in ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH") if key in os.environ}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [sys.executable, "-I", str(_PROGRAMS / "run.py"), program]
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                command, input=given, capture_output=True, cwd=folder, env=environment, timeout=SECONDS + 30.0
            )
        except subprocess.TimeoutExpired:
            raise FileError(f"{who}: reading it takes longer than {SECONDS:g} s: simplify its meshes") from None
    return _answer(done, who)


def _answer(done: subprocess.CompletedProcess[bytes], who: str) -> tuple[dict[str, Any], Any]:
    kind, body = done.stdout[:1], done.stdout[1:]
    if kind == b"E":
        raise FileError(f"{who}: {one_line(body.decode(errors='replace'))}")
    if kind != b"A" or done.returncode != 0:
        last = one_line(done.stderr.decode(errors="replace")[-300:])
        said = f": {last}" if last else ""
        raise FileError(
            f"{who}: its compiler ended with code {done.returncode}{said}; the file is broken, or "
            f"needs more than {MEMORY >> 30} GiB or {SECONDS:g} s"
        )
    with np.load(io.BytesIO(body), allow_pickle=False) as found:
        arrays = {name: found[name] for name in found.files}
    return arrays, json.loads(arrays.pop(_TABLE).tobytes().decode())


def one_line(text: str) -> str:
    """Printable, on one line, of bounded length."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:400]
