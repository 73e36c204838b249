"""Models written as MJCF and URDF and read again: the same mechanism, and MuJoCo compiles every file."""

from dataclasses import replace

import numpy as np
import pytest

import delassus
from delassus import Box, Convex, Ellipsoid, Material, ModelBuilder, Motor, Plane, Sphere, Spring, StepSettings, World
from delassus.collision import detect_at
from delassus.collision.layout import CONVEX
from delassus.dynamics.forces import lengths_of
from delassus.errors import FileError, ProblemError
from delassus.importers.imported import coordinates_and_rates
from delassus.scenes import SCENES
from delassus.softening import Softening
from delassus.spatial import rotation_exp

mujoco = pytest.importorskip("mujoco")

SAME = 1e-9
FINE = StepSettings(h=1e-3, tol=1e-12)  # two solves of a step agree to about tol / h in acceleration
SCENES_WRITTEN = {
    "four-bar": {"speed": 0.0},
    "four-bar-free": {},
    "pendulum-chain": {},
    "pendulum-chain spatial": {"spatial": True},
    "nunchuk": {},
    "heavy-on-light": {},
    "card-house": {},
    "arm7d": {},
    "quadruped": {},
    "bdx": {},
    "lima": {},
    "walker": {},
    "gazelle": {},
    "ironman": {},
}
MJCF = (
    "agility_cassie/scene.xml",
    "anybotics_anymal_c/scene.xml",
    "iit_softfoot/scene.xml",
    "kuka_iiwa_14/scene.xml",
    "robotiq_2f85/scene.xml",
    "shadow_hand/scene_right.xml",
)
ROBOTS = [*(f"mjcf/{name}" for name in MJCF), "urdf/cartpole.urdf", "urdf/quadruped.urdf"]
OF_COORDINATES = (
    "lower",
    "upper",
    "damping",
    "friction",
    "spring",
    "rest",
    "armature",
    "stiffness",
    "rate_gain",
    "effort",
)


def again(model, state, path):
    """(what is read of what was written, its bodies in the model's order, what was not written)."""
    notes = delassus.save_model(path, model, state)
    mujoco.MjModel.from_xml_path(str(path))
    found = delassus.load_model(path, keyframe="start")
    return found, [found.model.body_names.index(name) for name in model.body_names], notes


def assert_same(model, state, found, order, rough_joints=()):
    """Masses, inertias, poses, velocities and what belongs to joint coordinates."""
    other = found.model
    assert other.body_count == model.body_count
    np.testing.assert_allclose(other.mass[order], model.mass, rtol=1e-14)
    for ours, theirs in zip(model.inertia, other.inertia[order]):
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=SAME * np.abs(ours).max())
    np.testing.assert_allclose(other.centre[order], model.centre, rtol=0, atol=1e-14)
    np.testing.assert_allclose(other.gravity, model.gravity, rtol=0, atol=0)
    np.testing.assert_allclose(found.state.position[order], state.position, rtol=0, atol=SAME)
    np.testing.assert_allclose(found.state.rotation[order], state.rotation, rtol=0, atol=SAME)
    np.testing.assert_allclose(found.state.u[order], state.u, rtol=0, atol=SAME)
    number = {name: d for d, name in enumerate(other.joints.coordinate_names)}
    values, theirs = state.coordinates(model), found.state.coordinates(other)
    for d, name in enumerate(model.joints.coordinate_names):
        if name not in number:  # of loops, which are points there
            assert name.partition(".")[0] in rough_joints or name.partition(".")[0] in other.joints.names, name
            continue
        e = number[name]
        if model.joints.kinds[model.joints.coordinate_joint[d]] != "spherical":
            assert theirs[e] == pytest.approx(values[d], abs=SAME), name
        for what in OF_COORDINATES:
            ours = getattr(model.joints, what)[d]
            assert getattr(other.joints, what)[e] == pytest.approx(ours, rel=1e-12, abs=1e-15), (name, what)


def assert_same_start(model, state, found, order):
    """Accelerations of the first step."""
    after, report = delassus.step(model, state, FINE)
    other, _ = delassus.step(found.model, found.state, FINE)
    assert report.solution.status is delassus.Status.CONVERGED
    ours, theirs = (after.u - state.u) / FINE.h, (other.u - found.state.u)[order] / FINE.h
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=SAME * max(9.81, float(np.abs(ours).max())))


