"""What a step of a pile at rest costs: 200 boxes in 64 stacks, each an island, and a wall, which is one.

Prints for each steps per second of processor time, iterations and the share of steps in which nothing had to be solved,
and how far anything crept.

    python benchmarks/resting_piles.py [--steps 2000] [--threads 1]
    python benchmarks/resting_piles.py --others 12        piles of other kinds that bounds of rest were not chosen on

The bounds below which things rest (`solvers/auto/rest.py`) and the dead zone of steps were chosen on stacks and walls.
The others are of four kinds, drawn at random: pyramids, columns of boxes and cylinders of all sizes and densities,
boxes on a slope below the angle of friction, and a table on four legs with things on it.
"""

import argparse
import time

import numpy as np

from delassus import Memory, ModelBuilder, StepSettings, step
from delassus.builder import Material
from delassus.shapes import Box, Compound, Cylinder, Plane

_SIDE = 0.2  # [m]
_BRICK = 0.24, 0.12, 0.08  # [m]


def stacks(side: int = 8, boxes: int = 200):
    """side² stacks of boxes, shifted a little."""
    rng, builder, material = np.random.default_rng(0), ModelBuilder(), Material(0.5)
    builder.fixed("ground", shapes=[Plane()], material=material)
    for k in range(boxes):
        stack, level = k % side**2, k // side**2
        x, y = 3.0 * _SIDE * np.array([stack % side, stack // side]) + rng.uniform(-0.02, 0.02, 2)
        builder.body(
            f"box-{k}",
            position=(x, y, (level + 0.5) * _SIDE),
            density=1000.0,
            shapes=[Box((_SIDE,) * 3)],
            material=material,
        )
    return builder.build()


def wall(rows: int = 8, columns: int = 9):
    """Bricks in running bond; every second row is half a brick shorter on either side."""
    builder, material = ModelBuilder(), Material(0.6)
    builder.fixed("ground", shapes=[Plane()], material=material)
    x, y, z = _BRICK
    for row in range(rows):
        for k in range(columns - row % 2):
            builder.body(
                f"brick-{row}-{k}",
                position=((k + 0.5 * (row % 2)) * x, 0.0, (row + 0.5) * z),
                density=2000.0,
                shapes=[Box((0.998 * x, y, z))],
                material=material,
            )
    return builder.build()


def pyramid(rng, builder, material) -> None:
    """Boxes in rows that get shorter, a little apart."""
    side = rng.uniform(0.05, 0.4)
    base = int(rng.integers(3, 6))
    for row in range(base):
        for k in range(base - row):
            at = ((k + 0.5 * row) * 1.02 * side, rng.uniform(-0.02, 0.02) * side, (row + 0.5) * side)
            builder.body(
                f"{row}-{k}",
                position=at,
                density=rng.uniform(300.0, 3000.0),
                shapes=[Box((side,) * 3)],
                material=material,
            )


def columns(rng, builder, material) -> None:
    """Boxes and cylinders of all sizes on each other."""
    for stack in range(4):
        top = 0.0
        for level in range(int(rng.integers(2, 5))):
            width, height = rng.uniform(0.1, 0.3), rng.uniform(0.05, 0.3)
            shape = Box((width, width, height)) if rng.random() < 0.6 else Cylinder(0.5 * width, height)
            at = (1.0 * stack + rng.uniform(-0.02, 0.02), rng.uniform(-0.02, 0.02), top + 0.5 * height)
            builder.body(
                f"{stack}-{level}",
                position=at,
                density=10.0 ** rng.uniform(2.0, 4.0),
                shapes=[shape],
                material=material,
            )
            top += height


def slope(rng, builder, material) -> None:
    """Boxes side by side; gravity is inclined to half of the angle of friction."""
    builder.gravity = np.array([9.81 * 0.5 * material.mu, 0.0, -9.81])
    for k in range(6):
        size = rng.uniform(0.1, 0.4, 3) * (1.0, 1.0, 0.5)
        builder.body(
            f"{k}", position=(0.0, 1.0 * k, 0.5 * size[2]), density=1000.0, shapes=[Box(size)], material=material
        )


def table(rng, builder, material) -> None:
    """A top on four legs, its pieces welded, and things on it."""
    legs = [(Box((0.05, 0.05, 0.4)), (x, y, -0.2), None) for x in (-0.4, 0.4) for y in (-0.3, 0.3)]
    top = Compound([(Box((1.0, 0.8, 0.04)), (0.0, 0.0, 0.02), None), *legs])
    builder.body("table", position=(0.0, 0.0, 0.4), density=600.0, shapes=[top], material=material)
    for k in range(4):
        side = rng.uniform(0.05, 0.15)
        at = (rng.uniform(-0.3, 0.3), -0.25 + 0.17 * k, 0.44 + 0.5 * side)
        builder.body(
            f"thing-{k}",
            position=at,
            density=10.0 ** rng.uniform(2.0, 4.0),
            shapes=[Box((side,) * 3)],
            material=material,
        )


OTHERS = pyramid, columns, slope, table


def other(seed: int):
    """(name, model, state) of a pile that nothing was chosen on."""
    rng, kind = np.random.default_rng(1000 + seed), OTHERS[seed % len(OTHERS)]
    builder, material = ModelBuilder(), Material(float(rng.uniform(0.3, 0.9)))
    builder.fixed("ground", shapes=[Plane()], material=material)
    kind(rng, builder, material)
    return f"{kind.__name__} {seed}", *builder.build()


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
    print(
        f"{name:10} {report.rows.contact_count:5} contacts {rate:7.0f} steps/s {iterations / steps:6.2f} iterations "
        f"a step, {kept / steps:4.0%} kept, crept {creep:.1e} m"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--others", type=int, default=0, help="so many piles of other kinds in place of the two")
    given = parser.parse_args()
    if given.others:
        for seed in range(given.others):
            measure(*other(seed), given.steps, given.threads)
    else:
        for name, build in (("stacks", stacks), ("wall", wall)):
            measure(name, *build(), given.steps, given.threads)
