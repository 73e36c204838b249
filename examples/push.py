"""A tall box on the ground, pushed for a tenth of a second near its top: hard enough, and it falls over."""

from delassus import Box, ModelBuilder, Plane, World

builder = ModelBuilder()
builder.fixed("ground", shapes=Plane(), material=0.6)
builder.body("tower", position=(0, 0, 0.5), mass=10.0, shapes=Box((0.3, 0.3, 1.0)))
world = World(*builder.build())
tower = world.body("tower")
for force in (30.0, 120.0, 200.0):
    world.reset()
    tower.push((force, 0, 0), at=(-0.15, 0, 0.9), seconds=0.1)
    world.run(seconds=1.5)
    print(f"{force:5.0f} N: its centre ends {tower.centre_of_mass[2]:.3f} m above the ground")
