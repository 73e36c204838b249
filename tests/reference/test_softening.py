"""Soft constraints behave as the formulas say: sinking, sagging, swinging, per joint and per material, and stiffness in
the limit."""

import numpy as np
import pytest
from motion import simulate

from delassus.builder import Material, ModelBuilder
from delassus.dynamics import Softening, Spring
from delassus.errors import ProblemError, SettingsError
from delassus.shapes import Box, Plane, Sphere

G = 9.81


def resting_ball(softening, duration=0.5):
    builder = ModelBuilder()
    builder.fixed(shapes=[Plane()])
    builder.body(position=(0, 0, 0.1), mass=3.0, shapes=[Sphere(0.1)])
    return simulate(*builder.build(), duration, h=1e-3, softening=softening)


@pytest.mark.parametrize("time_constant", [0.02, 0.05])
def test_ball_sinks_in_by_the_stated_depth(time_constant):
    """c g / k with constant impedance d: (1 − d)/d · g · (d_w T ζ)²/d."""
    d = 0.9
    soft = Softening(impedance=d, impedance_width=d + 1e-9, time_constant=time_constant)
    depth = 0.1 - resting_ball(soft).q()[-1, 2]
    assert depth == pytest.approx((1 - d) / d * G * (d * time_constant) ** 2 / d, rel=1e-3)


def test_stiffer_impedance_sinks_less():
    shallow, deep = (
        0.1 - resting_ball(Softening(impedance=d, impedance_width=d + 1e-9)).q()[-1, 2] for d in (0.99, 0.5)
    )
    assert 0 < shallow < 0.1 * deep


def test_impedance_rises_from_one_end_to_the_other():
    soft = Softening(impedance=0.2, impedance_width=0.8, width=0.01, midpoint=0.3, power=3)
    d = soft.impedance_of(np.array([0.0, 0.003, 0.01, 1.0]))
    assert d == pytest.approx([0.2, 0.2 + 0.3 * 0.6, 0.8, 0.8])
    assert np.all(np.diff(soft.impedance_of(np.linspace(0, 0.02, 200))) >= 0)


def test_friction_still_holds_when_soft():
    builder = ModelBuilder(gravity=(2.0, 0, -G))
    builder.fixed(shapes=[Plane()])
    builder.body(position=(0, 0, 0.1), mass=3.0, shapes=[Sphere(0.1)])
    run = simulate(*builder.build(), 0.2, h=1e-3, softening=Softening())
    v, w = run.u()[-1, :3], run.u()[-1, 3:]
    assert abs((v + np.cross(w, [0, 0, -0.1]))[0]) < 0.05 * v[0], "it rolls, with the creep of soft friction"


def test_bad_softening_is_named():
    with pytest.raises(SettingsError, match="softening.impedance is 1.0"):
        Softening(impedance=1.0)
    with pytest.raises(SettingsError, match="less than two steps"):
        resting_ball(Softening(time_constant=1e-3), duration=0.01)


# -- joints ------------------------------------------------------------------------------------------------------------

SOFT = {"impedance": 0.9, "impedance_width": 0.9 + 1e-9}


def hanging(velocity=(0, 0, 0), gravity=G, **joint):
    """A body of 3 kg, fixed to the world at its centre of mass."""
    builder = ModelBuilder(gravity=(0, 0, -gravity))
    body = builder.body(mass=3.0, inertia=(0.1, 0.1, 0.1), velocity=velocity)
    builder.joint("fixed", None, body, **joint)
    return builder.build()


def sag(d, time_constant=0.02):
    return (1 - d) / d * G * (d * time_constant) ** 2 / d


@pytest.mark.parametrize("scheme", ["moreau", "euler"])
@pytest.mark.parametrize("time_constant", [0.02, 0.05])
def test_soft_joint_sags_by_the_stated_length(time_constant, scheme):
    soft = Softening(joints=True, contacts=False, time_constant=time_constant, **SOFT)
    run = simulate(*hanging(), 0.8, h=1e-3, softening=soft, integrator=scheme)
    assert run.all_converged
    assert -run.q()[-1, 2] == pytest.approx(sag(0.9, time_constant), rel=1e-4)
    assert run.drift == 0.0, "no hard joint, no drift"


def test_soft_joint_with_the_defaults_sags_by_a_third_of_a_millimetre():
    """It was closed again after every step, and the sag was 0. d depends on the sag: the fixed point of the formula."""
    soft = Softening(joints=True)
    expected = 1e-4
    for _ in range(100):
        d = soft.impedance_of(np.array([expected]))[0]
        expected = (1 - d) / d**2 * G * (0.95 * 0.02) ** 2
    assert expected == pytest.approx(3.67e-4, rel=0.05)
    assert -simulate(*hanging(), 0.5, h=1e-3, softening=soft).q()[-1, 2] == pytest.approx(expected, rel=1e-3)


def two_hanging(**second):
    builder = ModelBuilder()
    first, other = (
        builder.body(position=(x, 0, 0), mass=m, inertia=(0.1, 0.1, 0.1)) for x, m in ((0.5, 1.0), (1.5, 2.0))
    )
    builder.joint("revolute", None, first, position=(0, 0, 0), axis=(0, 1, 0), limits=(0.0, 0.0), name="hard")
    builder.joint("fixed", first, other, position=(1, 0, 0), name="second", **second)
    return builder.build()


