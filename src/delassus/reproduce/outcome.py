"""What came out of an experiment, kept as a file: pages are made from these, so an interrupted run loses nothing."""

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from delassus.errors import FileError
from delassus.reproduce.claim import Fact, Line

_SUFFIX = ".outcome.json"


@dataclass(frozen=True)
class Picture:
    """A picture beside the page. name: of the file, in the experiment's folder; of: "Figure 5.2"; printed: the paper's
    numbers drawn in it, or "curve not available" where only a caption exists."""

    name: str
    of: str
    caption: str
    printed: str = ""


@dataclass(frozen=True)
class Outcome:
    """An experiment that was run: when (UTC, to the minute), for how long [s], on which machine."""

    experiment: str
    quick: bool
    date: str
    seconds: float
    machine: dict[str, str]
    lines: list[Line] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)

    def count(self, verdict: str) -> int:
        return sum(line.verdict == verdict for line in self.lines)

    @property
    def command(self) -> str:
        return f"delassus reproduce {self.experiment}" + (" --quick" if self.quick else "")


def today() -> str:
    """Date and minute, UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M")


def store(outcome: Outcome, folder: Path) -> Path:
    """Write it in one go: a reader never meets half a file."""
    path = folder / f"{outcome.experiment}{_SUFFIX}"
    half = path.with_suffix(".half")
    half.write_text(json.dumps(asdict(outcome), ensure_ascii=False, indent=1), encoding="utf-8")
    half.replace(path)
    return path


def stored(folder: Path) -> list[Outcome]:
    """Every outcome in a folder, by name of the experiment."""
    return [_read(path) for path in sorted(folder.glob(f"*{_SUFFIX}"))]


def _read(path: Path) -> Outcome:
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for name, kind in (("lines", Line), ("facts", Fact), ("pictures", Picture)):
            values[name] = [kind(**item) for item in values[name]]
        return Outcome(**values)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FileError(f"{path}: not an outcome of `delassus reproduce` ({error}): remove it") from None
