"""Motors, damping and prescribed motion at the right time level: second order under `moreau`, bounded at any gain."""

import numpy as np
import pytest
from motion import simulate

from delassus.builder import ModelBuilder, Motor
from delassus.dynamics import Inputs
from delassus.errors import ProblemError
from delassus.scenes.stepping import simulate as simulate_scene
from delassus.simulation import StepSettings

G = 9.81


def disk(speed=1.0, **joint):
    """A wheel of 1 kg m² on an axle, turning."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    wheel = builder.body(mass=1.0, inertia=(1.0, 1.0, 1.0), angular_velocity=(0, 0, speed))
    builder.joint("revolute", None, wheel, axis=(0, 0, 1), **joint)
    return builder.build()


def angle(run):
    return 2.0 * np.arctan2(run.q()[:, 6], run.q()[:, 3])


def order(errors):
    """Of convergence, from errors at steps that halve."""
    return np.log2(np.abs(errors[:-1]) / np.abs(errors[1:]))


def test_undamped_spring_keeps_its_energy():
    """10 rad/s at 1 ms for two seconds: 18 % were lost where the force was taken half a step beyond the end."""
    run = simulate(*disk(motor=Motor(stiffness=100.0)), 2.0, h=1e-3)
    energy = 0.5 * run.u()[:, 5] ** 2 + 50.0 * angle(run) ** 2
    assert np.abs(energy / energy[0] - 1.0).max() < 1e-6


def test_damped_motor_converges_at_second_order():
    k, c = 100.0, 2.0
    pulsation = np.sqrt(k - (c / 2) ** 2)
    exact = np.exp(-c / 2) * np.sin(pulsation) / pulsation
    errors = [angle(simulate(*disk(motor=Motor(k, c)), 1.0, h=h))[-1] - exact for h in (2e-2, 1e-2, 5e-3)]
    assert order(np.array(errors)) == pytest.approx(2.0, abs=0.2)


def test_motor_follows_a_moving_target_at_second_order():
    """q̈ = k (q* − q) + c (q̇* − q̇) with q* = sin 3t, inputs taken where the scheme asks for them."""
    k, c, w = 100.0, 4.0, 3.0

    def exact(t, n=200_000):
        q, v, h = 0.0, 0.0, t / n
        for i in range(n):  # Verlet's scheme with a step that leaves nothing to see
            s = (i + 0.5) * h
            q += 0.5 * h * v
            v = (v * (1 - 0.5 * h * c) + h * (k * (np.sin(w * s) - q) + c * w * np.cos(w * s))) / (1 + 0.5 * h * c)
            q += 0.5 * h * v
        return q

    def end(h):
        model, state = disk(speed=0.0, motor=Motor(k, c))

        def inputs(t, state):
            return Inputs.of(model, target=[np.sin(w * t)], target_rate=[w * np.cos(w * t)])

        last = simulate_scene(model, state, inputs, StepSettings(h=h), round(0.5 / h)).q[-1, 0]
        return 2.0 * np.arctan2(last[6], last[3])

    errors = np.array([end(h) for h in (2e-2, 1e-2, 5e-3)]) - exact(0.5)
    assert order(errors) == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("h", [1e-4, 1e-2, 0.1])
@pytest.mark.parametrize(
    "gains", [(1e2, 0.0), (1e6, 0.0), (1e12, 0.0), (1e12, 1e6), (0.0, 1e12), (1e6, 1e3), (1e-9, 0)]
)
def test_motor_is_bounded_at_any_gain(gains, h):
    """Neither the speed nor the energy of the spring ever exceeds what was there at the start."""
    run = simulate(*disk(motor=Motor(*gains)), 60 * h, h=h)
    assert run.all_converged
    assert np.abs(run.u()[:, 5]).max() <= 1.0 + 1e-9
    assert np.abs(angle(run)).max() <= min(1.0 / np.sqrt(gains[0]) if gains[0] else np.inf, 60 * h) + 0.5 * h


@pytest.mark.parametrize("gains", [(1e6, 1e3), (1e12, 0.0), (0.0, 1e9), (1e12, 1e10)])
def test_stiff_motor_does_not_ring(gains):
    """The trapezoidal rule, which keeps energy, would turn the speed round at every step for ever."""
    run = simulate(*disk(motor=Motor(*gains)), 0.3, h=1e-2)
    assert np.abs(run.u()[10:, 5]).max() < 1e-3


@pytest.mark.parametrize("damping", [0.5, 5.0, 500.0, 5e6])
def test_damping_decays_exponentially_however_strong(damping):
    run = simulate(*disk(speed=2.0, damping=damping), 0.2, h=1e-2)
    assert run.u()[-1, 5] == pytest.approx(2.0 * np.exp(-0.2 * damping), abs=2e-6)


def test_damping_takes_the_energy_it_should():
    """A rod swinging in a damped hinge: what is missing is ∫ d ω² dt, to second order."""
    missing = []
    for h in (2e-2, 1e-2, 5e-3):
        builder = ModelBuilder()
        rod = builder.body(position=(0.5, 0, 0), mass=1.0, inertia=(0.01, 1 / 12, 1 / 12))
        builder.joint("revolute", None, rod, position=(0, 0, 0), axis=(0, 1, 0), damping=0.3)
        run = simulate(*builder.build(), 0.6, h=h)
        w = run.u()[:, 4]
        taken = 0.3 * h * (w[1:] ** 2 + w[:-1] ** 2).sum() / 2
        missing.append(-run.energy[-1] - taken)
    assert abs(missing[-1]) < 1e-3 * taken
    assert order(np.array(missing)) == pytest.approx(2.0, abs=0.3)


def test_imposed_motion_does_not_lag():
    """At constant speed the coordinate is where the target is; it was h v/2 behind."""
    run = simulate(
        *disk(speed=0.7, motor="imposed"), 0.5, h=1e-2, inputs=lambda t: {"target": [0.7 * t], "target_rate": [0.7]}
    )
    assert np.abs(angle(run) - 0.7 * run.t).max() < 1e-12


def test_imposed_motion_follows_a_sine_at_second_order():
    def wanted(t):
        return {"target": [0.3 * np.sin(4 * t)], "target_rate": [1.2 * np.cos(4 * t)]}

    errors, speeds = [], []
    for h in (1e-2, 5e-3, 2.5e-3):
        run = simulate(*disk(speed=1.2, motor="imposed"), 1.0, h=h, inputs=wanted)
        errors.append(np.abs(angle(run) - 0.3 * np.sin(4 * run.t)).max())
        speeds.append(np.abs(run.u()[:, 5] - 1.2 * np.cos(4 * run.t))[4:].max())
    assert errors[-1] < 1e-4
    assert order(np.array(errors)) == pytest.approx(2.0, abs=0.2)
    assert order(np.array(speeds)) == pytest.approx(2.0, abs=0.3)


@pytest.mark.parametrize("scheme", ["moreau", "euler"])
def test_imposed_jump_settles_without_ringing(scheme):
    """The target jumps by 0.2 rad: two steps later the wheel is there and stands still."""
    run = simulate(
        *disk(speed=0.0, motor="imposed"),
        0.1,
        h=1e-2,
        integrator=scheme,
        inputs=lambda t: {"target": [0.2 if t > 0.045 else 0.0]},
    )
    assert np.abs(angle(run)[:6]).max() < 1e-12
    assert angle(run)[8:] == pytest.approx(0.2, abs=1e-12)
    assert np.abs(run.u()[8:, 5]).max() < 1e-10


def test_imposed_motion_gives_the_power_that_energy_takes():
    """A slide driven out along an arm that swings freely: its row turns with the arm, and so does what it must give."""
    gap = []
    for h in (4e-3, 2e-3, 1e-3):
        builder = ModelBuilder()
        arm = builder.body(
            position=(0.5, 0, 0),
            mass=1.0,
            inertia=(0.01, 0.1, 0.1),
            angular_velocity=(0, -3.0, 0),
            velocity=(0, 0, 1.5),
        )
        slide = builder.body(
            position=(0.3, 0, 0),
            mass=0.5,
            inertia=(1e-3, 1e-3, 1e-3),
            angular_velocity=(0, -3.0, 0),
            velocity=(1.0, 0, 0.9),
        )
        builder.joint("revolute", None, arm, position=(0, 0, 0), axis=(0, 1, 0))
        builder.joint("prismatic", arm, slide, axis=(1, 0, 0), motor="imposed", name="slide")
        model, state = builder.build()
        where = model.joints.coordinate_names.index("slide.position")

        def wanted(t, where=where):
            target, rate = np.zeros(2), np.zeros(2)
            target[where], rate[where] = 0.25 * np.sin(4 * t), np.cos(4 * t)
            return {"target": target, "target_rate": rate}

        run = simulate(model, state, 0.4, h=h, inputs=wanted)
        drive = np.array([r.solution.reactions[r.rows.cone.bilateral_rows - 1] for r in run.reports])
        middle = 0.5 * (run.t[1:] + run.t[:-1])
        given = np.cumsum(drive * np.cos(4 * middle))
        change = run.energy - run.energy[0] + given[0]
        gap.append(np.abs(change - given).max())
        assert run.all_converged
    assert gap[-1] < 1e-3 * np.ptp(run.energy)
    assert order(np.array(gap)).min() > 1.7


def test_targets_may_be_given_for_another_time():
    """`Inputs.time` says what the targets are for: the same motion, said for the end of the step."""
    model, state = disk(speed=0.7, motor="imposed")
    run = simulate(
        model,
        state,
        0.1,
        h=1e-2,
        inputs=lambda t: {"target": [0.7 * (t + 1e-2)], "target_rate": [0.7], "time": t + 1e-2},
    )
    assert np.abs(angle(run) - 0.7 * run.t).max() < 1e-12


def test_inputs_for_no_time_are_refused():
    model, _ = disk(motor="imposed")
    with pytest.raises(ProblemError, match="inputs.time is nan"):
        Inputs.of(model, time=np.nan)


def test_efforts_that_change_are_of_second_order():
    """ω̇ = sin 3t: `simulate` asks for efforts at the middle of the step."""

    def error(h):
        model, state = disk(speed=0.0)

        def inputs(t, state):
            return Inputs.of(model, effort=[np.sin(3 * t)])

        return (
            simulate_scene(model, state, inputs, StepSettings(h=h), round(0.8 / h)).u[-1, 0, 5] - (1 - np.cos(2.4)) / 3
        )

    assert order(np.array([error(h) for h in (4e-2, 2e-2, 1e-2)])) == pytest.approx(2.0, abs=0.1)
