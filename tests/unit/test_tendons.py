"""Tendons: limits, springs, damping, friction and armature of lengths over joint coordinates."""

import itertools

import numpy as np
import pytest

import delassus
from delassus import Inputs, ModelBuilder, Spring, StepSettings, World
from delassus.dynamics.forces import lengths_of, total_energy
from delassus.errors import DelassusWarning

G = 9.81


def sliders(coefficients, masses, velocities=None, gravity=0.0, **words):
    """Bodies on slides along x, far apart in y, and a tendon over them: of two bodies as a row of twelve numbers, of
    more as a wide one."""
    builder = ModelBuilder(gravity=(gravity, 0, 0))
    for k, m in enumerate(masses):
        v = 0.0 if velocities is None else velocities[k]
        builder.body(f"b{k}", position=(0, k, 0), mass=m, inertia=(m, m, m), velocity=(v, 0, 0))
        builder.joint("prismatic", None, f"b{k}", axis=(1, 0, 0), name=f"s{k}")
    builder.tendon({f"s{k}": c for k, c in enumerate(coefficients)}, name="string", **words)
    return builder


def run(model, state, steps, h=1e-3, inputs=None, **settings):
    memory, given = delassus.Memory(), Inputs.of(model, **(inputs or {}))
    for _ in range(steps):
        state, report = delassus.step(model, state, given, StepSettings(h=h, **settings), memory)
        assert report.ok, report
    return state, report


@pytest.mark.parametrize("masses", [(1.0, 2.0), (1.0, 2.0, 0.5)])
@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e3])
def test_sliders_stop_where_their_tendon_ends(masses, side, scale):
    """c·q ≤ L, and the impulse is shared as the coefficients are: p = −(c·v)/(c·M⁻¹c), Δv = p c/m."""
    c = np.array([1.0, -0.5, 2.0][: len(masses)])
    v, m = side * np.array([1.0, -0.4, 0.3][: len(masses)]), np.array(masses)
    limits = (-np.inf, 0.2 * scale) if side > 0 else (-0.2 * scale, np.inf)
    model, state = sliders(scale * c, masses, v, limits=limits).build()
    assert model.is_implicit == (len(masses) > 2)
    after, _ = run(model, state, 400)
    length, rate = lengths_of(model, after)
    assert length[0] / scale == pytest.approx(side * 0.2, abs=1e-8)
    assert rate[0] / scale == pytest.approx(0.0, abs=1e-9)
    impulse = -(c @ v) / (c @ (c / m))
    np.testing.assert_allclose(m * (after.u[:, 0] - v), impulse * c, rtol=1e-8)


@pytest.mark.parametrize("count", [2, 3])
def test_a_tendon_bounces_with_its_restitution(count):
    c, m, v = np.array([1.0, 2.0, 1.0])[:count], np.array([1.0, 0.5, 3.0])[:count], np.array([1.0, 0.5, 0.2])[:count]
    model, state = sliders(c, m, v, limits=(-np.inf, 0.1), limit_restitution=0.6).build()
    after, _ = run(model, state, 150)
    assert lengths_of(model, after)[1][0] == pytest.approx(-0.6 * (c @ v), rel=1e-9)


@pytest.mark.parametrize("count", [2, 4])
def test_at_rest_the_tendon_carries_what_the_slides_do_not(count):
    """All weights hang on one string; all but the first on springs, too."""
    masses = [1.0, 3.0, 0.5, 2.0][:count]
    builder = sliders([1.0] * count, masses, gravity=G, limits=(-1.0, 0.05))
    for k in range(1, count):
        builder.joint("prismatic", None, f"b{k}", axis=(1, 0, 0), name=f"spring-{k}", stiffness=400.0, damping=80.0)
    world = World(*builder.build(), h=1e-2, tol=1e-11)
    world.run(seconds=4.0)
    # the first body hangs on the string alone, so T = m₁ g; k x_j = m_j g − T for the others
    tension = masses[0] * G
    assert world.tendon("string").force == pytest.approx(-tension, rel=1e-6)
    for k in range(1, count):
        assert world.joint(f"s{k}").position == pytest.approx((masses[k] * G - tension) / 400.0, abs=1e-7)
    assert sum(world.joint(f"s{k}").position for k in range(count)) == pytest.approx(0.05, abs=1e-9)
    assert world.tendon("string").length == pytest.approx(0.05, abs=1e-9)
    assert world.tendon("string").limits == (-1.0, 0.05)


