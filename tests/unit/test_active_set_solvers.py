"""GPMINRES, GPMINRES-P and Kučera's method: faces of the sets, known minima, descent, termination, threads."""

import itertools

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.sparse.linalg import minres

from delassus.cones import ProductCone
from delassus.errors import SettingsError
from delassus.law import Law
from delassus.problem import Problem
from delassus.problem.random import random_dual, random_rigid
from delassus.solvers import SOLVERS, solve
from delassus.solvers.active_set import faces
from delassus.solvers.active_set.gpminres import KRYLOV, PHASE, PUBLISHED, RESTART
from delassus.solvers.active_set.gpminres_p import PUBLISHED as PUBLISHED_P

NAMES = ("gpminres", "gpminres-p", "kucera")
SMALL = 1e-6  # step of finite differences: their error is of that size for these sets of radius about 1
MU, RADIUS = 0.6, 0.8


def started(name, problem, guess=None, **settings):
    line = SOLVERS[name]
    start = np.zeros(problem.row_count) if guess is None else np.array(guess)
    return line.start(problem, line.settings.changed(**settings), start)


def objective(problem, x):
    return 0.5 * x @ (problem.constraint_velocity(x) + problem.free_velocity)


def points(rng, tresca):
    """Points of the set on every one of its faces."""
    for _ in range(200):
        yield faces.project_contact(tresca, MU, RADIUS, *(rng.normal(size=3)))
    yield (0.0, 0.0, 0.0)
    yield (1.0, 0.0, 0.0)


@pytest.mark.parametrize("tresca", [False, True])
def test_descent_is_what_a_short_projected_step_does(tresca):
    rng = np.random.default_rng(1)
    seen, excused = set(), 0
    for x in points(rng, tresca):
        g = rng.normal(size=3)
        face, e1, e2, _ = faces.face_of(tresca, MU, RADIUS, *x)
        seen.add(face)
        d = np.array(faces.descent(face, tresca, MU, e1, e2, *g)[:3])
        step = np.array(faces.project_contact(tresca, MU, RADIUS, *(np.array(x) - SMALL * g))) - x
        if 0.0 < min(x[0], np.hypot(x[1], x[2])) < 1e-4:  # nearer to an edge than the step is long: on to the next face
            excused += 1
            continue
        assert np.linalg.norm(step / SMALL - d) <= 1e-4, (x, g)
    assert excused < 5
    wanted = {faces.SHUT, faces.SLIDE, faces.OPEN}
    if tresca:
        wanted = {faces.NORMAL_RIM, faces.RIM, faces.DISC, faces.OPEN}
    assert wanted <= seen


@pytest.mark.parametrize("tresca", [False, True])
def test_directions_along_a_face_are_a_projection_that_keeps_to_it(tresca):
    rng = np.random.default_rng(2)
    for x in points(rng, tresca):
        face, e1, e2, length = faces.face_of(tresca, MU, RADIUS, *x)
        T = np.array([faces.along_face(face, MU, e1, e2, 1.0, *row) for row in np.eye(3)])
        assert np.allclose(T, T.T)
        assert np.allclose(T @ T, T)
        if face == faces.SHUT or length < 1e-3:
            continue
        moved = np.array(x) + SMALL * (T @ rng.normal(size=3))
        back = np.array(faces.project_contact(tresca, MU, RADIUS, *moved))
        assert np.linalg.norm(back - moved) <= 1e4 * SMALL**2  # the boundary bends by SMALL² / radius, radius ≥ 1e-3


@pytest.mark.parametrize("tresca", [False, True])
def test_curvature_is_the_second_derivative_along_the_projected_path(tresca):
    """t → gᵀ P(x + t e_θ) has slope gᵀe_θ and the second derivative that `curvature` adds."""
    rng = np.random.default_rng(3)
    h, checked = 1e-4, 0
    for x in points(rng, tresca):
        face, e1, e2, length = faces.face_of(tresca, MU, RADIUS, *x)
        if face not in (faces.SLIDE, faces.NORMAL_RIM, faces.RIM) or length < 0.1:
            continue
        g = rng.normal(size=3)
        around = np.array([0.0, -e2, e1])
        g = g - (g @ around) * around  # what is left is the boundary's doing
        f = [g @ faces.project_contact(tresca, MU, RADIUS, *(x + t * around)) for t in (-h, 0.0, h)]
        second = (f[0] - 2.0 * f[1] + f[2]) / h**2
        assert faces.curvature(face, MU, e1, e2, length, *g) == pytest.approx(max(0.0, second), abs=1e-4)
        checked += 1
    assert checked > 20


