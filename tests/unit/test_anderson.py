"""Anderson acceleration: the algebra of the window, the guards, and that it is never much slower than without."""

import numpy as np
import pytest

from delassus.io import load_problem
from delassus.problem import Problem
from delassus.problem.random import random_dual, random_rigid
from delassus.solvers import solve
from delassus.solvers.method import Method
from delassus.solvers.modifiers.anderson import Anderson, AndersonMethod
from delassus.solvers.parts.anderson.step import COUNT, steps_to_event
from delassus.solvers.parts.anderson.window import combine, insert
from delassus.solvers.table import find

ROUNDING = 1e-10  # relative, of normal equations whose Gram matrix has a condition of about 1e4
PLAIN = Anderson(solver="anderson")
SLACK = 10  # maps: the driver judges in batches of up to eight


class Map(Method):
    """A method that iterates a given map on reactions."""

    def __init__(self, function, start):
        self.function, self.reactions, self.calls = function, np.array(start, float), 0

    def advance(self, count):
        for _ in range(count):
            self.reactions[:] = self.function(self.reactions)
            self.calls += 1


class Hidden(Map):
    """The same with a state of its own, twice the reactions, as ADMM has one."""

    iterates_reactions = False
    key = 0.0

    def advance(self, count):
        for _ in range(count):
            self.reactions[:] = 0.5 * (2.0 * self.function(0.5 * self.point))
            self.calls += 1

    @property
    def point(self):
        return 2.0 * self.reactions

    def move_to(self, point):
        self.reactions[:] = 0.5 * point

    @property
    def map_key(self):
        return self.key


def unit_problem(contacts):
    return Problem.dual(np.eye(3 * contacts), -np.ones(3 * contacts), mu=np.full(contacts, 0.5))


def affine(rng, size):
    """A contraction x ← A x + b with complex eigenvalues up to 0.99, and its fixed point."""
    A = rng.normal(size=(size, size))
    A *= 0.99 / np.abs(np.linalg.eigvals(A)).max()
    b = rng.normal(size=size)
    return (lambda x: A @ x + b), np.linalg.solve(np.eye(size) - A, b)


# -- the window --------------------------------------------------------------------------------------------------------


class Window:
    """The window's arrays, and its two operations."""

    def __init__(self, memory, weight, regularisation):
        size = len(weight)
        self.weight, self.regularisation, self.count, self.slot = weight, regularisation, 0, 0
        self.G, self.F = np.full((2, memory, size), np.nan)
        self.gram, self.L = np.full((2, memory, memory), np.nan)
        self.right, *self.scratch = np.full((3, memory), np.nan)

    def add(self, g, f, last_g, last_f):
        slot, self.slot, self.count = self.slot, (self.slot + 1) % len(self.G), min(self.count + 1, len(self.G))
        return insert(slot, self.count, g, f, last_g.copy(), last_f.copy(), self.G, self.F, self.gram, self.right)

    def combine(self, g, longest, out):
        fixed = self.regularisation, self.weight, longest, *self.scratch, self.L
        return combine(self.count, self.G, self.gram, self.right, g, *fixed, out)


def test_combination_minimises_the_weighted_residual():
    rng = np.random.default_rng(3)
    weight = rng.uniform(0.5, 2.0, 13)
    window = Window(4, weight, 0.0)
    g, f = rng.normal(size=(7, 13)), rng.normal(size=(7, 13)) * weight
    for k in range(1, 7):  # more than the window holds: the oldest ones must be gone
        change = window.add(g[k], f[k], g[k - 1], f[k - 1])
        assert change == pytest.approx(np.linalg.norm(f[k] - f[k - 1]))
    F, G = np.diff(f, axis=0)[-4:], np.diff(g, axis=0)[-4:]
    gamma = np.linalg.lstsq(F.T, f[-1], rcond=None)[0]
    out = np.full(13, np.nan)
    assert window.combine(g[-1], np.inf, out)
    assert np.allclose(out, g[-1] - gamma @ G, rtol=ROUNDING, atol=ROUNDING)
    assert window.combine(g[-1], 0.01, out)
    assert np.linalg.norm(weight * (out - g[-1])) == pytest.approx(0.01 * np.linalg.norm(weight * g[-1]))


