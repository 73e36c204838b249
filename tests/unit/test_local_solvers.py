"""Every one-contact solver against brute force: thousands of random blocks, ill-conditioned ones, all the corners."""

import math

import numpy as np
import pytest

from delassus.problem.random import random_block
from delassus.solvers.parts.one_contact.conic import solve_conic
from delassus.solvers.parts.one_contact.convex import solve_convex
from delassus.solvers.parts.one_contact.projection import step_ccp, step_ncp
from delassus.solvers.parts.one_contact.quartic import solve_quartic
from delassus.solvers.parts.one_contact.slip import solve_slip
from delassus.solvers.parts.one_contact.uncoupled import solve_uncoupled, uncoupled

WORK = np.empty((7, 10))
SEED = 20_261_115
CASES = 3000

# Relative to the size of the data. Seen over these cases: 4e-12 for the slip rate (friction of 1e3 amplifies rounding),
# 4e-11 for the quartic, which squares the equation and so loses digits where roots come close.
EXACT = 1e-11
QUARTIC = 1e-9
CONVEX = 1e-8  # 3e-9 seen at condition 1e8, where the slip rate is eight digits smaller than the block


def slip(D, q, mu):
    return np.array(solve_slip(np.ascontiguousarray(D).ravel(), 0, *q, mu, 0.0)[:3])


def quartic(D, q, mu):
    return np.array(solve_quartic(np.ascontiguousarray(D).ravel(), 0, *q, mu, WORK))


def conic_quartic(D, q, mu, sigma=0.0):
    return np.array(solve_conic(np.ascontiguousarray(D).ravel(), 0, *q, mu, sigma, False, WORK))


def conic_bisection(D, q, mu, sigma=0.0):
    return np.array(solve_conic(np.ascontiguousarray(D).ravel(), 0, *q, mu, sigma, True, WORK))


def convex(D, q, mu):
    return np.array(solve_convex(np.ascontiguousarray(D).ravel(), 0, *q, mu, 0.0, 0.0)[:3])


