"""Every cone of the table is a closed convex cone with the projections it claims."""

import numpy as np
import pytest

from delassus.cones import CONES, Coulomb, Free, Orthant, ProductCone
from delassus.errors import ProblemError

COUNT = 20_000
ROUNDING = 1e-12  # relative to ‖x‖: a handful of floating-point operations


def instances(kind, rng):
    """Cones of that kind with the vectors that go into them, scales from 1e-6 to 1e6."""
    n = COUNT
    mu = np.concatenate([np.zeros(200), np.full(200, 1e3), rng.uniform(0, 2, n - 400)])
    made = {
        "free": lambda: Free(3 * n),
        "orthant": lambda: Orthant(3 * n),
        "coulomb": lambda: Coulomb(mu),
        "product": lambda: ProductCone([3, 5, 6, 1], 40, mu),
    }
    assert set(made) == set(CONES), "a new cone needs an instance here"
    cone = made[kind]()
    scale = 10.0 ** rng.uniform(-6, 6)
    return cone, scale * rng.normal(size=cone.shape), scale * rng.normal(size=cone.shape)


@pytest.mark.parametrize("kind", CONES)
class TestEveryCone:
    @pytest.fixture
    def drawn(self, kind):
        return instances(kind, np.random.default_rng(7))

    def test_projection_lies_in_the_cone_and_is_idempotent(self, drawn):
        cone, x, _ = drawn
        p = cone.project(x)
        bound = ROUNDING * np.abs(x).max()
        assert cone.contains(p, tol=bound)
        assert np.abs(cone.project(p) - p).max() <= bound

    def test_moreau_decomposition(self, drawn):
        """x = P_K x + P_{K°} x with orthogonal parts, and P_{K°} x = −P_{K*}(−x)."""
        cone, x, _ = drawn
        p, polar = cone.project(x), -cone.project_dual(-x)
        assert np.abs(p + polar - x).max() <= ROUNDING * np.abs(x).max()
        assert abs(np.vdot(p, polar)) <= ROUNDING * np.vdot(x, x)

    def test_projection_is_nearest(self, drawn):
        """The obtuse-angle criterion: (x − P x)·(y − P x) ≤ 0 for every y of the cone."""
        cone, x, other = drawn
        p, y = cone.project(x), cone.project(other)
        assert np.vdot(x - p, y - p) <= ROUNDING * np.vdot(x, x)

    def test_projection_is_not_expansive(self, drawn):
        cone, x, y = drawn
        assert np.linalg.norm(cone.project(x) - cone.project(y)) <= np.linalg.norm(x - y) * (1 + ROUNDING)
        assert np.linalg.norm(cone.project_dual(x) - cone.project_dual(y)) <= np.linalg.norm(x - y) * (1 + ROUNDING)

    def test_projection_is_positively_homogeneous(self, drawn):
        cone, x, _ = drawn
        assert np.allclose(cone.project(8.0 * x), 8.0 * cone.project(x), rtol=1e-14, atol=0)

    def test_cone_and_dual_meet_at_right_angles(self, drawn):
        cone, x, y = drawn
        product = cone.project(x) * cone.project_dual(y)
        assert product.sum() >= -ROUNDING * np.linalg.norm(x) * np.linalg.norm(y)

    def test_distance_is_that_of_the_projection(self, drawn):
        cone, x, _ = drawn
        assert np.isclose(np.linalg.norm(cone.distance(x)), np.linalg.norm(x - cone.project(x)))


def test_coulomb_projection_scales_with_friction():
    """Stretching the tangents by 1/μ turns K_μ into K_1 (but not the projection): membership must agree."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1000, 3))
    mu = rng.uniform(0.1, 2.0, 1000)
    inside = Coulomb(mu).distance(x) <= 1e-12
    stretched = x / np.stack([np.ones(1000), mu, mu], axis=1)
    assert np.array_equal(inside, Coulomb(np.ones(1000)).distance(stretched) <= 1e-12)


def test_dual_of_coulomb_is_coulomb_of_inverse_friction():
    """K*_μ = K_{1/μ} (Tsounis et al. 2025, eq. 151)."""
    rng = np.random.default_rng(4)
    x, mu = rng.normal(size=(1000, 3)), rng.uniform(0.1, 2.0, 1000)
    assert np.allclose(Coulomb(mu).project_dual(x), Coulomb(1.0 / mu).project(x), atol=1e-13)


def test_projection_is_nearest_by_brute_force():
    """Against a grid on the cone's boundary and axis, for one contact at a time."""
    rng = np.random.default_rng(5)
    angle = np.linspace(0, 2 * np.pi, 721)
    checked = 0
    for _ in range(50):
        mu, x = rng.uniform(0.05, 2), rng.normal(size=3)
        s = np.linspace(0, 4, 801)[:, None, None] * np.ones((1, 721, 1))
        boundary = np.concatenate([s, mu * s * np.cos(angle)[:, None], mu * s * np.sin(angle)[:, None]], axis=2)
        if x[0] > 0 and np.hypot(x[1], x[2]) <= mu * x[0]:
            continue
        nearest = np.sqrt(((boundary - x) ** 2).sum(axis=2)).min()
        assert np.linalg.norm(x - Coulomb([mu]).project(x)[0]) <= nearest + 1e-12
        assert np.linalg.norm(x - Coulomb([mu]).project(x)[0]) >= nearest - 0.01  # grid spacing
        checked += 1
    assert checked > 25


def test_bad_friction_is_named():
    with pytest.raises(ProblemError, match=r"mu\[1\] is -0.5"):
        Coulomb([0.3, -0.5])
    with pytest.raises(ProblemError, match=r"mu\[0\] is nan"):
        ProductCone(mu=[np.nan])


def test_projection_of_what_is_not_a_number_is_not_a_number():
    """A diverging method asks for it, and must get data back, not an exception."""
    for bad in ([np.nan, 0.0, 0.0], [0.0, np.nan, 0.0]):
        for mu in (0.0, 0.5):
            assert np.isnan(Coulomb([mu]).project([bad])).any()
            assert np.isnan(Coulomb([mu]).project_dual([bad])).any()
