"""Drives of limited effort, dry friction under every law, limits that bounce, limits that stop prescribed motion."""

from itertools import product

import numpy as np
import pytest
from motion import simulate

from delassus.builder import Imposed, Material, ModelBuilder, Motor
from delassus.dynamics import Inputs
from delassus.errors import ProblemError
from delassus.shapes import Box, Capsule, Plane, Sphere

G = 9.81
LAWS = ["ncp", "ccp", "frictionless"]


def arm(**joint):
    """A rod of 1 kg and 1 m, level, hinged at one end; positive angles are downwards."""
    builder = ModelBuilder()
    rod = builder.body("rod", position=(0.5, 0, 0), mass=1.0, inertia=(1e-3, 1 / 12, 1 / 12))
    builder.joint("revolute", None, rod, position=(0, 0, 0), axis=(0, 1, 0), name="hinge", **joint)
    return builder.build()


def slider(speed=0.0, gravity=0.0, **joint):
    """A block of 2 kg on a rail along x."""
    builder = ModelBuilder(gravity=(gravity, 0, 0))
    block = builder.body("block", mass=2.0, inertia=(1.0, 1.0, 1.0), velocity=(speed, 0, 0))
    builder.joint("prismatic", None, block, axis=(1, 0, 0), name="rail", **joint)
    return builder.build()


def chain(seed):
    """Three rods with motors of limited effort, damping and dry friction, thrown into the air."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder()
    before = None
    for k in range(3):
        now = builder.body(position=(k + 0.5, 0, 0), mass=10 ** rng.uniform(-1, 1), inertia=(0.02, 0.1, 0.1))
        builder.joint(
            "revolute",
            before,
            now,
            position=(k, 0, 0),
            axis=rng.normal(size=3),
            friction=rng.choice([0.0, 1.0, 5.0]),
            damping=rng.choice([0.0, 0.3]),
            motor=Motor(10 ** rng.uniform(1, 5), 10 ** rng.uniform(-1, 2), effort=10 ** rng.uniform(-1, 2)),
        )
        before = now
    return builder.build(), rng.normal(size=3)


def clipped(report):
    """(reactions of bounded rows, what their own law at the new velocities, cut off at the bounds, gives) [N s]."""
    rows = report.rows
    at = np.flatnonzero(np.isfinite(rows.bound))
    u = report.solution.body_velocities.reshape(-1, 6)
    block = np.searchsorted(rows.cone.block_start, at, side="right") - 1
    v = np.array(
        [
            sum(rows.rows[i, 6 * s : 6 * s + 6] @ u[b] for s, b in enumerate(rows.bodies[k]) if b >= 0)
            for i, k in zip(at, block)
        ]
    )
    own = -(v + rows.bias[at]) / rows.compliance[at]
    return report.solution.reactions[at], np.clip(own, -rows.bound[at], rows.bound[at]), rows.bound[at]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("seed", range(4))
def test_effort_is_the_motors_own_torque_cut_off_at_its_limit(seed, law):
    """λ = clip(h τ(v⁺), ±h τ_max) with the torque of the motor's law at the new velocities, for all motors at once."""
    (model, state), target = chain(seed)
    held = 0
    run = simulate(model, state, 0.06, h=1e-3, law=law, inputs=lambda t: {"target": target})
    assert run.all_converged
    for report in run.reports:
        found, expected, bound = clipped(report)
        stiff = report.rows.compliance[np.isfinite(report.rows.bound)] < 1e-6  # of dry friction: v = 0 is a rounding
        assert np.all(np.abs(found) <= bound * (1 + 1e-9))
        np.testing.assert_allclose(found[~stiff], expected[~stiff], atol=1e-6 * bound[~stiff].max())
        held += int((np.abs(found) > bound * (1 - 1e-9)).sum())
    assert held > 20, "some are at their limits"


@pytest.mark.parametrize(
    ("solver", "law"),
    [("nbgs", "ncp"), ("admm-ncp-sa", "ncp"), ("nbgs-direct", "ncp"), ("pgs-ccp", "ccp"), ("ipm", "ccp")],
)
def test_limited_effort_with_other_solvers(solver, law):
    (model, state), target = chain(1)
    run = simulate(model, state, 0.01, h=1e-3, law=law, solver=solver, inputs=lambda t: {"target": target})
    assert run.all_converged
    for report in run.reports:
        found, expected, bound = clipped(report)
        np.testing.assert_allclose(found, expected, atol=1e-6 * bound.max())


