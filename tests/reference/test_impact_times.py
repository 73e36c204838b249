"""Bounces at the times of their impacts: as exact as the motion between them, in order, without energy from nowhere."""

import numpy as np
import pytest

from delassus import Memory, ModelBuilder, StepSettings, World, step
from delassus.builder import Material
from delassus.dynamics.forces import total_energy
from delassus.scenes import SCENES
from delassus.shapes import Box, Plane, Sphere
from delassus.spatial import rotation_exp

G = 9.81
FINE = 1e-7  # of speeds: impacts are solved to 1e-9, a hundred of them follow one another
KEPT = 1e-8  # of the energy: rounding, and impacts solved to 1e-9


def energy_of(model, state):
    return sum(total_energy(model, state))


def taken(model, state, duration, h):
    """The state after that time, and the largest growth of energy in a step, of the energy at the start."""
    settings, memory, energy, grown = StepSettings(h=h), Memory(), energy_of(model, state), -np.inf
    scale = abs(energy) + 1e-300
    for _ in range(round(duration / h)):
        state, report = step(model, state, None, settings, memory)
        assert report.ok, report
        grown, energy = max(grown, (sum(report.energy) - energy) / scale), sum(report.energy)
    return state, grown


def dropped_ball(height, restitution):
    builder, material = ModelBuilder(), Material(0.0, restitution)
    builder.fixed(shapes=[Plane()], material=material)
    builder.body(position=(0, 0, 0.1 + height), mass=1.0, shapes=[Sphere(0.1)], material=material)
    return builder.build()


@pytest.mark.parametrize("h", [2e-2, 1e-2, 5e-3, 1.2e-3, 1e-3, 5e-4])
def test_a_bounce_is_found_at_every_time_step(h):
    """Before: 1.3e-5 m off at 2 ms, 4.3e-3 m at 1 ms, 1.2e-3 m at 0.25 ms."""
    for height, restitution in ((0.1, 1.0), (0.07, 0.6)):
        state, _ = taken(*dropped_ball(height, restitution), 0.2, h)
        met = np.sqrt(2.0 * height / G)
        after, speed = state.t - met, restitution * G * met
        assert state.q[0, 2] - 0.1 == pytest.approx(speed * after - 0.5 * G * after**2, abs=1e-8)


def exact_row(x, v, m, radius, restitution, until):
    """Balls on a line, one impact after the other, in closed form."""
    x, v, t = x.copy(), v.copy(), 0.0
    while True:
        gap, rate = np.diff(x) - 2.0 * radius, np.diff(v)
        times = np.where(rate < 0.0, np.maximum(gap, 0.0) / np.where(rate < 0.0, -rate, 1.0), np.inf)
        k = int(times.argmin())
        if t + times[k] > until:
            return x + v * (until - t), v
        x, t = x + v * times[k], t + times[k]
        mean = (m[k] * v[k] + m[k + 1] * v[k + 1]) / (m[k] + m[k + 1])
        jump = (1.0 + restitution) * (v[k] - v[k + 1]) / (m[k] + m[k + 1])
        assert np.isfinite(mean)
        v[k], v[k + 1] = v[k] - m[k + 1] * jump, v[k + 1] + m[k] * jump


@pytest.mark.parametrize("seed", range(12))
def test_balls_in_a_row_meet_in_order(seed):
    """Any gaps, masses and time steps, also many impacts in one step: Newton's cradle and its relatives.

    Before: a third ball nearer than a step's way cost 10 to 28 % of the energy."""
    rng = np.random.default_rng(seed)
    n, h, restitution = int(rng.integers(3, 8)), 10 ** rng.uniform(-3.5, -2), rng.choice([1.0, 0.8])
    gaps, m = rng.choice([1e-4, 1e-3, 1e-2], n - 1) * rng.uniform(0.5, 1.5, n - 1), 10 ** rng.uniform(-0.7, 0.7, n)
    x, v = np.append(0.0, np.cumsum(0.2 + gaps)), np.append(rng.uniform(0.5, 2.0), np.zeros(n - 1))
    builder, material = ModelBuilder(gravity=(0, 0, 0)), Material(0.0, restitution)
    for k in range(n):
        builder.body(position=(x[k], 0, 0), velocity=(v[k], 0, 0), mass=m[k], shapes=[Sphere(0.1)], material=material)
    steps = int(np.ceil(0.1 / h))
    state, grown = taken(*builder.build(), steps * h, h)
    places, speeds = exact_row(x, v, m, 0.1, restitution, steps * h)
    assert state.u[:, 0] == pytest.approx(speeds, abs=FINE * v[0] + 2e-3 * (restitution < 1.0))
    if restitution == 1.0:
        assert state.q[:, 0] == pytest.approx(places, abs=1e-6 * v[0])
    assert grown <= KEPT


