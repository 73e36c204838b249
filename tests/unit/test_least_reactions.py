"""Which of many reactions: the default takes the least, so that what is symmetric stays so, in whatever order contacts
come, from whatever guess, and however often it is repeated."""

from dataclasses import replace

import numpy as np
import pytest

from delassus import residuals
from delassus.builder import Material, ModelBuilder
from delassus.cones import ProductCone
from delassus.dynamics import Inputs
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_rigid
from delassus.shapes import Box, Plane
from delassus.simulation import StepSettings, step
from delassus.simulation.memory import Memory
from delassus.solvers import SOLVERS, solve
from delassus.solvers.auto.least import least_reactions
from delassus.solvers.newton.small import MOST_ITERATIONS, solve_small
from delassus.solvers.parts.at_once import Attempt
from delassus.spatial import axis_frame

TOL = 1e-9


def table(feet, load=(0.0, 0.0), mu=0.5, law=Law.NCP):
    """A body of 10 kg that falls for a millisecond onto feet at these (x, y), its centre 1 m above them at `load`."""
    arms = np.column_stack([np.asarray(feet, float) - load, np.full(len(feet), -1.0)])
    frame = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    rows = np.zeros((3 * len(feet), 12))
    for k, arm in enumerate(arms):
        rows[3 * k : 3 * k + 3, 6:9] = frame
        rows[3 * k : 3 * k + 3, 9:] = np.cross(arm, frame)
    mass = np.diag([10.0, 10.0, 10.0, 1.5, 1.5, 2.0])[None]
    bodies = np.tile([-1, 0], (len(feet), 1))
    u_f = [0.0, 0.0, -9.81e-3, 0.0, 0.0, 0.0]
    return Problem.rigid(mass, bodies, rows, cone=ProductCone(mu=np.full(len(feet), mu)), u_f=u_f, law=law)


def resting(seed, bodies, contacts):
    """Random contacts that hold random bodies: u_f is what reactions well inside their cones just undo."""
    rng = np.random.default_rng(seed)
    plain = random_rigid(rng, bodies=bodies, contacts=contacts, friction=(0.3, 0.8), mass_ratio=10.0)
    D, inside = plain.delassus, np.empty((contacts, 3))
    inside[:, 0] = rng.uniform(0.5, 2.0, contacts)
    inside[:, 1:] = rng.uniform(-0.4, 0.4, (contacts, 2)) * (plain.mu * inside[:, 0])[:, None]
    u_f = -D.body_velocity(inside.ravel())
    return Problem.rigid(D.mass, D.bodies, D.rows, cone=plain.cone, u_f=u_f, b=np.zeros(3 * contacts))


def permuted(problem, order):
    """The same problem, its contacts in another order."""
    D, first = problem.delassus, problem.cone.contact_start
    assert first == 0
    rows = D.rows.reshape(-1, 3, 12)[order].reshape(-1, 12)
    bias = problem.bias.reshape(-1, 3)[order].ravel()
    cone = ProductCone(mu=problem.mu[order])
    return Problem.rigid(D.mass, D.bodies[order], rows, cone=cone, u_f=problem.u_f, b=bias, law=problem.law)


def weights(problem):
    """d_k, for each row."""
    sizes = np.diff(problem.cone.block_start)
    return np.repeat(np.add.reduceat(problem.delassus.diagonal, problem.cone.block_start[:-1]) / sizes, sizes)


def wall(rows, columns):
    """Bricks in bond, symmetric about x = 0."""
    builder = ModelBuilder()
    stone = Material(0.6)
    builder.fixed("ground", shapes=[Plane()], material=stone)
    x, y, z = 0.24, 0.12, 0.08
    for row in range(rows):
        count = columns - row % 2
        for k in range(count):
            at = ((k - (count - 1) / 2) * x, 0.0, (row + 0.5) * z)
            builder.body(
                f"brick-{row}-{k}", position=at, density=2000.0, shapes=[Box((0.998 * x, y, z))], material=stone
            )
    return builder.build()


def gripper(mass=0.5, side=0.06, finger=0.02):
    """Two fingers on slides press 10 N each on a box from both sides; they could hold 6 N, of which it weighs 4.9."""
    builder = ModelBuilder()
    rubber = Material(0.3)
    builder.body("box", mass=mass, shapes=[Box((side, side, side))], material=rubber)
    for name, sign in (("left", -1.0), ("right", 1.0)):
        at = (sign * (side + finger) / 2, 0.0, 0.0)
        tip = builder.body(name, position=at, mass=0.1, shapes=[Box((finger, finger, finger))], material=rubber)
        builder.joint("prismatic", None, tip, position=at, frame=axis_frame((-sign, 0.0, 0.0)), name=f"slide-{name}")
    model, state = builder.build()
    return model, state, Inputs.of(model, effort=np.full(2, 10.0))


