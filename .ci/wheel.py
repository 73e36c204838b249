"""Builds a wheel that carries machine code, for this Python and this platform.

    python .ci/wheel.py                 into dist/; trains first (.ci/train.py: minutes where nothing is compiled yet)
    python .ci/wheel.py --pack          of what was trained or tested already: build/training
    python .ci/wheel.py --pack --tree unpacked-sdist --out folder

Needs the package of this tree installed, and `build`. What goes in are the entries of the user's cache
that these runs entered, by names that say what each was made of."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TRAINING = ROOT / "build" / "training"
FILE = ROOT / "build" / "machine_code.bin"


def main() -> None:
    """Trains, packs, builds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pack", action="store_true", help="without training")
    parser.add_argument("--tree", type=Path, default=ROOT, help="to build the wheel of")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the wheel")
    asked = parser.parse_args()
    if not asked.pack:
        subprocess.run([sys.executable, ROOT / ".ci" / "train.py", "--jobs", str(os.cpu_count())], check=True)
    print(pack(), flush=True)
    build(asked.tree, asked.out)


def pack(folder: Path = TRAINING, file: Path = FILE) -> str:
    """One file of all that was entered while something wrote that down in a folder below; how much that is."""
    from delassus.cli.ahead.training import read
    from delassus.kernel import cache, shipped

    names = {entry for below in [folder, *folder.glob("*/")] for _, _, entry, _ in read(below)}
    found = {name: code for name in sorted(names) if (code := cache.read(name)) is not None}
    if not found:
        raise SystemExit(f"{folder}: nothing was trained, or the cache has been emptied since")
    file.parent.mkdir(parents=True, exist_ok=True)
    shipped.write(found.items(), file)
    return f"{file}: {len(found)} kernels, {file.stat().st_size / 1e6:.1f} MB"


def build(tree: Path, out: Path, file: Path = FILE) -> None:
    """The wheel of a tree, with this machine code."""
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(out), str(tree)]
    subprocess.run(command, check=True, env=os.environ | {"DELASSUS_MACHINE_CODE": str(file)})


if __name__ == "__main__":
    main()
