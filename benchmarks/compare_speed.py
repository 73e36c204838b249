"""Is one tree of the package slower than another? Times solves and steps in both, interleaved.

    python benchmarks/compare_speed.py OLD/src NEW/src --rounds 5 --files path/to/fclib

Each round starts a fresh process per tree, in alternating order; kernels come from the caches, and an item runs a few
times before the clock is looked at. The figure of an item is its least time in a process, its ratio the median over
rounds of new/old: on a busy machine times differ by half between runs, ratios of neighbours by far less. One thread.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter

SOLVES = {  # solvers by law, on every random problem
    "ncp": ["auto", "nbgs", "nbgs-direct", "prox-ssn", "admm-ncp-sa", "nbgs+anderson"],
    "ccp": ["auto", "ipm", "pgs-ccp", "admm-ccp", "apgd", "spg-fb"],
}
SIZES = [(5, 8, 0), (6, 5, 4), (20, 30, 0), (80, 90, 0), (200, 300, 0)]  # bodies, contacts, joints
FILES = [
    "Example-GFC3D-1", "BoxesStack-i100000-32", "Rover-4396", "OneObject-i1028-138", "Flex-TwoRods1",
    "Capsules-i101-404",
]  # fmt: skip
SCENES = {
    "box-on-plane": 60, "four-bar": 60, "four-bar-free": 60, "pendulum-chain": 60, "nunchuk": 60, "stacked-spheres": 30,
    "sphere-pile": 8, "wall": 4,
}  # fmt: skip
TOL, MAX_ITER = 1e-8, 3000


def least(call, seconds: float = 0.15) -> float:
    """Least time of a call [s], over at least three and as many as fit into `seconds`."""
    call()
    best, spent, count = math.inf, 0.0, 0
    while count < 3 or (spent < seconds and count < 1000):
        begin = perf_counter()
        call()
        took = perf_counter() - begin
        best, spent, count = min(best, took), spent + took, count + 1
    return best


def work(files: Path | None) -> dict[str, float]:
    """Times by item, in the tree on the path."""
    import numpy as np

    import delassus
    from delassus.io import load_problem
    from delassus.law import Law
    from delassus.problem.random import random_rigid

    times = {}
    for law, names in SOLVES.items():
        for bodies, contacts, joints in SIZES:
            problem = random_rigid(
                np.random.default_rng(bodies), bodies=bodies, contacts=contacts, joints=joints, law=Law(law)
            )
            for name in names:
                times[f"{law} {name} {problem.row_count} rows"] = least(
                    lambda p=problem, n=name: delassus.solve(p, n, tol=TOL, max_iter=MAX_ITER, trace=False)
                )
    for stem in FILES if files is not None else []:
        for law, name in [("ncp", "auto"), ("ncp", "nbgs"), ("ccp", "ipm")]:
            problem = load_problem(files / f"{stem}.hdf5", law=Law(law))
            times[f"{stem} {law} {name}"] = least(
                lambda p=problem, n=name: delassus.solve(p, n, tol=TOL, max_iter=MAX_ITER, trace=False)
            )
    for scene, steps in SCENES.items():
        times[f"step {scene}"] = step_time(scene, steps)
    return times


def step_time(scene: str, steps: int) -> float:
    """Seconds per step, the same steps every time, warm."""
    from delassus import scenes
    from delassus.simulation import Memory, step

    setup = scenes.SCENES[scene].build()
    state, memory = setup.state, Memory()
    for _ in range(5):
        state, _ = step(setup.model, state, None, setup.settings, memory)

    def some() -> None:
        now, own = state, Memory()
        for _ in range(steps):
            now, _ = step(setup.model, now, None, setup.settings, own)

    return least(some, 0.3) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path, help="OLD/src NEW/src")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=Path, help="folder of FCLIB files")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        print(json.dumps(work(given.files)))
        return
    if len(given.trees) != 2:
        parser.error("give two trees: OLD/src NEW/src")
    rounds: list[list[dict[str, float]]] = []
    for at in range(given.rounds + 1):  # the first one fills the caches
        pair: dict[int, dict[str, float]] = {}
        for which in (0, 1) if at % 2 else (1, 0):
            environment = {**os.environ, "PYTHONPATH": str(given.trees[which].resolve()), "OMP_NUM_THREADS": "1",
                           "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # fmt: skip
            command = [sys.executable, __file__, "--worker", *(["--files", str(given.files)] if given.files else [])]
            out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
            pair[which] = json.loads(out.splitlines()[-1])
        if at:
            rounds.append([pair[0], pair[1]])
        print(f"round {at} of {given.rounds}", file=sys.stderr)
    ratios = {}
    for item in rounds[0][0]:
        ratios[item] = statistics.median(new[item] / old[item] for old, new in rounds)
        old_time, new_time = (statistics.median(pair[k][item] for pair in rounds) for k in (0, 1))
        print(f"{item:44s}{1e6 * old_time:12.1f} µs {1e6 * new_time:12.1f} µs   × {ratios[item]:.3f}")
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios.values()))
    print(f"geometric mean of {len(ratios)} ratios: {mean:.3f}; largest {max(ratios.values()):.3f}")


if __name__ == "__main__":
    main()
