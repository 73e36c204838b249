"""The interior-point method: certificates, agreement of its forms, and the cases that break interior points."""

import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure
from typer.testing import CliRunner

from delassus import residuals
from delassus.cli.main import app
from delassus.cones import ProductCone
from delassus.errors import SettingsError
from delassus.io.fclib import FclibFile, FclibMatrix, write_fclib
from delassus.law import Law
from delassus.linalg.factor.pardiso import pardiso_is_there
from delassus.problem import Problem
from delassus.problem.random import random_dual, random_rigid
from delassus.solvers import SOLVERS, solve
from delassus.solvers.interior import presolve, sparse
from delassus.solvers.interior.presolve import Forecast
from delassus.status import Status
from delassus.view.central_path import central_path, draw_paths

IPM = SOLVERS["ipm"].settings
THESIS = SOLVERS["ipm-thesis"].settings
GENERAL = IPM.changed(linear="body")  # on small problems "auto" is one compiled call instead
TIGHT = 1e-10
CONVEX = [Law.CCP, Law.FRICTIONLESS]


def changed(problem, **fields):
    """The problem with another bias or free velocity."""
    d = problem.delassus
    given = {"u_f": problem.u_f, "b": problem.bias, "compliance": d.compliance} | fields
    return Problem.rigid(d.mass, d.bodies, d.rows, cone=problem.cone, law=problem.law, **given)


def mixed(seed=5, **more):
    """Everything at once: redundant joints, limits, frictionless contacts, compliance."""
    settings = {
        "bodies": 30,
        "contacts": 100,
        "joints": 10,
        "limits": 5,
        "redundant_joints": True,
        "frictionless_part": 0.2,
        "compliance": 1e-3,
        "law": Law.CCP,
    }
    return random_rigid(np.random.default_rng(seed), **(settings | more))


def pile(rng, bodies, contacts):
    """A hyperstatic heap large enough for the presolve and for weak contacts to be left out of factors."""
    return random_rigid(rng, bodies=bodies, contacts=contacts, law=Law.CCP)


@pytest.mark.parametrize("settings", [IPM, GENERAL], ids=["compiled", "general"])
@pytest.mark.parametrize("law", CONVEX, ids=lambda law: law.value)
@pytest.mark.parametrize("seed", range(3))
def test_optimality_conditions_hold_to_rounding(law, seed, settings):
    """Feasible, dual feasible and complementary: the certificate of a convex program, in unscaled units."""
    rng = np.random.default_rng(seed)
    for problem in (
        random_rigid(rng, bodies=12, contacts=15, law=law),
        random_rigid(rng, bodies=6, contacts=40, law=law),
        random_rigid(rng, bodies=10, contacts=12, joints=5, limits=4, law=law),
        random_rigid(rng, bodies=8, contacts=6, joints=4, redundant_joints=True, law=law),
        random_rigid(rng, bodies=6, contacts=30, joints=2, compliance=1e-2, law=law),
        random_dual(rng, contacts=20, rank=30, law=law),
    ):
        if problem.delassus.kind == "matrix":
            settings = IPM
        solution = solve(problem, settings, tol=TIGHT)
        assert solution.converged, solution
        assert solution.iterations <= 25
        found = residuals.evaluate(problem, solution.reactions)
        size = max(1.0, np.abs(solution.reactions).max())
        assert found.primal <= 1e-9 * size
        assert found.dual <= 1e-8
        assert found.complementarity <= 1e-8 * size


@pytest.mark.parametrize("linear", ["body", "dual", "augmented"])
@pytest.mark.parametrize("backend", ["superlu", "dense"] + (["pardiso"] if pardiso_is_there() else []))
def test_forms_and_back_ends_agree(linear, backend):
    problem = mixed(bodies=12, contacts=30, joints=4, limits=3)
    reference = solve(problem, "ipm", tol=TIGHT)
    solution = solve(problem, IPM.changed(linear=linear, backend=backend), tol=TIGHT)
    assert reference.converged
    assert solution.converged
    assert np.allclose(solution.velocities, reference.velocities, atol=1e-7)


