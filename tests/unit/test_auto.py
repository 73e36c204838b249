"""What `auto` tries, and that it hands on where the first method crawls."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from delassus import Memory, ModelBuilder, solve, step
from delassus.builder import Material
from delassus.cones import ProductCone
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_rigid
from delassus.shapes import Box, Plane
from delassus.simulation import StepSettings
from delassus.solvers import plan
from delassus.solvers.auto.stages import Stage, stages_of
from delassus.solvers.newton.prox_ssn import ProxSsn
from delassus.solvers.plan import auto_stages
from delassus.solvers.table import SOLVERS
from delassus.status import Status


def test_two_boxes_of_ratio_1e3_converge_under_ccp():
    material = Material(0.5)
    builder = ModelBuilder()
    builder.fixed("floor", shapes=[Plane()], material=material)
    builder.body("light", position=(0.0, 0.0, 0.1), mass=10.0, shapes=[Box((0.2, 0.2, 0.2))], material=material)
    builder.body("heavy", position=(0.0, 0.0, 0.4), mass=1e4, shapes=[Box((0.4, 0.4, 0.4))], material=material)
    model, state = builder.build()
    memory, settings = Memory(), StepSettings(h=0.01, law=Law.CCP)
    for _ in range(20):
        state, report = step(model, state, None, settings, memory)
        assert report.solution.converged
    assert np.abs(state.u).max() < 1e-6


def lattice(per_pair: int) -> Problem:
    """600 bodies above each other in rows of ten, each touching the two below by so many contacts, falling."""
    bodies = [(k - 10, k) for k in range(10, 600)] + [(k - 9, k) for k in range(10, 600) if k % 10 < 9]
    bodies = [pair for pair in bodies for _ in range(per_pair)]
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3 * len(bodies), 12))
    u_f = np.tile([0.0, 0.0, -0.1, 0.0, 0.0, 0.0], 600)
    cone = ProductCone(mu=np.full(len(bodies), 0.5))
    return Problem.rigid(np.tile(np.eye(6), (600, 1, 1)), bodies, rows, cone=cone, u_f=u_f)


def test_heaps_of_round_bodies_begin_with_momentum_those_of_faces_do_not():
    round_ones, faces = lattice(1), lattice(4)
    assert round_ones.contact_count > 1000
    momentum, newton, *_ = auto_stages(round_ones, 1e-6)
    assert (momentum[0].name, newton[0].name, newton[1].warm_up) == ("ags", "prox-ssn", 0)
    for problem, tol in ((faces, 1e-6), (round_ones, 1e-4), (lattice(4).with_law("ccp"), 1e-6)):
        assert auto_stages(problem, tol)[0][0].name == "prox-ssn"
    momentum, last = auto_stages(round_ones.with_law("ccp"), 1e-8)
    assert (momentum[0].name, momentum[1].yields, last[0].name) == ("ags", True, "ipm")
    for rows, yields in ((60_000, True), (120_000, False)):  # more than Newton's method takes; more than are factored
        many = SimpleNamespace(
            law=Law.CCP,
            is_small=False,
            row_count=rows,
            contact_count=rows // 3,
            cone=round_ones.cone,
            delassus=round_ones.delassus,
        )
        momentum, last = auto_stages(many, 1e-8)
        assert (momentum[0].name, momentum[1].yields, last[0].name) == ("ags", yields, "ipm")


def dual(problem: Problem) -> Problem:
    """The same problem as one that knows D alone, where no compiled interior point begins."""
    return Problem.dual(problem.delassus.matrix(), problem.free_velocity, cone=problem.cone, law=problem.law)


def test_a_first_method_that_is_stopped_hands_on_to_the_interior_point(monkeypatch):
    """Cut short, the first method leaves its best point to the next; counts and traces go on over both."""
    first, last = stages_of(Law.CCP, least=False)
    monkeypatch.setattr(plan, "auto_stages", lambda *_: (first._replace(most=3), last))
    problem = dual(random_rigid(np.random.default_rng(1), bodies=6, contacts=12, joints=2, mass_ratio=1e4, law=Law.CCP))
    steps: list[tuple[float, ...]] = []
    solution = solve(problem, max_iter=10_000, trace=lambda *row: steps.append(row))
    iterations = [row[0] for row in steps]
    assert solution.converged
    assert solution.solver == "prox-ssn, ipm"
    assert iterations == sorted(iterations)
    assert solution.iterations == iterations[-1] > 3


def test_newton_that_failed_begins_anew_from_zero(monkeypatch):
    """Along a pile of spheres, guesses led Newton's method to points that nothing came away from."""
    stages = stages_of(Law.NCP, least=False)
    first, anew = stages[:2]
    assert anew[0].name == "prox-ssn"
    assert anew[0].at_once is None
    problem = random_rigid(np.random.default_rng(1), bodies=6, contacts=12)
    astray = np.tile([1e3, 1e3, 0.0], problem.contact_count)
    method = anew[0].start(problem, anew[1], astray.copy())
    assert not method.reactions.any()
    short = (Stage(replace(first.line, at_once=None), first.settings, 1), anew, *stages[2:])  # as among more bodies
    monkeypatch.setattr(plan, "auto_stages", lambda *_: short)
    solution = solve(problem, guess=astray)
    assert solution.converged
    assert solution.solver == "prox-ssn, prox-ssn"