@pytest.mark.parametrize("name", SCENES_WRITTEN)
def test_scenes_come_back(name, tmp_path):
    setup = SCENES[name.partition(" ")[0]].build(**SCENES_WRITTEN[name])
    found, order, notes = again(setup.model, setup.state, tmp_path / "scene.xml")
    assert notes == ()
    assert_same(setup.model, setup.state, found, order)
    assert len(found.model.shapes.excluded) == len(setup.model.shapes.excluded)
    shapes = setup.model.shapes
    contacts, others = detect_at(shapes, setup.state.q), detect_at(found.model.shapes, found.state.q)
    assert np.sort(others.gap) == pytest.approx(np.sort(contacts.gap), abs=1e-6)
    if (shapes.kind[contacts.shapes] == CONVEX).any():
        assert_same_start_without_shapes(
            setup.model,
            turning(setup.model, setup.state),
            replace(found, state=turning(found.model, found.state)),
            order,
        )
    else:
        assert_same_start(setup.model, setup.state, found, order)


def turning(model, state):
    """The same about a vertical axis, where nothing holds it: what falls freely would load no joint at all."""
    u = state.u.copy()
    if (model.joints.bodies[:, 0] >= 0).all():
        u[:, :3], u[:, 3:] = np.cross((0, 0, 3.0), state.position), (0, 0, 3.0)
    return replace(state, u=u)


def assert_same_start_without_shapes(model, state, found, order):
    """Hulls have corners of single precision in MuJoCo, so that what stands on one of them starts otherwise: shapes do
    not touch here."""
    assert found.model.shapes.count == model.shapes.count
    bare, bare_found = (replace(m, shapes=delassus.collision.shape_arrays([])) for m in (model, found.model))
    assert_same_start(bare, state, replace(found, model=bare_found), order)


@pytest.mark.parametrize("name", ROBOTS)
def test_robots_come_back(robots_dir, name, tmp_path):
    """Ball joints have no damping here: it acts on the rate of a rotation vector, which counts from the pose of the
    file."""
    given = delassus.load_model(robots_dir / name)
    model, state = given.at(next(iter(given.keyframes))) if given.keyframes else given
    balls = np.array([model.joints.kinds[j] == "spherical" for j in model.joints.coordinate_joint], dtype=bool)
    model = replace(model, joints=replace(model.joints, damping=np.where(balls, 0.0, model.joints.damping)))
    found, order, notes = again(model, state, tmp_path / "robot.xml")
    assert notes == ()
    assert_same(model, state, found, order)
    assert_same_start_without_shapes(model, state, found, order)


@pytest.mark.parametrize("turned", [False, True], ids=["as it is", "base and follower exchanged"])
@pytest.mark.parametrize(
    "kind", ["revolute", "prismatic", "spherical", "universal", "cylindrical", "planar", "cartesian"]
)
def test_every_kind_of_joint_moves_as_in_mujoco(kind, turned, tmp_path):
    """A body on a swinging one: both accelerations, the joint's and the body's, against MuJoCo's, contacts aside."""
    b = ModelBuilder()
    arm = b.body(
        "arm", position=(0.3, 0, 0), orientation=rotation_exp((0.2, -0.3, 0.5)), mass=2.0, shapes=[Box((0.6, 0.1, 0.2))]
    )
    hand = b.body(
        "hand",
        position=(0.7, 0.1, 0.2),
        orientation=rotation_exp((0.5, 0.1, 0.9)),
        mass=1.3,
        shapes=[Box((0.2, 0.3, 0.1))],
    )
    b.joint("revolute", None, arm, position=(0, 0, 0), axis=(0.1, 1, 0.2), name="shoulder")
    ends = (hand, arm) if turned else (arm, hand)
    frame = rotation_exp((0.3, 0.4, -0.2))
    count = {"spherical": 3, "universal": 2, "cylindrical": 2, "planar": 3, "cartesian": 3}.get(kind, 1)
    b.joint(
        kind,
        *ends,
        position=(0.62, 0.05, 0.15),
        frame=frame,
        name="wrist",
        damping=[0.3] * count,
        stiffness=[0.0 if kind == "spherical" else 5.0] * count,
        rest=[0.1] * count,
    )
    model, state = b.build()
    path = tmp_path / "arm.xml"
    delassus.save_model(path, model, state)
    theirs = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    h = 1e-6  # [s]: damping is implicit in ours, which shows to first order
    after, _ = delassus.step(model, state, StepSettings(h=h, tol=1e-12))
    for name in ("arm", "hand"):
        body = theirs.body(name).id
        found = np.zeros(6)
        mujoco.mj_rnePostConstraint(theirs, data)
        mujoco.mj_objectAcceleration(theirs, data, mujoco.mjtObj.mjOBJ_BODY, body, found, 0)
        ours = after.u[model.body_names.index(name)] / h
        spin, linear = found[:3], found[3:] + theirs.opt.gravity
        np.testing.assert_allclose(ours[3:], spin, rtol=0, atol=1e-4 * float(np.abs(found).max()), err_msg=name)
        np.testing.assert_allclose(ours[:3], linear, rtol=0, atol=1e-4 * float(np.abs(found).max()), err_msg=name)


