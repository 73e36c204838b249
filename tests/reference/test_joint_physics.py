"""Joints at work: drift, loops, limits, motors, damping, dry friction, spinning bodies."""

import numpy as np
import pytest
from mechanisms import bennett, four_bar, link, stewart
from motion import simulate

from delassus.builder import ModelBuilder, Motor
from delassus.dynamics import Stabilisation, momentum_of
from delassus.errors import SettingsError
from delassus.joints import JOINTS

G = 9.81
DRIFT = 1e-6  # what the project promises for every joint at h = 1 ms [m, rad]


@pytest.mark.parametrize("kind", JOINTS)
def test_joint_stays_closed_while_it_tumbles(kind):
    """One second of a two-body tumble per kind; ten seconds are in the slow test."""
    run = tumble(kind, 1.0)
    assert run.all_converged
    assert run.drift < DRIFT


@pytest.mark.slow
@pytest.mark.parametrize("kind", JOINTS)
def test_joint_stays_closed_for_ten_seconds(kind):
    run = tumble(kind, 10.0)
    assert run.all_converged
    assert run.drift < DRIFT


def tumble(kind, duration):
    builder = ModelBuilder(
        gravity=(0, 0, 0) if kind in ("cartesian", "planar", "prismatic", "cylindrical") else (0, 0, -G)
    )
    first = link(builder, (0, 0, 0), (1, 0, 0))
    second = link(builder, (1, 0, 0), (1.5, 0.8, 0.3), mass=0.5, velocity=(0.2, -0.4, 0.3))
    builder.joint("spherical", None, first, position=(0, 0, 0))
    if kind == "distance":
        builder.joint(kind, first, second, position=(1, 0, 0), follower_position=(1.25, 0.4, 0.15))
    elif kind == "rolling":
        builder.joint(kind, first, second, position=(1, 0, 0), follower_position=(1.2, 0, 0))
    else:
        builder.joint(kind, first, second, position=(1, 0, 0), axis=(0.2, 0.3, 1.0))
    return simulate(*builder.build(assemble=True), duration, h=1e-3)


@pytest.mark.parametrize("name", ["four-bar", "bennett", "stewart"])
def test_loops_stay_closed(name):
    """Redundant rows, an over-constrained linkage that moves, and thirteen bodies in five loops."""
    if name == "bennett":
        model, state, gap = bennett()
        assert gap < 1e-12, "the linkage is built closed"
    else:
        model, state = four_bar() if name == "four-bar" else stewart()
    run = simulate(model, state, 1.0, h=1e-3)
    moved = np.abs(run.states[-1].q - run.states[0].q).max()
    assert run.all_converged
    assert run.drift < DRIFT
    assert moved > 0.05, "it really moves"


def test_bennett_linkage_keeps_its_energy():
    """One degree of freedom although counting rows says minus two."""
    model, state, _ = bennett()
    run = simulate(model, state, 1.0, h=1e-3)
    assert np.ptp(run.energy) < 1e-3 * max(r.energy[0] for r in run.reports)


def test_pendulum_converges_at_second_order():
    """A rod swinging from level: positions after 0.64 s, against the same with half the step."""
    ends = []
    for h in (4e-2, 2e-2, 1e-2, 5e-3):
        builder = ModelBuilder()
        rod = link(builder, (0, 0, 0), (1, 0, 0))
        builder.joint("revolute", None, rod, position=(0, 0, 0), axis=(0, 1, 0))
        ends.append(simulate(*builder.build(), 0.64, h=h).q()[-1, :3])
    change = np.linalg.norm(np.diff(ends, axis=0), axis=1)
    assert np.log2(change[:-1] / change[1:]).min() > 1.8


def test_small_swing_has_the_textbook_period():
    """T = 2π √(2L/3g) for a rod about its end; 0.02 rad make it 2.5e-5 longer."""
    builder = ModelBuilder()
    rod = link(builder, (0, 0, 0), (np.sin(0.02), 0, -np.cos(0.02)))
    builder.joint("revolute", None, rod, position=(0, 0, 0), axis=(0, 1, 0))
    run = simulate(*builder.build(), 1.7, h=2e-3)
    x = run.q()[:, 0] / (0.5 * np.sin(0.02))
    assert np.abs(x - np.cos(np.sqrt(1.5 * G) * run.t)).max() < 1e-3


