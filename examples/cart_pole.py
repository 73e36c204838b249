"""A pole on a cart, held upright by the force of the cart's motor: a control function sets it at every step."""

from delassus import Box, ModelBuilder, World

builder = ModelBuilder()
builder.body("cart", mass=1.0, shapes=Box((0.4, 0.2, 0.2)))
builder.body("pole", position=(0, 0, 0.5), mass=0.2, shapes=Box((0.04, 0.04, 1.0)))
builder.joint("prismatic", None, "cart", axis=(1, 0, 0), name="rail", limits=(-2.0, 2.0))
builder.joint("revolute", "cart", "pole", position=(0, 0, 0), axis=(0, 1, 0), name="hinge")
world = World(*builder.build(), h=2e-3)
world.joint("hinge").set(angle=0.2)


def balance(world):
    rail, hinge = world.joint("rail"), world.joint("hinge")
    rail.effort = 2.0 * rail.position + 4.0 * rail.speed + 40.0 * hinge.angle + 10.0 * hinge.rate


print(world.run(seconds=5, control=balance))
print(f"the pole leans by {world.joint('hinge').angle:.1e} rad, the cart is at {world.joint('rail').position:.1e} m")