def test_useless_windows_are_recognised():
    out, x = np.empty(6), np.ones(6)
    window = Window(3, np.ones(6), 0.0)
    for _ in range(3):  # three times the same difference: singular
        window.add(2 * x, 2 * x, x, x)
    assert not window.combine(x, np.inf, out)
    window = Window(3, np.ones(6), 1e-6)
    window.add(np.full(6, np.inf), x, x, x)
    assert not window.combine(x, np.inf, out)


@pytest.mark.parametrize("kind", [Map, Hidden])
def test_affine_maps_are_solved_in_as_many_steps_as_unknowns(kind):
    """Without a limit to memory Anderson's method is GMRES; the guard must let it be: growth is allowed here."""
    size = 9
    function, fixed = affine(np.random.default_rng(5), size)
    inner = kind(function, np.zeros(size))
    method = AndersonMethod(unit_problem(3), inner, Anderson("anderson", memory=size, growth=1e6, regularisation=0.0))
    method.advance(size + 2)
    assert inner.calls == size + 2
    assert np.allclose(method.reactions, fixed, atol=1e-6)
    plain = kind(function, np.zeros(size))
    plain.advance(size + 2)
    assert np.linalg.norm(plain.reactions - fixed) > 0.1


def test_batches_do_not_change_the_iterates():
    """Maps of three iterations, cut by calls of one, two and seven."""
    results = []
    for batches in ([30], [1, 2, 7, 1, 1, 1, 7, 7, 3]):
        function, _ = affine(np.random.default_rng(6), 9)
        method = AndersonMethod(unit_problem(3), Map(function, np.zeros(9)), Anderson("anderson", stride=3))
        for count in batches:
            assert method.advance(count) == count
        results.append(method.reactions.tobytes())
    assert results[0] == results[1]


# -- the guards --------------------------------------------------------------------------------------------------------


def test_refused_points_cost_one_map_and_lead_back_to_the_plain_iterate():
    """A map that punishes whoever leaves the plain path: the accelerated iteration follows it at half the speed."""
    path = [np.full(3, 0.9**k) for k in range(200)]
    on_path = {point.tobytes(): k for k, point in enumerate(path)}

    def function(x):
        k = on_path.get(x.tobytes())
        return x + 1e3 if k is None else path[k + 1]

    method = AndersonMethod(unit_problem(1), Map(function, path[0]), PLAIN)
    method.advance(60)
    assert method.reactions.tobytes() in on_path
    assert on_path[method.reactions.tobytes()] >= 29


def test_points_that_are_not_finite_are_refused():
    def function(x):
        return 0.5 * x if x[0] > 0.2 else np.full(3, np.nan)

    method = AndersonMethod(unit_problem(1), Map(function, np.ones(3)), PLAIN)
    method.advance(3)  # 1, ½, then the combination 0: refused
    assert np.isfinite(method.reactions).all()


def test_changed_maps_empty_the_window():
    function, _ = affine(np.random.default_rng(7), 6)
    inner = Hidden(function, np.zeros(6))
    method = AndersonMethod(unit_problem(2), inner, PLAIN)
    method.advance(6)
    method.judged(10.0)
    assert method.state[COUNT] == 5
    inner.key = 1.0
    method.judged(10.0)
    assert method.state[COUNT] == 0


def test_drifts_are_jumped_to_the_contact_that_opens():
    """A reaction that falls by 1e-5 of itself per map opens after 1e5 maps; jumps of a third take a few dozen."""
    rate = np.array([1e-5, 0.0, 0.0])
    method = AndersonMethod(unit_problem(1), Map(lambda x: np.maximum(x - rate, 0.0), [1.0, 0.0, 0.0]), PLAIN)
    method.advance(300)
    assert method.reactions[0] < 1e-3


