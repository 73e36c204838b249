"""The builder refuses what makes no sense, in one sentence, and places what does."""

from dataclasses import fields

import numpy as np
import pytest

from delassus.builder import Material, ModelBuilder
from delassus.collision import ShapeArrays, detect
from delassus.errors import ProblemError, SettingsError
from delassus.joints.arrays import JointArrays
from delassus.model.model import constants
from delassus.model.state import State
from delassus.shapes import Box, Mesh, Plane, Sphere
from delassus.simulation import StepSettings, step


def hinged(**options):
    builder = ModelBuilder()
    arm = builder.body("arm", mass=1.0, inertia=(1, 1, 1))
    builder.joint("revolute", None, arm, **options)
    return builder.build()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": (1.0, -1.0)}, "swapped|wrong way round"),
        ({"friction": np.nan}, "it must be finite"),
        ({"damping": -1.0}, "it must be finite"),
        ({"motor": "impsed"}, "motor is 'impsed'"),
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
        ({"mass": 1.0, "inertia": (1, 2.5, 1)}, "must not exceed the sum"),
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


def test_flat_bodies_have_possible_inertias():
    """A thin plate: the largest moment is the sum of the others, to the digits it was written with."""
    for given in (
        {"mass": 1.0, "inertia": (0.333333, 0.333333, 0.666667)},
        {"density": 1.0, "shapes": [Box((1, 1, 1e-9))]},
    ):
        builder = ModelBuilder()
        builder.body(**given)
        x, y, z = np.diag(builder.build()[0].inertia[0])
        assert z == pytest.approx(x + y, rel=1e-5)
    with pytest.raises(ProblemError, match="no distribution of mass"):  # a hundredth more is no body's
        ModelBuilder().body(mass=1.0, inertia=(0.333333, 0.333333, 0.676667))


def test_zero_of_an_angle_moves_with_the_followers_frame():
    """Limits [−1, 4] rad from a frame turned by 1.5 rad are [−2.5, 2.5]."""
    shift = np.array([[np.cos(1.5), np.sin(1.5), 0], [-np.sin(1.5), np.cos(1.5), 0], [0, 0, 1]])  # by −1.5 rad
    model, state = hinged(axis=(0, 0, 1), frame=np.eye(3), follower_frame=shift, limits=(-2.5, 2.5))
    angle, _ = model.joints.coordinates(model.joints.frames(state.position, state.rotation))
    assert angle == pytest.approx([-1.5])


def touching(builder):
    """Pairs of bodies in contact, −1 for the world, with the heights of the points."""
    model, state = builder.build(check=False)  # they overlap on purpose, so that they touch
    contacts = detect(model.shapes, state.position, state.quaternion)
    return {(*sorted(pair), round(z, 6)) for pair, z in zip(contacts.bodies.tolist(), contacts.point[:, 2])}


def on_a_pedestal():
    """A box that sticks in the ground and in a pedestal, both fixed; a second one beside it, in the ground only."""
    builder = ModelBuilder()
    ground = builder.fixed("ground", shapes=[Plane()])
    pedestal = builder.fixed("pedestal", position=(0, 0, 1), shapes=[Box((1, 1, 1))])
    box = builder.body("box", position=(0, 0, 0.25), mass=1.0, shapes=[Box((0.5, 0.5, 0.52))])
    builder.body("other", position=(3, 0, 0.25), mass=1.0, shapes=[Box((0.5, 0.5, 0.52))])
    return builder, ground, pedestal, box


def test_joint_to_a_fixture_excludes_contact_with_that_fixture_only():
    on_ground, on_pedestal, beside = (-1, 0, -0.005), (-1, 0, 0.505), (-1, 1, -0.005)
    assert touching(on_a_pedestal()[0]) == {on_ground, on_pedestal, beside}
    for which, left in ((1, {on_pedestal, beside}), (2, {on_ground, beside})):
        parts = on_a_pedestal()
        parts[0].joint("revolute", parts[which], parts[3])
        assert touching(parts[0]) == left
    builder, ground, pedestal, box = on_a_pedestal()
    builder.joint("revolute", pedestal, box, collide=True)
    builder.joint("revolute", None, box)
    assert touching(builder) == {on_ground, on_pedestal, beside}
    builder.exclude(ground, box)
    builder.exclude(box, pedestal)
    builder.exclude(pedestal, ground)  # they never touch anyway
    assert touching(builder) == {beside}


