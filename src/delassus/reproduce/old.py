"""Experiments whose claims are not yet judged by criteria of their own: their lines become facts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from delassus.reproduce.claim import Fact
from delassus.reproduce.experiment import Experiment as New
from delassus.reproduce.experiment import Findings
from delassus.reproduce.outcome import Picture


@dataclass(frozen=True)
class Line:
    """As before."""

    what: str
    paper: str
    ours: str
    agrees: bool | None
    criterion: str = ""
    why: str = ""


@dataclass(frozen=True)
class Outcome:
    """As before."""

    lines: list[Line]
    pictures: list[Path] = field(default_factory=list)
    seconds: float = 0.0


_KEYS = {"Mangoni": "mangoni", "Heyn": "heyn", "Tsounis": "tsounis", "Kleinert": "kleinert"}


def Experiment(name: str, paper: str, title: str, run: Callable[[Path, bool], Outcome]) -> New:  # noqa: N802
    """As before."""
    key = next(key for word, key in _KEYS.items() if paper.startswith(word))

    def measure(folder: Path, quick: bool) -> Findings:
        out = run(folder, quick)
        facts = [Fact(line.what, line.paper, "–", line.ours) for line in out.lines]
        return Findings({}, facts, [Picture(path.name, "", path.stem) for path in out.pictures])

    return New(name, (key,), title, (), (), measure)
