"""How the cost of a step grows with the scene: piles, beds, chains, trees, mechanisms, walls, elements, fast swarms.

    python benchmarks/growth.py [--cases chain,bed] [--sizes 3,30] [--steps 30] [--threads 1,default] [--out DIR]
    python benchmarks/growth.py --small

Each case of each size runs in a process of its own: steps as `World.run` takes them, one by one, and then as `step`
does, which says the time of its phases. Printed: processor time [ms] per step (median, worst) and wall time, wall time
of each phase, iterations, contacts, drift of joints, peak memory, steps that did not converge, and the exponent of
growth between neighbouring sizes. With --out, a picture for each case.

It fails where a case is dearer, by half, than one of twice its size or more, or does not run.
"""

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
DEARER = 1.5  # times what twice the size costs: noise of a busy machine stays below
WAITING = 1500  # seconds for one case of one size


def chain(n: int) -> tuple[Any, Any]:
    """Rods on hinges that swing from a hook."""
    from delassus.scenes import SCENES

    setup = SCENES["pendulum-chain"].build(n=n)
    return setup, None


def tree(n: int) -> Any:
    """A binary tree of rods on ball joints."""
    import numpy as np

    from delassus import ModelBuilder

    builder, rods, ends = ModelBuilder(), [], []
    for k in range(n):
        parent = (k - 1) // 2
        start = np.zeros(3) if k == 0 else ends[parent]
        depth = int(math.log2(k + 1))
        side = 0.0 if k == 0 else (1.0 if k % 2 else -1.0)
        end = start + (2.0 * side * 0.7**depth, 0.3, -0.2)
        middle = 0.5 * (start + end)
        inertia = 0.01 * np.ones(3)
        body = builder.body(f"rod-{k}", position=middle, mass=0.5, inertia=inertia)
        builder.joint("spherical", rods[parent] if k else None, body, position=start)
        rods.append(body)
        ends.append(end)
    return _setup(builder), None


def four_bars(n: int) -> Any:
    """Independent four-bar linkages."""
    from delassus import ModelBuilder

    builder = ModelBuilder()
    for k in range(n):
        y = 0.1 * k
        corners = [(0.0, y, 1.0), (0.1, y, 1.1), (0.5, y, 1.3), (0.4, y, 1.0)]
        rods = []
        for i in range(3):
            a, b = corners[i], corners[i + 1]
            middle = [(p + q) / 2 for p, q in zip(a, b)]
            rods.append(builder.body(f"rod-{k}-{i}", position=middle, mass=0.1, inertia=(1e-3, 1e-3, 1e-3)))
        pairs = (None, rods[0]), (rods[0], rods[1]), (rods[1], rods[2]), (None, rods[2])
        for corner, (base, follower) in zip(corners, pairs):
            builder.joint("revolute", base, follower, position=corner, axis=(0, 1, 0))
    return _setup(builder), None


def slider_cranks(n: int) -> Any:
    """Independent slider-cranks."""
    from delassus import ModelBuilder

    builder = ModelBuilder()
    for k in range(n):
        y = 0.1 * k
        crank = builder.body(f"crank-{k}", position=(0.05, y, 0.05), mass=0.1, inertia=(1e-3, 1e-3, 1e-3))
        rod = builder.body(f"rod-{k}", position=(0.25, y, 0.05), mass=0.1, inertia=(1e-3, 1e-3, 1e-3))
        slider = builder.body(f"slider-{k}", position=(0.4, y, 0.0), mass=0.1, inertia=(1e-3, 1e-3, 1e-3))
        builder.joint("revolute", None, crank, position=(0, y, 0), axis=(0, 1, 0))
        builder.joint("revolute", crank, rod, position=(0.1, y, 0.1), axis=(0, 1, 0))
        builder.joint("revolute", rod, slider, position=(0.4, y, 0), axis=(0, 1, 0))
        builder.joint("prismatic", None, slider, position=(0.4, y, 0), axis=(1, 0, 0))
    return _setup(builder), None


