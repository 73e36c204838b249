"""*Infeasible* is a proof: never said of a problem that has a solution, said of nearly all that have none."""

from collections import Counter

import numpy as np
import pytest
from feasibility import GRAVITY, IMPOSSIBLE, POSSIBLE, impossible, possible, stack

from delassus import Memory, ModelBuilder, step
from delassus.builder import Material
from delassus.cones import ProductCone
from delassus.law import Law
from delassus.linalg.operators.rigid import radius_of_gyration
from delassus.problem import Problem
from delassus.problem.random import random_rigid
from delassus.shapes import Box, Plane
from delassus.simulation import StepSettings
from delassus.solvers import SOLVERS, solve
from delassus.solvers.interior.certificate import Certificate
from delassus.status import Status

IPM = SOLVERS["ipm"].settings
ALONE = IPM.changed(rescue=False)
VARIANTS = {"compiled": ALONE, "general": ALONE.changed(linear="body"), "thesis": SOLVERS["ipm-thesis"].settings}
DEFAULTS = {"ipm": IPM, "auto": "auto"}  # they hand on to other methods, which compile for a while


def statuses(problems, settings) -> tuple[Counter, list[str]]:
    """How often each status was reported, and the names of what was called infeasible."""
    count, infeasible = Counter(), []
    for name, problem in problems:
        solution = solve(problem, settings, tol=1e-8, tol_velocity=1e-6, max_iter=300)
        count[solution.status.value] += 1
        if solution.status is Status.INFEASIBLE:
            infeasible.append(name)
    return count, infeasible


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_problem_with_a_solution_is_called_infeasible(variant):
    _, infeasible = statuses(map(possible, range(10 * len(POSSIBLE))), VARIANTS[variant])
    assert infeasible == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_problems_without_a_solution_are_called_infeasible(variant):
    number = 10 * len(IMPOSSIBLE)
    count, infeasible = statuses(map(impossible, range(number)), VARIANTS[variant])
    assert len(infeasible) >= 0.95 * number, count
    assert count["converged"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS | DEFAULTS)
def test_two_thousand_possible_and_five_hundred_impossible_problems(variant, capsys):
    settings = (VARIANTS | DEFAULTS)[variant]
    found, wrong = statuses(map(possible, range(1000, 1000 + 301 * len(POSSIBLE))), settings)
    missed, right = statuses(map(impossible, range(1000, 1000 + 64 * len(IMPOSSIBLE))), settings)
    with capsys.disabled():
        print(f"\n{variant}: {found.total()} possible, called infeasible: {len(wrong)} ({dict(found)})")
        print(f"{variant}: {missed.total()} impossible, called infeasible: {len(right)} ({dict(missed)})")
    assert found.total() >= 2000
    assert missed.total() >= 500
    assert wrong == []
    assert missed["converged"] == 0
    if variant != "auto":  # without friction it has no part that looks for proofs
        assert len(right) >= 0.95 * missed.total()


def test_four_boxes_of_ratio_a_thousand_are_never_infeasible():
    """10, 1e4, 1e7 and 1e10 kg: all may rise, at any speed."""
    builder, top = ModelBuilder(), 0.0
    builder.fixed("floor", shapes=[Plane()], material=Material(0.5))
    for k in range(4):
        mass = 10.0 * 1e3**k
        half = (0.75 * mass / (np.pi * 1000.0)) ** (1.0 / 3.0)
        builder.body(
            f"box {k}",
            position=(0.0, 0.0, top + half),
            mass=mass,
            shapes=[Box((2 * half,) * 3)],
            material=Material(0.5),
        )
        top += 2 * half
    model, state = builder.build()
    memory = Memory()
    for _ in range(8):
        state, report = step(model, state, None, StepSettings(h=0.01, law="ccp", solver="ipm"), memory)
        assert report.solution.status is not Status.INFEASIBLE


def test_four_spheres_of_ratio_ten_thousand_are_solved_by_the_published_method():
    problem = stack(10.0 * 1e4 ** np.arange(4), 0.8, h=0.05)
    solution = solve(problem, VARIANTS["thesis"], tol=1e-12, tol_velocity=None)
    assert solution.converged
    assert solution.iterations <= 25


@pytest.mark.parametrize("law", [Law.CCP, Law.FRICTIONLESS], ids=lambda law: law.value)
def test_no_direction_asks_for_more_speed_than_a_solution_has(law):
    """The bound itself: V of any d in the cone is a lower bound on how fast some body must change its velocity."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        problem = random_rigid(
            rng, bodies=4, contacts=12, joints=1, limits=2, mass_ratio=10.0 ** rng.uniform(0.0, 4.0), law=law
        )
        solution = solve(problem, "ipm", tol=1e-12)
        assert solution.residuals.worst_velocity < 1e-6
        change = (solution.body_velocities - problem.u_f).reshape(-1, 6)
        change[:, 3:] *= radius_of_gyration(problem.delassus.mass)[:, None]
        certificate, speed = Certificate(problem), np.abs(problem.free_velocity).max()
        directions = [solution.reactions, *rng.normal(size=(20, problem.row_count))]
        needed = [speed * certificate.speed(d, purify) for d in directions for purify in (False, True)]
        assert 0.0 < max(needed) <= (1.0 + 1e-5) * np.abs(change).max()


def test_rounding_is_no_proof():
    """Two limits that meet in one velocity, but for the last digit of their bias."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        factor, speed = rng.uniform(1.0, 3.0), 1e9 * rng.normal()
        rows, u_f = np.zeros((2, 12)), np.zeros(6)
        rows[0, 6], rows[1, 6], u_f[0] = factor, -1.0, speed + 1e-2 * rng.normal()
        problem = Problem.rigid(
            np.eye(6)[None],
            [[-1, 0], [-1, 0]],
            rows,
            cone=ProductCone((), 2),
            u_f=u_f,
            b=[-factor * speed, speed],
            law=Law.CCP,
        )
        assert not Certificate(problem).proves(np.array([1.0, factor]), purify=True)


@pytest.mark.parametrize("variant", ["compiled", "thesis"])
def test_where_only_the_operator_is_known_nothing_is_called_infeasible(variant):
    """Heavy bodies and contradictions look alike in D."""
    for seed in range(2 * len(IMPOSSIBLE)):
        _, problem = impossible(seed)
        dual = Problem.dual(problem.delassus.matrix(), problem.free_velocity, cone=problem.cone, law=problem.law)
        solution = solve(dual, VARIANTS[variant], tol=1e-8, tol_velocity=1e-6, max_iter=300)
        assert solution.status in (Status.STALLED, Status.MAX_ITERATIONS, Status.DIVERGED)


def test_stacks_rise():
    """The generator keeps its word: a motion with slack exists however heavy the bodies are."""
    problem = stack([10.0, 1e7, 1e13], 0.5, "box")
    rising = np.zeros((3, 6))
    rising[:, 2] = [1.0, 2.0, 3.0]
    v = problem.delassus.rows_times(rising.ravel()).reshape(-1, 3)
    assert (v[:, 0] >= 1.0 - 1e-12).all()
    assert np.allclose(problem.free_velocity[::3][:4], -0.01 * GRAVITY)


def test_the_compiled_method_hands_on_what_it_cannot_do():
    """Contacts that joints hold altogether have no mobility left but rounding: its first points are far off there."""
    for (_, problem), status in ((possible(2841), Status.CONVERGED), (impossible(1142), Status.INFEASIBLE)):
        solution = solve(problem, VARIANTS["compiled"], tol=1e-8, tol_velocity=1e-6, max_iter=300)
        assert solution.status is status
