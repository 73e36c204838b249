"""Steps of flexible bodies: what they keep, how they converge, what holds them, and where rigid bodies go meanwhile."""

from dataclasses import replace

import numpy as np
import pytest

from delassus import fem
from delassus.builder import ModelBuilder
from delassus.dynamics.forces import total_energy
from delassus.dynamics.implicit import Implicit
from delassus.errors import ProblemError
from delassus.shapes import Box, Plane, Sphere
from delassus.simulation import Memory, StepSettings, equilibrate, step

RUBBER = fem.Elastic(young=1e5, poisson=0.3, density=1000.0)
_G = 9.81


def block(builder, name="block", cells=(2, 2, 2), elastic=RUBBER, **more):
    return builder.flexible(name, fem.block(size=(0.2, 0.2, 0.2), cells=cells), elastic, **more)


def taken(model, state, settings, count, inputs=None):
    memory, reports = Memory(), []
    for _ in range(count):
        state, report = step(model, state, inputs, settings, memory)
        reports.append(report)
    return state, reports


def momenta(model, state):
    """Linear and angular momentum of the nodes (2, 3)."""
    p = model.flexible.elements.mass_times(state.node_velocity)
    return np.array([p.sum(axis=0), np.cross(state.nodes, p).sum(axis=0)])


@pytest.mark.parametrize("integrator", ["euler", "moreau"])
def test_free_flight_keeps_momentum_and_the_centre_of_mass_falls_as_a_point(integrator):
    builder = ModelBuilder()
    block(
        builder, velocity=(1.0, 0.0, 2.0), angular_velocity=(3.0, -2.0, 1.0), elastic=replace(RUBBER, damping=(0, 0.01))
    )
    model, state = builder.build()
    before, mass = momenta(model, state), model.flexible.elements.nodal_mass
    settings = StepSettings(h=2e-3, integrator=integrator)
    after, reports = taken(model, state, settings, 50)
    assert all(report.ok for report in reports)
    t = after.t
    linear = momenta(model, after)[0] - before[0]
    assert linear == pytest.approx([0.0, 0.0, -_G * t * mass.sum()], abs=1e-9)
    fall = 0.5 * _G * t * (t + (settings.h if integrator == "euler" else 0.0))
    centre = mass @ (after.nodes - state.nodes) / mass.sum()
    assert centre == pytest.approx([t, 0.0, 2.0 * t - fall], abs=1e-9)


def test_angular_momentum_is_kept_to_the_order_of_the_scheme():
    builder = ModelBuilder(gravity=(0, 0, 0))
    block(builder, angular_velocity=(0.0, 0.0, 5.0))
    model, state = builder.build()
    lost = []
    for h in (4e-3, 2e-3):
        after, _ = taken(model, state, StepSettings(h=h), round(0.08 / h))
        lost.append(np.linalg.norm(momenta(model, after)[1] - momenta(model, state)[1]))
    assert lost[1] < lost[0] / 3.0  # of second order
    assert lost[1] < 1e-2 * np.linalg.norm(momenta(model, state)[1])


@pytest.mark.parametrize(("integrator", "order"), [("euler", 1), ("moreau", 2)])
def test_a_clamped_beam_converges_with_the_order_of_the_scheme(integrator, order):
    builder = ModelBuilder()
    mesh = fem.block(size=(0.5, 0.1, 0.1), cells=(4, 1, 1))
    beam = builder.flexible("beam", mesh, fem.Elastic(young=1e6, poisson=0.3, density=1000.0))
    builder.weld(beam, "x-")
    model, state = builder.build()
    tip = model.flexible.sets["beam.x+"]
    ends = []
    for h in (2e-3, 1e-3, 5e-4, 2.5e-4):
        after, _ = taken(model, state, StepSettings(h=h, integrator=integrator, tol=1e-12), round(0.064 / h))
        ends.append(after.nodes[tip, 2].mean())
    changes = np.abs(np.diff(ends))
    rates = np.log2(changes[:-1] / changes[1:])
    print("rates", rates)
    assert rates[-1] > order - 0.3