def _spheres(n: int, layers: int, height: float, speed: float = 0.0, seed: int = 1) -> Any:
    import numpy as np

    from delassus import Material, ModelBuilder, Plane, Sphere, StepSettings

    rng = np.random.default_rng(seed)
    builder, radius = ModelBuilder(reach=0.05), 0.05
    builder.fixed("ground", shapes=[Plane()], material=Material(0.4))
    side = max(1, round(math.sqrt(n / layers)))
    for k in range(n):
        i, j, layer = k % side, k // side % side, k // side**2
        place = np.array([(i + 0.5) * 2.3 * radius, (j + 0.5) * 2.3 * radius, (2.3 * layer + height) * radius])
        place += 0.05 * radius * rng.uniform(-1, 1, 3)
        r = radius * (1.0 + 0.1 * rng.uniform(-1, 1))
        u = speed * rng.standard_normal(3) if speed else np.zeros(3)
        builder.body(
            f"s-{k}", position=place, density=2000.0, shapes=[Sphere(r)], material=Material(0.4), velocity=tuple(u)
        )
    return _setup(builder, StepSettings(h=2e-3))


def bed(n: int) -> Any:
    """Spheres in a layer of three on the ground, settling."""
    return _spheres(n, 3, 1.2), 60


def pile(n: int) -> Any:
    """Spheres that settle in a box as deep as wide."""
    from delassus.scenes import SCENES

    return SCENES["sphere-pile"].build(n=n), 250


def swarm(n: int) -> Any:
    """Spheres in a loose cloud of three layers that fly at 100 m/s."""
    return _spheres(n, 3, 4.0, speed=100.0), 0


def boxes(n: int) -> Any:
    """Bricks of a wall at rest."""
    from delassus.scenes import SCENES

    rows = max(1, round(math.sqrt(n)))
    return SCENES["wall"].build(rows=rows, columns=rows, speed=0.0, quiet=0.0, ball=0.05), 30


def elements(n: int) -> Any:
    """A soft box of about n nodes that falls on the ground."""
    from delassus.scenes import SCENES

    cells = max(1, round(n ** (1 / 3)) - 1)
    return SCENES["soft-box-drop"].build(cells=cells), 5


CASES: dict[str, tuple[Callable[[int], Any], tuple[int, ...]]] = {
    "chain": (chain, (3, 10, 30, 100, 300, 1000, 3000)),
    "tree": (tree, (3, 10, 30, 100, 300, 1000, 3000)),
    "four-bars": (four_bars, (1, 3, 10, 30, 100, 300, 1000)),
    "slider-cranks": (slider_cranks, (1, 3, 8, 25, 100, 300, 1000)),
    "bed": (bed, (30, 100, 300, 1000, 3000, 10000)),
    "pile": (pile, (30, 100, 300, 1000, 3000)),
    "wall": (boxes, (9, 36, 144, 400)),
    "elements": (elements, (27, 216, 1000, 4096)),
    "swarm": (swarm, (30, 100, 300, 1000, 3000, 10000)),
}
ALL = {case: sizes for case, (_, sizes) in CASES.items()}
SMALL = {"chain": (3, 10, 30), "four-bars": (1, 3, 10), "bed": (10, 30), "elements": (8, 27), "swarm": (10, 30)}
"""What a test runs."""


def _setup(builder: Any, settings: Any = None) -> Any:
    from delassus import StepSettings
    from delassus.scenes.scene import Setup

    model, state = builder.build()
    return Setup(model, state, 1.0, StepSettings(h=1e-3) if settings is None else settings)


