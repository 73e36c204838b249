"""A brick wall hit by a ball."""

from typing import Annotated

import numpy as np

from delassus.builder import Material, ModelBuilder
from delassus.io.recording import Trajectory
from delassus.scenes.scene import Check, Scene, Setup, all_converged, need, need_bodies, no_energy_gain, shallow
from delassus.shapes import Box, Plane, Sphere
from delassus.simulation import StepSettings

_G = 9.81


def build(
    *,
    rows: Annotated[int, "of bricks [-]"] = 4,
    columns: Annotated[int, "bricks per row [-]"] = 4,
    brick: Annotated[float, "length of a brick; it is half as deep and a third as high [m]"] = 0.24,
    density: Annotated[float, "of bricks and ball [kg/m³]"] = 2000.0,
    mu: Annotated[float, "friction [-]"] = 0.6,
    speed: Annotated[float, "of the ball [m/s]"] = 8.0,
    ball: Annotated[float, "radius of the ball [m]"] = 0.1,
    quiet: Annotated[float, "time before the ball arrives [s]"] = 0.2,
) -> Setup:
    need(rows >= 1 and columns >= 1, f"rows = {rows}, columns = {columns}: give at least one of each")
    need(quiet >= 0, f"quiet is {quiet}: give zero or more seconds")
    need_bodies(rows * (columns + 1) + 1, f"rows = {rows}, columns = {columns}")
    builder = ModelBuilder(gravity=(0.0, 0.0, -_G))
    material = Material(mu)
    builder.fixed("ground", shapes=[Plane()], material=material)
    x, y, z = brick, brick / 2, brick / 3
    for row in range(rows):
        for k, (start, width) in enumerate(_bond(row, columns, x)):
            builder.body(
                f"brick-{row + 1}-{k + 1}",
                position=(start + width / 2, 0, (row + 0.5) * z),
                density=density,
                shapes=[Box((0.998 * width, y, z))],
                material=material,
            )
    away = y / 2 + ball + speed * quiet
    # thrown so that it arrives at two thirds of the wall's height
    up = 0.5 * _G * quiet
    height = max(0.667 * rows * z, ball)
    builder.body(
        "ball",
        position=(columns * x / 2, -away, height),
        velocity=(0, speed, up),
        density=density,
        shapes=[Sphere(ball)],
        material=material,
    )
    model, state = builder.build()
    return Setup(model, state, 0.8, settings=StepSettings(h=2e-3))


def _bond(row: int, columns: int, length: float) -> list[tuple[float, float]]:
    """(start, length) of the bricks of a row: every second row begins and ends with half a brick."""
    if row % 2 == 0:
        return [(k * length, length) for k in range(columns)]
    inner = [((k + 0.5) * length, length) for k in range(columns - 1)]
    return [(0.0, length / 2), *inner, ((columns - 0.5) * length, length / 2)]


def check(setup: Setup, run: Trajectory) -> list[Check]:
    p = setup.parameters
    energy = 0.5 * setup.model.mass[-1] * max(p["speed"], 1.0) ** 2
    out = [all_converged(run), shallow(run, 2e-2 * p["brick"]), no_energy_gain(run, energy, 1e-4)]
    before = int(np.searchsorted(run.t, 0.9 * p["quiet"]))
    if 0 < before < len(run.t):
        moved = np.abs(run.q[before, :-1, :3] - run.q[0, :-1, :3]).max()
        out.append(Check("bricks moved before the ball came", float(moved), 1e-4 * p["brick"], "m"))
    return out


SCENE = Scene(
    "wall",
    "a brick wall hit by a ball",
    "stands until the ball comes; shallow penetration; no energy gained",
    build,
    check,
)
