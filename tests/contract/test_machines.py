"""The machines of Tsounis et al. 2025, Table II: joints with limits, hulls, bodies that collide with each other and
with the ground, and a motion of their own."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from delassus.collision import detect_at
from delassus.collision.layout import CONVEX
from delassus.scenes import SCENES
from delassus.scenes.machines.legs import Leg, Walk

FIGURES = ("misha", "walker", "gazelle", "ironman")
WALKING = ("quadruped", "bdx", "lima", "walker")
MACHINES = ("arm7d", "quadruped", "bdx", "lima", *FIGURES)
TIMES = (2.04, 3.41)  # s: between beginning and end of a foot's way through the air, where rates have kinks
LEG = Leg("thigh", "shin", (0.1, -0.4), (-0.12, -0.38), 0.3, ankle="ankle", roll="roll", ankle_roll="foot")


@pytest.fixture(scope="module", params=MACHINES)
def machine(request):
    return request.param, SCENES[request.param].build()


def test_joints_have_limits(machine):
    """All but the ends of push rods, which their loop limits."""
    joints = machine[1].model.joints
    free = [
        name.split(".")[0]
        for name, lower, upper in zip(joints.coordinate_names, joints.lower, joints.upper)
        if not (-math.pi < lower < 0.0 < upper < math.pi)
    ]
    assert all(name.endswith(("-near", "-far")) for name in free), free


def test_trunk_and_limbs_are_hulls_and_push_rods_run_under_plates(machine):
    name, setup = machine
    shapes = setup.model.shapes
    of_hulls = set(shapes.body[shapes.kind == CONVEX].tolist())
    assert 0 in of_hulls
    assert len(of_hulls) >= 4
    if name in FIGURES:
        assert np.bincount(shapes.body[shapes.body >= 0]).max() > 1


def test_bodies_that_no_joint_connects_collide(machine):
    """Each pair three joints or more apart touches when one is put where the other is."""
    _, setup = machine
    model, q = setup.model, setup.state.q
    near = np.eye(model.body_count, dtype=bool)
    for a, b in model.joints.bodies[model.joints.bodies[:, 0] >= 0]:
        near[a, b] = near[b, a] = True
    near = near @ near
    pairs = [pair for pair in combinations(range(model.body_count), 2) if not near[pair]]
    assert pairs
    for a, b in pairs[:: max(1, len(pairs) // 40)]:
        moved = q.copy()
        moved[b, :3] = q[a, :3]
        found = detect_at(model.shapes, moved).bodies
        assert (np.sort(found, axis=1) == (a, b)).all(axis=1).any(), (model.body_names[a], model.body_names[b])


def test_nothing_overlaps_at_the_start_and_soles_are_on_the_ground(machine):
    name, setup = machine
    contacts = detect_at(setup.model.shapes, setup.state.q)
    assert (contacts.gap > -1e-9).all()
    if name in WALKING:
        assert np.abs(contacts.gap[(contacts.bodies < 0).any(axis=1)]).min() < 1e-9


def test_driven_joints_are_told_to_move_and_to_stay_within_their_limits(machine):
    """All but the elbow of the arm, which is told to press on its stop."""
    _, setup = machine
    targets = np.array([setup.inputs(t, setup.state).target for t in np.linspace(0.0, 6.0, 241)])
    rates = np.array([setup.inputs(t, setup.state).target_rate for t in TIMES])
    assert (np.ptp(targets, axis=0) > 0.05).sum() >= 4
    joints = setup.model.joints
    outside = (targets < joints.lower).any(axis=0) | (targets > joints.upper).any(axis=0)
    assert [n for n, bad in zip(joints.coordinate_names, outside) if bad] in ([], ["link-4.angle"])
    h = 1e-4
    for t, rate in zip(TIMES, rates):
        ahead, behind = (setup.inputs(t + s * h, setup.state).target for s in (1, -1))
        assert rate == pytest.approx((ahead - behind) / (2 * h), abs=1e-4)


@pytest.mark.parametrize("name", WALKING)
def test_it_stands_when_told_to(name):
    setup = SCENES[name].build(speed=0.0, wave=0.0)
    run = setup.run(steps=120)
    assert all(check.passed for check in SCENES[name].check(setup, run))
    assert np.abs(run.q[-1, 0, :2] - run.q[0, 0, :2]).max() < 0.01


def test_feet_go_back_at_the_speed_of_walking_and_come_forward_above_the_ground():
    """Links turned by the targets put the ankle where a walk wants it, and the foot stays flat and lands softly."""
    walk = Walk([LEG], speed=0.2, period=1.0, lift=0.05, duty=0.6, sway=0.1)

    def foot(t):
        thigh, shin, ankle, roll, ankle_roll = walk.targets(np.array([[t]]))[0]
        assert thigh + shin + ankle == pytest.approx(0.0, abs=1e-12)
        assert roll == -ankle_roll
        return turned(LEG.upper, thigh) + turned(LEG.lower, thigh + shin)

    start = np.add(LEG.upper, LEG.lower)
    assert foot(0.0) == pytest.approx(start, abs=1e-12)
    h = 1e-4
    for t in np.linspace(4.0, 5.0, 101):
        phase = (t + LEG.phase) % 1.0
        speed, rise = (foot(t + h) - foot(t - h)) / (2 * h)
        if phase < 0.6:
            assert foot(t)[1] == pytest.approx(start[1], abs=1e-8)
        else:
            assert foot(t)[1] > start[1] - 1e-12
        if phase < 0.6 or 1.0 - phase < 1e-3:  # it lands, and leaves, as the ground moves
            assert (speed, rise) == pytest.approx((-0.2, 0.0), abs=1e-3)
    assert max(foot(t)[1] for t in np.linspace(4.0, 5.0, 401)) == pytest.approx(start[1] + 0.05, abs=1e-5)


def turned(way, angle):
    """An (x, z) way after a turn about y."""
    x, z = way
    return np.array([x * np.cos(angle) + z * np.sin(angle), z * np.cos(angle) - x * np.sin(angle)])


def test_checks_see_a_broken_limit_and_a_fall():
    """The same run held against narrower limits, against other targets and as if it had begun to walk higher up."""
    scene = SCENES["quadruped"]
    setup = scene.build()
    run = setup.run(steps=400)
    assert all(check.passed for check in scene.check(setup, run))
    joints = setup.model.joints
    narrow = replace(setup.model, joints=replace(joints, lower=0.02 * joints.lower, upper=0.02 * joints.upper))
    failed = [check.name for check in scene.check(replace(setup, model=narrow), run) if not check.passed]
    assert failed == ["past the limits of its joints"]
    elsewhere = scene.build(wave=3.0)
    failed = [check.name for check in scene.check(replace(setup, inputs=elsewhere.inputs), run) if not check.passed]
    assert failed == ["driven joints off their targets"]
    fallen = scene.build(speed=0.0, stiffness=0.0)
    failed = [check.name for check in scene.check(fallen, fallen.run(steps=400)) if not check.passed]
    assert "height of standing above that of the trunk" in failed
