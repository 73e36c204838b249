"""Surfaces with very much friction: they hold, they do not slip, and more of it changes nothing."""

import math

import numpy as np
import pytest

from delassus import Box, Material, ModelBuilder, Plane, Sphere, World
from delassus.errors import ProblemError

SAME = 1e-6  # [m, m/s]: steps are solved to 1e-6 of velocities of 1 m/s
STEPS = 100


def thrown(mu, seed, mixing="max"):
    """Two boxes and a sphere upon each other, thrown along the floor; every step is solved or said not to be."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(mixing=mixing)
    builder.fixed("ground", shapes=Plane(), material=mu)
    for k, shape in enumerate((Box((0.2, 0.2, 0.2)), Sphere(0.1), Box((0.2, 0.2, 0.2)))):
        x, y = 0.01 * rng.normal(size=2)
        place, speed = (x, y, 0.11 + 0.21 * k), (1.0, 0.0, 0.0)
        builder.body(f"body {k}", position=place, mass=1.0, shapes=shape, material=mu, velocity=speed)
    world = World(*builder.build())
    world.run(STEPS)
    return world


@pytest.mark.parametrize("seed", range(2))
def test_more_friction_than_enough_changes_nothing(seed):
    enough = thrown(1e3, seed)
    for mu in (1e7, 1e9, math.inf):
        world = thrown(mu, seed)
        assert world.ok
        np.testing.assert_allclose(world.state.q, enough.state.q, atol=SAME)
        assert (world.state.q[:, 2] > 0.09).all(), "nothing falls through the floor"


@pytest.mark.parametrize("angle", [0.5, 1.2, 1.5])
@pytest.mark.parametrize("mixing", ["geometric", "max", "average", "product"])
def test_what_never_slips_holds_on_the_steepest_slope(angle, mixing):
    """On a slope of 86 degrees, tan = 14; on what has no friction itself, too. The box is flat, and does not tip."""
    builder = ModelBuilder(gravity=(9.81 * math.sin(angle), 0.0, -9.81 * math.cos(angle)), mixing=mixing)
    builder.fixed("slope", shapes=Plane(), material=0.0)
    builder.body("box", position=(0, 0, 0.01), mass=2.0, shapes=Box((1.0, 1.0, 0.02)), material=math.inf)
    world = World(*builder.build())
    world.run(STEPS)
    assert world.ok
    assert abs(world.body("box").velocity[0]) < SAME


def test_the_smaller_coefficient_may_be_asked_for():
    builder = ModelBuilder(mixing="min")
    builder.fixed("ground", shapes=Plane(), material=0.1)
    builder.body(
        "box", position=(0, 0, 0.1), mass=2.0, shapes=Box((0.2, 0.2, 0.2)), material=math.inf, velocity=(1, 0, 0)
    )
    world = World(*builder.build())
    world.run(seconds=0.1)
    assert world.body("box").velocity[0] == pytest.approx(1.0 - 0.1 * 9.81 * 0.1, abs=1e-4)


@pytest.mark.parametrize("mu", [-math.inf, math.nan, "inf", [math.inf, 1.0]])
def test_other_numbers_that_are_not_finite_are_refused(mu):
    with pytest.raises(ProblemError, match="material"):
        Material(mu)
