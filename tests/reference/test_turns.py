"""Joint angles count turns: limits, drives and readings beyond half a turn, at any speed."""

import numpy as np
import pytest

from delassus.builder import ModelBuilder, Motor
from delassus.dynamics import Inputs
from delassus.errors import ProblemError
from delassus.model.state import State
from delassus.shapes import Box
from delassus.simulation import StepSettings, step
from delassus.simulation.memory import Memory
from delassus.spatial import quaternion_to_matrix, rotation_exp

FULL = 2.0 * np.pi
# kind of joint, its counted coordinate, the axis it turns about
COUNTED = [("revolute", 0, 2), ("cylindrical", 1, 2), ("planar", 2, 2), ("universal", 0, 0), ("universal", 1, 1)]


def turned_by(vector):
    return quaternion_to_matrix(rotation_exp(vector))


def rotor(kind="revolute", speed=0.0, axis=2, angle=0.0, **options):
    """A ball held by one joint, spinning about an axis of the joint's frame; no gravity."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    e = np.eye(3)[axis]
    ball = builder.body(
        "ball", mass=1.0, inertia=(1, 1, 1), orientation=rotation_exp(angle * e), angular_velocity=speed * e
    )
    builder.joint(kind, None, ball, frame=np.eye(3), follower_frame=turned_by(angle * e), name="hinge", **options)
    return builder.build()


def turned(model, state, steps, memory=None, settings=None, **inputs):
    """States and reports of some steps."""
    settings = settings or StepSettings(h=1e-2)
    found = [(state, None)]
    for _ in range(steps):
        now = Inputs.of(model, **inputs)
        found.append(step(model, found[-1][0], now, settings, memory))
    return [s for s, _ in found], [r for _, r in found[1:]]


@pytest.mark.parametrize("speed", [0.5, 30.0])
@pytest.mark.parametrize("limits", [(-0.5, np.inf), (-np.inf, 0.5)])
def test_hinge_limits_on_one_side_leave_the_other_free(limits, speed):
    """Several turns away from the only stop: nothing happens, where the stop used to fire at half a turn and bring a
    rotor of 0.5 rad/s to 1 rad/s."""
    sign = 1.0 if np.isinf(limits[1]) else -1.0
    model, state = rotor(speed=sign * speed, limits=limits)
    h = 0.3 / speed
    states, reports = turned(model, state, 210, Memory(), StepSettings(h=h))
    assert [r.energy[0] for r in reports] == pytest.approx(len(reports) * [0.5 * speed**2], rel=1e-9)
    assert states[-1].coordinates(model) == pytest.approx([sign * 63.0], rel=1e-9)
    assert not any(r.rows.cone.unilateral for r in reports)


@pytest.mark.parametrize("remember", [True, False])
@pytest.mark.parametrize(("kind", "which", "axis"), COUNTED)
def test_limits_stop_after_several_turns(kind, which, axis, remember):
    """20 rad are three turns and a bit: the stop is met there, not at 20 − 6π, with or without a memory."""
    limits = [None] * 3
    limits[which] = (-20.0, 20.0)
    model, state = rotor(kind, 12.0, axis, limits=limits[: {"revolute": 1, "planar": 3}.get(kind, 2)])
    states, _ = turned(model, state, 250, Memory() if remember else None)
    angle = np.array([s.coordinates(model)[which] for s in states])
    assert angle[100] == pytest.approx(12.0, rel=1e-6)
    assert angle.max() == pytest.approx(20.0, abs=1e-6)
    assert angle[-1] == pytest.approx(20.0, abs=1e-6)
    assert np.abs(states[-1].u).max() < 1e-9


@pytest.mark.parametrize("motor", [Motor(50.0, 15.0), "imposed"])
@pytest.mark.parametrize("goal", [10.0, -25.0])
def test_drive_told_ten_radians_turns_ten_radians(motor, goal):
    model, state = rotor(motor=motor)
    states, reports = turned(model, state, 500, target=[goal])
    assert states[-1].coordinates(model) == pytest.approx([goal], abs=1e-6)
    assert reports[-1].rows.coordinates == pytest.approx([goal], abs=1e-6)
    assert states[-1].turns.tolist() == [round(goal / FULL)]


@pytest.mark.parametrize("integrator", ["moreau", "euler"])
@pytest.mark.parametrize("speed", [1.0, 100.0, 314.0, 628.0, 1e4, -7777.0])
@pytest.mark.parametrize(("kind", "which", "axis"), COUNTED)
def test_turns_are_counted_at_any_speed(kind, which, axis, speed, integrator):
    """Up to sixteen turns within a step."""
    model, state = rotor(kind, speed, axis)
    states, _ = turned(model, state, 20, settings=StepSettings(h=1e-2, integrator=integrator))
    assert states[-1].coordinates(model)[which] == pytest.approx(0.2 * speed, rel=1e-9)


def test_limits_are_not_jumped_over_at_high_speed():
    """Ten radians a step: the stop at 33 rad enters in time."""
    model, state = rotor(speed=1000.0, limits=(-1.0, 33.0))
    states, _ = turned(model, state, 20)
    angle = np.array([s.coordinates(model)[0] for s in states])
    assert angle.max() < 33.0 + 1e-6
    assert angle[-1] == pytest.approx(33.0, abs=1e-3)


def test_angle_between_two_spinning_bodies_counts_their_difference():
    """Both tumble freely with the hinge between them; the angle is the integral of the relative speed."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    first = builder.body(mass=1.0, inertia=(1, 2, 2.5), angular_velocity=(0.5, 0.3, 4.0))
    second = builder.body(mass=1.0, inertia=(0.5, 0.6, 1), angular_velocity=(0.5, 0.3, -15.0))
    builder.joint("revolute", first, second, axis=(0, 0, 1), name="hinge")
    model, state = builder.build()
    states, reports = turned(model, state, 400, settings=StepSettings(h=5e-3))
    rate = [r.rows.rates[0] @ (a.u + b.u).ravel() / 2 for a, b, r in zip(states, states[1:], reports)]
    angle = np.array([s.coordinates(model)[0] for s in states])
    assert abs(angle[-1]) > 5 * FULL
    assert np.diff(angle) == pytest.approx(5e-3 * np.array(rate), abs=2e-4)