def test_paths_are_a_last_resort_among_contacts_with_friction():
    """After Newton's method from zero and from its own end, before the unbounded sweeps; nowhere else."""
    rng = np.random.default_rng(4)
    contacts = random_rigid(rng, bodies=40, contacts=90)
    for problem in (contacts, lattice(1), dual(contacts)):
        names = [line.name for line, *_ in auto_stages(problem, 1e-8)]
        assert names[-4:] == ["prox-ssn", "homotopy", "ipm+desaxce", "nbgs+anderson"]
    for other in (
        random_rigid(rng, bodies=6, contacts=12),
        random_rigid(rng, bodies=40, contacts=90, joints=1),
        random_rigid(rng, bodies=40, contacts=90, limits=2),
        random_rigid(rng, bodies=40, contacts=90, frictionless_part=0.5),
        random_rigid(rng, bodies=40, contacts=90, mass_ratio=1e12),
        contacts.with_law("ccp"),
        lattice(4),  # more rows than it takes
    ):
        assert "homotopy" not in [line.name for line, *_ in auto_stages(other, 1e-8)]


@pytest.mark.parametrize("law", list(Law))
def test_stages_end_without_a_bound_and_the_convex_laws_with_a_proof(law):
    for least in (False, True):
        stages = stages_of(law, least)
        assert [line.name for line, *_ in stages][0] == "prox-ssn"
        assert stages[-1][2] == 0
        assert all(most > 0 for _, _, most, _ in stages[:-1])
        if law is not Law.NCP:
            assert stages[-1][0].name == "ipm"


@pytest.mark.parametrize("law", [Law.CCP, Law.FRICTIONLESS])
def test_auto_holds_a_proof_where_there_is_no_solution(law):
    """A body between walls that close in: without friction Newton's method alone only stalls."""
    rows = np.zeros((6, 12))
    rows[:3, 6:9] = np.eye(3)
    rows[3:, 6:9] = -np.eye(3)
    bias = np.array([-0.5, 0.0, 0.0, -0.5, 0.0, 0.0])
    problem = Problem.rigid(
        np.eye(6)[None],
        np.array([[-1, 0], [-1, 0]]),
        rows,
        cone=ProductCone(mu=[0.3, 0.3]),
        u_f=np.zeros(6),
        b=bias,
        law=law,
    )
    assert solve(problem).status is Status.INFEASIBLE


