"""Builds sdist and wheel, installs the wheel into an environment of its own, and uses it from an empty folder.

    python .ci/package.py

The wheel is built from the unpacked sdist, so that a file missing there is missed here. Needs the package `build`."""

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
        (sdist,), (wheel,) = (place / "dist").glob("*.tar.gz"), (place / "dist").glob("*.whl")
        look_into(sdist)
        venv.create(place / "fresh", with_pip=True)
        python = place / "fresh" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        run(python, "-m", "pip", "install", "--quiet", wheel)
        (place / "empty").mkdir()
        run(python, "-I", ROOT / ".ci" / "smoke.py", cwd=place / "empty")


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
