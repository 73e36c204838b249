"""The table of suites: which sequences of which scenes, or which files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from delassus.bench.extract import Take, extract
from delassus.bench.sample import Sample
from delassus.bench.suite_file import read_suite, write_suite
from delassus.errors import FileError, SettingsError
from delassus.law import Law
from delassus.tables import Table

_SOLVERS = ("auto", "nbgs", "nbgs+anderson", "prox-ssn", "admm-ncp-sa", "raisim-ds", "pgs-ncp", "jacobi")


@dataclass(frozen=True)
class Suite:
    """takes: sequences to run; files: whether its problems come from a folder instead; solvers, tol, time_limit: what a
    benchmark of it does unless told otherwise."""

    name: str
    summary: str
    takes: tuple[Take, ...] = ()
    files: bool = False
    solvers: tuple[str, ...] = _SOLVERS
    tol: float = 1e-6
    time_limit: float = 10.0

    def samples(self, folder: Path | None = None) -> Iterator[Sample]:
        """Make the samples, in order; folder: of a suite of files."""
        if self.files:
            yield from file_samples(folder)
        for take in self.takes:
            yield from extract(take)

    def store(self, path: Path) -> list[Sample]:
        """The samples from `path`, made and written there first where it does not exist."""
        if not path.exists():
            write_suite(path, list(self.samples()))
        return read_suite(path)


def file_samples(folder: Path | None) -> Iterator[Sample]:
    """One sample per FCLIB file of a folder, by name."""
    from delassus.io import load_problem

    if folder is None:
        raise SettingsError("the suite of files needs to know where they are: give --files FOLDER")
    paths = sorted(folder.glob("*.hdf5")) if folder.is_dir() else []
    if not paths:
        raise FileError(f"{folder}: no *.hdf5 files in it: give a folder of FCLIB files")
    for path in paths:
        yield Sample(path.stem, 0, load_problem(path, law=Law.NCP))


_PRIMITIVES = (
    Take("box-on-plane"),
    Take("sliding-block"),
    Take("bouncing-ball"),
    Take("rolling-sphere"),
    Take("boxes-fixed"),
    Take("nunchuk"),
    Take("pendulum-chain"),
)
_LOOPS = (
    Take("four-bar", count=5),
    Take("four-bar-free", count=5),
    Take("misha"),
    Take("walker"),
    Take("gazelle"),
    Take("ironman", length=2),
)
_ROBOTS = (Take("arm7d"), Take("quadruped"), Take("bdx"), Take("lima"))
_GRANULAR = (
    Take("sphere-pile", parameters={"n": 60}),
    Take("sphere-pile", count=3, parameters={"n": 300}),
    Take("card-house"),
    Take("wall"),
)
_QUICK = (
    Take("box-on-plane", count=2),
    Take("boxes-fixed", count=2),
    Take("nunchuk", count=3),
    Take("four-bar", count=2),
    Take("four-bar-free", count=3),
    Take("card-house", count=2),
    Take("sphere-pile", count=2, parameters={"n": 40}),
)

SUITES: Table[Suite] = Table(
    "suite",
    lambda line: isinstance(line, Suite),
    lambda line: line.name,
    [
        Suite(
            "quick",
            "a little of everything, in less than three minutes on two cores",
            _QUICK,
            solvers=("auto", "nbgs", "nbgs+anderson", "prox-ssn", "admm-ncp-sa", "raisim-ds", "pgs-ncp"),
            time_limit=2.0,
        ),
        Suite("primitives", "the toy systems of Tsounis et al. 2025, and more like them", _PRIMITIVES),
        Suite("robots", "articulated systems of Tsounis et al. 2025, Table II", _ROBOTS),
        Suite("loops", "closed kinematic loops", _LOOPS),
        Suite("granular", "heaps, stacks and walls", _GRANULAR, time_limit=30.0),
        Suite("fclib", "FCLIB files of a folder", files=True, time_limit=20.0),
        Suite("all", "everything that is built in", _PRIMITIVES + _LOOPS + _ROBOTS + _GRANULAR, time_limit=30.0),
    ],
)
"""Every suite by name, plug-ins included."""