@pytest.mark.parametrize("seed", range(6))
def test_held_rows_are_those_of_a_search_through_all_choices(seed):
    """Every combination of free, at the upper and at the lower bound, solved densely: only one obeys the law."""
    (model, state), target = chain(seed + 10)
    run = simulate(model, state, 0.02, h=1e-3, inputs=lambda t: {"target": target})
    for report in run.reports[::5]:
        rows, problem = report.rows, report.problem
        n = len(state.q)
        J = np.zeros((len(rows.rows), 6 * n))
        for k, pair in enumerate(rows.bodies):
            for i in range(rows.cone.block_start[k], rows.cone.block_start[k + 1]):
                for s, b in enumerate(pair):
                    if b >= 0:
                        J[i, 6 * b : 6 * b + 6] = rows.rows[i, 6 * s : 6 * s + 6]
        H = problem.delassus.mass_matrix().toarray()
        at = np.flatnonzero(np.isfinite(rows.bound))
        bias = np.where(
            np.isfinite(rows.bound), rows.bias, problem.bias
        )  # joints: with their share of gyroscopic terms
        found = report.solution.reactions[at]
        held = np.where(np.abs(found) > rows.bound[at] * (1 - 1e-9), np.sign(found), 0.0)
        free = problem.u_f - np.linalg.solve(H, J[at].T @ (held * rows.bound[at]))
        D = J @ np.linalg.solve(H, J.T) + np.diag(rows.compliance)
        v_f = J @ free + bias
        fits = []
        for sides in product((-1.0, 0.0, 1.0), repeat=len(at)):
            reactions = np.zeros(len(bias))
            fixed = at[np.array(sides) != 0.0]
            reactions[at] = np.array(sides) * rows.bound[at]
            open_rows = np.setdiff1d(np.arange(len(bias)), fixed)
            known = v_f[open_rows] + D[np.ix_(open_rows, fixed)] @ reactions[fixed]
            reactions[open_rows] = np.linalg.solve(D[np.ix_(open_rows, open_rows)], -known)
            w = D @ reactions + v_f
            if np.all(np.abs(reactions[at]) <= rows.bound[at] * (1 + 1e-9)) and np.all(w[at] * sides <= 1e-9):
                fits.append(reactions[at])
        assert len(fits) >= 1
        for reactions in fits:
            np.testing.assert_allclose(reactions, report.solution.reactions[at], atol=1e-6 * rows.bound[at].max())


def crawler(seed):
    """Up to six capsules on the ground, joined by hinges with motors, servos, dry friction and limits, and targets."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder()
    material = Material(rng.uniform(0, 1))
    builder.fixed(shapes=[Plane()], material=material)
    before = None
    for k in range(int(rng.integers(2, 7))):
        now = builder.body(
            position=(0.2 * k + 0.1, 0, 0.12),
            mass=10 ** rng.uniform(-1.5, 1.5),
            material=material,
            shapes=[Capsule(0.04, 0.1)],
            orientation=(np.sqrt(0.5), 0, np.sqrt(0.5), 0),
        )
        if before is not None:
            gains = 10 ** rng.uniform(1, 6), 10 ** rng.uniform(-1, 3), 10 ** rng.uniform(-1, 1.5)
            servo = Imposed(10 ** rng.uniform(-1, 1.5))
            builder.joint(
                "revolute",
                before,
                now,
                position=(0.2 * k, 0, 0.12),
                axis=rng.normal(size=3),
                damping=rng.choice([0, 0.05]),
                friction=rng.choice([0, 0.1, 1]),
                motor=[None, Motor(*gains), servo][int(rng.integers(3))],
                limits=(limits := (-0.5, 0.5) if rng.random() < 0.4 else None),
                limit_restitution=rng.choice([0.0, 0.5]) * (limits is not None),
            )
        before = now
    return builder.build(), rng.normal(size=len(builder.joints))


def crawls(seed, law):
    (model, state), a = crawler(seed)
    return simulate(
        model,
        state,
        0.15,
        h=1e-3,
        law=law,
        inputs=lambda t: {"target": a * np.sin(5 * t), "target_rate": 5 * a * np.cos(5 * t)},
    )


@pytest.mark.parametrize(("seed", "law"), [(7, "ncp"), (39, "ncp"), (25, "ccp"), (40, "frictionless")])
def test_rows_next_to_their_bounds_do_not_go_to_and_fro(seed, law):
    """Beyond the bound by less than the solve's tolerance, then held the wrong way: steps without end."""
    assert crawls(seed, law).all_converged


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_bounded_rows_settle_in_every_step_of_many_mechanisms(law):
    """22 500 steps under each law."""
    stalled = []
    for seed in range(150):
        run = crawls(seed, law)
        stalled += [(seed, k) for k, report in enumerate(run.reports) if not report.solution.converged]
        assert np.abs(run.u()).max() < 100.0, seed
    assert stalled == []