def cases(count=CASES, seed=SEED, conditions=(1.0, 10.0, 1e4, 1e8)):
    """(D, q, mu): blocks of every condition, velocities of every direction and scale, friction from 0 to 1e3."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        D = random_block(rng, condition=conditions[k % len(conditions)]) * 10.0 ** rng.uniform(-3, 3)
        q = rng.normal(size=3) * 10.0 ** rng.uniform(-3, 3)
        mu = [0.0, 0.05, 0.3, 0.8, 2.0, 1e3][rng.integers(6)]
        if k % 11 == 0:
            q[0] = 0.0
        if k % 13 == 0:
            q[1:] = 0.0
        if k % 3:
            q[0] = -abs(q[0])  # most contacts close
        yield D, q, mu


def coulomb_error(D, q, mu, r, term=1.0):
    """Natural map of exact Coulomb friction with the block's own step, relative to the data (dimensionless); term 0:
    of the convex law."""
    step = 3.0 / np.trace(D)
    v = D @ r + q
    w = v + np.array([term * mu * math.hypot(v[1], v[2]), 0.0, 0.0])
    x = r - step * w
    t = math.hypot(x[1], x[2])
    if mu * t <= -x[0]:
        p = np.zeros(3)
    elif t <= mu * x[0]:
        p = x
    else:
        s = (mu * t + x[0]) / (1 + mu * mu)
        p = np.array([s, mu * s * x[1] / t, mu * s * x[2] / t])
    return np.linalg.norm(r - p) / max(step * np.linalg.norm(q), np.linalg.norm(r), 1e-300)


@pytest.mark.parametrize(("solver", "bound"), [(slip, EXACT), (quartic, QUARTIC)], ids=["slip", "quartic"])
def test_exact_solvers_satisfy_coulombs_law(solver, bound):
    worst = max((coulomb_error(D, q, mu, solver(D, q, mu)), k) for k, (D, q, mu) in enumerate(cases()))
    assert worst[0] < bound, f"case {worst[1]} of seed {SEED}"


def test_convex_solver_satisfies_the_convex_law():
    worst = max((coulomb_error(D, q, mu, convex(D, q, mu), 0.0), k) for k, (D, q, mu) in enumerate(cases()))
    assert worst[0] < CONVEX, f"case {worst[1]} of seed {SEED}"
    mild = max(coulomb_error(D, q, mu, convex(D, q, mu), 0.0) for D, q, mu in cases(conditions=(1.0, 10.0, 1e3)))
    assert mild < EXACT


def test_convex_solver_finds_the_least_energy():
    """No point of the cone, near or far, does better."""
    rng = np.random.default_rng(SEED)
    for D, q, mu in cases(200, conditions=(1.0, 10.0, 100.0)):
        r = convex(D, q, mu)
        least = 0.5 * r @ D @ r + q @ r
        size = np.linalg.norm(r) + 3.0 * np.linalg.norm(q) / np.trace(D)
        for distance in (1.0, 1e-2, 1e-4):
            x = r + distance * size * rng.normal(size=(50, 3))
            x[:, 0] = np.maximum(x[:, 0], 0.0)
            norm = np.hypot(x[:, 1], x[:, 2])
            x[:, 1:] *= np.minimum(1.0, mu * x[:, 0] / np.maximum(norm, 1e-300))[:, None]
            energy = 0.5 * np.einsum("ki,ij,kj->k", x, D, x) + x @ q
            assert (energy >= least - 1e-12 * abs(least) - 1e-300).all()


@pytest.mark.parametrize("start", [1e-300, 1e-179, 1e-9, 1.0, 1e9])
def test_convex_solver_forgets_where_it_began(start):
    for D, q, mu in cases(300, conditions=(1.0, 10.0, 100.0)):
        again = np.array(solve_convex(np.ascontiguousarray(D).ravel(), 0, *q, mu, start, start)[:3])
        assert np.allclose(again, convex(D, q, mu), rtol=1e-9, atol=1e-12 * np.linalg.norm(q) / np.trace(D))


def test_convex_solver_starts_from_next_to_nothing():
    """A contact between spheres that has just begun to carry, as a sweep with relaxation 1.6 met it: NaN before."""
    D, q = (
        np.diag([1714.5488621889044, 6030.8, 6030.8]),
        [0.010292046292989687, -0.010649657179522501, 0.017640042610587],
    )
    from_tiny = np.array(solve_convex(D.ravel(), 0, *q, 0.5, 5.421291986411154e-179, 0.0)[:3])
    assert np.allclose(from_tiny, solve_uncoupled(D[0, 0], D[1, 1], *q, 0.5, True), rtol=1e-9, atol=0.0)


def test_slip_handles_non_symmetric_blocks():
    rng = np.random.default_rng(SEED)
    for D, q, mu in cases(1000, conditions=(3.0, 30.0)):
        skew = rng.normal(size=(3, 3)) * 0.02 * np.trace(D)
        assert coulomb_error(D + skew - skew.T, q, mu, slip(D + skew - skew.T, q, mu)) < EXACT


def brute_force_conic(D, q, mu, sigma, samples=20_000):
    """Least energy over the section v_n = 0, ‖r_t‖ ≤ μ r_n: inside by a linear solve, on its boundary by sampling."""
    g = -D[0, 1:] / D[0, 0]
    base = np.array([-q[0] / D[0, 0], 0.0, 0.0])
    lift = np.array([g, [1.0, 0.0], [0.0, 1.0]])  # r = base + lift r_t
    linear = q + np.array([sigma, 0.0, 0.0])
    A, c = lift.T @ D @ lift, lift.T @ (D @ base + linear)
    centre = base + lift @ np.linalg.solve(A, -c)
    if math.hypot(*centre[1:]) <= mu * centre[0]:
        return centre
    angle = np.linspace(0.0, 2.0 * np.pi, samples, endpoint=False)
    for _ in range(4):  # refine around the best sample
        den = D[0, 0] + mu * (D[0, 1] * np.cos(angle) + D[0, 2] * np.sin(angle))
        n = np.where(den > 0, -q[0] / np.where(den > 0, den, 1.0), np.nan)
        r = np.stack([n, mu * n * np.cos(angle), mu * n * np.sin(angle)])
        energy = 0.5 * np.einsum("ik,ij,jk->k", r, D, r) + linear @ r
        best = int(np.nanargmin(energy))
        width = angle[1] - angle[0]
        angle = np.linspace(angle[best] - 2 * width, angle[best] + 2 * width, 2001)
    return r[:, best]


@pytest.mark.parametrize("solver", [conic_quartic, conic_bisection])
@pytest.mark.parametrize("with_term", [False, True], ids=["plain", "de-saxce"])
def test_conic_solvers_find_the_least_energy(solver, with_term):
    """Energies are compared, not points: a flat valley has many nearly best points and brute force finds one."""
    rng = np.random.default_rng(SEED)
    checked = 0
    for D, q, mu in cases(400, conditions=(1.0, 10.0, 1e3)):
        if q[0] >= 0.0 or mu == 0.0:
            continue
        sigma = abs(rng.normal()) * np.linalg.norm(q) * mu if with_term and mu < 10 else 0.0
        want, got = brute_force_conic(D, q, mu, sigma), solver(D, q, mu, sigma)
        linear = q + np.array([sigma, 0.0, 0.0])

        def energy(r, D=D, linear=linear):
            return 0.5 * r @ D @ r + linear @ r

        scale = abs(energy(want)) + np.linalg.norm(q) ** 2 / np.trace(D)
        assert energy(got) <= energy(want) + 1e-7 * scale, (D, q, mu, sigma)
        assert abs((D @ got + q)[0]) <= 1e-8 * (np.linalg.norm(q) + np.linalg.norm(D @ got))
        assert math.hypot(*got[1:]) <= mu * got[0] * (1 + 1e-9) + 1e-12 * np.linalg.norm(got)
        checked += 1
    assert checked > 150


@pytest.mark.parametrize("solver", [conic_quartic, conic_bisection])
def test_conic_with_its_own_de_saxce_term_is_coulomb(solver):
    """The fixed point σ = μ‖v_t‖ turns the conic program into Coulomb's law (Tsounis et al. 2025, §VI-C)."""
    checked = 0
    for D, q, mu in cases(200, conditions=(1.0, 5.0)):
        if q[0] >= 0.0 or not 0.0 < mu < 1.0:
            continue
        checked += 1
        exact = slip(D, q, mu)
        v = D @ exact + q
        got = solver(D, q, mu, mu * math.hypot(v[1], v[2]))
        assert np.linalg.norm(got - exact) < 1e-6 * np.linalg.norm(exact)
    assert checked > 20


