"""Builds sdist and wheels, installs the one with machine code into an environment of its own, and uses it from an empty
folder: there the README's first command compiles nothing.

    python .ci/package.py

Wheels are built from the unpacked sdist, so that a file missing there is missed here. The machine code is that of the
README's programs, and of the tests where they wrote it down (`.ci/run`). Needs `build`, and this package."""

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
IN_SDIST = ["tests/conftest.py", "tests/data/OneContact-1c.hdf5", "docs/architecture.md", "CHANGELOG.md", "LICENSE"]
"""What somebody who packages this for a distribution needs beside the code, one file of each kind."""


def main() -> None:
    """Fails with the first command that fails."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run(sys.executable, "-m", "build", "--outdir", place / "dist", ROOT)
        (sdist,), (pure,) = (place / "dist").glob("*.tar.gz"), (place / "dist").glob("*.whl")
        assert pure.name.endswith("-py3-none-any.whl"), f"{pure.name}: without machine code a wheel is for everybody"
        look_into(sdist)
        wheel = with_machine_code(sdist, place)
        venv.create(place / "fresh", with_pip=True)
        python = place / "fresh" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        run(python, "-m", "pip", "install", "--quiet", wheel)
        (place / "empty").mkdir()
        os.environ["DELASSUS_CACHE"] = str(place / "no-kernels")
        run(python, "-I", ROOT / ".ci" / "first_minute.py", ROOT / "README.md", cwd=place / "empty")
        del os.environ["DELASSUS_CACHE"]
        run(python, "-I", ROOT / ".ci" / "smoke.py", cwd=place / "empty")


def with_machine_code(sdist: Path, place: Path) -> Path:
    """A wheel for this Python and platform."""
    run(sys.executable, ROOT / ".ci" / "train.py", "four-bar-free", "README")
    with tarfile.open(sdist) as archive:
        archive.extractall(place / "tree", filter="data")
    (tree,) = (place / "tree").iterdir()
    run(sys.executable, ROOT / ".ci" / "wheel.py", "--pack", "--tree", tree, "--out", place / "wheel")
    (wheel,) = (place / "wheel").glob("*.whl")
    assert "none-any" not in wheel.name, f"{wheel.name}: machine code is not for everybody"
    return wheel


def look_into(sdist: Path) -> None:
    """The sdist holds what is needed to test and document."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    if missing := [name for name in IN_SDIST if name not in names]:
        raise SystemExit(f"{sdist.name} lacks {', '.join(missing)}")


def run(*command: object, cwd: Path | None = None) -> None:
    """The command, shown before it runs."""
    words = [str(word) for word in command]
    print("+", *words, flush=True)
    subprocess.run(words, check=True, cwd=cwd)


if __name__ == "__main__":
    main()
