"""Forces that a world reports balance: contacts, reactions, weight, pushes, changes of momentum, at every step."""

import numpy as np
import pytest

from delassus import Box, Imposed, Material, ModelBuilder, Motor, Plane, Sphere, StepSettings, World
from delassus.joints import JOINTS

G = np.array([0.0, 0.0, -9.81])
KINDS = sorted(JOINTS)


def heap(seed, *, count=6, settings=None):
    """Spheres and boxes of random sizes thrown together over the ground, some of them off their own frames."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane(), material=0.4)
    builder.fixed("wall", shapes=Box((0.2, 4, 1)), position=(0.9, 0, 0.5), material=0.2)
    for k in range(count):
        size = rng.uniform(0.08, 0.16)
        shape = Sphere(size) if k % 2 else Box(tuple(rng.uniform(0.1, 0.3, 3)))
        builder.body(
            f"body-{k}",
            position=(*rng.uniform(-0.3, 0.3, 2), 0.2 + 0.3 * k),
            velocity=rng.uniform(-1, 1, 3),
            angular_velocity=rng.uniform(-3, 3, 3),
            density=rng.uniform(200, 2000),
            shapes=(shape, rng.uniform(-0.2, 0.2, 3)),
            material=rng.uniform(0.1, 0.9),
        )
    return World(*builder.build(), settings)


@pytest.mark.parametrize("seed", range(3))
def test_contacts_weight_and_change_of_momentum_balance_at_every_step(seed):
    world, touched = heap(seed), 0
    bodies = [body for body in world.bodies if not body.is_fixed]
    world.run(150)
    for k in range(120):
        if k == 60:
            bodies[0].push((20.0, 5.0, 3.0), seconds=0.0203)
        before = np.array([body.momentum for body in bodies])
        pushed = sum((p.share(1e-3) * p.force for p in world._acting.pushes), np.zeros(3))
        world.step()
        table = world.contacts
        touched += len(table.touching)
        for body, p in zip(bodies, before):
            force = table.force_on(body.name) + body.mass * G + (pushed if body is bodies[0] else 0.0)
            scale = body.mass * 9.81 + np.abs(table.force).sum() + np.abs(p).max() / 1e-3
            assert (body.momentum - p) / 1e-3 == pytest.approx(force, abs=1e-12 * scale)
            assert body.contact_force == pytest.approx(table.force_on(body.name), abs=1e-300)
    assert touched > 50


def test_moments_of_contacts_turn_bodies():
    """Of spheres and cubes, which have no gyroscopic moment: L changes by what contacts do about the centre of mass."""
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane(), material=0.8)
    for k in range(4):
        shape = Sphere(0.1) if k % 2 else Box((0.2, 0.2, 0.2))
        builder.body(
            f"b{k}",
            position=(0.25 * k, 0.05 * k, 0.2 + 0.02 * k),
            velocity=(1, -0.5, -1),
            angular_velocity=(2, 5, 1),
            density=700.0,
            shapes=shape,
        )
    world, worst = World(*builder.build()), 0.0
    bodies = [body for body in world.bodies if not body.is_fixed]
    for _ in range(200):
        before = [body.inertia[0, 0] * body.angular_velocity for body in bodies]
        world.step()
        at, table = world.report.at, world.contacts
        for k, body in enumerate(bodies):
            change = (body.inertia[0, 0] * body.angular_velocity - before[k]) / 1e-3
            moment = table.moment_on(body.name, at[k, :3])
            worst = max(worst, np.abs(moment).max())
            assert change == pytest.approx(moment, abs=1e-11 * (1.0 + np.abs(before[k]).max() / 1e-3))
    assert worst > 1.0


def test_at_rest_contacts_carry_the_weight():
    """To 1e-9 with tol 1e-11, each of three boxes on top of each other, and their forces are opposite."""
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane())
    for k in range(3):
        builder.body(f"box-{k}", position=(0.01 * k, 0, 0.1 + 0.2 * k), density=800.0, shapes=Box((0.2, 0.2, 0.2)))
    world = World(*builder.build(), StepSettings(tol=1e-11))
    world.run(600)
    weight = world.body("box-0").mass * 9.81
    for k in range(3):
        below = world.contacts.of(f"box-{k}", f"box-{k - 1}" if k else "ground").force_on(f"box-{k}")
        assert below == pytest.approx([0, 0, (3 - k) * weight], abs=1e-9 * 3 * weight)
        assert world.body(f"box-{k}").contact_force == pytest.approx([0, 0, weight], abs=3e-9 * weight)
    assert set(world.contacts.touching.status) == {"stick"}


def chain(seed, base="ground"):
    """Bodies on a string of joints of all kinds, above the ground, and falling on it unless tied."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane(), material=0.5)
    last = base
    for k, kind in enumerate(rng.permutation(KINDS)):
        at = np.array([0.3 * k, 0.0, 0.4])
        frame = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        frame[:, 2] *= np.sign(np.linalg.det(frame))
        builder.body(
            f"link-{k}",
            position=at + rng.uniform(-0.05, 0.05, 3),
            density=900.0,
            shapes=(Box(tuple(rng.uniform(0.08, 0.2, 3))), rng.uniform(-0.05, 0.05, 3)),
            material=0.5,
        )
        if last is not None:
            apart = {"distance": np.array([0.1, 0, 0]), "rolling": 0.1 * frame[:, 0]}
            options = {"follower_position": at + apart[kind]} if kind in apart else {}
            builder.joint(kind, last, f"link-{k}", position=at, frame=frame, name=kind, **options)
        last = f"link-{k}"
    return World(*builder.build(check=False))