def test_a_rolling_joint_comes_back(tmp_path):
    b = ModelBuilder()
    arm = b.body("arm", position=(0.3, 0, 0), mass=2.0, shapes=[Box((0.6, 0.1, 0.2))])
    hand = b.body("hand", position=(0.9, 0, 0), mass=1.3, shapes=[Box((0.2, 0.3, 0.1))])
    b.joint("revolute", None, arm, position=(0, 0, 0), axis=(0, 1, 0))
    b.joint(
        "rolling",
        arm,
        hand,
        position=(0.65, 0, 0),
        follower_position=(0.75, 0, 0),
        frame=np.eye(3),
        name="roll",
        limits=(-0.5, 0.7),
        damping=0.3,
        friction=0.1,
        stiffness=5.0,
        rest=0.2,
        armature=0.02,
    )
    model, state = b.build()
    found, order, notes = again(model, state, tmp_path / "rolling.xml")
    assert notes == ()
    assert found.model.joints.kinds == model.joints.kinds
    assert_same(model, state, found, order)
    assert_same_start(model, state, found, order)


def things():
    """One of each thing that joints and shapes may have."""
    b = ModelBuilder(gravity=(0.1, 0, -3.0), mixing="max")
    ground = b.fixed(
        "ground", position=(0, 0, -0.5), orientation=rotation_exp((0.1, 0, 0)), shapes=[Plane()], material=0.7
    )
    points = np.array([(x, y, z) for x in (0, 0.25) for y in (0, 0.5) for z in (0, 0.125)])
    lever = b.body("lever", position=(0, 0, 1), mass=1.0, shapes=[Convex(points)], material=0.0)
    slide = b.body("slide", position=(1, 0, 1), mass=2.0, inertia=np.diag([0.01, 0.02, 0.025]), centre=(0.1, 0, 0.05))
    b.attach(slide, Ellipsoid(0.1, 0.2, 0.3), position=(0.1, 0, 0), orientation=rotation_exp((0, 1, 0)), material=0.3)
    ball = b.body(
        "ball", position=(0, 2, 0), mass=0.5, shapes=[Sphere(0.1)], velocity=(1, 2, 3), angular_velocity=(3, 2, 1)
    )
    b.joint(
        "revolute",
        None,
        lever,
        axis=(1, 0, 0),
        name="turn",
        limits=(-np.inf, 4.0),
        damping=0.1,
        friction=0.2,
        stiffness=3.0,
        rest=0.4,
        armature=0.05,
        motor=Motor(20.0, 3.0, 7.0),
    )
    b.joint("prismatic", lever, slide, axis=(0, 1, 0), name="along", limits=(-0.5, np.inf), motor=Motor(0.0, 5.0))
    b.coupling({"turn.angle": [0.0, 1.0, 0.0, 0.25], "along.position": [0.0, -2.0]}, name="cam")
    b.exclude(ball, ground)
    return b


def test_limits_springs_motors_couplings_shapes_and_filters_come_back(tmp_path):
    model, state = things().build()
    found, order, notes = again(model, state, tmp_path / "things.xml")
    assert notes == ()
    assert_same(model, state, found, order)
    shapes, other = model.shapes, found.model.shapes
    assert sorted(other.kind) == sorted(shapes.kind)
    for name in model.body_names[:3]:
        mine = np.flatnonzero(shapes.body == model.body_names.index(name))
        theirs = np.flatnonzero(other.body == found.model.body_names.index(name))
        np.testing.assert_allclose(other.surface[theirs, 1], shapes.surface[mine, 1])
        np.testing.assert_allclose(other.local_position[theirs], shapes.local_position[mine], atol=1e-7)
        np.testing.assert_allclose(np.sort(other.size[theirs]), np.sort(shapes.size[mine]), atol=1e-7)
    np.testing.assert_allclose(
        found.model.couplings.evaluate(found.model.joints, *_moved(found.model, found.state))[0], 0.0, atol=1e-12
    )
    assert len(other.excluded) == len(shapes.excluded)
    assert_same_start(model, state, found, order)