def test_soft_joint_beside_a_hard_one():
    """The hinge stays closed as ever; what hangs on it gives, in place and at rest at a twentieth of a millimetre."""
    run = simulate(*two_hanging(softening=Softening(time_constant=0.01)), 1.0, h=1e-3)
    assert run.all_converged
    assert run.drift < 1e-9
    residual = run.reports[-1].rows.residual
    assert np.abs(residual[:5]).max() < 1e-9
    assert np.abs(residual[5:]).max() > 2e-5
    assert np.abs(run.u()[-1]).max() < 1e-6


def test_joints_may_stay_hard_while_the_settings_say_soft():
    soft = Softening(joints=True)
    hard = simulate(*hanging(softening=False), 0.2, h=1e-3, softening=soft)
    assert np.abs(hard.q()[:, :3]).max() < 1e-9
    own = simulate(*hanging(softening=Softening(time_constant=0.05, **SOFT)), 1.0, h=1e-3, softening=soft)
    assert -own.q()[-1, 2] == pytest.approx(sag(0.9, 0.05), rel=1e-4), "its own softening counts"


def test_spring_joint_sags_by_its_stiffness():
    run = simulate(*hanging(softening=Spring(2e4, 300.0)), 1.0, h=1e-3)
    assert -run.q()[-1, 2] == pytest.approx(3.0 * G / 2e4, rel=1e-6)


def test_spring_joint_has_a_stiffness_of_its_own_for_angles():
    """A weight on an arm of half a metre: the joint turns by m g l/k_ϕ and sags by m g/k beside it."""
    builder = ModelBuilder()
    body = builder.body(position=(0.5, 0, 0), mass=2.0, inertia=(0.1, 0.1, 0.1))
    soft = Spring(1e5, 600.0, angular_stiffness=5e3, angular_damping=80.0)
    builder.joint("fixed", None, body, position=(0, 0, 0), softening=soft)
    run = simulate(*builder.build(), 1.0, h=1e-3)
    residual = run.reports[-1].rows.residual
    assert np.abs(residual[:3]).max() == pytest.approx(2.0 * G / 1e5, rel=1e-3)
    assert np.abs(residual[3:]).max() == pytest.approx(2.0 * G * 0.5 / 5e3, rel=1e-3)


def test_mass_on_a_soft_joint_swings_at_the_stated_frequency():
    """ω = d/(d_w T ζ) and ζ, from the free vibration after a kick; the damper's force is of first order in h."""
    T, ratio = 0.2, 0.05
    soft = Softening(time_constant=T, damping_ratio=ratio, **SOFT)
    run = simulate(*hanging((0, 0, 1.0), 0.0, softening=soft), 0.2, h=1e-4)
    w = 1.0 / (T * ratio)
    fast = w * np.sqrt(1 - ratio**2)
    exact = np.exp(-ratio * w * run.t) * np.sin(fast * run.t) / fast
    assert np.abs(run.q()[:, 2] - exact).max() < 5e-3 * exact.max()