@pytest.mark.parametrize("law", LAWS)
def test_weak_motor_gives_all_it_has_and_falls(law):
    """2 N m against 4.905: the arm starts down with (4.905 − 2)/I, whatever the gains."""
    run = simulate(*arm(motor=Motor(1e6, 1e4, effort=2.0)), 0.02, h=1e-3, law=law)
    assert run.all_converged
    assert run.u()[-1, 4] == pytest.approx((0.5 * G - 2.0) * 3.0 * 0.02, rel=5e-3)
    assert run.reports[-1].held_back == ("hinge.angle",)


def test_strong_enough_motor_is_not_held_back():
    with_limit, without = (
        simulate(*arm(motor=m), 0.1, h=1e-3) for m in (Motor(1e3, 1e1, effort=20.0), Motor(1e3, 1e1))
    )
    assert np.array_equal(with_limit.states[-1].q, without.states[-1].q)
    assert all(report.held_back == () for report in with_limit.reports)


def test_damping_of_the_joint_does_not_count_against_the_motor():
    """At constant speed the motor gives its 3 N and the bearing takes 4 N s/m of it: 0.75 m/s."""
    run = simulate(
        *slider(damping=4.0, motor=Motor(0.0, 1e5, effort=3.0)), 6.0, h=1e-2, inputs=lambda t: {"target_rate": [5.0]}
    )
    assert run.u()[-1, 0] == pytest.approx(0.75, rel=1e-4)


@pytest.mark.parametrize("law", LAWS)
def test_dry_friction_of_joints_under_every_law(law):
    """It holds m g l/2 = 4.905 N m at 5, and brakes with 2 when it slips."""
    held = simulate(*arm(friction=5.0), 0.3, h=1e-3, law=law)
    assert held.all_converged
    assert np.abs(held.u()).max() < 1e-6
    slipped = simulate(*arm(friction=2.0), 0.02, h=1e-3, law=law)
    assert slipped.u()[-1, 4] == pytest.approx((0.5 * G - 2.0) * 3.0 * 0.02, rel=5e-3)


@pytest.mark.parametrize("with_memory", [True, False])
def test_sliding_joint_stops_when_it_should(with_memory):
    """2 kg at 1 m/s braked by 4 N: half a second and a quarter of a metre, and then it stays."""
    run = simulate(*slider(speed=1.0, friction=4.0), 0.6, h=1e-3, warm_start=with_memory)
    assert run.q()[-1, 0] == pytest.approx(0.25, rel=5e-3)
    assert np.abs(run.u()[-50:]).max() < 1e-9
    assert run.u()[400, 0] == pytest.approx(0.2, rel=1e-6)


def test_imposed_motion_through_dry_friction_needs_the_friction():
    run = simulate(
        *slider(speed=0.5, friction=4.0, motor="imposed"),
        0.1,
        h=1e-2,
        inputs=lambda t: {"target": [0.5 * t], "target_rate": [0.5]},
    )
    assert run.all_converged
    assert run.u()[-1, 0] == pytest.approx(0.5, abs=1e-9)
    drive, friction = run.reports[-1].solution.reactions[-2:] / 1e-2
    assert friction == pytest.approx(-4.0, rel=1e-9)
    assert drive == pytest.approx(4.0, rel=1e-6)


@pytest.mark.parametrize("law", ["ncp", "ccp"])
def test_imposed_motion_of_limited_effort_pushes_a_wall_with_that_effort(law):
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.fixed(shapes=[Plane((-1.0, 0.0, 0.0), -0.1)], material=Material(0.5))
    block = builder.body(mass=1.0, shapes=[Box((0.1, 0.1, 0.1))])
    builder.joint("prismatic", None, block, axis=(1, 0, 0), name="rail", motor=Imposed(effort=20.0))
    run = simulate(*builder.build(), 0.4, h=1e-3, law=law, inputs=lambda t: {"target": [t], "target_rate": [1.0]})
    assert run.all_converged
    last = run.reports[-1]
    normal = last.solution.reactions[last.rows.cone.contact_start :].reshape(-1, 3)[:, 0].sum() / 1e-3
    assert normal == pytest.approx(20.0, rel=1e-4)
    assert last.held_back == ("rail.position",)
    assert run.q()[:, 0].max() < 0.0501


def test_servo_of_finite_strength_reaches_its_target_and_stays():
    run = simulate(*arm(motor=Imposed(effort=15.0)), 3.0, h=2e-3, inputs=lambda t: {"target": [-1.0]})
    angle = np.array([report.rows.coordinates[0] for report in run.reports])
    assert run.all_converged
    assert angle.min() > -1.1, "hardly any overshoot"
    assert np.abs(angle[-200:] + 1.0).max() < 1e-6