def test_tendons_come_back(tmp_path):
    """Limits with a constant term, a spring, one that is slack over a range, and a coupling of three joints."""
    b = ModelBuilder()
    base = None
    for k in range(4):
        link = b.body(f"link{k}", position=(0.2 * k + 0.1, 0, 0), mass=1.0 + k, inertia=(0.01, 0.02, 0.03))
        b.joint("revolute", base, link, position=(0.2 * k, 0, 0), axis=(0, 1, 0), name=f"j{k}")
        base = link
    b.tendon({"j0": (0.3, 1.0), "j1": -0.5}, limits=(-0.4, 0.8), damping=0.1, friction=0.05, name="string")
    b.tendon({"j1": 1.0, "j2": (0.1, 2.0), "j3": 1.0}, stiffness=7.0, rest=0.2, armature=0.02, name="band")
    b.tendon({"j2": 1.0, "j3": 1.0}, limits=(-0.1, 0.2), limit_softening=Spring(30.0), name="slack")
    b.coupling({"j0": (-0.05, 1.0), "j1": 1.0, "j2": 0.5}, name="three")
    b.tendon({"j2": 1.0, "j3": -1.0}, limits=(0.1, 0.1), name="two")
    model, state = b.build()
    values = np.array([0.02, 0.02, 0.02, -0.08])
    world = World(model, state)
    for k, value in enumerate(values):
        world.joint(f"j{k}").set(angle=float(value))
    state = world.state
    found, order, notes = again(model, state, tmp_path / "tendons.xml")
    assert notes == ()
    assert_same(model, state, found, order)
    names = {"three": "three", "two": "two", "string": "string", "band": "band", "slack": "slack.spring"}
    ours, theirs = model.couplings, found.model.couplings
    assert set(theirs.names) == set(names.values())
    lengths, others = (lengths_of(m, s)[0] for m, s in ((model, state), (found.model, found.state)))
    for one, name in names.items():
        i, j = ours.names.index(one), theirs.names.index(name)
        shift = others[j] - lengths[i]  # tendons there have no constant term, or, held, count from where they are
        for key in ("lower", "upper"):
            assert getattr(theirs, key)[j] == pytest.approx(getattr(ours, key)[i] + shift, abs=1e-12), one
        for key in ("damping", "friction", "spring", "armature"):
            assert getattr(theirs, key)[j] == getattr(ours, key)[i], one
        if ours.spring[i]:
            assert theirs.rest[j] == pytest.approx(ours.rest[i] + shift, abs=1e-12)
    np.testing.assert_array_equal(theirs.limit_softening[theirs.names.index("slack.spring")], Spring(30.0).plain)
    notes = delassus.save_model(tmp_path / "tendons.urdf", model, state)
    assert any("tendon (string, band, slack)" in text for text in notes)


def _moved(model, state):
    values, _ = coordinates_and_rates(model, state)
    _, rows = model.joints.coordinates(model.joints.frames(state.q, state.rotation))
    return values, rows, model.body_count


def test_parents_and_children_touch_where_they_do_here(tmp_path):
    """MuJoCo's filter of parents is off in what we write, and the reader heeds that."""
    for collide in (True, False):
        b = ModelBuilder()
        first = b.body("first", mass=1.0, shapes=[Sphere(0.1)])
        second = b.body("second", position=(0.15, 0, 0), mass=1.0, shapes=[Sphere(0.1)])
        b.joint("prismatic", first, second, axis=(1, 0, 0), collide=collide)
        model, state = b.build(check=False)
        path = tmp_path / f"{collide}.xml"
        found, _, _ = again(model, state, path)
        theirs = mujoco.MjModel.from_xml_path(str(path))
        data = mujoco.MjData(theirs)
        mujoco.mj_forward(theirs, data)
        assert (data.ncon > 0) is collide
        assert (len(found.model.shapes.excluded) == 0) is collide


