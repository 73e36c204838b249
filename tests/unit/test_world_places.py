"""Where a world says things are and how fast, against finite differences; and putting them elsewhere."""

import numpy as np
import pytest

from delassus import Box, Compound, Imposed, Mesh, ModelBuilder, Motor, Plane, Sphere, State, World
from delassus.dynamics.closure import joint_error
from delassus.errors import ProblemError
from delassus.integrators import moved
from delassus.joints import JOINTS
from delassus.spatial import quaternion_to_matrix, rotation_exp

MOVING = sorted(kind for kind, line in JOINTS.items() if line.coordinates)
EPS = 1e-6  # [s] of finite differences


def random_frame(rng):
    frame = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    frame[:, 2] *= np.sign(np.linalg.det(frame))
    return frame


def tree(seed, kinds=None, tied=True):
    """Joints of all kinds in a branching tree, bodies off their own frames, turned and moving."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder()
    kinds = rng.permutation(MOVING) if kinds is None else kinds
    names = [None if tied else "body-0"]
    if not tied:
        builder.body("body-0", position=(0, 0, 2), mass=1.0, inertia=(1, 2, 2.5))
    for k, kind in enumerate(kinds, start=1):
        at = rng.normal(size=3)
        builder.body(
            f"body-{k}",
            position=rng.normal(size=3),
            orientation=random_frame(rng),
            density=500.0,
            shapes=(Box(tuple(rng.uniform(0.1, 0.3, 3))), rng.uniform(-0.3, 0.3, 3)),
        )
        frame = random_frame(rng)
        other = at + 0.1 * frame[:, 0] if kind == "rolling" else at
        builder.joint(
            kind,
            names[rng.integers(len(names))],
            f"body-{k}",
            position=at,
            frame=frame,
            follower_position=other,
            name=f"{kind}-{k}",
        )
        names.append(f"body-{k}")
    world = World(*builder.build(check=False))
    for joint in world.joints:
        many = len(joint.coordinate_names)
        values = dict(zip(joint.coordinate_names, rng.uniform(-0.8, 0.8, many)))
        joint.set(**values)
        for word, angular in (("rate", True), ("speed", False)):
            count = sum((c.unit == "rad") == angular for c in joint.coordinates)
            if count:
                joint.set(**{word: rng.uniform(-2, 2, count)})
    return world


def after(world, seconds):
    """The world as it would be if everything went on as it does."""
    q = moved(world.state.q, world.state.u, seconds)
    other = world.copy()
    other.state = State(q, world.state.u, world.time, world.state.turns)
    return other


@pytest.mark.parametrize("seed", range(3))
def test_rates_are_the_changes_of_what_they_are_rates_of(seed):
    world = tree(seed)
    back, ahead = after(world, -EPS), after(world, EPS)
    for joint in world.joints:
        change = (ahead.joint(joint.name).values - back.joint(joint.name).values) / (2 * EPS)
        assert joint.rates == pytest.approx(change, abs=1e-7)
        assert max(abs(joint.rates)) > 1e-3
    for body in world.bodies:
        one, other = back.body(body.name), ahead.body(body.name)
        assert body.velocity == pytest.approx((other.position - one.position) / (2 * EPS), abs=1e-7)
        local = [0.3, -0.2, 0.5]
        speed = (other.point(local) - one.point(local)) / (2 * EPS)
        assert body.velocity_at(body.point(local)) == pytest.approx(speed, abs=1e-7)
        turned = (other.rotation - one.rotation) / (2 * EPS) @ body.rotation.T
        spin = [turned[2, 1], turned[0, 2], turned[1, 0]]
        assert body.angular_velocity == pytest.approx(spin, abs=1e-7)
        fall = (other.energy.potential - one.energy.potential) / (2 * EPS)
        assert body.momentum @ [0, 0, 9.81] == pytest.approx(fall, abs=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_energies_and_momenta_are_those_of_velocities(seed):
    world = tree(seed)
    total = 0.0
    for body in world.bodies:
        spin = body.inertia @ body.angular_velocity
        assert body.angular_momentum == pytest.approx(spin, rel=1e-12, abs=1e-14)
        speed = body.velocity_at(body.centre_of_mass)
        assert body.momentum == pytest.approx(body.mass * speed, rel=1e-12, abs=1e-14)
        assert body.energy.kinetic == pytest.approx(0.5 * (body.momentum @ speed + spin @ body.angular_velocity))
        total += body.energy.total
    assert world.energy.total == pytest.approx(total, rel=1e-12)


def test_poses_are_of_the_frames_that_were_placed():
    builder = ModelBuilder()
    turned = rotation_exp((0.1, 0.7, -0.4))
    builder.fixed("post", position=(4, 5, 6), orientation=turned, shapes=Box((1, 1, 1)))
    builder.body(
        "hammer",
        position=(1, 2, 3),
        orientation=turned,
        velocity=(3, 2, 1),
        angular_velocity=(1, 0, 2),
        density=1000.0,
        shapes=[(Box((0.1, 0.1, 1.0)), (0, 0, 0.5)), (Sphere(0.2), (0, 0, 1))],
    )
    world = World(*builder.build())
    hammer, post = world.body("hammer"), world.body("post")
    assert hammer.position == pytest.approx([1, 2, 3], abs=1e-14)
    assert hammer.velocity == pytest.approx([3, 2, 1], abs=1e-14)
    assert hammer.orientation == pytest.approx(turned)
    assert (post.position == [4, 5, 6]).all()
    assert post.rotation == pytest.approx(quaternion_to_matrix(turned))
    far = np.linalg.norm(hammer.centre_of_mass - hammer.position)
    assert 0.5 < far < 1.0
    start, spin = hammer.centre_of_mass, hammer.velocity_at(hammer.centre_of_mass)
    world.run(seconds=0.2)
    assert hammer.centre_of_mass == pytest.approx(start + 0.2 * spin + [0, 0, -0.5 * 9.81 * 0.04])
    assert np.linalg.norm(hammer.centre_of_mass - hammer.position) == pytest.approx(far)


def test_angles_count_turns():
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("rotor", mass=1.0, inertia=(1, 1, 1))
    builder.joint("revolute", None, "rotor", name="axle", motor=Imposed())
    world = World(*builder.build())
    axle = world.joint("axle")
    axle.target_rate = 30.0
    world.run(1000)
    assert axle.angle == pytest.approx(30.0, abs=1e-6)
    assert world.history("joint:axle.angle").values[-1] == axle.angle
    assert (np.diff(world.history("joint:axle.angle").values) > 0).all()
    axle.set(angle=-20.0, rate=1.0)
    assert (axle.angle, axle.rate) == (pytest.approx(-20.0, abs=1e-12), pytest.approx(1.0))
    assert axle.target == pytest.approx(30.0)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_what_is_set_is_read_and_nothing_else_moves(seed, tied):
    world, rng = tree(seed, tied=tied), np.random.default_rng(seed)
    for joint in world.joints:
        many = len(joint.coordinate_names)
        before = {other.name: (other.values, other.rates) for other in world.joints}
        wanted = rng.uniform(-0.9, 0.9, many)
        joint.set(**dict(zip(joint.coordinate_names, wanted)))
        assert joint.values == pytest.approx(wanted, abs=1e-10)
        for other in world.joints:
            values, rates = before[other.name]
            if other != joint:
                assert other.values == pytest.approx(values, abs=1e-10), (joint, other)
            assert other.rates == pytest.approx(rates, abs=1e-8), (joint, other)
        assert joint_error(world.model, world.state.q) < 1e-10
    world.run(3)
    assert world.report.drift < 1e-9


def test_several_coordinates_are_arrays_or_go_by_name():
    world = tree(0, kinds=["planar", "universal", "spherical", "cylindrical", "cartesian"])
    planar, universal = world.joint("planar-1"), world.joint("universal-2")
    assert planar.coordinate_names == ("x", "y", "angle")
    assert planar.position == pytest.approx([planar["x"].value, planar["y"].value])
    assert planar.angle == planar["angle"].value
    assert universal.angle == pytest.approx([universal["first"].value, universal["second"].value])
    assert world.joint("spherical-3").angle.shape == (3,)
    assert world.joint("cartesian-5").speed.shape == (3,)
    assert isinstance(world.joint("cylindrical-4").position, float)
    planar.effort = {"x": 2.0, "angle": 1.0}
    assert planar.effort == pytest.approx([2, 0, 1])
    planar.effort = [1, 2, 3]
    assert planar["y"].effort == 2.0
    planar["y"].effort = 7
    assert planar.effort == pytest.approx([1, 7, 3])
    world.step()
    assert planar.force == pytest.approx([1, 7])
    assert planar.torque == pytest.approx(3)
    with pytest.raises(ProblemError, match=r"give 3 numbers \(x, y, angle\)"):
        planar.effort = 1.0
    with pytest.raises(ProblemError, match="has no coordinate 'z'"):
        planar["z"]
    with pytest.raises(ProblemError, match="shorter than π"):
        world.joint("spherical-3").set(angle=(3, 1, 1))


def test_a_loop_follows_the_joint_that_is_set():
    world = World.from_scene("four-bar", speed=0.0)
    crank = world.joint("hinge-1")
    base, others = world.body("base").position, [world.joint(f"hinge-{k}") for k in (2, 3, 4)]
    for angle in (1.0, 4.0, 9.0, -2.0):
        crank.set(angle=angle, rate=0.5)
        assert crank.angle == pytest.approx(angle, abs=1e-9)
        assert crank.rate == pytest.approx(0.5, abs=1e-9)
        assert joint_error(world.model, world.state.q) < 1e-9
        assert world.body("base").position == pytest.approx(base, abs=1e-9)
        # the angles of a plane loop sum up to what they did
        assert crank.angle + sum(joint.angle for joint in others) == pytest.approx(0.0, abs=1e-8)
        back, ahead = after(world, -EPS), after(world, EPS)
        for joint in others:
            change = (ahead.joint(joint.name).angle - back.joint(joint.name).angle) / (2 * EPS)
            assert joint.rate == pytest.approx(change, abs=1e-6)
    world.run(5)
    assert world.report.ok
    before = world.state.hash
    with pytest.raises(ProblemError, match="does not close"):
        world.joint("hinge-3").set(angle=2.5)
    assert world.state.hash == before


def test_limits_are_not_crossed_by_setting():
    builder = ModelBuilder()
    builder.body("arm", mass=1.0, inertia=(1, 1, 1))
    builder.joint("revolute", None, "arm", name="hinge", limits=(-1.0, 2.0))
    world = World(*builder.build())
    assert world.joint("hinge").limits == (-1.0, 2.0)
    world.joint("hinge").set(angle=2.0)
    with pytest.raises(ProblemError, match=r"its limits are \[-1, 2\]"):
        world.joint("hinge").set(angle=2.1)


def test_bodies_are_put_with_all_that_hangs_on_them():
    world = tree(1, tied=False)
    base, angles = world.body("body-0"), [joint.values for joint in world.joints]
    rates, turned = [joint.rates for joint in world.joints], rotation_exp((0.4, -1.0, 2.0))
    base.set(position=(3, 2, 1), orientation=turned, velocity=(1, 2, 3), angular_velocity=(0, 1, 0))
    assert base.position == pytest.approx([3, 2, 1])
    assert base.orientation == pytest.approx(turned)
    assert base.velocity == pytest.approx([1, 2, 3])
    assert base.angular_velocity == pytest.approx([0, 1, 0])
    for joint, angle, rate in zip(world.joints, angles, rates):
        assert joint.values == pytest.approx(angle, abs=1e-9)
        assert joint.rates == pytest.approx(rate, abs=1e-8)
    base.set(velocity=(0, 0, 0))
    assert base.velocity == pytest.approx([0, 0, 0], abs=1e-12)
    assert base.angular_velocity == pytest.approx([0, 1, 0])


def test_contacts_are_where_the_bodies_are_at_the_end_of_the_step():
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane())
    builder.body("ball", position=(0.3, 0.1, 0.105), velocity=(2, 0, -1), mass=1.0, shapes=Sphere(0.1))
    world = World(*builder.build())
    assert world.contacts[0].status == "open"
    assert world.contacts[0].gap == pytest.approx(0.005)
    for _ in range(20):
        world.step()
        if len(world.contacts):
            contact, ball = world.contacts[0], world.body("ball").position
            assert contact.bodies == ("ball", "ground")
            assert contact.gap == pytest.approx(ball[2] - 0.1, abs=1e-12)
            assert contact.point[:2] == pytest.approx(ball[:2])
            assert contact.force_on("ball") @ [0, 0, 1] >= 0.0
            assert (contact.force_on("ball") == -contact.force_on("ground")).all()


def test_shapes_have_names():
    builder = ModelBuilder()
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
    builder.fixed("ground", shapes=Mesh(corners, [(0, 1, 2)]))
    two = Compound([(Sphere(0.1), (0, 0, 0)), (Sphere(0.1), (0.3, 0, 0))])
    builder.body("pair", density=1.0, position=(0.1, 0.1, 0.0999), shapes=two)
    builder.body("many", density=1.0, position=(5, 5, 5), shapes=[Box((1, 1, 1)), (Sphere(0.3), (1, 0, 0))])
    world = World(*builder.build())
    assert world.body("many").shapes == ("box-1", "sphere-2")
    assert world.body("pair").shapes == ("sphere",)
    assert world.body("ground").shapes == ("mesh",)
    world.step()
    assert world.contacts.touching[0].shapes == ("sphere", "mesh")
    text = str(world.contacts)
    assert text.splitlines()[0].startswith("bodies")
    assert "pair – ground" in text
    assert "stick" in text
    assert "2 stick" in repr(world.contacts)


def test_history_thins_out_where_it_grows_too_long(monkeypatch):
    from delassus.world import history

    monkeypatch.setattr(history, "MOST_BYTES", 0)
    world = World.from_scene("bouncing-ball")
    world.run(1000)
    series = world.history("body:ball.position")
    assert 128 <= len(series) <= 256
    assert series.values.shape == (len(series), 3)
    steps = np.diff(series.t)
    assert steps == pytest.approx(np.full(len(steps), steps[0]))
    assert series.t[0] == 0.0


def test_history_holds_what_the_handles_said_and_plots_it(tmp_path):
    world = tree(0)
    said = {name: [] for name in ("joint:planar.position", "joint:planar.rate", "body:body-1.velocity", "world.energy")}
    planar = next(joint for joint in world.joints if joint.kind == "planar")

    def look(world):
        said["joint:planar.position"].append(planar.position)
        said["joint:planar.rate"].append(planar.rate)
        said["body:body-1.velocity"].append(world.body("body-1").velocity)
        said["world.energy"].append(world.energy.total)

    world.reset()
    world.run(10, control=look)
    for name, values in said.items():
        series = world.history(name.replace("planar", planar.name))
        assert len(series) == 11
        assert np.asarray(series)[:-1] == pytest.approx(np.array(values), rel=1e-12, abs=1e-13)
    axes = world.history("world.energy").plot()
    assert axes.get_ylabel() == "world.energy [J]"
    axes.figure.savefig(tmp_path / "energy.png")
    assert world.history(f"joint:{planar.name}.rate").unit == "rad/s"


def test_what_is_watched_is_noted_after_every_step():
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane())
    builder.body("box", position=(0, 0, 0.1), mass=2.0, shapes=Box((0.2, 0.2, 0.2)))
    builder.body("arm", position=(1, 0, 1), mass=1.0, inertia=(1, 1, 1))
    builder.joint("revolute", None, "arm", position=(2, 0, 1), axis=(0, 1, 0), name="hinge", motor=Motor(10.0, 1.0))
    world = World(*builder.build())
    world.watch("joint:hinge.torque")
    world.watch("joint:hinge.reaction")
    world.watch("body:box.contact_force")
    world.watch("twice", lambda world: 2 * world.time)
    said = []
    for _ in range(10):
        world.step()
        said.append(world.joint("hinge").torque)
    there = world.snapshot()
    world.run(5)
    assert world.history("joint:hinge.torque").values[:10] == pytest.approx(said, abs=0)
    assert world.history("joint:hinge.torque").unit == "N m"
    assert world.history("joint:hinge.reaction").values.shape == (15, 6)
    assert world.history("body:box.contact_force").values[-1] == pytest.approx([0, 0, 2 * 9.81], abs=1e-4)
    assert world.history("twice").values == pytest.approx(2 * world.history("twice").t)
    world.restore(there)
    assert len(world.history("twice")) == 10
    assert len(world.copy().history("twice")) == 0
    world.reset()
    assert len(world.history("twice")) == 0
    for name, complaint in (
        ("joint:hinge.torqe", "did you mean 'torque'"),
        ("joint:hing.torque", "did you mean 'hinge'"),
        ("joint:hinge.force", "say torque"),
        ("mine", "give a function"),
    ):
        with pytest.raises(ProblemError, match=complaint):
            world.watch(name)
    with pytest.raises(ProblemError, match=r"world.watch\('body:arm.contact_force'\)"):
        world.history("body:arm.contact_force")