def test_flexible_and_matrix_storage_agree_with_bodies():
    rigid = mixed(bodies=12, contacts=30, joints=4, limits=3, compliance=0.0)
    d = rigid.delassus
    shuffled = np.random.default_rng(1).permutation(6 * len(d.mass))
    H, J = sp.csr_array(d.mass_matrix()[shuffled][:, shuffled]), sp.csr_array(d.jacobian()[:, shuffled])
    flexible = Problem.primal(H, J, cone=rigid.cone, u_f=rigid.u_f[shuffled], b=rigid.bias, law=Law.CCP)
    dual = Problem.dual(d.matrix(), rigid.free_velocity, cone=rigid.cone, law=Law.CCP)
    assert {flexible.delassus.kind, dual.delassus.kind} == {"sparse", "matrix"}
    reference = solve(rigid, "ipm", tol=TIGHT)
    for problem in (flexible, dual):
        for linear in ("auto", "dual"):
            solution = solve(problem, IPM.changed(linear=linear), tol=TIGHT)
            assert solution.converged
            assert np.allclose(solution.velocities, reference.velocities, atol=1e-7)


@pytest.mark.parametrize("settings", [IPM, GENERAL], ids=["compiled", "general"])
@pytest.mark.parametrize("seed", range(3))
def test_mass_ratio_of_a_million_keeps_every_velocity(seed, settings):
    """A norm does not see light bodies under heavy ones; the worst velocity does."""
    problem = random_rigid(np.random.default_rng(seed), bodies=12, contacts=40, joints=3, mass_ratio=1e6, law=Law.CCP)
    solution = solve(problem, settings, tol=1e-8, tol_velocity=1e-9)
    assert solution.converged, solution
    assert solution.residuals.worst_velocity <= 1e-8


@pytest.mark.parametrize("seed", range(4))
def test_joints_eliminated_or_penalised_give_the_same_motion(seed):
    """Compiled, joints are gone before the first iteration; in general they are a penalty, refined."""
    rng = np.random.default_rng(seed)
    for settings in (
        {"joints": 9, "redundant_joints": True},
        {"joints": 6, "compliance": 1e-3, "limits": 3},
        {"joints": 5, "frictionless_part": 0.5, "mass_ratio": 1e3},
    ):
        problem = random_rigid(rng, bodies=10, contacts=12, law=Law.CCP, **settings)
        compiled, general = solve(problem, IPM, tol=TIGHT), solve(problem, GENERAL, tol=TIGHT)
        assert compiled.converged
        assert general.converged
        assert np.allclose(compiled.body_velocities, general.body_velocities, atol=1e-7)


def test_joints_alone_are_one_solve():
    problem = random_rigid(np.random.default_rng(2), bodies=8, contacts=0, joints=7, redundant_joints=True, law=Law.CCP)
    solution = solve(problem, "ipm", tol=1e-12)
    assert solution.converged
    assert solution.iterations == 1


def test_smallest_reactions_of_redundant_joints():
    """A weld given twice carries half in each."""
    once = random_rigid(np.random.default_rng(3), bodies=2, contacts=0, joints=1, law=Law.CCP)
    d, rows = once.delassus, once.cone.bilateral_rows
    twice = Problem.rigid(
        d.mass,
        np.repeat(d.bodies, 2, axis=0),
        np.vstack([d.rows, d.rows]),
        cone=ProductCone([rows, rows]),
        u_f=once.u_f,
        b=np.tile(once.bias, 2),
        law=Law.CCP,
    )
    single, double = solve(once, "ipm", tol=1e-10), solve(twice, "ipm", tol=1e-10)
    assert np.allclose(double.reactions, np.tile(0.5 * single.reactions, 2), atol=1e-10)


def test_uneven_compliance_is_exact():
    """Different compliances in the two tangents: the projection of the polish has no closed form there."""
    problem = mixed(contacts=40)
    soft = np.random.default_rng(2).uniform(0.0, 0.05, problem.row_count)
    solution = solve(changed(problem, compliance=soft), "ipm", tol=TIGHT)
    assert solution.converged