@pytest.mark.parametrize("scheme", ["moreau", "euler"])
@pytest.mark.parametrize("effort", [np.inf, 500.0])
def test_imposed_motion_stops_at_the_joints_limits(effort, scheme):
    """The target goes to ±1 m, the rail ends at ±0.2 m: it waits there and comes back with the target."""
    run = simulate(
        *slider(speed=4.0, limits=(-0.2, 0.2), motor=Imposed(effort)),
        2.0,
        h=2e-3,
        integrator=scheme,
        inputs=lambda t: {"target": [np.sin(4 * t)], "target_rate": [4 * np.cos(4 * t)]},
    )
    assert run.all_converged
    x = run.q()[:, 0]
    assert np.abs(x).max() < 0.2 + 1e-5
    inside = np.abs(np.sin(4 * run.t)) < 0.15
    late = np.abs(x - np.sin(4 * run.t))[inside]
    assert np.quantile(late, 0.5) < 1e-3
    told = np.array([report.held_back == ("rail.position",) for report in run.reports])
    assert told[np.abs(np.sin(4 * run.t[:-1])) > 0.25].all()


@pytest.mark.parametrize("restitution", [0.0, 0.3, 0.8, 1.0])
def test_limit_bounces_with_newtons_restitution(restitution):
    run = simulate(*slider(speed=1.0, limits=(-1, 0.1005), limit_restitution=restitution), 0.2, h=1e-3)
    assert run.u()[-1, 0] == pytest.approx(-restitution, abs=1e-9)
    assert run.q()[:, 0].max() < 0.1005 + 1e-6


@pytest.mark.parametrize("scheme", ["moreau", "euler"])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("h", [1e-3, 1e-2])
def test_limits_within_the_first_half_of_a_step_give_no_speed(h, restitution, scheme):
    """Pushed back through the velocities it left 1 m/s faster than it should."""
    upper, speed = 0.2 * h * 100.0, 100.0
    model, state = slider(speed=speed, limits=(-10.0, upper), limit_restitution=restitution)
    run = simulate(model, state, 5 * h, h=h, integrator=scheme)
    assert run.u()[-1, 0] == pytest.approx(-restitution * speed, abs=1e-6)
    assert max(s.coordinates(model)[0] for s in run.states) < upper + 1e-9


@pytest.mark.parametrize("scheme", ["moreau", "euler"])
@pytest.mark.parametrize("restitution", [0.0, 1.0])
def test_slider_knocked_against_its_limit_gains_no_energy(restitution, scheme):
    """Its limit is no row of the step that hits it: it has no speed yet."""
    builder, material = ModelBuilder(gravity=(0, 0, 0)), Material(0.0, restitution=restitution)
    builder.body("slider", mass=1.0, shapes=Sphere(0.02), material=material)
    builder.joint("prismatic", None, "slider", axis=(1, 0, 0), limits=(-10, 0.004), limit_restitution=restitution)
    start = {"position": (-0.0901, 0, 0), "velocity": (20, 0, 0)}
    builder.body("hammer", **start, mass=1.0, shapes=Sphere(0.02), material=material)
    model, state = builder.build()
    run = simulate(model, state, 0.1, h=1e-3, integrator=scheme)
    speeds = np.array([s.u[:, 0] for s in run.states])
    assert (speeds**2).sum(axis=1).max() <= 400.0 * (1.0 + 1e-9)
    assert speeds[-1] == pytest.approx([0.0, -20.0 * restitution], abs=1e-6)
    assert all(report.ok for report in run.reports), "also at rest, where speeds of 1e-165 m/s stalled"


def test_elastic_limits_keep_energy():
    """A block that bounces for ever on the end of its rail, under gravity."""
    run = simulate(*slider(gravity=-G, limits=(-0.3, 5.0), limit_restitution=1.0), 3.0, h=1e-3)
    assert np.abs(run.u()[:, 0]).max() > 2.0, "it bounces"
    energy = run.energy
    assert np.ptp(energy) < 1e-9 * 2.0 * G * 0.3 + 1e-9
    assert run.q()[:, 0].min() > -0.3 - 1e-2


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"limit_restitution": 1.5, "limits": (-1, 1)}, "limit_restitution is 1.5"),
        ({"limit_restitution": 0.5}, "limit_restitution is given and no limits"),
        ({"limit_restitution": [0.1, 0.2]}, "limit_restitution is .* it must be finite and not negative, one number"),
    ],
)
def test_impossible_drives_are_refused(wrong, words):
    with pytest.raises(ProblemError, match=words):
        arm(**wrong)


def test_a_target_that_nothing_follows_is_refused():
    model, _ = arm(motor=None)
    name = model.joints.coordinate_names[0]
    with pytest.raises(ProblemError, match="which has no motor"):
        Inputs.of(model, target={name: 0.5})
    assert not Inputs.of(model, target={name: 0.0}).target.any()
