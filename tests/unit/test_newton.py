"""Newton's systems: blocks of three, sparse and body space must give the same step, and it must be the derivative's."""

import numpy as np
import pytest

from delassus import residuals
from delassus.kernel.four_wide import PADDING
from delassus.law import Law
from delassus.linalg.factor import structural
from delassus.problem.random import random_rigid
from delassus.solvers import solve
from delassus.solvers.interior.newton_start import interior_start
from delassus.solvers.newton import iteration
from delassus.solvers.newton.alart_curnier import law_function, projection_derivative, smoothed_derivative
from delassus.solvers.newton.block_lu import Factors, block_lu_step
from delassus.solvers.newton.body import BodySystem
from delassus.solvers.newton.prox_ssn import ProxSsn
from delassus.solvers.newton.sparse import SparseSystem
from delassus.solvers.parts.elimination_order import block_operations, eliminate, fill_pattern, order_scratch
from delassus.solvers.parts.threes import Triples, cut_rigid, place_rows, triples_of, velocity

RHO, ALPHA = 100.0, 1e-3


def ordered(n, pointer, column):
    """(order, position, starts, columns, lower, left) of all n triples."""
    members, order, position = np.arange(n), np.empty(n, np.int64), np.full(n, -1)
    starts, lower, scratch = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.full(order_scratch(n), -7)
    columns, left = np.empty((2, n * (n - 1) // 2), np.int64)
    count = eliminate(members, members, pointer, column, order, position, starts, columns, scratch)
    assert count == starts[n]
    fill_pattern(position, starts, columns, lower, left, scratch)
    return order, position, starts, columns[:count], lower, left[:count]


class Cut:
    """A rigid problem in triples, not scaled."""

    def __init__(self, problem):
        cone, rigid = problem.cone, problem.delassus.rigid
        n = triples_of(cone.block_start)
        self.place, self.mu = np.empty(problem.row_count, np.int64), np.empty(n)
        place_rows(cone.block_start, cone.bilateral.size, cone.unilateral, problem.mu, self.place, self.mu)
        self.blocks = cut_rigid(rigid.plain, len(rigid.mass), self.place, n)
        self.v = np.zeros(3 * n)
        self.v[self.place] = problem.free_velocity
        self.convex = 1.0 if problem.law is Law.CCP else 0.0
        self.problem = problem

    def point(self, seed=1):
        r = np.zeros(len(self.v))
        r[self.place] = np.random.default_rng(seed).normal(size=len(self.place))
        return r

    def speed(self, r, v, alpha):
        out = np.empty_like(r)
        velocity(*self.blocks, v, r, out)
        return out + alpha * r

    def derivative(self, r, u):
        A = np.full((len(r), 3), np.nan)
        projection_derivative(r, u, RHO, self.mu, self.convex, self.blocks[3], A)
        return A

    def by_blocks(self, A, alpha, F):
        """The step by block elimination over all triples."""
        pointer, column, value, diagonal = self.blocks
        n = len(self.mu)
        order, position, starts, columns, lower, left = ordered(n, pointer, column)
        step = np.empty_like(F)
        factors = Factors(
            order,
            starts,
            columns,
            lower,
            left,
            position[column // 3],
            np.empty(12 * starts[n] + PADDING),
            np.zeros(12 * n + PADDING),
            np.zeros(12 * n + 24 + PADDING),
            np.empty(3 * n),
        )
        triples = Triples(*self.blocks, self.v, self.mu, self.convex)
        assert block_lu_step(factors, triples, RHO, A, np.full(len(F), alpha), F, np.zeros_like(F), step)
        return step

    def steps(self, A, alpha, F):
        """The same step in every way."""
        body = BodySystem(self.problem.delassus.rigid, self.problem.cone.contact_start, self.place, RHO)
        weight = np.full(len(F), alpha)
        return self.by_blocks(A, alpha, F), SparseSystem(self.blocks, RHO).step(A, weight, F), body.step(A, weight, F)


@pytest.fixture(params=[Law.NCP, Law.CCP])
def cut(request):
    return Cut(random_rigid(np.random.default_rng(5), bodies=8, contacts=20, limits=3, joints=3, law=request.param))


@pytest.fixture(params=["installed", "superlu"])
def back_end(request, monkeypatch):
    if request.param == "superlu":
        monkeypatch.setattr(structural, "mkl", lambda: None)
    return request.param


def test_every_step_is_newtons(cut, back_end):
    """A small part of the step reduces F by that part: the system is the derivative of the function."""
    r = cut.point()
    u, F, moved, t = cut.speed(r, cut.v, ALPHA), np.empty_like(r), np.empty_like(r), 1e-7
    law_function(r, u, RHO, cut.mu, cut.convex, F)
    for d in cut.steps(cut.derivative(r, u), ALPHA, F):
        pull = cut.speed(d, np.zeros_like(d), ALPHA)
        law_function(r + t * d, u + t * pull, RHO, cut.mu, cut.convex, moved)
        assert np.allclose((moved - F) / t, -F, rtol=1e-4, atol=1e-4 * np.abs(F).max())


def test_steps_agree_where_many_triples_are_open(cut, back_end):
    r = cut.point(3) + np.where(np.arange(len(cut.v)) % 3 == 0, 0.2, 0.0) * (cut.v != 0.0)
    u, F = 0.05 * cut.point(4), np.empty(len(cut.v))
    law_function(r, u, RHO, cut.mu, cut.convex, F)
    A = cut.derivative(r, u)
    assert (A[::3, 0] == 0.0).any()
    by_blocks, *others = cut.steps(A, ALPHA, F)
    for other in others:
        assert np.allclose(by_blocks, other, rtol=1e-7, atol=1e-7 * np.abs(by_blocks).max())


def test_order_eliminates_every_triple_once_and_its_pattern_holds_the_factors(cut):
    """Filled in by brute force, the pattern of U is exactly what eliminating in this order makes."""
    pointer, column = cut.blocks[:2]
    n = len(cut.mu)
    order, position, starts, columns, lower, left = ordered(n, pointer, column)
    assert sorted(order) == list(range(n))
    near = [set(column[pointer[k] : pointer[k + 1]] // 3) for k in range(n)]
    products = 0
    for i, k in enumerate(order):
        later = {j for j in near[k] if position[j] > i}
        assert {int(order[c]) for c in columns[starts[i] : starts[i + 1]]} == later
        of_L = left[lower[i] : lower[i + 1]].tolist()  # rows of U with an entry in this column
        assert of_L == [q for q in range(i) if i in columns[starts[q] : starts[q + 1]]]
        for j in later:
            near[j] |= later - {j}
        products += len(later) * (len(later) + 1)
    assert block_operations(np.full(n, -1.0), np.zeros(3 * n), pointer, column, 10**6) == (products, n)
    assert block_operations(np.full(n, -1.0), np.zeros(3 * n), pointer, column, 1)[0] == np.inf


@pytest.mark.parametrize("crowded", [False, True])
def test_systems_outside_treat_joints_as_rows(back_end, crowded, monkeypatch):
    """Joints, redundant ones too, in a sparse system give the velocities of the eliminated ones."""
    kind = {"bodies": 5, "contacts": 20} if crowded else {"bodies": 12, "contacts": 8}
    problem = random_rigid(np.random.default_rng(8), joints=4, limits=3, redundant_joints=True, **kind)
    assert crowded == (6 * kind["bodies"] <= problem.row_count)
    settings = ProxSsn(solver="prox-ssn", warm_up=0, least=False)
    monkeypatch.setattr("delassus.solvers.newton.small.MOST_ROWS", 0)
    inside = solve(problem, settings, tol=1e-10)
    monkeypatch.setattr("delassus.solvers.newton.prox_ssn._LARGE_FACTOR", 0.0)
    outside = solve(problem, settings, tol=1e-10)
    assert inside.converged
    assert outside.converged
    # contact forces of a random heap are not unique, velocities of this one are
    assert np.allclose(inside.body_velocities, outside.body_velocities, atol=1e-7)


@pytest.mark.parametrize("law", list(Law))
def test_batches_do_what_one_call_does(law, monkeypatch):
    problem = random_rigid(np.random.default_rng(3), bodies=6, contacts=14, limits=2, joints=2, law=law)
    for least in (False, True):
        settings = ProxSsn(solver="prox-ssn", least=least)
        with monkeypatch.context() as change:
            at_once = solve(problem, settings, tol=1e-10)
            change.setattr("delassus.solvers.newton.small.MOST_ROWS", 0)
            in_batches = solve(problem, settings, tol=1e-10)
        assert at_once.converged
        assert in_batches.iterations == at_once.iterations
        assert np.allclose(at_once.reactions, in_batches.reactions, rtol=1e-8, atol=1e-9 * abs(at_once.reactions).max())


def smooth_projection(z, mu, width):
    """The projection of Alart and Curnier's function for one contact, its kinks rounded off."""
    n = 0.5 * (z[0] + np.hypot(z[0], 2 * width))
    length = np.sqrt(z[1] ** 2 + z[2] ** 2 + width**2)
    larger = 0.5 * (mu * n + length + np.hypot(length - mu * n, 2 * width))
    return np.array([n, mu * n / larger * z[1], mu * n / larger * z[2]])


@pytest.mark.parametrize("z", [[1.0, 0.2, -0.1], [1.0, 0.9, 0.3], [-0.2, 0.5, 0.1], [0.1, 0.01, 0.0]])
def test_smoothed_derivative_is_that_of_a_smooth_function(z):
    mu, width, step = 0.6, 0.3, 1e-6
    r, u, A = np.array(z), np.zeros(3), np.full((3, 3), np.nan)
    smoothed_derivative(r, u, RHO, np.array([mu]), width, np.ones(9), A)
    for j in range(3):
        ahead, behind = r + step * np.eye(3)[j], r - step * np.eye(3)[j]
        slope = (smooth_projection(ahead, mu, width) - smooth_projection(behind, mu, width)) / (2 * step)
        assert np.allclose(A[:, j], slope, atol=1e-8)


def test_smoothed_derivative_tends_to_the_exact_one():
    cut = Cut(random_rigid(np.random.default_rng(5), bodies=8, contacts=20, limits=3, joints=2))
    r, u = cut.point(), cut.point(2)
    smooth = np.full((len(r), 3), np.nan)
    smoothed_derivative(r, u, RHO, cut.mu, 1e-6, cut.blocks[3], smooth)
    exact = cut.derivative(r, u)
    filled = np.zeros(len(r), bool)
    filled[cut.place] = True  # the empty rows of limits are zero in one and one in the other: nothing reads them
    assert np.allclose(exact[filled], smooth[filled], atol=1e-8)


def test_triples_open_for_long_leave_the_sparse_system(back_end):
    """The step is the same as that of a system built for the present triples alone."""
    cut = Cut(random_rigid(np.random.default_rng(5), bodies=8, contacts=20, limits=3))
    system, F = SparseSystem(cut.blocks, RHO), cut.point(3)
    pressed = np.zeros(len(cut.v))
    pressed[::3] = 100.0
    system.step(cut.derivative(pressed, cut.v), np.full(len(F), ALPHA), F)
    everything = len(system.members)
    A = cut.derivative(cut.point(), cut.v)
    for _ in range(45):
        found = system.step(A, np.full(len(F), ALPHA), F)
    assert len(system.members) < everything
    assert np.allclose(found, SparseSystem(cut.blocks, RHO).step(A, np.full(len(F), ALPHA), F), atol=1e-10)


def test_interior_start_is_near_the_solution():
    """Nearer than as many sweeps, with friction; at the solution without. On the median of problems: on one of them
    rounding, which the processor decides, moves the ratio of both residuals by half."""
    ratios = []
    for seed in range(7):
        problem = random_rigid(np.random.default_rng(seed), bodies=40, contacts=120, joints=3, limits=3)
        swept = solve(problem, "nbgs", tol=1e-12, max_iter=30)
        inside = residuals.evaluate(problem, interior_start(problem, swept.reactions)).natural_map_relative
        ratios.append(inside / swept.residuals.natural_map_relative)
    assert np.median(ratios) < 0.1
    smooth = problem.with_law(Law.FRICTIONLESS)
    found = interior_start(smooth, np.zeros(problem.row_count))
    assert residuals.evaluate(smooth, found).natural_map_relative < 1e-6


def test_a_convex_problem_with_large_factors_is_left_to_others_only_where_that_is_asked_for(monkeypatch):
    """By name the method solves it itself; in a portfolio it yields before its first system."""
    problem = random_rigid(np.random.default_rng(8), bodies=12, contacts=30, mass_ratio=1e3, law=Law.CCP)
    monkeypatch.setattr("delassus.solvers.newton.small.MOST_ROWS", 0)
    monkeypatch.setattr("delassus.solvers.newton.prox_ssn._LARGE_FACTOR", 0.0)
    settings = ProxSsn(solver="prox-ssn", least=False, warm_up=1)
    alone, yielding = (solve(problem, settings.changed(yields=yields), tol=1e-10) for yields in (False, True))
    assert alone.converged
    assert "sparse direct solver" in alone.trace.words[-1]
    assert not yielding.converged
    assert " 0 Newton systems" in yielding.trace.words[-1]


def test_a_newton_iteration_that_gains_next_to_nothing_fails_after_three_steps_but_not_on_the_path():
    """One joint, D = I: a step of −1 % of the point lowers ‖F‖ by 1 %."""
    pointer, column, value, diagonal = np.zeros(2, np.int64), np.empty(0, np.int64), np.empty(4), np.eye(3).ravel()
    v, mu = np.zeros(3), np.array([-1.0])
    for mode, share, expected in (
        (iteration.PROXIMAL, 0.01, [True, True, False]),
        (iteration.PROXIMAL, 0.2, [True, True, True]),
        (iteration.PATH, 0.01, [True, True, True]),
    ):
        state, vectors = np.empty(iteration.STATE_SIZE), np.zeros((iteration.VECTORS, 3))
        iteration.begin(state, 1e-4, 0.0)
        state[iteration.MODE] = mode
        x = vectors[iteration.ITERATE] = vectors[iteration.SPEED] = np.array([1.0, 2.0, 3.0])
        state[iteration.NORM] = 100.0 * np.linalg.norm(x)
        found = []
        for _ in range(3):
            vectors[iteration.STEP] = -share * vectors[iteration.ITERATE]
            newton = iteration.Newton(state, vectors, np.empty((3, 3)), np.empty(3), 0.0, 0.0)
            found.append(iteration._move(newton, 100.0, Triples(pointer, column, value, diagonal, v, mu, 0.0)))
        assert found == expected


@pytest.mark.parametrize(("factor", "sweep", "expected"), [(50e3, 10e3, 10.0), (1e3, 1e4, 5.0), (1e7, 1e5, 50.0)])
def test_sweeps_before_a_second_try_are_worth_two_systems(factor, sweep, expected):
    assert iteration.sweeps_before_second_try(factor, sweep) == pytest.approx(expected)
