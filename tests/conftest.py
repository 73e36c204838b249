"""Where the problem files are, and two small problems that use every part of the FCLIB format."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from delassus.io.fclib import FclibFile, FclibInfo, FclibMatrix, FclibMatrixInfo, FclibPoint

if "DELASSUS_TRAINING" in os.environ:  # where a wheel with machine code is to be built: which kernels are entered
    from delassus.cli.ahead.training import record

    record()
os.environ.setdefault("DELASSUS_PROCESSES", "1")  # commands that tests run compile alone: tests run side by side
os.environ.pop("COLUMNS", None)  # set in the processes of pytest-xdist: tables would be cut to fit a terminal

TESTS = Path(__file__).parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The few small problem files that come with the tests."""
    return TESTS / "data"


@pytest.fixture(scope="session")
def fclib_dir() -> Path:
    """The directory of the problem collection: DELASSUS_DATA, else ../shared/data/fclib beside the project."""
    given = os.environ.get("DELASSUS_DATA")
    place = Path(given) if given else TESTS.parent.parent / "shared" / "data" / "fclib"
    if not any(place.glob("*.hdf5")):
        pytest.skip(f"no FCLIB problem files in {place}: set DELASSUS_DATA to a directory that has them")
    return place


@pytest.fixture(scope="session")
def fclib_files(fclib_dir: Path) -> list[Path]:
    """Every file of the problem collection, sorted by name."""
    return sorted(fclib_dir.glob("*.hdf5"))


def _matrix(rng: np.random.Generator, m: int, n: int, storage: str, info: FclibMatrixInfo | None = None) -> FclibMatrix:
    return FclibMatrix.from_sparse(sp.csr_array(rng.standard_normal((m, n))), storage=storage, info=info)


def _point(rng: np.random.Generator, **lengths: int) -> FclibPoint:
    return FclibPoint(**{name: rng.standard_normal(length) for name, length in lengths.items()})


@pytest.fixture
def local_sample() -> FclibFile:
    """2 contacts, 2 bilateral rows, all three storages, matrix info, two guesses, a solution."""
    rng = np.random.default_rng(1)
    about = FclibMatrixInfo(conditioning=np.inf, determinant=0.0, rank=5, comment="rank-deficient")
    return FclibFile(
        "local",
        mu=np.array([0.5, 0.0]),
        W=_matrix(rng, 6, 6, "csr", about),
        V=_matrix(rng, 6, 2, "csc"),
        R=_matrix(rng, 2, 2, "triplet"),
        q=rng.standard_normal(6),
        s=rng.standard_normal(2),
        info=FclibInfo(title="local sample", description="", math_info="eindeutig lösbar"),
        guesses=(_point(rng, u=6, r=6, l=2), _point(rng, u=6, r=6, l=2)),
        solution=_point(rng, u=6, r=6, l=2),
    )


@pytest.fixture
def global_sample() -> FclibFile:
    """100 contacts, 12 degrees of freedom, 1 bilateral row; long enough that several arrays are compressed."""
    rng = np.random.default_rng(2)
    return FclibFile(
        "global",
        mu=rng.uniform(0.0, 1.0, 100),
        M=_matrix(rng, 12, 12, "triplet"),
        H=_matrix(rng, 12, 300, "csc"),
        G=_matrix(rng, 12, 1, "triplet"),
        f=rng.standard_normal(12),
        w=rng.standard_normal(300),
        b=rng.standard_normal(1),
        info=FclibInfo(title="global sample"),
        guesses=(_point(rng, v=12, u=300, r=300, l=1),),
        solution=_point(rng, v=12, u=300, r=300, l=1),
    )


@pytest.fixture(scope="session")
def robots_dir() -> Path:
    """Robots that nobody here wrote: DELASSUS_ROBOTS, else ../shared/data/robots beside the project."""
    given = os.environ.get("DELASSUS_ROBOTS")
    place = Path(given) if given else TESTS.parent.parent / "shared" / "data" / "robots"
    if not (place / "mjcf").is_dir():
        pytest.skip(f"no robots in {place}: set DELASSUS_ROBOTS to a directory that has mjcf, urdf and usd in it")
    return place