def tilt(orientation):
    """Angle from the upright [degrees]."""
    return np.degrees(2.0 * np.arcsin(min(1.0, float(np.linalg.norm(orientation[1:])))))


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("legs", [4, 6, 8])
def test_legs_of_a_symmetric_table_share_its_weight_equally(legs, law):
    angle = 2.0 * np.pi * np.arange(legs) / legs + 0.3
    problem = table(np.column_stack([np.cos(angle), np.sin(angle)]), law=law)
    normal = solve(problem, tol=TOL).reactions[::3]
    assert np.allclose(normal, 10.0 * 9.81e-3 / legs, rtol=1e-6)


def test_a_table_of_unequal_sides_and_an_eccentric_load_is_mirrored_with_its_load():
    feet = np.array([[1.5, 0.5], [-1.5, 0.5], [-1.5, -0.5], [1.5, -0.5], [0.0, 0.5], [0.0, -0.5]])
    mirror = [1, 0, 3, 2, 4, 5]  # x → −x
    one = solve(table(feet, (0.4, 0.1)), tol=TOL).reactions.reshape(-1, 3)
    other = solve(table(feet, (-0.4, 0.1)), tol=TOL).reactions.reshape(-1, 3)
    assert np.allclose(one[mirror] * [1.0, -1.0, 1.0], other, atol=1e-6 * one.max())
    assert (one[:, 0] > 0.0).all()


def test_the_order_of_contacts_does_not_matter_nor_does_the_guess():
    rng = np.random.default_rng(5)
    model, state = wall(2, 3)
    problems = [resting(seed, bodies, contacts) for seed, bodies, contacts in ((0, 1, 8), (1, 2, 14), (2, 3, 20))]
    problems += [step(model, state)[1].problem, table(rng.normal(size=(9, 2)))]
    for problem in problems:
        plain = solve(problem, tol=TOL)
        assert plain.converged
        bound = 1e-6 * np.abs(plain.reactions).max()
        order = rng.permutation(problem.contact_count)
        again = solve(permuted(problem, order), tol=TOL).reactions.reshape(-1, 3)
        assert np.allclose(again, plain.reactions.reshape(-1, 3)[order], atol=bound)
        for guess in (plain.reactions * (1.0 + 1e-3 * rng.normal(size=len(plain.reactions))), plain.reactions[::-1]):
            assert np.allclose(solve(problem, guess=guess, tol=TOL).reactions, plain.reactions, atol=bound)


@pytest.mark.parametrize("seed", range(8))
def test_no_solver_finds_smaller_reactions_for_the_same_motion(seed):
    """All feasible λ satisfy ⟨λ*, λ − λ*⟩_d ≥ 0, which is what makes λ* the least: other solvers' serve as such λ."""
    problem = table([[1, 1], [-1, 1], [-1, -1], [1, -1]]) if seed == 0 else resting(seed, 1 + seed % 3, 6 + 2 * seed)
    d, ours = weights(problem), solve(problem, tol=TOL)
    assert ours.converged
    square = d @ ours.reactions**2
    compared = 0
    for name, line in SOLVERS.items():
        if Law.NCP in line.laws:
            theirs = solve(problem, name, tol=1e-7, max_iter=3000)
            if theirs.converged and np.allclose(theirs.body_velocities, ours.body_velocities, atol=1e-6):
                compared += 1
                assert d @ (ours.reactions * (theirs.reactions - ours.reactions)) >= -1e-5 * square, name
    assert compared >= 3


@pytest.mark.parametrize("name", ["nbgs", "prox", "admm-ncp-sa", "jacobi"])
def test_the_least_reactions_are_the_same_from_every_solver_and_keep_the_motion(name):
    compared = 0
    for seed in range(6):
        problem = resting(seed, 1 + seed % 3, 8 + 3 * seed)
        found, ours = solve(problem, name, tol=TOL, max_iter=50_000), solve(problem, tol=TOL)
        if not found.converged or not np.allclose(found.body_velocities, ours.body_velocities, atol=1e-6):
            continue  # sweeps may crawl, and exact friction may have another motion
        least = least_reactions(problem, found.reactions, found.velocities, found.residuals.worst_velocity_relative)
        assert least is not None
        size = np.abs(least).max()
        assert np.allclose(least, ours.reactions, atol=1e-5 * size)
        assert np.allclose(problem.body_velocity(least), found.body_velocities, atol=1e-7 * np.abs(problem.u_f).max())
        assert residuals.measure(problem, least).relative <= 3.0 * TOL
        compared += 1
    assert compared >= 3


def test_unique_reactions_are_left_alone():
    """A chain of single contacts from the world outwards: every contact is the only one that can hold its body."""
    plain = resting(3, 5, 5)
    D = plain.delassus
    bodies = np.column_stack([np.arange(-1, 4), np.arange(5)])
    rows = D.rows.copy()
    rows[:, :6] = -rows[:, 6:]
    rows[:3, :6] = 0.0
    chain = Problem.rigid(D.mass, bodies, rows, cone=plain.cone, u_f=plain.u_f, b=np.zeros(15))
    solution = solve(chain, "prox-ssn", tol=TOL)
    assert solution.converged
    assert least_reactions(chain, solution.reactions, solution.velocities, 1e-9) is None