def test_slightly_skew_matrices_are_judged_as_they_are():
    """Two per cent of gyroscopic terms in the masses, and in D."""
    rng = np.random.default_rng(7)
    problem = random_rigid(rng, bodies=10, contacts=40, law=Law.CCP)
    d = problem.delassus
    skew = 0.02 * rng.normal(size=d.mass.shape)
    mass = d.mass * (1.0 + skew - skew.transpose(0, 2, 1)) + 0.01 * (skew - skew.transpose(0, 2, 1))
    rigid = Problem.rigid(mass, d.bodies, d.rows, cone=problem.cone, u_f=problem.u_f, b=problem.bias, law=Law.CCP)
    D = rigid.delassus.matrix()
    assert abs(D - D.T).max() > 1e-4 * abs(D).max()
    dual = Problem.dual(D, rigid.free_velocity, cone=rigid.cone, law=Law.CCP)
    for one in (rigid, dual):
        assert solve(one, "ipm", tol=TIGHT).converged


def test_presolve_leaves_contacts_out_and_gives_the_same_answer():
    problem = pile(np.random.default_rng(3), 60, 300)
    bias = problem.bias.copy()
    bias[::9] += 20.0  # every third contact is far from touching
    problem = changed(problem, b=bias)
    kept = presolve.forecast(problem, np.zeros(problem.row_count), True).kept
    assert kept is not None
    assert 0.05 < 1.0 - kept.mean() < 0.9
    with_it, without = (solve(problem, GENERAL.changed(presolve=choice), tol=TIGHT) for choice in (True, False))
    assert with_it.converged
    assert without.converged
    assert np.allclose(with_it.velocities, without.velocities, atol=1e-7)


def test_sweeps_get_closer_with_momentum_in_both_storages():
    """To the solution, of which they are a fixed point; over D and over bodies to the same point."""
    problem = pile(np.random.default_rng(8), 30, 60)
    found = solve(problem, "ipm", tol=TIGHT).reactions
    ends = []
    dual = Problem.dual(problem.delassus.matrix(), problem.free_velocity, cone=problem.cone, law=Law.CCP)
    for one in (problem, dual):
        sweeps, still = (presolve.Sweeps(one, start.copy()) for start in (np.zeros_like(found), found))
        sweeps.advance(150)
        still.advance(5)
        assert np.allclose(still.reactions, found, atol=1e-7)
        ends.append(sweeps.reactions)
    assert np.allclose(*ends, atol=1e-9)
    plain = presolve.Sweeps(problem, np.zeros_like(found))
    for _ in range(150):
        plain.state[0] = 1.0  # the next momentum is then zero
        plain.advance(1)
    with_it, without = (residuals.measure(problem, each)[0] for each in (ends[0], plain.reactions))
    assert with_it < 0.1 * without < 0.1


def test_sweeps_take_no_less_than_the_block_of_a_contact():
    """Else they might not descend; and that block itself between spheres."""
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(50, 3, 3)) * np.array([1.0, 3.0, 0.2])[:, None]
    blocks = roots @ roots.transpose(0, 2, 1)
    n, t = presolve._metric(blocks.ravel()).T
    metric = np.stack([n, t, t], axis=1)[:, :, None] * np.eye(3)
    assert np.linalg.eigvalsh(metric - blocks).min() > -1e-12
    spheres = np.array([2.0, 7.0])[:, None, None] * np.diag([1.0, 3.5, 3.5])
    assert np.allclose(presolve._metric(spheres.ravel()), [[2.0, 7.0], [7.0, 24.5]])


def test_a_start_too_near_the_boundary_is_begun_again_from_inside(monkeypatch):
    """Where the small τ of a good guess leaves steps that die."""
    problem = pile(np.random.default_rng(9), 20, 150)
    real, asked = sparse.first_tau, []

    def tiny(mean, norm, far):
        asked.append(far)
        return real(mean, norm, far) if far else 1e-16 * mean

    monkeypatch.setattr(sparse, "first_tau", tiny)
    solution = solve(problem, GENERAL, tol=1e-8)
    assert solution.converged
    assert asked[:2] == [0.0, 1.0]


def test_wrong_forecast_is_repaired(monkeypatch):
    """Half of the contacts that carry load are left out on purpose: all that matter must come back."""
    problem = pile(np.random.default_rng(4), 40, 200)
    reference = solve(problem, "ipm", tol=TIGHT)
    loaded = np.flatnonzero(reference.reactions[::3] > 1e-6)
    wrong = np.ones(problem.contact_count, bool)
    wrong[loaded[::2]] = False
    monkeypatch.setattr(
        "delassus.solvers.interior.sparse.forecast", lambda p, r, choice: Forecast(np.zeros(p.row_count), wrong.copy())
    )
    solution = solve(problem, GENERAL, tol=1e-8)
    assert solution.converged, solution
    assert np.allclose(solution.velocities, reference.velocities, atol=1e-5)