def test_mass_on_a_spring_joint_keeps_its_energy_and_its_frequency():
    """√(k/m) = 50 rad/s, second order; nothing is lost."""
    errors = []
    for h in (2e-3, 1e-3, 5e-4):
        run = simulate(*hanging((0, 0, 1.0), 0.0, softening=Spring(7500.0)), 0.5, h=h)
        errors.append(np.abs(run.q()[:, 2] - np.sin(50 * run.t) / 50).max())
    energy = 1.5 * run.u()[:, 2] ** 2 + 3750.0 * run.q()[:, 2] ** 2
    assert np.ptp(energy) < 1e-4 * energy[0]
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("soft", [Spring(2e4, 500.0), Softening(time_constant=0.01, **SOFT)])
def test_soft_joint_stretches_by_the_force_it_carries_and_no_more(soft):
    """A mass circling at 10 rad/s pulls with m ω² r. Rows that turn must not be taken for stretching ones: then
    the joint of Tsounis et al. 2025 gave 9 mm instead of 1."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    body = builder.body(position=(1, 0, 0), mass=3.0, inertia=(0.1, 0.1, 0.1), velocity=(0, 10, 0))
    builder.joint("distance", None, body, position=(0, 0, 0), follower_position=(1, 0, 0), softening=soft)
    run = simulate(*builder.build(), 2.0, h=5e-4)
    radius = np.linalg.norm(run.q()[-1, :2])
    force = 3.0 * np.linalg.norm(run.u()[-1, :2]) ** 2 / radius
    gives = 1 / 2e4 if isinstance(soft, Spring) else sag(0.9, 0.01) / (3.0 * G)
    assert radius - 1.0 == pytest.approx(force * gives, rel=0.03)


# -- limits ------------------------------------------------------------------------------------------------------------


def test_limit_gives_like_a_spring():
    builder = ModelBuilder()
    block = builder.body(mass=2.0, inertia=(1.0, 1.0, 1.0))
    builder.joint("prismatic", None, block, axis=(0, 0, 1), limits=(-0.01, 1.0), limit_softening=Spring(5e3, 200.0))
    run = simulate(*builder.build(), 1.0, h=1e-3)
    assert run.all_converged
    assert run.q()[-1, 2] == pytest.approx(-0.01 - 2.0 * G / 5e3, rel=1e-6)


# -- contacts ----------------------------------------------------------------------------------------------------------


def ball_on_plane(ball, plane, duration=1.0, h=1e-3, height=0.1, **settings):
    builder = ModelBuilder()
    builder.fixed(shapes=[Plane()], material=plane)
    builder.body(position=(0, 0, height), mass=3.0, shapes=[Sphere(0.1)], material=ball)
    return simulate(*builder.build(), duration, h=h, **settings)


@pytest.mark.parametrize("law", ["ncp", "ccp", "frictionless"])
@pytest.mark.parametrize("scheme", ["moreau", "euler"])
def test_contact_stiffness_gives_the_static_penetration(scheme, law):
    run = ball_on_plane(Material(0.5, stiffness=1e4, damping=400.0), Material(0.5), integrator=scheme, law=law)
    assert run.all_converged
    assert 0.1 - run.q()[-1, 2] == pytest.approx(3.0 * G / 1e4, rel=1e-6)


def test_springs_of_two_materials_are_in_series():
    run = ball_on_plane(Material(0.5, stiffness=1e4, damping=400.0), Material(0.5, stiffness=3e4, damping=100.0))
    assert 0.1 - run.q()[-1, 2] == pytest.approx(3.0 * G * (1 / 1e4 + 1 / 3e4), rel=1e-6)


def test_a_box_stands_on_four_springs():
    builder = ModelBuilder()
    builder.fixed(shapes=[Plane()])
    builder.body(
        position=(0, 0, 0.1),
        mass=4.0,
        shapes=[Box((0.4, 0.3, 0.2))],
        material=Material(0.5, stiffness=1e4, damping=100.0),
    )
    run = simulate(*builder.build(), 1.0, h=1e-3)
    assert run.all_converged
    assert 0.1 - run.q()[-1, 2] == pytest.approx(4.0 * G / 4e4, rel=1e-6)


@pytest.mark.parametrize("ratio", [0.0, 0.2, 0.6])
def test_ball_bounces_on_a_contact_spring_as_an_oscillator_would(ratio):
    """Some 36 steps of contact, ω = 87.3 rad/s: it leaves when k x + c v, never a pull, is back at zero; without
    damping with all of its speed."""
    k, w = 3.0 * 87.3**2, np.sqrt(1 - ratio**2)
    run = ball_on_plane(
        Material(0.0, stiffness=k, damping=2 * ratio * np.sqrt(k * 3.0)), Material(0.0), 0.22, height=0.2
    )
    t = np.linspace(0.0, np.pi / w, 100_001)[1:]
    x = np.exp(-ratio * t) * np.sin(w * t) / w
    v = np.exp(-ratio * t) * (np.cos(w * t) - ratio / w * np.sin(w * t))
    leaves = -v[np.argmax(x + 2 * ratio * v <= 0.0)] if ratio else 1.0
    assert run.u()[:, 2].max() / -run.u()[:, 2].min() == pytest.approx(leaves, abs=0.03)


@pytest.mark.parametrize("stiffness", [1e8, 1e14])
def test_contact_stiffer_than_the_step_resolves_is_a_hard_one(stiffness):
    run = ball_on_plane(Material(0.5, stiffness=stiffness), Material(0.5), 0.5, height=0.15)
    assert run.all_converged
    assert np.abs(run.u()[-50:]).max() < 1e-3
    assert 0.1 - run.q()[-1, 2] < 1e-5
    top = run.q()[run.q()[:, 2].argmin() :, 2].max()
    assert top < 0.15, "and no energy comes out of it"


def test_materials_say_how_soft_they_are():
    d = 0.9
    run = ball_on_plane(Material(0.5, softening=Softening(time_constant=0.05, **SOFT)), Material(0.5))
    assert 0.1 - run.q()[-1, 2] == pytest.approx(sag(d, 0.05), rel=1e-3)
    hard = ball_on_plane(Material(0.5, softening=False), Material(0.5, softening=False), softening=Softening())
    assert abs(0.1 - hard.q()[-1, 2]) < 1e-9


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"stiffness": -1.0}, "stiffness is -1.0"),
        ({"damping": 3.0}, "without a stiffness"),
        ({"stiffness": 1e4, "restitution": 0.5}, "leave restitution"),
        ({"softening": 0.1}, "softening is 0.1"),
    ],
)
def test_impossible_materials_are_refused(wrong, words):
    with pytest.raises(ProblemError, match=words):
        Material(0.5, **wrong)


def test_swings_that_no_step_resolves_are_refused():
    with pytest.raises(SettingsError, match="damping ratio"):
        simulate(*hanging(softening=Softening(time_constant=0.02, damping_ratio=0.01)), 0.01, h=1e-3)