def test_torque_free_body_keeps_momentum_and_energy():
    """A brick tumbling about its unstable axis (Dzhanibekov): energy to rounding, momentum to second order."""
    loss = []
    for h in (2e-3, 1e-3):
        builder = ModelBuilder(gravity=(0, 0, 0))
        builder.body(mass=1.0, inertia=(1.0, 2.0, 3.0), angular_velocity=(0.3, 5.0, 0.3))
        model, state = builder.build()
        run = simulate(model, state, 3.0, h=h)
        before, after = (momentum_of(model, s.rotation, s.position, s.u) for s in (run.states[0], run.states[-1]))
        loss.append([np.abs(after - before).max() / np.abs(before).max(), np.ptp(run.energy) / run.energy[0]])
    spin = np.einsum("kij,kj->ki", np.array([s.rotation[0].T for s in run.states]), run.u()[:, 3:])
    assert np.ptp(spin[:, 1]) > 5.0, "it does flip"
    assert loss[1][0] < 1e-5
    assert np.log2(loss[0][0] / loss[1][0]) > 1.9
    assert max(loss[0][1], loss[1][1]) < 1e-10


def test_bodies_that_spin_too_fast_for_the_step_keep_their_energy():
    """Up to a hundred turns a step: nothing is resolved, and nothing is gained."""
    for spin in (1e3, 1e4, 6e5):
        builder = ModelBuilder(gravity=(0, 0, 0))
        builder.body(mass=1.0, inertia=(0.1, 2.0, 2.05), angular_velocity=(0.3 * spin, spin, 0.2 * spin))
        run = simulate(*builder.build(), 0.1, h=1e-3)
        assert np.ptp(run.energy) < 1e-9 * run.energy[0]


def test_rod_that_spins_on_a_distance_joint_keeps_its_energy_to_second_order():
    """The joint's impulses change the spin within the step. With the gyroscopic moment taken without them the loss was
    of first order: 7e-3, 3.6e-3, 1.8e-3 J of these."""
    loss = []
    for h in (1e-3, 5e-4, 2.5e-4):
        builder = ModelBuilder(gravity=(0, 0, 0))
        rod = builder.body(mass=1.0, inertia=(4e-4, 8.8e-3, 8.8e-3), angular_velocity=(-20.0, 18.0, -15.0))
        builder.joint("distance", None, rod, position=(0.25, 0.2, 0.1), follower_position=(0.1, 0.02, 0.01))
        run = simulate(*builder.build(assemble=True), 0.1, h=h)
        loss.append(np.ptp(run.energy))
    assert np.log2(loss[0] / loss[1]) > 1.8
    assert np.log2(loss[1] / loss[2]) > 1.8


def test_fast_top_precesses_at_the_gyroscopic_rate():
    """Ω = m g l / (I₃ ω) for a spinning disk on a level arm, with nutation of 2 m g l I / (I₃ ω)² about it: let go at
    rest, its heading is Ω (t − sin νt / ν) with ν = I₃ ω / I."""
    builder = ModelBuilder()
    spin, arm, mass, axial = 300.0, 0.2, 1.0, 0.02
    inertia = (axial, axial / 2, axial / 2)
    top = builder.body(position=(arm, 0, 0), mass=mass, inertia=inertia, angular_velocity=(spin, 0, 0))
    builder.joint("spherical", None, top, position=(0, 0, 0))
    run = simulate(*builder.build(), 0.3, h=1e-4)
    heading = np.unwrap(np.arctan2(run.q()[:, 1], run.q()[:, 0]))
    across = axial / 2 + mass * arm**2
    nutation, wobble = 2 * mass * G * arm * across / (axial * spin) ** 2, axial * spin / across
    precession = mass * G * arm / (axial * spin)
    assert heading[-1] == pytest.approx(precession * (0.3 - np.sin(0.3 * wobble) / wobble), rel=1e-3)
    assert np.abs(run.q()[:, 2]).max() / arm == pytest.approx(nutation, rel=1e-3)


