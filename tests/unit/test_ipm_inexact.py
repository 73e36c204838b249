"""The inexact interior-point method: its start, its steps, its systems, and certificates of what it returns."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from delassus import residuals
from delassus.errors import SettingsError
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_block, random_dual, random_rigid
from delassus.solvers import SOLVERS, solve
from delassus.solvers.interior.inexact.barrier import off_centre, reduction
from delassus.solvers.interior.inexact.body_space import BodySpace
from delassus.solvers.interior.inexact.contact_space import ContactSpace
from delassus.solvers.interior.inexact.directions import Scaling
from delassus.solvers.interior.inexact.method import IpmInexactMethod
from delassus.solvers.interior.inexact.regularisation import normal_over_tangential, softness
from delassus.solvers.interior.inexact.settings import contact_stiffness
from delassus.solvers.interior.inexact.units import Units, between_units
from delassus.solvers.interior.standard import Standard
from delassus.solvers.parts import jordan

DEFAULT = SOLVERS["ipm-inexact"].settings


def mixed(law=Law.CCP, **more):
    """Joints of five and six rows, limits, frictionless and frictional contacts."""
    wanted = {"bodies": 8, "contacts": 14, "joints": 3, "limits": 3, "frictionless_part": 0.3} | more
    return random_rigid(np.random.default_rng(21), law=law, **wanted)


def started(problem, **settings):
    return IpmInexactMethod(problem, DEFAULT.changed(**settings), np.zeros(problem.row_count))


# -- steps and the central path -------------------------------------------------------------------------------------


def test_step_to_the_boundary_is_the_one_bisection_finds():
    """Kleinert et al. 2014, Lemma 2, against brute force, from points deep inside and close to the boundary."""
    rng = np.random.default_rng(22)

    def inside(x):
        return x[0] >= math.hypot(x[1], x[2])

    for _ in range(300):
        x, d = rng.normal(size=3), rng.normal(size=3)
        x[0] = math.hypot(x[1], x[2]) + 10.0 ** rng.uniform(-4, 1)
        step = jordan.boundary_step(*x, *d)
        low, high = 0.0, 1e6
        if inside(x + high * d):
            assert step > high
            continue
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if inside(x + middle * d) else (low, middle)
        assert step == pytest.approx(low, rel=1e-6)


def test_distance_from_the_centre_is_the_sum_over_eigenvalues():
    """f_cen = −Σ log(λ_i / τ) over all eigenvalues of all products, the orthant's counted twice (Kleinert et al. 2014,
    eq. 17)."""
    rng = np.random.default_rng(23)
    x, y = np.abs(rng.normal(size=17)), np.abs(rng.normal(size=17))
    for v in (x, y):
        v[2::3] = np.hypot(v[3::3], v[4::3]) + 0.1
    products = [x[0] * y[0], x[0] * y[0], x[1] * y[1], x[1] * y[1]]
    for i in range(2, 17, 3):
        dot = x[i : i + 3] @ y[i : i + 3]
        det = jordan.determinant(*x[i : i + 3]) * jordan.determinant(*y[i : i + 3])
        products += [dot - math.sqrt(dot * dot - det), dot + math.sqrt(dot * dot - det)]
    tau = x @ y / 7
    assert off_centre(2, x, y, 0.0) == pytest.approx(-np.log(np.array(products) / tau).sum())
    jordan.invert(2, x, y)
    assert off_centre(2, x, 0.3 * y, 0.0) == pytest.approx(0.0, abs=1e-12)
    assert off_centre(2, x, 0.3 * y, 0.3) == pytest.approx(0.0, abs=1e-12)
    assert off_centre(2, x, 0.3 * y, 3.0) > 0.5


def test_strategies_are_those_of_the_paper():
    assert [reduction("path-following", f) for f in (0.05, 0.5, 5.0)] == [0.1, 0.5, 1.0]
    assert [reduction("potential-reduction", f) for f in (0.05, 0.5, 5.0)] == [0.01, 0.1, 0.5]


@pytest.mark.parametrize("law", [Law.CCP, Law.FRICTIONLESS])
def test_start_is_feasible_and_central(law):
    """x∘ȳ = s e and ȳ = D x + q + s d (Kleinert et al. 2014, §4.3), whatever the problem."""
    method = started(mixed(law))
    free, limits = method.standard.free, method.standard.limits
    assert method.s == method.tau > 0.0
    product, unit = np.empty(len(method.x) - free), np.empty(len(method.x) - free)
    jordan.multiply(limits, method.x[free:], method.y[free:], product)
    jordan.fill_unit(limits, unit)
    assert np.allclose(product, method.s * unit, rtol=1e-12)
    assert np.allclose(method.standard.velocity(method.x) + method.s * method.d, method.y, rtol=1e-9)


def test_iterates_stay_inside_and_feasible_however_poor_the_directions():
    method = started(mixed(contacts=40), accuracy=0.9, krylov=4)
    free, limits = method.standard.free, method.standard.limits
    for _ in range(30):
        method.advance(1)
        assert jordan.smallest_eigenvalue(limits, method.x[free:]) > 0.0
        assert jordan.smallest_eigenvalue(limits, method.y[free:]) > 0.0
        v = method.standard.velocity(method.x) + method.s * method.d
        assert np.allclose(v, method.y, rtol=1e-9, atol=1e-11)
    assert method.details["tau"][-1] < method.details["tau"][0]


# -- regularisation --------------------------------------------------------------------------------------------------


def test_stiffness_of_a_contact():
    """Kleinert et al. 2014, eq. 33: π/4 · 1e7 Pa · 24 mm, and the ratio 1.2143 at ν = 0.3."""
    assert contact_stiffness(1e7, 0.024) == pytest.approx(188495.56, rel=1e-6)
    assert normal_over_tangential(0.3) == pytest.approx(1.7 / 1.4)
    assert normal_over_tangential(0.0) == 1.0


def test_softness_is_that_of_the_contacts_in_scaled_units():
    """R = 1 / (h² k) on the rows of each contact, carried through the same scaling as D (Kleinert et al. 2014, eq.
    32)."""
    problem = mixed()
    standard = Standard(problem)
    k = np.random.default_rng(24).uniform(1.0, 100.0, problem.contact_count)
    R = softness(standard, DEFAULT.changed(stiffness=tuple(k), poisson=0.3))
    own = R / standard.factor**2
    first = standard.free + standard.limits
    rough = np.flatnonzero(problem.mu > 0.0)
    assert np.allclose(own[first::3], 1.0 / k[rough])
    assert np.allclose(own[first + 1 :: 3], 1.7 / 1.4 / k[rough])
    smooth = np.flatnonzero(problem.mu == 0.0)
    assert np.allclose(own[first - len(smooth) : first], 1.0 / k[smooth])
    with pytest.raises(SettingsError, match="holds 2 values for 14 contacts"):
        softness(standard, DEFAULT.changed(stiffness=(1.0, 2.0)))


def test_softness_does_not_change_the_solution():
    """It is in the matrix of a direction, not in the law: rigid contacts are what comes out."""
    problem = mixed()
    stiff, soft = (solve(problem, DEFAULT.changed(regularisation=r), tol=1e-7) for r in (1e-9, 1e-3))
    assert stiff.converged
    assert soft.converged
    assert np.allclose(stiff.body_velocities, soft.body_velocities, atol=1e-5)


# -- systems ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["rigid", "compliant", "matrix", "frictionless"])
def test_blocks_between_units_are_the_delassus_matrix(kind):
    problem = mixed(Law.FRICTIONLESS if kind == "frictionless" else Law.CCP, compliance=0.1 * (kind == "compliant"))
    if kind == "matrix":
        problem = Problem.dual(problem.delassus.matrix(), problem.free_velocity, cone=problem.cone, law="ccp")
    standard = Standard(problem)
    units = Units(standard)
    pattern, values = between_units(standard, units)
    row, column, source = pattern.full()
    full = np.zeros((pattern.size, pattern.size))
    full[row, column] = values.reshape(-1)[source]
    D = np.column_stack([standard.product(e) for e in np.eye(standard.row_count)])
    assert np.allclose(full[np.ix_(units.position, units.position)], D, atol=1e-12)
    rest = np.setdiff1d(np.arange(pattern.size), units.position)
    assert np.array_equal(full[np.ix_(rest, rest)], np.eye(len(rest)))
    assert not full[np.ix_(rest, units.position)].any()


SYSTEMS = [
    (space, linear, preconditioner)
    for space in ("contact", "body")
    for linear, preconditioner in [
        ("direct", "none"),
        ("cg", "none"),
        ("cg", "jacobi"),
        ("cg", "ic0"),
        ("bicgstab", "ic0"),
        ("bicgstab", "ilu0"),
        ("gmres", "ic0"),
    ]
]


@pytest.mark.parametrize("system", SYSTEMS, ids="-".join)
@pytest.mark.parametrize("compliance", [0.0, 0.05])
def test_every_way_solves_the_same_system(system, compliance):
    """(D + W² + R) dx = b, formed densely, and the reported measure is the true one."""
    problem = mixed(compliance=compliance)
    standard = Standard(problem)
    m, free, limits = standard.row_count, standard.free, standard.limits
    rng = np.random.default_rng(25)
    x, y = np.ones(m - free), np.ones(m - free)
    for v in (x, y):
        v += 0.3 * rng.normal(size=len(v)) ** 2
        v[limits::3] = np.hypot(v[limits + 1 :: 3], v[limits + 2 :: 3]) + 10.0 ** rng.uniform(-2, 0, standard.cones)
    scaling = Scaling(free, limits, standard.cones)
    scaling.form(x, y, 0.1)
    settings = DEFAULT.changed(space=system[0], linear=system[1], preconditioner=system[2])
    R = np.full(m, 1e-3)
    space = (ContactSpace if system[0] == "contact" else BodySpace)(standard, settings, R)
    A = np.column_stack([standard.product(e) for e in np.eye(m)]) + np.diag(R)
    A[free : free + limits, free : free + limits] += np.diag(scaling.diagonal)
    for k, block in enumerate(scaling.blocks):
        own = slice(free + limits + 3 * k, free + limits + 3 * k + 3)
        A[own, own] += block
    b, dx = rng.normal(size=m), np.full(m, np.nan)
    assert space.factor(scaling)
    count, size = space.solve(b, dx, 1e-6, 20_000)
    assert size <= 1e-6
    assert (count > 0) == (system[1] != "direct")
    # rounding of the residual itself is what a direct solve leaves
    assert size == pytest.approx(scaling.measure(b - A @ dx), rel=1e-3, abs=1e-10)
    assert np.allclose(dx, np.linalg.solve(A, b), rtol=1e-4, atol=1e-4)


def test_measure_is_the_worst_cone_in_scaled_space():
    scaling = Scaling(1, 1, 2)
    x = np.array([2.0, 1.0, 0.2, 0.1, 2.0, -0.5, 1.0])
    y = np.array([0.5, 3.0, 0.1, 0.7, 1.0, 0.6, 0.1])
    scaling.form(x, y, 0.25)
    r = np.arange(1.0, 9.0)
    W2 = [scaling.diagonal.reshape(1, 1), *scaling.blocks]
    parts = [r[:1], r[1:2], r[2:5], r[5:8]]
    sizes = [np.abs(parts[0])[0]] + [math.sqrt(p @ np.linalg.solve(W, p)) for W, p in zip(W2, parts[1:])]
    assert scaling.measure(r) == pytest.approx(max(sizes) / 0.5)


# -- whole solves ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", [Law.CCP, Law.FRICTIONLESS])
def test_certificate(law):
    """Reactions in K, velocities in K*, no power, to eight digits."""
    problem = mixed(law, contacts=30)
    solution = solve(problem, DEFAULT.changed(linear="direct"), tol=1e-9)
    assert solution.converged, solution
    found = residuals.evaluate(problem, solution.reactions)
    scale = float(np.abs(problem.free_velocity).max())
    assert found.primal <= 1e-12
    assert found.dual <= 1e-8 * scale
    assert found.complementarity <= 1e-8 * scale * float(np.abs(solution.reactions).max())


@pytest.mark.parametrize("strategy", ["path-following", "potential-reduction", "adaptive"])
@pytest.mark.parametrize("space", ["contact", "body"])
def test_strategies_and_spaces_reach_the_same_velocities(strategy, space):
    problem = mixed(contacts=25)
    exact = solve(problem, DEFAULT.changed(linear="direct"), tol=1e-9)
    other = solve(problem, DEFAULT.changed(strategy=strategy, space=space, linear="cg"), tol=1e-6)
    assert exact.converged
    assert other.converged, other
    assert np.allclose(exact.body_velocities, other.body_velocities, atol=1e-4)


def test_slightly_unsymmetric_matrices_are_solved_as_they_are():
    problem = random_dual(np.random.default_rng(26), contacts=15, law="ccp")
    D = problem.delassus.matrix().toarray()
    N = np.random.default_rng(27).normal(size=D.shape)
    skewed = Problem.dual(D + 0.01 * (N - N.T) * np.abs(D).mean(), problem.free_velocity, mu=problem.mu, law="ccp")
    assert solve(skewed, "ipm-inexact", tol=1e-7).converged


def test_directions_need_no_more_than_asked_for():
    """Looser directions take fewer products, tighter ones hardly fewer iterations: what makes inexactness pay."""
    problem = mixed(bodies=20, contacts=80)
    loose, tight = started(problem, linear="cg"), started(problem, linear="cg", accuracy=1e-8)
    for method in (loose, tight):
        method.advance(20)
    assert sum(loose.details["krylov"]) < 0.6 * sum(tight.details["krylov"])
    assert loose.details["tau"][-1] < 10.0 * tight.details["tau"][-1]


def test_details_have_one_entry_per_iteration():
    method = started(mixed())
    method.advance(7)
    names = {"tau", "step", "beta", "spread", "krylov", "products", "error", "artificial", "shift", "factor", "solve"}
    assert set(method.details) == names
    assert all(len(series) == 7 for series in method.details.values())


def test_multigrid_between_bodies():
    pytest.importorskip("pyamg")
    problem = mixed(bodies=30, contacts=80)
    settings = DEFAULT.changed(space="body", linear="cg", preconditioner="amg")
    assert solve(problem, settings, tol=1e-4).converged


def test_misuse_is_named():
    with pytest.raises(SettingsError, match="did you mean 'bicgstab'"):
        DEFAULT.changed(linear="bicg-stab")
    with pytest.raises(SettingsError, match="did you mean 'ic0'"):
        DEFAULT.changed(preconditioner="ic")
    with pytest.raises(SettingsError, match="add space='body'"):
        DEFAULT.changed(preconditioner="amg")
    with pytest.raises(SettingsError, match="stiffness is -1"):
        DEFAULT.changed(stiffness=-1.0)
    with pytest.raises(SettingsError, match="fraction is 1.0"):
        DEFAULT.changed(fraction=1.0)
    with pytest.raises(SettingsError, match="needs rigid bodies"):
        solve(random_dual(np.random.default_rng(1), law="ccp"), DEFAULT.changed(space="body"))
    assert DEFAULT.parsed({"stiffness": "20", "krylov": "50"}) == DEFAULT.changed(stiffness=20.0, krylov=50)


# -- blocks with weak directions -------------------------------------------------------------------------------------


def alone(blocks, seed=31):
    """Contacts that do not touch each other, with these blocks of D, all closing."""
    rng = np.random.default_rng(seed)
    v_f = rng.normal(size=3 * len(blocks))
    v_f[::3] = -np.abs(v_f[::3])
    D = sp.block_diag(blocks)
    return Problem.dual(D, v_f, mu=rng.uniform(0.1, 1.0, len(blocks)), law=Law.CCP)


@pytest.mark.parametrize("strategy", ["path-following", "potential-reduction", "adaptive"])
@pytest.mark.parametrize(
    "diagonal", [(1, 1e5, 1e-5), (1, 1e-5, 1e5), (1e-5, 1e5, 1), (1e5, 1e-5, 1), (1e-5, 1, 1), (1, 1e3, 1e-3)], ids=str
)
def test_ten_contacts_with_badly_scaled_blocks_are_solved(diagonal, strategy):
    solution = solve(alone([np.diag(diagonal)] * 10), DEFAULT.changed(strategy=strategy), tol=1e-6, max_iter=60)
    assert solution.converged, solution


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6, 1e8])
def test_ten_contacts_with_ill_conditioned_blocks_are_solved(condition):
    rng = np.random.default_rng(32)
    blocks = [10.0 ** rng.uniform(-3.0, 3.0) * random_block(rng, condition=condition) for _ in range(10)]
    solution = solve(alone(blocks), DEFAULT, tol=1e-6, max_iter=80)
    assert solution.converged, solution


def test_first_point_lies_above_the_reactions_of_contacts_alone():
    problem = alone([np.diag((1.0, 1e5, 1e-5))] * 10)
    method = started(problem)
    exact = method.standard.from_reactions(solve(problem, DEFAULT, tol=1e-10).reactions)
    assert (method.x[::3] >= 1.99 * exact[::3]).all()
    assert method.s == 0.0
