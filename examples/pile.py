"""A pile of boxes and balls: a line of progress while it falls, a recording to resume or plot, a film."""

import numpy as np

from delassus import Box, ModelBuilder, Plane, Sphere, World

rng, builder = np.random.default_rng(0), ModelBuilder()
builder.fixed("ground", shapes=Plane(), material=0.5)
for k in range(30):
    at = (*rng.uniform(-0.15, 0.15, 2), 0.15 + 0.12 * k)
    builder.body(f"stone-{k}", position=at, density=1000.0, shapes=Sphere(0.08) if k % 3 else Box((0.2, 0.15, 0.1)))
world = World(*builder.build(check=False), h=2e-3)
world.run(seconds=1.5, progress=True, record="runs/pile", overwrite=True)
world.film("runs/pile.gif", fps=10)
world.history("world.energy").plot().figure.savefig("runs/pile-energy.png")
