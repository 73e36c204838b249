"""Foreign parsers (MuJoCo, USD, trimesh, meshio) in a process of their own, with limits: a file that crashes, hangs or
fills them is one sentence of ours.

A request is a table of texts and numbers and files by name, all in memory; the answer is arrays and one table. Both go
through pipes as JSON and NPZ, never as pickles.
"""

import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from delassus.errors import FileError

SECONDS = 15.0  # of the processor that a parser may take; the largest robot at hand takes two
SECONDS_MORE = 2.0  # for each megabyte of the files
MEMORY = 1536 << 20  # bytes of address space, of which libraries take half
MEMORY_MORE = 40  # bytes for each byte of the files
_MOST_SECONDS, _MOST_MEMORY = 120.0, 16 << 30
_WAITED = 30.0  # seconds longer than its processor time, where others work, too
_PROGRAMS = Path(__file__).parent / "programs"
_TABLE = "table"  # name of the array that holds the answer's table
_SAID_BY_US = ("ValueError", "ImportError", "FileNotFoundError")  # kinds of exceptions whose words are for the reader
_USD = re.compile(r":\s*'([^']{3,})'")  # what USD says, behind where in its sources it says it


def ask(
    program: str,
    who: str,
    request: dict[str, Any],
    files: dict[str, bytes],
    *,
    on_disk: bool = False,
    seconds: float = SECONDS,
) -> tuple[dict[str, Any], Any]:
    """(arrays by name, table) that foreign/programs/<program>.py answers.  who: the file, for complaints; on_disk:
    files are put into the child's folder; seconds: it may take, and more for large files.

    The child has an empty folder, no environment but the path of its interpreter, and limits of time and memory."""
    total = sum(map(len, files.values()))
    seconds = min(_MOST_SECONDS, seconds + SECONDS_MORE * total / 1e6)
    memory = min(_MOST_MEMORY, MEMORY + MEMORY_MORE * total)
    sizes = [[name, len(content)] for name, content in files.items()]
    limits = {"memory": memory, "seconds": seconds}
    head = json.dumps({"request": request, "files": sizes, "on_disk": on_disk, **limits}).encode()
    given = len(head).to_bytes(8, "little") + head + b"".join(files.values())
    environment = {key: os.environ[key] for key in ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH") if key in os.environ}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [sys.executable, "-I", str(_PROGRAMS / "run.py"), program]
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                command, input=given, capture_output=True, cwd=folder, env=environment, timeout=seconds + _WAITED
            )
        except subprocess.TimeoutExpired:
            raise FileError(f"{who}: reading it takes longer than {seconds:.0f} s: simplify it") from None
    return _answer(done, who, limits)


def _answer(done: subprocess.CompletedProcess[bytes], who: str, limits: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    kind, body = done.stdout[:1], done.stdout[1:]
    needs = f"needs more than {limits['memory'] >> 20} MB or {limits['seconds']:.0f} s"
    if kind == b"E":
        named, text = json.loads(body)
        raise FileError(f"{who}: {_sentence(named, text, needs)}")
    if kind != b"A" or done.returncode != 0:
        last = one_line(done.stderr.decode(errors="replace")[-300:])
        said = f": {last}" if last else ""
        raise FileError(f"{who}: its reader ended with code {done.returncode}{said}; the file is broken, or {needs}")
    with np.load(io.BytesIO(body), allow_pickle=False) as found:
        arrays = {name: found[name] for name in found.files}
    return arrays, printable(json.loads(arrays.pop(_TABLE).tobytes().decode()))


def _sentence(kind: str, text: str, needs: str) -> str:
    """What to say of an exception in the child."""
    if kind in ("MemoryError", "_ArrayMemoryError"):
        return f"{needs}: simplify it"
    if kind in _SAID_BY_US and text:
        return one_line(text)
    usd = _USD.findall(text) if "Error" in kind and "at line" in text else []
    if usd:
        return f"is broken: {one_line(usd[-1])}"
    if kind == "OSError" and text:
        return f"is broken: {one_line(text)}"
    return f"is broken: it holds what its reader does not expect there ({kind})"


def one_line(text: str) -> str:
    """Printable, on one line, of bounded length."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:400]


def printable(found: Any) -> Any:
    """A table whose texts, names of strangers, hold no characters that control a terminal or a page."""
    if isinstance(found, str):
        return found if found.isprintable() else "".join(c if c.isprintable() else "?" for c in found)
    if isinstance(found, list):
        return [printable(one) for one in found]
    if isinstance(found, dict):
        return {printable(key): printable(value) for key, value in found.items()}
    return found
