"""Runs what people begin with, and writes down which kernels were entered: for the list that `delassus compile` goes
by, and for the machine code in wheels.

    python .ci/train.py                    into build/training
    python .ci/train.py --list             and writes src/delassus/cli/ahead/kernels.json anew
    python .ci/train.py --list --dry       … of what earlier runs left there
    python .ci/train.py --jobs 2 wall      in two processes at once; only programs with this word in their names, of the
                                           list only their lines

Kernels that are in the user's cache are not compiled again. The tests write down theirs as well, where
DELASSUS_TRAINING names a folder: `.ci/run` does so."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "training"
STEPS = 40  # of a scene: enough for contacts, and for the steps that compiled code takes
FEW_STEPS = {"three-point-bending": 3, "strip-through-rollers": 8}  # of scenes that take seconds for each
_PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)

_ENVIRONMENTS = """
import gymnasium
import delassus.envs
for name in [name for name in gymnasium.registry if name.startswith("delassus/")]:
    env = gymnasium.make(name)
    env.reset(seed=0)
    for _ in range(10):
        env.step(env.action_space.sample())
"""


def main() -> None:
    """Fails where a program does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only programs with one of these in their names")
    parser.add_argument("--list", action="store_true", help="write kernels.json")
    parser.add_argument("--dry", action="store_true", help="run nothing")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        wanted = {
            name: command
            for name, command in programs(Path(place)).items()
            if not asked.words or any(word in name for word in asked.words)
        }
        if not asked.dry:
            with ThreadPoolExecutor(asked.jobs) as pool:
                list(pool.map(train, wanted, wanted.values()))
    if asked.list:
        print(write_list(list(wanted)))


def programs(place: Path) -> dict[str, list[str]]:
    """Commands by name: the scenes, the README's blocks of Python, problem files, environments."""
    from delassus.scenes import SCENES

    out = {"run four-bar-free": ["delassus", "run", "four-bar-free", "--out", str(place / "four-bar-free")]}
    files = sorted(str(path) for path in (ROOT / "tests" / "data").glob("*.hdf5"))
    out["solve"] = ["delassus", "solve", *files, "--tol", "1e-8", "--time-limit", "20"]
    blocks = _PYTHON.findall((ROOT / "README.md").read_text())
    for name, texts in (("README world", blocks[:1]), ("README solve", blocks[1:])):
        (place / f"{name}.py").write_text("".join(texts))
        out[name] = [str(place / f"{name}.py")]
    (place / "environments.py").write_text(_ENVIRONMENTS)
    out["environments"] = [str(place / "environments.py")]
    for name in sorted(set(SCENES) - {"four-bar-free"}):
        steps = str(FEW_STEPS.get(name, STEPS))
        out[f"run {name}"] = ["delassus", "run", name, "--steps", steps, "--out", str(place / name)]
    return out


def train(name: str, command: list[str]) -> None:
    """One program. Whether a scene's checks pass after a few steps is no matter here."""
    folder = FOLDER / name.replace(" ", "-")
    shutil.rmtree(folder, ignore_errors=True)  # of an older tree
    begun = perf_counter()
    words = [sys.executable, "-m", "delassus.cli.ahead.training", *command]
    done = subprocess.run(
        words, cwd=ROOT, env=os.environ | {"DELASSUS_TRAINING": str(folder)}, capture_output=True, text=True
    )
    if done.returncode not in (0, 1) or "Traceback" in done.stderr:
        raise SystemExit(f"{name}: {done.stderr}")
    print(f"{name}: {len(list(folder.glob('*')))} files, {perf_counter() - begun:.0f} s", flush=True)


def write_list(names: list[str]) -> str:
    """kernels.json, of what these programs entered; what others use stays in it."""
    from delassus.cli.ahead.signatures import Entered, read_list, write_list
    from delassus.cli.ahead.training import read
    from delassus.kernel import cache

    uses, sizes = defaultdict(set), {}
    for one in read_list():
        if of := set(one.uses) - set(names):
            key = json.dumps([one.module, one.name, one.arguments])
            uses[key], sizes[key] = of, one.size
    for name in names:
        for module, kernel, entry, words in read(FOLDER / name.replace(" ", "-")):
            code = cache.read(entry)
            if words is not None and code is not None:
                key = json.dumps([module, kernel, words])
                uses[key].add(name)
                sizes[key] = len(code)
    found = [Entered(*json.loads(key), sizes[key], sorted(of)) for key, of in uses.items()]
    write_list(found)
    return f"{len(found)} kernels, {sum(sizes.values()) / 1e6:.1f} MB of machine code"


if __name__ == "__main__":
    main()
