"""The judge: its figures against plain NumPy, its independence of units, and what it says of known solutions."""

import numpy as np
import pytest

from delassus import residuals
from delassus.cones import ProductCone
from delassus.law import Law
from delassus.problem import Problem, islands
from delassus.problem.random import random_rigid
from delassus.problem.scaling import Scaling, scale
from delassus.solvers import solve


def by_hand(problem, r):
    """Every residual in plain NumPy, from the formulas in the module's table."""
    cone = problem.cone.with_friction(problem.mu)
    D = problem.delassus.matrix().toarray()
    v = D @ r + problem.free_velocity
    w = v.copy()
    start, e = cone.contact_start, cone.bilateral_rows
    t = v[start:].reshape(-1, 3)[:, 1:]
    if problem.law is Law.NCP:
        w[start::3] += problem.mu * np.linalg.norm(t, axis=1)
    rows = slice(e, None) if e < len(r) else slice(0, None)
    rho = len(r[rows]) / D.diagonal()[rows].sum()
    worst, relative, label = 0.0, 0.0, islands(problem)
    counted = np.abs(problem.free_velocity)
    for normal in (*range(e, start), *range(start, len(r), 3)):
        counted[normal] = max(0.0, -problem.free_velocity[normal])
    for k in range(cone.block_count):
        i, j = cone.block_start[k], cone.block_start[k + 1]
        own = (j - i) / D.diagonal()[i:j].sum()
        step = r.copy()
        step[i:j] -= own * w[i:j]
        error = np.linalg.norm((r - cone.project(step))[i:j]) / own
        around = np.repeat(label == label[k], np.diff(cone.block_start))
        worst, relative = max(worst, error), max(relative, error / counted[around].max())
    rt = r[start:].reshape(-1, 3)
    vt = v[start:].reshape(-1, 3)
    blocks = np.add.reduceat(r * w, cone.block_start[:-1])
    return {
        "natural_map_relative": np.linalg.norm(r - cone.project(r - rho * w))
        / max(rho * np.linalg.norm(problem.free_velocity), np.linalg.norm(r)),
        "worst_velocity": worst,
        "worst_velocity_relative": relative,
        "natural_map": np.abs(r - cone.project(r - w)).max(),
        "primal": np.abs(r - cone.project(r)).max(),
        "dual": np.abs(w - cone.project_dual(w)).max(),
        "complementarity": max(np.abs(blocks[cone.bilateral.size :]).max(), np.abs((r * w)[:e]).max(initial=0.0)),
        "siconos": np.linalg.norm(r - cone.project(r - w))
        / max(np.linalg.norm(problem.free_velocity), np.linalg.norm(r), np.linalg.norm(v)),
        "cost": abs((rt * vt).sum()) / len(rt),
        "feasibility": max(
            0.0,
            (problem.mu * np.linalg.norm(vt[:, 1:], axis=1) - vt[:, 0]).max(),
            (np.linalg.norm(rt[:, 1:], axis=1) - problem.mu * rt[:, 0]).max(),
        ),
        "projected_gradient": np.linalg.norm((r - cone.project(r - rho * v)) / rho),
    }


@pytest.mark.parametrize("law", list(Law))
def test_every_residual_equals_its_formula(law):
    rng = np.random.default_rng(11)
    for _ in range(20):
        problem = random_rigid(
            rng, bodies=6, contacts=9, joints=3, limits=4, mass_ratio=100, frictionless_part=0.2, law=law
        )
        r = rng.normal(size=problem.row_count)
        got, want = residuals.evaluate(problem, r).as_dict(), by_hand(problem, r)
        for name, value in want.items():
            assert got[name] == pytest.approx(value, rel=1e-9), name
        assert got["error"] == max(got["cost"], got["feasibility"])


@pytest.mark.parametrize("law", list(Law))
def test_contacts_are_judged_one_by_one(law):
    """Each contact's share equals that of the problem of this contact alone, with the others' reactions given."""
    rng = np.random.default_rng(5)
    problem = random_rigid(rng, bodies=6, contacts=9, joints=2, limits=2, law=law)
    r = problem.cone.project(rng.normal(size=problem.row_count))
    found = residuals.of_contacts(problem, r, problem.constraint_velocity(r))
    D, v, first = problem.delassus.matrix().toarray(), problem.constraint_velocity(r), problem.cone.contact_start
    for c in range(problem.contact_count):
        rows = slice(first + 3 * c, first + 3 * c + 3)
        own = D[rows, rows]
        alone = Problem.dual(own, v[rows] - own @ r[rows], mu=problem.mu[c : c + 1], law=law)
        assert found[c, 0] == pytest.approx(residuals.evaluate(alone, r[rows]).worst_velocity, rel=1e-9)
    scale = problem.velocity_scale[-problem.contact_count :]
    assert found[:, 1] == pytest.approx(found[:, 0] / scale)
    whole = residuals.evaluate(problem, r)
    assert found[:, 0].max() <= whole.worst_velocity
    assert found[:, 1].max() <= whole.worst_velocity_relative


def test_relative_measure_does_not_depend_on_units():
    """Kilograms to grams, metres to millimetres, seconds to milliseconds: the same figure for the same point."""
    rng = np.random.default_rng(12)
    problem = random_rigid(rng, bodies=5, contacts=8, joints=2, limits=2)
    r = rng.normal(size=problem.row_count)
    units = Scaling(np.ones(problem.row_count), delassus=1e-3, velocity=1e3)
    there = residuals.evaluate(scale(problem, units), units.scaled_reactions(r))
    here = residuals.evaluate(problem, r)
    assert there.natural_map_relative == pytest.approx(here.natural_map_relative, rel=1e-12)
    assert there.worst_velocity * 1e3 == pytest.approx(here.worst_velocity, rel=1e-12)
    assert there.worst_velocity_relative == pytest.approx(here.worst_velocity_relative, rel=1e-12)
    assert there.natural_map != pytest.approx(here.natural_map, rel=0.1), "the absolute one does depend on them"


