"""How many files of the package a reader has to open between a call and its number.

Counted are the files in which a function is entered, and how often control passes from one of them to another (a
switch). Modules are imported and the same call was made before, so that loading counts for nothing. With the compiler
on, these are the files that Python enters; with the compiler off, kernels count like everything else (large cases are
left out there: they would take hours).

    python tests/files_entered.py                 the counts
    python tests/files_entered.py one-contact     the files behind one of them
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
from typing import Any

DATA = Path(__file__).parent / "data"
Case = Callable[[Path], Callable[[], object]]


def entered(call: Callable[[], object]) -> tuple[list[str], int]:
    """Files of the package, relative to it, in which a function was entered while `call` ran; and the switches."""
    import delassus

    home = str(Path(delassus.__file__).parent) + os.sep
    seen: set[str] = set()
    switches = 0

    def look(frame: Any, event: str, argument: object) -> None:
        nonlocal switches
        del argument
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(home) or frame.f_code.co_name == "<module>":
            return
        seen.add(name.removeprefix(home))
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(home):
            caller = caller.f_back
        switches += caller is None or caller.f_code.co_filename != name

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(seen), switches


def solve_contacts(bodies: int, contacts: int) -> Callable[[], object]:
    """`delassus.solve` on a problem that has not been solved before."""
    import numpy as np

    import delassus
    from delassus.problem.random import random_rigid

    problems = [random_rigid(np.random.default_rng(seed), bodies=bodies, contacts=contacts) for seed in (1, 2)]
    return lambda: delassus.solve(problems.pop(), tol=1e-4)


def run_world() -> Callable[[], object]:
    """`World.run` on a mechanism that falls on the ground."""
    import delassus

    world = delassus.World.from_scene("four-bar-free")
    return lambda: world.run(5)


def command(*arguments: str) -> Callable[[], object]:
    """The command line, in this process."""
    from delassus.cli.main import run

    def call() -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            sys.argv = ["delassus", *arguments]
            run()

    return call


def run_command(scene: str, folder: Path) -> Callable[[], object]:
    """`delassus run` of a few steps."""
    return command("run", scene, "--steps", "5", "--out", str(folder / scene), "--overwrite", "--no-pictures")


COMPILED: dict[str, Case] = {
    "one-contact": lambda folder: solve_contacts(1, 1),
    "thousand-contacts": lambda folder: solve_contacts(700, 1000),
    "world-run": lambda folder: run_world(),
    "run-wall": lambda folder: run_command("wall", folder),
}
INTERPRETED: dict[str, Case] = {
    "one-contact": COMPILED["one-contact"],
    "solve-file": lambda folder: command("solve", str(DATA / "Example-GFC3D-1.hdf5")),
    "run-four-bar": lambda folder: run_command("four-bar", folder),
}


def count(is_compiled: bool) -> dict[str, tuple[list[str], int]]:
    """Files entered and switches, by case, in a process of its own."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0" if is_compiled else "1", "COLUMNS": "200"}
    command = [sys.executable, __file__, "--json", "compiled" if is_compiled else "interpreted"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def _count_here(cases: dict[str, Case]) -> dict[str, tuple[list[str], int]]:
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, case in cases.items():
            call = case(Path(folder))
            call()
            found[name] = entered(call)
    return found


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--json"]:
        print(json.dumps(_count_here(COMPILED if arguments[1] == "compiled" else INTERPRETED)))
        return
    print("files switches")
    for is_compiled in (True, False):
        for name, (files, switches) in count(is_compiled).items():
            if not arguments or name in arguments:
                print(
                    f"{len(files):5} {switches:8}  {name}, {'as Python enters them' if is_compiled else 'kernels too'}"
                )
                for file in files if arguments else []:
                    print(f"                {file}")


if __name__ == "__main__":
    main(sys.argv[1:])