def test_events_are_where_the_first_boundary_is_met():
    """Against marching along the ray in small steps."""
    rng = np.random.default_rng(8)
    mu, joints, limits = np.array([0.4, 0.0, 1.2, 0.7]), 2, 2
    for _ in range(30):
        g = np.concatenate([rng.normal(size=2), rng.uniform(0.1, 1.0, 2), rng.normal(size=12)])
        for k in range(4):
            i = 4 + 3 * k
            g[i] = rng.uniform(0.5, 1.0)
            g[i + 1 : i + 3] = 0.5 * mu[k] * g[i] * rng.uniform(-1.0, 1.0, 2)
        d = rng.normal(size=16) * 0.1
        d[[8, 9]] = 0.0  # a contact without friction has no tangential reactions
        t = np.linspace(0.0, 20.0, 20_001)[:, None]
        r = g + t * d
        slack = mu * r[:, 4::3] - np.hypot(r[:, 5::3], r[:, 6::3])
        slack[:, 1] = np.inf
        outside = np.minimum(np.minimum(r[:, 2:4].min(1), r[:, 4::3].min(1)), slack.min(1)) <= 0.0
        steps = steps_to_event(g - d, g, joints, limits, mu)
        assert steps == pytest.approx(t[outside.argmax(), 0], abs=1e-3) if outside.any() else steps > 20.0


# -- on problems -------------------------------------------------------------------------------------------------------


def seeded(seed):
    """Random problems of every kind in turn."""
    rng = np.random.default_rng(seed)
    makers = [
        lambda: random_rigid(rng, bodies=12, contacts=15),
        lambda: random_rigid(rng, bodies=6, contacts=40),
        lambda: random_rigid(rng, bodies=10, contacts=20, mass_ratio=1e3),
        lambda: random_rigid(rng, bodies=10, contacts=12, joints=5, limits=4),
        lambda: random_dual(rng, contacts=20, rank=30),
        lambda: random_dual(rng, contacts=20),
        lambda: random_rigid(rng, bodies=6, contacts=0, limits=9),
    ]
    return makers[seed % len(makers)]()


def compared(problem, tol, name="nbgs"):
    """Maps without and with acceleration, None where the tolerance was not met; the same settings of the sweeps."""
    settings = find(f"{name}+anderson")[1]
    solutions = [solve(problem, choice, tol=tol, max_iter=10_000) for choice in (settings.base, settings)]
    return [s.iterations if s.converged else None for s in solutions]


@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_never_twice_as_slow_on_random_problems(tol):
    """Where plain sweeps converge, so do accelerated ones, in at most twice as many maps, and mostly in fewer."""
    gains = []
    for seed in range(60):
        plain, fast = compared(seeded(seed), tol)
        if plain is not None:
            assert fast is not None, seed
            assert fast <= 2 * plain + SLACK, (seed, plain, fast)
            gains.append(plain / fast)
    assert len(gains) > 50
    assert np.exp(np.mean(np.log(gains))) > (1.5 if tol == 1e-4 else 2.0)


def test_admm_is_never_twice_as_slow_as_with_its_own_extrapolation():
    compared = 0
    for seed in range(60):
        plain, fast = (
            solve(seeded(seed), name, tol=1e-6, max_iter=10_000) for name in ("admm-ncp-sa", "admm-ncp-sa+anderson")
        )
        if plain.converged:
            compared += 1
            assert fast.converged, seed
            assert fast.iterations <= 2 * plain.iterations + SLACK, (seed, plain.iterations, fast.iterations)
    assert compared > 50


@pytest.mark.parametrize("name", ["nbgs", "pgs-ccp"])
def test_never_twice_as_slow_on_small_files(data_dir, name):
    reached = []
    for path in sorted(data_dir.glob("*.hdf5")):
        plain, fast = compared(load_problem(path), 1e-8, name)
        if plain is not None:
            reached.append(path.stem)
            assert fast is not None, path.stem
            assert fast <= 2 * plain + SLACK, (path.stem, plain, fast)
    assert len(reached) >= 3, reached