def test_known_solutions_have_zero_residual():
    sliding = Problem.dual(np.eye(3), [-1.0, 3.0, -4.0], mu=[0.5])
    r = np.array([1.0, -0.3, 0.4])
    assert residuals.measure(sliding, r).relative < 1e-15
    assert residuals.evaluate(sliding, r).complementarity < 1e-15
    # the convex law does not accept Coulomb's solution while sliding, nor the other way round
    assert residuals.measure(sliding.with_law("ccp"), r).relative > 0.1
    assert residuals.measure(sliding.with_law("frictionless"), np.array([1.0, 0.0, 0.0])).relative < 1e-15


def test_worst_velocity_sees_the_light_contact_under_the_heavy_one():
    """At mass ratio 1e9 the norm is blind to an unsolved light contact (design: why there is a second measure)."""
    D = np.diag([1.0, 1.0, 1.0, 1e-9, 1e-9, 1e-9])
    problem = Problem.dual(D, [-1.0, 0, 0, -1.0, 0, 0], mu=[0.5, 0.5])
    unsolved_light = np.array([0.0, 0, 0, 1e9, 0, 0])
    measure = residuals.measure(problem, unsolved_light)
    assert measure.relative < 1e-8
    assert measure.velocity == pytest.approx(1.0)


@pytest.mark.parametrize("cone", [ProductCone(unilateral=2), ProductCone(mu=[0.0, 0.0]), ProductCone(mu=[0.5, 0.5])])
def test_worst_velocity_is_not_lost_in_large_reactions(cone):
    """Between two reactions of 5e19 N s a body of 10 kg moves at 0.5 m/s; subtracted from λ that is nothing."""
    size = cone.row_count // 2
    D = np.kron([[0.1, -0.1], [-0.1, 0.1]], np.eye(size))
    reactions, v = np.zeros(2 * size), np.zeros(2 * size)
    reactions[::size], v[::size] = 5e19, (-0.5, 0.5)
    judged = residuals.evaluate(Problem.dual(D, v, cone=cone, law=Law.CCP), reactions)
    assert judged.worst_velocity == pytest.approx(0.5)
    assert judged.worst_velocity_relative == pytest.approx(1.0)


def test_empty_problem_is_solved():
    empty = Problem.dual(np.zeros((0, 0)), [], mu=[])
    solution = solve(empty)
    assert solution.converged
    assert solution.reactions.shape == (0,)
    assert residuals.evaluate(empty, np.zeros(0)).natural_map_relative == 0.0


def test_bilateral_rows_are_judged_by_their_velocity():
    problem = Problem.dual(np.eye(2), [0.3, -0.4], cone=ProductCone([2], 0, []))
    assert residuals.evaluate(problem, np.zeros(2)).worst_velocity == pytest.approx(0.5)
    assert residuals.measure(problem, np.array([-0.3, 0.4])).relative < 1e-15


def test_falling_through_the_floor_is_no_solution_at_any_friction():
    """λ = 0 with v_n = −g h: De Saxcé's term hides it from the natural map where μ is large."""
    for mu in 10.0 ** np.arange(-1.0, 13.0):
        for creep in 10.0 ** np.arange(-12.0, 0.0):
            problem = Problem.dual(np.eye(3), [-0.01, creep, 0.0], mu=[mu])
            measure = residuals.measure(problem, np.zeros(3))
            assert min(measure) > 0.007 / np.hypot(0.01, creep), (mu, creep)


@pytest.mark.parametrize("mu", [1.5, 1e2, 1e5, 1e9])
@pytest.mark.parametrize("low", [None, np.zeros(3)])
def test_rough_contacts_that_stick_slide_or_open_have_zero_residual(mu, low):
    free = {"sticks": ([-1.0, 0.3, 0.2], [1.0, -0.3, -0.2]), "opens": ([1.0, 0.3, 0.2], [0.0, 0.0, 0.0])}
    free["slides"] = [-1.0, 3.0 * mu, -4.0 * mu], [1.0, -0.6 * mu, 0.8 * mu]
    for what, (v_f, reaction) in free.items():
        problem = Problem.dual(np.eye(3), v_f, mu=[mu])
        second = None if low is None else 1e-17 * np.array(reaction)  # two doubles: the judge of pairs
        assert residuals.measure(problem, np.array(reaction), second).relative < 1e-15, what
        wrong = np.array(reaction) + [0.0, 0.01, 0.0]
        assert residuals.measure(problem, wrong, second).relative > 1e-3 / max(mu, 1.0), what


def test_signorini_is_bounded_by_the_natural_map():
    """Why the natural map alone is asked up to μ = 1: −ρ v_n ≤ √(1 + μ²) of it, for any reactions and velocities."""
    rng = np.random.default_rng(3)
    for _ in range(2000):
        mu, v, r = rng.uniform(0.0, 1.0), rng.normal(size=3), rng.normal(size=3) * rng.choice([0.0, 1e-3, 1.0])
        cone = ProductCone(mu=[mu])
        w = v + np.array([mu * np.hypot(v[1], v[2]), 0.0, 0.0])
        assert -v[0] <= np.sqrt(1.0 + mu**2) * np.linalg.norm(r - cone.project(r - w)) * (1.0 + 1e-12)
