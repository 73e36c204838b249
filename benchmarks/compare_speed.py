"""Is one tree of the package slower than another? Times solves, steps of every scene, `World.run` and `delassus run` in
both, interleaved.

    python benchmarks/compare_speed.py OLD/src NEW/src --rounds 5 --files path/to/fclib [--kinds solve,step,world,run]

Each round starts a fresh process per tree, in alternating order; kernels come from the caches, and an item runs a few
times before the clock is looked at. The figure of an item is its least processor time in a process, its ratio the
median over rounds of new/old: on a busy machine times differ by half between runs, ratios of neighbours by far less.
One thread. A round of all kinds takes some minutes of processor time per tree.

A step of `delassus run` is what 400 steps take more than 50, recording included.
"""

import argparse
import io
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from time import process_time

SOLVES = {  # solvers by law, on every random problem
    "ncp": ["auto", "nbgs", "nbgs-direct", "prox-ssn", "admm-ncp-sa", "nbgs+anderson"],
    "ccp": ["auto", "ipm", "pgs-ccp", "admm-ccp", "apgd", "spg-fb"],
}
SIZES = [(5, 8, 0), (6, 5, 4), (20, 30, 0), (80, 90, 0), (200, 300, 0)]  # bodies, contacts, joints
FILES = ["Example-GFC3D-1", "BoxesStack-i100000-32", "Rover-4396", "OneObject-i1028-138", "Flex-TwoRods1"]
FILES += ["Capsules-i101-404"]
STEPS = 40  # of a scene whose steps take no more than a millisecond
FEW_STEPS = {"balls-in-the-box": 4, "polydisperse-pile": 4, "blade": 2, "wall": 4, "cantilever": 8, "fem-slider": 8}
FEW_STEPS |= {"soft-box-drop": 8, "ball-into-block": 2, "soft-gripper": 4, "strip-through-rollers": 1, "misha": 4}
FEW_STEPS |= {"three-point-bending": 1, "walker": 1, "gazelle": 1, "ironman": 1}
KINDS = ("solve", "step", "world", "run")
SHORT_RUN, LONG_RUN = 50, 450
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
TOL, MAX_ITER = 1e-8, 3000


def least(call, seconds: float = 0.15) -> float:
    """Least time of a call [s], over at least three and as many as fit into `seconds`."""
    call()
    best, spent, count = math.inf, 0.0, 0
    while count < 3 or (spent < seconds and count < 1000):
        begin = process_time()
        call()
        took = process_time() - begin
        best, spent, count = min(best, took), spent + took, count + 1
    return best


def work(kinds: list[str], files: Path | None) -> dict[str, float]:
    """Times by item, in the tree on the path."""
    from delassus import scenes

    times = {}
    if "solve" in kinds:
        times |= solve_times(files)
    for scene in scenes.SCENES:
        steps = FEW_STEPS.get(scene, STEPS)
        if "step" in kinds:
            times[f"step {scene}"] = step_time(scene, steps)
        if "world" in kinds:
            times[f"World.run {scene}"] = world_time(scene, steps)
        if "run" in kinds and scene not in FEW_STEPS:
            times[f"delassus run {scene}"] = run_time(scene)
    return times


def solve_times(files: Path | None) -> dict[str, float]:
    """Seconds per solve of random problems and files."""
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


def world_time(scene: str, steps: int) -> float:
    """Seconds per step of `World.run`, the same steps every time, warm."""
    from delassus import World

    world = World.from_scene(scene)
    world.run(5)
    start = world.snapshot()

    def some() -> None:
        world.restore(start)
        world.run(steps)

    return least(some, 0.3) / steps


def run_time(scene: str) -> float:
    """Seconds per step of `delassus run`, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["delassus", "run", scene, "--out", str(Path(folder) / "run"), "--overwrite", "--no-pictures"]

        def seconds(steps: int) -> float:
            from delassus.cli.main import run

            sys.argv = [*command, "--steps", str(steps)]
            silent = io.StringIO()
            begin = process_time()
            with (
                redirect_stdout(silent),
                redirect_stderr(silent),
                suppress(SystemExit),
            ):
                run()
            return process_time() - begin

        seconds(SHORT_RUN)
        short, long = (min(seconds(steps) for _ in range(2)) for steps in (SHORT_RUN, LONG_RUN))
    return max(long - short, 1e-9) / (LONG_RUN - SHORT_RUN)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path, help="OLD/src NEW/src")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=Path, help="folder of FCLIB files")
    parser.add_argument("--kinds", default=",".join(KINDS), help="which of " + ", ".join(KINDS))
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        print(json.dumps(work(given.kinds.split(","), given.files)))
        return
    if len(given.trees) != 2:
        parser.error("give two trees: OLD/src NEW/src")
    rounds: list[list[dict[str, float]]] = []
    for at in range(given.rounds + 1):  # the first one fills the caches
        pair: dict[int, dict[str, float]] = {}
        for which in (0, 1) if at % 2 else (1, 0):
            environment = os.environ | dict.fromkeys(THREADS, "1")
            environment["PYTHONPATH"] = str(given.trees[which].resolve())
            command = [sys.executable, __file__, "--worker", "--kinds", given.kinds]
            command += ["--files", str(given.files)] if given.files else []
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
    for kind in ("", "step ", "World.run ", "delassus run "):
        some = [ratio for item, ratio in ratios.items() if item.startswith(kind)]
        if some:
            mean = math.exp(statistics.fmean(math.log(ratio) for ratio in some))
            print(f"{kind or 'all'}: geometric mean of {len(some)} ratios {mean:.3f}, largest {max(some):.3f}")


if __name__ == "__main__":
    main()
