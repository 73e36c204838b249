"""One row per run: what was asked, what was claimed, and what the judge found on the returned point."""

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from delassus.errors import FileError
from delassus.io.files import regular_file
from delassus.io.place import label, put

ROWS = "rows.jsonl"
_TIME_LIMIT_SLACK = 1.05  # factor on the time limit: solvers look at the clock between batches of iterations only
_TIME_LIMIT_MARGIN = 0.1  # [s] on top of it: what a call costs around the iterations


@dataclass(frozen=True)
class Result:
    """start: "cold" or "warm"; status: what the solver said of itself; relative: natural map recomputed [-];
    worst_velocity [m/s], and relative to the velocities of its island [-]; solved: is the first within tol and the last
    within what `solve` asks by default; penetration: ‖f(s)‖∞ after the step [m, rad]; dual [m/s], complementarity [J],
    natural_map: ∞-norms of Tsounis et al. 2025, eq. 174–176; seconds: of the processor [s]; memory: growth of the peak
    [MiB]; note: why a run has no result."""

    solver: str
    tol: float
    start: str
    sample: str
    sequence: str
    step: int
    category: str
    contacts: int
    rows: int
    status: str
    solved: bool
    relative: float
    worst_velocity: float
    worst_velocity_relative: float
    penetration: float
    dual: float
    complementarity: float
    natural_map: float
    iterations: int
    seconds: float
    memory: float
    note: str = ""

    @property
    def key(self) -> tuple[str, float, str, str]:
        return self.solver, self.tol, self.start, self.sample

    @property
    def claimed(self) -> bool:
        return self.status == "converged"

    @property
    def confirmed(self) -> bool:
        """Does the claim agree with the judge?"""
        return self.claimed == self.solved


_KINDS = {field.name: field.type for field in fields(Result)}
_MOST_BYTES = 1 << 30
_MOST = 2**53  # of whole numbers


def _checked(value: Any, kind: Any, name: str) -> Any:
    """A value of a row, of the kind of its field; ValueError for others."""
    if kind is float:
        out = float(value) if type(value) in (int, float) else math.nan
        if type(value) not in (int, float) or (name in ("tol", "seconds") and not 0.0 <= out < math.inf):
            raise ValueError(name)
        return out
    fits = type(value) is kind and (kind is not int or 0 <= value < _MOST)
    if not fits or (kind is str and not (value.isprintable() and len(value) < 1000)):
        raise ValueError(name)
    return value


def text_of(path: Path) -> str:
    """Of a file that a benchmark wrote."""
    return regular_file(path, label(path), _MOST_BYTES, "is larger than any benchmark").decode()


def is_in_time(seconds: float, limit: float) -> bool:
    """Did a run that took so long keep its time limit [s]?"""
    return seconds <= _TIME_LIMIT_SLACK * limit + _TIME_LIMIT_MARGIN


class Results:
    """Rows in a file, one line of JSON each, written as they come: an interrupted benchmark loses the one in flight."""

    def __init__(self, path: Path):
        self.path = path
        self.rows: list[Result] = []
        if path.exists():
            self.rows = _read(path)

    def add(self, row: Result) -> None:
        self.rows.append(row)
        try:
            with open(self.path, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(asdict(row)) + "\n")
        except OSError as error:
            raise FileError(f"{self.path}: cannot be written ({error.strerror}): make room or choose --out") from None

    @property
    def keys(self) -> set[tuple[str, float, str, str]]:
        return {row.key for row in self.rows}


def _read(path: Path) -> list[Result]:
    """All whole rows; half a line at the end, which an interruption leaves, is cut off."""
    data = regular_file(path, label(path), _MOST_BYTES, "is larger than any benchmark")
    whole, _, rest = data.rpartition(b"\n")
    if rest:
        put(path, whole + b"\n" if whole else b"")
    rows = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            values = json.loads(line)
            rows.append(Result(**{name: _checked(values[name], kind, name) for name, kind in _KINDS.items()}))
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            raise FileError(
                f"{label(path)}: line {number} is no row of a benchmark: remove it, or give another --out"
            ) from None
    return rows
