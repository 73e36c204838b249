"""What came out of an experiment, kept as a file: pages are made from these, so an interrupted run loses nothing."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # not a POSIX system: two runs of one experiment at once are then the user's to avoid
    fcntl = None  # type: ignore[assignment]

from delassus.errors import FileError
from delassus_papers.claim import Fact, Line

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


@contextmanager
def claimed(folder: Path, name: str) -> Iterator[None]:
    """The folder, made where it is not there, as long as an experiment of this name writes to it: pictures of two runs
    at once would be mixed up. Found out before hours of work, not after."""
    path = folder / f".{name}.running"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = _locked(path)
    except OSError as error:
        raise FileError(f"{folder}: cannot be written to ({error.strerror}): give another --out") from None
    if lock is None:
        raise FileError(f"{folder}: another run of {name} is writing there: wait for its end, or give another --out")
    with lock:
        try:
            yield
        except OSError as error:
            if error.filename is None or not Path(error.filename).is_relative_to(folder):
                raise
            raise FileError(f"{error.filename}: cannot be written ({error.strerror}): give another --out") from None
        finally:
            path.unlink(missing_ok=True)


def _locked(path: Path) -> IO[str] | None:
    """The file, locked until it is closed or its process ends; None where another process has it."""
    while True:
        lock = open(path, "w")  # noqa: SIM115  (its lock outlives this function)
        try:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.fstat(lock.fileno()).st_ino == path.stat().st_ino:
                return lock  # else the one who had it has removed it meanwhile
        except BlockingIOError:
            lock.close()
            return None
        lock.close()


def write_whole(path: Path, text: str) -> None:
    """Write it in one go: a reader never meets half a file."""
    half = path.with_name(f".{path.name}.{os.getpid()}")
    half.write_text(text, encoding="utf-8")
    half.replace(path)


def store(outcome: Outcome, folder: Path) -> Path:
    """Keep an outcome; the path of its file."""
    path = folder / f"{outcome.experiment}{_SUFFIX}"
    write_whole(path, json.dumps(asdict(outcome), ensure_ascii=False, indent=1))
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