def swinging_arm(**options):
    builder = ModelBuilder()
    rod = link(builder, (0, 0, 0), (1, 0, 0), mass=1.0)
    builder.joint("revolute", None, rod, position=(0, 0, 0), axis=(0, -1, 0), **options)
    return builder.build()


def coordinate(run):
    return np.array([r.rows.coordinates[0] for r in run.reports])


def test_limit_stops_the_arm():
    """Falls from level, meets its lower stop without passing it, and stays there."""
    run = simulate(*swinging_arm(limits=(-0.5, 2.0)), 1.0, h=1e-3)
    angle = coordinate(run)
    assert angle.min() > -0.5 - 1e-5
    assert angle[-1] == pytest.approx(-0.5, abs=1e-5)
    assert np.abs(run.u()[-1]).max() < 1e-6


@pytest.mark.parametrize("speed", [0.5, 2.0])
def test_arm_far_beyond_its_limit_comes_back_at_the_capped_speed(speed):
    """Half a radian over: a fraction of it per step would be 100 rad/s."""
    stabilisation = Stabilisation(depenetration_speed=speed)
    with pytest.warns(UserWarning, match="outside its limits"):
        model, state = swinging_arm(limits=(0.5, 2.0))
    run = simulate(model, state, 0.1, h=1e-3, stabilisation=stabilisation)
    assert coordinate(run)[-1] == pytest.approx(0.1 * speed, rel=0.02)
    assert np.abs(run.u()[:, 3:]).max() < 1e-3, "moved, not thrown: it would fly on"


@pytest.mark.parametrize("wrong", [{"closure": np.nan}, {"closure": 0.0}, {"penetration_margin": -1.0}, {"limit": 2.0}])
def test_impossible_stabilisation_is_refused(wrong):
    with pytest.raises(SettingsError, match=f"stabilisation.{next(iter(wrong))} is"):
        Stabilisation(**wrong)


def test_motor_holds_the_static_angle():
    """Implicit PD, stiff enough to blow up an explicit one: k (q* − q) = m g l/2 cos q at rest."""
    run = simulate(*swinging_arm(motor=Motor(1e5, 1e3)), 0.5, h=1e-2)
    torque = 1e5 * (0.0 - coordinate(run)[-1])
    assert torque == pytest.approx(0.5 * G * np.cos(coordinate(run)[-1]), rel=1e-4)


def test_imposed_motion_is_followed():
    def target(t):
        return {"target": [0.3 * np.sin(2 * (t + 1e-3))], "target_rate": [0.0]}

    run = simulate(*swinging_arm(motor="imposed"), 1.0, h=1e-3, inputs=target)
    assert coordinate(run)[-1] == pytest.approx(0.3 * np.sin(2 * run.t[-2]), abs=2e-3)


def test_effort_balances_gravity():
    run = simulate(*swinging_arm(), 0.3, h=1e-3, inputs=lambda t: {"effort": [0.5 * G]})
    assert np.abs(run.u()).max() < 1e-9


def test_dry_friction_holds_up_to_its_torque_and_then_slips():
    """Coulomb friction of a hinge is exact: it holds m g l/2 = 4.905 N m at 5, and brakes with 2 when it slips."""
    held = simulate(*swinging_arm(friction=5.0), 0.3, h=1e-3)
    assert np.abs(held.u()).max() < 1e-6
    slipped = simulate(*swinging_arm(friction=2.0), 0.02, h=1e-3)
    assert slipped.u()[-1, 4] == pytest.approx((0.5 * G - 2.0) / (1.0 / 3.0) * 0.02, rel=5e-3)


def test_damping_decays_exponentially_without_gravity():
    builder = ModelBuilder(gravity=(0, 0, 0))
    disk = builder.body(mass=1.0, inertia=(1.0, 1.0, 1.0), angular_velocity=(0, 0, 2.0))
    builder.joint("revolute", None, disk, axis=(0, 0, 1), damping=0.5)
    run = simulate(*builder.build(), 1.0, h=1e-3)
    assert run.u()[-1, 5] == pytest.approx(2.0 * np.exp(-0.5), rel=1e-3)
