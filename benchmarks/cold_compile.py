"""What a first call costs: processor seconds (user + system) of whole processes that find an empty Numba cache, and of
the same processes once more, which load from it.

    python benchmarks/cold_compile.py [--only ipm step-four-bar …] [--json out.json]

Imports are part of it, and stand in the first row. Each call runs in a process of its own with a cache of its own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import fair  # first: it fixes the thread counts, and finds a checkout that is not installed

_PROBLEM = """
import numpy as np, delassus
from delassus.problem.random import random_rigid
problem = random_rigid(np.random.default_rng(1), bodies=5, contacts=8, law={law!r})
"""
_STEP = """
from delassus.scenes import SCENES
from delassus.simulation import step
setup = SCENES[{scene!r}].build()
step(setup.model, setup.state, None, setup.settings)
"""
_DUAL = "problem = delassus.Problem.dual(problem.delassus.matrix(), problem.free_velocity, cone=problem.cone)\n"
_RUN = "from delassus.cli.main import app\napp(['run', 'four-bar-free', '--out', {out!r}])"
CALLS = {
    "import": "import delassus; delassus.solve; import delassus.problem.random",
    "ipm": _PROBLEM.format(law="ccp") + "delassus.solve(problem, 'ipm')",
    "auto-rigid": _PROBLEM.format(law="ncp") + "delassus.solve(problem, 'auto')",
    "auto-dual": _PROBLEM.format(law="ncp") + _DUAL + "delassus.solve(problem, 'auto')",
    "step-boxes": _STEP.format(scene="boxes-fixed"),
    "step-four-bar": _STEP.format(scene="four-bar"),
    "world-four-bar-free": "import delassus; delassus.World.from_scene('four-bar-free').run(200)",
    "run-four-bar-free": _RUN,
}


def main() -> None:
    args = parse_arguments()
    report = {**fair.machine(), "seconds": {}}
    print(f"{'first call':20s} {'cold':>7s} {'later':>7s}   processor seconds")
    for name in args.only or CALLS:
        with tempfile.TemporaryDirectory() as folder:
            cold, later = seconds(name, Path(folder), "cold"), seconds(name, Path(folder), "later")
        report["seconds"][name] = {"cold": cold, "later": later}
        print(f"{name:20s} {cold:7.2f} {later:7.2f}", flush=True)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(CALLS))
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def seconds(name: str, folder: Path, run: str) -> float:
    """Of a process that makes this call, with what `folder` holds of earlier ones as its cache."""
    env = os.environ | {"DELASSUS_CACHE": str(folder / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call = CALLS[name].replace("{out!r}", repr(str(folder / run)))
    subprocess.run([sys.executable, "-c", call], check=True, env=env, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    main()