@pytest.mark.parametrize("law", list(Law))
def test_auto_keeps_to_the_iterations_it_is_given(law):
    problem = random_rigid(np.random.default_rng(3), bodies=60, contacts=150, mass_ratio=1e4, law=law)
    assert solve(problem, tol=1e-14, max_iter=7).iterations <= 7


@pytest.mark.parametrize("most", [0, 1, 2, 5, 13])
@pytest.mark.parametrize(("contacts", "joints"), [(5, 0), (5, 3), (30, 0), (30, 5)])
def test_auto_keeps_to_iterations_that_end_within_a_proximal_step(contacts, joints, most):
    """Newton's steps of one proximal step count, and so do those that make joints exact."""
    for seed in range(4):
        problem = random_rigid(np.random.default_rng(seed), bodies=2, contacts=contacts, joints=joints, law=Law.NCP)
        assert solve(problem, tol=1e-13, tol_velocity=None, max_iter=most).iterations <= most


def test_newton_returns_after_as_many_systems_as_it_may_solve_outside():
    """One proximal step may take two dozen systems, each of them long: time limits are looked at in between."""
    problem = random_rigid(np.random.default_rng(0), bodies=150, contacts=900, friction=(0.1, 50.0), law=Law.NCP)
    settings = ProxSsn(solver="prox-ssn", warm_up=0, least=False)
    method = SOLVERS["prox-ssn"].start(problem, settings, np.zeros(problem.row_count))
    method.tols = 1e-12, 1e-10
    method._go_outside()
    for _ in range(4):
        assert method.advance(3) <= 3


def test_sweeps_with_joints_eliminated_solve_large_friction_where_newton_does_not():
    problem = random_rigid(
        np.random.default_rng(5),
        bodies=25,
        contacts=60,
        joints=20,
        limits=15,
        redundant_joints=True,
        frictionless_part=0.3,
        friction=(0.1, 1000.0),
    )
    solution = solve(problem)
    assert solution.converged, solution.message


@pytest.mark.parametrize("joints", [20, 40, 100])
def test_joints_alone_are_solved_at_any_size(joints):
    """Eliminated, they leave no contact to sweep over."""
    problem = random_rigid(np.random.default_rng(3), bodies=120, contacts=0, joints=joints)
    solution = solve(problem, tol=1e-8)
    assert solution.converged, solution.message


@pytest.mark.parametrize("seed", [0, 1, 9])
def test_many_contacts_of_masses_far_apart_are_solved(seed):
    """Newton's method is not cut off before two doubles are tried, and goes on where they fail."""
    problem = random_rigid(np.random.default_rng(seed), bodies=4, contacts=120, limits=15, mass_ratio=1e8)
    solution = solve(problem)
    assert solution.converged, solution.message


@pytest.mark.parametrize("seed", [2, 26])
def test_soft_joints_that_hold_too_much_take_few_systems(seed):
    """Ten bodies on forty joints that give way a little: with next to no proximal weight on joints every factor lost
    eight digits, and a thousand systems were solved."""
    problem = random_rigid(np.random.default_rng(seed), bodies=10, contacts=60, joints=40, compliance=1e-6)
    solution = solve(problem, tol=1e-8)
    assert solution.converged
    assert solution.iterations < 600


def test_joints_alone_end_where_double_precision_does():
    """One linear system: what is asked for beyond rounding is not looked for with a million sweeps, the best point
    found is returned, and words say what is left."""
    problem = random_rigid(np.random.default_rng(3), bodies=30, contacts=0, joints=50, redundant_joints=True)
    assert problem.row_count > 180  # no attempt at once
    found, asked = solve(problem, tol=1e-12), solve(problem, tol=1e-18)
    assert found.converged
    assert not asked.converged
    assert asked.iterations < 100
    assert "joints contradict each other" in " ".join(asked.trace.words)
    assert asked.residuals.natural_map_relative < 1e-13