def measure(case: str, n: int, steps: int) -> dict[str, Any]:
    """Figures of one case of one size, in this process."""
    import numpy as np

    from delassus.simulation.many_steps import Asked
    from delassus.simulation.one_step import step
    from delassus.simulation.run import Run

    setup, before = CASES[case][0](n)
    run = Run(setup.model, setup.state, setup.settings, steps=1000)
    asked = Asked(setup.model, setup.inputs, setup.settings, "growth")
    own = before is not None
    run.advance((before or 0) if own else 5, asked)
    start, memory = run.state, run.memory.copy()
    run.advance(1 if own else 5, asked)  # compiled, or loaded
    ours, wall = [], []
    for _ in range(steps):
        begin, at = process_time(), perf_counter()
        run.advance(1, asked)
        ours.append(process_time() - begin)
        wall.append(perf_counter() - at)
    phases: dict[str, list[float]] = {}
    drift, failed, state, iterations, whole = 0.0, 0, start, [], []
    step(setup.model, start, asked.at(start), setup.settings, memory.copy())
    for _ in range(min(steps, 10)):
        begin = process_time()
        state, report = step(setup.model, state, asked.at(state), setup.settings, memory)
        whole.append(process_time() - begin)
        for name, seconds in report.times.items():
            phases.setdefault(name, []).append(seconds)
        drift, failed = max(drift, report.drift), failed + (not report.solution.converged)
        iterations.append(report.solution.iterations)
    return {
        "n": n,
        "ms": 1e3 * statistics.median(ours),
        "worst": 1e3 * max(ours),
        "wall": 1e3 * statistics.median(wall),
        "step": 1e3 * statistics.median(whole),
        "drift": drift,
        "failed": failed,
        "contacts": len(report.contacts),
        "iterations": float(np.median(iterations)),
        "phases": {name: 1e3 * statistics.median(values) for name, values in phases.items()},
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def in_child(case: str, n: int, steps: int, threads: str, source: Path) -> dict[str, Any] | None:
    environment = {name: value for name, value in os.environ.items() if name not in THREADS}
    environment["PYTHONPATH"] = str(source)
    if threads != "default":
        environment |= dict.fromkeys(THREADS, threads)
    command = [sys.executable, __file__, "--child", case, str(n), str(steps)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=WAITING)
    except subprocess.TimeoutExpired:
        print(f"{case} {n}: more than {WAITING} s", flush=True)
        return None
    if done.returncode:
        print(f"{case} {n}: {done.stderr.strip().splitlines()[-1]}", flush=True)
        return None
    out: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return out


def cliffs(rows: list[dict[str, Any]]) -> list[str]:
    """Sizes that cost more than twice as many and more."""
    return [
        f"{few['n']} take {few['ms']:.3g} ms a step, {many['n']} only {many['ms']:.3g}"
        for few in rows
        for many in rows
        if many["n"] >= 2 * few["n"] and few["ms"] > DEARER * many["ms"]
    ]


def draw(case: str, lines: dict[str, list[dict[str, Any]]], folder: Path) -> None:
    """Milliseconds per step over the size, a line for each number of threads."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for threads, rows in lines.items():
        axes.loglog([row["n"] for row in rows], [row["ms"] for row in rows], "o-", label=f"{threads} thread(s)")
        axes.loglog([row["n"] for row in rows], [row["worst"] for row in rows], "_", label=f"{threads}: worst")
    axes.set(xlabel="n [-]", ylabel="processor time of a step [ms]", title=case)
    axes.legend()
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{case}.svg")
    plt.close(figure)


def show(row: dict[str, Any], before: dict[str, Any] | None) -> str:
    exponent = math.nan
    if before is not None:
        exponent = math.log(row["ms"] / before["ms"]) / math.log(row["n"] / before["n"])
    phases = " ".join(f"{row['phases'].get(name, 0):9.3f}" for name in ("collision", "assembly", "solve", "advance"))
    return (
        f"{row['n']:7d} {row['ms']:9.3f} {row['worst']:9.3f} {row['wall']:9.3f} {exponent:6.2f}  {phases} "
        f"{row['iterations']:6.0f} {row['contacts']:6d} {row['drift']:9.1e} {row['MB']:6.0f} {row['failed']:3d}"
    )


HEAD = (
    f"{'n':>7} {'ms':>9} {'worst':>9} {'wall':>9} {'exp.':>6}  {'collision':>9} {'assembly':>9} {'solve':>9} "
    f"{'advance':>9} {'iter.':>6} {'cont.':>6} {'drift':>9} {'MB':>6} bad"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--sizes", default="")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", default="1,default")
    parser.add_argument("--source", type=Path, default=ROOT / "src")
    parser.add_argument("--small", action="store_true", help="a minute, one thread")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", nargs=3)
    given = parser.parse_args()
    if given.child:
        case, n, steps = given.child
        print(json.dumps(measure(case, int(n), int(steps))))
        return
    cases, kinds = (list(SMALL), ["1"]) if given.small else (given.cases.split(","), given.threads.split(","))
    found: list[str] = []
    for case in cases:
        lines: dict[str, list[dict[str, Any]]] = {}
        for threads in kinds:
            sizes = tuple(map(int, given.sizes.split(","))) if given.sizes else (SMALL if given.small else ALL)[case]
            print(f"\n{case}, threads {threads}\n{HEAD}", flush=True)
            rows = lines[threads] = []
            for n in sizes:
                row = in_child(case, n, given.steps, threads, given.source)
                if row is None:
                    found.append(f"{case} {n}, threads {threads}: no figures")
                    continue
                print(show(row, rows[-1] if rows else None), flush=True)
                rows.append(row)
            found += [f"{case}, threads {threads}: {each}" for each in cliffs(rows)]
        if given.out is not None:
            draw(case, lines, given.out)
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