def test_the_midpoint_rule_keeps_the_energy_of_a_swinging_beam():
    builder = ModelBuilder()
    beam = builder.flexible("beam", fem.block(size=(0.5, 0.1, 0.1), cells=(4, 1, 1)), fem.Elastic(1e6, 0.3, 1000.0))
    builder.weld(beam, "x-")
    model, state = builder.build()
    start = sum(total_energy(model, state))
    _, reports = taken(model, state, StepSettings(h=2e-3), 200)
    energies = np.array([report.energy for report in reports])
    assert np.abs(energies.sum(axis=1) - start).max() < 2e-3 * energies[:, 0].max()


def test_h_is_mass_plus_stiffness_and_damping_by_finite_differences():
    builder = ModelBuilder()
    block(builder, cells=(1, 1, 1), elastic=replace(RUBBER, damping=(0.3, 0.02)))
    model, state = builder.build()
    rng = np.random.default_rng(0)
    state = replace(state, nodes=state.nodes + 0.01 * rng.standard_normal(state.nodes.shape))
    implicit, h, theta, n = Implicit.of(model), 0.01, 0.7, state.nodes.size
    made = implicit.linearise(model, np.zeros((0, 6, 6)), state, np.zeros(n), h, theta, "exact", state)
    H = implicit.matrix(made.H).toarray()

    def impulse(x, v):
        there = replace(state, nodes=x.reshape(-1, 3), node_velocity=v.reshape(-1, 3))
        return implicit.linearise(model, np.zeros((0, 6, 6)), there, None, h, theta, "exact", there).momentum

    x, v, e = state.nodes.ravel(), state.node_velocity.ravel(), 1e-6
    mass = np.repeat(model.flexible.elements.nodal_mass, 3)
    wanted = np.diag(mass)
    for j in range(n):
        d = e * np.eye(n)[j]
        wanted[:, j] -= theta**2 * h * (impulse(x + d, v) - impulse(x - d, v)) / (2 * e)
        wanted[:, j] -= theta * (impulse(x, v + d) - impulse(x, v - d)) / (2 * e)
    assert pytest.approx(wanted, abs=1e-7 * np.abs(wanted).max()) == H


def test_the_world_carries_what_it_holds_and_held_nodes_stay():
    builder = ModelBuilder()
    held = block(builder)
    builder.weld(held, "z+")
    builder.load(held, "z-", (5.0, 0.0, 0.0))
    model, state = builder.build()
    rest = equilibrate(model, state)
    settings = StepSettings(h=2e-3, tol=1e-11)
    after, reports = taken(model, rest, settings, 3)
    report = reports[-1]
    reaction = report.solution.reactions.reshape(-1, 3).sum(axis=0) / settings.h
    weight = _G * model.flexible.elements.nodal_mass.sum()
    assert reaction == pytest.approx([-5.0, 0.0, weight], abs=1e-6 * weight)
    top = model.flexible.sets["block.z+"]
    assert np.array_equal(after.nodes[top], state.nodes[top])
    assert np.abs(after.nodes - rest.nodes).max() < 1e-8


