"""A shape and a joint of one's own: one class, or a few lines of data, in a module the package has never seen."""

import importlib.util
import math
import pickle
import textwrap
from typing import Annotated

import numpy as np
import pytest
from command_line import delassus as invoke

import delassus
from delassus import Material, ModelBuilder, Plane
from delassus.collision import Instance, detect, shape_arrays
from delassus.errors import ProblemError, SettingsError
from delassus.joints import JOINTS, JointKind
from delassus.joints.kind import ROTATION_VECTOR, point, slide
from delassus.scenes import SCENES, Check, Scene, Setup
from delassus.shapes import SHAPES, Box, Capsule, Convex, Cylinder, Mesh, Shape, Sphere
from delassus.simulation import StepSettings
from delassus.spatial import quaternion_to_matrix, rotation_exp

SHAPE_FILE = '''
    """Eggs, boxes with rounded edges, and cones: their numbers and their support functions, nothing else."""
    import math
    from dataclasses import dataclass
    from typing import ClassVar

    from delassus.shapes import Shape

    @dataclass(frozen=True)
    class Egg(Shape):
        x: float
        y: float
        z: float
        kind: ClassVar[str] = "egg"

        @property
        def numbers(self):
            return self.x, self.y, self.z

        @staticmethod
        def support(numbers, x, y, z):
            x, y, z = numbers[0] * x, numbers[1] * y, numbers[2] * z
            d = math.sqrt(x * x + y * y + z * z)
            return numbers[0] * x / d, numbers[1] * y / d, numbers[2] * z / d

    @dataclass(frozen=True)
    class RoundedBox(Shape):
        x: float
        y: float
        z: float
        radius: float
        kind: ClassVar[str] = "rounded-box"

        @property
        def numbers(self):
            return 0.5 * self.x - self.radius, 0.5 * self.y - self.radius, 0.5 * self.z - self.radius, self.radius

        @staticmethod
        def support(numbers, x, y, z):
            f = numbers[3] / math.sqrt(x * x + y * y + z * z)
            return (math.copysign(numbers[0], x) + f * x, math.copysign(numbers[1], y) + f * y,
                    math.copysign(numbers[2], z) + f * z)

    @dataclass(frozen=True)
    class Cone(Shape):
        radius: float
        height: float
        kind: ClassVar[str] = "cone"

        @property
        def numbers(self):
            return self.radius, self.height

        @staticmethod
        def support(numbers, x, y, z):
            r, h = numbers[0], numbers[1]
            across = math.hypot(x, y)
            if z * h > r * across:
                return 0.0, 0.0, 0.75 * h
            if across == 0.0:
                return r, 0.0, -0.25 * h
            return r * x / across, r * y / across, -0.25 * h
'''
DIRECTIONS = 1e-4  # error of default mass properties, extrapolated from two polyhedra of thousands of triangles
NEAREST = 1e-6  # [m]: the normal of a face is taken for the one found where the gap along it is as good to this
POINT = math.sqrt(2.0 * 0.4 * NEAREST)  # [m]: along a ball of 0.4 m that gap is flat, so its point is known to this


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """The module's classes, registered for these tests."""
    path = tmp_path_factory.mktemp("own") / "own_shapes.py"
    path.write_text(textwrap.dedent(SHAPE_FILE))
    spec = importlib.util.spec_from_file_location("own_shapes", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for shape in (module.Egg, module.RoundedBox, module.Cone):
        delassus.register(shape)
    yield module
    for kind in ("egg", "rounded-box", "cone"):
        SHAPES.remove(kind)


def pose(rng, distance):
    """(position, quaternion) at a distance in a random direction, turned at random."""
    d = rng.normal(size=3)
    return distance * d / np.linalg.norm(d), rotation_exp(rng.normal(size=3))


def test_mass_properties_by_default(own):
    a, b, c = 0.3, 0.4, 0.2
    shape = own.Egg(a, b, c)
    volume = 4.0 / 3.0 * math.pi * a * b * c
    assert shape.volume == pytest.approx(volume, rel=DIRECTIONS)
    exact = 0.2 * volume * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
    np.testing.assert_allclose(shape.inertia_per_density, exact, atol=2 * DIRECTIONS * exact.max())
    cone = own.Cone(0.5, 1.0)
    assert cone.volume == pytest.approx(math.pi * 0.25 / 3.0, rel=DIRECTIONS)
    np.testing.assert_allclose(cone.centre_of_mass, 0.0, atol=DIRECTIONS)
    x = shape.surface_points(300, np.random.default_rng(0))
    assert (np.abs(x) <= shape.bounds[1] + 1e-12).all()
    assert (np.linalg.norm(x, axis=1) <= shape.bounding_radius).all()


OTHERS = {
    "plane": Plane((0.2, -0.1, 1.0), 0.3),
    "sphere": Sphere(0.5),
    "box": Box((0.8, 1.0, 0.6)),
    "capsule": Capsule(0.3, 0.8),
    "cylinder": Cylinder(0.4, 0.9),
    "convex": Convex(np.random.default_rng(5).normal(size=(14, 3)) * 0.4),
    "mesh": Mesh([[-9, -9, -0.9], [9, -9, -0.4], [0, 9, 0.1]], [[0, 1, 2]]),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_ball_by_its_support_function_is_a_sphere(own, other):
    """Gap, normal and point of an ellipsoid with equal axes are those of the sphere's own kernels, apart or sunk in."""
    rng, ours, theirs = np.random.default_rng(11), [], []
    ball, sphere = own.Egg(0.4, 0.4, 0.4), Sphere(0.4)
    arrays = [shape_arrays([Instance(OTHERS[other]), Instance(shape, body=0, margin=0.3)]) for shape in (ball, sphere)]
    for _ in range(300):
        position, quaternion = pose(rng, rng.uniform(0.4, 1.1))
        given, exact = (detect(a, [position], [quaternion]) for a in arrays)
        if not len(exact) or exact.gap[0] < -0.2:  # deeper than half its radius the way out may be another one
            continue
        assert len(given) == 1
        ours.append([given.gap[0], *given.point[0]])
        theirs.append([exact.gap[0], *exact.point[0]])
        np.testing.assert_allclose(given.normal, exact.normal, atol=1e-4)
    assert len(ours) > 5
    assert min(x[0] for x in theirs) < 0.0 < max(x[0] for x in theirs)
    np.testing.assert_allclose(np.array(ours)[:, 0], np.array(theirs)[:, 0], atol=NEAREST)
    np.testing.assert_allclose(ours, theirs, atol=POINT)


@pytest.mark.parametrize("gap", [1e-3, -1e-3])
@pytest.mark.parametrize("other", [Plane(), Box((3.0, 3.0, 1.0))], ids=["plane", "box"])
def test_flat_faces_touch_at_their_corners(own, other, gap):
    """A box with rounded edges lies on the four corners of its flat face, a cone on its rim: found by asking around."""
    level = 0.0 if other.kind == "plane" else 0.5
    turned = rotation_exp(np.array([0.0, 0.0, 0.3]))
    for shape, low, corners, radius in (
        (own.RoundedBox(1.0, 0.8, 0.5, 0.1), 0.25, 4, math.hypot(0.4, 0.3)),
        (own.Cone(0.5, 1.0), 0.25, 8, 0.5),
    ):
        arrays = shape_arrays([Instance(other, margin=0.01), Instance(shape, body=0, margin=0.01)])
        contacts = detect(arrays, [[0.2, 0.1, level + low + gap]], [turned])
        assert len(contacts) == corners
        np.testing.assert_allclose(contacts.gap, gap, atol=1e-7)  # a rounded edge is asked a little beside its end
        np.testing.assert_allclose(contacts.normal, [[0, 0, 1]] * corners, atol=1e-9)
        reach = np.linalg.norm(contacts.point[:, :2] - [0.2, 0.1], axis=1)
        np.testing.assert_allclose(reach, radius, atol=5e-3)
        assert len(np.unique(contacts.feature)) == corners


def falling(shape, floor, height, *, velocity=(0.0, 0.0, 0.0), restitution=0.0, gravity=9.81):
    """A body of this shape above the level z = 0 of a plane or of a box's upper side."""
    builder, material = ModelBuilder(gravity=(0.0, 0.0, -gravity)), Material(0.6, restitution)
    if floor == "plane":
        builder.fixed("floor", shapes=[Plane()], material=material)
    else:
        thick = 0.02 if floor == "plate" else 1.0
        builder.fixed("floor", position=(0, 0, -0.5 * thick), shapes=[Box((4.0, 4.0, thick))], material=material)
    builder.body(
        "own", position=(0.1, 0.05, height), velocity=velocity, density=500.0, shapes=[shape], material=material
    )
    return Setup(*builder.build(), duration=1.0, settings=StepSettings(h=5e-3))


@pytest.mark.parametrize("floor", ["plane", "box"])
@pytest.mark.parametrize(
    ("name", "sizes", "rest"),
    [("Egg", (0.3, 0.4, 0.2), 0.2), ("RoundedBox", (0.6, 0.5, 0.4, 0.05), 0.2), ("Cone", (0.3, 0.4), 0.1)],
)
def test_it_falls_and_rests_at_its_height(own, name, sizes, rest, floor):
    """After a second it lies still on its flattest side; no step gains energy; normals point out of the floor."""
    setup = falling(getattr(own, name)(*sizes), floor, rest + 0.05)
    run = setup.run(steps=200)
    assert run.converged.all()
    assert abs(run.q[-1, 0, 2] - rest) < 1e-4
    assert np.abs(run.u[-1]).max() < 1e-3
    energy = run.total_energy
    assert (np.diff(energy) < 1e-6 * abs(energy[0])).all()
    assert run.penetration.max() < 1e-4
    touching = run.contacts(199)
    up = touching.normal * np.where(touching.bodies[:, :1] < 0, 1.0, -1.0)  # from the floor to the body
    np.testing.assert_allclose(up, np.tile([0.0, 0, 1], (len(up), 1)), atol=1e-5)
    weight = 9.81 * setup.model.mass[0]
    np.testing.assert_allclose(touching.force_on(0), [0, 0, weight], atol=1e-3 * weight)


@pytest.mark.parametrize("floor", ["plane", "plate"])
def test_fast_ones_do_not_pass(own, floor):
    """A metre in a step, onto a plate of two centimetres: it comes back as restitution says."""
    speed, h = 200.0, 5e-3
    for shape, low in ((own.Egg(0.3, 0.3, 0.2), 0.2), (own.RoundedBox(0.4, 0.4, 0.4, 0.1), 0.2)):
        setup = falling(shape, floor, 1.7, velocity=(0, 0, -speed), restitution=0.5, gravity=0.0)
        run = setup.run(steps=6)
        assert run.converged.all()
        assert (run.q[:, 0, 2] > low - 1e-3).all()
        assert run.u[-1, 0, 2] == pytest.approx(0.5 * speed, rel=1e-6)
        assert h * speed > 1.0 - 1e-9


def test_it_runs_and_is_recorded_like_any_other(own, tmp_path):
    def build(*, height: Annotated[float, "of its middle at the start [m]"] = 0.25) -> Setup:
        return falling(own.Egg(0.3, 0.4, 0.2), "box", height)

    def check(setup, run) -> list[Check]:
        return [Check("penetration", run.penetration.max(), 1e-4, "m")]

    delassus.register(Scene("own-egg", "an egg on a table", "it does not sink in", build, check))
    try:
        done = invoke("run", "own-egg", "--steps", "30", "--out", str(tmp_path / "egg"))
        assert done.exit_code == 0, done.output
        again = invoke("run", "own-egg", "--steps", "10", "--out", str(tmp_path / "egg"), "--resume")
        assert again.exit_code == 0, again.output
    finally:
        SCENES.remove("own-egg")


def test_models_know_which_shape_it_is(own):
    """Two kinds with the same numbers are two models; a copy of one is the same."""
    egg, brick = (falling(own.Egg(0.3, 0.4, 0.2), "box", 0.5), falling(own.RoundedBox(0.6, 0.8, 0.4, 0.0), "box", 0.5))
    assert egg.model.hash != brick.model.hash
    arrays = egg.model.shapes
    place = ([[0.1, 0.05, 0.199]], [[1.0, 0, 0, 0]])
    before = detect(arrays, *place)
    after = detect(pickle.loads(pickle.dumps(arrays)), *place)
    assert len(before) == 1
    assert before.gap.tobytes() == after.gap.tobytes()


def test_as_part_of_a_compound_it_is_where_it_should_be(own):
    pair = delassus.Compound(((own.Egg(0.2, 0.2, 0.1), (0.5, 0, 0), None), (Sphere(0.1), (-0.5, 0, 0), None)))
    contacts = detect(
        shape_arrays([Instance(Plane(), margin=0.01), Instance(pair, body=0)]), [[0, 0, 0.1]], [[1, 0, 0, 0]]
    )
    np.testing.assert_allclose(contacts.point, [[0.5, 0, 0], [-0.5, 0, 0]], atol=1e-9)


def test_what_cannot_work_is_said(own):
    class Twin(own.Egg):
        pass

    class Flat(Shape):
        kind = "flat"

    class Stranger(own.Egg):
        kind = "stranger"

    with pytest.raises(SettingsError, match="there is a shape 'egg' already"):
        delassus.register(Twin)
    with pytest.raises(SettingsError, match="no support function"):
        delassus.register(Flat)
    with pytest.raises(ProblemError, match="stranger is no shape that collision knows: call delassus.register"):
        shape_arrays([Instance(Stranger(0.1, 0.1, 0.1), body=0)])
    with pytest.raises(ProblemError, match="no support function"):
        Flat().bounds  # noqa: B018


# -- joints ------------------------------------------------------------------------------------------------------------

BEAD = JointKind(
    "bead",
    rows=point(0, 1),
    coordinates=(slide("along", 2), *ROTATION_VECTOR),
    meaning="a point of the follower slides along the base's z axis, free to turn",
)


@pytest.fixture
def bead():
    delassus.register(BEAD)
    yield "bead"
    JOINTS.remove("bead")


def test_a_joint_of_ones_own_holds_and_leaves_free(bead):
    """A rod whose end is a bead on a wire: two rows and four coordinates, no drift, no energy gained, and it slides."""
    axis = np.array([1.0, 0.0, -1.0]) / math.sqrt(2.0)
    builder = ModelBuilder()
    rod = builder.body(
        "rod", position=(0, 0, 0), mass=2.0, inertia=np.diag([0.1, 0.1, 0.02]), angular_velocity=(0.5, 3.0, 1.0)
    )
    builder.joint("bead", None, rod, position=(0, 0, 0.5), axis=axis)
    model, state = builder.build(assemble=True)
    assert model.joints.row_count == 2
    assert model.joints.coordinate_names == tuple(f"bead-1.{c.name}" for c in BEAD.coordinates)
    run = Setup(model, state, duration=1.0, settings=StepSettings(h=1e-3)).run(steps=500)
    assert run.converged.all()
    assert run.drift.max() < 1e-9
    assert abs(run.total_energy[-1] - run.total_energy[0]) < 1e-3 * 2.0 * 9.81 * 0.5
    end = run.q[:, 0, :3] + np.einsum("tij,j->ti", quaternion_to_matrix(run.q[:, 0, 3:]), [0, 0, 0.5])
    off = end - (0, 0, 0.5)
    assert np.abs(off - np.outer(off @ axis, axis)).max() < 1e-9  # it never left the wire
    assert off[-1] @ axis > 0.3  # and slid down


def test_limits_motors_and_friction_of_a_joint_of_ones_own(bead):
    builder = ModelBuilder()
    ball = builder.body("ball", mass=1.0, inertia=0.1 * np.eye(3))
    free = [None, None, None]
    builder.joint("bead", None, ball, limits=[(-0.2, 0.2), *free], friction=[0.5, 0.0, 0.0, 0.0])
    model, state = builder.build()
    run = Setup(model, state, duration=1.0, settings=StepSettings(h=2e-3)).run(steps=400)
    assert run.q[-1, 0, 2] == pytest.approx(-0.2, abs=1e-6)
    time = np.sqrt(2 * 0.2 / (9.81 - 0.5))  # to the limit, held back by friction
    assert run.t[np.argmax(run.q[:, 0, 2] < -0.199)] == pytest.approx(time, abs=4e-3)
    with pytest.raises(ProblemError, match="bead joint"):
        builder.joint("bead", None, ball, limits=(-1.0, 1.0), name="again")


def test_kinds_of_joints_are_refused_where_they_cannot_be(bead):
    with pytest.raises(SettingsError, match="there is a joint 'bead' already"):
        delassus.register(BEAD)
    with pytest.raises(SettingsError, match="belongs to the package"):
        JOINTS.remove("revolute")
    builder = ModelBuilder()
    body = builder.body("body", mass=1.0, inertia=np.eye(3))
    with pytest.raises(ProblemError, match="did you mean 'bead'"):
        builder.joint("beed", None, body)