def test_guess_saves_iterations():
    problem = pile(np.random.default_rng(6), 40, 150)
    cold = solve(problem, "ipm", tol=1e-8)
    near = changed(problem, u_f=problem.u_f + 1e-3 * np.random.default_rng(1).normal(size=problem.u_f.shape))
    warm = solve(near, "ipm", guess=cold.reactions, tol=1e-8)
    assert warm.converged
    assert warm.iterations < cold.iterations


@pytest.mark.parametrize("start", ["two-step", "nocedal", "dapuzzo"])
@pytest.mark.parametrize("linear", ["auto", "augmented"])
def test_published_method_converges_from_its_starting_points(start, linear):
    """To 1e-6: hyperstatic problems end there, near the boundary of the cone, without a polish."""
    settings = THESIS.changed(start=start, linear=linear)
    for law in CONVEX:
        rng = np.random.default_rng(0)
        for problem in (
            random_rigid(rng, bodies=12, contacts=15, law=law),
            random_rigid(rng, bodies=10, contacts=12, joints=5, limits=4, law=law),
            random_rigid(rng, bodies=10, contacts=20, frictionless_part=0.5, law=law),
        ):
            solution = solve(problem, settings, tol=1e-6, max_iter=40)
            assert solution.converged, (law, solution)


def test_published_method_without_contacts_is_a_linear_system():
    """Mangoni, thesis, §4.9, eq. 4.27."""
    problem = random_rigid(np.random.default_rng(2), bodies=6, contacts=0, joints=4, law=Law.CCP)
    assert solve(problem, THESIS, tol=1e-9).iterations <= 2


def test_a_centred_start_near_a_guess_helps():
    """Ours, beside the published warm starts: far fewer iterations from a guess that is one per cent off."""
    rng = np.random.default_rng(1)
    count = dict.fromkeys(("none", "centred"), 0)
    for _ in range(4):
        problem = random_rigid(rng, bodies=12, contacts=20, law=Law.CCP)
        guess = solve(problem, "ipm", tol=TIGHT).reactions
        guess = guess * (1.0 + 0.01 * rng.normal(size=guess.shape))
        for warm in count:
            solution = solve(problem, THESIS.changed(warm=warm), guess, tol=1e-6)
            assert solution.converged
            count[warm] += solution.iterations
    assert count["centred"] < 0.8 * count["none"]


def one_body(cone, rows, bias):
    """A unit mass at the world, moving with ones."""
    pair = np.array([[-1, 0]] * cone.block_count)
    padded = np.zeros((cone.row_count, 12))
    padded[:, 6:] = rows
    return Problem.rigid(np.eye(6)[None], pair, padded, cone=cone, u_f=np.ones(6), b=bias, law=Law.CCP)


IMPOSSIBLE = {
    "joints contradict": one_body(ProductCone(2), np.eye(6)[[0, 0]], [0.0, 1.0]),
    "limits contradict": one_body(ProductCone((), 2), [np.eye(6)[0], -np.eye(6)[0]], [-1.0, -1.0]),
    "squeezed": one_body(
        ProductCone(mu=[0.3, 0.3]),
        np.eye(6)[[0, 1, 2, 0, 1, 2]] * [[1], [1], [1], [-1], [1], [1]],
        [-1.0, 0.0, 0.0, -1.0, 0.0, 0.0],
    ),
    "nothing moves": Problem.dual(np.zeros((3, 3)), [-1.0, 0.0, 0.0], mu=[0.5], law=Law.CCP),
}


@pytest.mark.parametrize("settings", [IPM, GENERAL, THESIS], ids=["compiled", "general", "thesis"])
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_demands_are_recognised(name, settings):
    """However loose the tolerance: against reactions without bound any residual is small."""
    problem = IMPOSSIBLE[name]
    if problem.delassus.kind == "matrix" and settings is GENERAL:
        settings = IPM
    for tol in (1e-3, 1e-6, 1e-9):
        solution = solve(problem, settings, tol=tol, max_iter=200)
        assert solution.status is Status.INFEASIBLE
        assert np.isfinite(solution.reactions).all()
        assert "No reactions can satisfy" in solution.message


