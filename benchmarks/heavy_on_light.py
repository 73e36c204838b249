"""Heavy bodies on light ones: the table of docs/odd-masses.md.

    python benchmarks/heavy_on_light.py [STEPS]

Each stack stands for STEPS (100) steps of 10 ms. Figures are the worst over all steps and the three friction
coefficients.
"""

import sys
from dataclasses import replace
from time import perf_counter

import numpy as np

from delassus.scenes import find
from delassus.scenes.heavy_on_light import moved, speeds

STACKS = ((20, 10.0), (6, 1e2), (4, 1e3), (4, 1e4), (3, 1e6), (2, 1e12))
"""Bodies, and mass of each over that of the one below."""
FRICTION = (0.0, 0.3, 0.8)
METHODS = (("ccp", "ipm"), ("ccp", "auto"), ("ncp", "auto"))


def stand(n: int, ratio: float, mu: float, spheres: bool, law: str, solver: str, steps: int) -> tuple[float, ...]:
    """(steps not converged, worst velocity and body's speed over free fall, way over half widths, steps whose reactions
    need two doubles, seconds)."""
    setup = find("heavy-on-light").build(n=n, ratio=ratio, mu=mu, spheres=spheres)
    two = 0

    def watch(k, state, report, memory):
        nonlocal two
        del k, state, memory
        two += report.solution.reactions_low is not None

    start = perf_counter()
    run = setup.run(steps=steps, settings=replace(setup.settings, law=law, solver=solver), watch=watch)
    worst, speed = speeds(run)
    return float((~run.converged).sum()), worst, speed, moved(setup, run), float(two), perf_counter() - start


def main(steps: int) -> None:
    stand(2, 1e12, 0.3, False, "ncp", "auto", 1)  # compiles
    print("| stack | law, solver | steps converged | worst velocity | speed | moved | in two doubles | ms a step |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for spheres in (False, True):
        for n, ratio in STACKS:
            for law, solver in METHODS:
                runs = np.array([stand(n, ratio, mu, spheres, law, solver, steps) for mu in FRICTION])
                count = len(FRICTION) * steps
                lost, two, seconds = runs[:, 0].sum(), runs[:, 4].sum(), runs[:, 5].sum()
                worst, speed, way = runs[:, 1:4].max(axis=0)
                what = f"{n} {'spheres' if spheres else 'cubes'}, ratio {ratio:g}"
                print(
                    f"| {what} | {law}, `{solver}` | {count - lost:.0f} of {count} | {worst:.0e} | {speed:.0e} | "
                    f"{way:.0e} | {two:.0f} | {1e3 * seconds / count:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
