"""Couplings of joint coordinates: gears, polynomials, sums; on two bodies and on three."""

import numpy as np
import pytest

import delassus
from delassus import Inputs, ModelBuilder, StepSettings


def wheels(terms, moving_base=False):
    """Two wheels on hinges along z, 0.02 and 0.05 kg m² about them; on the world, or on a bar that turns freely."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    base = None
    if moving_base:
        base = builder.body("bar", mass=2.0, inertia=(0.1, 0.1, 0.1))
        builder.joint("revolute", None, base, axis=(0, 0, 1), name="pivot")
    for name, x, inertia in (("first", -1.0, 0.02), ("second", 1.0, 0.05)):
        builder.body(name, position=(x, 0, 0), mass=1.0, inertia=(0.03, 0.03, inertia))
        builder.joint("revolute", base, name, position=(x, 0, 0), axis=(0, 0, 1), name=f"{name}-hinge")
    builder.coupling(terms, name="gear")
    return builder.build()


def run(model, state, steps, h=1e-3, **inputs):
    memory, given = delassus.Memory(), Inputs.of(model, **inputs)
    for _ in range(steps):
        state, report = delassus.step(model, state, given, StepSettings(h=h, tol=1e-10), memory)
        assert report.ok, report
    return state, report


def test_a_gear_adds_inertias_as_the_ratio_says():
    """q₂ = −q₁/2: a moment on the first wheel turns 0.02 + 0.05/4."""
    model, state = wheels({"first-hinge": 0.5, "second-hinge": 1.0})
    assert not model.is_implicit
    after, _ = run(model, state, 50, effort={"first-hinge": 0.3})
    rate = 0.05 * 0.3 / (0.02 + 0.05 / 4)
    assert after.u[0, 5] == pytest.approx(rate, rel=1e-9)
    assert after.u[1, 5] == pytest.approx(-rate / 2, rel=1e-9)


def test_on_a_moving_base_the_coupling_ties_three_bodies_and_keeps_momentum():
    model, state = wheels({"first-hinge": 0.5, "second-hinge": 1.0}, moving_base=True)
    assert model.is_implicit
    after, report = run(model, state, 50, effort={"first-hinge": 0.3})
    first, second = after.coordinates(model)[1:]
    assert second == pytest.approx(-first / 2, abs=1e-9)
    assert report.drift < 1e-9
    # efforts between bodies and the gear's are internal, but the pivot on the world carries no moment about z
    spin = model.inertia[:, 2, 2] @ after.u[:, 5] + sum(
        m * (q[0] * v[1] - q[1] * v[0]) for m, q, v in zip(model.mass, after.q, after.u)
    )
    assert spin == pytest.approx(0.0, abs=1e-10)
    # energy balance of two coordinates, θ of the bar and φ of the first wheel: Lagrange's equations by hand
    bar = 0.1 + 0.02 + 0.05 + 2.0  # inertia of all about the pivot
    M = np.array([[bar, 0.02 - 0.05 / 2], [0.02 - 0.05 / 2, 0.02 + 0.05 / 4]])
    theta, phi = np.linalg.solve(M, [0.0, 0.3]) * 0.05
    assert after.u[0, 5] == pytest.approx(theta, rel=1e-6)
    assert after.u[1, 5] - after.u[0, 5] == pytest.approx(phi, rel=1e-6)


@pytest.mark.parametrize("moving_base", [False, True])
def test_a_polynomial_is_followed(moving_base):
    """q₂ = 0.2 q₁ + 0.3 q₁², driven through a radian."""
    model, state = wheels({"first-hinge": (0.0, 0.2, 0.3), "second-hinge": -1.0}, moving_base)
    after, report = run(model, state, 300, effort={"first-hinge": 0.6})
    first, second = after.coordinates(model)[-2:]
    assert first > 0.5
    assert second == pytest.approx(0.2 * first + 0.3 * first**2, abs=1e-6)
    assert report.drift < 1e-6


def test_forces_balance_on_every_body_of_a_coupled_chain():
    """Two links that fall, the second turned by the first: velocities change as joints and gravity say, and
    turning both takes the coupling's moment, closing after the step included."""
    builder, h = ModelBuilder(), 2e-3
    for k, name in enumerate(("one", "two")):
        builder.body(name, position=(k + 0.5, 0, 0), mass=1.0, inertia=(0.01, 0.1, 0.1))
        base = None if k == 0 else "one"
        builder.joint("revolute", base, name, position=(k, 0, 0), axis=(0, 1, 0), name=f"j{k}")
    builder.coupling({"j0": 1.0, "j1": (0.0, 0.7, 0.3)}, name="cam")
    world = delassus.World(*builder.build(), h=h, tol=1e-11)
    world.run(200)
    for _ in range(5):
        before, angle = world.state.u.copy(), world.joint("j1").angle
        world.step()
        rate = (world.state.u - before) / h
        first, second = (world.joint(name).reaction for name in ("j0", "j1"))
        np.testing.assert_allclose(rate[1, :3], second.force + (0, 0, -9.81), atol=1e-9)
        np.testing.assert_allclose(rate[0, :3], first.force - second.force + (0, 0, -9.81), atol=1e-9)
        arm = world.body("two").centre_of_mass - world.body("one").point((0.5, 0, 0))  # at the end, not in between
        turning = second.moment[1] - np.cross(arm, second.force)[1] + (0.7 + 0.6 * angle) * world.tendon("cam").force
        assert 0.1 * rate[1, 4] == pytest.approx(turning, rel=0.02)


def test_couplings_change_the_hash_and_worlds_run_them():
    model, state = wheels({"first-hinge": 0.5, "second-hinge": 1.0})
    other, _ = wheels({"first-hinge": 0.6, "second-hinge": 1.0})
    assert model.hash != other.hash
    world = delassus.World(model, state)
    world.joint("first-hinge").effort = 0.3
    world.run(20)
    assert world.joint("second-hinge").angle == pytest.approx(-0.5 * world.joint("first-hinge").angle, abs=1e-9)


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({}, "terms"),
        ({"third": 1.0}, "third"),
        ({"first-hinge": (1.0, 0.0)}, "not constant"),
        ({"first-hinge": np.nan}, "first-hinge"),
    ],
)
def test_bad_terms_are_named(terms, said):
    with pytest.raises(delassus.DelassusError, match=said):
        wheels(terms)