def test_impossible_demands_are_named_on_the_command_line(tmp_path):
    W = FclibMatrix.from_sparse(sp.csr_array((3, 3)))
    write_fclib(tmp_path / "stuck.hdf5", FclibFile("local", mu=np.array([0.3]), W=W, q=np.array([-1.0, 0.0, 0.0])))
    result = CliRunner().invoke(app, ["solve", str(tmp_path / "stuck.hdf5"), "--solver", "ipm", "--law", "ccp"])
    assert result.exit_code == 1
    assert "infeasible: No reactions can satisfy the constraints" in result.output


def test_figure_shows_the_central_path(tmp_path):
    problem = pile(np.random.default_rng(1), 60, 200)
    solution = solve(problem, GENERAL, tol=TIGHT)
    path = central_path("heap", solution, solution.trace)
    assert path is not None
    assert central_path("heap", solve(problem, "pgs-ccp", tol=1e-2), solution.trace) is None
    figure = Figure()
    draw_paths(figure, [path])
    residuals, lengths = figure.axes
    drawn = np.concatenate([line.get_ydata() for line in residuals.lines if line.get_label() == "heap"])
    tau = np.array(solution.details["tau"])
    assert np.array_equal(np.sort(drawn[np.isfinite(drawn)]), np.sort(tau[np.isfinite(tau)]))
    assert {text.get_text() for text in lengths.get_legend().get_texts()} == {"step length", "centring σ", "polish"}


def test_redundant_joints_that_nearly_agree_are_solved():
    """A closed mechanism's redundant rows never agree exactly: what they ask in vain is left out, if it is small."""
    problem = mixed(compliance=0.0)
    rows = problem.cone.bilateral_rows
    for size, status in ((1e-6, Status.CONVERGED), (10.0, Status.INFEASIBLE)):
        bias = problem.bias.copy()
        bias[rows // 2] += size
        solution = solve(changed(problem, b=bias), "ipm", tol=1e-5)
        assert solution.status is status
        assert np.abs(solution.reactions).max() < 1e4


@pytest.mark.parametrize("settings", [IPM, GENERAL], ids=["compiled", "general"])
def test_details_tell_every_iteration(settings):
    solution = solve(mixed(), settings, tol=TIGHT)
    assert {"tau", "sigma", "step", "krylov", "primal"} <= set(solution.details)
    assert settings is IPM or {"factor", "solve"} <= set(solution.details)
    assert all(len(series) == solution.iterations for series in solution.details.values())
    tau = [value for value in solution.details["tau"] if np.isfinite(value)]
    assert tau[-1] < 1e-4 * tau[0]
    assert solve(mixed(), "pgs-ccp", tol=1e-2).details == {}


def test_settings_are_checked():
    with pytest.raises(SettingsError, match="did you mean 'augmented'"):
        IPM.changed(linear="augmentd")
    with pytest.raises(SettingsError, match="threads is 0"):
        IPM.changed(threads=0)
    with pytest.raises(SettingsError, match="holds only D"):
        solve(random_dual(np.random.default_rng(1), law=Law.CCP), IPM.changed(linear="body"))


@pytest.mark.parametrize("diagonal", [(1, 1e5, 1e-5), (1e-5, 1e5, 1), (1e5, 1e-5, 1), (1e-5, 1, 1)], ids=str)
def test_ten_contacts_with_badly_scaled_blocks_are_solved(diagonal):
    """Where reactions are 10¹⁰ times the ordinary size, starting again from above them helps."""
    rng = np.random.default_rng(31)
    v_f = rng.normal(size=30)
    v_f[::3] = -np.abs(v_f[::3])
    D = sp.block_diag([np.diag(diagonal)] * 10)
    solution = solve(Problem.dual(D, v_f, mu=rng.uniform(0.1, 1.0, 10), law=Law.CCP), "ipm", max_iter=100)
    assert solution.converged, solution


def test_a_guess_where_everything_separates_is_forgotten():
    """Presolve leaves no contact at all, of a problem of which only D is known."""
    problem = Problem.dual(np.eye(330), np.tile([1.0, 0.0, 0.0], 110), mu=np.full(110, 0.5), law=Law.CCP)
    solution = solve(problem, "ipm", guess=np.ones(330), tol=1e-8)
    assert solution.converged
    assert not solution.reactions.any()
