"""Steps with springs, bushings and drives: order of the θ-scheme, stability where they are far too stiff for the step,
energy."""

import numpy as np
import pytest

from delassus import ModelBuilder, Motor, Plane, Sphere, State, StepSettings, step
from delassus.errors import SettingsError
from delassus.fem import Elastic, block
from delassus.forces import Configuration
from delassus.integrators import moved
from delassus.simulation.compiled.layout import why_not

SPD = np.diag([400.0, 300.0, 500.0, 20.0, 30.0, 25.0]) + 5.0 * np.ones((6, 6))


def spring_pair():
    """Two bodies on a spring that holds them off their centres: they circle, turn and swing."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    first = builder.body("first", mass=1.0, inertia=(0.05, 0.07, 0.1), velocity=(0, -0.4, 0.1))
    second = builder.body("second", mass=2.0, inertia=(0.1, 0.12, 0.2), position=(1.1, 0, 0), velocity=(0, 0.4, 0))
    at = ((0.1, 0.1, 0.0), (1.0, 0.0, 0.1))
    builder.spring(first, second, at=at, stiffness=80.0, damping=0.5, rest_length=0.8)
    return builder.build()


def bushing():
    builder = ModelBuilder(gravity=(0, 0, -9.81))
    block = builder.body(
        "block", mass=2.0, inertia=(0.1, 0.15, 0.2), position=(0.2, 0.1, 0), angular_velocity=(3.0, -2.0, 1.0)
    )
    builder.bushing(None, block, at=(0, 0, 0), stiffness=SPD, damping=0.01 * SPD, axis=(1, 1, 0))
    return builder.build()


def driven_arm():
    builder = ModelBuilder()
    arm = builder.body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0.5, 0, 0))
    builder.joint("revolute", None, arm, position=(0, 0, 0), axis=(0, 1, 0), motor=Motor(60.0, 2.0))
    return builder.build()


def state_after(scene, h, time, **settings):
    model, state = scene()
    for _ in range(round(time / h)):
        state, report = step(model, state, None, StepSettings(h=h, tol=1e-10, **settings))
        assert report.ok
    return np.concatenate([state.q.ravel(), state.u.ravel()])


def rate(scene, **settings):
    """How much smaller the error gets where the step is halved."""
    coarse, middle, fine = (state_after(scene, 0.004 / k, 0.12, **settings) for k in (1, 2, 4))
    return abs(coarse - middle).max() / abs(middle - fine).max()


@pytest.mark.parametrize("scene", [spring_pair, bushing, driven_arm])
@pytest.mark.parametrize(
    ("settings", "order"), [({}, 2), ({"theta": 0.5}, 2), ({"theta": 0.7}, 1), ({"integrator": "euler"}, 1)]
)
def test_forces_and_drives_are_of_the_order_of_the_scheme(scene, settings, order):
    found = rate(scene, **settings)
    print(f"{scene.__name__}, {settings}: errors fall by {found:.2f}")
    assert 0.8 * 2**order < found < 1.3 * 2**order


@pytest.mark.parametrize("scene", [spring_pair, bushing, driven_arm])
def test_theta_of_one_is_euler(scene):
    np.testing.assert_allclose(
        state_after(scene, 0.01, 0.1, theta=1.0), state_after(scene, 0.01, 0.1, integrator="euler"), atol=1e-12
    )


H = 0.01
STIFF = 1e4 / H**2  # k h²/m = 1e4 for a body of 1 kg: an explicit step takes 4 at most


def energies(model, state, steps, **settings):
    out = []
    for _ in range(steps):
        state, report = step(model, state, None, StepSettings(h=H, **settings))
        assert report.ok
        out.append(sum(report.energy))
    return np.array(out), state


@pytest.mark.parametrize("settings", [{}, {"theta": 0.5}, {"theta": 0.75}, {"integrator": "euler"}])
def test_an_undamped_spring_pair_far_too_stiff_for_the_step_stays_stable(settings):
    """Two bodies that circle about each other: what the spring swings may be lost, the circling stays."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    first = builder.body("first", mass=1.0, inertia=(0.1, 0.1, 0.1), velocity=(0, -0.25, 0))
    second = builder.body("second", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1, 0, 0), velocity=(0, 0.25, 0))
    builder.spring(first, second, stiffness=0.5 * STIFF)
    energy, state = energies(*builder.build(), 1000, **settings)
    # bodies turn by 5 mrad in a step: the chord is shorter than the arc by 3e-6, which costs a stiff spring 3 %
    assert energy.max() < 1.05 * 0.0625
    assert energy[-1] > 0.9 * 0.0625
    assert abs(np.linalg.norm(state.q[1, :3] - state.q[0, :3]) - 1.0) < 2e-5
    momentum = sum(np.cross(q[:3], u[:3]) for q, u in zip(state.q, state.u))[2]
    is_midpoint = settings in ({}, {"theta": 0.5})  # which keeps angular momentum; others lose some of first order
    assert abs(momentum - 0.25) < (1e-11 if is_midpoint else 0.03 * 0.25)


@pytest.mark.parametrize("settings", [{}, {"theta": 0.75}, {"integrator": "euler"}])
def test_a_stiff_bushing_holds_a_block_under_its_weight(settings):
    """Let go at rest, off by a millimetre in every direction: no energy is gained, and the block comes to rest where
    force balances weight. θ = ½ itself is not among them: it rings for ever, as it should."""
    builder = ModelBuilder()
    block = builder.body("block", mass=1.0, inertia=(1.0, 1.0, 1.0), position=(0, 0, 0.1))
    builder.bushing(None, block, at=(0, 0, 0), stiffness=np.full(6, STIFF))
    model, start = builder.build()
    moved = start.q.copy()
    moved[0, :3] += 1e-3
    first = sum(step(model, State(moved, start.u), None, StepSettings(h=1e-9))[1].energy)
    energy, state = energies(model, State(moved, start.u), 400, **settings)
    assert energy.max() <= first * (1.0 + 1e-3)
    np.testing.assert_allclose(state.q[0, :3], [0.0, 0.0, 0.1 - 9.81 / STIFF], atol=1e-9)


