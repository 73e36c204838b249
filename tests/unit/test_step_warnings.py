"""A step that makes no sense says so in its report, whatever the judge says of its problem."""

import pytest

from delassus.builder import Material, ModelBuilder
from delassus.dynamics import Stabilisation
from delassus.errors import DelassusWarning
from delassus.scenes import SCENES
from delassus.shapes import Box, Plane, Sphere
from delassus.simulation import Memory, StepSettings, step


def floor_and(**ball):
    builder = ModelBuilder()
    builder.fixed("floor", shapes=[Plane()])
    builder.body("ball", density=500.0, shapes=[Sphere(0.4)], **ball)
    return builder


def first_warning(model, state, h=1e-3, steps=10, **settings):
    """The first report with a warning within some steps."""
    for _ in range(steps):
        state, report = step(model, state, settings=StepSettings(h=h, **settings))
        if report.warnings:
            return report
    pytest.fail("no step warned")


def overlapping():
    builder = floor_and(position=(0, 0, 1.0))
    builder.body("crate", position=(0, 0, 0.5), density=500.0, shapes=[Box((1, 1, 1))])
    return builder.build(check=False)


def test_bodies_pushed_apart_through_velocities_are_energy_from_nowhere():
    report = first_warning(*overlapping(), stabilisation=Stabilisation.full())
    assert report.solution.converged
    assert not report.ok
    assert any("energy grew by" in text and "'ball' and 'crate'" in text for text in report.warnings)
    assert "energy grew by" in str(report)


def test_bodies_that_overlap_say_so_and_part_without_energy():
    model, state = overlapping()
    report = first_warning(model, state)
    assert report.solution.converged
    assert not report.ok
    assert [text for text in report.warnings if "'ball' and 'crate' overlap by 0.4 m" in text]
    for _ in range(1000):
        state, report = step(model, state)
        assert report.energy[0] < 0.5 * model.mass.sum() * 0.01**2, "nothing is left of being pushed apart"
    assert report.ok
    assert report.penetration < 1e-3


def test_a_loop_that_cannot_close_says_so_at_every_step():
    """It "converged" at 2e33 m/s. What is missing is shared by both joints, step by step, since joints alone
    return a compromise where there is no solution."""
    builder = ModelBuilder()
    rod = builder.body("rod", position=(0.5, 0, 0), mass=1.0, inertia=(0.01, 0.1, 0.1))
    builder.joint("spherical", None, rod, position=(0, 0, 0), name="left")
    builder.joint("spherical", None, rod, position=(1.5, 0, 0), follower_position=(1.0, 0, 0), name="right")
    model, state = builder.build(check=False)
    for _ in range(5):
        state, report = step(model, state)
        assert not report.ok
        # one of them closes: which one, the order of elimination says
        assert any(f"joint '{name}' was open by 0." in text for text in report.warnings for name in ("left", "right"))
        assert 0.25 <= report.drift <= 0.5, "half a metre is too short, shared by both joints or not"
        assert abs(state.u).max() < 10.0, "nothing flies off"


def test_a_spin_that_the_step_cannot_follow_is_named():
    report = first_warning(*floor_and(position=(0, 0, 5), angular_velocity=(0, 0, 5000.0)).build())
    assert "body 'ball' turns by 5 rad in the step: shorten it below 0.0002 s" in report.warnings


@pytest.mark.parametrize("name", ["four-bar", "bouncing-ball", "nunchuk", "boxes-fixed"])
def test_sound_scenes_do_not_warn(name):
    setup = SCENES[name].build()
    assert not setup.run(steps=60).warnings.any()


@pytest.mark.parametrize("h", [0.5, 0.05, 0.01])
def test_a_ball_that_bounces_loses_energy_and_is_not_said_to_gain_it(h):
    """It falls and rises within one step, so that the mean of its velocities says nothing of the impact."""
    builder = ModelBuilder()
    builder.fixed("ground", shapes=[Plane()], material=Material(0.0, 0.8))
    builder.body("ball", position=(0, 0, 1.1), density=1000.0, shapes=[Sphere(0.1)], material=Material(0.0, 0.8))
    model, state = builder.build()
    for _ in range(int(2.0 / h)):
        state, report = step(model, state, settings=StepSettings(h=h))
        assert report.warnings == ()


def test_what_rounding_leaves_of_a_stopped_body_is_no_energy_from_nowhere():
    """Without gravity nothing else says what is small: 2e-321 J were."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.fixed("ground", shapes=Plane())
    builder.body("ball", position=(0, 0, 0.002), velocity=(0, 0, -1.0), density=1000.0, shapes=Sphere(0.001))
    model, state = builder.build()
    memory, settings = Memory(), StepSettings(h=1e-5, law="frictionless")
    for _ in range(300):
        state, report = step(model, state, None, settings, memory)
        assert report.warnings == ()


def test_weightless_limbs_that_are_pushed_back_within_limits_are_no_explosion():
    """Four legs that begin beyond their limits, nothing falls: what is left of pushing them back is 1e-7 m/s."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    trunk = builder.body("trunk", density=500.0, shapes=[Box((1.0, 0.5, 0.2))], mask=0)
    for k, (x, y) in enumerate([(0.4, 0.3), (0.4, -0.3), (-0.4, 0.3), (-0.4, -0.3)]):
        thigh = builder.body(f"thigh{k}", position=(x, y, -0.2), density=500.0, shapes=[Box((0.1, 0.1, 0.4))], mask=0)
        shank = builder.body(f"shank{k}", position=(x, y, -0.6), density=300.0, shapes=[Box((0.06, 0.06, 0.4))], mask=0)
        builder.joint("revolute", trunk, thigh, position=(x, y, 0), axis=(0, 1, 0), limits=(-1.0, 1.0))
        builder.joint("revolute", thigh, shank, position=(x, y, -0.4), axis=(0, 1, 0), limits=(0.1 * (k + 1), 2.0))
    with pytest.warns(DelassusWarning, match="will be pushed back"):
        model, state = builder.build(check=False)
    memory = Memory()
    for _ in range(300):
        state, report = step(model, state, settings=StepSettings(h=2e-3), memory=memory)
        assert report.ok, report.warnings
