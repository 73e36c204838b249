"""Two fingers squeeze a box with motors of limited force and lift it; friction alone carries it."""

from delassus import Box, Imposed, ModelBuilder, Motor, Plane, World

builder = ModelBuilder()
builder.fixed("ground", shapes=Plane())
builder.body("box", position=(0, 0, 0.1), mass=0.5, shapes=Box((0.2, 0.2, 0.2)), material=0.8)
builder.body("palm", position=(0, 0, 0.5), mass=2.0, shapes=Box((0.6, 0.1, 0.05)))
builder.joint("prismatic", None, "palm", name="lift", motor=Imposed())
for side, x in (("left", -0.2), ("right", 0.2)):
    builder.body(side, position=(x, 0, 0.2), mass=0.3, shapes=Box((0.04, 0.1, 0.3)), material=0.8)
    builder.joint("prismatic", "palm", side, axis=(-x, 0, 0), name=side, motor=Motor(400.0, 40.0, effort=15.0))
world = World(*builder.build())
world.joint("left").target = world.joint("right").target = 0.2  # beyond the box: they press with 15 N
world.run(seconds=0.3)
world.joint("lift").target_rate = 0.2
world.run(seconds=1.0)
print(f"the box hangs at {world.body('box').position[2]:.3f} m", world.contacts.of("box"), sep="\n")
