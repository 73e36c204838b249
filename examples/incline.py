"""A block on a slope: it slides where friction is too weak, and the table of contacts says with which forces."""

import numpy as np

from delassus import Box, ModelBuilder, Plane, World
from delassus.spatial import rotation_exp

angle = np.radians(20)
up = np.array([np.sin(angle), 0, np.cos(angle)])
for mu in (0.3, 0.4):
    builder = ModelBuilder()
    builder.fixed("slope", shapes=Plane(up), material=mu)
    shape, turned = Box((0.2, 0.2, 0.2)), rotation_exp((0, angle, 0))
    builder.body("block", position=0.1 * up, orientation=turned, mass=2.0, shapes=shape, material=mu)
    world = World(*builder.build())
    world.run(seconds=1)
    print(f"mu = {mu}: {np.linalg.norm(world.body('block').velocity):.4f} m/s after a second", world.contacts, sep="\n")