@pytest.mark.parametrize("seed", range(2))
def test_mechanisms_that_hang_on_nothing_change_momentum_by_contacts_and_weight_alone(seed):
    world, touched = chain(seed, base=None), 0
    bodies = [body for body in world.bodies if not body.is_fixed]
    world.run(220)
    for _ in range(60):
        before = sum(body.momentum for body in bodies)
        world.step()
        table = world.contacts
        outside = sum(body.mass for body in bodies) * G - table.force_on("ground")
        touched += len(table.of("ground").touching)
        change = (sum(body.momentum for body in bodies) - before) / 1e-3
        scale = np.abs(outside).max() + np.abs(table.force).sum() + np.abs(before).max() / 1e-3
        assert change == pytest.approx(outside, abs=1e-12 * scale)
    assert touched > 20


@pytest.mark.parametrize("seed", range(2))
def test_reactions_of_joints_balance_on_every_body(seed):
    """Those of the rows and of closing them; drives, limits and damping would be on top."""
    world, worst = chain(seed), 0.0
    for _ in range(60):
        before = {body.name: body.momentum for body in world.bodies if not body.is_fixed}
        world.step()
        table, reactions = world.contacts, {joint.name: joint.reaction for joint in world.joints}
        scale = sum(np.abs(r.force).max() for r in reactions.values()) + np.abs(table.force).sum() + 1.0
        for name, p in before.items():
            body = world.body(name)
            force = table.force_on(name) + body.mass * G
            for joint in body.joints:
                force = force + reactions[joint.name].force * (1.0 if joint.follower == name else -1.0)
            worst = max(worst, np.abs((body.momentum - p) / 1e-3 - force).max() / scale)
    assert worst < 1e-12


def cantilever(kind, **options):
    builder = ModelBuilder()
    builder.body("beam", position=(1, 2, 3), mass=4.0, shapes=(Box((1.0, 0.1, 0.1)), (0.5, 0, 0)))
    builder.joint(kind, None, "beam", position=(1, 2, 3), axis=(0, 1, 0), name="root", **options)
    return World(*builder.build())


