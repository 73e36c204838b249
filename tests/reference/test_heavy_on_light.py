"""Stacks in which each body is many times heavier than the one below stand; the table is in docs/odd-masses.md."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from delassus import Box, Memory, ModelBuilder, Plane, StepSettings, step
from delassus.scenes import find
from delassus.scenes.heavy_on_light import moved, speeds

SCENE = find("heavy-on-light")
STACKS = [(20, 10.0), (6, 1e2), (4, 1e3), (4, 1e4), (3, 1e6), (2, 1e12)]
METHODS = [("ccp", "ipm"), ("ccp", "auto"), ("ncp", "auto")]


def check_stands(n, ratio, mu, spheres, law, solver, steps):
    setup = SCENE.build(n=n, ratio=ratio, mu=mu, spheres=spheres)
    run = setup.run(steps=steps, settings=replace(setup.settings, law=law, solver=solver))
    assert run.converged.all()
    assert max(speeds(run)) <= 1e-6
    assert moved(setup, run) <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("spheres", [False, True])
@pytest.mark.parametrize(("law", "solver"), METHODS)
@pytest.mark.parametrize(("n", "ratio"), STACKS)
def test_heavy_on_light_stands_for_a_hundred_steps(n, ratio, mu, spheres, law, solver):
    check_stands(n, ratio, mu, spheres, law, solver, 100)


@pytest.mark.parametrize(
    ("n", "ratio", "mu", "spheres", "law", "solver"),
    [
        (20, 10.0, 0.3, True, "ncp", "auto"),
        (3, 1e6, 0.3, True, "ncp", "auto"),
        (6, 1e2, 0.3, False, "ccp", "ipm"),
        (4, 1e4, 0.8, False, "ncp", "auto"),
        (2, 1e12, 0.0, False, "ccp", "auto"),
    ],
)
def test_heavy_on_light_stands(n, ratio, mu, spheres, law, solver):
    check_stands(n, ratio, mu, spheres, law, solver, 10)


@pytest.mark.parametrize(("law", "solver"), METHODS)
def test_default_tolerances_keep_velocities_to_a_millionth_of_free_fall(law, solver):
    """Six cubes, ratio 100: 18 of 20 steps failed and they went 60 m into each other."""
    setup = SCENE.build(n=6, ratio=100.0)
    settings = replace(setup.settings, law=law, solver=solver, tol_velocity="auto")
    run = setup.run(steps=20, settings=settings)
    assert run.converged.all()
    assert speeds(run)[0] <= 1e-6
    assert run.penetration.max() < 1e-6


def exact_velocities(problem, high, low):
    """J (u_f + H⁻¹ Jᵀ (high + low)) + b in fractions, (m,): nothing is rounded before the end."""
    D = problem.delassus
    bodies = np.repeat(D.bodies, np.diff(problem.cone.block_start), axis=0)
    force = [[Fraction(0)] * 6 for _ in D.mass]
    for i, row in enumerate(D.rows):
        for side in range(2):
            if bodies[i, side] >= 0:
                for a in range(6):
                    force[bodies[i, side]][a] += Fraction(row[6 * side + a]) * (Fraction(high[i]) + Fraction(low[i]))
    u = []
    for k, f in enumerate(force):
        A = [[Fraction(value) for value in row] + [f[i]] for i, row in enumerate(D.mass[k])]
        for c in range(6):  # Gauß and Jordan
            A[c] = [value / A[c][c] for value in A[c]]
            for i in range(6):
                if i != c:
                    A[i] = [value - A[i][c] * pivot for value, pivot in zip(A[i], A[c])]
        u.append([A[a][6] + Fraction(problem.u_f[6 * k + a]) for a in range(6)])
    out = []
    for i, row in enumerate(D.rows):
        v = Fraction(problem.bias[i])
        for side in range(2):
            if bodies[i, side] >= 0:
                v += sum(Fraction(row[6 * side + a]) * u[bodies[i, side]][a] for a in range(6))
        out.append(float(v))
    return np.array(out)


@pytest.mark.parametrize(("n", "ratio"), [(3, 1e6), (2, 1e12)])
def test_exact_fractions_confirm_what_the_judge_says_of_two_doubles(n, ratio):
    setup = SCENE.build(n=n, ratio=ratio)
    state, memory = setup.state, Memory()
    for _ in range(2):
        state, report = step(setup.model, state, None, setup.settings, memory)
        problem, solution = report.problem, report.solution
        assert solution.converged
        assert solution.reactions_low is not None
        v = exact_velocities(problem, solution.reactions, solution.reactions_low)
        # an open contact carries its gap over the time step, hundreds of m/s for the largest cubes
        assert np.abs(v - solution.velocities).max() <= 1e-12 * np.abs(v).max()
        first = problem.cone.contact_start
        normal, slip = v[first::3], np.hypot(v[first + 1 :: 3], v[first + 2 :: 3])
        closed = solution.reactions[first::3] > 0.0
        fall = setup.settings.h * 9.81
        assert normal.min() >= -2e-8 * fall
        assert normal[closed].max() <= 2e-8 * fall
        assert slip[closed].max() <= 2e-8 * fall


@pytest.mark.parametrize("law", ["frictionless", "ncp"])
def test_free_cubes_without_friction_stand_at_the_default_tolerance(law):
    """Nothing guides them: what a solve to 1e-6 leaves of a tilt is amplified by 1e10 kg, and they flew apart."""
    builder = ModelBuilder()
    builder.fixed("ground", shapes=Plane(), material=0.0)
    for k in range(4):
        builder.body(position=(0, 0, 0.5 + k), mass=10.0 * 1e3**k, shapes=Box((1, 1, 1)), material=0.0)
    model, state = builder.build()
    memory, settings = Memory(), StepSettings(h=0.01, law=law)
    for _ in range(100):
        state, report = step(model, state, settings=settings, memory=memory)
        assert report.ok
    assert np.abs(state.u).max() < 1e-6 * 9.81 * 0.01
