"""The builder refuses what makes no sense, in one sentence, and places what does."""

import numpy as np
import pytest

from delassus.builder import ModelBuilder, Motor
from delassus.errors import ProblemError, SettingsError
from delassus.shapes import Box, Plane, Sphere
from delassus.simulation import StepSettings, step


def hinged(**options):
    builder = ModelBuilder()
    arm = builder.body("arm", mass=1.0, inertia=(1, 1, 1))
    builder.joint("revolute", None, arm, **options)
    return builder.build()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": (-1.0, 4.0)}, "must lie within"),
        ({"limits": (1.0, -1.0)}, "swapped|wrong way round"),
        ({"friction": np.nan}, "damping and friction must be finite"),
        ({"damping": -1.0}, "damping and friction must be finite"),
        ({"motor": "impsed"}, "motor is 'impsed'"),
        ({"motor": Motor(-1.0)}, "motor gains"),
        ({"axis": (0, 0, np.nan)}, "axis"),
    ],
)
def test_bad_joint_options_are_named(options, message):
    with pytest.raises(ProblemError, match=message):
        hinged(**options)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"mass": 0.0, "inertia": (1, 1, 1)}, "mass is 0.0"),
        ({"mass": -1.0, "inertia": (1, 1, 1)}, "mass is -1.0"),
        ({"mass": 1.0, "inertia": (1, 1, -1)}, "inertia is not positive definite"),
        ({"mass": 1.0}, "give density and shapes"),
        ({"density": 0.0, "shapes": [Sphere(0.1)]}, "density is 0.0"),
        ({"density": 1.0, "shapes": [Plane()]}, "planes and meshes belong to fixed bodies"),
        ({"mass": 1.0, "inertia": (1, 1, 1), "orientation": (2, 0, 0, 0)}, "unit quaternion"),
        ({"mass": 1.0, "inertia": (1, 1, 1), "position": (0, np.inf, 0)}, "position"),
        ({"mass": 1.0, "inertia": (1, 1, 1), "shapes": ["box"]}, "is not a shape"),
    ],
)
def test_bad_bodies_are_named(body, message):
    with pytest.raises(ProblemError, match=message):
        ModelBuilder().body("thing", **body)


def test_joints_to_strangers_and_to_nothing_are_refused():
    builder, other = ModelBuilder(), ModelBuilder()
    mine, theirs = builder.body(mass=1.0, inertia=(1, 1, 1)), other.body(mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(ProblemError, match="does not belong to this builder"):
        builder.joint("fixed", theirs, mine)
    with pytest.raises(ProblemError, match="other than the base"):
        builder.joint("fixed", mine, mine)
    with pytest.raises(ProblemError, match="did you mean 'revolute'"):
        builder.joint("revolut", None, mine)
    with pytest.raises(ProblemError, match="length"):
        builder.joint("distance", None, mine, length=-1.0)
    with pytest.raises(ProblemError, match="is taken"):
        builder.body(mine.name, mass=1.0, inertia=(1, 1, 1))


def test_centre_of_mass_and_inertia_follow_the_shapes():
    """Two unit cubes, one on top of the other: as a 1×1×2 box, wherever the body's own frame is."""
    builder = ModelBuilder()
    builder.body(position=(0, 0, 5), density=2.0, shapes=[(Box((1, 1, 1)), (0, 0, 0)), (Box((1, 1, 1)), (0, 0, 1))])
    model, state = builder.build()
    assert model.mass[0] == pytest.approx(4.0)
    assert state.position[0] == pytest.approx([0, 0, 5.5])
    assert np.diag(model.inertia[0]) == pytest.approx([4 / 12 * 5, 4 / 12 * 5, 4 / 12 * 2])


def test_laws_and_solvers_that_cannot_take_a_step_are_refused():
    model, state = hinged(friction=1.0)
    with pytest.raises(SettingsError, match="use law ncp"):
        step(model, state, settings=StepSettings(law="ccp"))
    builder = ModelBuilder()
    builder.fixed(shapes=[Plane()])
    builder.body(position=(0, 0, 0.1), mass=1.0, shapes=[Sphere(0.1)])
    with pytest.raises(SettingsError, match="cannot take this step"):
        step(*builder.build(), settings=StepSettings(law="ccp", solver="nbgs"))


def test_empty_models_and_bodies_without_shapes_step():
    model, state = ModelBuilder().build()
    after, _ = step(model, state)
    assert after.t == pytest.approx(1e-3)
    model, state = hinged()
    assert step(model, state)[1].solution.converged