def test_a_cantilever_is_held_by_its_weight_and_the_moment_of_it():
    world = cantilever("fixed")
    world.run(50)
    force, moment = world.joint("root").reaction
    assert force == pytest.approx([0, 0, 4 * 9.81], abs=1e-7)
    assert moment == pytest.approx([0, -0.5 * 4 * 9.81, 0], abs=1e-7)


def test_the_reaction_of_a_pendulum_is_that_of_the_books():
    """m (g cos φ + l φ'²) along the rod for a point mass; a rod's centre swings with l = 1/2 and inertia of its own."""
    world = cantilever("revolute")
    hinge = world.joint("root")
    hinge.set(angle=np.pi / 2 - 0.7)  # from hanging
    world.run(200)
    angle, rate = np.pi / 2 - hinge.angle, hinge.rate
    force, moment = hinge.reaction
    inertia = 4.0 * (1.0 + 0.1**2) / 12 + 4.0 * 0.25
    along = np.array([np.cos(hinge.angle), 0.0, -np.sin(hinge.angle)])
    swing = -4 * 9.81 * 0.5 * np.sin(angle) / inertia
    expected = 4.0 * (-0.5 * rate**2 * along - 0.5 * swing * np.cross([0, 1, 0], along)) - 4.0 * G
    assert force == pytest.approx(expected, rel=3e-3)  # the mean over the step, half a step before
    assert moment @ [0, 1, 0] == pytest.approx(0.0, abs=1e-9)


def test_a_motor_at_rest_holds_with_its_stiffness():
    world = cantilever("revolute", motor=Motor(200.0, 30.0))
    world.settings = StepSettings(tol=1e-11)
    hinge = world.joint("root")
    hinge.target = -0.3
    world.run(2500)
    assert hinge.rate == pytest.approx(0.0, abs=1e-9)
    assert hinge.torque == pytest.approx(200.0 * (-0.3 - hinge.angle), rel=1e-9)
    assert hinge.torque == pytest.approx(-0.5 * 4 * 9.81 * np.cos(hinge.angle), rel=1e-7)


def test_the_torque_of_a_motor_follows_its_law_to_second_order():
    """The mean of k (x* − x) + c (v* − v) at both ends of each step; a quarter of the difference with half the step."""
    errors = []
    for h in (2e-3, 1e-3):
        world = cantilever("revolute", motor=Motor(50.0, 3.0))
        world.settings = StepSettings(h=h)
        hinge, worst = world.joint("root"), 0.0
        hinge.target, hinge.target_rate = 0.2, 0.4

        def law(hinge=hinge):
            return 50.0 * (hinge.target - hinge.angle) + 3.0 * (hinge.target_rate - hinge.rate)

        while world.time < 0.4:
            before = law()
            world.step()
            worst = max(worst, abs(hinge.torque - 0.5 * (before + law())))
        errors.append(worst)
    assert errors[0] < 2e-3 * 50.0
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


def test_efforts_add_to_what_a_motor_does_and_motors_end_at_their_limits():
    world = cantilever("revolute", motor=Motor(200.0, 10.0, effort=12.0))
    hinge = world.joint("root")
    hinge.target = -2.0
    world.run(20)
    assert hinge.torque == pytest.approx(-12.0, rel=1e-12)
    hinge.effort = -5.0
    world.step()
    assert hinge.torque == pytest.approx(-17.0, rel=1e-12)
    passive = cantilever("revolute")
    passive.joint("root").effort = 3.0
    assert passive.joint("root").torque == 0.0  # nothing has happened yet
    passive.step()
    assert passive.joint("root").torque == 3.0


def test_what_prescribed_motion_needs_is_gravity_and_acceleration():
    world = cantilever("revolute", motor=Imposed())
    hinge = world.joint("root")
    hinge.target_rate = 0.5
    world.run(400)
    assert hinge.angle == pytest.approx(0.2, abs=1e-9)
    middle = hinge.angle - 0.5 * 0.5e-3
    assert hinge.torque == pytest.approx(-0.5 * 4 * 9.81 * np.cos(middle), rel=1e-6)


