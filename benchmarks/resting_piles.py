"""What a step of a pile at rest costs: 200 boxes in 64 stacks, each an island, and a wall, which is one.

Prints for each steps per second of processor time, iterations and the share of steps in which nothing had to be solved,
and how far anything crept.

    python benchmarks/resting_piles.py [--steps 2000] [--threads 1]
"""

import argparse
import time

import numpy as np

from delassus import Memory, ModelBuilder, StepSettings, step
from delassus.builder import Material
from delassus.shapes import Box, Plane

_SIDE = 0.2  # [m]
_BRICK = 0.24, 0.12, 0.08  # [m]


def stacks(side: int = 8, boxes: int = 200):
    """side² stacks of boxes, shifted a little."""
    rng, builder, material = np.random.default_rng(0), ModelBuilder(), Material(0.5)
    builder.fixed("ground", shapes=[Plane()], material=material)
    for k in range(boxes):
        stack, level = k % side**2, k // side**2
        x, y = 3.0 * _SIDE * np.array([stack % side, stack // side]) + rng.uniform(-0.02, 0.02, 2)
        builder.body(f"box-{k}", position=(x, y, (level + 0.5) * _SIDE), density=1000.0, shapes=[Box((_SIDE,) * 3)],
                     material=material)  # fmt: skip
    return builder.build()


def wall(rows: int = 8, columns: int = 9):
    """Bricks in running bond; every second row is half a brick shorter on either side."""
    builder, material = ModelBuilder(), Material(0.6)
    builder.fixed("ground", shapes=[Plane()], material=material)
    x, y, z = _BRICK
    for row in range(rows):
        for k in range(columns - row % 2):
            builder.body(f"brick-{row}-{k}", position=((k + 0.5 * (row % 2)) * x, 0.0, (row + 0.5) * z), density=2000.0,
                         shapes=[Box((0.998 * x, y, z))], material=material)  # fmt: skip
    return builder.build()


def measure(name: str, model, state, steps: int, threads: int) -> None:
    memory, settings = Memory(), StepSettings(threads=threads)
    for _ in range(300):  # to settle, and to compile
        state, report = step(model, state, None, settings, memory)
    before, kept, iterations, start = state.q.copy(), 0, 0, time.process_time()
    for _ in range(steps):
        state, report = step(model, state, None, settings, memory)
        kept += report.solution.iterations == 0
        iterations += report.solution.iterations
    rate, creep = steps / (time.process_time() - start), np.abs(state.q - before).max()
    print(f"{name:8} {report.rows.contact_count:5} contacts {rate:7.0f} steps/s {iterations / steps:6.2f} iterations a "
          f"step, {kept / steps:4.0%} kept, crept {creep:.1e} m")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    for name, build in (("stacks", stacks), ("wall", wall)):
        measure(name, *build(), given.steps, given.threads)