@pytest.mark.parametrize("tresca", [False, True])
def test_room_ends_exactly_at_the_boundary(tresca):
    rng = np.random.default_rng(4)
    cone = ProductCone(mu=[MU])
    for _ in range(300):
        x = np.array(faces.project_contact(tresca, MU, RADIUS, *rng.normal(size=3)))
        x = np.array([x[0] + 0.1, *(0.9 * x[1:])])  # inside
        p = rng.normal(size=3) * rng.choice([0.0, 1.0, 1e-8], size=3)

        def outside(a, x=x, p=p):
            y = x - a * p
            if tresca:
                return max(-y[0], np.hypot(y[1], y[2]) - RADIUS)
            return np.linalg.norm(y - cone.project(y))

        a = faces.step_inside(tresca, MU, RADIUS, tuple(x), tuple(p))
        if a == np.inf:
            assert outside(1e6) <= 1e-9
        else:
            size = 1.0 + a * np.abs(p).max()
            assert outside(a) <= 1e-8 * size  # through the apex both roots meet: half of the digits are left
            assert outside(a * (1 + 1e-6)) > 0.0


def by_enumeration(D, b):
    """min ½ xᵀ D x + bᵀ x, x ≥ 0, trying every active set."""
    best = 0.0
    for count in range(1, len(b) + 1):
        for free in itertools.combinations(range(len(b)), count):
            x = np.linalg.lstsq(D[np.ix_(free, free)], -b[list(free)], rcond=None)[0]
            if np.all(x >= 0.0):
                best = min(best, 0.5 * x @ D[np.ix_(free, free)] @ x + b[list(free)] @ x)
    return best