@pytest.mark.parametrize("n", [3, 5, 7])
@pytest.mark.parametrize("gap", [0.0, 1e-4, 5e-4, 2e-3])
def test_the_last_ball_of_a_cradle_leaves(n, gap):
    builder, material = ModelBuilder(gravity=(0, 0, 0)), Material(0.0, 1.0)
    for k in range(n):
        first = k == 0
        x = (0.2 + gap) * k - 0.05 * first
        builder.body(position=(x, 0, 0), velocity=(1.0 * first, 0, 0), mass=1, shapes=[Sphere(0.1)], material=material)
    state, _ = taken(*builder.build(), 0.1, 1e-3)
    assert state.u[-1, 0] == pytest.approx(1.0, abs=FINE)
    assert np.abs(state.u[:-1]).max() <= FINE


@pytest.mark.parametrize("mass", [100.0, 3000.0])
@pytest.mark.parametrize("gap", [0.0, 1e-3])
def test_a_ball_squeezed_between_a_wall_and_a_mass_keeps_the_energy(mass, gap):
    """Some hundred impacts within a step. Before: × 11.6 in one step."""
    builder, material = ModelBuilder(gravity=(0, 0, 0)), Material(0.0, 1.0)
    builder.fixed(shapes=[Plane()], material=material)
    builder.body(position=(0, 0, 0.1 + gap), mass=1.0, shapes=[Sphere(0.1)], material=material)
    builder.body(position=(0, 0, 0.31), velocity=(0, 0, -1.0), mass=mass, shapes=[Sphere(0.1)], material=material)
    model, state = builder.build()
    after, grown = taken(model, state, 0.05, 1e-3)
    assert energy_of(model, after) == pytest.approx(energy_of(model, state), rel=KEPT)
    assert after.u[1, 2] > 0.9, "the mass comes back"


def thrown_box(friction, h):
    builder, material = ModelBuilder(), Material(friction, 0.6)
    builder.fixed(shapes=[Plane()], material=material)
    turned = rotation_exp([0.4, 0.3, 0.2])
    builder.body(position=(0, 0, 0.6), mass=1, shapes=[Box((0.3, 0.2, 0.1))], orientation=turned, material=material)
    state, grown = taken(*builder.build(), 0.6, h)
    assert grown <= KEPT
    return np.append(state.q[0], state.u[0])


def pendulum_at_a_wall(friction, h):
    builder, material = ModelBuilder(), Material(friction, 0.8)
    builder.fixed("wall", shapes=[Plane((1, 0, 0), -0.2)], material=material)
    builder.body("bob", position=(0.8, 0, 0), mass=1.0, shapes=[Sphere(0.1)], material=material)
    builder.joint("revolute", "wall", "bob", position=(0, 0, 0), axis=(0, 1, 0))
    state, _ = taken(*builder.build(), 1.2, h)
    return np.append(state.q[0], state.u[0])


@pytest.mark.slow
@pytest.mark.parametrize("scene", [thrown_box, pendulum_at_a_wall])
@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_impacts_are_of_second_order_over_two_decades(scene, friction):
    """A box on a corner (five impacts more follow), and a pendulum that hits a wall."""
    sizes = (2e-2, 4e-3, 1e-3, 2e-4)
    exact = scene(friction, sizes[-1] / 8)
    errors = np.array([np.abs(scene(friction, h) - exact).max() for h in sizes])
    order = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert order >= 1.75, errors  # 1.8 to 2.0; the first size is not yet in the asymptotic range
    assert np.log(errors[1] / errors[3]) / np.log(sizes[1] / sizes[3]) >= 1.9, errors


def heap(n, gap=0.21, height=0.4):
    """n³ balls without friction and losses above ground."""
    rng, builder, material = np.random.default_rng(1), ModelBuilder(), Material(0.0, 1.0)
    builder.fixed(shapes=[Plane()], material=material)
    for place in np.ndindex(n, n, n):
        position = gap * np.array(place) + rng.uniform(0.0, 1e-3, 3) + (0.0, 0.0, height)
        builder.body(position=position, mass=10.0, shapes=[Sphere(0.1)], material=material)
    return builder.build()