def test_nodes_welded_to_a_body_move_with_it_and_push_back():
    """A rigid plate on a soft leg: what the plate does, the nodes do, and momentum goes from one to the other."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    leg = block(builder)
    plate = builder.body(
        "plate",
        mass=2.0,
        inertia=(0.02, 0.02, 0.02),
        position=(0, 0, 0.15),
        velocity=(1.0, 0.0, 0.0),
        angular_velocity=(0.0, 4.0, 1.0),
    )
    builder.weld(leg, "z+", to=plate)
    model, state = builder.build()
    after, reports = taken(model, state, StepSettings(h=2e-3, tol=1e-10), 40)
    assert all(report.ok for report in reports)
    total = model.mass[0] * after.u[0, :3] + momenta(model, after)[0]
    assert total == pytest.approx([2.0, 0.0, 0.0], abs=1e-8)
    top, R = model.flexible.sets["block.z+"], after.rotation[0]
    arms = state.nodes[top] - state.position[0]
    assert after.nodes[top] == pytest.approx(after.position[0] + arms @ R.T, abs=1e-12)
    assert np.ptp(after.nodes - state.nodes, axis=0).max() > 1e-2  # it did bend


def test_rigid_bodies_go_their_way_beside_a_flexible_one():
    def scene(flexible):
        builder = ModelBuilder()
        builder.fixed("ground", shapes=[Plane()])
        for k in range(2):
            builder.body(position=(0, 0, 0.1 + 0.21 * k), density=1000.0, shapes=[Box((0.2, 0.2, 0.2))])
        if flexible:
            block(builder, position=(5.0, 0.0, 1.0))
        return builder.build()

    ends = [taken(*scene(flexible), StepSettings(tol=1e-10), 100)[0] for flexible in (False, True)]
    assert ends[1].q == pytest.approx(ends[0].q, abs=1e-7)


@pytest.mark.parametrize("size", [1.0, 0.1, 0.01])
def test_a_block_slides_as_a_point_would(size):
    theta, mu = np.radians(35.0), 0.5
    builder = ModelBuilder()
    normal = np.array([np.sin(theta), 0.0, np.cos(theta)])
    builder.fixed("incline", shapes=[Plane(tuple(normal))], material=mu)
    turned = np.array([[np.cos(theta), 0, np.sin(theta)], [0, 1, 0], [-np.sin(theta), 0, np.cos(theta)]])
    mesh = fem.block(size=(size, size, 0.25 * size), cells=(3, 3, 1))
    builder.flexible(
        "block", mesh, fem.Elastic(1e6, 0.3, 1000.0), position=0.125 * size * normal, orientation=turned, material=mu
    )
    model, state = builder.build()
    settings, memory = StepSettings(h=0.005, integrator="euler"), Memory()
    mass, speeds = model.flexible.elements.nodal_mass, []
    for _ in range(120):
        state, report = step(model, state, None, settings, memory)
        assert report.ok
        speeds.append(mass @ state.node_velocity @ [np.cos(theta), 0.0, -np.sin(theta)] / mass.sum())
    measured = (speeds[-1] - speeds[60]) / (59 * settings.h)
    assert measured == pytest.approx(_G * (np.sin(theta) - mu * np.cos(theta)), rel=1e-5)


def test_a_ball_in_a_hollow_is_carried_and_forces_balance():
    builder = ModelBuilder()
    soft = block(builder, cells=(3, 3, 3), position=(0, 0, 0.1), material=0.3)
    builder.weld(soft, "z-")
    builder.body("ball", density=3000.0, shapes=[Sphere(0.05)], position=(0.012, 0.007, 0.2505), material=0.3)
    model, state = builder.build()
    rest = equilibrate(model, state)
    settings = StepSettings(h=2e-3, integrator="euler", tol=1e-10)
    after, reports = taken(model, rest, settings, 2)
    report = reports[-1]
    contacts, first = report.contacts, report.rows.cone.contact_start
    force = np.einsum("ki,kij->kj", report.solution.reactions[first:].reshape(-1, 3), contacts.frame) / settings.h
    carried = force[contacts.bodies[:, 1] == 0].sum(axis=0) - force[contacts.bodies[:, 0] == 0].sum(axis=0)
    assert carried == pytest.approx([0.0, 0.0, _G * model.mass[0]], abs=1e-5 * _G * model.mass[0])
    assert after.position[0, 2] < 0.249  # it sank in


def test_a_step_may_be_as_long_as_one_likes():
    """Neither the material nor the contact limits the step (Mangoni's thesis, ch. 3): a hard block at h = 0.1 s."""
    builder = ModelBuilder()
    builder.fixed("ground", shapes=[Plane()])
    block(builder, elastic=fem.Elastic(1e9, 0.3, 1000.0), position=(0, 0, 0.4))
    model, state = builder.build()
    after, reports = taken(model, state, StepSettings(h=0.1, integrator="euler"), 20)
    assert all(report.ok for report in reports)
    assert after.nodes[:, 2].min() > -1e-6
    assert np.abs(after.node_velocity).max() < 1e-3


def test_what_moves_for_ever_is_no_equilibrium():
    builder = ModelBuilder()
    block(builder, "falling")
    model, state = builder.build()
    with pytest.raises(ProblemError, match="'falling' still moves"):
        equilibrate(model, state, most=10)


def test_mistakes_are_named():
    builder = ModelBuilder()
    soft = block(builder)
    with pytest.raises(ProblemError, match=r"unknown set of nodes 'zz'"):
        builder.weld(soft, "zz")
    builder.weld(soft, "z-")
    with pytest.raises(ProblemError, match="node 0 of 'block' is held by the world already"):
        builder.weld(soft, [0])
    with pytest.raises(ProblemError, match="'blok' is no flexible body"):
        builder.load("blok", "z-", (0, 0, 1))
    with pytest.raises(ProblemError, match="give fem.Elastic"):
        builder.flexible("other", fem.block(), 1e5)
    model, state = builder.build()
    with pytest.raises(ProblemError, match="state has 0 nodes and the model 27"):
        step(model, replace(state, nodes=np.zeros((0, 3)), node_velocity=np.zeros((0, 3))))


def test_equilibrate_finds_where_a_limp_strip_hangs() -> None:
    """It turns by a right angle on its way: one round of Newton's method a step goes past it for ever."""
    builder = ModelBuilder()
    limp = fem.Elastic(young=1e5, poisson=0.3, density=1000.0)
    strip = builder.flexible("strip", fem.block(size=(1.0, 0.05, 0.05), cells=(12, 1, 1)), limp)
    builder.weld(strip, "x-")
    model, state = builder.build()
    rest = equilibrate(model, state, settings=StepSettings(theta=0.6))
    assert rest.nodes[:, 2].min() < -0.9
    after, _ = step(model, rest, None, StepSettings(h=5e-3, integrator="euler"), Memory())
    assert np.abs(after.node_velocity).max() < 1e-6


def test_equilibrate_says_what_a_force_of_ones_own_did_wrong() -> None:
    class Wrong:
        def force(self, at):
            return np.append(-10 * at.q[0, :3], np.zeros(3))

        def dq(self, at):
            return np.zeros((6, 6))

        dv = dq

    builder = ModelBuilder()
    builder.force(Wrong(), on=builder.body("ball", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(ProblemError, match="mend dq"):
        equilibrate(*builder.build())


def test_a_body_crushed_into_a_point_is_stepped_or_refused_in_words() -> None:
    builder = ModelBuilder()
    builder.flexible("cube", fem.block(size=(1, 1, 1), cells=(1, 1, 1)), fem.Elastic(1e5, 0.3, 1000.0))
    model, state = builder.build()
    crushed = replace(state, nodes=np.zeros_like(state.nodes))
    after, _ = step(model, crushed, None, StepSettings(), Memory())
    assert np.isfinite(after.nodes).all()


@pytest.mark.parametrize("is_quadratic", [False, True])
def test_tractions_of_the_builder_are_those_of_the_mesh(is_quadratic):
    """In quadratic faces the middles of the edges carry all of an even load."""
    builder = ModelBuilder()
    mesh = fem.block(size=(0.2, 0.2, 0.2), cells=(2, 2, 2))
    mesh = mesh.quadratic() if is_quadratic else mesh
    builder.flexible("block", mesh, RUBBER)
    builder.traction("block", "x+", (100.0, 0.0, 50.0))
    builder.traction("block", "z+", 200.0)
    model, _ = builder.build()
    wanted = mesh.traction("x+", (100.0, 0.0, 50.0)) + mesh.traction("z+", 200.0)
    assert model.flexible.load == pytest.approx(wanted, abs=1e-12)
    assert model.flexible.load.sum(axis=0) == pytest.approx([4.0, 0.0, 2.0 - 8.0], abs=1e-12)