@pytest.mark.parametrize("name", NAMES)
def test_bound_constrained_minimum_is_the_one_found_by_trying_every_active_set(name):
    rng = np.random.default_rng(5)
    for rank in (8, 8, 5, 3):
        J = rng.normal(size=(8, rank))
        D, b = J @ J.T, J @ rng.normal(size=rank) + rng.uniform(0.0, 0.2, size=8)
        problem = Problem.dual(D, b, cone=ProductCone(unilateral=8))
        solution = solve(problem, name, tol=1e-12)
        assert objective(problem, solution.reactions) == pytest.approx(by_enumeration(D, b), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_frictionless_reactions_are_non_negative_least_squares(name):
    problem = random_dual(np.random.default_rng(6), contacts=40, law=Law.FRICTIONLESS)
    L = np.linalg.cholesky(problem.delassus.dense()[::3, ::3])
    normal, _ = nnls(L.T, -np.linalg.solve(L, problem.free_velocity[::3]))
    solution = solve(problem, name, tol=1e-12)
    assert np.allclose(solution.reactions[::3], normal, atol=1e-8)
    assert not solution.reactions[1::3].any()


@pytest.mark.parametrize("name", NAMES)
def test_convex_minimum_is_that_of_another_method(name):
    for kind in ({"contacts": 30}, {"contacts": 20, "joints": 3, "limits": 4}, {"contacts": 25, "compliance": 0.01}):
        problem = random_rigid(np.random.default_rng(7), bodies=10, frictionless_part=0.2, law=Law.CCP, **kind)
        best = objective(problem, solve(problem, "apgd", tol=1e-10).reactions)
        solution = solve(problem, name, tol=1e-9, max_iter=200_000)
        assert solution.converged, solution
        assert objective(problem, solution.reactions) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_trescas_fixed_point_is_coulombs_law(name):
    """Velocities agree with Newton's on Alart and Curnier's function; the problem has one solution."""
    problem = random_rigid(np.random.default_rng(8), bodies=15, contacts=15, friction=(0.1, 0.4))
    exact, solution = solve(problem, "prox-ssn", tol=1e-10), solve(problem, name, tol=1e-10)
    assert solution.converged
    assert np.allclose(solution.velocities, exact.velocities, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("law", list(Law), ids=lambda law: law.value)
def test_gyroscopic_terms_are_put_back(name, law):
    """D a few per cent off symmetry, in body space and in compressed rows: the judge sees the whole of it."""
    plain = random_rigid(np.random.default_rng(9), bodies=15, contacts=25, joints=2, law=law)
    d = plain.delassus
    mass = d.mass.copy()
    mass[:, 3:, 3:] += 0.003 * np.cross(np.eye(3), [1.0, 2.0, -1.0])
    rigid = Problem.rigid(mass, d.bodies, d.rows, cone=plain.cone, u_f=plain.u_f, b=plain.bias, law=law)
    dual = Problem.dual(rigid.delassus.matrix(), rigid.free_velocity, cone=rigid.cone, law=law)
    for problem in (rigid, dual):
        assert abs(problem.delassus.dense() - problem.delassus.dense().T).max() > 1e-3
        assert solve(problem, name, tol=1e-8, max_iter=100_000).converged


def test_gpminres_ends_after_finitely_many_steps():
    """Bounds, positive definite: once the face is right, MINRES finishes to rounding."""
    problem = random_dual(np.random.default_rng(10), contacts=40, law=Law.FRICTIONLESS)
    solution = solve(problem, "gpminres", tol=1e-15, max_iter=400)
    assert solution.residuals.natural_map_relative < 1e-14


def test_minres_steps_are_those_of_minres():
    """Where every row is free the Krylov phase gives SciPy's iterates."""
    problem = random_rigid(np.random.default_rng(11), bodies=12, contacts=0, joints=8)
    method = started("gpminres", problem)
    while method.state[PHASE] != RESTART:
        method.advance(1)
    A, g = method.program.matrix(), method.vectors[1].copy()
    for count in range(1, 8):
        method.advance(1)
        assert method.state[PHASE] == KRYLOV
        expected, _ = minres(A, -g, maxiter=count, rtol=1e-15)
        assert np.allclose(method.vectors[5], expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("law", [Law.FRICTIONLESS, Law.CCP])
def test_objective_never_rises_and_iterates_stay_in_the_cone(name, law):
    problem = random_rigid(np.random.default_rng(12), bodies=8, contacts=40, limits=3, law=law)
    method = started(name, problem)
    values = []
    for _ in range(150):
        method.advance(1)
        values.append(objective(problem, method.reactions))
        cone = ProductCone(unilateral=3, mu=problem.mu)
        assert np.abs(cone.project(method.reactions) - method.reactions).max() <= 1e-12
    assert np.all(np.diff(values) <= 1e-12 * abs(values[-1]))
    assert values[-1] < values[0]


@pytest.mark.parametrize("name", NAMES)
def test_threads_agree_to_rounding_and_repeat_themselves(name):
    for law in Law:
        problem = random_rigid(np.random.default_rng(13), bodies=12, contacts=40, joints=2, limits=3, law=law)
        for storage in (
            problem,
            Problem.dual(problem.delassus.matrix(), problem.free_velocity, cone=problem.cone, law=law),
        ):
            steps = 3 if name == "gpminres-p" else 30
            points = [started(name, storage, threads=n) for n in (1, 2, 2)]
            for method in points:
                method.advance(steps)
            one, two, again = (method.reactions for method in points)
            assert two.tobytes() == again.tobytes()
            assert np.allclose(one, two, rtol=1e-6, atol=1e-8 * np.abs(one).max())


@pytest.mark.parametrize("name", NAMES)
def test_batches_do_not_change_the_iterates(name):
    """Up to the renewal of programs, which a batch may end with: laws without it."""
    problem = random_rigid(np.random.default_rng(14), bodies=12, contacts=40, law=Law.CCP)
    whole, parts = started(name, problem), started(name, problem)
    whole.advance(40)
    for count in (1, 2, 7, 30):
        parts.advance(count)
    assert whole.reactions.tobytes() == parts.reactions.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_going_on_with_another_free_velocity_is_starting_there(name):
    problem = random_rigid(np.random.default_rng(15), bodies=10, contacts=20, law=Law.CCP)
    other = Problem(problem.delassus, 1.1 * problem.free_velocity, problem.cone, Law.CCP)
    method = started(name, problem)
    method.advance(20)
    fresh = started(name, other, guess=method.reactions)
    method.repose(other)
    for _ in range(20):
        method.advance(1)
        fresh.advance(1)
    assert np.allclose(method.reactions, fresh.reactions, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_move_nothing_keep_no_reaction(name):
    """A contact between two bodies that D does not see: zero block, separating velocity."""
    D = np.zeros((6, 6))
    D[:3, :3] = np.eye(3)
    problem = Problem.dual(D, [-1.0, 0.2, 0.0, 1.0, 0.0, 0.0], mu=[0.5, 0.5], law=Law.CCP)
    solution = solve(problem, name, tol=1e-10)
    assert solution.converged
    assert not solution.reactions[3:].any()


def test_bad_settings_are_refused():
    for name, values in (
        ("gpminres", {"decrease": 0.5}),
        ("gpminres", {"slow_gradient": 1.0}),
        ("gpminres", {"slow_minres": 0.0}),
        ("gpminres", {"gradient_steps": 0}),
        ("gpminres", {"minres_steps": 0}),
        ("gpminres", {"threads": 0}),
        ("gpminres-p", {"shift": 0.0}),
        ("kucera", {"step": 2.0}),
        ("kucera", {"release": 0.0}),
        ("kucera", {"threads": 0}),
    ):
        with pytest.raises(SettingsError, match=next(iter(values))):
            SOLVERS[name].settings.changed(**values)


def heap_without_friction():
    rng = np.random.default_rng(5)
    return random_rigid(rng, bodies=40, contacts=110, mass_ratio=10.0, law=Law.FRICTIONLESS)


def test_published_gpminres_takes_ten_minres_iterations_on_every_face():
    """Table 1 of Heyn et al. 2013: 1000 within 100, 10000 within 1000. Only where a face is binding there are more."""
    rng = np.random.default_rng(5)
    problem = random_rigid(rng, bodies=60, contacts=300, mass_ratio=1000.0, law=Law.FRICTIONLESS)
    method = SOLVERS["gpminres"].start(problem, PUBLISHED, np.zeros(problem.row_count))
    seen = []
    for _ in range(120):
        method.advance(1)
        seen.append((method.minres_count, method.face_count))
    on_face = [max(steps for steps, k in seen if k == face) for face in (1, 2, 3, 4, 5)]
    assert on_face == [10, 20, 30, 40, 50]


def test_published_gpminres_p_takes_one_on_every_face_in_any_order():
    problem = heap_without_friction()
    points = []
    for ordering in ("natural", "degree"):
        method = SOLVERS["gpminres-p"].start(
            problem, PUBLISHED_P.changed(ordering=ordering), np.zeros(problem.row_count)
        )
        method.advance(6)
        assert method.minres_count == method.face_count == 6
        points.append(objective(problem, method.reactions))
    assert points[0] == pytest.approx(points[1], rel=1e-9)
    with pytest.raises(SettingsError, match="unknown ordering 'nested'"):
        PUBLISHED_P.changed(ordering="nested")


@pytest.mark.parametrize("name", NAMES)
def test_without_scaling_the_solution_is_the_same(name):
    problem = heap_without_friction()
    found = [solve(problem, SOLVERS[name].settings.changed(scaled=scaled), tol=1e-9) for scaled in (True, False)]
    assert all(one.converged for one in found)
    assert objective(problem, found[1].reactions) == pytest.approx(objective(problem, found[0].reactions), rel=1e-9)
    assert not np.array_equal(found[0].reactions, found[1].reactions)
