"""A whole benchmark in a folder: samples, rows, what was asked and on what machine; begun or continued."""

import importlib.metadata
import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from delassus import __version__
from delassus.bench.peers import PEERS, find_peer
from delassus.bench.result import ROWS, Result, Results, text_of
from delassus.bench.runs import plan, run
from delassus.bench.sample import Sample
from delassus.bench.suites import Suite, file_samples
from delassus.errors import FileError, SettingsError
from delassus.io.place import put

ABOUT, SAMPLES = "about.json", "samples.hdf5"
STARTS = ("cold", "warm")


@dataclass(frozen=True)
class BenchmarkSettings:
    """What to run. starts: of STARTS; only: names of samples, or beginnings of them; folder: of a suite of files."""

    suite: Suite
    out: Path
    solvers: tuple[str, ...]
    tol: float
    starts: tuple[str, ...]
    time_limit: float
    processes: int
    only: tuple[str, ...] = ()
    folder: Path | None = None

    def __post_init__(self) -> None:
        from delassus.solvers.table import find

        if not self.solvers:
            raise SettingsError("no solvers to compare: give --solvers NAME,NAME")
        for solver in self.solvers:
            if solver.partition(":")[0] in PEERS:
                find_peer(solver)
            elif solver != "auto":
                find(solver)
        for start in self.starts:
            if start not in STARTS:
                raise SettingsError(f"start is {start!r}: give cold, warm or both")
        if not self.tol > 0.0 or not self.time_limit > 0.0:
            raise SettingsError("tol and time limit must be positive")
        if not 1 <= self.processes <= 256:
            raise SettingsError(f"processes is {self.processes}: give 1 to 256")


class Benchmark:
    """Prepare with `Benchmark(settings)`, see `left`, then `run`."""

    def __init__(self, settings: BenchmarkSettings):
        self.settings = settings
        try:
            settings.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{settings.out}: cannot be made ({error.strerror}): choose another --out") from None
        from_files = settings.suite.files
        self.source = settings.folder if from_files and settings.folder is not None else settings.out / SAMPLES
        self._check_same()
        self.samples: list[Sample] = (
            list(file_samples(settings.folder)) if from_files else settings.suite.store(self.source)
        )
        self.rows = Results(settings.out / ROWS)
        wanted = {n for n, sample in enumerate(self.samples) if _is_wanted(sample, settings.only)}
        if not wanted:
            asked, example = ", ".join(settings.only), self.samples[0].name
            raise SettingsError(f"no sample is called {asked}: names are like {example}")
        tasks = plan(self.samples, settings.solvers, settings.tol, settings.starts, settings.time_limit, self.rows.keys)
        self.tasks = [task for task in tasks if wanted.intersection(task.samples)]

    @property
    def left(self) -> int:
        """Rows still to be made."""
        keys = {(task.solver, task.tol, task.start, self.samples[n].name) for task in self.tasks for n in task.samples}
        return len(keys - self.rows.keys)

    def run(self, progress: Callable[[Result], None] | None = None) -> list[Result]:
        """All rows of the folder once everything is done."""
        run(self.source, self.samples, self.tasks, self.rows, processes=self.settings.processes, progress=progress)
        return self.rows.rows

    def about(self) -> dict[str, Any]:
        """What was run, and where."""
        return {
            **self._asked(),
            "samples": len(self.samples),
            "solvers": ", ".join(dict.fromkeys([row.solver for row in self.rows.rows])),
            "processes": self.settings.processes,
            **machine(),
        }

    def _asked(self) -> dict[str, Any]:
        return {"suite": self.settings.suite.name, "tol": self.settings.tol, "time_limit": self.settings.time_limit}

    def _check_same(self) -> None:
        """Rows of another suite must not be mixed in."""
        path = self.settings.out / ABOUT
        if path.exists():
            try:
                before = json.loads(text_of(path))
            except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
                raise FileError(f"{path}: is damaged: remove it, or choose another --out") from None
            if not isinstance(before, dict) or before.get("suite") != self.settings.suite.name:
                raise FileError(f"{self.settings.out}: holds a benchmark of another suite: choose another --out")
        put(path, json.dumps(self._asked() | machine(), indent=1).encode())


def machine() -> dict[str, str]:
    """Processor, system and versions, as a reader needs them to place the figures."""
    versions = {}
    for name in ("numpy", "scipy", "numba", "mkl", "clarabel", "scs", "pin"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "delassus": __version__,
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def _is_wanted(sample: Sample, only: Sequence[str]) -> bool:
    return not only or any(sample.name == name or sample.name.startswith(name) for name in only)
