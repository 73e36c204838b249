"""Spheres of random radii in cells of their own, and what keeps them from turning: the grains of Kleinert et al.
2014."""

import numpy as np

from delassus.builder import Body, Material, ModelBuilder
from delassus.scenes.scene import need
from delassus.shapes import Sphere

_LOCK = 1e9  # times the moment of inertia: friction turns a grain by a billionth of what it would


def need_grains(n: int, smallest: float, largest: float, seed: int) -> None:
    """Refuse grains that cannot be made."""
    need(n >= 1, f"n is {n}: give at least one sphere")
    need(seed >= 0, f"seed is {seed}: give zero or more")
    need(
        0.0 < smallest <= largest <= 20.0 * smallest,
        f"radii from {smallest} to {largest}: give positive ones, the largest at most twenty times the smallest",
    )


def add_grains(
    builder: ModelBuilder,
    rng: np.random.Generator,
    cells: np.ndarray,
    edge: float,
    radii: tuple[float, float],
    density: float,
    material: Material,
    rolls: bool,
) -> list[Body]:
    """One sphere in each cell, as far off its centre as fits: columns of spheres would stand.

    cells: (n, 3) centres [m]; edge: of a cell, at least the largest diameter [m]; rolls: spheres may turn. Those of
    Kleinert et al. 2014 may not, which stands for the shape of real grains."""
    radius = rng.uniform(*radii, len(cells))
    places = cells + (0.5 * edge - radius)[:, None] * rng.uniform(-1.0, 1.0, (len(cells), 3))
    out = []
    for k, (r, place) in enumerate(zip(radius.tolist(), places)):
        shape = Sphere(r)
        mass = density * shape.volume
        inertia = density * np.diag(shape.inertia_per_density) * (1.0 if rolls else _LOCK)
        out.append(
            builder.body(
                f"sphere-{k + 1}", position=place, mass=mass, inertia=inertia, shapes=[shape], material=material
            )
        )
    return out