def chain(count=8):
    """Masses on springs in a line, one end held, pulled to 5 %."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    last = None
    for k in range(count):
        body = builder.body(f"m{k}", mass=1.0, inertia=(1, 1, 1), position=(1.0 + k, 0, 0), velocity=(0.1 * k, 0, 0))
        builder.spring(last, body, stiffness=100.0)
        last = body
    return builder.build()


def test_energy_of_a_spring_chain_stays_at_theta_one_half_and_decays_at_one():
    start = 0.5 * sum((0.1 * k) ** 2 for k in range(8))
    kept, _ = energies(*chain(), 700, theta=0.5)
    np.testing.assert_allclose(kept, start, rtol=1e-9)  # all forces are linear in a line: exactly the midpoint rule
    weighted, _ = energies(*chain(), 700)
    assert weighted.max() <= start * (1 + 1e-9)
    assert weighted[-1] > 0.98 * start  # 7 s, of fourth order in h ω ≤ 0.2
    lost, _ = energies(*chain(), 700, integrator="euler")
    assert (np.diff(lost) < 1e-12).all()
    assert lost[-1] < 0.8 * start


def test_theta_is_checked_and_steps_with_one_are_not_compiled():
    for wrong in (0.3, 1.2, "half", np.nan):
        with pytest.raises(SettingsError, match=r"theta is .*: give a number from 0\.5 \(second order\) to 1, or None"):
            StepSettings(theta=wrong)
    with pytest.raises(SettingsError, match="'euler', which is θ = 1: give integrator='moreau'"):
        StepSettings(theta=0.5, integrator="euler")
    model, _ = driven_arm()
    assert "θ" in why_not(model, StepSettings(theta=0.5))
    assert why_not(model, StepSettings()) is None


def pulled_far():
    """A rod on a stiff spring that turns by a third of a radian in a step, above a plane it meets."""
    builder = ModelBuilder()
    builder.fixed("ground", shapes=[Plane()])
    rod = builder.body(
        "rod",
        mass=1.0,
        inertia=(0.1, 0.1, 0.1),
        position=(0, 0, 0.15),
        shapes=[Sphere(0.1)],
        velocity=(2.0, 0, -1.0),
        angular_velocity=(0, 3.0, 0),
    )
    builder.spring("world", rod, at=((0, 0, 0.8), (0.3, 0, 0.15)), stiffness=2e4, rest_length=0.6)
    return builder.build()


def momentum_error(integrator):
    """What M(u⁺ − u) − h f(q + h u⁺, u⁺) − Jᵀλ of a step is off by, worst of 30 steps [N s]."""
    model, state = pulled_far()
    worst, most, touches = 0.0, 0, 0
    for _ in range(30):
        after, report = step(model, state, None, StepSettings(h=0.02, integrator=integrator))
        assert report.solution.converged
        (group,) = model.forces.groups(Configuration(moved(state.q, after.u, 0.02), after.u))
        force = group.force[0, 6:] + np.append(model.gravity, np.zeros(3))
        J = report.problem.delassus.jacobian()
        change = np.append(after.u[0, :3] - state.u[0, :3], 0.1 * (after.u[0, 3:] - state.u[0, 3:]))
        worst = max(worst, abs(change - 0.02 * force - J.T @ report.solution.reactions).max())
        most, touches = max(most, report.rounds), touches + (report.solution.reactions > 0).any()
        state = after
    assert touches > 3
    return worst, most


def test_the_iterated_step_is_implicit_euler_and_the_first_round_is_not():
    iterated, rounds = momentum_error("iterated")
    once, one = momentum_error("euler")
    print(f"momentum is off by {iterated:.1e} N s after {rounds} rounds at most, by {once:.1e} after one")
    assert iterated < 1e-4  # of 2 N s
    assert once > 1e-2
    assert 2 < rounds < 20
    assert one == 1


def test_a_newton_iteration_that_does_not_end_says_so():
    """A force that jumps to and fro: no velocity stays."""

    class Switch:
        def force(self, at):
            return np.array([1e3 if at.u[0, 0] <= 0.0 else -1e3, 0, 0, 0, 0, 0])

        def dq(self, at):
            return np.zeros((6, 6))

        dv = dq

    builder = ModelBuilder()
    builder.force(Switch(), on=builder.body("body", mass=1.0, inertia=(1, 1, 1)))
    model, state = builder.build()
    _, report = step(model, state, None, StepSettings(h=0.01, integrator="iterated"))
    assert report.solution.status.value == "stalled"
    assert report.rounds == 20


@pytest.mark.parametrize(("young", "density", "least"), [(1e6, 1000.0, 0.95), (2e11, 7800.0, 0.0)])
def test_a_bar_of_elements_that_turns_gains_nothing_however_stiff_it_is(young, density, least):
    """50 mrad in a step, h ω = 6 and 2 000: what the step resolves is kept, too."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    bar = block(size=(1, 0.1, 0.1), cells=(4, 1, 1))
    builder.flexible("bar", bar, Elastic(young, 0.3, density), angular_velocity=(0, 0, 5.0))
    energy, _ = energies(*builder.build(), 150)
    assert energy.max() < 1.001 * energy[0]
    assert energy[-1] > least * energy[0]
