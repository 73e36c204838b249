"""How many files of the package a reader has to open between a call and its number.

Counted are the files in which Python enters a function, with the compiler off, so that kernels count like everything
else; modules are imported and the same call was made before, so that loading counts for nothing. By hand:

    python tests/files_entered.py              the counts
    python tests/files_entered.py nbgs         the files behind one of them
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

DATA = Path(__file__).parent / "data"


def entered(call: Callable[[], object]) -> list[str]:
    """Files of the package, relative to it, in which a function was entered while `call` ran."""
    import delassus

    home = str(Path(delassus.__file__).parent) + os.sep
    seen = set()

    def look(frame, event, argument):
        del argument
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(home) and frame.f_code.co_name != "<module>":
            seen.add(name.removeprefix(home))

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(seen)


def solve_with(solver: str, law: str) -> Callable[[], object]:
    """`delassus.solve` on a problem of four bodies and six contacts that no solver has seen before."""
    import numpy as np

    import delassus
    from delassus.problem.random import random_rigid

    problems = [random_rigid(np.random.default_rng(seed), bodies=4, contacts=6, law=law) for seed in (1, 2)]
    return lambda: delassus.solve(problems.pop(), solver)


def command(*arguments: str) -> Callable[[], object]:
    """The command line, in this process."""
    from delassus.cli.main import run

    def call():
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            sys.argv = ["delassus", *arguments]
            run()

    return call


CASES: dict[str, Callable[[Path], Callable[[], object]]] = {
    "nbgs": lambda folder: solve_with("nbgs", "ncp"),
    "ipm": lambda folder: solve_with("ipm", "ccp"),
    "prox-ssn": lambda folder: solve_with("prox-ssn", "ncp"),
    "solve FILE": lambda folder: command("solve", str(DATA / "Example-GFC3D-1.hdf5")),
    "run": lambda folder: command(
        "run", "four-bar", "--steps", "5", "--out", str(folder / "run.h5"), "--overwrite", "--no-pictures"
    ),
}


def count() -> dict[str, list[str]]:
    """Files entered, by case; in a process of its own, without the compiler."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "COLUMNS": "200"}
    command = [sys.executable, __file__, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def _count_here() -> dict[str, list[str]]:
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, case in CASES.items():
            call = case(Path(folder))
            call()
            found[name] = entered(call)
    return found


if __name__ == "__main__":
    if "--json" in sys.argv:
        print(json.dumps(_count_here()))
    else:
        for name, files in count().items():
            if len(sys.argv) == 1 or name in sys.argv[1:]:
                print(f"{len(files):3}  {name}")
                for file in files if len(sys.argv) > 1 else []:
                    print(f"     {file}")
