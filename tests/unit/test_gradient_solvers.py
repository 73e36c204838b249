"""What each gradient method promises beyond the contract: descent, acceleration, fallback, threads, reposing."""

import numpy as np
import pytest

from delassus import residuals
from delassus.cones import ProductCone
from delassus.errors import SettingsError
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_rigid
from delassus.solvers import SOLVERS, solve
from delassus.solvers.gradient.apgd import PUBLISHED
from delassus.solvers.gradient.spg_fb import CUT_MIN, line_search
from delassus.solvers.table import find

CONVEX = ("apgd", "spg-fb", "jacobi")
ALL = (*CONVEX, "prox")


def heap(law=Law.CCP, **kind):
    rng = np.random.default_rng(23)
    return random_rigid(rng, **({"bodies": 15, "contacts": 40, "frictionless_part": 0.2} | kind), law=law)


def gyroscopic(law):
    """D non-symmetric by a few per cent, in body space."""
    plain = heap(law)
    d = plain.delassus
    mass = d.mass.copy()
    mass[:, 3:, 3:] += 0.003 * np.cross(np.eye(3), [1.0, 2.0, -1.0])
    return Problem.rigid(mass, d.bodies, d.rows, cone=plain.cone, u_f=plain.u_f, b=plain.bias, law=law)


def as_matrix(problem):
    return Problem.dual(problem.delassus.matrix(), problem.free_velocity, cone=problem.cone, law=problem.law)


def objective(problem, x):
    return 0.5 * x @ (problem.constraint_velocity(x) + problem.free_velocity)


def started(name, problem, **settings):
    line = SOLVERS[name]
    return line.start(problem, line.settings.changed(**settings), np.zeros(problem.row_count))


def test_jacobi_descends_with_the_step_it_finds():
    """ω below 2 / Λ: the objective never rises (convex law, symmetric D), least of all on joints, which nothing
    projects: there a longer step diverges."""
    for problem in (heap(), as_matrix(heap()), heap(bodies=8, contacts=0, joints=12)):
        method = started("jacobi", problem)
        values = []
        for _ in range(100):
            method.advance(1)
            values.append(objective(problem, method.reactions))
        assert np.all(np.diff(values) <= 1e-12 * np.abs(values[-1]))
        assert values[-1] < values[0] < 0


@pytest.mark.parametrize("settings", [PUBLISHED, SOLVERS["apgd"].settings], ids=["published", "ours"])
def test_apgd_keeps_nesterovs_rate(settings):
    """f − f* ≤ 2 L ‖λ₀ − λ*‖² / (k + 1)², with L the largest eigenvalue in the metric of S."""
    problem = heap(bodies=6, contacts=60)
    best = solve(problem, "apgd", tol=1e-12).reactions
    least = objective(problem, best)
    method = SOLVERS["apgd"].start(problem, settings, np.zeros(problem.row_count))
    scale = method.operator.row_scale
    root = np.sqrt(scale)
    L = np.linalg.eigvalsh(problem.delassus.dense() * root[:, None] * root)[-1]
    distance = (best**2 / scale).sum()
    slow = started("jacobi", problem)
    for k in range(1, 200):
        method.advance(1)
        slow.advance(1)
        # steps are at worst half as long as 1/L: refused ones are cut to half of what was allowed; refusals count as k
        assert objective(problem, method.reactions) - least <= 2 * 2 * L * distance / (k / 2) ** 2
    assert objective(problem, method.reactions) - least < 1e-3 * (objective(problem, slow.reactions) - least)


def test_apgd_solves_uncoupled_contacts_in_one_step():
    """In the metric of diag(a, b, b) the projection is the solution: open, sticking and sliding contacts alike. With
    one factor for normal and tangents it is not."""
    rng = np.random.default_rng(5)
    D = np.diag(np.repeat(rng.uniform(0.5, 2, 40), 3) * np.tile([1.0, 3.5, 3.5], 40))
    problem = Problem.dual(D, rng.normal(size=120), mu=rng.uniform(0.1, 1, 40), law=Law.CCP)
    one = started("apgd", problem)
    one.advance(1)
    assert residuals.measure(problem, one.reactions).relative < 1e-14
    block = started("apgd", problem, metric="block")
    block.advance(1)
    assert residuals.measure(problem, block.reactions).relative > 1e-2