@pytest.mark.parametrize(
    ("angle", "limits", "start"),
    [
        (-3.0, (3.0, 9.0), FULL - 3.0),
        (3.0, (-9.0, -3.0), 3.0 - FULL),
        (0.5, (20.0, 30.0), 0.5 + 4 * FULL),
        (0.5, (6.0, np.inf), 0.5 + FULL),
        (-1e-9, (0.0, 7.0), 0.0),
        (1.0, (-10.0, 10.0), 1.0),
    ],
)
def test_angles_start_within_their_limits(angle, limits, start):
    model, state = rotor(angle=angle, limits=limits)
    assert state.coordinates(model) == pytest.approx([start], abs=1e-8)
    states, _ = turned(model, state, 3)
    assert np.abs(states[-1].u).max() < 1e-7


def test_start_outside_every_branch_warns():
    with pytest.warns(UserWarning, match=r"hinge.angle starts at 0.5, outside its limits \[1, 2\]") as caught:
        rotor(angle=0.5, limits=(1.0, 2.0))
    assert caught[0].filename == __file__, "the warning points at the call"


def test_states_keep_turns_and_hash_them():
    model, state = rotor(speed=100.0)
    after = turned(model, state, 20)[0][-1]
    assert after.turns.tolist() == [3]
    assert after.at(0.0).turns.tolist() == [3]
    plain = State(after.q, after.u, after.t)
    assert plain.hash != after.hash
    assert State(after.q, after.u, after.t, [0]).hash == plain.hash
    assert plain.coordinates(model) == pytest.approx(after.coordinates(model) - 3 * FULL)
    with pytest.raises(ProblemError, match="whole number"):
        State(after.q, after.u, after.t, [0.5])
    with pytest.raises(ProblemError, match="state.turns has 2 entries, the model has 1"):
        step(model, State(after.q, after.u, after.t, [0, 1]))


