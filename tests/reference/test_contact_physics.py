"""Scenes with known answers: sliding, sticking, bouncing, rolling, colliding."""

import numpy as np
import pytest
from motion import simulate

from delassus.builder import Material, ModelBuilder
from delassus.shapes import Box, Plane, Sphere
from delassus.spatial import rotation_exp

G = 9.81
SOLVED = 1e-6  # relative accuracy asked of every solve, and so of what follows from it


def block_on_incline(angle, mu, *, velocity=(0, 0, 0), size=(0.2, 0.2, 0.1)):
    """A box on level ground with tilted gravity: the same mechanics without geometry in the way."""
    builder = ModelBuilder(gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
    builder.fixed(shapes=[Plane()], material=Material(mu))
    builder.body(position=(0, 0, size[2] / 2), mass=2.0, shapes=[Box(size)], material=Material(mu), velocity=velocity)
    return builder.build()


@pytest.mark.parametrize("mu", [0.2, 0.5, 0.9])
def test_block_slides_with_the_textbook_acceleration(mu):
    """tan θ > μ: a = g (sin θ − μ cos θ). The block is flat enough not to tip."""
    angle = np.arctan(mu) + 0.15
    run = simulate(*block_on_incline(angle, mu, size=(0.4, 0.4, 0.05)), 0.2, h=2e-3)
    expected = G * (np.sin(angle) - mu * np.cos(angle))
    assert run.all_converged
    assert run.u()[-1, 0] / run.t[-1] == pytest.approx(expected, rel=SOLVED)
    assert np.abs(run.u()[:, 1:]).max() < SOLVED * G * 0.2


@pytest.mark.parametrize("mu", [0.2, 0.5, 0.9])
def test_block_sticks_below_the_friction_angle(mu):
    angle = np.arctan(mu) - 0.02
    run = simulate(*block_on_incline(angle, mu, size=(0.4, 0.4, 0.05)), 0.2, h=2e-3)
    assert run.all_converged
    assert np.abs(run.u()).max() < SOLVED * G * 0.2


def test_resting_block_does_not_creep_in_ten_seconds():
    """Lateral load at 90 % of the cone: Coulomb's law has no creep, and neither has its exact solution."""
    model, state = block_on_incline(0.0, 0.5, size=(0.4, 0.4, 0.05))
    load = np.array([[0.9 * 0.5 * 2.0 * G, 0, 0, 0, 0, 0]])
    run = simulate(model, state, 10.0, h=5e-3, inputs=lambda t: {"wrench": load})
    moved = np.linalg.norm(run.q()[-1, :3] - run.q()[0, :3])
    assert run.all_converged
    # every solve may leave 1e-6 of h g as velocity; ten seconds of that, all in one direction, is the worst case
    assert moved < SOLVED * 5e-3 * G * 10.0
    assert moved < 1e-9 * 10.0, "in fact far less: below a nanometre per second"


def test_block_slows_down_and_stops_for_good():
    run = simulate(*block_on_incline(0.0, 0.3, velocity=(1.0, 0, 0), size=(0.4, 0.4, 0.05)), 0.5, h=1e-3)
    assert run.u()[200, 0] == pytest.approx(1.0 - 0.3 * G * 0.2, abs=1e-5)
    assert np.abs(run.u()[-1]).max() < 1e-6
    assert run.q()[-1, 0] == pytest.approx(1.0 / (2 * 0.3 * G), rel=5e-3)  # first order in h


@pytest.mark.parametrize("restitution", [0.0, 0.5, 0.9])
def test_ball_bounces_to_restitution_squared(restitution):
    builder = ModelBuilder()
    material = Material(0.3, restitution)
    builder.fixed(shapes=[Plane()], material=material)
    height = 0.5
    builder.body(position=(0, 0, 0.1 + height), mass=1.0, shapes=[Sphere(0.1)], material=material)
    run = simulate(*builder.build(), 1.0, h=2e-4)
    z = run.q()[:, 2] - 0.1
    hit = int(np.argmax(z < 1e-3))
    assert z[hit + 5 :].max() == pytest.approx(restitution**2 * height, abs=2e-3 * height)  # first order in h
    assert z.min() > -1e-6


def test_sliding_sphere_ends_rolling_at_five_sevenths():
    builder = ModelBuilder()
    builder.fixed(shapes=[Plane()], material=Material(0.4))
    builder.body(position=(0, 0, 0.1), mass=3.0, shapes=[Sphere(0.1)], material=Material(0.4), velocity=(1.0, 0.5, 0))
    run = simulate(*builder.build(), 0.3, h=1e-3)
    v, w = run.u()[-1, :3], run.u()[-1, 3:]
    assert v[:2] == pytest.approx([5 / 7, 0.5 * 5 / 7], rel=1e-6)
    assert np.abs(v + np.cross(w, [0, 0, -0.1])).max() < 1e-6, "rolls without slipping"


def test_rolling_distance_converges_at_first_order():
    """Position of the sphere after the transition from sliding to rolling, against the exact one, halving h."""
    v0, mu, T = 1.0, 0.4, 0.2
    t_roll = 2 * v0 / (7 * mu * G)
    exact = v0 * t_roll - 0.5 * mu * G * t_roll**2 + 5 / 7 * v0 * (T - t_roll)
    errors = []
    for h in (4e-3, 2e-3, 1e-3, 5e-4):
        builder = ModelBuilder()
        builder.fixed(shapes=[Plane()], material=Material(mu))
        builder.body(position=(0, 0, 0.1), mass=3.0, shapes=[Sphere(0.1)], material=Material(mu), velocity=(v0, 0, 0))
        run = simulate(*builder.build(), T, h=h)
        errors.append(abs(run.q()[-1, 0] - exact))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert errors[-1] < 1e-3
    assert np.mean(orders) > 0.8


def test_free_collisions_conserve_momentum():
    """Two spinning spheres and a box collide in empty space."""
    from delassus.dynamics import momentum_of

    builder = ModelBuilder(gravity=(0, 0, 0))
    rough = Material(0.6, 0.5)
    builder.body(
        position=(0, 0, 0),
        mass=1.0,
        shapes=[Sphere(0.2)],
        velocity=(1, 0, 0),
        material=rough,
        angular_velocity=(0, 9, 3),
    )
    builder.body(position=(0.6, 0.1, 0), mass=2.0, shapes=[Sphere(0.2)], velocity=(-1, 0, 0), material=rough)
    builder.body(position=(0.3, 0.5, 0), mass=1.5, shapes=[Box((0.3, 0.2, 0.3))], velocity=(0, -1.5, 0), material=rough)
    model, state = builder.build()
    run = simulate(model, state, 0.6, h=1e-3)
    touched = max(len(r.contacts) for r in run.reports)
    first, last = (momentum_of(model, s.rotation, s.position, s.u) for s in (run.states[0], run.states[-1]))
    assert touched >= 1
    assert last[:3] == pytest.approx(first[:3], abs=1e-10)
    assert last[3:] == pytest.approx(first[3:], abs=5e-3)  # bodies turn while they touch: first order in h


def test_table_legs_share_the_load_as_statics_says():
    """Four legs are hyperstatic: single forces are not unique, their resultant and moment are."""
    builder = ModelBuilder()
    builder.fixed(shapes=[Plane()])
    legs = [(Sphere(0.05), (x, y, -0.4)) for x in (-0.5, 0.5) for y in (-0.3, 0.3)]
    builder.body(position=(0, 0, 0.45), mass=10.0, inertia=(2, 2, 2), shapes=legs)
    run = simulate(*builder.build(), 0.05, h=1e-3)
    report = run.reports[-1]
    force = report.solution.reactions.reshape(-1, 3)[:, 0] / 1e-3
    point = report.contacts.point
    assert len(force) == 4
    assert force.sum() == pytest.approx(10.0 * G, rel=1e-5)
    assert force @ point[:, 0] == pytest.approx(0.0, abs=1e-4)
    assert force @ point[:, 1] == pytest.approx(0.0, abs=1e-4)
    assert (force > 0).all()


def test_painleve_rod_has_a_solution_at_every_step():
    """A rod sliding into a steep corner with μ = 2: forces alone would be inconsistent, impulses are not."""
    angle, length = 1.2, 1.0
    builder = ModelBuilder()
    builder.fixed(shapes=[Plane()], material=Material(2.0))
    builder.body(
        position=(0, 0, 0.5 * length * np.sin(angle) + 0.01),
        orientation=rotation_exp((0, -angle, 0)),
        mass=1.0,
        inertia=(1e-3, 1.0 / 12.0, 1.0 / 12.0),
        shapes=[(Sphere(0.01), (-0.5 * length, 0, 0))],
        velocity=(-8.0, 0, 0),
        material=Material(2.0),
    )
    run = simulate(*builder.build(), 0.05, h=1e-4)
    assert run.all_converged
    assert max(r.penetration for r in run.reports) < 1e-6
    assert np.diff(run.energy).max() < 1e-9, "friction and impact only dissipate"