def test_apgd_takes_back_long_steps_only_when_asked():
    """What was published repeats a step that was too long; here it counts, and the next is shorter."""
    problem = heap(bodies=6, contacts=60)
    taken, refused = started("apgd", problem, step=50.0), started("apgd", problem, step=50.0, refuse=True)
    for method in (taken, refused):
        method.advance(1)
    assert np.any(taken.reactions)
    assert not np.any(refused.reactions)
    assert taken.state[0] == refused.state[0] < 50.0


def test_spg_returns_its_best_point_and_never_climbs_beyond_its_memory():
    problem = heap(bodies=6, contacts=60)
    method = started("spg-fb", problem, memory=5)
    gaps, values = [], []
    for _ in range(150):
        method.advance(1)
        gaps.append(residuals.evaluate(problem, method.reactions).projected_gradient)
        values.append(objective(problem, method.points[0]))
    assert np.all(np.diff(gaps) <= 1e-12 * gaps[0])
    for k in range(5, len(values)):
        assert values[k] <= max(values[k - 5 : k]) + 1e-12 * abs(values[-1])


def test_line_search_is_nonmonotone_and_sufficient():
    """f(θ) ≤ the highest value remembered + armijo θ slope, and no shorter than one cut below the longest such θ."""
    rng = np.random.default_rng(2)
    cuts, armijo = 0, 1e-4
    for _ in range(200):
        objective, slope, bent = rng.normal(), -rng.random(), 10 ** rng.uniform(-2, 3)
        kept = objective + rng.choice([-1.0, 0.1], size=5) * rng.random(5)

        def excess(theta, kept=kept, objective=objective, slope=slope, bent=bent):
            value = objective + theta * slope + 0.5 * theta**2 * bent
            return value - max(kept.max(), objective) - armijo * theta * slope

        theta = line_search(objective, slope, bent, kept, armijo)
        assert 0 < theta <= 1
        assert excess(theta) <= 0
        if theta < 1:
            cuts += 1
            assert excess(min(1.0, theta / CUT_MIN)) > 0
    assert cuts > 20


def test_prox_finds_what_exact_local_solves_find():
    """Another iteration, the same law: velocities agree on a problem whose solution is unique enough."""
    problem = random_rigid(np.random.default_rng(3), bodies=15, contacts=18, joints=2, limits=2)
    ours, exact = solve(problem, "prox", tol=1e-11), solve(problem, "nbgs", tol=1e-11)
    assert ours.converged
    assert exact.converged
    assert np.allclose(ours.velocities, exact.velocities, atol=1e-8)


def test_prox_steps_are_exact_for_one_contact_along_its_axes():
    """A diagonal block with ρ = 1: normal and sliding contact in one sweep each, sticking too."""
    cone = ProductCone(mu=[0.5, 0.5])
    D = np.diag([2.0, 4.0, 4.0, 2.0, 4.0, 4.0])
    problem = Problem.dual(D, [-1.0, 8.0, 0.0, -1.0, 0.4, 0.0], cone=cone)
    method = started("prox", problem, step=1.0)
    method.advance(1)
    assert np.allclose(method.reactions, [0.5, -0.25, 0, 0.5, -0.1, 0])


@pytest.mark.parametrize("name", [*ALL, "ags"])
def test_non_symmetric_operators_are_taken_as_they_are(name):
    """The law is judged with D itself; the gradient of its symmetric part would miss by per cents."""
    law = Law.NCP if name == "prox" else Law.CCP
    problem = gyroscopic(law)
    for each in (problem, as_matrix(problem)):
        assert solve(each, name, tol=1e-8, max_iter=200_000).converged


def soft(law):
    return heap(law, joints=3, limits=3, compliance=0.02)


# The squared image of a non-symmetric problem is a curvature too large by 1e-4, which changes the steps of the others.
@pytest.mark.parametrize(
    ("name", "kind"), [(name, soft) for name in ALL] + [("jacobi", gyroscopic), ("prox", gyroscopic)]
)
def test_storages_give_the_same_iterates(name, kind):
    """Body space and compressed rows are the same iteration: after ten of them the reactions agree to rounding."""
    problem = kind(Law.NCP if name == "prox" else Law.CCP)
    ends = []
    for each in (problem, as_matrix(problem)):
        method = started(name, each)
        method.advance(10)
        ends.append(method.reactions)
    assert np.abs(ends[0] - ends[1]).max() <= 1e-9 * np.abs(ends[0]).max()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("storage", ["rigid", "matrix"])