def test_rotation_vectors_are_not_counted_and_their_limits_stay_clear_of_the_jump():
    limits = [(-1.0, 1.0), (-1.0, 1.0), (-0.5, 0.5)]
    rotor("spherical", limits=limits)
    for wrong in ([(-0.5, np.inf), None, None], [(-2.0, 2.0), (-2.0, 2.0), (-2.0, 2.0)], [(-4.0, 4.0), None, None]):
        with pytest.raises(ProblemError, match="must keep its rotation vector shorter than π"):
            rotor("spherical", limits=wrong)


def test_motor_of_a_spherical_joint_goes_the_short_way_through_half_a_turn():
    """From 3 rad about a skew axis to 3.4 rad, which is the same as −2.88: no turn back through zero."""
    n = np.array([2.0, -1.0, 2.0]) / 3.0
    builder = ModelBuilder(gravity=(0, 0, 0))
    ball = builder.body("ball", mass=1.0, inertia=(1, 1, 1), orientation=rotation_exp(3.0 * n))
    builder.joint("spherical", None, ball, frame=np.eye(3), follower_frame=turned_by(3.0 * n), motor=Motor(50.0, 15.0))
    model, state = builder.build()
    states, _ = turned(model, state, 300, target=3.4 * n)
    angles = [2.0 * np.arccos(min(1.0, abs(s.quaternion[0, 0]))) for s in states]
    assert min(angles) > 2.8, "it did not pass through zero"
    assert states[-1].coordinates(model) == pytest.approx((3.4 - FULL) * n, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_angles_of_random_chains_are_continuous(seed):
    """Four bodies flung about on random joints: every coordinate moves by the integral of its rate, never by a turn
    more or less, and is its principal value plus whole turns."""
    rng = np.random.default_rng(seed)
    builder, before = ModelBuilder(gravity=(0, 0, 0)), None
    kinds = ["revolute", "cylindrical", "planar", "universal"]
    for kind in rng.permutation(kinds):
        spin = rng.normal(size=3) * 40.0
        now = builder.body(mass=1.0, inertia=rng.uniform(0.6, 1.0, 3), angular_velocity=spin)
        builder.joint(kind, before, now, axis=rng.normal(size=3))
        before = now
    model, state = builder.build(assemble=True)
    settings = StepSettings(h=2e-3)
    states, reports = turned(model, state, 150, settings=settings)
    values = np.array([s.coordinates(model) for s in states])
    frames = [model.joints.frames(s.position, s.rotation) for s in states]
    principal = np.array([model.joints.coordinates(f)[0] for f in frames])
    pairs = model.joints.bodies[model.joints.coordinate_joint]
    twists = np.array([np.concatenate([s.u, np.zeros((1, 6))])[pairs].reshape(-1, 12) for s in states])
    rows = np.array([model.joints.coordinates(f)[1] for f in frames])
    rate = np.einsum("kdi,kdi->kd", rows, twists)
    turns = (values - principal) / FULL
    assert turns == pytest.approx(np.rint(turns), abs=1e-9)
    assert np.abs(np.rint(turns)).max() >= 1
    smooth = settings.h * 0.5 * (rate[:-1] + rate[1:])
    # the first step brings velocities that the joints forbid to ones they allow
    assert np.abs(np.diff(values, axis=0) - smooth)[1:].max() < 0.1


@pytest.mark.parametrize("speed", [200.0, 1000.0, 2300.0])
def test_blade_that_is_stopped_on_its_way_makes_no_turn(speed):
    """A blade hits a post after a tenth of a turn although it would make several in the step."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.body("blade", mass=1.0, shapes=Box((1.0, 0.02, 0.1)), angular_velocity=(0, 0, speed))
    builder.fixed("post", position=(0.4 * np.cos(0.6), 0.4 * np.sin(0.6), 0.0), shapes=Box((0.05, 0.05, 1.0)))
    builder.joint("revolute", None, "blade", axis=(0, 0, 1), name="hinge")
    model, state = builder.build()
    states, _ = turned(model, state, 3)
    assert states[-1].coordinates(model)[0] == pytest.approx(0.5, abs=0.15)
