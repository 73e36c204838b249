"""The algebra of interior-point methods, by its defining identities."""

import numpy as np
import pytest

from delassus.law import Law
from delassus.problem.random import random_rigid
from delassus.solvers.parts import jordan

LIMITS, CONES = 4, 30
ROUNDING = 1e-9  # points up to 1e-3 from the boundary lose six digits of sixteen in their determinants


def inside(rng, margin=1e-3):
    """A random point of the standard cone, some cones close to the boundary."""
    x = rng.normal(size=LIMITS + 3 * CONES)
    x[:LIMITS] = np.abs(x[:LIMITS]) + margin
    triples = x[LIMITS:].reshape(-1, 3)
    triples[:, 0] = np.hypot(triples[:, 1], triples[:, 2]) + margin * 10 ** rng.uniform(0, 3, CONES)
    return x


@pytest.fixture
def pair():
    rng = np.random.default_rng(11)
    return inside(rng), inside(rng), rng.normal(size=LIMITS + 3 * CONES)


def scaling(x, y):
    eta, w, z = (np.full(n, np.nan) for n in (LIMITS + CONES, len(x), len(x)))
    jordan.form_scaling(LIMITS, x, y, eta, w, z)
    return eta, w, z


def test_scaling_maps_both_points_to_the_same(pair):
    x, y, _ = pair
    eta, w, z = scaling(x, y)
    a, b = np.full_like(x, np.nan), np.full_like(x, np.nan)
    jordan.scale_by(LIMITS, eta, w, x, a)
    jordan.unscale_by(LIMITS, eta, w, y, b)
    assert np.allclose(a, z, rtol=ROUNDING, atol=ROUNDING)
    assert np.allclose(b, z, rtol=ROUNDING, atol=ROUNDING)


def test_square_of_the_scaling_maps_x_to_y(pair):
    x, y, d = pair
    eta, w, _ = scaling(x, y)
    for inverse in (False, True):
        diagonal, blocks = np.full(LIMITS, np.nan), np.full((CONES, 3, 3), np.nan)
        jordan.form_squares(LIMITS, eta, w, inverse, diagonal, blocks)
        source, wanted = (y, x) if inverse else (x, y)
        image = np.concatenate(
            [diagonal * source[:LIMITS], np.einsum("kij,kj->ki", blocks, source[LIMITS:].reshape(-1, 3)).ravel()]
        )
        assert np.allclose(image, wanted, rtol=ROUNDING, atol=ROUNDING)
        twice = d.copy()
        for _ in range(2):
            (jordan.unscale_by if inverse else jordan.scale_by)(LIMITS, eta, w, twice, twice)
        direct = np.einsum("kij,kj->ki", blocks, d[LIMITS:].reshape(-1, 3)).ravel()
        assert np.allclose(twice[LIMITS:], direct, rtol=ROUNDING, atol=ROUNDING)


def test_division_inverts_multiplication(pair):
    x, _, d = pair
    product, back, unit = (np.full_like(x, np.nan) for _ in range(3))
    jordan.multiply(LIMITS, x, d, product)
    jordan.divide(LIMITS, x, product, back)
    assert np.allclose(back, d, rtol=1e-8, atol=1e-8)
    jordan.invert(LIMITS, x, back)
    jordan.multiply(LIMITS, x, back, product)
    jordan.fill_unit(LIMITS, unit)
    assert np.allclose(product, unit, atol=1e-8)


def test_largest_step_ends_on_the_boundary(pair):
    x, _, d = pair
    step = jordan.largest_step(LIMITS, x, d)
    assert 0.0 < step < np.inf
    assert abs(jordan.smallest_eigenvalue(LIMITS, x + step * d)) < 1e-12
    assert jordan.smallest_eigenvalue(LIMITS, x + 0.999 * step * d) > 0.0
    assert jordan.largest_step(LIMITS, x, x) == np.inf


def test_centred_pair_lies_on_the_central_path_at_a_given_difference(pair):
    _, _, d = pair
    x, y, product, unit = (np.full_like(d, np.nan) for _ in range(4))
    jordan.centred_pair(LIMITS, d, 0.01, x, y)
    jordan.multiply(LIMITS, x, y, product)
    jordan.fill_unit(LIMITS, unit)
    assert np.allclose(x - y, d)
    assert np.allclose(product, 0.01 * unit, atol=1e-14)
    assert jordan.centrality(LIMITS, x, y) == pytest.approx((0.01, 0.01))


def test_quadratic_representation_of_the_inverse_root_gives_the_unit(pair):
    x, _, _ = pair
    for a, b, c in x[LIMITS:].reshape(-1, 3):
        root = jordan.from_eigenvalues(*np.sqrt(jordan.eigenvalues(a, b, c)), b, c)
        inverse = jordan.arrow_solve(*root, 1.0, 0.0, 0.0)
        assert np.allclose(jordan.quadratic(*inverse, a, b, c), [1.0, 0.0, 0.0], atol=1e-8)


@pytest.mark.parametrize("law", [Law.CCP, Law.FRICTIONLESS])
def test_map_keeps_cones_and_powers(law):
    problem = random_rigid(
        np.random.default_rng(3), bodies=6, contacts=20, joints=2, limits=3, frictionless_part=0.4, law=law
    )
    cone = jordan.standard_cone(problem)
    mu = problem.mu
    assert (cone.free, cone.cones) == (problem.cone.bilateral_rows, (mu > 0).sum())
    assert cone.limits == 3 + (mu == 0).sum()
    rng = np.random.default_rng(4)
    law_cone = problem.cone.with_friction(mu)
    reactions, v = law_cone.project(rng.normal(size=problem.row_count)), rng.normal(size=problem.row_count)
    x, y = cone.from_reactions(reactions), cone.from_velocities(law_cone.project_dual(v))
    assert jordan.smallest_eigenvalue(cone.limits, x[cone.free :]) >= -1e-14
    assert jordan.smallest_eigenvalue(cone.limits, y[cone.free :]) >= -1e-14
    back = np.full(problem.row_count, np.nan)
    cone.to_reactions(x, back)
    assert np.allclose(back, reactions)
    assert x @ cone.from_velocities(v) == pytest.approx(reactions @ v)