def test_what_cannot_be_said_is_listed_by_name(tmp_path):
    b = ModelBuilder()
    b.fixed("ground", shapes=[Plane()], material=Material(0.9))
    a = b.body(
        "a", position=(0, 0, 1), mass=1.0, shapes=[Sphere(0.1)], material=Material(0.5, 0.4, softening=Softening())
    )
    c = b.body("c", position=(1, 0, 1), mass=1.0, shapes=[Sphere(0.1)])
    b.joint("distance", a, c, name="rod", position=(0, 0, 1), follower_position=(1, 0, 1))
    b.joint("revolute", None, a, name="crank", motor="imposed")
    b.joint("prismatic", None, c, name="guide")
    b.joint("prismatic", a, c, axis=(0, 1, 0), name="closing", follower_position=(0, 0, 1))
    model, state = b.build(check=False)
    listed = " | ".join(delassus.save_model(tmp_path / "a.xml", model, state))
    for word in (
        "distance joint (rod)",
        "imposed motion (crank)",
        "prismatic joint (closing)",
        "restitution (a)",
        "softening (a)",
        "friction of pairs",
    ):
        assert word in listed, word
    listed = " | ".join(delassus.save_model(tmp_path / "a.urdf", model, state))
    for word in ("distance joint (rod)", "drive (crank)", "loop (closing)", "plane (ground)", "friction"):
        assert word in listed, word


@pytest.mark.parametrize("ending", ["xml", "urdf"])
def test_a_file_that_is_there_is_kept(ending, tmp_path):
    model, state = things().build()
    path = tmp_path / f"kept.{ending}"
    path.write_text("mine")
    with pytest.raises(FileError, match=rf"kept\.{ending}: is there already.*overwrite=True"):
        delassus.save_model(path, model, state)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "mine"
    delassus.save_model(path, model, state, overwrite=True)
    delassus.save_model(path, model, state, overwrite=True)
    assert delassus.load_model(path).model.body_count == model.body_count


def test_files_that_cannot_be_written_are_one_sentence(tmp_path):
    model, state = things().build()
    with pytest.raises(FileError, match=r"no writer makes \.stl"):
        delassus.save_model(tmp_path / "a.stl", model, state)
    with pytest.raises(FileError, match="cannot be written"):
        delassus.save_model(tmp_path / "nowhere" / "a.xml", model, state)
    with pytest.raises(ProblemError, match="give a state"):
        delassus.save_model(tmp_path / "a.xml", model)


@pytest.mark.parametrize("name", ["arm7d", "quadruped", "mjcf/kuka_iiwa_14/scene.xml", "urdf/cartpole.urdf"])
def test_urdf_comes_back(name, robots_dir, tmp_path):
    """Masses, inertias, limits, and at the same coordinates the same poses; what is fixed to the world is the world."""
    if "/" in name:
        model, state = delassus.load_model(robots_dir / name)
    else:
        setup = SCENES[name].build()
        model, state = setup.model, setup.state
    path = tmp_path / "robot.urdf"
    delassus.save_model(path, model, state)
    found = delassus.load_model(path)
    values = dict(zip(model.joints.coordinate_names, state.coordinates(model)))
    qpos = [values[coordinate] for coordinate, _ in found.joints.values()]
    floats = [b for b in range(model.body_count) if b not in model.joints.bodies[:, 1]]
    for b in floats:  # one at most, whose own frame is its link's
        qpos = [*(state.q[b, :3] - state.rotation[b] @ model.centre[b]), *state.q[b, 3:], *qpos]
    at = found.state_of(np.array(qpos))
    assert found.model.body_count == model.body_count - model.joints.kinds.count("fixed")
    for k, body in enumerate(found.model.body_names):
        b = model.body_names.index(body)
        assert found.model.mass[k] == pytest.approx(model.mass[b], rel=1e-14)
        np.testing.assert_allclose(at.position[k], state.position[b], rtol=0, atol=SAME)
        mine, theirs = (
            R @ theta @ R.T
            for R, theta in ((state.rotation[b], model.inertia[b]), (at.rotation[k], found.model.inertia[k]))
        )
        np.testing.assert_allclose(theirs, mine, rtol=0, atol=SAME * np.abs(mine).max())
    for e, coordinate in enumerate(found.model.joints.coordinate_names):
        d = model.joints.coordinate_names.index(coordinate)
        for what in ("lower", "upper", "damping", "friction"):
            assert getattr(found.model.joints, what)[e] == pytest.approx(getattr(model.joints, what)[d]), (
                coordinate,
                what,
            )
