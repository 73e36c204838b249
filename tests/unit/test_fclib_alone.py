"""Problems from files load neither bodies nor time: what reads, solves and describes them stays below the engine."""

import subprocess
import sys

import pytest

ENGINE = ("shapes", "joints", "collision", "model", "integrators", "dynamics", "builder", "simulation", "scenes")
"""Packages that know bodies or time."""


def loaded(code, *arguments):
    """Packages of the engine that are in memory after `code` ran in a process of its own."""
    look = "print(*sorted({m.split('.')[1] for m in sys.modules if m.startswith('delassus.')}), file=sys.stderr)"
    command = [sys.executable, "-c", f"import sys\n{code}\n{look}", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split()) & {*ENGINE, "solvers"}


COMMAND = (
    "from delassus.cli.main import app\ncode = app(sys.argv[1:], standalone_mode=False)\nassert code in (0, None), code"
)


def test_reading_a_file_loads_neither_bodies_nor_solvers(data_dir):
    file = data_dir / "Example-GFC3D-1.hdf5"
    assert loaded("from delassus.io.fclib import read_fclib; read_fclib(sys.argv[1])", file) == set()
    assert loaded("from delassus.io import load_problem; load_problem(sys.argv[1])", file) == set()


@pytest.mark.parametrize(
    ("command", "expected"), [("solve", {"solvers"}), ("info", {"solvers"})]
)  # info prints the plan of a solve
def test_commands_on_files_load_no_bodies(command, expected, data_dir):
    assert loaded(COMMAND, command, data_dir / "Example-GFC3D-1.hdf5") == expected


def test_names_of_io_are_found_and_others_refused():
    import delassus.io as io

    assert {io.load_problem.__name__, io.save_solution.__name__} == {"load_problem", "save_solution"}
    assert {io.Recorder.__name__, io.Recording.__name__} <= set(dir(io))
    with pytest.raises(AttributeError, match="load_porblem"):
        io.load_porblem  # noqa: B018