@pytest.mark.parametrize("size", [(2, 2), (3, 4), (5, 5)])
def test_a_symmetric_wall_has_symmetric_reactions(size):
    model, state = wall(*size)
    memory = Memory()
    for _ in range(5):
        state, report = step(model, state, None, StepSettings(h=2e-3), memory)
        assert report.solution.converged
        point = report.contacts.point
        normal = report.solution.reactions[::3]
        mirror = np.linalg.norm(point[:, None] - point[None] * [-1.0, 1.0, 1.0], axis=2).argmin(axis=1)
        assert np.allclose(normal, normal[mirror], atol=1e-6 * normal.max())
        depth = np.linalg.norm(point[:, None] - point[None] * [1.0, -1.0, 1.0], axis=2).argmin(axis=1)
        assert np.allclose(normal, normal[depth], atol=1e-6 * normal.max())


def held(settings, duration):
    """(tilt [degrees], fall [m]) of the gripped box after `duration`."""
    model, state, inputs = gripper()
    memory = Memory()
    for _ in range(round(duration / settings.h)):
        state, report = step(model, state, inputs, settings, memory)
        assert report.solution.converged
    return tilt(state.q[0, 3:]), -state.q[0, 2]


def test_a_gripper_holds_its_box_upright_for_two_seconds():
    angle, fall = held(StepSettings(h=1e-3), 2.0)
    assert angle < 0.01
    assert abs(fall) < 1e-6


def test_a_gripper_holds_its_box_upright_for_six_seconds():
    """A guess that merely meets the tolerance, returned as it is in every step, adds momentum until the box turns: that
    took four seconds."""
    angle, fall = held(StepSettings(h=1e-3), 6.0)
    assert angle < 0.01
    assert abs(fall) < 1e-6


def test_a_nearly_right_guess_needs_few_systems_and_leads_to_the_same_reactions():
    rng = np.random.default_rng(3)
    needed = without = 0
    for seed in range(10):
        problem = resting(seed, 1 + seed % 3, 8 + seed)
        plain = solve(problem, tol=TOL)
        guess = plain.reactions * (1.0 + 1e-5 * rng.normal(size=problem.row_count))
        again = solve(problem, guess=guess, tol=TOL)
        assert again.converged
        assert np.allclose(again.reactions, plain.reactions, atol=1e-4 * np.abs(plain.reactions).max())
        needed, without = needed + again.iterations, without + plain.iterations
    assert 0 < needed < without / 3


def test_one_compiled_call_does_what_solve_does_of_a_small_problem():
    """Least reactions included; other compiled code calls it with the same flat arrays."""
    for problem in (table([[1, 1], [-1, 1], [-1, -1], [1, -1]]), resting(2, 3, 12), step(*gripper()[:2])[1].problem):
        ours, reactions, attempt = solve(problem, tol=TOL), np.zeros(problem.row_count), Attempt(problem)
        settings, tols = SOLVERS["prox-ssn"].settings, (TOL, 100.0 * TOL)
        attempt.count = solve_small(
            np.empty((0, 0)),
            problem.delassus.plain,
            problem.u_f,
            problem.free_velocity,
            problem.data,
            tols,
            MOST_ITERATIONS,
            settings.plain,
            1.0,
            reactions,
            attempt.found,
        )
        assert attempt.is_within(*tols)
        assert attempt.iterations == ours.iterations
        assert np.allclose(reactions, ours.reactions, rtol=1e-10, atol=1e-13)
        assert np.allclose(attempt.body_velocities, ours.body_velocities, rtol=1e-8, atol=1e-12)


def test_a_gripper_holds_its_box_upright_without_a_memory():
    angle, fall = held(replace(StepSettings(h=1e-3), warm_start=False), 0.25)
    assert angle < 0.01
    assert abs(fall) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("law", [Law.NCP, Law.CCP])
def test_grippers_of_many_kinds_hold_for_two_seconds_warm_and_cold(law):
    for warm in (True, False):
        angle, fall = held(StepSettings(h=1e-3, warm_start=warm, law=law), 2.0)
        assert angle < 0.01
        assert abs(fall) < 1e-6


def test_a_guess_worse_than_none_costs_nothing():
    """After an impact the last step's reactions lead Newton's method astray: then it begins at zero, and ends in the
    same bits after as many systems."""
    D = table([[1, 1], [-1, 1], [-1, -1], [1, -1]], load=(0.3, 0.2)).delassus
    sliding = [1.0, 0.3, -9.81e-3, 0.0, 0.0, 0.4]
    problem = Problem.rigid(D.mass, D.bodies, D.rows, cone=ProductCone(mu=np.full(4, 0.5)), u_f=sliding)
    plain = solve(problem, tol=TOL)
    assert plain.converged
    assert plain.iterations
    for guess in (0.5 * plain.reactions, -plain.reactions, 10.0 * plain.reactions):
        again = solve(problem, guess=guess, tol=TOL)
        assert np.array_equal(again.reactions, plain.reactions)
        assert again.iterations == plain.iterations