@pytest.mark.parametrize("h", [1e-2, 2e-3])
def test_an_elastic_heap_keeps_its_energy(h):
    """27 balls; six cubed are in the table of known answers. Before: × 2.5 within two steps of 10 ms."""
    model, state = heap(3)
    energy = energy_of(model, state)
    for _ in range(round(0.5 / h)):
        state, report = step(model, state, None, StepSettings(h=h))
        assert report.ok
        assert sum(report.energy) == pytest.approx(energy, rel=KEPT)
    assert np.abs(state.u[:, :2]).max() > 0.05, "balls have met"


def test_impacts_beyond_the_budget_share_their_times_and_keep_the_energy(monkeypatch):
    """What is too much to take one after the other is taken window by window: less exact, no energy from nowhere."""
    from delassus.simulation import impact_times

    monkeypatch.setattr(impact_times, "_PIECES", 4)
    model, state = heap(3)
    energy = energy_of(model, state)
    for _ in range(50):
        state, report = step(model, state, None, StepSettings(h=1e-2))
        assert sum(report.energy) == pytest.approx(energy, rel=KEPT)
        assert len(report.pieces) <= 4 + 2 + 2 * 16


@pytest.mark.parametrize("seed", range(8))
def test_no_impact_gains_energy(seed):
    """Boxes and balls with friction and restitution, thrown together. Newton's law alone gains energy there."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(gravity=(0, 0, -G if seed % 2 else 0.0))
    material = Material(rng.uniform(0.2, 1.5), rng.uniform(0.5, 1.0))
    if seed % 2:
        builder.fixed(shapes=[Plane()], material=material)
    for k in range(4):
        place = np.array([0.35 * (k % 2), 0.35 * (k // 2), 0.4]) + rng.uniform(-0.02, 0.02, 3)
        shape = Sphere(0.12) if rng.random() < 0.3 else Box(tuple(rng.uniform(0.08, 0.25, 3)))
        builder.body(
            position=place,
            velocity=4.0 * ((0.175, 0.175, 0.4) - place),
            angular_velocity=rng.normal(size=3) * 5,
            density=10 ** rng.uniform(2.5, 3.5),
            shapes=[shape],
            orientation=rotation_exp(rng.normal(size=3)),
            material=material,
        )
    model, state = builder.build()
    energy, settings = energy_of(model, state), StepSettings(h=10 ** rng.uniform(-3, -2))
    for _ in range(round(0.3 / settings.h)):
        state, report = step(model, state, None, settings)
        impacts = [part for part in report.pieces if part.h == 0.0]
        assert report.solution.converged
        for part in impacts:
            before = report.pieces[report.pieces.index(part) - 1] if part is not report.pieces[0] else None
            gained = sum(part.energy) - (energy if before is None else sum(before.energy))
            assert gained <= 1e-8 * sum(part.energy[:1])
        energy = sum(report.energy)


def test_the_reactions_of_a_divided_step_are_all_its_impulses():
    """Momentum balances over the pieces, in the report and in the forces that a world shows."""
    builder, material = ModelBuilder(), Material(0.3, 0.7)
    builder.fixed("ground", shapes=[Plane()], material=material)
    turned = rotation_exp([0.3, 0.2, 0.1])
    builder.body(
        "box",
        position=(0, 0, 0.2),
        velocity=(1, 0, -2),
        mass=2.0,
        shapes=[Box((0.2,) * 3)],
        material=material,
        orientation=turned,
    )
    world = World(*builder.build(), h=5e-3)
    divided = 0
    for _ in range(60):
        before = world.state.u[0, :3].copy()
        world.step()
        divided += bool(world.report.pieces)
        pressed = sum((contact.force for contact in world.contacts), np.zeros(3))
        weight = np.array([0.0, 0.0, -2.0 * G])
        assert 2.0 * (world.state.u[0, :3] - before) == pytest.approx(5e-3 * (weight - pressed), abs=1e-9)
    assert divided >= 3


def test_compiled_steps_leave_bounces_to_the_divided_ones():
    """The same bits by `World.run` and by `step`."""
    for build in (lambda: SCENES["bouncing-ball"].build(), lambda: heap(2)):
        setup = build()
        model, start = (setup.model, setup.state) if hasattr(setup, "model") else setup
        world, state, memory = World(model, start, h=1e-3), start, Memory()
        world.run(steps=500)
        for _ in range(500):
            state, _ = step(model, state, None, world.settings, memory)
        assert np.array_equal(world.state.q, state.q)
        assert np.array_equal(world.state.u, state.u)