def test_friction_of_what_slides_is_mu_times_the_normal_force_against_the_motion():
    world = World.from_scene("sliding-block")
    world.run(100)
    table = world.contacts.touching
    assert set(table.status) == {"slip"}
    for row in table:
        along = row.force - row.normal_force * row.normal
        assert np.linalg.norm(along) == pytest.approx(row.mu * row.normal_force, rel=1e-5)
        assert along @ row.slip == pytest.approx(-np.linalg.norm(along) * np.linalg.norm(row.slip), rel=1e-6)


def test_what_hit_and_is_gone_by_the_end_of_the_step_is_in_the_table():
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane(), material=Material(0.3, restitution=1.0))
    builder.body("ball", position=(0, 0, 0.15), velocity=(0, 0, -40), mass=2.0, shapes=Sphere(0.1))
    world = World(*builder.build())
    ball = world.body("ball")
    while ball.velocity[2] < 0.0:
        before = ball.momentum
        world.step()
    assert ball.position[2] - 0.1 > 0.005 * 1.01  # beyond the reach of contacts
    (contact,) = world.contacts
    assert contact.force_on("ball") == pytest.approx((ball.momentum - before) / 1e-3 - 2.0 * G, rel=1e-12)
    assert contact.status != "open"
    world.step()
    assert len(world.contacts) == 0


@pytest.mark.parametrize("kind", ["prismatic", "cylindrical"])
def test_a_driven_slider_is_moved_by_motor_weight_and_reaction(kind):
    """On a rail that is not along any axis, with a motor, an effort, and a push off its centre."""
    axis = np.array([1.0, 2.0, 2.0]) / 3.0
    builder = ModelBuilder()
    builder.body("cart", position=(1, 2, 3), mass=3.0, shapes=(Box((0.3, 0.2, 0.1)), (0.1, 0, 0)))
    builder.joint(
        kind, None, "cart", axis=axis, name="rail", motor=[Motor(80.0, 4.0), None][: 1 + (kind != "prismatic")]
    )
    world = World(*builder.build())
    rail, cart = world.joint("rail"), world.body("cart")
    rail.target, rail.effort = ({"position": 0.4}, {"position": -7.0})
    cart.push((0, 4, 0), at=(1, 2.1, 3), seconds=0.05)
    for _ in range(100):
        pushed = sum((p.share(1e-3) * p.force for p in world._acting.pushes), np.zeros(3))
        before = cart.momentum
        world.step()
        force = 3.0 * G + pushed + rail.reaction.force + rail.force * axis
        assert (cart.momentum - before) / 1e-3 == pytest.approx(force, abs=1e-9 * 100)
    assert abs(rail.force) > 5.0


def test_motors_of_hinges_push_no_body_anywhere():
    """Torques are pairs: forces on every body balance without them, and reactions carry what they cause."""
    world = chain(3)
    for joint in world.joints:
        for c in joint.coordinates:
            c.effort = 2.0 if c.unit == "rad" else 0.0
    for _ in range(40):
        before = {body.name: body.momentum for body in world.bodies if not body.is_fixed}
        world.step()
        table, reactions = world.contacts, {joint.name: joint.reaction for joint in world.joints}
        scale = sum(np.abs(r.force).max() for r in reactions.values()) + np.abs(table.force).sum() + 1.0
        for name, p in before.items():
            body = world.body(name)
            force = table.force_on(name) + body.mass * G
            for joint in body.joints:
                force = force + reactions[joint.name].force * (1.0 if joint.follower == name else -1.0)
            assert (body.momentum - p) / 1e-3 == pytest.approx(force, abs=1e-12 * scale)


def test_a_world_of_nothing_moves_in_time_alone():
    world = World(*ModelBuilder().build())
    world.run(3)
    assert world.time == pytest.approx(3e-3)
    assert (len(world.contacts), world.energy.total, world.joints) == (0, 0.0, ())
    assert world.history("world.energy").values == pytest.approx(np.zeros(4))