def test_conic_at_zero_normal_velocity_is_least_energy_on_the_wedge():
    """q_n = 0: the apex for an elliptic section, possibly a ray for a hyperbolic one (Tsounis et al. 2025, Alg. 4 lines
    9–14)."""
    D = np.array([[1.0, -0.9, 0.0], [-0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert not conic_bisection(D, [0.0, -1.0, 0.0], 0.5).any()  # μ‖D_nt‖ < D_nn: ellipse
    r = conic_bisection(D, [0.0, -1.0, 0.3], 1.2)  # hyperbola: pushing along the coupled direction keeps v_n = 0
    assert r[0] > 0
    assert abs((D @ r + [0.0, -1.0, 0.3])[0]) < 1e-12
    assert 0.5 * r @ D @ r + r @ [0.0, -1.0, 0.3] < 0


def test_steps_have_exact_solutions_as_fixed_points():
    """Tsounis et al. 2025, Alg. 3 rests exactly at Coulomb's law; Alg. 2 with De Saxcé's term likewise."""
    for D, q, mu in cases(600, conditions=(1.0, 10.0)):
        r = slip(D, q, mu)
        v = D @ r + q
        flat = np.ascontiguousarray(D).ravel()
        scale = np.linalg.norm(r) + np.linalg.norm(q) * 3 / np.trace(D)
        assert np.linalg.norm(np.array(step_ncp(flat, 0, *v, *r, mu)) - r) <= 1e-8 * scale * max(1.0, mu)
        z = v + np.array([mu * math.hypot(v[1], v[2]), 0, 0])
        assert np.linalg.norm(np.array(step_ccp(flat, 0, *z, *r, mu)) - r) <= 1e-8 * scale * max(1.0, mu)


@pytest.mark.parametrize("solver", [slip, quartic, conic_quartic, conic_bisection])
def test_corners(solver):
    eye = np.eye(3)
    assert not solver(eye, [0.5, 1.0, -2.0], 0.7).any(), "opening"
    assert np.allclose(solver(eye, [-1.0, 0.1, 0.2], 0.7), [1.0, -0.1, -0.2]), "sticking"
    r = solver(eye, [-1.0, 3.0, -4.0], 0.5)
    assert np.allclose(r, [1.0, -0.3, 0.4]), "sliding against the velocity"
    assert np.allclose(solver(eye, [-2.0, 5.0, 1.0], 0.0), [2.0, 0.0, 0.0]), "no friction"
    assert np.allclose(solver(eye, [-1.0, 5.0, 1.0], 1e3), [1.0, -5.0, -1.0]), "huge friction sticks"
    assert not solver(np.zeros((3, 3)), [-1.0, 1.0, 0.0], 0.5).any(), "no mobility: no reaction, no NaN"
    flat = np.diag([1.0, 0.0, 0.0])
    assert np.isfinite(solver(flat, [-1.0, 1.0, 0.0], 0.5)).all(), "no tangential mobility"
    assert not solver(eye, [0.0, 0.0, 0.0], 0.5).any(), "at rest"


def test_uncoupled_contacts_are_solved_as_the_general_solvers_do():
    """diag(a, b, b), both laws: the closed form, and what it takes for such a block."""
    rng = np.random.default_rng(SEED)
    kinds = set()
    for _, q, mu in cases(1000):
        a, b = 10.0 ** rng.uniform(-3, 3, size=2)
        D = np.diag([a, b, b])
        size = np.linalg.norm(q) / min(a, b)
        for law, general in ((False, slip), (True, convex)):
            r = np.array(solve_uncoupled(a, b, *q, mu, law))
            assert np.abs(r - general(D, q, mu)).max() <= 1e-11 * size
            stuck = r[0] > 0.0 and np.linalg.norm(r[1:]) < (1 - 1e-9) * mu * r[0]
            kinds.add((law, r[0] > 0.0, stuck))
    assert len(kinds) == 6  # open, sticking, sliding, under both laws
    near = np.stack([np.diag([2.0, 7, 7]).ravel()] * 5)
    near[1, 1], near[2, 5], near[3, 4], near[4, 0] = 1e-9, 1e-9, 7 + 1e-9, 0.0
    assert uncoupled(near).tolist() == [True, False, False, False, False]


def test_friction_acts_where_rounding_leaves_the_tangent_block_indefinite():
    """A contact whose tangent moves in one direction only, its other mobility −1e-13 of the first: it still slides
    against friction instead of losing it."""
    D = np.array([2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1e-13])
    rn, r1, r2, s = solve_slip(D, 0, -1.0, 0.4, 0.0, 0.5, 0.0)
    assert rn == pytest.approx(0.5)
    assert (r1, abs(r2)) == pytest.approx((-0.25, 0.0), abs=1e-9)
    assert s == pytest.approx(0.6, rel=1e-9)