def test_every_constant_of_a_model_enters_its_hash():
    def model(shape=1.0, mu=0.5, restitution=0.0, group=1, excluded=False, mixing="geometric", limit=1.0):
        builder = ModelBuilder(mixing=mixing)
        ground = builder.fixed("ground", shapes=[Plane()], material=Material(mu, restitution))
        arm = builder.body("arm", mass=1.0, inertia=(1, 1, 1), shapes=[Box((shape, 1, 1))], group=group)
        builder.joint("revolute", None, arm, limits=(-limit, limit))
        if excluded:
            builder.exclude(arm, ground)
        return builder.build(check=False)[0]  # only its constants matter here

    changes = [
        {},
        {"shape": 2.0},
        {"mu": 0.4},
        {"restitution": 0.1},
        {"group": 2},
        {"excluded": True},
        {"mixing": "min"},
        {"limit": 2.0},
    ]
    assert len({model(**change).hash for change in changes}) == len(changes)
    assert model().hash == model().hash
    left_out = {field.name for field in fields(ShapeArrays)} - constants(model().shapes).keys()
    assert left_out == {"hint", "spare"}
    assert {field.name for field in fields(JointArrays)} == constants(model().joints).keys()


def test_solvers_that_cannot_take_a_step_are_refused():
    builder = ModelBuilder()
    builder.fixed(shapes=[Plane()])
    builder.body(position=(0, 0, 0.1), mass=1.0, shapes=[Sphere(0.1)])
    with pytest.raises(SettingsError, match="cannot take this step"):
        step(*builder.build(), settings=StepSettings(law="ncp", solver="ipm"))


def test_empty_models_and_bodies_without_shapes_step():
    model, state = ModelBuilder().build()
    after, _ = step(model, state)
    assert after.t == pytest.approx(1e-3)
    model, state = hinged()
    assert step(model, state)[1].solution.converged


MIRROR = np.diag([1.0, 1.0, -1.0])


@pytest.mark.parametrize("place", ["frame", "follower_frame"])
def test_left_handed_joint_frames_are_refused(place):
    with pytest.raises(ProblemError, match=f"joint hinge: {place} is left-handed.*turn one column round"):
        hinged(name="hinge", **{place: MIRROR})
    model, _ = hinged(**{place: -MIRROR})  # half a turn about z
    assert np.linalg.det(model.joints.axes) == pytest.approx(1.0)


def test_reflecting_orientations_are_refused_wherever_they_are_given():
    builder, unit = ModelBuilder(), {"mass": 1.0, "inertia": (1, 1, 1)}
    for call in (
        lambda: builder.body("thing", orientation=MIRROR, **unit),
        lambda: builder.fixed("thing", orientation=MIRROR),
        lambda: builder.fixed("thing", shapes=[(Box((1, 1, 1)), (0, 0, 0), MIRROR)]),
    ):
        with pytest.raises(ProblemError, match="thing: .*orientation is left-handed"):
            call()
    with pytest.raises(ProblemError, match="unit quaternion"):
        builder.body("thing", orientation=(0, 0, 0, 0), **unit)


def test_meshes_whose_neighbours_face_opposite_sides_are_refused():
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    with pytest.raises(ProblemError, match=r"faces\[0\] and faces\[1\] are neighbours that face opposite sides"):
        Mesh(corners, [(0, 1, 2), (0, 3, 2)])
    Mesh(corners, [(0, 1, 2), (0, 2, 3)])
    Mesh(corners, [(0, 1, 2), (0, 2, 1)])  # both sides on purpose


def test_states_hold_unit_quaternions():
    """0.7071 for 1/√2 is not a scaled body; what is of unit length to rounding keeps its bits."""
    q = np.array([[0, 0, 0, 0.7071, 0.7071, 0, 0]])
    state = State(q, np.zeros((1, 6)))
    assert np.linalg.det(state.rotation[0]) == pytest.approx(1.0, abs=1e-14)
    exact = np.array([[0, 0, 0, np.sqrt(0.5), np.sqrt(0.5), 0, 0]])
    assert State(exact, np.zeros((1, 6))).q.tobytes() == exact.tobytes()
    with pytest.raises(ProblemError, match="quaternion of body 0 is not of unit length"):
        State(np.zeros((1, 7)), np.zeros((1, 6)))