def brute_force(M, u_f, C, b):
    """u with v ≥ 0 ⊥ p ≥ 0, v = C u + b, u = u_f + M⁻¹Cᵀp, by trying every active set."""
    for active in itertools.product([False, True], repeat=len(C)):
        on, p = np.flatnonzero(active), np.zeros(len(C))
        if len(on):
            D = C[on] @ np.linalg.solve(M, C[on].T)
            p[on] = np.linalg.lstsq(D, -(C[on] @ u_f + b[on]), rcond=None)[0]
        u = u_f + np.linalg.solve(M, C.T @ p)
        if (p >= -1e-12).all() and (C @ u + b >= -1e-10).all():
            return u
    raise AssertionError("no active set obeys the law")


@pytest.mark.parametrize("seed", range(12))
def test_a_step_is_the_complementarity_problem_of_all_tendons(seed):
    """Random sliders, tendons (redundant ones among them) near their limits: Euler's step against every active set."""
    rng = np.random.default_rng(seed)
    n, tendons, h = int(rng.integers(2, 5)), int(rng.integers(1, 5)), 1e-2
    m = 10.0 ** rng.uniform(-1.5, 1.5, n)
    C = rng.integers(-2, 3, (tendons, n)).astype(float)
    C[~C.any(axis=1), 0] = 1.0
    if tendons > 1 and seed % 2:
        C[-1] = 2.0 * C[0]  # redundant: the same string, twice as long
    builder = ModelBuilder(gravity=(0, 0, 0))
    for k in range(n):
        v = rng.normal()
        builder.body(f"b{k}", position=(0, k, 0), mass=m[k], inertia=(1, 1, 1), velocity=(v, 0, 0))
        builder.joint("prismatic", None, f"b{k}", axis=(1, 0, 0), name=f"s{k}")
    upper = rng.uniform(0.0, 1e-3, tendons)  # near enough to enter whichever way they move
    for t in range(tendons):
        terms = {f"s{k}": C[t, k] for k in range(n) if C[t, k]}
        builder.tendon(terms, limits=(-np.inf, upper[t]))
    model, state = builder.build()
    f = rng.normal(size=n)
    after, report = run(
        model, state, 1, h, {"effort": {f"s{k}": f[k] for k in range(n)}}, integrator="euler", tol=1e-11
    )
    wanted = brute_force(np.diag(m), state.u[:, 0] + h * f / m, -C, upper / h)
    np.testing.assert_allclose(after.u[:, 0], wanted, atol=1e-8)


@pytest.mark.parametrize("light", [1e-3, 1.0])
@pytest.mark.parametrize("heavy", [1.0, 1e3])
def test_fast_and_of_uneven_masses(light, heavy):
    """At 50 m/s, 5 cm a step, from bodies a million times as heavy as each other: within the limits at the end."""
    model, state = sliders((1.0, 1.0, 1.0), (light, heavy, 1.0), (50.0, 1.0, -3.0), limits=(-0.5, 0.5)).build()
    after, _ = run(model, state, 60)
    length, rate = lengths_of(model, after)
    assert length[0] == pytest.approx(0.5, abs=1e-8)
    assert abs(rate[0]) < 1e-8