def test_slow_convergence_gains_several_times(data_dir):
    """A real hyperstatic problem; plain nbgs with its own over-relaxation takes 1800 sweeps."""
    problem = load_problem(data_dir / "OneObject-i1028-138.hdf5")
    own = solve(problem, "nbgs", tol=1e-8)
    fast = solve(problem, "nbgs+anderson", tol=1e-8)
    assert fast.converged
    assert fast.iterations < own.iterations / 5


def test_the_norm_is_an_energy():
    """Each block of rows counts with the mean of its own diagonal of D: joints, limits, contacts."""
    problem = random_rigid(np.random.default_rng(10), bodies=6, contacts=5, joints=3, limits=2, mass_ratio=1e4)
    method = AndersonMethod(problem, Map(lambda x: x, np.zeros(problem.row_count)), PLAIN)
    diagonal = problem.delassus.matrix().diagonal()
    start = problem.cone.block_start
    expected = np.concatenate([np.full(b - a, diagonal[a:b].mean()) for a, b in zip(start, start[1:])])
    assert np.allclose(method.buffers[0] ** 2, expected, rtol=1e-12)


def test_units_do_not_matter():
    """Grams instead of kilograms, millimetres instead of metres: powers of two, so even the bits agree."""
    rng = np.random.default_rng(9)
    D = random_dual(rng, contacts=30, rank=40).delassus.matrix()
    v_f, mu = rng.normal(size=90), rng.uniform(0.1, 1.0, 30)
    first = solve(Problem.dual(D, v_f, mu=mu), "nbgs+anderson", tol=1e-9, max_iter=500)
    second = solve(Problem.dual(D / 1024.0, v_f * 4096.0, mu=mu), "nbgs+anderson", tol=1e-9, max_iter=500)
    assert first.iterations == second.iterations
    assert np.array_equal(first.reactions * 2.0**22, second.reactions)


@pytest.mark.parametrize("seed", [3, 4])
def test_one_compiled_call_does_what_many_do(seed):
    """Sweeps and combinations fused, in body space and over block rows, against sweeps called one by one: same bits."""
    problem = seeded(seed)
    line, settings = find("nbgs+anderson")
    for changes in ({}, {"anderson.stride": 3}, {"local": "quartic"}):
        fused, single = (
            line.start(problem, settings.changed(**changes), np.zeros(problem.row_count)) for _ in range(2)
        )
        assert fused.fused
        single.fused = None
        for count in (1, 4, 7, 100):
            assert fused.advance(count) == single.advance(count)
            fused.judged(1e3), single.judged(1e3)
            assert fused.reactions.tobytes() == single.reactions.tobytes()


def test_storages_give_the_same_answer():
    for seed in (0, 2, 3):
        rigid = seeded(seed)
        dual = Problem.dual(rigid.delassus.matrix(), rigid.free_velocity, cone=rigid.cone)
        a, b = (solve(p, "nbgs+anderson", tol=1e-16, max_iter=12).reactions for p in (rigid, dual))
        assert np.allclose(a, b, rtol=1e-7, atol=1e-8)


@pytest.mark.slow
def test_converges_on_most_files_of_the_collection(fclib_files):
    """Exact friction to 1e-8 on at least 16 of the 22 files of 20 contacts and more, within 3000 sweeps of each (20 000
    below a hundred contacts): counted in sweeps, since seconds are the machine's."""
    problems = {path.stem: load_problem(path) for path in fclib_files}
    large = {name: p for name, p in problems.items() if p.contact_count >= 20}
    missed = [
        name
        for name, p in large.items()
        if not solve(p, "nbgs+anderson", tol=1e-8, max_iter=20_000 if p.contact_count < 100 else 3000).converged
    ]
    assert len(large) - len(missed) >= 16, missed
