"""A rigid ball falls into a soft block: how deep, how strained, and with which force it is carried in the end."""

from delassus import ModelBuilder, Sphere, World, fem

builder = ModelBuilder()
rubber = fem.Elastic(young=1e5, poisson=0.3, density=1000.0, damping=(0.0, 0.02))
builder.flexible("block", fem.block(size=(0.3, 0.3, 0.2), cells=(6, 6, 4)), rubber, material=0.4)
builder.weld("block", "z-")
builder.body("ball", position=(0.01, 0, 0.2), density=4000.0, shapes=Sphere(0.06), material=0.4)
world = World(*builder.build(), h=5e-3, integrator="euler")
world.run(seconds=2)
ball, block = world.body("ball"), world.body("block")
print(f"the ball sank to {100 * (0.16 - ball.position[2]):.1f} cm below the block's top")
print(
    f"carried with {ball.contact_force[2]:.3f} N of {ball.mass * 9.81:.3f}, largest stress {block.stress.max():.0f} Pa"
)
print(world.contacts)