def wheels(terms, rates, **words):
    """Three wheels on hinges along z that turn freely, 0.02, 0.05 and 0.03 kg m²."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    for k, (inertia, rate) in enumerate(zip((0.02, 0.05, 0.03), rates)):
        builder.body(
            f"w{k}", position=(k, 0, 0), mass=1.0, inertia=(0.03, 0.03, inertia), angular_velocity=(0, 0, rate)
        )
        builder.joint("revolute", None, f"w{k}", position=(k, 0, 0), axis=(0, 0, 1), name=f"h{k}")
    builder.tendon({f"h{k}": c for k, c in enumerate(terms)}, name="string", **words)
    return builder.build()


def test_angles_wind_up_over_many_turns():
    """A string round two drums ends after 40 rad, six turns on, whatever poses say."""
    model, state = wheels((1.0, 1.0, 0.5), (30.0, 12.0, -4.0), limits=(-np.inf, 40.0))
    after, _ = run(model, state, 1500)
    assert after.turns.max() > 3
    assert lengths_of(model, after)[0][0] == pytest.approx(40.0, abs=1e-8)
    assert lengths_of(model, after)[1][0] == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("count", [2, 3])
def test_equal_limits_are_a_coupling(count):
    """Held at 0.1: the same as a coupling of this sum less 0.1, and not as a limit on either side."""
    terms, rates = (1.0, 2.0, -1.0)[:count], (2.0, -1.0, 0.0)
    model, state = wheels(((-0.1, 1.0), *terms[1:]), rates, limits=(0.0, 0.0))
    other, _ = wheels(terms, rates, limits=(0.1, 0.1))
    for one in (model, other):
        assert list(one.couplings.held) == [0]
        assert one.freedoms is one.joints
    after, report = run(model, state, 200)
    same, _ = run(other, state, 200)
    np.testing.assert_allclose(after.q, same.q, atol=1e-12)
    assert lengths_of(other, same)[0][0] == pytest.approx(0.1, abs=1e-9)
    assert report.drift < 1e-9


def finger(limits=(-np.inf, 1.0), **words):
    """Two links that fall and curl until their tendon is tight; the hinges themselves are free."""
    builder = ModelBuilder()
    builder.body("first", position=(0.1, 0, 0), mass=0.2, inertia=(1e-4, 7e-4, 7e-4))
    builder.body("second", position=(0.3, 0, 0), mass=0.1, inertia=(1e-4, 4e-4, 4e-4))
    builder.joint("revolute", None, "first", position=(0, 0, 0), axis=(0, 1, 0), name="j1", damping=0.002)
    builder.joint("revolute", "first", "second", position=(0.2, 0, 0), axis=(0, 1, 0), name="j2", damping=0.002)
    builder.tendon({"j1": 1.0, "j2": 0.5}, limits=limits, name="string", **words)
    return builder.build()


def test_a_limited_finger_keeps_its_limit_for_ten_seconds():
    model, state = finger()
    memory, most, settings = delassus.Memory(), -np.inf, StepSettings(h=5e-3)
    for _ in range(2000):
        state, report = delassus.step(model, state, None, settings, memory)
        assert report.ok, report
        most = max(most, lengths_of(model, state)[0][0])
    assert most - 1.0 < 1e-5  # where it is met fast: of second order in the step, as paths are curved
    assert lengths_of(model, state)[0][0] == pytest.approx(1.0, abs=1e-8)
    assert report.drift < 1e-8


@pytest.mark.parametrize("count", [2, 3])
def test_springs_dampers_and_armature_act_along_the_length(count):
    """One coordinate, x = c·q, of reduced mass 1/(c·M⁻¹c) + a on a spring: its frequency, decay and energy."""
    c, m = np.array([1.0, 0.5, 2.0])[:count], np.array([1.0, 2.0, 4.0])[:count]
    builder = sliders(c, m, stiffness=50.0, rest=0.1, armature=0.3)
    model, state = builder.build()
    start = sum(total_energy(model, state))
    assert start == pytest.approx(0.5 * 50.0 * 0.1**2)
    omega = np.sqrt(50.0 / (1.0 / (c @ (c / m)) + 0.3))
    after, _ = run(model, state, 500, 2e-3)
    assert lengths_of(model, after)[0][0] == pytest.approx(0.1 - 0.1 * np.cos(omega), abs=2e-5)
    assert sum(total_energy(model, after)) == pytest.approx(start, rel=1e-6)
    damped, state = sliders(c, m, np.ones(count), damping=0.8).build()
    after, _ = run(damped, state, 250, 4e-3)
    decay = np.exp(-0.8 * (c @ (c / m)))
    assert lengths_of(damped, after)[1][0] == pytest.approx(c.sum() * decay, rel=1e-6)


@pytest.mark.parametrize("count", [2, 3])
def test_dry_friction_along_the_length_slides_and_sticks(count):
    """Slows c·v by f c·M⁻¹c per second, then holds."""
    c, m = np.array([1.0, 2.0, 1.0])[:count], np.array([1.0, 0.5, 3.0])[:count]
    model, state = sliders(c, m, np.full(count, 0.5), friction=0.3).build()
    mobility = c @ (c / m)
    after, report = run(model, state, 100)
    assert report.solution.iterations <= 2  # it slides, and is known to: whether rows are held is not tried out again
    assert lengths_of(model, after)[1][0] == pytest.approx(0.5 * c.sum() - 0.1 * 0.3 * mobility, rel=1e-9)
    after, _ = run(model, after, 200, 1e-2)
    assert abs(lengths_of(model, after)[1][0]) < 1e-8
    held, _ = run(model, after, 50, inputs={"effort": {"s0": 0.2}})  # less than it takes
    assert abs(lengths_of(model, held)[1][0]) < 1e-6


@pytest.mark.parametrize("count", [2, 3])
def test_a_limit_gives_as_a_spring_where_it_is_said(count):
    c, m = np.ones(count), np.array([1.0, 2.0, 1.5])[:count]
    soft = Spring(1000.0, 60.0)
    model, state = sliders(c, m, gravity=0.0, limits=(-np.inf, 0.0), limit_softening=soft).build()
    after, _ = run(model, state, 300, 1e-2, {"effort": {f"s{k}": 2.0 for k in range(count)}})
    # 2 N on each; the length no longer changes: q̈ = (2 − T)/m and Σ q̈ = 0 give T = 2 N, which stretches it by T/k
    assert lengths_of(model, after)[0][0] == pytest.approx(2.0 / 1000.0, rel=1e-6)


def test_worlds_recordings_and_reports_know_tendons(tmp_path):
    model, state = finger()
    world = World(model, state, h=5e-3)
    assert world.tendon_names == ("string",)
    world.watch("tendon:string.force")
    world.run(seconds=3.0, record=tmp_path / "run")
    assert world.history("tendon:string.force").values[-1] == pytest.approx(world.tendon("string").force)
    assert world.tendon("string").force < 0.0  # it pulls back
    assert "1 limits" in str(world.report)
    recording = delassus.Recording(tmp_path / "run")
    assert recording.model.hash == model.hash
    assert (recording.array("limits/coordinate") == 2).all()  # after those of both hinges
    assert recording.array("limits/force")[-1] == pytest.approx(-world.tendon("string").force)
    kept = recording.tendon("string")
    assert kept.force[-1] == pytest.approx(world.tendon("string").force)
    assert kept.length[-1] == pytest.approx(world.tendon("string").length, abs=1e-6)
    assert world.history("tendon:string.length").values[-1] == pytest.approx(world.tendon("string").length)
    assert world.history("tendon:string.rate").values[-1] == pytest.approx(world.tendon("string").rate, abs=1e-12)
    again = World.load(tmp_path / "run")
    again.run(10)
    world.run(10)
    np.testing.assert_array_equal(again.state.q, world.state.q)
    with pytest.raises(delassus.DelassusError, match="string"):
        world.tendon("sting")


def test_forces_of_all_kinds_are_found_in_recordings(tmp_path):
    """Of the second of two tendons, beside drives and friction of joints: what the world says, step by step."""
    builder = sliders((1.0, 1.0, 1.0), (1.0, 2.0, 3.0), (0.5, 0.4, 0.3), stiffness=3.0, friction=0.1)
    builder.body("b3", position=(0, 9, 0), mass=1.0, inertia=(1, 1, 1), velocity=(1, 0, 0))
    builder.joint("prismatic", None, "b3", axis=(1, 0, 0), name="s3", damping=0.3, friction=0.2, stiffness=1.0)
    builder.tendon({"s3": 1.0, "s0": 0.5}, limits=(-1.0, 0.1), stiffness=5.0, rest=0.2, friction=0.3, name="other")
    builder.coupling({"s1": 1.0, "s2": -1.0}, name="equal")
    world = World(*builder.build(), h=1e-2)
    for name in ("string", "other", "equal"):
        world.watch(f"tendon:{name}.force")
    world.run(30, record=tmp_path / "run")
    recording = delassus.Recording(tmp_path / "run")
    for name in ("string", "other"):
        np.testing.assert_allclose(
            recording.tendon(name).force, world.history(f"tendon:{name}.force").values, atol=1e-12
        )
        assert np.abs(recording.tendon(name).force).max() > 0.1
    assert np.isnan(recording.tendon("equal").force).all()
    assert np.abs(world.history("tendon:equal.force").values).max() > 1e-3
    with pytest.raises(delassus.DelassusError, match="did you mean 'other'"):
        recording.tendon("othr")


def test_what_a_tendon_says_changes_the_hash():
    assert len({finger(**words)[0].hash for words in ({}, {"damping": 0.1}, {"limits": (-1.0, 1.0)})}) == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"limits": (1.0, -1.0)}, "wrong way round"),
        ({"limits": (1.0, 2.0, 3.0)}, "give .lower, upper."),
        ({"limits": (0.0, 1.0), "damping": -1.0}, "damping"),
        ({"limits": (0.0, 1.0), "limit_restitution": 2.0}, "from 0 to 1"),
        ({"stiffness": 1.0, "rest": np.nan}, "rest"),
        ({}, "nothing acts along it"),
    ],
)
def test_bad_words_are_named(words, said):
    builder = sliders((1.0, 1.0), (1.0, 1.0), limits=(0.0, 1.0))
    with pytest.raises(delassus.DelassusError, match=said):
        builder.tendon({"s0": 1.0, "s1": 1.0}, name="other", **words)


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({}, "terms"),
        ({"s7": 1.0}, "s7"),
        ({"s0": 0.0, "s1": 0.0}, "s0"),
        ({"ball": 1.0}, "rotation vector"),
        ({"ball.rotation_x": 1.0}, "rotation vector"),
    ],
)
def test_bad_terms_are_named(terms, said):
    builder = sliders((1.0, 1.0), (1.0, 1.0), limits=(0.0, 1.0))
    builder.joint("spherical", "b0", builder.body("b2", mass=1.0, inertia=(1, 1, 1)), name="ball")
    with pytest.raises(delassus.DelassusError, match=said):
        builder.tendon(terms, limits=(0.0, 1.0))


def test_a_start_outside_the_limits_is_warned_of_and_mended():
    with pytest.warns(DelassusWarning, match="string starts at 0, outside its limits"):
        model, state = sliders((1.0, 1.0), (1.0, 3.0), limits=(-1.0, -0.01)).build()
    after, _ = run(model, state, 200)
    # a fifth of what is left in every step, down to the 1e-6 that positions are not moved for (dynamics/moving.py)
    assert lengths_of(model, after)[0][0] == pytest.approx(-0.01, abs=5.1e-6)
    np.testing.assert_allclose(after.q[:, 0], (-0.0075, -0.0025), atol=5e-6)  # by their masses
    assert np.abs(after.u).max() < 1e-3  # through positions, not velocities