def test_threads_give_the_same_bits_again_and_the_same_answer(name, storage):
    problem = heap(Law.NCP if name == "prox" else Law.CCP, joints=3, limits=3)
    if storage == "matrix":
        problem = as_matrix(problem)
    line = SOLVERS[name]
    for threads in (1, 2, 3):
        settings = line.settings.changed(threads=threads)
        first, second = (solve(problem, settings, tol=1e-14, max_iter=60) for _ in range(2))
        assert first.reactions.tobytes() == second.reactions.tobytes()
        assert solve(problem, settings, tol=1e-7, max_iter=100_000).converged


@pytest.mark.parametrize("name", [*CONVEX, "ags"])
def test_reposed_method_solves_the_new_problem(name):
    """De Saxcé's fixed point changes the free velocity of a method at work."""
    first = heap()
    changed = first.bias + np.random.default_rng(1).normal(scale=0.05, size=first.row_count)
    d = first.delassus
    second = Problem.rigid(d.mass, d.bodies, d.rows, cone=first.cone, u_f=first.u_f, b=changed, law=first.law)
    method = started(name, first)
    method.advance(300)
    method.repose(second)
    method.advance(3000)
    assert (
        residuals.measure(second, method.reactions).relative
        < 1e-6
        < residuals.measure(first, method.reactions).relative
    )


def test_convex_methods_reach_exact_friction_by_composition():
    problem = random_rigid(np.random.default_rng(3), bodies=15, contacts=18)
    exact = solve(problem, "nbgs", tol=1e-10)
    for name in ("apgd+desaxce", "spg-fb+desaxce"):
        solution = solve(problem, name, tol=1e-9)
        assert solution.converged, solution
        assert np.allclose(solution.velocities, exact.velocities, atol=1e-6)


def test_gauss_seidel_is_another_name_of_nbgs():
    assert find("gauss-seidel")[0] is SOLVERS["nbgs"]
    assert solve(heap(Law.NCP), "gauss-seidel", tol=1e-4).solver == "nbgs"


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("apgd", {"step": 0.0}),
        ("apgd", {"growth": 0.9}),
        ("apgd", {"shrink": 1.0}),
        ("apgd", {"threads": 0}),
        ("apgd", {"metric": "both"}),
        ("ags", {"excess": 0.5}),
        ("ags", {"threads": 0}),
        ("jacobi", {"omega": -1.0}),
        ("jacobi", {"damping": 0.0}),
        ("jacobi", {"threads": 0}),
        ("spg-fb", {"memory": 0}),
        ("spg-fb", {"armijo": 0.5}),
        ("spg-fb", {"threads": 0}),
        ("prox", {"omega": 2.0}),
        ("prox", {"step": 0.0}),
        ("prox", {"step_min": 2.0}),
        ("prox", {"shrink": 0.0}),
        ("prox", {"threads": 0}),
    ],
)
def test_settings_are_checked_by_name(name, bad):
    with pytest.raises(SettingsError, match=rf"({next(iter(bad))} is|unknown {next(iter(bad))})"):
        SOLVERS[name].settings.changed(**bad)


def printed_spg_fb(N, r, count, alpha, tau):
    """SPG-FB as printed by Heyn et al. 2013, §4.3, without P, for bounds: the fallback point after `count` steps."""
    x, kept, best, fallback = np.zeros(len(r)), [], np.inf, None
    g = N @ x + r
    for j in range(count):
        kept.append(0.5 * x @ (g + r))
        w = np.linalg.norm(x - np.maximum(x - tau * g, 0.0)) / tau
        if w <= best:
            best, fallback = w, x.copy()
        d = np.maximum(x - alpha * g, 0.0) - x
        theta = line_search(kept[-1], g @ d, d @ N @ d, np.array(kept[-10:]), 1e-4)
        s, y = theta * d, N @ (theta * d)
        x, g = x + s, g + y
        alpha = (s @ s) / (s @ y) if j % 2 else (s @ y) / (y @ y)
    return fallback


def test_spg_fb_without_scaling_is_the_printed_method():
    problem = heap(Law.FRICTIONLESS, bodies=12, contacts=30, mass_ratio=100.0)
    normal = problem.cone.contact_start + 3 * np.arange(problem.contact_count)
    N, r = problem.delassus.dense()[np.ix_(normal, normal)], problem.free_velocity[normal]
    for count in (2, 5, 12):
        method = started("spg-fb", problem, scaled=False)
        method.advance(count)
        wanted = printed_spg_fb(N, r, count, problem.rho, problem.rho)
        assert np.allclose(method.reactions[normal], wanted, atol=1e-9 * abs(wanted).max())
    scaled = started("spg-fb", problem)
    scaled.advance(12)
    assert not np.allclose(scaled.reactions[normal], wanted, rtol=1e-3)  # masses differ: P matters
